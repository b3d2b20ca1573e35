//! What to do about one template.

use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::DynamicObject;
use reeve_api::names::CLUSTER_NAMESPACE_LABEL;
use reeve_runtime::discovery::ServedKind;

use super::desired;
use super::error::TemplateError;
use super::plan::{Asked, Parent};
use crate::gatekeeper::Integration;
use crate::templates::{belongs_to, claimed_by};

/// What the cluster says to one template.
#[derive(Clone, Debug)]
pub enum Sight {
    /// Its kind is not served; holds discovery's answer.
    Unmapped(String),
    /// Its kind is no policy's.
    Unsupported,
    /// Its object can be worked on.
    Ready(Ready),
}

/// What the cluster says to a template whose object can be worked on.
#[derive(Clone, Debug)]
pub struct Ready {
    /// Its kind.
    pub kind: ServedKind,
    /// What it waits for.
    pub waits: Waits,
    /// Its object.
    pub live: Live,
}

impl Sight {
    /// What the template's object can be decided by, or why there can be none.
    pub fn ready(&self, asked: &Asked, integration: Integration) -> Result<&Ready, TemplateError> {
        match self {
            Self::Unmapped(found) => Err(TemplateError::NotMapped {
                kind: asked.kind.clone(),
                found: found.clone(),
                integration,
            }),
            Self::Unsupported => Err(TemplateError::Unsupported(asked.kind.clone())),
            Self::Ready(ready) => Ok(ready),
        }
    }
}

/// How the dependencies stand.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Waits {
    /// `<Kind> <name>` of those that are known not to be as they must be.
    pub unmet: Vec<String>,
    /// The same of those that may not or cannot be read, which no other try in a moment changes.
    pub unreadable: Vec<String>,
    /// The same of those that could not be read this time, with the reason.
    pub unclear: Vec<(String, String)>,
}

/// The template's object.
#[derive(Clone, Debug)]
pub enum Live {
    /// It does not exist.
    Absent,
    /// It exists.
    Present(Arc<DynamicObject>),
    /// It cannot be read; the text says why.
    Unreadable(String),
}

/// What to do.
#[derive(Clone, Debug)]
pub enum Decision {
    /// Nothing but to say what is wrong.
    Complain(TemplateError),
    /// Say what is waited for, and delete the object that must not exist meanwhile.
    Wait {
        /// `<Kind> <name>` of each, sorted.
        unmet: Vec<String>,
        /// The object to delete.
        delete: Option<Arc<DynamicObject>>,
    },
    /// Say what is wrong, and delete the object without what it has created.
    Withdraw {
        /// What is wrong.
        error: TemplateError,
        /// The object to delete.
        delete: Option<Arc<DynamicObject>>,
    },
    /// Create the object.
    Create(Box<DynamicObject>),
    /// Replace the object, on the resource version that was read.
    Update {
        /// What it is.
        live: Arc<DynamicObject>,
        /// What it becomes.
        changed: Box<DynamicObject>,
    },
    /// The object is as it should be.
    Same(Arc<DynamicObject>),
    /// Leave everything as it is and look again: dependencies could not be read.
    Unclear(String),
}

/// Decides about one template.
pub fn decide(parent: &Parent, asked: &Asked, ready: &Ready) -> Decision {
    let Ready { kind, waits, live } = ready;
    let live = match live {
        Live::Unreadable(reason) => {
            return Decision::Complain(TemplateError::Get(reason.clone()));
        }
        Live::Absent => None,
        Live::Present(live) => Some(live),
    };
    // Before everything that could change or delete the object.
    if let Some(live) = live
        && claimed_by(&live.metadata) != Some(parent.name.as_str())
    {
        return Decision::Complain(TemplateError::Taken {
            kind: asked.kind.kind.clone(),
            name: asked.name.clone(),
            owner: claimed_by(&live.metadata).map(str::to_owned),
        });
    }
    let delete = live.filter(|live| may_delete(parent, &live.metadata, kind));
    if let Some(decision) = wait(waits, live, delete) {
        return decision;
    }
    if let Some(error) = asked.hub_error() {
        return Decision::Withdraw {
            error: TemplateError::HubTemplates(error.to_owned()),
            delete: delete.cloned(),
        };
    }
    apply(parent, asked, kind, live)
}

