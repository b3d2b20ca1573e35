//! Ends the process when the object of its TLS settings changes: a running server cannot change its settings.

use std::fmt::Debug;
use std::sync::{Arc, OnceLock};

use kube::Resource;
use serde::de::DeserializeOwned;

use crate::object::ObjectKey;
use crate::supervisor::Supervisor;
use crate::watch::{Store, Watch};

/// A watched object and its state at the start.
pub(super) struct Drift<V> {
    store: Store<V>,
    key: ObjectKey,
    at_start: Arc<OnceLock<Option<Arc<V>>>>,
}

impl<V> Clone for Drift<V> {
    fn clone(&self) -> Self {
        Self {
            store: self.store.clone(),
            key: self.key.clone(),
            at_start: Arc::clone(&self.at_start),
        }
    }
}

impl<V: PartialEq + Send + Sync + 'static> Drift<V> {
    /// Starts the watch. When the object differs from its state at the start, `changed` is called and all tasks are
    /// stopped. Unless [`Self::started_with`] was called, the first list is the start.
    pub(super) fn watch<K>(
        watch: Watch<K, V>,
        key: ObjectKey,
        changed: impl Fn() + Send + Sync + 'static,
        tasks: &mut Supervisor,
    ) -> Self
    where
        K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + Sync + 'static,
    {
        let drift = Self {
            store: watch.store(),
            key,
            at_start: Arc::default(),
        };
        let (here, stop) = (drift.clone(), tasks.stop());
        let compare = Arc::new(move || {
            let differs = here
                .at_start
                .get()
                .is_some_and(|start| *start != here.now());
            if differs && !stop.is_cancelled() {
                changed();
                stop.cancel();
            }
        });
        let later = Arc::clone(&compare);
        let run = watch.run(tasks.stop(), move |_| later());
        tasks.spawn_infallible("the watch of the TLS profile", run);
        let (first, stop) = (drift.clone(), tasks.stop());
        tasks.spawn_infallible("the first read of the TLS profile", async move {
            tokio::select! { () = stop.cancelled() => return, () = first.wait_for_cache_sync() => {} }
            first.at_start();
            // Compares a change that came before this.
            compare();
            stop.cancelled().await;
        });
        drift
    }

    /// Waits for the first list.
    pub(super) async fn wait_for_cache_sync(&self) {
        self.store.wait_for_cache_sync().await;
    }

    /// The object at the start.
    pub(super) fn at_start(&self) -> Option<Arc<V>> {
        self.at_start.get_or_init(|| self.now()).clone()
    }

    /// The settings come from this state, whatever the first list shows.
    pub(super) fn started_with(&self, object: Option<V>) {
        self.at_start.get_or_init(|| object.map(Arc::new));
    }

    fn now(&self) -> Option<Arc<V>> {
        self.store.get_valid(&self.key)
    }
}
