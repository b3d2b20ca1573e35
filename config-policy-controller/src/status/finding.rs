//! The findings of an evaluation: plain data, before it becomes text.

use reeve_api::Compliance;
use reeve_api::configuration_policy::{
    ObjectProperties, ObjectReference, ObjectReferenceMetadata, RelatedObject,
};
use reeve_api::names::split_api_version;

use crate::messages::{self, Reason};

/// One thing that was found or done for an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectEvent {
    /// Whether it complies.
    pub compliant: bool,
    /// The reason of the event.
    pub reason: Reason,
    /// The text, for [`Reason::Other`]; the others have a text made of all objects of the template.
    pub message: String,
}

impl ObjectEvent {
    /// A compliant event.
    pub fn compliant(reason: Reason) -> Self {
        Self {
            compliant: true,
            reason,
            message: String::new(),
        }
    }

    pub fn violation(reason: Reason) -> Self {
        Self {
            compliant: false,
            reason,
            message: String::new(),
        }
    }

    /// A compliant event with a text of its own and without a reason.
    pub fn note(message: String) -> Self {
        Self {
            compliant: true,
            reason: Reason::other(""),
            message,
        }
    }

    /// A violation with a text of its own.
    pub fn error(reason: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            compliant: false,
            reason: Reason::other(reason),
            message: message.into(),
        }
    }
}

/// Where an object is: a namespace (empty for cluster-scoped objects) and a name (empty for "any").
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Location {
    pub namespace: String,
    pub name: String,
}

impl Location {
    /// A name in a namespace.
    pub fn new(namespace: &str, name: &str) -> Self {
        Self {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        }
    }
}

/// What an evaluation found for one object, or for the objects that a template without a name matches.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// The kind and the namespaces of the objects.
    pub location: Location,
    /// The objects' names as texts show them. Usually the location's name alone.
    pub names: Vec<String>,
    /// What happened, one or two events.
    pub events: Vec<ObjectEvent>,
    /// The objects that decided it.
    pub related: Vec<RelatedObject>,
}

impl Finding {
    /// A finding without an object.
    pub fn without_object(event: ObjectEvent) -> Self {
        Self {
            location: Location::new("", ""),
            names: Vec::new(),
            events: vec![event],
            related: Vec::new(),
        }
    }
}

/// The identity of an object across versions of its kind: group, kind, namespace and name.
pub fn identity(object: &ObjectReference) -> [&str; 4] {
    let (group, _) = split_api_version(object.api_version.as_deref().unwrap_or_default());
    let metadata = object.metadata.as_ref();
    let namespace = metadata.and_then(|metadata| metadata.namespace.as_deref());
    let name = metadata.and_then(|metadata| metadata.name.as_deref());
    [
        group,
        object.kind.as_deref().unwrap_or_default(),
        namespace.unwrap_or_default(),
        name.unwrap_or_default(),
    ]
}

/// The findings of one object template.
#[derive(Debug)]
pub struct TemplateFindings {
    /// The plural name of the kind, where it is known.
    pub resource: String,
    /// What was found, location by location.
    pub findings: Vec<Finding>,
}

/// The entry of a policy's status about an object.
pub fn related(
    (api_version, kind): (&str, &str),
    location: &Location,
    event: &ObjectEvent,
    properties: Option<ObjectProperties>,
) -> RelatedObject {
    let compliant = if event.compliant {
        Compliance::Compliant
    } else {
        Compliance::NonCompliant
    };
    RelatedObject {
        compliant: Some(compliant.as_str().to_owned()),
        reason: Some(messages::related_reason(&event.reason).to_owned()),
        object: Some(ObjectReference {
            api_version: Some(api_version.to_owned()),
            kind: Some(kind.to_owned()),
            metadata: Some(ObjectReferenceMetadata {
                name: Some(location.name.clone()),
                namespace: Some(location.namespace.clone())
                    .filter(|namespace| !namespace.is_empty()),
            }),
        }),
        properties,
    }
}

/// Adds related objects to a list. Of two entries about one object the later one stays, if it differs; that
/// the policy created the object is true for both.
pub fn add_related(all: &mut Vec<RelatedObject>, new: Vec<RelatedObject>) {
    for mut entry in new {
        match all.iter_mut().find(|known| known.object == entry.object) {
            Some(known) => {
                let differs =
                    known.compliant != entry.compliant || known.properties != entry.properties;
                if differs {
                    keep_created_by_policy(known, &mut entry);
                    *known = entry;
                }
            }
            None => all.push(entry),
        }
    }
}

/// Another template than the one that created the object may have the last entry.
fn keep_created_by_policy(known: &RelatedObject, entry: &mut RelatedObject) {
    let (Some(known), Some(properties)) = (&known.properties, &mut entry.properties) else {
        return;
    };
    if known.created_by_policy == Some(true) && known.uid == properties.uid {
        properties.created_by_policy = Some(true);
    }
}

/// Sorts related objects by kind, namespace and name.
pub fn sort_related(all: &mut [RelatedObject]) {
    all.sort_by(|a, b| related_key(a).cmp(&related_key(b)));
}

fn related_key(entry: &RelatedObject) -> [&str; 3] {
    let object = entry.object.as_ref();
    let metadata = object.and_then(|object| object.metadata.as_ref());
    [
        object.and_then(|object| object.kind.as_deref()),
        metadata.and_then(|metadata| metadata.namespace.as_deref()),
        metadata.and_then(|metadata| metadata.name.as_deref()),
    ]
    .map(Option::unwrap_or_default)
}