fn wait(
    waits: &Waits,
    live: Option<&Arc<DynamicObject>>,
    delete: Option<&Arc<DynamicObject>>,
) -> Option<Decision> {
    // "Could not read" never deletes what works: only what is known to be unmet does.
    let is_known_unmet = !waits.unmet.is_empty();
    if let (Some((described, reason)), Some(_), false) =
        (waits.unclear.first(), live, is_known_unmet)
    {
        return Some(Decision::Unclear(format!("{described}: {reason}")));
    }
    let unclear = waits.unclear.iter().map(|(described, _)| described);
    let unread = waits.unreadable.iter().chain(unclear);
    let mut unmet: Vec<String> = waits.unmet.iter().chain(unread).cloned().collect();
    if unmet.is_empty() {
        return None;
    }
    unmet.sort();
    let delete = delete.filter(|_| is_known_unmet).cloned();
    Some(Decision::Wait { unmet, delete })
}

fn apply(
    parent: &Parent,
    asked: &Asked,
    kind: &ServedKind,
    live: Option<&Arc<DynamicObject>>,
) -> Decision {
    let desired = match desired::build(parent, asked, kind) {
        Ok(desired) => desired,
        Err(error) => return Decision::Complain(error),
    };
    let Some(live) = live else {
        return Decision::Create(Box::new(desired));
    };
    match desired::overwrite(parent, kind, &desired, live) {
        Some(changed) => Decision::Update {
            live: Arc::clone(live),
            changed: Box::new(changed),
        },
        None => Decision::Same(Arc::clone(live)),
    }
}

