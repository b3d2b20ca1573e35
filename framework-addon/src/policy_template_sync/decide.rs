//! Decides about one template.

use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::DynamicObject;
use reeve_api::dependency_graph::Dependent;
use reeve_api::names::CLUSTER_NAMESPACE_LABEL;
use reeve_runtime::discovery::ServedKind;

use super::desired;
use super::error::TemplateError;
use super::plan::{Parent, ParsedTemplate};
use crate::gatekeeper::Integration;
use crate::templates::{belongs_to, claimed_by};

/// The state of the cluster that the decision about one template rests on.
#[derive(Clone, Debug)]
pub enum TemplateObservation {
    /// Its kind is not served; holds discovery's answer.
    Unmapped(String),
    /// Its kind is no kind of templates.
    Unsupported,
    /// Its object can be applied.
    Ready(Box<ObservedObject>),
}

/// The observed object and dependencies of a template whose object can be applied.
#[derive(Clone, Debug)]
pub struct ObservedObject {
    /// Its kind.
    pub kind: ServedKind,
    /// Its dependencies.
    pub dependency_state: DependencyState,
    /// Its object.
    pub live: LiveObject,
}

impl TemplateObservation {
    /// The observed object, or the error of a template without one.
    pub fn ready(
        &self,
        parsed: &ParsedTemplate,
        integration: Integration,
    ) -> Result<&ObservedObject, TemplateError> {
        match self {
            Self::Unmapped(found) => Err(TemplateError::NotMapped {
                kind: parsed.kind.clone(),
                found: found.clone(),
                integration,
            }),
            Self::Unsupported => Err(TemplateError::Unsupported(parsed.kind.clone())),
            Self::Ready(ready) => Ok(ready),
        }
    }
}

/// The state of the dependencies of a template.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DependencyState {
    /// `<Kind> <name>` of those that are known not to be met.
    pub unmet: Vec<String>,
    /// Those of the unmet ones that do not exist.
    pub absent: Vec<Dependent>,
    /// `<Kind> <name>` of those that may not or cannot be read, which a retry does not change.
    pub unreadable: Vec<String>,
    /// The same of those that could not be read this time, with the reason.
    pub unclear: Vec<(String, String)>,
}

/// The template's object.
#[derive(Clone, Debug)]
pub enum LiveObject {
    /// It does not exist.
    Absent,
    /// It exists.
    Present(Arc<DynamicObject>),
    /// It cannot be read, for this reason.
    Unreadable(String),
}

/// The decision about one template.
#[derive(Clone, Debug)]
pub enum TemplateDecision {
    /// Report the error, and leave the object.
    Reject(TemplateError),
    /// Report the unmet dependencies, and delete the object that must not exist meanwhile.
    Wait {
        /// `<Kind> <name>` of each, sorted.
        unmet: Vec<String>,
        /// The object to delete.
        delete: Option<Arc<DynamicObject>>,
    },
    /// Report the error, and delete the object without pruning what it has created.
    DeleteUnresolved {
        /// The error.
        error: TemplateError,
        /// The object to delete.
        delete: Option<Arc<DynamicObject>>,
    },
    /// Create the object.
    Create(Box<DynamicObject>),
    /// Replace the object, on the resource version that was read.
    Update {
        /// The live object.
        live: Arc<DynamicObject>,
        /// The changed object.
        changed: Box<DynamicObject>,
    },
    /// The object equals the desired one.
    Unchanged(Arc<DynamicObject>),
    /// Leave the object and retry: dependencies could not be read, for this reason.
    Retry(String),
}

/// Decides about one template.
pub fn decide(
    parent: &Parent,
    parsed: &ParsedTemplate,
    ready: &ObservedObject,
) -> TemplateDecision {
    let ObservedObject {
        kind,
        dependency_state,
        live,
    } = ready;
    let live = match live {
        LiveObject::Unreadable(reason) => {
            return TemplateDecision::Reject(TemplateError::Get(reason.clone()));
        }
        LiveObject::Absent => None,
        LiveObject::Present(live) => Some(live),
    };
    // Before everything that could change or delete the object.
    if let Some(live) = live
        && claimed_by(&live.metadata) != Some(parent.name.as_str())
    {
        return TemplateDecision::Reject(TemplateError::OwnedByOther {
            kind: parsed.kind.kind.clone(),
            name: parsed.name.clone(),
            owner: claimed_by(&live.metadata).map(str::to_owned),
        });
    }
    let delete = live.filter(|live| may_delete(parent, &live.metadata, kind));
    if let Some(decision) = wait(dependency_state, live, delete) {
        return decision;
    }
    if let Some(error) = parsed.hub_template_error() {
        return TemplateDecision::DeleteUnresolved {
            error: TemplateError::HubTemplates(error.to_owned()),
            delete: delete.cloned(),
        };
    }
    apply(parent, parsed, kind, live)
}

