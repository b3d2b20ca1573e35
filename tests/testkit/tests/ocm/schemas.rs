//! The CRDs are no more tolerant than a real hub's.

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use crate::{ADDON_API, Site, WORK_API};

const CLUSTER_API: &str = "cluster.open-cluster-management.io/v1";

pub(crate) async fn all(site: &Site) -> Result<()> {
    let referent = json!({ "name": "c", "nameSpace": "default" });
    let misspelt = [
        (
            ADDON_API,
            "ClusterManagementAddOn",
            json!({ "spec": {
            "supportedConfigs": [{ "resource": "r", "defaultConfig": referent }] } }),
        ),
        (
            ADDON_API,
            "ManagedClusterAddOn",
            json!({ "spec": { "installNameSpace": "a" } }),
        ),
        (
            ADDON_API,
            "ManagedClusterAddOn",
            json!({ "spec": {}, "status": {
            "registrations": [{ "signer": "a" }] } }),
        ),
        (
            ADDON_API,
            "AddOnDeploymentConfig",
            json!({ "spec": { "agentInstalNamespace": "a" } }),
        ),
        (
            WORK_API,
            "ManifestWork",
            json!({ "spec": { "manifestConfigs": [{
            "resourceIdentifier": { "resource": "pods", "name": "p" }, "feedbackRule": [] }] } }),
        ),
        (
            WORK_API,
            "ManifestWork",
            json!({ "spec": {}, "status": {
            "resourceStatus": { "manifests": [{ "resourceMeta": {}, "feedback": {} }] } } }),
        ),
        (
            WORK_API,
            "AppliedManifestWork",
            json!({ "spec": { "manifestWork": "a" } }),
        ),
        (
            CLUSTER_API,
            "ManagedCluster",
            json!({ "spec": { "hubAccepts": true } }),
        ),
        (
            CLUSTER_API,
            "ManagedCluster",
            json!({ "status": { "version": { "kube": "1" } } }),
        ),
    ];
    for (api_version, kind, body) in misspelt {
        let error = refused(site, api_version, kind, body).await?;
        ensure!(error.contains("not declared in schema"), "{kind}: {error}");
    }
    let wrong = json!({ "spec": { "agentInstallNamespace": "No_Namespace" } });
    let error = refused(site, ADDON_API, "AddOnDeploymentConfig", wrong).await?;
    ensure!(error.contains("should match"), "{error}");
    Ok(())
}

/// Why an object cannot be applied.
async fn refused(site: &Site, api_version: &str, kind: &str, body: Value) -> Result<String> {
    let mut object = body;
    object["apiVersion"] = api_version.into();
    object["kind"] = kind.into();
    object["metadata"] = json!({ "name": "misspelt" });
    let outcome = site.hub.apply(&object.to_string()).await;
    let error = outcome.err().map(|error| format!("{error:#}"));
    ensure!(error.is_some(), "taken: {object}");
    Ok(error.unwrap_or_default())
}