/// Whether an object is proven to be this policy's to delete. Two add-ons on one cluster, for a hub that manages
/// itself and hosts another, can have policies of one name; cluster-scoped objects then are told
/// apart by the label.
pub fn may_delete(parent: &Parent, object: &ObjectMeta, kind: &ServedKind) -> bool {
    if !belongs_to(object, &parent.name, &parent.uid) {
        return false;
    }
    let label = object
        .labels
        .as_ref()
        .and_then(|labels| labels.get(CLUSTER_NAMESPACE_LABEL));
    kind.namespaced || label == Some(&parent.namespace)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy_template_sync::tests::{asked, parent, served};
    use reeve_api::names::{HUB_TEMPLATES_ERROR_ANNOTATION, POLICY_API_VERSION};
    use serde_json::{Value, json};

    fn definition() -> Value {
        json!({"apiVersion": POLICY_API_VERSION, "kind": "ConfigurationPolicy", "metadata": {"name": "t"}, "spec": {}})
    }

    fn live() -> DynamicObject {
        let kind = served(POLICY_API_VERSION, "ConfigurationPolicy", true);
        desired::build(&parent(), &asked(&definition()), &kind).unwrap()
    }

    fn present(object: DynamicObject) -> Live {
        Live::Present(Arc::new(object))
    }

    fn foreign(owner: Option<&str>) -> Live {
        let mut object = live();
        object.metadata.labels = None;
        let reference = owner.map(|name| {
            let mut reference = parent().owner_reference();
            name.clone_into(&mut reference.name);
            vec![reference]
        });
        object.metadata.owner_references = reference;
        present(object)
    }

    fn unmet() -> Waits {
        Waits {
            unmet: vec!["K b".to_owned(), "K a".to_owned()],
            ..Waits::default()
        }
    }

    fn unclear() -> Waits {
        Waits {
            unclear: vec![("K a".to_owned(), "timeout".to_owned())],
            ..Waits::default()
        }
    }

    fn unreadable() -> Waits {
        Waits {
            unreadable: vec!["K c".to_owned()],
            ..Waits::default()
        }
    }

    fn decided(definition: &Value, waits: Waits, live: Live) -> Decision {
        let kind = served(POLICY_API_VERSION, "ConfigurationPolicy", true);
        decide(&parent(), &asked(definition), &Ready { kind, waits, live })
    }

    fn with_hub_error() -> Value {
        let mut definition = definition();
        definition["metadata"]["annotations"] =
            json!({HUB_TEMPLATES_ERROR_ANNOTATION: "no such function"});
        definition
    }

    #[test]
    fn the_straight_road() {
        let fresh = decided(&definition(), Waits::default(), Live::Absent);
        assert!(matches!(fresh, Decision::Create(_)));
        let same = decided(&definition(), Waits::default(), present(live()));
        assert!(matches!(same, Decision::Same(_)));
        let mut drifted = live();
        drifted.data["spec"] = json!({"drifted": true});
        let drifted = decided(&definition(), Waits::default(), present(drifted));
        assert!(matches!(drifted, Decision::Update { .. }));
        let blind = decided(
            &definition(),
            Waits::default(),
            Live::Unreadable("denied".into()),
        );
        assert!(matches!(blind, Decision::Complain(TemplateError::Get(_))));
    }

    #[test]
    fn unmet_dependencies_come_before_everything_but_ownership() {
        for (definition, live, deletes) in [
            (definition(), Live::Absent, false),
            (definition(), present(live()), true),
            (with_hub_error(), present(live()), true),
        ] {
            let Decision::Wait { unmet, delete } = decided(&definition, unmet(), live) else {
                panic!("does not wait");
            };
            assert_eq!(unmet, ["K a", "K b"]);
            assert_eq!(delete.is_some(), deletes);
        }
    }

    #[test]
    fn rough_edge_1_what_belongs_to_others_is_never_deleted() {
        for waits in [Waits::default(), unmet()] {
            for definition in [definition(), with_hub_error()] {
                for owner in [None, Some("ns.other")] {
                    let decision = decided(&definition, waits.clone(), foreign(owner));
                    let Decision::Complain(TemplateError::Taken { owner: named, .. }) = decision
                    else {
                        panic!("{decision:?}");
                    };
                    assert_eq!(named.as_deref(), owner);
                }
            }
        }
    }

    #[test]
    fn a_failed_read_of_a_dependency_keeps_the_object_and_creates_none() {
        for definition in [definition(), with_hub_error()] {
            for live in [present(live()), Live::Absent] {
                let decision = decided(&definition, unreadable(), live);
                let Decision::Wait {
                    unmet,
                    delete: None,
                } = decision
                else {
                    panic!("{decision:?}");
                };
                assert_eq!(unmet, ["K c"], "it is said all the same");
            }
        }
    }

    #[test]
    fn a_failed_read_beside_a_dependency_that_is_known_to_be_unmet_changes_nothing() {
        for beside in [unreadable(), unclear()] {
            let waits = Waits {
                unmet: vec!["K b".to_owned()],
                ..beside
            };
            let decision = decided(&definition(), waits, present(live()));
            let Decision::Wait {
                unmet,
                delete: Some(_),
            } = decision
            else {
                panic!("{decision:?}");
            };
            assert_eq!(unmet.len(), 2);
        }
    }

    #[test]
    fn what_is_not_proven_to_be_the_policys_is_never_deleted() {
        let mut other_kind = live();
        other_kind.metadata.owner_references.as_mut().unwrap()[0].kind = "Tea".to_owned();
        let mut predecessor = live();
        predecessor.metadata.owner_references.as_mut().unwrap()[0].uid = "uid-0".to_owned();
        for object in [other_kind, predecessor] {
            let waiting = decided(&definition(), unmet(), present(object.clone()));
            assert!(matches!(waiting, Decision::Wait { delete: None, .. }));
            let broken = decided(&with_hub_error(), Waits::default(), present(object));
            assert!(matches!(broken, Decision::Withdraw { delete: None, .. }));
        }
    }

    #[test]
    fn a_dependency_that_cannot_be_read_this_time_deletes_nothing() {
        let kept = decided(&definition(), unclear(), present(live()));
        assert!(matches!(kept, Decision::Unclear(_)));
        let absent = decided(&definition(), unclear(), Live::Absent);
        assert!(matches!(absent, Decision::Wait { delete: None, .. }));
    }

    #[test]
    fn what_the_hub_could_not_resolve_is_withdrawn() {
        let decision = decided(&with_hub_error(), Waits::default(), present(live()));
        let Decision::Withdraw { error, delete } = decision else {
            panic!("{decision:?}");
        };
        assert_eq!(error.to_string(), "no such function");
        assert!(delete.is_some());
    }

    #[test]
    fn rough_edge_3_cluster_scoped_objects_of_another_add_on_are_left_alone() {
        let kind = served("a/v1", "K", false);
        let mut object = live().metadata;
        assert!(may_delete(&parent(), &object, &kind));
        let labels = object.labels.as_mut().unwrap();
        labels.insert(CLUSTER_NAMESPACE_LABEL.to_owned(), "hosted".to_owned());
        assert!(!may_delete(&parent(), &object, &kind));
    }

    #[test]
    fn kinds_that_cannot_be_worked_on() {
        let asked = asked(&definition());
        let error = |sight: Sight| sight.ready(&asked, Integration::Enabled).unwrap_err();
        let unsupported = error(Sight::Unsupported);
        assert!(matches!(unsupported, TemplateError::Unsupported(_)));
        let unmapped = error(Sight::Unmapped("x".into()));
        assert!(matches!(unmapped, TemplateError::NotMapped { .. }));
    }
}
