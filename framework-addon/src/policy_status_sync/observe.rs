//! Gathers the reports about each template of a policy.

use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use reeve_api::policy::PolicySpec;
use reeve_runtime::dependencies::{Batch, ReadError};
use reeve_runtime::object::StatusReason;
use reeve_runtime::queue::Action;
use serde::Deserialize;
use serde_json::Value;

use super::StatusSync;
use super::error::StatusError;
use super::history;
use crate::caches::Reader;
use crate::compliance_events::Report;
use crate::kinds::{KIND_SERVED_SOON_RETRY, UNREADABLE_RETRY};
use crate::replica::Replica;
use crate::templates;

/// The reports about one template.
#[derive(Clone, Debug, PartialEq)]
pub struct ObservedTemplate {
    /// The name under which it is reported.
    pub name: String,
    /// The reports in events.
    pub events: Vec<Report>,
    /// The object, with the reports in its status.
    pub object: ObservedObject,
}

/// The object that a template describes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ObservedObject {
    /// It does not exist, or may not be read, or its kind is no kind of templates.
    Absent,
    /// It belongs to another owner.
    Foreign,
    /// It belongs to the policy; holds the reports in its status.
    Owned(Vec<Report>),
}

/// The reports about a policy.
pub struct ObservedReports {
    /// In the order of the policy's templates.
    pub templates: Vec<ObservedTemplate>,
    /// When to requeue the policy although no watched object has changed.
    pub requeue: Action,
    /// The last error of a template whose object could not be read. The object counts as [`ObservedObject::Absent`], which keeps
    /// the stored history and does not block the other templates.
    pub failed: Option<StatusError>,
}

impl ObservedReports {
    /// Requeues the policy after a delay; the shortest one counts.
    fn requeue_after(&mut self, after: Duration) {
        self.requeue = self.requeue.within(after);
    }
}

impl StatusSync {
    /// Gathers the reports about each template. From now on a change of its object enqueues the policy.
    pub(super) async fn observe(&self, policy: &Replica, spec: &PolicySpec) -> ObservedReports {
        let reads = self
            .caches
            .objects
            .begin(&Reader::Status(policy.name().to_owned()));
        let mut observed = ObservedReports {
            templates: Vec::new(),
            requeue: Action::AwaitChange,
            failed: None,
        };
        for (index, template) in spec.policy_templates.iter().enumerate() {
            let name = templates::reported_name(index, &template.object_definition);
            let object = match templates::identify(&template.object_definition) {
                Some(identity) if identity.name.is_some() => {
                    let object = self.object(policy, &identity.kind, &name, &reads, &mut observed);
                    match object.await {
                        Ok(object) => object,
                        Err(error) => {
                            observed.failed = Some(error);
                            ObservedObject::Absent
                        }
                    }
                }
                _ => ObservedObject::Absent,
            };
            let events = self.caches.reports.of(policy.uid(), &name);
            observed.templates.push(ObservedTemplate {
                name,
                events,
                object,
            });
        }
        reads.end();
        observed
    }

    async fn object(
        &self,
        policy: &Replica,
        kind: &kube::core::GroupVersionKind,
        name: &str,
        reads: &Batch<Reader>,
        observed: &mut ObservedReports,
    ) -> Result<ObservedObject, StatusError> {
        let kinds = &self.caches.kinds;
        let served = match kinds.find(kind).await {
            Ok(served) => served,
            Err(error) if error.is_absent() => {
                if kinds.is_defined(kind) {
                    observed.requeue_after(KIND_SERVED_SOON_RETRY);
                }
                return Ok(ObservedObject::Absent);
            }
            Err(source) => {
                return Err(StatusError::Discover {
                    policy: policy.name().to_owned(),
                    source,
                });
            }
        };
        // Other kinds are never created for a policy, and often may not be read.
        if !kinds.may_be_template(&served) {
            return Ok(ObservedObject::Absent);
        }
        let namespace = if served.namespaced {
            self.caches.managed.namespace.as_str()
        } else {
            ""
        };
        match reads.get(&served, namespace, name).await {
            Ok(Some(object)) => Ok(owned(policy.name(), &object)),
            Ok(None) | Err(ReadError::Unwatchable(_)) => Ok(ObservedObject::Absent),
            Err(ReadError::Refused(error))
                if matches!(
                    StatusReason::of(&error),
                    StatusReason::NotFound | StatusReason::Forbidden
                ) =>
            {
                tracing::warn!(policy = policy.name(), template = name, %error, "not read");
                let is_gone = StatusReason::of(&error) == StatusReason::NotFound;
                if is_gone {
                    kinds.forget_group(&kind.group);
                }
                let is_defined = is_gone && kinds.is_defined(kind);
                observed.requeue_after(if is_defined {
                    KIND_SERVED_SOON_RETRY
                } else {
                    UNREADABLE_RETRY
                });
                Ok(ObservedObject::Absent)
            }
            Err(source) => Err(StatusError::Read {
                policy: policy.name().to_owned(),
                template: name.to_owned(),
                source,
            }),
        }
    }
}

fn owned(policy: &str, object: &Value) -> ObservedObject {
    // An object whose metadata cannot be decoded counts as foreign.
    let metadata = ObjectMeta::deserialize(&object["metadata"]).unwrap_or_default();
    if templates::policy_of(&metadata) == Some(policy) {
        ObservedObject::Owned(history::of_object(policy, object))
    } else {
        ObservedObject::Foreign
    }
}
