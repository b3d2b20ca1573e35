//! A way to an API server on which requests can be held back by their path.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use axum::Router;
use axum::body::{self, Body};
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum_server::Handle;
use axum_server::tls_rustls::RustlsConfig;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use tokio::sync::watch;

use crate::{Plane, free_port};

/// The longest body of a request.
const BODY: usize = 16 << 20;

/// Takes the requests of one user and sends them on, but those that it holds back. It ends when it is dropped.
///
/// It ends TLS with the plane's own certificate, which kubeconfigs of the plane trust.
pub struct Proxy {
    held: watch::Sender<Option<&'static str>>,
    kubeconfig: PathBuf,
    handle: Handle<std::net::SocketAddr>,
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.handle.shutdown();
    }
}

/// What every request needs.
struct Forward {
    client: Client,
    held: watch::Receiver<Option<&'static str>>,
}

impl Proxy {
    /// A proxy that lets everything through. The API server takes what comes through it for `user`, a member of `group`.
    pub async fn to(plane: &Plane, user: &str, group: &str) -> Result<Self> {
        let direct = plane.kubeconfig_for(user, Some(group))?;
        let text = std::fs::read_to_string(&direct).context("reading a kubeconfig")?;
        let port = free_port()?;
        let here = format!("https://127.0.0.1:{port}");
        let kubeconfig = direct.with_extension("proxied");
        std::fs::write(&kubeconfig, text.replace(plane.server(), &here))
            .context("writing a kubeconfig")?;

        let options = KubeConfigOptions::default();
        let mut config =
            Config::from_custom_kubeconfig(Kubeconfig::from_yaml(&text)?, &options).await?;
        // What the API server answers is the client's business.
        config.default_retry = false;
        let (held, holds) = watch::channel(None);
        let forward = Forward {
            client: Client::try_from(config)?,
            held: holds,
        };
        let router = Router::new()
            .fallback(send_on)
            .with_state(Arc::new(forward));
        let files = plane.serving();
        let tls = RustlsConfig::from_pem_file(files.cert, files.key).await;
        let tls = tls.context("reading the certificate of a plane")?;
        let handle = Handle::new();
        let server = axum_server::bind_rustls(([127, 0, 0, 1], port).into(), tls);
        tokio::spawn(
            server
                .handle(handle.clone())
                .serve(router.into_make_service()),
        );
        let listening = handle.listening().await;
        listening.context("listening in front of a plane")?;
        Ok(Self {
            held,
            kubeconfig,
            handle,
        })
    }

    /// The user's kubeconfig, which leads through here.
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// Holds back the requests whose path contains this: nothing arrives, and no response comes.
    pub fn hold(&self, part: &'static str) {
        self.held.send_replace(Some(part));
    }

    /// Lets all requests through, those too that somebody still waits for.
    pub fn open(&self) {
        self.held.send_replace(None);
    }
}

async fn send_on(State(forward): State<Arc<Forward>>, request: Request) -> Response {
    let path = request.uri().path().to_owned();
    let mut filter = forward.held.clone();
    let is_open = filter.wait_for(|part| part.is_none_or(|part| !path.contains(part)));
    if is_open.await.is_err() {
        return StatusCode::BAD_GATEWAY.into_response();
    }
    let (head, body) = request.into_parts();
    let Ok(body) = body::to_bytes(body, BODY).await else {
        return StatusCode::PAYLOAD_TOO_LARGE.into_response();
    };
    let request = http::Request::from_parts(head, kube::client::Body::from(body));
    match forward.client.send(request).await {
        Ok(answer) => answer.map(Body::new).into_response(),
        Err(error) => (StatusCode::BAD_GATEWAY, error.to_string()).into_response(),
    }
}
