//! Where the agent of an add-on runs, and the secret by which it reaches the hub.

use anyhow::Result;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kube::ResourceExt as _;
use kube::api::DynamicObject;
use serde_json::json;

use super::agents::Agents;
use super::names::{DEFAULT_NAMESPACE, HOSTING, SECRET};
use crate::Objects;

/// Where the agent of an add-on runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) namespace: String,
    /// The hosting cluster, when it is not the managed one.
    pub(super) host: Option<String>,
}

impl Place {
    pub(super) fn objects<'a>(&self, agents: &'a Agents) -> &'a Objects {
        if self.host.is_some() {
            &agents.agent
        } else {
            &agents.managed
        }
    }
}

/// Where the agent of this add-on runs.
pub(super) fn place_of(addon: &DynamicObject) -> Place {
    let namespace = [
        &addon.data["status"]["namespace"],
        &addon.data["spec"]["installNamespace"],
    ];
    let mut namespace = namespace
        .into_iter()
        .filter_map(|value| value.as_str())
        .filter(|text| !text.is_empty());
    let host = addon.annotations().get(HOSTING);
    Place {
        namespace: namespace.next().unwrap_or(DEFAULT_NAMESPACE).to_owned(),
        host: host.filter(|host| !host.is_empty()).cloned(),
    }
}

pub(super) fn secret_name(addon: &str) -> String {
    format!("{addon}-hub-kubeconfig")
}

/// Writes the secret; its kubeconfig names the other keys as files beside itself.
pub(super) async fn write(
    agents: &Agents,
    addon: &str,
    place: &Place,
    (certificate, key): (&str, &str),
) -> Result<()> {
    let cluster = &agents.cluster;
    let kubeconfig = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{ "name": "hub", "cluster": {
            "server": agents.server,
            "certificate-authority-data": STANDARD.encode(&agents.ca),
        }}],
        "users": [{ "name": "default-auth", "user": {
            "client-certificate": "tls.crt",
            "client-key": "tls.key",
        }}],
        "contexts": [{ "name": "default-context", "context": {
            "cluster": "hub", "user": "default-auth", "namespace": cluster,
        }}],
        "current-context": "default-context",
    });
    let secret = json!({
        "apiVersion": SECRET.api_version,
        "kind": SECRET.kind,
        "metadata": { "name": secret_name(addon), "namespace": place.namespace },
        "data": {
            "cluster-name": STANDARD.encode(cluster),
            "kubeconfig": STANDARD.encode(kubeconfig.to_string()),
            "tls.crt": STANDARD.encode(certificate),
            "tls.key": STANDARD.encode(key),
        },
    });
    place.objects(agents).apply(&secret.to_string()).await?;
    Ok(())
}

/// Whether the secret is there and complete.
pub(super) async fn present(agents: &Agents, addon: &str, place: &Place) -> Result<bool> {
    let secret = place
        .objects(agents)
        .get(
            SECRET.api_version,
            SECRET.kind,
            Some(&place.namespace),
            &secret_name(addon),
        )
        .await?;
    let keys = ["cluster-name", "kubeconfig", "tls.crt", "tls.key"];
    Ok(secret.is_some_and(|secret| keys.iter().all(|key| secret.data["data"][key].is_string())))
}

/// Removes the secret, if it is there.
pub(super) async fn remove(agents: &Agents, addon: &str, place: &Place) -> Result<()> {
    let secret = json!({
        "apiVersion": SECRET.api_version,
        "kind": SECRET.kind,
        "metadata": { "name": secret_name(addon), "namespace": place.namespace },
    });
    place.objects(agents).delete(&secret.to_string()).await
}
