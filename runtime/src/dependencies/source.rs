//! One watch on one API server, feeding the index.

use std::sync::{Arc, Weak};

use futures::StreamExt;
use kube::Client;
use kube::api::Api;
use kube::runtime::watcher;

use super::cover::{Filter, Lost, Source};
use super::plain::{Kept, Plain};
use super::{DependencyWatches, Inner, ObjectForm};
use crate::object::{ObjectKey, StatusReason};
use crate::path::{name_selector, segment};
use crate::queue::Key;
use crate::{metrics, relist};

/// Watches until aborted. Ends by itself only when the watches are gone or the source is lost.
pub(super) async fn watch<R: Key>(
    inner: Weak<Inner<R>>,
    client: Client,
    source: Source,
    form: ObjectForm,
) {
    let mut report = Report {
        inner,
        source,
        form,
        finished: false,
    };
    report.run(client).await;
    report.finished = true;
}

struct Report<R: Key> {
    inner: Weak<Inner<R>>,
    source: Source,
    form: ObjectForm,
    finished: bool,
}

impl<R: Key> Drop for Report<R> {
    /// A watch that panics must not leave its readers waiting. After an abort the index no longer has the source, and
    /// this has no effect.
    fn drop(&mut self) {
        if !self.finished
            && std::thread::panicking()
            && let Some(inner) = self.inner.upgrade()
        {
            DependencyWatches(inner).apply(|index| index.lost(&self.source, &Lost::Ended));
        }
    }
}

impl<R: Key> Report<R> {
    async fn run(&self, client: Client) {
        let kind = &*self.source.kind;
        let api: Api<Plain> = if self.source.namespace.is_empty() {
            Api::all_with(client, kind)
        } else {
            Api::namespaced_with(client, &segment(&self.source.namespace), kind)
        };
        let config = match &self.source.filter {
            Filter::Name(name) => watcher::Config::default().fields(&name_selector(name)),
            Filter::Labels(selector) => watcher::Config::default().labels(selector),
            Filter::All => watcher::Config::default(),
        };
        let mut events = Box::pin(relist::events(api, config, &self.source.kind.kind));
        let mut established = false;
        while let Some(event) = events.next().await {
            let Some(inner) = self.inner.upgrade() else {
                return;
            };
            let watches = DependencyWatches(inner);
            match event {
                Ok(event) => {
                    established |= matches!(event, watcher::Event::InitDone);
                    self.deliver(&watches, event);
                }
                Err(error) => {
                    if let Some(lost) = fatal(error, established) {
                        // Names, namespaces and selectors may be secrets that a template read.
                        tracing::debug!(kind = self.source.kind.kind, "watch lost");
                        watches.apply(|index| index.lost(&self.source, &lost));
                        return;
                    }
                }
            }
        }
    }

    fn deliver(&self, watches: &DependencyWatches<R>, event: watcher::Event<Plain>) {
        let source = &self.source;
        watches.apply(|index| match event {
            watcher::Event::Init => index.listing(source),
            watcher::Event::InitApply(object) | watcher::Event::Apply(object) => {
                let object = object.of_kind(&source.kind, index.keep, self.form);
                if let Kept::Undecodable(object) = &object {
                    metrics::undecodable(&source.kind.kind);
                    tracing::error!(error = %object.error, "cannot decode object");
                }
                index.applied(source, object);
            }
            watcher::Event::Delete(object) => index.deleted(source, &ObjectKey::of(&object)),
            watcher::Event::InitDone => index.listed(source),
        });
    }
}

/// Before the first list every error is an answer for the waiting readers. Afterwards the watch survives every error
/// except 403 and an unknown kind.
fn fatal(error: watcher::Error, established: bool) -> Option<Lost> {
    match error {
        watcher::Error::InitialListFailed(error) | watcher::Error::WatchStartFailed(error) => {
            let refused = matches!(
                StatusReason::of(&error),
                StatusReason::NotFound | StatusReason::Forbidden
            );
            (refused || !established).then(|| Lost::Refused(Arc::new(error)))
        }
        watcher::Error::NoResourceVersion => Some(Lost::Ended),
        watcher::Error::WatchError(_) | watcher::Error::WatchFailed(_) => None,
    }
}
