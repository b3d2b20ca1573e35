//! Reads the kind, the dependencies and the object of each template from the managed cluster.

use std::sync::Arc;
use std::time::Duration;

use kube::api::DynamicObject;
use kube::core::GroupVersionKind;
use reeve_api::names::PARENT_POLICY_LABEL;
use reeve_runtime::dependencies::{Batch, ReadError};
use reeve_runtime::discovery::{DiscoveryError, ServedKind, describe};
use reeve_runtime::object::{StatusReason, status_message};
use reeve_runtime::queue::Action;
use serde::Deserialize;

use super::TemplateSync;
use super::decide::{DependencyState, LiveObject, ObservedObject, TemplateObservation};
use super::dependencies::{self, DependencyObject};
use super::error::TemplateSyncError;
use super::plan::{Parent, ParsedTemplate};
use crate::caches::Reader;
use crate::kinds::{KIND_SERVED_SOON_RETRY, UNREADABLE_RETRY};

/// The longest value of a label: no object can have the label of a policy with a longer name.
pub(super) const MAX_LABEL_LENGTH: usize = 63;
/// The delay before the next read of a dependency whose read failed.
const DEPENDENCY_RETRY: Duration = Duration::from_secs(5);

/// The observed templates of a policy.
#[derive(Default)]
pub struct Observed {
    /// The observations in the templates' order. A template whose kind could not be looked up has an error.
    pub observations: Vec<Result<TemplateObservation, TemplateSyncError>>,
    /// All objects with the label of the policy, of every kind of templates. A kind that could not be listed has an error.
    pub labelled: Vec<Result<LabelledObject, TemplateSyncError>>,
    /// When to requeue the policy although no watched object has changed.
    pub requeue: Action,
}

/// An object with the label of the policy.
#[derive(Clone, Debug)]
pub struct LabelledObject {
    /// Its kind.
    pub kind: ServedKind,
    /// The object.
    pub object: DynamicObject,
}

impl Observed {
    /// Requeues the policy after a delay; the shortest one counts.
    pub fn requeue_after(&mut self, after: Duration) {
        self.requeue = self.requeue.within(after);
    }
}

/// The result of reading a dependency.
enum DependencyResult {
    Met,
    /// The object does not exist, and must.
    Absent,
    /// The object is known not to match.
    Unmet,
    /// The object may not or cannot be read, which a retry does not change.
    Unreadable,
    /// The read failed, for this reason.
    Unclear(String),
}

impl TemplateSync {
    /// Reads all templates from the cluster. From now on every change of an object that was read enqueues the policy.
    pub(super) async fn observe(&self, parent: &Parent, parsed: &[ParsedTemplate]) -> Observed {
        let reads = self
            .caches
            .objects
            .begin(&Reader::Templates(parent.name.clone()));
        let mut observed = Observed::default();
        for parsed in parsed {
            let observation = self
                .observation(parent, parsed, &reads, &mut observed)
                .await;
            observed.observations.push(observation);
        }
        for kind in self.caches.kinds.template_kinds() {
            let labelled = self.labelled(parent, &kind, &reads, &mut observed).await;
            match labelled {
                Ok(labelled) => observed.labelled.extend(labelled.into_iter().map(Ok)),
                Err(error) => observed.labelled.push(Err(error)),
            }
        }
        reads.end();
        observed
    }

    /// The objects of a kind with the label of the policy.
    async fn labelled(
        &self,
        parent: &Parent,
        kind: &GroupVersionKind,
        reads: &Batch<Reader>,
        observed: &mut Observed,
    ) -> Result<Vec<LabelledObject>, TemplateSyncError> {
        if parent.name.len() > MAX_LABEL_LENGTH {
            return Ok(Vec::new());
        }
        let served = match self.caches.kinds.find(kind).await {
            Ok(served) => served,
            // If the kind is not served, there are no objects.
            Err(error) if error.is_absent() => return Ok(Vec::new()),
            Err(source) => return Err(TemplateSyncError::DiscoverForCleanup(source)),
        };
        let namespace = if served.namespaced {
            parent.namespace.as_str()
        } else {
            ""
        };
        let selector = format!("{PARENT_POLICY_LABEL}={}", parent.name);
        let objects = match reads.list(&served, namespace, &selector).await {
            Ok(objects) => objects,
            // A kind that may not be listed has no objects of policies.
            Err(error) if matches!(read_failure(&error), DependencyResult::Unreadable) => {
                tracing::warn!(kind = describe(kind), %error, "cannot be listed for stale objects");
                observed.requeue_after(UNREADABLE_RETRY);
                return Ok(Vec::new());
            }
            Err(ReadError::Refused(error))
                if StatusReason::of(&error) == StatusReason::NotFound =>
            {
                self.caches.kinds.forget_group(&kind.group);
                if self.caches.kinds.is_defined(kind) {
                    observed.requeue_after(KIND_SERVED_SOON_RETRY);
                }
                return Ok(Vec::new());
            }
            Err(source) => {
                let kind = describe(kind);
                return Err(TemplateSyncError::List { kind, source });
            }
        };
        let read = |object: &Arc<serde_json::Value>| DynamicObject::deserialize(&**object).ok();
        let labelled = objects
            .iter()
            .filter_map(read)
            .map(|object| LabelledObject {
                kind: served.clone(),
                object,
            });
        Ok(labelled.collect())
    }

