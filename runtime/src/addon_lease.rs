//! The add-on lease: a heartbeat that OCM turns into the add-on's `Available` condition.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta, OwnerReference};
use kube::api::{Api, Patch, PatchParams, PostParams};
use kube::{Client, Resource};
use tokio_util::sync::CancellationToken;

use crate::object::StatusReason;

/// How long a renewal is valid, in seconds.
const LEASE_SECONDS: i32 = 60;

/// Where the lease is kept: on the managed cluster, or on the hub where that is impossible.
pub struct AddonLease {
    /// The lease's name, which is the add-on's.
    pub name: &'static str,
    /// The managed cluster and the add-on's namespace there.
    pub managed: (Client, String),
    /// The hub and the cluster's namespace there.
    pub hub: Option<(Client, String)>,
    /// The name of the Deployment, in the add-on's namespace, that owns the lease: without an owner, the lease shows
    /// a removed add-on as available for minutes.
    pub deployment: Option<String>,
}

impl AddonLease {
    /// Renews the lease every minute, and up to a quarter later so that clusters spread out, while `alive` returns
    /// true.
    pub async fn run(self, alive: impl Fn() -> bool + Send, stop: CancellationToken) {
        let mut owner = None;
        loop {
            if alive() {
                if owner.is_none() {
                    owner = self.owner().await;
                }
                self.renew(owner.as_ref()).await;
            } else {
                tracing::warn!(lease = self.name, "not renewed: the watches are not synced");
            }
            // The clock's own digits are random enough to keep clusters apart.
            let jitter = u64::from(Timestamp::now().subsec_nanosecond().unsigned_abs() % 15_000);
            let pause = Duration::from_mins(1) + Duration::from_millis(jitter);
            tokio::select! { () = stop.cancelled() => return, () = tokio::time::sleep(pause) => {} }
        }
    }

    /// The Deployment. Without the right to read it the lease has no owner.
    async fn owner(&self) -> Option<OwnerReference> {
        let (client, namespace) = &self.managed;
        let deployments: Api<Deployment> = Api::namespaced(client.clone(), namespace);
        match deployments.get_metadata(self.deployment.as_ref()?).await {
            Ok(found) => {
                // Partial metadata have another kind; the owner is the Deployment.
                let name = found.metadata.name?;
                Some(OwnerReference {
                    api_version: Deployment::api_version(&()).into_owned(),
                    kind: Deployment::kind(&()).into_owned(),
                    name,
                    uid: found.metadata.uid?,
                    controller: None,
                    block_owner_deletion: None,
                })
            }
            Err(error) => {
                tracing::debug!(lease = self.name, %error, "the lease has no owner");
                None
            }
        }
    }

    async fn renew(&self, owner: Option<&OwnerReference>) {
        let (client, namespace) = &self.managed;
        let error = match renew((client, namespace), self.name, owner).await {
            Ok(()) => return,
            Err(error) => error,
        };
        // Without the namespace or the lease API here, the hub keeps it.
        if let (StatusReason::NotFound, Some((client, namespace))) =
            (StatusReason::of(&error), &self.hub)
        {
            if let Err(error) = renew((client, namespace), self.name, None).await {
                tracing::warn!(lease = self.name, %error, "cannot renew the lease on the hub");
            }
        } else {
            tracing::warn!(lease = self.name, %error, "cannot renew the lease");
        }
    }
}

async fn renew(
    (client, namespace): (&Client, &str),
    name: &str,
    owner: Option<&OwnerReference>,
) -> Result<(), kube::Error> {
    let leases: Api<Lease> = Api::namespaced(client.clone(), namespace);
    let spec = LeaseSpec {
        lease_duration_seconds: Some(LEASE_SECONDS),
        renew_time: Some(MicroTime(Timestamp::now())),
        ..LeaseSpec::default()
    };
    let owners = owner.map(|owner| vec![owner.clone()]);
    let mut patch = serde_json::json!({ "spec": spec });
    if let Some(owners) = &owners {
        patch["metadata"] = serde_json::json!({ "ownerReferences": owners });
    }
    let patch = Patch::Merge(patch);
    match leases.patch(name, &PatchParams::default(), &patch).await {
        Err(error) if StatusReason::of(&error) == StatusReason::NotFound => {
            let metadata = ObjectMeta {
                name: Some(name.to_owned()),
                owner_references: owners,
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
