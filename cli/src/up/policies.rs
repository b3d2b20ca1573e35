//! What `reeve up` shows of the policies of the hub. Only that is read: what a policy contains may be nested more deeply
//! than a decoder takes, and is skipped.

use anyhow::{Context as _, Result};
use kube::api::{ListParams, ObjectMeta};
use kube::core::Request;
use kube::{Client, Resource as _};
use reeve_api::policy::CompliancePerCluster;
use reeve_api::{Policy, names};
use serde::Deserialize;

/// A root policy, as far as it is shown.
#[derive(Debug, Deserialize)]
pub(super) struct RootPolicy {
    pub(super) metadata: ObjectMeta,
    pub(super) spec: Spec,
    pub(super) status: Option<Status>,
}

/// Of the status only the clusters.
#[derive(Debug, Deserialize)]
pub(super) struct Status {
    pub(super) status: Option<Vec<CompliancePerCluster>>,
}

/// Of the spec only whether it counts.
#[derive(Debug, Deserialize)]
pub(super) struct Spec {
    #[serde(default)]
    pub(super) disabled: bool,
}

#[derive(Deserialize)]
struct RootPolicies {
    items: Vec<RootPolicy>,
}

/// The policies of users: no replicas.
pub(super) async fn root_policies(hub: &Client) -> Result<Vec<RootPolicy>> {
    let of_users = ListParams::default().labels(&format!("!{}", names::ROOT_POLICY_LABEL));
    let request = Request::new(Policy::url_path(&(), None)).list(&of_users)?;
    let found = hub.request::<RootPolicies>(request).await;
    Ok(found.context("listing the policies of the hub")?.items)
}