fn wait(
    dependency_state: &DependencyState,
    live: Option<&Arc<DynamicObject>>,
    delete: Option<&Arc<DynamicObject>>,
) -> Option<TemplateDecision> {
    // Only a dependency that is known to be unmet deletes the object, never a failed read.
    let is_known_unmet = !dependency_state.unmet.is_empty();
    if let (Some((described, reason)), Some(_), false) =
        (dependency_state.unclear.first(), live, is_known_unmet)
    {
        return Some(TemplateDecision::Retry(format!("{described}: {reason}")));
    }
    let unclear = dependency_state
        .unclear
        .iter()
        .map(|(described, _)| described);
    let unknown = dependency_state.unreadable.iter().chain(unclear);
    let mut unmet: Vec<String> = dependency_state
        .unmet
        .iter()
        .chain(unknown)
        .cloned()
        .collect();
    if unmet.is_empty() {
        return None;
    }
    unmet.sort();
    let delete = delete.filter(|_| is_known_unmet).cloned();
    Some(TemplateDecision::Wait { unmet, delete })
}

fn apply(
    parent: &Parent,
    parsed: &ParsedTemplate,
    kind: &ServedKind,
    live: Option<&Arc<DynamicObject>>,
) -> TemplateDecision {
    let desired = match desired::build(parent, parsed, kind) {
        Ok(desired) => desired,
        Err(error) => return TemplateDecision::Reject(error),
    };
    let Some(live) = live else {
        return TemplateDecision::Create(Box::new(desired));
    };
    match desired::merge_into_live(parent, kind, &desired, live) {
        Some(changed) => TemplateDecision::Update {
            live: Arc::clone(live),
            changed: Box::new(changed),
        },
        None => TemplateDecision::Unchanged(Arc::clone(live)),
    }
}

