//! What the managed cluster says to each template: its kind, its dependencies, its object.

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
use super::decide::{Live, Ready, Sight, Waits};
use super::dependencies::{self, Wanted};
use super::error::SyncError;
use super::plan::{Asked, Parent};
use crate::caches::Reader;
use crate::kinds::{KIND_IS_COMING, UNREADABLE};

/// A label's value has no more characters: no object can be labelled with a longer name.
pub(super) const LONGEST_LABEL: usize = 63;
/// How soon to look again at a dependency that could not be read this time.
const UNCLEAR: Duration = Duration::from_secs(5);

/// What the cluster says to the templates of a policy.
#[derive(Default)]
pub struct Observed {
    /// In the templates' order. A template whose kind is not known to exist or not has an error.
    pub sights: Vec<Result<Sight, SyncError>>,
    /// All objects that are labelled as the policy's, of every kind that templates may be of. A kind of which that is
    /// not known has an error.
    pub own: Vec<Result<Own, SyncError>>,
    /// When to look again although nothing that is watched has changed.
    pub again: Action,
}

/// An object that is labelled as the policy's.
#[derive(Clone, Debug)]
pub struct Own {
    /// Its kind.
    pub kind: ServedKind,
    /// The object.
    pub object: DynamicObject,
}

impl Observed {
    /// Asks for another look, the soonest one counts.
    pub fn look_again(&mut self, after: Duration) {
        self.again = self.again.within(after);
    }
}

/// What a dependency is found to be.
enum Found {
    Met,
    /// Known not to be as it must be.
    Unmet,
    /// Nothing is known, and asking again at once would not help.
    Unreadable,
    /// Nothing is known this time.
    Unclear(String),
}

impl TemplateSync {
    /// Looks at all templates. From now on every change of what was read leads here.
    pub(super) async fn observe(&self, parent: &Parent, asked: &[Asked]) -> Observed {
        let reads = self
            .caches
            .objects
            .begin(&Reader::Templates(parent.name.clone()));
        let mut observed = Observed::default();
        for asked in asked {
            let sight = self.sight(parent, asked, &reads, &mut observed).await;
            observed.sights.push(sight);
        }
        for kind in self.caches.kinds.template_kinds() {
            let own = self.own(parent, &kind, &reads, &mut observed).await;
            match own {
                Ok(own) => observed.own.extend(own.into_iter().map(Ok)),
                Err(error) => observed.own.push(Err(error)),
            }
        }
        reads.end();
        observed
    }

    /// The objects of a kind that are labelled as the policy's.
    async fn own(
        &self,
        parent: &Parent,
        kind: &GroupVersionKind,
        reads: &Batch<Reader>,
        observed: &mut Observed,
    ) -> Result<Vec<Own>, SyncError> {
        if parent.name.len() > LONGEST_LABEL {
            return Ok(Vec::new());
        }
        let served = match self.caches.kinds.find(kind).await {
            Ok(served) => served,
            // No kind, no objects.
            Err(error) if error.is_absent() => return Ok(Vec::new()),
            Err(source) => {
                let template = String::new();
                return Err(SyncError::Discover { template, source });
            }
        };
        let namespace = if served.namespaced {
            parent.namespace.as_str()
        } else {
            ""
        };
        let selector = format!("{PARENT_POLICY_LABEL}={}", parent.name);
        let objects = match reads.list(&served, namespace, &selector).await {
            Ok(objects) => objects,
            // No policy has made any that we may not even see.
            Err(error) if matches!(unread(&error), Found::Unreadable) => {
                tracing::warn!(kind = describe(kind), %error, "cannot be listed for superfluous objects");
                observed.look_again(UNREADABLE);
                return Ok(Vec::new());
            }
            Err(ReadError::Refused(error))
                if StatusReason::of(&error) == StatusReason::NotFound =>
            {
                self.caches.kinds.forget_group(&kind.group);
                if self.caches.kinds.is_defined(kind) {
                    observed.look_again(KIND_IS_COMING);
                }
                return Ok(Vec::new());
            }
            Err(source) => {
                let kind = describe(kind);
                return Err(SyncError::List { kind, source });
            }
        };
        let read = |object: &Arc<serde_json::Value>| DynamicObject::deserialize(&**object).ok();
        let own = objects.iter().filter_map(read).map(|object| Own {
            kind: served.clone(),
            object,
        });
        Ok(own.collect())
    }