    async fn observation(
        &self,
        parent: &Parent,
        parsed: &ParsedTemplate,
        reads: &Batch<Reader>,
        observed: &mut Observed,
    ) -> Result<TemplateObservation, TemplateSyncError> {
        let kind = match self.find(&parsed.kind, observed).await {
            Ok(kind) => kind,
            Err(error) if error.is_absent() => {
                return Ok(TemplateObservation::Unmapped(error.to_string()));
            }
            Err(source) => {
                return Err(TemplateSyncError::Discover {
                    template: parsed.name.clone(),
                    source,
                });
            }
        };
        if !self.caches.kinds.may_be_template(&kind) {
            return Ok(TemplateObservation::Unsupported);
        }
        let mut dependency_state = DependencyState::default();
        for (dependency_object, compliance) in &parsed.dependencies_by_object {
            match self
                .dependency(dependency_object, compliance, reads, observed)
                .await
            {
                DependencyResult::Met => {}
                DependencyResult::Absent => {
                    dependency_state.unmet.push(dependency_object.described());
                    dependency_state.absent.push(dependency_object.dependent());
                }
                DependencyResult::Unmet => {
                    dependency_state.unmet.push(dependency_object.described());
                }
                DependencyResult::Unreadable => dependency_state
                    .unreadable
                    .push(dependency_object.described()),
                DependencyResult::Unclear(reason) => {
                    // It may not be watched, so no event would enqueue the policy.
                    observed.requeue_after(DEPENDENCY_RETRY);
                    dependency_state
                        .unclear
                        .push((dependency_object.described(), reason));
                }
            }
        }
        let namespace = if kind.namespaced {
            parent.namespace.as_str()
        } else {
            ""
        };
        let live = match reads.get(&kind, namespace, &parsed.name).await {
            Ok(Some(object)) => match DynamicObject::deserialize(&*object) {
                Ok(object) => LiveObject::Present(Arc::new(object)),
                Err(error) => LiveObject::Unreadable(error.to_string()),
            },
            Ok(None) => LiveObject::Absent,
            Err(error) => {
                // The kind may no longer be served: the next reconcile must not use the cached discovery.
                self.caches.kinds.forget_group(&parsed.kind.group);
                LiveObject::Unreadable(read_error_text(&error))
            }
        };
        Ok(TemplateObservation::Ready(Box::new(ObservedObject {
            kind,
            dependency_state,
            live,
        })))
    }

    async fn find(
        &self,
        kind: &GroupVersionKind,
        observed: &mut Observed,
    ) -> Result<ServedKind, DiscoveryError> {
        let found = self.caches.kinds.find(kind).await;
        if matches!(&found, Err(error) if error.is_absent()) && self.caches.kinds.is_defined(kind) {
            observed.requeue_after(KIND_SERVED_SOON_RETRY);
        }
        found
    }

    async fn dependency(
        &self,
        dependency_object: &DependencyObject,
        compliance: &str,
        reads: &Batch<Reader>,
        observed: &mut Observed,
    ) -> DependencyResult {
        let kind = match self.find(&dependency_object.gvk(), observed).await {
            Ok(kind) => kind,
            Err(error) if error.is_absent() => return DependencyResult::Absent,
            Err(error) => return DependencyResult::Unclear(error.to_string()),
        };
        let namespace = if kind.namespaced {
            dependency_object.namespace.as_str()
        } else {
            ""
        };
        if kind.namespaced && namespace.is_empty() {
            // No object can match; an empty namespace would read all namespaces.
            return DependencyResult::Unmet;
        }
        match reads.get(&kind, namespace, &dependency_object.name).await {
            Ok(object) => {
                if dependencies::is_met(dependency_object, compliance, object.as_deref()) {
                    DependencyResult::Met
                } else if object.is_none() {
                    DependencyResult::Absent
                } else {
                    DependencyResult::Unmet
                }
            }
            Err(error) => {
                let found = read_failure(&error);
                if matches!(found, DependencyResult::Unreadable) {
                    tracing::warn!(dependency = dependency_object.described(), %error, "cannot be read");
                    observed.requeue_after(UNREADABLE_RETRY);
                } else {
                    self.caches.kinds.forget_group(&dependency_object.group);
                }
                found
            }
        }
    }
}

/// The result for a dependency whose read failed. It is never unmet.
fn read_failure(error: &ReadError) -> DependencyResult {
    match error {
        ReadError::Unwatchable(_) => DependencyResult::Unreadable,
        ReadError::Refused(rejection_of)
            if StatusReason::of(rejection_of) == StatusReason::Forbidden =>
        {
            DependencyResult::Unreadable
        }
        other => DependencyResult::Unclear(read_error_text(other)),
    }
}

fn read_error_text(error: &ReadError) -> String {
    match error {
        ReadError::Refused(error) => status_message(error),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use kube::core::Status;
    use rstest::rstest;

    use super::*;

    fn rejection_of(code: u16) -> ReadError {
        let status = Status::failure("no", "").with_code(code);
        ReadError::Refused(Arc::new(kube::Error::Api(Box::new(status))))
    }

    #[rstest]
    #[case::unauthorized(rejection_of(401), true)]
    #[case::forbidden(rejection_of(403), true)]
    #[case::unwatchable(ReadError::Unwatchable("v1, Kind=Tea".to_owned()), true)]
    #[case::broken(rejection_of(500), false)]
    #[case::no_kind(rejection_of(404), false)]
    #[case::ended(ReadError::Ended, false)]
    fn dependency_whose_read_failed_is_never_unmet(
        #[case] error: ReadError,
        #[case] is_lasting: bool,
    ) {
        match read_failure(&error) {
            DependencyResult::Unreadable => assert!(is_lasting),
            DependencyResult::Unclear(_) => assert!(!is_lasting),
            DependencyResult::Met | DependencyResult::Absent | DependencyResult::Unmet => {
                panic!("nothing was read")
            }
        }
    }
}
