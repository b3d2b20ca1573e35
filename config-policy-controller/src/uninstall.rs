//! Whether the add-on is being uninstalled or the CRD of the policies is being deleted.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::apps::v1::Deployment;
use kube::Client;
use kube::api::Api;
use parking_lot::Mutex;
use reeve_api::names::UNINSTALLING_ANNOTATION;
use reeve_runtime::definitions::{Crd, Definition};
use reeve_runtime::object::ObjectKey;
use reeve_runtime::supervisor::Supervisor;
use reeve_runtime::watch::{Store, Watch};
use tokio::sync::watch;

/// The CRD of the policies.
const CRD_NAME: &str = "configurationpolicies.policy.open-cluster-management.io";
/// How long the start waits for the first lists.
const START_TIMEOUT: Duration = Duration::from_secs(10);

/// Whether policies lose their finalizers without pruning, because of an uninstallation. Clones share it. The
/// default never is uninstalling.
#[derive(Clone, Default)]
pub struct UninstallWatch(Option<Arc<Inner>>);

struct Inner {
    /// Reads the definition at the API server that has the policies.
    reader: Api<Crd>,
    definitions: Store<Definition>,
    /// The own Deployment, if this process has one, and whether it is annotated.
    deployment: Option<(ObjectKey, Store<bool>)>,
    due: watch::Sender<bool>,
    listeners: Mutex<Vec<Box<dyn Fn() + Send>>>,
}

impl UninstallWatch {
    /// Watches the definition of the kind, and the own Deployment where `own` names one. Their state is
    /// known when this returns, unless the API server does not answer.
    pub async fn start(client: &Client, own: Option<ObjectKey>, tasks: &mut Supervisor) -> Self {
        let definitions: Api<_> = Api::all(client.clone());
        let definitions = Watch::projected(definitions, |crd: Crd| Definition::of(crd));
        let definitions = definitions.fields(&format!("metadata.name={CRD_NAME}"));
        let deployment = own.map(|own| {
            let deployments: Api<_> = Api::namespaced(client.clone(), &own.namespace);
            let watch =
                Watch::projected(deployments, |it: Deployment| has_uninstall_annotation(&it));
            let watch = watch.fields(&format!("metadata.name={}", own.name));
            (own, watch)
        });
        let inner = Arc::new(Inner {
            reader: Api::all(client.clone()),
            definitions: definitions.store(),
            deployment: deployment
                .as_ref()
                .map(|(own, watch)| (own.clone(), watch.store())),
            due: watch::Sender::new(false),
            listeners: Mutex::default(),
        });
        let watched = Arc::clone(&inner);
        let work = definitions.run(tasks.stop(), move |_| watched.refresh());
        tasks.spawn_infallible("the watch of the policies' CRD", work);
        if let Some((_, watch)) = deployment {
            let watched = Arc::clone(&inner);
            let work = watch.run(tasks.stop(), move |_| watched.refresh());
            tasks.spawn_infallible("the watch of the own Deployment", work);
        }
        let (first, stop) = (Arc::clone(&inner), tasks.stop());
        tasks.spawn_infallible("the first state of the uninstallation watch", async move {
            tokio::select! { () = stop.cancelled() => return, () = first.wait_for_cache_sync() => {} }
            // A watch reports no change for an object that does not exist.
            first.refresh();
            stop.cancelled().await;
        });
        if tokio::time::timeout(START_TIMEOUT, inner.wait_for_cache_sync())
            .await
            .is_err()
        {
            tracing::warn!("the watches of the uninstallation have not synced yet");
        }
        inner.refresh();
        Self(Some(inner))
    }

    /// Whether policies lose their finalizers without pruning.
    pub fn is_uninstalling(&self) -> bool {
        self.0.as_ref().is_some_and(|inner| *inner.due.borrow())
    }

    /// Whether the CRD is deleted or being deleted, read from the API server. The policies of a CRD that
    /// is deleted are deleted too, and their watch may be ahead of the watch of the CRD.
    ///
    /// # Errors
    ///
    /// The API server does not answer.
    pub async fn crd_is_terminating(&self) -> Result<bool, kube::Error> {
        let Some(inner) = &self.0 else {
            return Ok(false);
        };
        let definition = inner.reader.get_opt(CRD_NAME).await?;
        Ok(definition.is_none_or(|definition| Definition::of(definition).terminating))
    }

