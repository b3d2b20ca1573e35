//! What an evaluation has to say about objects, before it becomes text.

use reeve_api::Compliance;
use reeve_api::configuration_policy::{
    ObjectProperties, ObjectReference, ObjectReferenceMetadata, RelatedObject,
};
use reeve_api::names::split_api_version;

use crate::messages::{self, Reason};

/// One thing that was found or done, in the order it happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Whether it is in order.
    pub compliant: bool,
    /// The reason of the event.
    pub reason: Reason,
    /// The text, for [`Reason::Other`]; the others have a text made of all objects of the template.
    pub message: String,
}

impl Event {
    /// Something in order.
    pub fn good(reason: Reason) -> Self {
        Self {
            compliant: true,
            reason,
            message: String::new(),
        }
    }

    /// A violation.
    pub fn bad(reason: Reason) -> Self {
        Self {
            compliant: false,
            reason,
            message: String::new(),
        }
    }

    /// Something in order, in its own words and without a reason.
    pub fn remark(message: String) -> Self {
        Self {
            compliant: true,
            reason: Reason::other(""),
            message,
        }
    }

    /// A violation in its own words.
    pub fn problem(reason: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            compliant: false,
            reason: Reason::other(reason),
            message: message.into(),
        }
    }
}

/// The place of a result: a namespace (empty for cluster-scoped objects) and a name (empty for "any").
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// The namespace.
    pub namespace: String,
    /// The name.
    pub name: String,
}

impl Place {
    /// A name in a namespace.
    pub fn new(namespace: &str, name: &str) -> Self {
        Self {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        }
    }
}

/// What an evaluation found at one place.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// The kind and the namespaces of the objects.
    pub place: Place,
    /// The objects' names as texts show them. Usually the place's name alone.
    pub names: Vec<String>,
    /// What happened, one or two events.
    pub events: Vec<Event>,
    /// The objects that decided it.
    pub related: Vec<RelatedObject>,
}

impl Finding {
    /// A finding about no object in particular.
    pub fn about_nothing(event: Event) -> Self {
        Self {
            place: Place::new("", ""),
            names: Vec::new(),
            events: vec![event],
            related: Vec::new(),
        }
    }
}

/// By what an object is known, whatever version of its kind it is named in: group, kind, namespace and name.
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

/// What one object template came to.
#[derive(Debug)]
pub struct TemplateOutcome {
    /// The plural name of the kind, where it is known.
    pub resource: String,
    /// What was found, place by place.
    pub findings: Vec<Finding>,
}

/// The entry of a policy's status about an object.
pub fn related(
    (api_version, kind): (&str, &str),
    place: &Place,
    event: &Event,
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
                name: Some(place.name.clone()),
                namespace: Some(place.namespace.clone()).filter(|namespace| !namespace.is_empty()),
            }),
        }),
        properties,
    }
}

/// Adds related objects to a list. Of two entries about one object the later one stays, if it says anything else; that
/// the policy created the object is true for both.
pub fn add_related(all: &mut Vec<RelatedObject>, new: Vec<RelatedObject>) {
    for mut entry in new {
        match all.iter_mut().find(|known| known.object == entry.object) {
            Some(known) => {
                let differs =
                    known.compliant != entry.compliant || known.properties != entry.properties;
                if differs {
                    keep_origin(known, &mut entry);
                    *known = entry;
                }
            }
            None => all.push(entry),
        }
    }
}

/// The template that creates an object may not be the last one that speaks of it.
fn keep_origin(known: &RelatedObject, entry: &mut RelatedObject) {
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
