//! Policies for operators that are installed: OLM's objects are as it would leave them, and nobody changes them.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use kube::ResourceExt as _;
use kube::api::{Api, DynamicObject};
use kube::core::{ApiResource, GroupVersionKind};
use reeve_benches_measuring::{Observed, Program, Used, print_requests, print_used, until_quiet};
use reeve_testkit::{Plane, eventually, workspace};
use serde_json::{Value, json};

/// Where the policies are.
pub(crate) const POLICIES: &str = "operators";
const OLM: &str = "operators.coreos.com/v1alpha1";
/// How long the API server may take to serve OLM's kinds.
const SERVED: Duration = Duration::from_secs(30);

fn policies(plane: &Plane) -> Api<DynamicObject> {
    let group = "policy.open-cluster-management.io";
    let kind = GroupVersionKind::gvk(group, "v1beta1", "OperatorPolicy");
    let resource = ApiResource::from_gvk_with_plural(&kind, "operatorpolicies");
    Api::namespaced_with(plane.client(), POLICIES, &resource)
}

/// Operators as OLM leaves them, and a policy that enforces each.
pub(crate) async fn install(plane: &Plane, count: usize) -> Result<()> {
    let crds = workspace().join("tests/scenarios/tests/policies/operator/olm.yaml");
    let crds = std::fs::read_to_string(crds).context("reading OLM's kinds")?;
    plane.apply(&crds).await?;
    for (api_version, kind) in [
        (OLM, "CatalogSource"),
        (OLM, "Subscription"),
        (OLM, "InstallPlan"),
        (OLM, "ClusterServiceVersion"),
        ("operators.coreos.com/v1", "OperatorGroup"),
        ("packages.operators.coreos.com/v1", "PackageManifest"),
    ] {
        eventually(format!("{kind} is served"), SERVED, || {
            plane.kind(api_version, kind)
        })
        .await?;
    }
    namespace(plane, POLICIES).await?;
    namespace(plane, "olm").await?;
    let metadata = json!({"name": "catalog", "namespace": "olm"});
    put(
        plane,
        json!({"apiVersion": OLM, "kind": "CatalogSource", "metadata": metadata, "spec": {}}),
    )
    .await?;
    let ready = json!({"connectionState": {"lastObservedState": "READY"}});
    status(plane, "CatalogSource", ("olm", "catalog"), ready).await?;
    for number in 0..count {
        operator(plane, &format!("operator-{number}")).await?;
    }
    Ok(())
}

async fn operator(plane: &Plane, name: &str) -> Result<()> {
    namespace(plane, name).await?;
    let csv = format!("{name}.v1");
    let source =
        json!({"name": name, "channel": "stable", "source": "catalog", "sourceNamespace": "olm"});
    let object = |kind: &str, name: &str, namespace: &str, labels: Value, spec: &Value| {
        json!({
            "apiVersion": OLM, "kind": kind, "spec": spec,
            "metadata": {"name": name, "namespace": namespace, "labels": labels},
        })
    };
    put(
        plane,
        object("Subscription", name, name, json!({}), &source),
    )
    .await?;
    let versions = json!({
        "currentCSV": csv, "installedCSV": csv, "lastUpdated": "2026-01-01T00:00:00Z",
    });
    status(plane, "Subscription", (name, name), versions).await?;
    let label = format!("operators.coreos.com/{name}.{name}");
    let spec = json!({"install": {"spec": {"deployments": []}}});
    put(
        plane,
        object(
            "ClusterServiceVersion",
            &csv,
            name,
            json!({label: ""}),
            &spec,
        ),
    )
    .await?;
    succeeded(plane, name, "install strategy completed").await?;
    let package = json!({
        "apiVersion": "packages.operators.coreos.com/v1", "kind": "PackageManifest",
        "metadata": {"name": name, "namespace": "default"},
        "status": {
            "packageName": name, "catalogSource": "catalog", "catalogSourceNamespace": "olm",
            "defaultChannel": "stable", "channels": [{"name": "stable", "entries": [{"name": csv}]}],
        },
    });
    put(plane, package).await?;
    let mut subscription = source;
    subscription["namespace"] = json!(name);
    put(
        plane,
        json!({
            "apiVersion": "policy.open-cluster-management.io/v1beta1", "kind": "OperatorPolicy",
            "metadata": {"name": name, "namespace": POLICIES},
            "spec": {
                "remediationAction": "enforce", "complianceType": "musthave",
                "upgradeApproval": "Automatic", "subscription": subscription,
            },
        }),
    )
    .await
}

async fn succeeded(plane: &Plane, operator: &str, message: &str) -> Result<()> {
    let csv = format!("{operator}.v1");
    let state = json!({"phase": "Succeeded", "reason": "InstallSucceeded", "message": message});
    status(plane, "ClusterServiceVersion", (operator, &csv), state).await
}

async fn put(plane: &Plane, object: Value) -> Result<()> {
    plane.apply(&object.to_string()).await?;
    Ok(())
}

async fn namespace(plane: &Plane, name: &str) -> Result<()> {
    put(
        plane,
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}),
    )
    .await
}

async fn status(
    plane: &Plane,
    kind: &str,
    (namespace, name): (&str, &str),
    status: Value,
) -> Result<()> {
    let patch = json!({ "status": status });
    plane
        .patch_status(OLM, kind, Some(namespace), name, patch)
        .await?;
    Ok(())
}

/// From the start of the program until all policies are Compliant.
pub(crate) async fn first_status(
    plane: &Plane,
    controller: &mut Program,
    count: usize,
) -> Result<()> {
    let mark = plane.audit()?.mark()?;
    let mut observed = Observed::start(policies(plane));
    let started = Instant::now();
    controller.start()?;
    let mut compliant = HashSet::new();
    while compliant.len() < count {
        let seen = observed.next().await?;
        if seen.object.data["status"]["compliant"] == "Compliant" {
            compliant.insert(seen.object.name_any());
        }
    }
    println!(
        "all Compliant after {:.2} s",
        started.elapsed().as_secs_f64()
    );
    until_quiet(plane, controller.name()).await?;
    print_used(controller.used()?, Used::default());
    print_requests(plane, controller.name(), mark)?;
    Ok(())
}

/// What the change of the status of one version costs.
pub(crate) async fn version_changed(plane: &Plane, controller: &Program) -> Result<()> {
    let (mark, before) = (plane.audit()?.mark()?, controller.used()?);
    succeeded(plane, "operator-0", "changed").await?;
    until_quiet(plane, controller.name()).await?;
    println!("\n# the status of one version changed");
    print_used(controller.used()?, before);
    print_requests(plane, controller.name(), mark)?;
    Ok(())
}