/// Whether an object is proven to be this policy's, so that it may be deleted. Two add-ons on one cluster (a hub that manages itself
/// and hosts another) can have policies of the same name; the namespace label distinguishes their cluster-scoped objects.
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
    use crate::policy_template_sync::tests::{parent, parsed, served};
    use reeve_api::names::{HUB_TEMPLATES_ERROR_ANNOTATION, POLICY_API_VERSION};
    use serde_json::{Value, json};

    fn definition() -> Value {
        json!({"apiVersion": POLICY_API_VERSION, "kind": "ConfigurationPolicy", "metadata": {"name": "t"}, "spec": {}})
    }

    fn live() -> DynamicObject {
        let kind = served(POLICY_API_VERSION, "ConfigurationPolicy", true);
        desired::build(&parent(), &parsed(&definition()), &kind).unwrap()
    }

    fn present(object: DynamicObject) -> LiveObject {
        LiveObject::Present(Arc::new(object))
    }

    fn foreign(owner: Option<&str>) -> LiveObject {
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

    fn unmet() -> DependencyState {
        DependencyState {
            unmet: vec!["K b".to_owned(), "K a".to_owned()],
            ..DependencyState::default()
        }
    }

    fn unclear() -> DependencyState {
        DependencyState {
            unclear: vec![("K a".to_owned(), "timeout".to_owned())],
            ..DependencyState::default()
        }
    }

    fn unreadable() -> DependencyState {
        DependencyState {
            unreadable: vec!["K c".to_owned()],
            ..DependencyState::default()
        }
    }

    fn decided(
        definition: &Value,
        dependency_state: DependencyState,
        live: LiveObject,
    ) -> TemplateDecision {
        let kind = served(POLICY_API_VERSION, "ConfigurationPolicy", true);
        decide(
            &parent(),
            &parsed(definition),
            &ObservedObject {
                kind,
                dependency_state,
                live,
            },
        )
    }

    fn with_hub_error() -> Value {
        let mut definition = definition();
        definition["metadata"]["annotations"] =
            json!({HUB_TEMPLATES_ERROR_ANNOTATION: "no such function"});
        definition
    }

    #[test]
    fn object_is_created_kept_updated_or_reported() {
        let fresh = decided(
            &definition(),
            DependencyState::default(),
            LiveObject::Absent,
        );
        assert!(matches!(fresh, TemplateDecision::Create(_)));
        let same = decided(&definition(), DependencyState::default(), present(live()));
        assert!(matches!(same, TemplateDecision::Unchanged(_)));
        let mut drifted = live();
        drifted.data["spec"] = json!({"drifted": true});
        let drifted = decided(&definition(), DependencyState::default(), present(drifted));
        assert!(matches!(drifted, TemplateDecision::Update { .. }));
        let blind = decided(
            &definition(),
            DependencyState::default(),
            LiveObject::Unreadable("denied".into()),
        );
        assert!(matches!(
            blind,
            TemplateDecision::Reject(TemplateError::Get(_))
        ));
    }

    #[test]
    fn unmet_dependencies_come_before_everything_but_ownership() {
        for (definition, live, deletes) in [
            (definition(), LiveObject::Absent, false),
            (definition(), present(live()), true),
            (with_hub_error(), present(live()), true),
        ] {
            let TemplateDecision::Wait { unmet, delete } = decided(&definition, unmet(), live)
            else {
                panic!("does not wait");
            };
            assert_eq!(unmet, ["K a", "K b"]);
            assert_eq!(delete.is_some(), deletes);
        }
    }

    #[test]
    fn fwk_79_object_of_another_owner_is_never_deleted() {
        for dependency_state in [DependencyState::default(), unmet()] {
            for definition in [definition(), with_hub_error()] {
                for owner in [None, Some("ns.other")] {
                    let decision = decided(&definition, dependency_state.clone(), foreign(owner));
                    let TemplateDecision::Reject(TemplateError::OwnedByOther {
                        owner: named, ..
                    }) = decision
                    else {
                        panic!("{decision:?}");
                    };
                    assert_eq!(named.as_deref(), owner);
                }
            }
        }
    }

    #[test]
    fn unreadable_dependency_keeps_the_object_and_creates_none() {
        for definition in [definition(), with_hub_error()] {
            for live in [present(live()), LiveObject::Absent] {
                let decision = decided(&definition, unreadable(), live);
                let TemplateDecision::Wait {
                    unmet,
                    delete: None,
                } = decision
                else {
                    panic!("{decision:?}");
                };
                assert_eq!(unmet, ["K c"], "it is reported");
            }
        }
    }

    #[test]
    fn unmet_dependency_deletes_the_object_although_another_cannot_be_read() {
        for beside in [unreadable(), unclear()] {
            let dependency_state = DependencyState {
                unmet: vec!["K b".to_owned()],
                ..beside
            };
            let decision = decided(&definition(), dependency_state, present(live()));
            let TemplateDecision::Wait {
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
    fn object_without_proof_of_ownership_is_never_deleted() {
        let mut other_kind = live();
        other_kind.metadata.owner_references.as_mut().unwrap()[0].kind = "Tea".to_owned();
        let mut predecessor = live();
        predecessor.metadata.owner_references.as_mut().unwrap()[0].uid = "uid-0".to_owned();
        for object in [other_kind, predecessor] {
            let waiting = decided(&definition(), unmet(), present(object.clone()));
            assert!(matches!(
                waiting,
                TemplateDecision::Wait { delete: None, .. }
            ));
            let broken = decided(
                &with_hub_error(),
                DependencyState::default(),
                present(object),
            );
            assert!(matches!(
                broken,
                TemplateDecision::DeleteUnresolved { delete: None, .. }
            ));
        }
    }

    #[test]
    fn dependency_with_a_transient_error_deletes_nothing() {
        let kept = decided(&definition(), unclear(), present(live()));
        assert!(matches!(kept, TemplateDecision::Retry(_)));
        let absent = decided(&definition(), unclear(), LiveObject::Absent);
        assert!(matches!(
            absent,
            TemplateDecision::Wait { delete: None, .. }
        ));
    }

    #[test]
    fn object_of_an_unresolved_template_is_deleted() {
        let decision = decided(
            &with_hub_error(),
            DependencyState::default(),
            present(live()),
        );
        let TemplateDecision::DeleteUnresolved { error, delete } = decision else {
            panic!("{decision:?}");
        };
        assert_eq!(error.to_string(), "no such function");
        assert!(delete.is_some());
    }

    #[test]
    fn fwk_80_cluster_scoped_object_of_another_add_on_is_kept() {
        let kind = served("a/v1", "K", false);
        let mut object = live().metadata;
        assert!(may_delete(&parent(), &object, &kind));
        let labels = object.labels.as_mut().unwrap();
        labels.insert(CLUSTER_NAMESPACE_LABEL.to_owned(), "hosted".to_owned());
        assert!(!may_delete(&parent(), &object, &kind));
    }

    #[test]
    fn unsupported_and_unserved_kinds_are_errors() {
        let parsed = parsed(&definition());
        let error = |observation: TemplateObservation| {
            observation
                .ready(&parsed, Integration::Enabled)
                .unwrap_err()
        };
        let unsupported = error(TemplateObservation::Unsupported);
        assert!(matches!(unsupported, TemplateError::Unsupported(_)));
        let unmapped = error(TemplateObservation::Unmapped("x".into()));
        assert!(matches!(unmapped, TemplateError::NotMapped { .. }));
    }
}
