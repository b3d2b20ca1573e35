//! The registration agent's part in add-ons: credentials and health.

use anyhow::{Context as _, Result, ensure};
use k8s_openapi::api::authentication::v1::SelfSubjectReview;
use k8s_openapi::api::certificates::v1::CertificateSigningRequest as Request;
use kube::api::{ListParams, Patch, PatchParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};
use reeve_testkit::{Object, SOON, eventually};
use serde_json::json;

use crate::{ADDON_API, Site, condition, offer_and_addon, until};

const ADDON: (&str, &str) = (ADDON_API, "ManagedClusterAddOn");
const SECRET: (&str, &str) = ("v1", "Secret");
const EAST: &str = "east";
const NAME: &str = "kettle";
const USER: &str = "system:open-cluster-management:cluster:east:addon:kettle:agent:kettle";
const GROUP: &str = "system:open-cluster-management:cluster:east:addon:kettle";
const EVERYWHERE: &str = "system:open-cluster-management:addon:kettle";

pub(crate) async fn all(site: &Site) -> Result<()> {
    cluster_is_published(site).await?;
    offer_and_addon(site, EAST, NAME).await?;
    let registration = json!({ "status": {
        "namespace": "kettles",
        "registrations": [{
            "signerName": "kubernetes.io/kube-apiserver-client",
            "subject": { "user": USER, "groups": [GROUP, EVERYWHERE] },
        }],
    }});
    let addons = (ADDON.0, ADDON.1, Some(EAST));
    site.hub
        .patch_status(addons.0, addons.1, addons.2, NAME, registration)
        .await?;
    approve(site).await?;
    // Only now there is a place for the secret.
    site.managed
        .apply("{apiVersion: v1, kind: Namespace, metadata: {name: kettles}}")
        .await?;
    let name = "kettle-hub-kubeconfig";
    let secret = until(&site.managed, SECRET, "kettles", name, |_| true).await?;
    reaches_the_hub(&secret).await?;
    until(&site.hub, ADDON, EAST, NAME, |addon| {
        addon.data["status"]["kubeClientDriver"] == "csr"
            && condition(addon, "ClusterCertificateRotated")["status"] == "True"
    })
    .await?;
    health(site).await?;
    let object = json!({ "apiVersion": ADDON.0, "kind": ADDON.1,
        "metadata": { "name": NAME, "namespace": EAST } });
    site.hub.delete(&object.to_string()).await?;
    site.managed
        .gone(SECRET.0, SECRET.1, Some("kettles"), name, SOON)
        .await
}

async fn cluster_is_published(site: &Site) -> Result<()> {
    let kind = ("cluster.open-cluster-management.io/v1", "ManagedCluster");
    let cluster = until(&site.hub, kind, "", EAST, |cluster| {
        condition(cluster, "ManagedClusterJoined")["status"] == "True"
            && condition(cluster, "HubAcceptedManagedCluster")["status"] == "True"
    })
    .await?;
    let status = &cluster.data["status"];
    let claims = json!([{ "name": "id.k8s.io", "value": "the-id" }]);
    ensure!(status["clusterClaims"] == claims, "{status}");
    let version = site.managed.client().apiserver_version().await?.git_version;
    ensure!(
        status["version"]["kubernetes"] == version.as_str(),
        "{status}"
    );
    Ok(())
}

/// Approves the request, which an agent of the cluster must have made.
async fn approve(site: &Site) -> Result<()> {
    let requests: Api<Request> = Api::all(site.hub.client());
    let request = eventually("there is a request", SOON, || async {
        let all = requests.list(&ListParams::default()).await?;
        let found = all.items.into_iter().find(|request| {
            request
                .metadata
                .name
                .as_ref()
                .is_some_and(|it| it.starts_with("addon-east-kettle-"))
        });
        found.context("there is none")
    })
    .await?;
    let labels = request.metadata.labels.clone().unwrap_or_default();
    ensure!(labels["open-cluster-management.io/cluster-name"] == EAST);
    ensure!(labels["open-cluster-management.io/addon-name"] == NAME);
    let user = request.spec.username.clone().unwrap_or_default();
    ensure!(
        user.starts_with("system:open-cluster-management:east:"),
        "{user}"
    );
    let name = request.metadata.name.context("without a name")?;
    let approval = json!({ "status": { "conditions": [
        { "type": "Approved", "status": "True", "reason": "Test", "message": "" },
    ]}});
    requests
        .patch_approval(&name, &PatchParams::default(), &Patch::Merge(approval))
        .await?;
    Ok(())
}

/// The secret mounted as files would be: the names in the kubeconfig are those of its keys.
async fn reaches_the_hub(secret: &Object) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let data: k8s_openapi::api::core::v1::Secret =
        serde_json::from_value(serde_json::to_value(secret)?)?;
    let data = data.data.unwrap_or_default();
    let keys: Vec<_> = data.keys().map(String::as_str).collect();
    ensure!(
        keys == ["cluster-name", "kubeconfig", "tls.crt", "tls.key"],
        "{keys:?}"
    );
    for (key, value) in &data {
        std::fs::write(folder.path().join(key), &value.0)?;
    }
    let kubeconfig = Kubeconfig::read_from(folder.path().join("kubeconfig"))?;
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    let reviews: Api<SelfSubjectReview> = Api::all(Client::try_from(config)?);
    let review = reviews
        .create(&PostParams::default(), &SelfSubjectReview::default())
        .await?;
    let who = review.status.and_then(|status| status.user_info);
    let who = who.context("the hub does not say who we are")?;
    ensure!(who.username.as_deref() == Some(USER), "{who:?}");
    let groups = who.groups.unwrap_or_default();
    ensure!(
        [GROUP, EVERYWHERE]
            .iter()
            .all(|it| groups.iter().any(|group| group == it)),
        "{groups:?}"
    );
    Ok(())
}

/// Unknown without a lease, available with a fresh one, not available with an old one.
async fn health(site: &Site) -> Result<()> {
    let is = |status: &'static str, reason: &'static str, message: &'static str| {
        until(&site.hub, ADDON, EAST, NAME, move |addon| {
            let condition = condition(addon, "Available");
            condition["status"] == status
                && condition["reason"] == reason
                && condition["message"] == message
        })
    };
    let lease = |time: jiff::Timestamp| {
        let time = time.strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string();
        json!({ "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": { "name": NAME, "namespace": "kettles" },
            "spec": { "renewTime": time, "leaseDurationSeconds": 60 } })
        .to_string()
    };
    is(
        "Unknown",
        "ManagedClusterAddOnLeaseNotFound",
        "The status of kettle add-on is unknown.",
    )
    .await?;
    let now = jiff::Timestamp::now();
    site.managed.apply(&lease(now)).await?;
    is(
        "True",
        "ManagedClusterAddOnLeaseUpdated",
        "kettle add-on is available.",
    )
    .await?;
    labelled(site, "available").await?;
    let old = now - jiff::SignedDuration::from_mins(6);
    site.managed.apply(&lease(old)).await?;
    is(
        "False",
        "ManagedClusterAddOnLeaseUpdateStopped",
        "kettle add-on is not available.",
    )
    .await?;
    labelled(site, "unhealthy").await
}

async fn labelled(site: &Site, state: &str) -> Result<()> {
    let kind = ("cluster.open-cluster-management.io/v1", "ManagedCluster");
    until(&site.hub, kind, "", EAST, |cluster| {
        let labels = cluster.metadata.labels.clone().unwrap_or_default();
        let label = labels.get("feature.open-cluster-management.io/addon-kettle");
        label.is_some_and(|label| label == state)
    })
    .await?;
    Ok(())
}
