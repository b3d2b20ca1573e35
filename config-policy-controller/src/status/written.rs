//! Statuses that were written and that the watch has not delivered yet.

use std::collections::HashMap;
use std::sync::Arc;

use kube::core::object::HasStatus;
use kube::{Resource, ResourceExt as _};
use parking_lot::Mutex;
use reeve_runtime::watch::Cached;

/// The statuses written last, by UID.
pub struct WrittenStatuses<S>(Mutex<HashMap<String, Written<S>>>);

struct Written<S> {
    resource_version: u64,
    status: S,
}

impl<S> Default for WrittenStatuses<S> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<S: Clone + Default> WrittenStatuses<S> {
    /// A policy as `read` finds it, and its latest status: the one in it, or the one that was written since.
    ///
    /// The lock is held while it is read: otherwise a policy read before the watch delivered the status would have the status
    /// of before, and an entry of its history would be lost.
    pub fn latest<P: Resource + HasStatus<Status = S>>(
        &self,
        read: impl FnOnce() -> Option<Cached<P>>,
    ) -> Option<(Cached<P>, S)> {
        let written = self.0.lock();
        let known = read()?;
        let status = match &known {
            Cached::Valid(policy) => latest(&written, policy),
            Cached::Invalid(_) => S::default(),
        };
        Some((known, status))
    }

    /// Records a written status and the resulting version of the policy.
    pub fn remember<P: Resource>(&self, written: &P, status: &S) {
        if let (Some(uid), Some(resource_version)) = (&written.meta().uid, version(written)) {
            let written = Written {
                resource_version,
                status: status.clone(),
            };
            self.0.lock().insert(uid.clone(), written);
        }
    }

    /// Removes the status of a policy once the watch has delivered it.
    pub fn caught_up<P: Resource>(&self, policy: &P) {
        let version = version(policy);
        let uid = policy.meta().uid.as_deref().unwrap_or_default();
        let mut written = self.0.lock();
        let is_behind = |known: &Written<S>| version.is_none_or(|now| now < known.resource_version);
        if written.get(uid).is_some_and(|known| !is_behind(known)) {
            written.remove(uid);
        }
    }

    /// Removes the entries of a deleted policy.
    pub fn forget(&self, uid: &str) {
        self.0.lock().remove(uid);
    }
}

fn latest<S: Clone + Default, P: Resource + HasStatus<Status = S>>(
    written: &HashMap<String, Written<S>>,
    policy: &Arc<P>,
) -> S {
    let uid = policy.meta().uid.as_deref().unwrap_or_default();
    match (written.get(uid), version(policy.as_ref())) {
        (Some(written), Some(version)) if written.resource_version > version => {
            written.status.clone()
        }
        _ => policy.status().cloned().unwrap_or_default(),
    }
}

fn version<P: Resource>(policy: &P) -> Option<u64> {
    policy.resource_version()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use reeve_api::configuration_policy::{
        ConfigurationPolicy, ConfigurationPolicySpec, ConfigurationPolicyStatus,
    };

    use super::*;

    fn policy(version: &str, compliant: &str) -> ConfigurationPolicy {
        let mut policy = ConfigurationPolicy::new("p", ConfigurationPolicySpec::default());
        policy.metadata.uid = Some("uid".to_owned());
        policy.metadata.resource_version = Some(version.to_owned());
        policy.status = Some(status(compliant));
        policy
    }

    fn status(compliant: &str) -> ConfigurationPolicyStatus {
        ConfigurationPolicyStatus {
            compliant: Some(compliant.to_owned()),
            ..ConfigurationPolicyStatus::default()
        }
    }

    fn found(
        statuses: &WrittenStatuses<ConfigurationPolicyStatus>,
        policy: ConfigurationPolicy,
    ) -> Option<String> {
        let read = || Some(Cached::Valid(Arc::new(policy)));
        statuses.latest(read)?.1.compliant
    }

    #[test]
    fn written_status_is_latest_until_the_watch_delivers_it() {
        let statuses = WrittenStatuses::default();
        statuses.remember(&policy("9", "Compliant"), &status("Compliant"));
        let older = policy("8", "NonCompliant");
        statuses.caught_up(&older);
        assert_eq!(found(&statuses, older).as_deref(), Some("Compliant"));
        let newer = policy("10", "NonCompliant");
        assert_eq!(found(&statuses, newer).as_deref(), Some("NonCompliant"));
    }

    #[test]
    fn written_status_is_latest_while_the_watch_delivers_it() {
        let statuses = WrittenStatuses::default();
        statuses.remember(&policy("9", "Compliant"), &status("Compliant"));
        std::thread::scope(|scope| {
            let read = || {
                let older = policy("8", "NonCompliant");
                scope.spawn(|| statuses.caught_up(&policy("9", "Compliant")));
                // Time enough for it, if it does not have to wait.
                std::thread::sleep(Duration::from_millis(200));
                Some(Cached::Valid(Arc::new(older)))
            };
            let (_, latest) = statuses.latest(read).unwrap();
            assert_eq!(latest.compliant.as_deref(), Some("Compliant"));
        });
    }
}
