//! Policies for operators, in a fleet that has no Operator Lifecycle Manager.

use anyhow::{Context as _, Result, ensure};
use kube::api::Api;
use reeve_api::Policy;
use reeve_fleet::{Target, apply};
use reeve_testkit::eventually;
use serde_json::json;

use super::{SOON, fleet, read, run_during, wait_for_compliance};

#[tokio::test(flavor = "multi_thread")]
async fn op_5_4_policy_for_an_operator_says_that_its_package_is_missing() -> Result<()> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let folder = tempfile::tempdir()?;
    let fleet = fleet(&["east"], folder.path()).await?;
    let hub = fleet.hub.client();
    let group = "policy.open-cluster-management.io";
    let objects = [
        json!({
            "apiVersion": format!("{group}/v1"), "kind": "Policy",
            "metadata": {"name": "quay", "namespace": "policies"},
            "spec": {"disabled": false, "policy-templates": [{"objectDefinition": {
                "apiVersion": format!("{group}/v1beta1"), "kind": "OperatorPolicy",
                "metadata": {"name": "quay"},
                "spec": {
                    "remediationAction": "enforce", "complianceType": "musthave",
                    "upgradeApproval": "Automatic", "subscription": {"name": "quay-operator"},
                },
            }}]},
        }),
        json!({
            "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "Placement",
            "metadata": {"name": "quay", "namespace": "policies"}, "spec": {"clusterSets": ["global"]},
        }),
        json!({
            "apiVersion": format!("{group}/v1"), "kind": "PlacementBinding",
            "metadata": {"name": "quay", "namespace": "policies"},
            "placementRef": {
                "apiGroup": "cluster.open-cluster-management.io", "kind": "Placement", "name": "quay",
            },
            "subjects": [{"apiGroup": group, "kind": "Policy", "name": "quay"}],
        }),
    ];
    let text: Vec<String> = objects.iter().map(ToString::to_string).collect();
    let file = folder.path().join("quay.yaml");
    std::fs::write(&file, text.join("\n---\n"))?;
    let story = async {
        let applied = apply(&Target::hub(hub.clone()), &read(file)?).await;
        ensure!(applied.errors.is_empty(), "{applied:?}");
        wait_for_compliance(&hub, "quay", 1, "NonCompliant").await?;
        let replicas: Api<Policy> = Api::namespaced(hub.clone(), "east");
        eventually("the hub shows the reason", SOON, || async {
            let replica = replicas.get("policies.quay").await?;
            let status = serde_json::to_string(&replica.status.context("no status")?)?;
            let reason = "NonCompliant; the subscription defaults could not be determined because the PackageManifest was not found";
            ensure!(status.contains(reason), "{status}");
            Ok(())
        })
        .await
    };
    run_during(&fleet, story).await
}
