//! Metrics over HTTPS, for those who may.

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::Api;
use kube::api::PostParams;
use reeve_runtime::CancellationToken;
use reeve_runtime::flags::{ListenAddress, TlsArgs};
use reeve_runtime::metrics::{ControllerMetrics, Metrics};
use reeve_runtime::serving::{MetricsOptions, metrics_with_certificate};
use reeve_testkit::{Plane, free_port};

const ACCOUNTS: &str = r#"
{apiVersion: v1, kind: ServiceAccount, metadata: {name: reader, namespace: default}}
---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: stranger, namespace: default}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: metrics-reader}
rules: [{nonResourceURLs: ["/metrics"], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: metrics-reader}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: metrics-reader}
subjects: [{kind: ServiceAccount, name: reader, namespace: default}]
"#;

async fn token(plane: &Plane, account: &str) -> Result<String> {
    let accounts: Api<ServiceAccount> = Api::namespaced(plane.client(), "default");
    let spec = TokenRequestSpec::default();
    let request = TokenRequest {
        spec: Some(spec),
        ..TokenRequest::default()
    };
    let answer = accounts
        .create_token_request(account, &PostParams::default(), &request)
        .await?;
    answer
        .status
        .and_then(|status| status.token)
        .context("no token")
}

pub(crate) async fn secure_metrics(plane: Arc<Plane>) -> Result<()> {
    // Other crates in this test program bring a second TLS provider.
    let _ = rustls::crypto::ring::default_provider().install_default();
    plane.apply(ACCOUNTS).await?;
    let certificate = rcgen::generate_simple_self_signed(["localhost".to_owned()])?;
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join("tls.crt"), certificate.cert.pem())?;
    std::fs::write(
        folder.path().join("tls.key"),
        certificate.signing_key.serialize_pem(),
    )?;

    let metrics = Metrics::default();
    let _series = ControllerMetrics::new(&metrics);
    let port = free_port()?;
    let options = MetricsOptions {
        address: ListenAddress(Some(([127, 0, 0, 1], port).into())),
        secure: true,
        tls: TlsArgs {
            tls_min_version: "VersionTLS13".to_owned(),
            ..TlsArgs::default()
        },
        reviews: plane.client().into(),
    };
    let server = metrics_with_certificate(options, metrics, folder.path())?;
    let stop = CancellationToken::new();
    let server = tokio::spawn(server.context("not served")?.run(stop.clone()));

    let get = |token: Option<String>| {
        let authority = certificate.cert.pem();
        async move { get(port, &authority, token).await }
    };
    ensure!(get(None).await? == 401, "without a token");
    ensure!(
        get(Some("nonsense".to_owned())).await? == 401,
        "with a wrong token"
    );
    ensure!(
        get(Some(token(&plane, "stranger").await?)).await? == 403,
        "without the right"
    );
    ensure!(
        get(Some(token(&plane, "reader").await?)).await? == 200,
        "with the right"
    );
    stop.cancel();
    server.await??;
    Ok(())
}

/// The status code of `GET /metrics`, through the client that kube brings.
async fn get(port: u16, authority: &str, token: Option<String>) -> Result<u16> {
    let mut config = kube::Config::new(format!("https://localhost:{port}").parse()?);
    let pem = authority
        .lines()
        .filter(|line| !line.starts_with("-----"))
        .collect::<String>();
    config.root_cert = Some(vec![decode(&pem)?]);
    config.auth_info.token = token.map(Into::into);
    config.default_retry = false;
    let client = kube::Client::try_from(config)?;
    let request = http::Request::get("/metrics").body(Vec::new())?;
    match client.request_text(request).await {
        Ok(_) => Ok(200),
        Err(kube::Error::Api(status)) => Ok(status.code),
        Err(error) => Err(error.into()),
    }
}

fn decode(base64: &str) -> Result<Vec<u8>> {
    let bytes: k8s_openapi::ByteString = serde_json::from_value(base64.into())?;
    Ok(bytes.0)
}
