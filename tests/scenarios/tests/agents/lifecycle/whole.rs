//! One installation from its first object to its last.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use reeve_testkit::{Plane, SOON, eventually, planes_are_embedded, workspace};
use serde_json::json;

use crate::lifecycle::fleet::{AGENTS, Fleet, NAMESPACE};
use crate::lifecycle::inventory::{self, Inventory};

const CLUSTERS: [&str; 2] = ["c1", "c2"];
const POLICY: &str = "policy.open-cluster-management.io/v1";
/// How long a controller may take to act on a watch event.
const SETTLE_TIME: Duration = Duration::from_secs(2);

pub(crate) async fn installed_used_and_removed() -> Result<()> {
    let fleet = Fleet::start(&CLUSTERS).await?;
    let played = run_lifecycle(&fleet).await;
    if played.is_err() {
        eprintln!("{}", fleet.dump().await);
    }
    played
}

async fn run_lifecycle(fleet: &Fleet) -> Result<()> {
    let before = stock_at_rest(fleet).await?;
    fleet.install().await?;
    fleet.enable().await?;
    govern(fleet).await?;
    ungovern(fleet).await?;
    fleet.disable().await?;
    fleet.uninstall().await?;
    // What clusteradm leaves to whoever has brought it: the CRDs, and the namespace.
    for name in [
        "placementbindings",
        "policies",
        "policyautomations",
        "policysets",
    ] {
        delete_crd(
            &fleet.hub,
            &format!("{name}.policy.open-cluster-management.io"),
        )
        .await?;
    }
    delete_crd(&fleet.hub, "placementrules.apps.open-cluster-management.io").await?;
    for namespace in [NAMESPACE, "policies"] {
        delete_namespace(&fleet.hub, namespace).await?;
    }
    let nothing = Vec::<String>::new();
    eventually(
        "everything is as it was before",
        Duration::from_mins(2),
        || async {
            let after = stock(fleet).await?;
            let differences = differences(&before, &after);
            ensure!(differences == nothing, "{}", differences.join("\n"));
            Ok(())
        },
    )
    .await
}

/// The stock once the controllers of Kubernetes have done what they do to a new cluster: the node controller takes
/// the taint from new nodes and labels them, others make service accounts and certificate bundles.
async fn stock_at_rest(fleet: &Fleet) -> Result<Vec<(String, Inventory)>> {
    eventually("the planes are at rest", SOON, || async {
        let first = stock(fleet).await?;
        tokio::time::sleep(SETTLE_TIME).await;
        let second = stock(fleet).await?;
        let changes = differences(&first, &second);
        ensure!(changes.is_empty(), "{}", changes.join("\n"));
        for (name, inventory) in &second {
            for (object, content) in inventory {
                let (taints, labels) = (&content["data"]["spec"]["taints"], &content["labels"]);
                let node = object.starts_with("/Node/");
                // On an embedded plane nobody looks after nodes.
                let labelled = planes_are_embedded() || !labels["beta.kubernetes.io/os"].is_null();
                let taken_in = taints.is_null() && labelled;
                ensure!(taken_in || !node, "{name}: {object} is new: {content}");
            }
        }
        Ok(second)
    })
    .await
}

/// What differs on each plane.
fn differences(before: &[(String, Inventory)], after: &[(String, Inventory)]) -> Vec<String> {
    let planes = before.iter().zip(after);
    let differences = planes.flat_map(|((name, before), (_, after))| {
        let differences = inventory::difference(before, after);
        differences
            .into_iter()
            .map(move |line| format!("{name}: {line}"))
    });
    differences.collect()
}

/// Of the hub and of all clusters.
async fn stock(fleet: &Fleet) -> Result<Vec<(String, Inventory)>> {
    let mut all = vec![("hub".to_owned(), inventory::take(&fleet.hub).await?)];
    for cluster in &fleet.clusters {
        let mut found = inventory::take(&cluster.plane).await?;
        // The leases of the add-ons go with their Deployments.
        let leases = cluster
            .plane
            .list("coordination.k8s.io/v1", "Lease", Some(AGENTS))
            .await?;
        for lease in leases {
            let name = lease.metadata.name.unwrap_or_default();
            found.insert(format!("Lease/{AGENTS}/{name}"), json!({}));
        }
        all.push((cluster.name.to_owned(), found));
    }
    Ok(all)
}

/// The guide's policy is enforced on both clusters, and the hub reports so.
async fn govern(fleet: &Fleet) -> Result<()> {
    let namespace =
        json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "policies" } });
    fleet.hub.apply(&namespace.to_string()).await?;
    fleet.hub.apply(&guide()?).await?;
    let placement = "placement-policy-namespace";
    reeve_testkit::world::decide(&fleet.hub, "policies", placement, &CLUSTERS).await?;
    let patch = json!({ "spec": { "remediationAction": "enforce" } });
    let name = ("policies", "policy-namespace");
    fleet
        .hub
        .patch(POLICY, "Policy", Some(name.0), name.1, patch)
        .await?;
    for cluster in &fleet.clusters {
        eventually(
            format!("{} has the namespace", cluster.name),
            SOON,
            || async {
                let found = cluster.plane.get("v1", "Namespace", None, "prod").await?;
                found.map(drop).context("it has not")
            },
        )
        .await?;
    }
    eventually("the hub reports Compliant", SOON, || async {
        let policy = fleet
            .hub
            .get(POLICY, "Policy", Some(name.0), name.1)
            .await?;
        let status = policy.context("it is not there")?.data["status"].clone();
        ensure!(status["compliant"] == "Compliant", "{status}");
        ensure!(
            status["status"].as_array().map(Vec::len) == Some(2),
            "{status}"
        );
        Ok(())
    })
    .await
}

/// The administrator takes the policy back, and what it has brought.
async fn ungovern(fleet: &Fleet) -> Result<()> {
    fleet.hub.delete(&guide()?).await?;
    for cluster in &fleet.clusters {
        let name = "policies.policy-namespace";
        let place = Some(cluster.name);
        cluster
            .plane
            .gone(POLICY, "Policy", place, name, SOON)
            .await?;
        // Until the garbage collector has taken it, it is enforced.
        let template = "policy-namespace-example";
        let kind = "ConfigurationPolicy";
        cluster
            .plane
            .gone(POLICY, kind, place, template, SOON)
            .await?;
        // The controller may hear of this end before it hears of the policy's, and enforce the policy once more.
        eventually("the namespace stays away", SOON, || async {
            delete_namespace(&cluster.plane, "prod").await?;
            tokio::time::sleep(SETTLE_TIME).await;
            let found = cluster.plane.get("v1", "Namespace", None, "prod").await?;
            ensure!(found.is_none(), "it is there again");
            Ok(())
        })
        .await?;
    }
    Ok(())
}

fn guide() -> Result<String> {
    let path = workspace().join("policies/namespace.yaml");
    std::fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))
}

async fn delete_namespace(plane: &Plane, name: &str) -> Result<()> {
    let object = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } });
    plane.delete(&object.to_string()).await?;
    plane.gone("v1", "Namespace", None, name, SOON).await?;
    Ok(())
}

async fn delete_crd(plane: &Plane, name: &str) -> Result<()> {
    let object = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": name },
    });
    plane.delete(&object.to_string()).await
}
