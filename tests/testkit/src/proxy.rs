//! A way to an API server on which requests, or the events of watches, can be held back by their path.

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
use futures::StreamExt as _;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use tokio::sync::watch;

use crate::{Plane, free_port};

/// The longest body of a request.
const BODY: usize = 16 << 20;

/// What does not get through. Each holds a part of the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Held {
    Nothing,
    Requests(&'static str),
    Events(&'static str),
}

impl Held {
    fn is_request(self, path: &str) -> bool {
        matches!(self, Self::Requests(part) if path.contains(part))
    }

    fn is_event(self, path: &str) -> bool {
        matches!(self, Self::Events(part) if path.contains(part))
    }
}

/// Takes the requests of one user and sends them on, but those that it holds back. It ends when it is dropped.
///
/// It ends TLS with the plane's own certificate, which kubeconfigs of the plane trust.
pub struct Proxy {
    held: watch::Sender<Held>,
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
    held: watch::Receiver<Held>,
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
        let (held, holds) = watch::channel(Held::Nothing);
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
        self.held.send_replace(Held::Requests(part));
    }

    /// Holds back the events of watches whose path contains this, as a slow API server does: whoever watches is behind. Everything
    /// else gets through.
    pub fn hold_events(&self, part: &'static str) {
        self.held.send_replace(Held::Events(part));
    }

    /// Lets everything through, what somebody still waits for too.
    pub fn open(&self) {
        self.held.send_replace(Held::Nothing);
    }
}

async fn send_on(State(forward): State<Arc<Forward>>, request: Request) -> Response {
    let path = request.uri().path().to_owned();
    let mut held = forward.held.clone();
    let is_open = held.wait_for(|held| !held.is_request(&path));
    if is_open.await.is_err() {
        return StatusCode::BAD_GATEWAY.into_response();
    }
    let query = request.uri().query().unwrap_or_default();
    let is_watch = query.split('&').any(|option| option == "watch=true");
    let (parts, body) = request.into_parts();
    let Ok(body) = body::to_bytes(body, BODY).await else {
        return StatusCode::PAYLOAD_TOO_LARGE.into_response();
    };
    let request = http::Request::from_parts(parts, kube::client::Body::from(body));
    match forward.client.send(request).await {
        Ok(answer) if is_watch => answer
            .map(|events| delayed(Body::new(events), path, held))
            .into_response(),
        Ok(answer) => answer.map(Body::new).into_response(),
        Err(error) => (StatusCode::BAD_GATEWAY, error.to_string()).into_response(),
    }
}

/// The same events, each no earlier than it may get through.
fn delayed(events: Body, path: String, held: watch::Receiver<Held>) -> Body {
    let path = Arc::new(path);
    Body::from_stream(events.into_data_stream().then(move |event| {
        let (path, mut held) = (Arc::clone(&path), held.clone());
        async move {
            // The proxy is gone: its clients are, too.
            let _ = held.wait_for(|held| !held.is_event(&path)).await;
            event
        }
    }))
}
