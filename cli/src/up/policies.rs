//! Reads the policies of the hub for the table of `reeve up`. Only the shown fields are decoded: the content of a
//! policy may be nested more deeply than a decoder accepts, and is skipped.
//! than a decoder takes, and is skipped.

use anyhow::{Context as _, Result};
use kube::api::{ListParams, ObjectMeta};
use kube::core::Request;
use kube::{Client, Resource as _};
use reeve_api::names::{self, RootPolicyName};
use reeve_api::policy::CompliancePerCluster;
use reeve_api::{Compliance, Policy};
use reeve_fleet::Fleet;
use serde::Deserialize;

use super::messages;

/// Kinds that controllers of managed clusters evaluate, by their plurals. No controller on the hub does.
const TEMPLATE_KINDS: [(&str, &str, &str); 3] = [
    ("v1", "configurationpolicies", "ConfigurationPolicy"),
    ("v1", "certificatepolicies", "CertificatePolicy"),
    ("v1beta1", "operatorpolicies", "OperatorPolicy"),
];

/// A line of the table.
#[derive(Debug, Default)]
pub(super) struct Row {
    /// The namespace and the name.
    pub(super) name: String,
    /// Whether the policy is disabled, and so on no cluster.
    pub(super) disabled: bool,
    /// The compliance on each bound cluster.
    pub(super) clusters: Vec<(String, Option<Compliance>)>,
    /// Why there is no compliance, where that is known.
    pub(super) problem: Option<String>,
}

/// The shown fields of a root policy.
#[derive(Debug, Deserialize)]
struct RootPolicy {
    metadata: ObjectMeta,
    spec: Spec,
    status: Option<Status>,
}

/// The clusters in the status.
#[derive(Debug, Deserialize)]
struct Status {
    status: Option<Vec<CompliancePerCluster>>,
}

#[derive(Debug, Deserialize)]
struct Spec {
    #[serde(default)]
    disabled: bool,
}

/// Only the name: other metadata may be nested at any depth.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Named {
    name: String,
    namespace: String,
}

#[derive(Deserialize)]
struct List<T> {
    items: Vec<T>,
}

#[derive(Deserialize)]
struct Misplaced {
    metadata: Named,
}

/// The root policies; then the objects that belong into a policy and were applied to the hub.
pub(super) async fn read(fleet: &Fleet) -> Result<Vec<Row>> {
    let hub = fleet.hub.client();
    let of_users = ListParams::default().labels(&format!("!{}", names::ROOT_POLICY_LABEL));
    let request = Request::new(Policy::url_path(&(), None)).list(&of_users)?;
    let found = hub.request::<List<RootPolicy>>(request).await;
    let found = found.context("listing the policies of the hub")?;
    let mut rows: Vec<Row> = found.items.into_iter().map(row).collect();
    for (version, plural, kind) in TEMPLATE_KINDS {
        if fleet.hub.server.count(names::GROUP, plural) > 0 {
            rows.extend(misplaced(&hub, version, plural, kind).await?);
        }
    }
    Ok(rows)
}

async fn misplaced(hub: &Client, version: &str, plural: &str, kind: &str) -> Result<Vec<Row>> {
    let path = format!("/apis/{}/{version}/{plural}", names::GROUP);
    let request = Request::new(path).list(&ListParams::default())?;
    let found = hub.request::<List<Misplaced>>(request).await;
    let found = found.with_context(|| format!("listing the {plural} of the hub"))?;
    let rows = found.items.into_iter().map(|object| Row {
        name: format!("{}/{}", object.metadata.namespace, object.metadata.name),
        problem: Some(messages::on_the_hub(kind)),
        ..Row::default()
    });
    Ok(rows.collect())
}

fn row(policy: RootPolicy) -> Row {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let (namespace, name) = (
        text(&policy.metadata.namespace),
        text(&policy.metadata.name),
    );
    let clusters = policy.status.and_then(|status| status.status);
    let clusters: Vec<_> = clusters
        .into_iter()
        .flatten()
        .map(|one| {
            let compliance = one.compliant.as_deref().and_then(Compliance::parse);
            (one.clustername.unwrap_or_default(), compliance)
        })
        .collect();
    let root = RootPolicyName::new(namespace, name);
    let problem = root.fits().err().map(messages::name_too_long);
    Row {
        name: format!("{}/{}", root.namespace, root.name),
        disabled: policy.spec.disabled,
        clusters,
        problem,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(name: &str) -> Row {
        let policy = json!({
            "metadata": { "namespace": "policies", "name": name }, "spec": {},
            "status": { "status": [{ "clustername": "c1" }] },
        });
        row(serde_json::from_value(policy).unwrap())
    }

    #[test]
    fn name_too_long_for_replicas_is_named_as_the_reason() {
        assert_eq!(of(&"x".repeat(54)).problem, None);
        let problem = of(&"x".repeat(55)).problem.unwrap();
        assert!(problem.contains("63 characters, at most 62"), "{problem}");
    }
}
