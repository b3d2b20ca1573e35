//! The add-on lease: a sign of life that OCM turns into the add-on's `Available` condition.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use kube::Client;
use kube::api::{Api, Patch, PatchParams, PostParams};
use tokio_util::sync::CancellationToken;

use crate::object::Refusal;

/// How long a renewal counts, in seconds.
const LEASE_SECONDS: i32 = 60;

/// Where the lease is kept: on the managed cluster, or on the hub where that is impossible.
pub struct AddonLease {
    /// The lease's name, which is the add-on's.
    pub name: &'static str,
    /// The managed cluster and the add-on's namespace there.
    pub managed: (Client, String),
    /// The hub and the cluster's namespace there.
    pub hub: Option<(Client, String)>,
}

impl AddonLease {
    /// Renews the lease every minute, and up to a quarter later so that clusters spread out,
    /// while `alive` answers true.
    pub async fn run(self, alive: impl Fn() -> bool + Send, stop: CancellationToken) {
        loop {
            if alive() {
                self.renew().await;
            } else {
                tracing::warn!(lease = self.name, "not renewed: the watches are not synced");
            }
            // The clock's own digits are random enough to keep clusters apart.
            let jitter = u64::from(Timestamp::now().subsec_nanosecond().unsigned_abs() % 15_000);
            let pause = Duration::from_mins(1) + Duration::from_millis(jitter);
            tokio::select! { () = stop.cancelled() => return, () = tokio::time::sleep(pause) => {} }
        }
    }

    async fn renew(&self) {
        let (client, namespace) = &self.managed;
        let error = match renew(client, namespace, self.name).await {
            Ok(()) => return,
            Err(error) => error,
        };
        // Without the namespace or the lease API here, the hub keeps it.
        if let (Refusal::NotFound, Some((client, namespace))) = (Refusal::of(&error), &self.hub) {
            if let Err(error) = renew(client, namespace, self.name).await {
                tracing::warn!(lease = self.name, %error, "cannot renew the lease on the hub");
            }
        } else {
            tracing::warn!(lease = self.name, %error, "cannot renew the lease");
        }
    }
}

async fn renew(client: &Client, namespace: &str, name: &str) -> Result<(), kube::Error> {
    let leases: Api<Lease> = Api::namespaced(client.clone(), namespace);
    let spec = LeaseSpec {
        lease_duration_seconds: Some(LEASE_SECONDS),
        renew_time: Some(MicroTime(Timestamp::now())),
        ..LeaseSpec::default()
    };
    let patch = Patch::Merge(serde_json::json!({ "spec": spec }));
    match leases.patch(name, &PatchParams::default(), &patch).await {
        Err(error) if Refusal::of(&error) == Refusal::NotFound => {
            let metadata = ObjectMeta {
                name: Some(name.to_owned()),
                ..ObjectMeta::default()
            };
            let lease = Lease {
                metadata,
                spec: Some(spec),
            };
            leases
                .create(&PostParams::default(), &lease)
                .await
                .map(|_| ())
        }
        other => other.map(|_| ()),
    }
}
