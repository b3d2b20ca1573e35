//! Webhooks are asked over HTTPS.

use std::collections::HashMap;
use std::error::Error;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use futures::future::BoxFuture;
use http::header::{ACCEPT, CONTENT_TYPE, USER_AGENT};
use http::{Method, Request, Uri};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper_rustls::{ConfigBuilderExt as _, HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::dns::Name;
use hyper_util::rt::TokioExecutor;
use parking_lot::Mutex;
use reeve_go_compat::runes::quote;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{CertificateError, ClientConfig, RootCertStore};
use serde_json::Value;

use super::config::Hook;
use super::tls::BundleVerifier;
use crate::decode::TYPE_META;
use crate::schema::json_kind;
use crate::store::{Key, Store};

/// The largest answer that is read.
const LARGEST: usize = 3 << 20;
/// The capacity of the cache of clients; a full cache is cleared.
const MOST_CLIENTS: usize = 64;

type Connector = HttpsConnector<HttpConnector<Resolver>>;
type Caller = Client<Connector, Full<Bytes>>;

/// The endpoint of a webhook.
#[derive(Debug, PartialEq, Eq)]
struct Endpoint {
    url: Uri,
    /// The host that is connected to, if it is not that of the URL.
    host: Option<String>,
}

/// HTTPS clients of webhooks, by the CA bundle that they trust and the host that they connect to.
#[derive(Default)]
pub(super) struct WebhookClients(Mutex<HashMap<(String, Option<String>), Caller>>);

impl WebhookClients {
    /// Sends a review to a webhook and returns its answer.
    pub(super) async fn ask(
        &self,
        store: &Store,
        hook: &Hook,
        review: &Value,
    ) -> Result<Value, String> {
        let config = &hook.entry["clientConfig"];
        let place = place(hook)?;
        let asking = format!("Post {}", quote(place.url.to_string()));
        let place = located(store, config, place).map_err(|why| format!("{asking}: {why}"))?;
        let caller = self
            .caller(config["caBundle"].as_str().unwrap_or_default(), &place)
            .map_err(|why| format!("unable to load root certificates: {why}"))?;
        let request = Request::builder()
            .method(Method::POST)
            .uri(place.url.clone())
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json, */*")
            .header(USER_AGENT, "kube-apiserver-admission")
            .body(Full::from(review.to_string()))
            .map_err(|error| error.to_string())?;
        let exchange = async {
            let response = caller
                .request(request)
                .await
                .map_err(|error| call_error(&error, &place))?;
            let (parts, body) = response.into_parts();
            let body = Limited::new(body, LARGEST).collect().await;
            let body = body.map_err(|error| error.to_string())?.to_bytes();
            Ok::<_, String>((parts.status.as_u16(), body))
        };
        let (code, body) = match tokio::time::timeout(hook.timeout(), exchange).await {
            Ok(outcome) => outcome.map_err(|why| format!("{asking}: {why}"))?,
            Err(_) => return Err(format!("{asking}: context deadline exceeded")),
        };
        read(code, &body)
    }

    fn caller(&self, bundle: &str, place: &Endpoint) -> Result<Caller, String> {
        let key = (bundle.to_owned(), place.host.clone());
        let known = self.0.lock().get(&key).cloned();
        if let Some(caller) = known {
            return Ok(caller);
        }
        // Without a CA bundle this reads files, so the lock is not held meanwhile.
        let caller = caller(bundle, place)?;
        let mut known = self.0.lock();
        if known.len() >= MOST_CLIENTS {
            known.clear();
        }
        known.insert(key, caller.clone());
        Ok(caller)
    }
}

fn caller(bundle: &str, place: &Endpoint) -> Result<Caller, String> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    let config = if bundle.is_empty() {
        builder
            .with_native_roots()
            .map_err(|error| error.to_string())?
    } else {
        let bundle = certificates(bundle)?;
        if bundle.is_empty() {
            builder.with_root_certificates(RootCertStore::empty())
        } else {
            let trust = BundleVerifier::new(bundle, provider)?;
            builder
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(trust))
        }
    };
    let mut http = HttpConnector::new_with_resolver(Resolver(place.host.clone()));
    http.enforce_http(false);
    http.set_nodelay(true);
    let https = HttpsConnectorBuilder::new()
        .with_tls_config(config.with_no_client_auth())
        .https_only()
        .enable_all_versions()
        .wrap_connector(http);
    Ok(Client::builder(TokioExecutor::new()).build(https))
}

fn certificates(bundle: &str) -> Result<Vec<CertificateDer<'static>>, String> {
    let pem = STANDARD.decode(bundle).map_err(|error| error.to_string())?;
    let certificates = CertificateDer::pem_slice_iter(&pem);
    certificates
        .collect::<Result<_, _>>()
        .map_err(|error| error.to_string())
}

/// The URL that a webhook is asked under: its own, or the one of its service.
fn place(hook: &Hook) -> Result<Endpoint, String> {
    let config = &hook.entry["clientConfig"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let service = &config["service"];
    let base = if service.is_object() {
        let port = service["port"].as_u64().unwrap_or(443);
        let path = text(&service["path"]);
        format!(
            "https://{}.{}.svc:{port}/{}",
            text(&service["name"]),
            text(&service["namespace"]),
            path.trim_start_matches('/')
        )
    } else {
        text(&config["url"])
    };
    let url = format!("{base}?timeout={}s", hook.seconds);
    let url = url
        .parse()
        .map_err(|_| format!("{} is no URL", quote(&base)))?;
    Ok(Endpoint { url, host: None })
}

/// The same with the host behind a service: the address of the cluster, or the name that it stands for. There is nobody
/// here who would lead the former to a Pod, and neither is there beside a kube-apiserver alone.
fn located(store: &Store, config: &Value, mut place: Endpoint) -> Result<Endpoint, String> {
    let service = &config["service"];
    if !service.is_object() {
        return Ok(place);
    }
    let text = |field: &str| service[field].as_str().unwrap_or_default();
    let found = store.get("/services", &Key::new(text("namespace"), text("name")));
    let Some(found) = found else {
        return Err(format!("service {} not found", quote(text("name"))));
    };
    let found = found.value();
    let spec = &found["spec"];
    if spec["type"] == "ExternalName" {
        place.host = spec["externalName"].as_str().map(str::to_owned);
        return Ok(place);
    }
    let port = service["port"].as_u64().unwrap_or(443);
    let mut ports = spec["ports"].as_array().into_iter().flatten();
    if !ports.any(|one| one["port"].as_u64() == Some(port)) {
        return Err(format!(
            "no service port {port} found for service {}",
            quote(text("name"))
        ));
    }
    match spec["clusterIP"].as_str() {
        Some(address) if !matches!(address, "" | "None") => {
            place.host = Some(address.to_owned());
            Ok(place)
        }
        other => Err(format!(
            "cannot route to service with ClusterIP {}",
            quote(other.unwrap_or_default())
        )),
    }
}

/// The error of a failed call, in the words of Go.
fn call_error(error: &(dyn Error + 'static), place: &Endpoint) -> String {
    let mut cause = Some(error);
    let mut last = String::new();
    while let Some(error) = cause {
        if let Some(error) = error.downcast_ref::<Unresolved>() {
            return format!("dial tcp: lookup {}: no such host", error.0);
        }
        if let Some(why) = error
            .downcast_ref::<io::Error>()
            .and_then(|error| of_io(error, place))
        {
            return why;
        }
        last = error.to_string();
        cause = error.source();
    }
    last
}

fn of_io(error: &io::Error, place: &Endpoint) -> Option<String> {
    if error.kind() == io::ErrorKind::ConnectionRefused {
        let host = place
            .host
            .as_deref()
            .or(place.url.host())
            .unwrap_or_default();
        let port = place.url.port_u16().unwrap_or(443);
        return Some(format!(
            "dial tcp {host}:{port}: connect: connection refused"
        ));
    }
    // Errors of TLS lie in others, and those in others.
    let mut inner = error.get_ref()?;
    while let Some(error) = inner.downcast_ref::<io::Error>() {
        inner = error.get_ref()?;
    }
    inner.downcast_ref::<rustls::Error>().map(of_tls)
}

fn of_tls(error: &rustls::Error) -> String {
    let rustls::Error::InvalidCertificate(why) = error else {
        return format!("tls: {error}");
    };
    let why = match why {
        CertificateError::UnknownIssuer => "certificate signed by unknown authority".to_owned(),
        CertificateError::NotValidForNameContext {
            expected,
            presented,
        } => {
            let presented: Vec<String> = presented.iter().filter_map(|name| plain(name)).collect();
            let expected = expected.to_str();
            if presented.is_empty() {
                format!("certificate is not valid for any names, but wanted to match {expected}")
            } else {
                let presented = presented.join(", ");
                format!("certificate is valid for {presented}, not {expected}")
            }
        }
        CertificateError::Expired
        | CertificateError::ExpiredContext { .. }
        | CertificateError::NotValidYet
        | CertificateError::NotValidYetContext { .. } => {
            "certificate has expired or is not yet valid".to_owned()
        }
        CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. } => {
            "certificate specifies an incompatible key usage".to_owned()
        }
        // Of `webpki`, which takes no certificate of an authority for a server.
        CertificateError::Other(other) if other.to_string().contains("CaUsedAsEndEntity") => {
            "certificate is that of an authority, and not one of the bundle".to_owned()
        }
        other => other.to_string(),
    };
    format!("tls: failed to verify certificate: x509: {why}")
}

/// A name of a certificate without what it is, such as `DnsName("localhost")`; only names of hosts.
fn plain(name: &str) -> Option<String> {
    let name = name.strip_prefix("DnsName(")?.strip_suffix(')')?;
    Some(name.trim_matches('"').to_owned())
}

/// Parses the body of an answer, with the errors of client-go.
fn read(code: u16, body: &[u8]) -> Result<Value, String> {
    let text = String::from_utf8_lossy(body);
    let value = crate::json::parse(body);
    if code >= 400 {
        let status = value.ok().filter(|value| value["kind"] == "Status");
        let message = status.and_then(|status| status["message"].as_str().map(str::to_owned));
        return Err(message.unwrap_or_else(|| match code {
            404 => "the server could not find the requested resource".to_owned(),
            500.. => format!(
                "an error on the server ({}) has prevented the request from succeeding",
                quote(text.as_bytes())
            ),
            400 => "the server rejected our request for an unknown reason".to_owned(),
            _ => format!("unknown (post): {text}"),
        }));
    }
    if body.is_empty() {
        return Err(format!(
            "0-length response with status code: {code} and content type: application/json"
        ));
    }
    let unreadable = |why: &str| format!("couldn't get version/kind; json parse error: {why}");
    match value {
        Ok(Value::Object(fields)) => Ok(Value::Object(fields)),
        Err(error) if body.first() == Some(&b'{') => Err(unreadable(&error.to_string())),
        other => {
            let kind = other.as_ref().map_or("string", json_kind);
            Err(unreadable(&format!(
                "json: cannot unmarshal {kind} into Go value of type {TYPE_META}"
            )))
        }
    }
}

/// Finds the host of a connection, or always the same one.
#[derive(Clone)]
struct Resolver(Option<String>);

/// A host that is not known.
#[derive(Debug, thiserror::Error)]
#[error("there is no host {0}")]
struct Unresolved(String);

impl tower::Service<Name> for Resolver {
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = Unresolved;
    type Future = BoxFuture<'static, Result<Self::Response, Unresolved>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Unresolved>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let host = self.0.clone().unwrap_or_else(|| name.as_str().to_owned());
        Box::pin(async move {
            let found = tokio::net::lookup_host((host.as_str(), 0)).await;
            let found = found.map(|found| found.collect::<Vec<_>>().into_iter());
            found.map_err(|_| Unresolved(host.clone()))
        })
    }
}
