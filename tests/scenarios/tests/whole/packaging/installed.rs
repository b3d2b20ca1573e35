//! What an API server makes of the manifests, and what then runs.

use std::fs;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use kube::Api;
use kube::ResourceExt as _;
use kube::api::{DynamicObject, Patch, PatchParams};
use kube::discovery::Scope;
use reeve_testkit::{
    Kubelet, KubeletOptions, Object, Plane, SOON, addon_crds, eventually, workspace,
};
use serde_json::json;

use crate::packaging::rendered::{EVERYTHING, UPSTREAM, charted, kustomized};

pub(crate) const NAMESPACE: &str = "open-cluster-management";

/// The kinds that others bring, and the namespaces.
pub(crate) async fn prepare(plane: &Plane) -> Result<()> {
    let root = workspace();
    let mut files = vec![root.join("tests/scenarios/crds/servicemonitors.yaml")];
    files.extend(addon_crds()?);
    for file in files {
        let file = file.display();
        let text = fs::read_to_string(file.to_string());
        let applied = plane
            .apply(&text.with_context(|| file.to_string())?)
            .await?;
        let crd = applied.first().context("no CRD")?.data.clone();
        let text = |pointer: &str| {
            let found = crd.pointer(pointer).and_then(|value| value.as_str());
            found.unwrap_or_default().to_owned()
        };
        let version = format!("{}/{}", text("/spec/group"), text("/spec/versions/0/name"));
        eventually(format!("{file} is served"), SOON, || async {
            plane.kind(&version, &text("/spec/names/kind")).await
        })
        .await?;
    }
    for namespace in [NAMESPACE, "elsewhere"] {
        let namespace =
            format!("{{apiVersion: v1, kind: Namespace, metadata: {{name: {namespace}}}}}");
        plane.apply(&namespace).await?;
    }
    Ok(())
}

/// Asks the API server what it would make of an object, strictly: a field that it does not know is an error.
async fn dry_run(plane: &Plane, object: &Object) -> Result<()> {
    let types = object.types.as_ref().context("an object without a kind")?;
    let (resource, capabilities) = plane.kind(&types.api_version, &types.kind).await?;
    let api: Api<DynamicObject> = match (&capabilities.scope, object.namespace()) {
        (Scope::Namespaced, Some(namespace)) => {
            Api::namespaced_with(plane.client(), &namespace, &resource)
        }
        (Scope::Namespaced, None) => anyhow::bail!("{} is in no namespace", object.name_any()),
        (Scope::Cluster, _) => Api::all_with(plane.client(), &resource),
    };
    let params = PatchParams {
        field_validation: Some(kube::api::ValidationDirective::Strict),
        ..PatchParams::apply("administrator").dry_run().force()
    };
    api.patch(&object.name_any(), &params, &Patch::Apply(object))
        .await
        .with_context(|| format!("{} {}", types.kind, object.name_any()))?;
    Ok(())
}

pub(crate) async fn all_objects_are_accepted(plane: Arc<Plane>) -> Result<()> {
    prepare(&plane).await?;
    let mut all = kustomized("deploy/hub").await?;
    all.extend(kustomized("tests/scenarios/packages/elsewhere").await?);
    all.extend(charted(NAMESPACE, UPSTREAM).await?);
    let everything = charted("elsewhere", EVERYTHING).await?;
    // Of cert-manager nothing is here.
    all.extend(everything.into_iter().filter(|object| {
        let types = object.types.as_ref();
        types.is_none_or(|types| !types.api_version.starts_with("cert-manager.io"))
    }));
    ensure!(all.len() > 80, "only {} objects were rendered", all.len());
    for object in &all {
        dry_run(&plane, object).await?;
    }
    Ok(())
}

/// The lease is held by a Pod, under the host name that a Pod has.
async fn addon_controller_leads_with_its_rights(plane: &Plane) -> Result<()> {
    let name = "governance-policy-addon-controller";
    let lease = "governance-policy-addon-controller-lock";
    eventually("the add-on controller leads", SOON, || async {
        let api = "coordination.k8s.io/v1";
        let lease = plane.get(api, "Lease", Some(NAMESPACE), lease).await?;
        let lease = lease.context("there is no lease")?;
        let holder = lease.data["spec"]["holderIdentity"].as_str();
        let holder = holder.unwrap_or_default();
        ensure!(holder.starts_with(name), "{holder:?} leads");
        Ok(())
    })
    .await
}

/// The base, applied; the Pods that come of it, run; a policy, propagated. Everything with the rights that the
/// manifests give, and no more.
pub(crate) async fn components_work_with_their_rights(plane: Arc<Plane>) -> Result<()> {
    prepare(&plane).await?;
    for object in kustomized("deploy/overlays/one-image").await? {
        plane.apply_object(&object).await?;
    }
    let kubelet = Kubelet::start(&plane, KubeletOptions::default()).await?;
    let outcome = tokio::try_join!(
        propagated(&plane),
        addon_controller_leads_with_its_rights(&plane)
    );
    outcome.map_err(|error| error.context(kubelet.dump()))?;
    Ok(())
}

async fn propagated(plane: &Plane) -> Result<()> {
    let name = "governance-policy-propagator";
    eventually("the propagator is available", SOON, || async {
        let found = plane
            .get("apps/v1", "Deployment", Some(NAMESPACE), name)
            .await?;
        let status = found.context("absent")?.data["status"].clone();
        ensure!(status["availableReplicas"] == 1, "its status is {status}");
        Ok(())
    })
    .await?;
    let group = "cluster.open-cluster-management.io";
    let policies = "policy.open-cluster-management.io";
    let metadata = json!({ "name": "installed", "namespace": "default" });
    let objects = [
        json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "cluster1" } }),
        json!({
            "apiVersion": format!("{group}/v1"), "kind": "ManagedCluster",
            "metadata": { "name": "cluster1" }, "spec": { "hubAcceptsClient": true },
        }),
        json!({
            "apiVersion": format!("{group}/v1beta1"), "kind": "Placement", "metadata": metadata, "spec": {},
        }),
        json!({
            "apiVersion": format!("{group}/v1beta1"), "kind": "PlacementDecision",
            "metadata": {
                "name": "installed-1", "namespace": "default",
                "labels": { "cluster.open-cluster-management.io/placement": "installed" },
            },
            "status": { "decisions": [{ "clusterName": "cluster1", "reason": "" }] },
        }),
        json!({
            "apiVersion": format!("{policies}/v1"), "kind": "Policy", "metadata": metadata,
            "spec": { "disabled": false, "policy-templates": [] },
        }),
        json!({
            "apiVersion": format!("{policies}/v1"), "kind": "PlacementBinding", "metadata": metadata,
            "placementRef": { "apiGroup": group, "kind": "Placement", "name": "installed" },
            "subjects": [{ "apiGroup": policies, "kind": "Policy", "name": "installed" }],
        }),
    ];
    for object in objects {
        plane.apply(&object.to_string()).await?;
    }
    eventually("the policy is propagated", SOON, || async {
        let api = format!("{policies}/v1");
        let found = plane
            .get(&api, "Policy", Some("cluster1"), "default.installed")
            .await?;
        found.context("there is no replicated policy")
    })
    .await?;
    Ok(())
}
