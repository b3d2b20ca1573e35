//! What admission takes from the rights of the propagator.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::authentication::v1::TokenRequest;
use k8s_openapi::api::core::v1::{Secret, ServiceAccount};
use kube::api::{Api, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use reeve_testkit::{Plane, SOON, eventually, workspace};
use serde_json::{Value, json};

const PROPAGATOR: &str =
    "system:serviceaccount:open-cluster-management:governance-policy-propagator";
const KEY: &str = "policy-encryption-key";
const LABEL: &str = "policy.open-cluster-management.io/hub-template-accounts";

async fn client(kubeconfig: &Path) -> Result<Client> {
    let kubeconfig = Kubeconfig::read_from(kubeconfig)?;
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    Ok(Client::try_from(config)?)
}

/// Creates an object in a dry run. The message of a denial is an error.
async fn create(client: &Client, namespace: &str, secret: Value) -> Result<()> {
    let secrets: Api<Secret> = Api::namespaced(client.clone(), namespace);
    let options = PostParams {
        dry_run: true,
        ..PostParams::default()
    };
    secrets
        .create(&options, &serde_json::from_value(secret)?)
        .await?;
    Ok(())
}

async fn token(client: &Client, namespace: &str) -> Result<()> {
    let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), namespace);
    let request = TokenRequest::default();
    accounts
        .create_token_request("reader", &PostParams::default(), &request)
        .await?;
    Ok(())
}

fn secret(name: &str, kind: &str) -> Value {
    json!({
        "metadata": {
            "name": name, "annotations": { "kubernetes.io/service-account.name": "reader" },
        },
        "type": kind,
    })
}

fn ensure_denied(outcome: Result<()>, by: &str) -> Result<()> {
    let Err(error) = outcome else {
        anyhow::bail!("{by} denied nothing");
    };
    let text = format!("{error:#}");
    ensure!(text.contains(by), "{text}");
    Ok(())
}

/// By RBAC alone the propagator gets the token of any account. Its `ClusterRole` is that of the manifests.
pub(crate) async fn propagator_creates_only_allowed_secrets_and_tokens(
    plane: Arc<Plane>,
) -> Result<()> {
    let deploy = workspace().join("deploy");
    let role = fs::read_to_string(deploy.join("hub/rbac.yaml"))?;
    let policies = deploy.join("components/admission-policies/admission-policies.yaml");
    let policies = fs::read_to_string(policies)?;
    for (namespace, is_allowed) in [
        ("open-cluster-management", "false"),
        ("bounded-allowed", "true"),
        ("bounded", "false"),
    ] {
        let labels = json!({ LABEL: is_allowed });
        let object = json!({
            "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": namespace, "labels": labels },
        });
        plane.apply(&object.to_string()).await?;
        let account = json!({
            "apiVersion": "v1", "kind": "ServiceAccount",
            "metadata": { "name": "reader", "namespace": namespace },
        });
        plane.apply(&account.to_string()).await?;
    }
    plane.apply(&role).await?;
    let propagator = client(&plane.kubeconfig_for(PROPAGATOR, None)?).await?;
    let holder = "kubernetes.io/service-account-token";
    eventually("its rights are wide", SOON, || async {
        token(&propagator, "open-cluster-management").await?;
        create(&propagator, "bounded", secret("token", holder)).await
    })
    .await?;

    plane.apply(&policies).await?;
    let [secrets, tokens] =
        ["secrets", "tokens"].map(|of| format!("governance-policy-propagator-{of}"));
    eventually("admission bounds them", SOON, || async {
        ensure_denied(token(&propagator, "bounded").await, &tokens)?;
        ensure_denied(
            create(&propagator, "bounded", secret(KEY, holder)).await,
            &secrets,
        )
    })
    .await?;
    ensure_denied(token(&propagator, "open-cluster-management").await, &tokens)?;
    for name in ["other", "policy-encryption-key2"] {
        let outcome = create(&propagator, "bounded", secret(name, "Opaque")).await;
        ensure_denied(outcome, &secrets)?;
    }
    let unnamed = json!({ "metadata": { "generateName": KEY } });
    ensure_denied(create(&propagator, "bounded", unnamed).await, &secrets)?;
    // What the propagator needs.
    let key = json!({ "metadata": { "name": KEY }, "data": { "key": "" } });
    create(&propagator, "bounded", key)
        .await
        .context("the key of a cluster")?;
    token(&propagator, "bounded-allowed")
        .await
        .context("a token where that is allowed")?;
    // Other users are not affected.
    let administrator = plane.client();
    token(&administrator, "bounded").await?;
    create(&administrator, "bounded", secret("token", holder)).await?;
    plane.delete(&policies).await
}