    async fn sight(
        &self,
        parent: &Parent,
        asked: &Asked,
        reads: &Batch<Reader>,
        observed: &mut Observed,
    ) -> Result<Sight, SyncError> {
        let kind = match self.find(&asked.kind, observed).await {
            Ok(kind) => kind,
            Err(error) if error.is_absent() => return Ok(Sight::Unmapped(error.to_string())),
            Err(source) => {
                return Err(SyncError::Discover {
                    template: asked.name.clone(),
                    source,
                });
            }
        };
        if !self.caches.kinds.may_be_template(&kind) {
            return Ok(Sight::Unsupported);
        }
        let mut waits = Waits::default();
        for (wanted, compliance) in &asked.needs {
            match self.dependency(wanted, compliance, reads, observed).await {
                Found::Met => {}
                Found::Unmet => waits.unmet.push(wanted.described()),
                Found::Unreadable => waits.unreadable.push(wanted.described()),
                Found::Unclear(reason) => {
                    // It may not even be watched, so nothing else leads here.
                    observed.look_again(UNCLEAR);
                    waits.unclear.push((wanted.described(), reason));
                }
            }
        }
        let namespace = if kind.namespaced {
            parent.namespace.as_str()
        } else {
            ""
        };
        let live = match reads.get(&kind, namespace, &asked.name).await {
            Ok(Some(object)) => match DynamicObject::deserialize(&*object) {
                Ok(object) => Live::Present(Arc::new(object)),
                Err(error) => Live::Unreadable(error.to_string()),
            },
            Ok(None) => Live::Absent,
            Err(error) => {
                // The kind may be gone; then the next round must not believe what was learnt.
                self.caches.kinds.forget_group(&asked.kind.group);
                Live::Unreadable(words(&error))
            }
        };
        Ok(Sight::Ready(Ready { kind, waits, live }))
    }

    async fn find(
        &self,
        kind: &GroupVersionKind,
        observed: &mut Observed,
    ) -> Result<ServedKind, DiscoveryError> {
        let found = self.caches.kinds.find(kind).await;
        if matches!(&found, Err(error) if error.is_absent()) && self.caches.kinds.is_defined(kind) {
            observed.look_again(KIND_IS_COMING);
        }
        found
    }

    async fn dependency(
        &self,
        wanted: &Wanted,
        compliance: &str,
        reads: &Batch<Reader>,
        observed: &mut Observed,
    ) -> Found {
        let kind = match self.find(&wanted.gvk(), observed).await {
            Ok(kind) => kind,
            Err(error) if error.is_absent() => return Found::Unmet,
            Err(error) => return Found::Unclear(error.to_string()),
        };
        let namespace = if kind.namespaced {
            wanted.namespace.as_str()
        } else {
            ""
        };
        if kind.namespaced && namespace.is_empty() {
            // Nothing can have this name; an empty namespace would read all of them.
            return Found::Unmet;
        }
        match reads.get(&kind, namespace, &wanted.name).await {
            Ok(object) => {
                if dependencies::is_met(wanted, compliance, object.as_deref()) {
                    Found::Met
                } else {
                    Found::Unmet
                }
            }
            Err(error) => {
                let found = unread(&error);
                if matches!(found, Found::Unreadable) {
                    tracing::warn!(dependency = wanted.described(), %error, "cannot be read");
                    observed.look_again(UNREADABLE);
                } else {
                    self.caches.kinds.forget_group(&wanted.group);
                }
                found
            }
        }
    }
}

/// What a failed read tells of a dependency: never that it is unmet.
fn unread(error: &ReadError) -> Found {
    match error {
        ReadError::Unwatchable(_) => Found::Unreadable,
        ReadError::Refused(refused) if StatusReason::of(refused) == StatusReason::Forbidden => {
            Found::Unreadable
        }
        other => Found::Unclear(words(other)),
    }
}

fn words(error: &ReadError) -> String {
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

    fn refused(code: u16) -> ReadError {
        let status = Status::failure("no", "").with_code(code);
        ReadError::Refused(Arc::new(kube::Error::Api(Box::new(status))))
    }

    #[rstest]
    #[case::unauthorized(refused(401), true)]
    #[case::forbidden(refused(403), true)]
    #[case::unwatchable(ReadError::Unwatchable("v1, Kind=Tea".to_owned()), true)]
    #[case::broken(refused(500), false)]
    #[case::no_kind(refused(404), false)]
    #[case::ended(ReadError::Ended, false)]
    fn a_failed_read_never_says_that_a_dependency_is_unmet(
        #[case] error: ReadError,
        #[case] is_lasting: bool,
    ) {
        match unread(&error) {
            Found::Unreadable => assert!(is_lasting),
            Found::Unclear(_) => assert!(!is_lasting),
            Found::Met | Found::Unmet => panic!("nothing was read"),
        }
    }
}
