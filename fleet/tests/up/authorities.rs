//! Credentials of one server of a fleet are not valid on the others.

use anyhow::{Context as _, Result, ensure};
use k8s_openapi::ByteString;
use k8s_openapi::api::authentication::v1::TokenRequest;
use k8s_openapi::api::certificates::v1::CertificateSigningRequest;
use k8s_openapi::api::core::v1::{Namespace, ServiceAccount};
use kube::api::{Api, ListParams, Patch, PatchParams, PostParams};
use kube::config::{AuthInfo, KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use rcgen::{CertificateParams, DnType, KeyPair};
use reeve_fleet::{Access, Constraints, ExternalData, Fleet, FleetOptions, Pods, RateLimits};
use reeve_testkit::eventually;
use serde_json::json;

use super::{SOON, fleet};

/// A client of the server of one context, with the credentials of another.
async fn client(kubeconfig: &Kubeconfig, server: &str, user: &AuthInfo) -> Result<Client> {
    let mut mixed = kubeconfig.clone();
    for named in &mut mixed.auth_infos {
        named.auth_info = Some(user.clone());
    }
    let options = KubeConfigOptions {
        context: Some(server.to_owned()),
        ..KubeConfigOptions::default()
    };
    let config = Config::from_custom_kubeconfig(mixed, &options).await?;
    Ok(Client::try_from(config)?)
}

fn credentials(kubeconfig: &Kubeconfig, of: &str) -> Result<AuthInfo> {
    let mut named = kubeconfig.auth_infos.iter();
    let named = named.find(|named| named.name == of);
    let found = named.and_then(|named| named.auth_info.clone());
    found.with_context(|| format!("the kubeconfig has no user {of}"))
}

/// The status code of a read of the namespaces.
async fn code(client: &Client) -> Result<u16> {
    let namespaces: Api<Namespace> = Api::all(client.clone());
    match namespaces.list(&ListParams::default()).await {
        Ok(_) => Ok(200),
        Err(kube::Error::Api(status)) => Ok(status.code),
        Err(error) => Err(error).context("reading namespaces"),
    }
}

/// The certificate that a cluster's signer issues for a user and a group, with the key.
async fn signed(cluster: &Client, object: &str, user: &str, group: &str) -> Result<AuthInfo> {
    let key = KeyPair::generate()?;
    let mut params = CertificateParams::new(Vec::new())?;
    params.distinguished_name.push(DnType::CommonName, user);
    params
        .distinguished_name
        .push(DnType::OrganizationName, group);
    let pem = params.serialize_request(&key)?.pem()?;
    let request = json!({
        "metadata": { "name": object },
        "spec": {
            "request": ByteString(pem.into_bytes()), "usages": ["client auth"],
            "signerName": "kubernetes.io/kube-apiserver-client",
        },
    });
    let requests: Api<CertificateSigningRequest> = Api::all(cluster.clone());
    let request = serde_json::from_value(request)?;
    requests.create(&PostParams::default(), &request).await?;
    let condition = json!({ "type": "Approved", "status": "True" });
    let approved = Patch::Merge(json!({ "status": { "conditions": [condition] } }));
    let params = PatchParams::default();
    requests
        .patch_subresource("approval", object, &params, &approved)
        .await?;
    let certificate = eventually(format!("{object} is signed"), SOON, || async {
        let status = requests.get(object).await?.status.context("no status")?;
        status.certificate.context("no certificate")
    })
    .await?;
    let user = json!({
        "client-certificate-data": certificate,
        "client-key-data": ByteString(key.serialize_pem().into_bytes()),
    });
    Ok(serde_json::from_value(user)?)
}

/// A token of the service account `default` of a cluster.
async fn token(cluster: &Client) -> Result<AuthInfo> {
    let accounts: Api<ServiceAccount> = Api::default_namespaced(cluster.clone());
    eventually("the account default exists", SOON, || async {
        accounts.get("default").await
    })
    .await?;
    let request = TokenRequest::default();
    let post = PostParams::default();
    let made = accounts.create_token_request("default", &post, &request);
    let token = made.await?.status.context("no token")?.token;
    Ok(serde_json::from_value(json!({ "token": token }))?)
}

/// The codes of the two servers for credentials of `cluster1`: the hub, then the cluster.
async fn codes(kubeconfig: &Kubeconfig, user: &AuthInfo) -> Result<(u16, u16)> {
    let hub = code(&client(kubeconfig, "hub", user).await?).await?;
    let cluster = code(&client(kubeconfig, "cluster1", user).await?).await?;
    Ok((hub, cluster))
}

#[tokio::test(flavor = "multi_thread")]
async fn credentials_of_cluster_are_not_valid_on_hub() -> Result<()> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let folder = tempfile::tempdir()?;
    let fleet = fleet(&["cluster1"], folder.path()).await?;
    let kubeconfig = Kubeconfig::from_yaml(&fleet.kubeconfig()?)?;
    let admin = credentials(&kubeconfig, "cluster1")?;
    ensure!(codes(&kubeconfig, &admin).await? == (401, 200), "the admin");
    let hubs = credentials(&kubeconfig, "hub")?;
    ensure!(codes(&kubeconfig, &hubs).await? == (200, 401), "the hub's");

    let cluster = client(&kubeconfig, "cluster1", &admin).await?;
    // The cluster authenticates a user without access.
    for (object, name) in [("a", "admin"), ("b", "system:kube-controller-manager")] {
        let user = signed(&cluster, object, name, "tea").await?;
        let (hub, own) = codes(&kubeconfig, &user).await?;
        ensure!(hub == 401, "the hub knows {name} of the cluster: {hub}");
        ensure!(own == 403 || own == 200, "the cluster and {name}: {own}");
    }
    let refused = signed(&cluster, "c", "jane", "system:masters").await;
    let refused = refused.err().context("system:masters is given away")?;
    ensure!(
        matches!(refused.downcast_ref(), Some(kube::Error::Api(status)) if status.code == 403),
        "{refused:#}"
    );
    let account = token(&cluster).await?;
    ensure!(
        codes(&kubeconfig, &account).await? == (401, 403),
        "a service account"
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn ca_of_each_server_is_kept_for_next_start() -> Result<()> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let folder = tempfile::tempdir()?;
    let start = || async {
        let options = FleetOptions {
            clusters: vec!["cluster1".into()],
            folder: folder.path().to_owned(),
            access: Access::Ports(0),
            data: Some(folder.path().join("data")),
            pods: Pods::Kept,
            limits: RateLimits::Lifted,
            constraints: Constraints::Ignored,
            external_data: ExternalData::default(),
        };
        anyhow::Ok(Fleet::start(options).await?)
    };
    let first = start().await?;
    let old = Kubeconfig::from_yaml(&first.kubeconfig()?)?;
    let user = credentials(&old, "cluster1")?;
    let account = token(&client(&old, "cluster1", &user).await?).await?;
    drop(first);
    let again = eventually("the folder is free", SOON, start).await?;
    let new = Kubeconfig::from_yaml(&again.kubeconfig()?)?;
    ensure!(codes(&new, &user).await? == (401, 200), "the admin");
    ensure!(codes(&new, &account).await? == (401, 403), "an account");
    Ok(())
}
