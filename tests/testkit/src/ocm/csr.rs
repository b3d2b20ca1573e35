//! Requests for the certificates of add-ons.

use anyhow::{Context, Result};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kube::ResourceExt as _;
use kube::api::{DynamicObject, PostParams};
use rcgen::KeyPair;
use serde_json::{Value, json};

use super::agents::Agents;
use super::names::{ADDON_LABEL, CLUSTER_LABEL, REQUEST};
use crate::pki;

pub(super) const SIGNER: &str = "kubernetes.io/kube-apiserver-client";

/// A request that was made, and the key that its certificate will be good for.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) name: String,
    /// In PEM.
    pub(super) key: String,
}

/// The state of a certificate request.
pub(super) enum RequestState {
    Waiting,
    /// The certificate, in PEM.
    Issued(String),
    /// Denied, failed, or gone.
    Lost,
}

/// Asks the hub for a certificate of an add-on.
pub(super) async fn make(agents: &Agents, addon: &str, subject: &Value) -> Result<Request> {
    let key = KeyPair::generate().context("generating a key")?;
    let pem = request(addon, subject, &key)?;
    let cluster = &agents.cluster;
    let object = json!({
        "apiVersion": REQUEST.api_version,
        "kind": REQUEST.kind,
        "metadata": {
            "generateName": format!("addon-{cluster}-{addon}-"),
            "labels": { CLUSTER_LABEL: cluster, ADDON_LABEL: addon },
        },
        "spec": {
            "request": STANDARD.encode(pem),
            "signerName": SIGNER,
            "usages": ["digital signature", "key encipherment", "client auth"],
        },
    });
    let object: DynamicObject = serde_json::from_value(object)?;
    let (api, _) = agents
        .hub
        .api(REQUEST.api_version, REQUEST.kind, None)
        .await?;
    let created = api.create(&PostParams::default(), &object).await;
    let created = created.with_context(|| format!("requesting a certificate of {addon}"))?;
    Ok(Request {
        name: created.name_any(),
        key: key.serialize_pem(),
    })
}

fn request(addon: &str, subject: &Value, key: &KeyPair) -> Result<String> {
    let host = format!("{addon}.addon.open-cluster-management.io");
    let groups = subject["groups"].as_array().into_iter().flatten();
    let groups: Vec<&str> = groups.filter_map(Value::as_str).collect();
    let user = subject["user"].as_str().unwrap_or_default();
    pki::request(user, &groups, &[host], key)
}

/// Reads the state of a certificate request.
pub(super) async fn request_state(agents: &Agents, request: &Request) -> Result<RequestState> {
    let object = agents
        .hub
        .get(REQUEST.api_version, REQUEST.kind, None, &request.name)
        .await?;
    let Some(object) = object else {
        return Ok(RequestState::Lost);
    };
    let status = &object.data["status"];
    let lost = |kind: &str| super::condition::is_true(&status["conditions"], kind);
    if lost("Denied") || lost("Failed") {
        return Ok(RequestState::Lost);
    }
    let Some(certificate) = status["certificate"].as_str() else {
        return Ok(RequestState::Waiting);
    };
    let certificate = STANDARD
        .decode(certificate)
        .context("reading a certificate")?;
    let certificate = String::from_utf8(certificate).context("reading a certificate")?;
    Ok(RequestState::Issued(certificate))
}
