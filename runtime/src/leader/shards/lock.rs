//! The Lease of a shard, which carries requests to hand the shard over.

use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use kube::ResourceExt;
use tokio::sync::watch;
use tokio::time::Instant;

use super::assignment::SeenLeases;
use crate::leader::lock::{ApiLock, Lock, LockError};
use crate::leader::record;

/// The annotation by which a process requests a shard: its identity and the time.
pub(super) const REQUEST_ANNOTATION: &str = "policy.open-cluster-management.io/shard-requested-by";

/// A Lease whose reads and writes are recorded.
#[derive(Clone)]
pub(super) struct ShardLock<L = ApiLock> {
    inner: L,
    shard: u16,
    identity: Arc<str>,
    seen: watch::Sender<SeenLeases>,
}

impl<L: Lock> ShardLock<L> {
    pub(super) fn new(
        inner: L,
        shard: u16,
        identity: Arc<str>,
        seen: watch::Sender<SeenLeases>,
    ) -> Self {
        Self {
            inner,
            shard,
            identity,
            seen,
        }
    }

    /// Requests the shard from `holder`, if that still holds it. Another client's write in between is a conflict.
    pub(super) async fn request(&self, holder: &str, now: Timestamp) -> Result<(), LockError> {
        let Some(mut lease) = self.read().await? else {
            return Ok(());
        };
        let spec = lease.spec.clone().unwrap_or_default();
        if record::holder(&spec) != Some(holder) {
            return Ok(());
        }
        let request = format!("{} {now}", self.identity);
        lease
            .annotations_mut()
            .insert(REQUEST_ANNOTATION.to_owned(), request);
        let stored = self.inner.write(lease).await?;
        self.record(Some(&stored));
        Ok(())
    }

    fn record(&self, lease: Option<&Lease>) {
        let spec = lease.and_then(|lease| lease.spec.as_ref());
        let holder = spec.and_then(record::holder);
        let annotations = lease.map(ResourceExt::annotations);
        let request = annotations.and_then(|annotations| annotations.get(REQUEST_ANNOTATION));
        self.seen.send_if_modified(|seen| {
            seen.record(
                self.shard,
                holder,
                request.map(String::as_str),
                Instant::now(),
            )
        });
    }
}

impl<L: Lock> Lock for ShardLock<L> {
    async fn read(&self) -> Result<Option<Lease>, LockError> {
        let found = self.inner.read().await?;
        self.record(found.as_ref());
        Ok(found)
    }

    async fn write(&self, mut lease: Lease) -> Result<Lease, LockError> {
        let spec = lease.spec.as_ref();
        // What was requested is granted, or the process ends and the shard is free.
        if spec.and_then(record::holder) != Some(&*self.identity) {
            lease.annotations_mut().remove(REQUEST_ANNOTATION);
        }
        let stored = self.inner.write(lease).await?;
        self.record(Some(&stored));
        Ok(stored)
    }
}
