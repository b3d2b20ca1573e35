//! What has been reported about each template of a policy.

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
use crate::kinds::{KIND_IS_COMING, UNREADABLE};
use crate::replica::Replica;
use crate::templates;

/// What has been reported about one template.
#[derive(Clone, Debug, PartialEq)]
pub struct Template {
    /// The name under which it is reported.
    pub name: String,
    /// By events.
    pub events: Vec<Report>,
    /// By the object of that name.
    pub object: Object,
}

/// The object that a template describes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Object {
    /// There is none, or it may not be read, or its kind is none that templates may be of.
    Absent,
    /// It belongs to somebody else.
    Foreign,
    /// It is the policy's; this is what its status tells.
    Owned(Vec<Report>),
}

/// Everything that has been reported about a policy.
pub struct Observed {
    /// In the order of the policy's templates.
    pub templates: Vec<Template>,
    /// When to look again although nothing that is watched has changed.
    pub again: Action,
    /// The last template whose object nothing is known of this time. It counts as [`Object::Absent`], which keeps what its
    /// status says already, and keeps no other template's from being told.
    pub failed: Option<StatusError>,
}

impl Observed {
    /// Asks for another look, the soonest one counts.
    fn look_again(&mut self, after: Duration) {
        self.again = self.again.within(after);
    }
}

impl StatusSync {
    /// Gathers the reports about each template. From now on its object's changes lead here.
    pub(super) async fn observe(&self, policy: &Replica, spec: &PolicySpec) -> Observed {
        let reads = self
            .caches
            .objects
            .begin(&Reader::Status(policy.name().to_owned()));
        let mut observed = Observed {
            templates: Vec::new(),
            again: Action::AwaitChange,
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
                            Object::Absent
                        }
                    }
                }
                _ => Object::Absent,
            };
            let events = self.caches.reports.of(policy.uid(), &name);
            observed.templates.push(Template {
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
        observed: &mut Observed,
    ) -> Result<Object, StatusError> {
        let kinds = &self.caches.kinds;
        let served = match kinds.find(kind).await {
            Ok(served) => served,
            Err(error) if error.is_absent() => {
                if kinds.is_defined(kind) {
                    observed.look_again(KIND_IS_COMING);
                }
                return Ok(Object::Absent);
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
            return Ok(Object::Absent);
        }
        let namespace = if served.namespaced {
            self.caches.managed.namespace.as_str()
        } else {
            ""
        };
        match reads.get(&served, namespace, name).await {
            Ok(Some(object)) => Ok(owned(policy.name(), &object)),
            Ok(None) | Err(ReadError::Unwatchable(_)) => Ok(Object::Absent),
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
                observed.look_again(if is_defined {
                    KIND_IS_COMING
                } else {
                    UNREADABLE
                });
                Ok(Object::Absent)
            }
            Err(source) => Err(StatusError::Read {
                policy: policy.name().to_owned(),
                template: name.to_owned(),
                source,
            }),
        }
    }
}

fn owned(policy: &str, object: &Value) -> Object {
    // Metadata that says nothing says nothing of us.
    let metadata = ObjectMeta::deserialize(&object["metadata"]).unwrap_or_default();
    if templates::policy_of(&metadata) == Some(policy) {
        Object::Owned(history::of_object(policy, object))
    } else {
        Object::Foreign
    }
}
