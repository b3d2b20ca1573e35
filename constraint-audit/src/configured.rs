//! Follows Gatekeeper's own configuration, and lists again what its changes concern.

use std::sync::Arc;
use std::time::Duration;

use reeve_runtime::object::ObjectKey;
use reeve_runtime::queue::Action;
use serde_json::Value;
use tokio::sync::watch;
use tokio_util::task::AbortOnDropHandle;

use crate::configuration::{Effect, Followed, Kind};
use crate::follow::{Change, follow};
use crate::resources::key_of;
use crate::state::{Audit, PLAN_WINDOW, Served, Work};

/// How long an audit waits for the configuration before it begins without.
const PATIENCE: Duration = Duration::from_secs(10);

impl Audit {
    /// Follows the configuration of kinds that are served, and waits until it is known.
    pub(crate) async fn follow_configuration(self: &Arc<Self>, served: &[Served]) {
        let mut waiting = Vec::new();
        for kind in Kind::ALL {
            let found = served.iter().find(|one| kind.is(&one.kind));
            let mut configuration = self.configuration.lock();
            match (found, configuration.watches.get(&kind)) {
                (Some(_), Some(followed)) => waiting.push(followed.synced.clone()),
                (Some(served), None) => {
                    let (done, synced) = watch::channel(false);
                    let task = tokio::spawn(watch(Arc::clone(self), kind, served.clone(), done));
                    let followed = Followed {
                        _task: AbortOnDropHandle::new(task),
                        synced: synced.clone(),
                    };
                    configuration.watches.insert(kind, followed);
                    waiting.push(synced);
                }
                (None, Some(_)) => {
                    configuration.watches.remove(&kind);
                    configuration.objects.remove(&kind);
                    drop(configuration);
                    self.configuration_changed();
                }
                (None, None) => {}
            }
        }
        let all = async {
            for mut synced in waiting {
                // An error: the watch was replaced.
                let _ = synced.wait_for(|synced| *synced).await;
            }
        };
        if tokio::time::timeout(PATIENCE, all).await.is_err() {
            // When it is read, it counts.
            tracing::warn!(
                "the audit of constraints begins without Gatekeeper's configuration: it cannot be read"
            );
        }
    }

    /// Lists again what the changed configuration concerns.
    pub(crate) fn configuration_changed(&self) -> Action {
        let (before, now) = {
            let mut configuration = self.configuration.lock();
            let now = Arc::new(Effect::of(&configuration.objects));
            let before = std::mem::replace(&mut configuration.effect, Arc::clone(&now));
            (before, now)
        };
        if before == now {
            return Action::AwaitChange;
        }
        if before.exclusions != now.exclusions || before.expansion != now.expansion {
            for watch in self.kind_watches.lock().values_mut() {
                watch.is_outdated = true;
            }
        }
        self.queue.add(Work::Kinds);
        Action::AwaitChange
    }

    fn configure(&self, kind: Kind, key: &ObjectKey, object: Option<Value>) {
        if !kind.is_read(key) {
            return;
        }
        let mut configuration = self.configuration.lock();
        let objects = configuration.objects.entry(kind).or_default();
        match object {
            Some(object) => objects.insert(key.name.clone(), object),
            None => objects.remove(&key.name),
        };
    }
}

async fn watch(audit: Arc<Audit>, kind: Kind, served: Served, done: watch::Sender<bool>) {
    let on_change = |change| {
        match change {
            Change::Present(object) => audit.configure(kind, &key_of(&object), Some(object)),
            Change::Gone(key) => audit.configure(kind, &key, None),
            Change::Synced => {
                audit.configuration_changed();
                done.send_replace(true);
            }
        }
        if *done.borrow() {
            audit.queue.add_after(Work::Configuration, PLAN_WINDOW);
        }
    };
    follow(audit.client.clone(), served.resource, on_change).await;
}
