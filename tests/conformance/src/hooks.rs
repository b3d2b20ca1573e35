//! A server of admission webhooks. A file of requests sets its answers, and it records the reviews.

use std::collections::HashMap;
use std::net::{Ipv4Addr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{Response, StatusCode, Uri};
use axum_server::Handle;
use axum_server::tls_rustls::RustlsConfig;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use parking_lot::Mutex;
use rcgen::{BasicConstraints, Certificate, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject as _;
use serde_json::{Value, json};

use crate::deep;

const CREDENTIAL: &str = "authentication.kubernetes.io/credential-id";

/// Who has signed the certificates of all webhooks of this process.
pub struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl Authority {
    /// A new one.
    pub fn new() -> Result<Self> {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;
        Ok(Self { issuer })
    }

    /// What `caBundle` holds.
    pub fn bundle(&self) -> String {
        STANDARD.encode(self.issuer.pem())
    }

    fn server_config(&self) -> Result<ServerConfig> {
        let names = ["127.0.0.1", "localhost", "external.c-webhook-failures.svc"];
        let params = CertificateParams::new(names.map(str::to_owned))?;
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &self.issuer)?;
        server_config(&certificate, &key)
    }
}

fn server_config(certificate: &Certificate, key: &KeyPair) -> Result<ServerConfig> {
    let chain = vec![certificate.der().clone()];
    let key = PrivateKeyDer::from_pem_slice(key.serialize_pem().as_bytes())?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(chain, key)?;
    Ok(config)
}

/// Webhooks on a port of their own; they go when this is dropped.
pub struct Hooks {
    /// Where they are: `127.0.0.1:4711`.
    pub address: String,
    known: Arc<Known>,
    handle: Handle<std::net::SocketAddr>,
}

#[derive(Default)]
struct Known {
    /// What is answered, by path: a path without an answer allows everything.
    answers: Mutex<HashMap<String, Value>>,
    /// What was asked, in order.
    seen: Mutex<Vec<Value>>,
}

impl Hooks {
    /// Starts to listen with a certificate of an authority.
    pub fn start(authority: &Authority) -> Result<Self> {
        Self::start_with(authority.server_config()?)
    }

    /// Starts to listen with a certificate for `127.0.0.1` that is its own authority. Answers what `caBundle` holds, too.
    pub fn start_self_signed() -> Result<(Self, String)> {
        let mut params = CertificateParams::new(vec!["127.0.0.1".to_owned()])?;
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate()?;
        let certificate = params.self_signed(&key)?;
        let hooks = Self::start_with(server_config(&certificate, &key)?)?;
        Ok((hooks, STANDARD.encode(certificate.pem())))
    }

    fn start_with(config: ServerConfig) -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("binding")?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?.to_string();
        let known = Arc::new(Known::default());
        let router = Router::new()
            .fallback(answer)
            .with_state(Arc::clone(&known));
        let config = RustlsConfig::from_config(Arc::new(config));
        let handle = Handle::new();
        let server = axum_server::from_tcp_rustls(listener, config)?.handle(handle.clone());
        tokio::spawn(server.serve(router.into_make_service()));
        Ok(Self {
            address,
            known,
            handle,
        })
    }

    /// Their port.
    pub fn port(&self) -> &str {
        self.address.rsplit(':').next().unwrap_or_default()
    }

    /// Sets the answer on a path: a `response`, whose `uid` is filled in and whose `patch` is encoded, or a whole
    /// `review`, or a `raw` text; with a `code` and after so many milliseconds of `sleep`.
    pub fn set(&self, path: &str, answer: Value) {
        self.known.answers.lock().insert(path.to_owned(), answer);
    }

    /// What was asked since this was asked last.
    pub fn seen(&self) -> Vec<Value> {
        std::mem::take(&mut self.known.seen.lock())
    }
}

impl Drop for Hooks {
    fn drop(&mut self) {
        self.handle.shutdown();
    }
}

async fn answer(State(known): State<Arc<Known>>, uri: Uri, body: Bytes) -> Response<Body> {
    let review: Value = serde_json::from_slice(&deep::cut(&body)).unwrap_or_default();
    let uid = review.pointer("/request/uid").cloned().unwrap_or_default();
    known.seen.lock().push(recorded(&uri, review.clone()));
    let answer = known.answers.lock().get(uri.path()).cloned();
    let answer = answer.unwrap_or_else(|| json!({ "response": { "allowed": true } }));
    if let Some(time) = answer["sleep"].as_u64() {
        tokio::time::sleep(Duration::from_millis(time)).await;
    }
    let text = match &answer["raw"] {
        Value::String(text) => deep::written(text).unwrap_or_default(),
        _ => review_response(&answer, &review["apiVersion"], uid).to_string(),
    };
    let mut response = Response::new(Body::from(text));
    let code = answer["code"]
        .as_u64()
        .and_then(|code| u16::try_from(code).ok());
    let code = code.and_then(|code| StatusCode::from_u16(code).ok());
    *response.status_mut() = code.unwrap_or(StatusCode::OK);
    if let Some(media) = answer["type"].as_str().and_then(|media| media.parse().ok()) {
        response.headers_mut().insert("content-type", media);
    }
    response
}

/// What is remembered of a question. By which certificate the administrator is known differs: here he needs none.
fn recorded(uri: &Uri, mut review: Value) -> Value {
    let user = review.pointer_mut("/request/userInfo");
    if let Some(user) = user.and_then(Value::as_object_mut) {
        let extra = user.get("extra").and_then(Value::as_object);
        if extra.is_some_and(|extra| extra.keys().all(|key| key == CREDENTIAL)) {
            user.remove("extra");
        }
    }
    json!({ "path": uri.to_string(), "review": review })
}

fn review_response(answer: &Value, api_version: &Value, uid: Value) -> Value {
    if let Some(review) = answer.get("review") {
        return review.clone();
    }
    let mut response = answer["response"].clone();
    if response.get("uid").is_none() {
        response["uid"] = uid;
    }
    if let Some(patch) = response.get("patch").filter(|patch| patch.is_array()) {
        response["patch"] = STANDARD.encode(patch.to_string()).into();
        if response.get("patchType").is_none() {
            response["patchType"] = "JSONPatch".into();
        }
    }
    json!({ "apiVersion": api_version, "kind": "AdmissionReview", "response": response })
}
