//! Whether the add-on is being removed. The command `trigger-uninstall` annotates the Deployment before the add-on's objects
//! are deleted; the running process sees the annotation and stops syncing, so that what is deleted is not created again. It
//! still removes its finalizers.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use k8s_openapi::api::apps::v1::Deployment;
use kube::Client;
use kube::api::Api;
use reeve_api::names::UNINSTALLING_ANNOTATION;
use reeve_runtime::object::ObjectKey;
use reeve_runtime::supervisor::Supervisor;
use reeve_runtime::watch::{Change, Watch};

/// How long the start waits for the first state of the Deployment.
const SYNC_TIMEOUT: Duration = Duration::from_secs(10);

/// The add-on is being removed.
const BEGINS: &str = "the add-on is being removed: nothing is synced any more";
/// It is not, after all.
const ENDS: &str = "the add-on is no longer being removed: syncing goes on";
/// The API server has not answered at start.
const NOT_KNOWN: &str = "it is not known yet whether the add-on is being removed";

/// Whether the add-on is being removed; clones share it. The default is that it is not.
#[derive(Clone, Default)]
pub struct Uninstalling(Arc<AtomicBool>);

impl Uninstalling {
    /// Watches the own Deployment. Its annotation is known when this returns, unless the API server does not answer. `on_end` is
    /// called when the annotation is removed.
    pub async fn follow(
        &self,
        (client, own): (&Client, ObjectKey),
        on_end: impl Fn() + Send + 'static,
        tasks: &mut Supervisor,
    ) {
        let deployments: Api<_> = Api::namespaced(client.clone(), &own.namespace);
        let watch = Watch::projected(deployments, |it: Deployment| is_annotated(&it));
        let watch = watch.fields(&format!("metadata.name={}", own.name));
        let store = watch.store();
        let uninstalling = self.clone();
        let work = watch.run(tasks.stop(), move |change| {
            if uninstalling.changed(&change) {
                on_end();
            }
        });
        tasks.spawn_infallible("the watch of the own Deployment", work);
        if tokio::time::timeout(SYNC_TIMEOUT, store.wait_for_cache_sync())
            .await
            .is_err()
        {
            tracing::warn!(deployment = %own, "{}", NOT_KNOWN);
        }
    }

    /// Whether the add-on is being removed.
    pub fn is_on(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }

    /// Applies a change of the Deployment. Returns whether the add-on was being removed and no longer is.
    fn changed(&self, change: &Change<bool>) -> bool {
        let on = match (&change.new, change.valid().1) {
            (None, _) => true,
            (Some(_), Some(annotated)) => **annotated,
            // It cannot be decoded, so the state stays.
            (Some(_), None) => return false,
        };
        let before = self.0.swap(on, Ordering::SeqCst);
        if before != on {
            let text = if on { BEGINS } else { ENDS };
            tracing::info!(deployment = %change.key, "{text}");
        }
        before && !on
    }
}

/// Whether the annotation is exactly `true`. Other add-ons accept any value.
fn is_annotated(deployment: &Deployment) -> bool {
    let annotations = deployment.metadata.annotations.as_ref();
    let value = annotations.and_then(|annotations| annotations.get(UNINSTALLING_ANNOTATION));
    value.is_some_and(|value| value == "true")
}

#[cfg(test)]
mod tests {
    use super::*;
    use kube::ResourceExt;
    use reeve_runtime::watch::Cached;

    #[test]
    fn add_on_is_removed_with_the_annotation_or_the_deployment() {
        let uninstalling = Uninstalling::default();
        let known = |annotated| Some(Cached::Valid(Arc::new(annotated)));
        let changed = |old, new| {
            let key = ObjectKey::new("n", "d");
            let ended = uninstalling.changed(&Change { key, old, new });
            (uninstalling.is_on(), ended)
        };
        assert_eq!(changed(None, known(false)), (false, false));
        assert_eq!(changed(known(false), known(true)), (true, false));
        let unreadable = Some(Cached::Invalid("odd".into()));
        assert_eq!(changed(known(true), unreadable), (true, false));
        assert_eq!(changed(known(true), known(false)), (false, true));
        assert_eq!(changed(known(false), None), (true, false));
    }

    #[test]
    fn fwk_123_deployment_without_annotations_is_not_annotated() {
        let mut deployment = Deployment::default();
        assert!(!is_annotated(&deployment));
        for (value, expected) in [("true", true), ("false", false), ("yes", false)] {
            let annotations = deployment.annotations_mut();
            annotations.insert(UNINSTALLING_ANNOTATION.to_owned(), value.to_owned());
            assert_eq!(is_annotated(&deployment), expected, "{value}");
        }
    }
}