    /// Waits until an uninstallation begins, perhaps for ever.
    pub async fn wait_until_uninstalling(&self) {
        self.wait_for_state(true).await;
    }

    /// Waits until there is no uninstallation.
    pub async fn wait_until_not_uninstalling(&self) {
        self.wait_for_state(false).await;
    }

    async fn wait_for_state(&self, wanted: bool) {
        let Some(inner) = &self.0 else {
            if wanted {
                std::future::pending::<()>().await;
            }
            return;
        };
        let mut due = inner.due.subscribe();
        // The sender lives in what `self` keeps alive.
        let _ = due.wait_for(|due| *due == wanted).await;
    }

    /// Calls `listener`, too, after every change.
    pub fn on_change(&self, listener: impl Fn() + Send + 'static) {
        if let Some(inner) = &self.0 {
            inner.listeners.lock().push(Box::new(listener));
        }
    }
}

impl Inner {
    async fn wait_for_cache_sync(&self) {
        self.definitions.wait_for_cache_sync().await;
        if let Some((_, deployment)) = &self.deployment {
            deployment.wait_for_cache_sync().await;
        }
    }

    /// Recomputes the state from the caches.
    fn refresh(&self) {
        let definition = self.definitions.get_valid(&ObjectKey::new("", CRD_NAME));
        let crd_is_terminating = match definition {
            Some(definition) => definition.terminating,
            None => self.definitions.has_synced(),
        };
        let uninstalls = self.deployment.as_ref().is_some_and(|(own, deployment)| {
            deployment
                .get_valid(own)
                .is_some_and(|annotated| *annotated)
        });
        let is_uninstalling = crd_is_terminating || uninstalls;
        if self.due.send_replace(is_uninstalling) == is_uninstalling {
            return;
        }
        tracing::info!(
            crd_is_terminating,
            uninstalls,
            is_uninstalling,
            "uninstallation state changed"
        );
        self.listeners.lock().iter().for_each(|listener| listener());
    }
}

fn has_uninstall_annotation(deployment: &Deployment) -> bool {
    let annotations = deployment.metadata.annotations.as_ref();
    let value = annotations.and_then(|annotations| annotations.get(UNINSTALLING_ANNOTATION));
    value.is_some_and(|value| !matches!(value.as_str(), "" | "false"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use kube::ResourceExt;

    #[test]
    fn any_annotation_value_but_false_is_an_uninstallation() {
        let mut deployment = Deployment::default();
        assert!(!has_uninstall_annotation(&deployment));
        for (value, is_due) in [
            ("", false),
            ("false", false),
            ("true", true),
            ("2026-01-01T00:00:00Z", true),
        ] {
            let annotations = deployment.annotations_mut();
            annotations.insert(UNINSTALLING_ANNOTATION.to_owned(), value.to_owned());
            assert_eq!(has_uninstall_annotation(&deployment), is_due, "{value:?}");
        }
    }

    #[tokio::test]
    async fn change_is_reported_to_all_listeners() {
        let client = reeve_runtime::client::unavailable("no cluster");
        let definitions =
            Watch::projected(Api::all(client.clone()), |crd: Crd| Definition::of(crd));
        let inner = Inner {
            reader: Api::all(client),
            definitions: definitions.store(),
            deployment: None,
            due: watch::Sender::new(true),
            listeners: Mutex::default(),
        };
        let uninstall_watch = UninstallWatch(Some(Arc::new(inner)));
        let (calls, called) = std::sync::mpsc::channel();
        for kind in ["ConfigurationPolicy", "OperatorPolicy"] {
            let calls = calls.clone();
            uninstall_watch.on_change(move || calls.send(kind).unwrap());
        }
        let inner = uninstall_watch.0.as_ref().unwrap();
        inner.refresh();
        inner.refresh();
        let called: Vec<_> = called.try_iter().collect();
        assert_eq!(called, ["ConfigurationPolicy", "OperatorPolicy"]);
    }

    #[tokio::test]
    async fn default_never_is_uninstalling() {
        let uninstall_watch = UninstallWatch::default();
        uninstall_watch.wait_until_not_uninstalling().await;
        assert!(!uninstall_watch.is_uninstalling());
    }
}
