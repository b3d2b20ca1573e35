//! Where agents are put, what the status of an add-on says, and clusters that go with their add-ons.

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use reeve_testkit::{SOON, eventually};
use serde_json::{Value, json};

use crate::unattended::hub::{ADDON, CLUSTER, CONFIG_POLICY, FRAMEWORK, Hub};

const DEPLOY: &str = "addon-config-policy-controller-deploy-0";
const DEFAULT: &str = "open-cluster-management-agent-addon";

/// Waits until the agent is put into a namespace, and until the status says so.
async fn is_put_into(hub: &Hub, cluster: &str, expected: &str) -> Result<Value> {
    eventually(format!("the agent is in {expected}"), SOON, || async {
        let work = hub.work(cluster, DEPLOY).await?;
        let manifests = work.data["spec"]["workload"]["manifests"].as_array();
        let deployments = manifests.into_iter().flatten();
        let namespaces: Vec<&Value> = deployments
            .filter(|object| object["kind"] == "Deployment")
            .map(|object| &object["metadata"]["namespace"])
            .collect();
        ensure!(namespaces == [expected], "it is in {namespaces:?}");
        let add_on = hub
            .plane
            .get(ADDON.0, ADDON.1, Some(cluster), CONFIG_POLICY)
            .await?;
        let status = add_on.context("no add-on")?.data["status"].clone();
        ensure!(status["namespace"] == expected, "the status is {status}");
        Ok(status)
    })
    .await
}

async fn configure(hub: &Hub, cluster: &str, namespace: Option<&str>) -> Result<()> {
    let mut config = json!({
        "apiVersion": ADDON.0, "kind": "AddOnDeploymentConfig",
        "metadata": {"namespace": cluster, "name": "settings"}, "spec": {"customizedVariables": [{"name": "logLevel", "value": "2"}]},
    });
    if let Some(namespace) = namespace {
        config["spec"]["agentInstallNamespace"] = json!(namespace);
    }
    hub.plane.apply(&config.to_string()).await?;
    Ok(())
}

/// The namespace of the add-on, of its configuration, of an empty one, and of one that says nothing.
pub(crate) async fn namespaces(hub: Arc<Hub>) -> Result<()> {
    const CLUSTER_NAME: &str = "spaced";
    hub.join(CLUSTER_NAME).await?;
    let mut add_on = json!({
        "apiVersion": ADDON.0, "kind": ADDON.1,
        "metadata": {"namespace": CLUSTER_NAME, "name": CONFIG_POLICY},
        "spec": {"installNamespace": "own"},
    });
    hub.plane.apply(&add_on.to_string()).await?;
    let status = is_put_into(&hub, CLUSTER_NAME, "own").await?;
    let registration = &status["registrations"][0];
    let agent =
        format!("system:open-cluster-management:cluster:{CLUSTER_NAME}:addon:{CONFIG_POLICY}");
    ensure!(
        status["supportedConfigs"]
            == json!([{
                "group": "addon.open-cluster-management.io", "resource": "addondeploymentconfigs",
            }])
            && registration["signerName"] == "kubernetes.io/kube-apiserver-client"
            && registration["subject"]
                == json!({
                    "user": format!("{agent}:agent:{CONFIG_POLICY}"),
                    "groups": [agent, format!("system:open-cluster-management:addon:{CONFIG_POLICY}")],
                }),
        "the status is {status}"
    );
    configure(&hub, CLUSTER_NAME, Some("configured")).await?;
    add_on["spec"]["configs"] = json!([{
        "group": "addon.open-cluster-management.io", "resource": "addondeploymentconfigs",
        "namespace": CLUSTER_NAME, "name": "settings",
    }]);
    hub.plane.apply(&add_on.to_string()).await?;
    is_put_into(&hub, CLUSTER_NAME, "configured").await?;
    configure(&hub, CLUSTER_NAME, Some("")).await?;
    is_put_into(&hub, CLUSTER_NAME, "own").await?;
    // Nothing is the default of the kind, which wins over the add-on's.
    configure(&hub, CLUSTER_NAME, None).await?;
    is_put_into(&hub, CLUSTER_NAME, DEFAULT).await?;
    Ok(())
}

/// The add-ons of a deleted cluster are released: no agent is left to clean up.
pub(crate) async fn cluster_deleted(hub: Arc<Hub>) -> Result<()> {
    const CLUSTER_NAME: &str = "leaving";
    hub.join(CLUSTER_NAME).await?;
    for addon in [FRAMEWORK, CONFIG_POLICY] {
        hub.enable(CLUSTER_NAME, addon, json!({})).await?;
        hub.held(CLUSTER_NAME, addon).await?;
    }
    let cluster = json!({
        "apiVersion": CLUSTER.0, "kind": CLUSTER.1, "metadata": {"name": CLUSTER_NAME},
    });
    hub.plane.delete(&cluster.to_string()).await?;
    for addon in [FRAMEWORK, CONFIG_POLICY] {
        hub.disable(CLUSTER_NAME, addon).await?;
        hub.gone(CLUSTER_NAME, addon).await?;
    }
    Ok(())
}
