//! Connections to API servers.

mod rate_limit;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use http::{HeaderValue, Request, header};
use kube::client::{Body, ClientBuilder};
use kube::config::{KubeConfigOptions, Kubeconfig, KubeconfigError};
use kube::{Client, Config};
use parking_lot::RwLock;
use tower::util::MapRequestLayer;
use tower::{BoxError, Service};
use zeroize::Zeroizing;

use self::rate_limit::{Bucket, RateLimitLayer};
use crate::activity::Component;
use crate::fence::Fence;
use crate::object::error_chain;

/// The server to connect to, and the rate limit.
#[derive(Clone, Debug)]
pub struct ClientOptions {
    /// A kubeconfig file. Absent: `KUBECONFIG`, then the Pod's service account, then
    /// `~/.kube/config`.
    pub kubeconfig: Option<PathBuf>,
    /// Requests per second on average; 0: no limit.
    pub qps: f32,
    /// Requests at once after a pause.
    pub burst: u32,
    /// The user agent in the API server's audit log.
    pub user_agent: &'static str,
    /// API servers of this process, which are reached without a socket.
    pub in_process: InProcessServers,
}

/// Clients of in-process API servers, by the kubeconfigs that name them. A component with such a kubeconfig reaches
/// the server without sockets and TLS, which are most of what a fleet in one process would cost; all else is the
/// same.
#[derive(Clone, Default)]
pub struct InProcessServers {
    servers: Arc<[(PathBuf, Client)]>,
    component: Component,
    limits: RateLimits,
}

/// Whether requests to in-process servers are limited to the rates of [`ClientOptions`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RateLimits {
    /// As on real clusters, to protect their API servers.
    #[default]
    Enforced,
    /// No limit: it would only slow the process down.
    Lifted,
}

impl InProcessServers {
    /// Kubeconfigs, each with the client that has the identity of the file.
    pub fn new(servers: impl IntoIterator<Item = (PathBuf, Client)>) -> Self {
        Self {
            servers: servers.into_iter().collect(),
            ..Self::default()
        }
    }

    /// The same, for a component whose activity is tracked.
    #[must_use]
    pub fn tracked_by(self, component: Component) -> Self {
        Self { component, ..self }
    }

    /// The same, with or without rate limits.
    #[must_use]
    pub fn with_rate_limits(self, limits: RateLimits) -> Self {
        Self { limits, ..self }
    }

    /// The component that the queues of the process belong to.
    pub fn component(&self) -> &Component {
        &self.component
    }

    /// Whether requests to the server of a kubeconfig wait for nothing, so that one client serves all of a component.
    pub(crate) fn has_unlimited(&self, kubeconfig: Option<&Path>) -> bool {
        self.limits == RateLimits::Lifted && self.client_of(kubeconfig).is_some()
    }

    /// Whether a kubeconfig names a server of this process. Such a file may not exist.
    pub fn has(&self, kubeconfig: &Path) -> bool {
        self.client_of(Some(kubeconfig)).is_some()
    }

    fn client_of(&self, kubeconfig: Option<&Path>) -> Option<&Client> {
        let path = kubeconfig?;
        let (_, client) = self.servers.iter().find(|(known, _)| known == path)?;
        Some(client)
    }
}

impl std::fmt::Debug for InProcessServers {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_set()
            .entries(self.servers.iter().map(|(path, _)| path))
            .finish()
    }
}

/// Why a client could not be built.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The kubeconfig is unreadable or refers to something unreadable.
    #[error("cannot use the kubeconfig {path}")]
    Kubeconfig {
        /// The file.
        path: String,
        /// The error of the kubeconfig.
        #[source]
        source: UnusableKubeconfig,
    },
    /// No kubeconfig was given or found, and this is not a Pod.
    #[error("no kubeconfig was given and none was found")]
    Infer(#[source] KubeconfigError),
    /// The user agent is not a header value.
    #[error("invalid user agent")]
    UserAgent(#[from] header::InvalidHeaderValue),
    /// The configuration was found but cannot be used.
    #[error("cannot build a client for {url}")]
    Build {
        /// The API server.
        url: String,
        /// The error of the client: the API server's answer, or that there was none.
        #[source]
        source: Box<kube::Error>,
    },
}

/// Why a kubeconfig cannot be used, without its path.
#[derive(Debug, thiserror::Error)]
#[error("{}", kubeconfig_error(.0))]
pub struct UnusableKubeconfig(KubeconfigError);

/// The library quotes the path of a file that cannot be read twice over.
fn kubeconfig_error(error: &KubeconfigError) -> String {
    match error {
        KubeconfigError::ReadConfig(error, _) => error.to_string(),
        other => error_chain(other),
    }
}

/// Connects. Sends no request: an unreachable server shows at the first request.
pub async fn connect(options: &ClientOptions) -> Result<Client, ClientError> {
    connect_fenced(options, &Fence::default()).await
}

/// Connects for a command that a person waits for: without a rate limit.
pub fn connect_unlimited<'a>(
    kubeconfig: Option<&'a Path>,
    user_agent: &'static str,
) -> BoxFuture<'a, Result<Client, ClientError>> {
    Box::pin(async move {
        let options = ClientOptions {
            kubeconfig: kubeconfig.map(Path::to_owned),
            qps: 0.0,
            burst: 0,
            user_agent,
            in_process: InProcessServers::default(),
        };
        connect(&options).await
    })
}

/// Like [`connect`], for the work of a leader: no request leaves once `fence` is closed.
pub fn connect_fenced<'a>(
    options: &'a ClientOptions,
    fence: &'a Fence,
) -> BoxFuture<'a, Result<Client, ClientError>> {
    Box::pin(async move {
        if let Some(server) = options.in_process.client_of(options.kubeconfig.as_deref()) {
            return Ok(in_process_client(server, options, None, fence));
        }
        let config = load(options.kubeconfig.as_deref()).await?;
        build(config, options, None, fence)
    })
}

/// A bearer token that can be renewed under a client. It is in memory only, and nothing prints it.
#[derive(Clone)]
pub struct Token(Arc<RwLock<Zeroizing<String>>>);

impl Token {
    /// A token.
    pub fn new(secret: String) -> Self {
        Self(Arc::new(RwLock::new(Zeroizing::new(secret))))
    }

    /// Replaces it. Requests from now on carry the new one.
    pub fn set(&self, secret: String) {
        *self.0.write() = Zeroizing::new(secret);
    }

    fn authorize(&self, mut request: Request<Body>) -> Request<Body> {
        let value = Zeroizing::new(format!("Bearer {}", self.0.read().as_str()));
        // A token that is not a valid header value is left out: the API server answers 401.
        if let Ok(mut value) = HeaderValue::from_str(&value) {
            value.set_sensitive(true);
            request.headers_mut().insert(header::AUTHORIZATION, value);
        }
        request
    }
}

/// Connects to the same server with another identity: of this process's configuration only the address and the CA are
/// used, never the credentials.
pub fn connect_as<'a>(
    options: &'a ClientOptions,
    token: &'a Token,
) -> BoxFuture<'a, Result<Client, ClientError>> {
    Box::pin(async move {
        if let Some(server) = options.in_process.client_of(options.kubeconfig.as_deref()) {
            return Ok(in_process_client(
                server,
                options,
                Some(token.clone()),
                &Fence::default(),
            ));
        }
        let ours = load(options.kubeconfig.as_deref()).await?;
        let mut config = Config::new(ours.cluster_url);
        config.root_cert = ours.root_cert;
        config.accept_invalid_certs = ours.accept_invalid_certs;
        config.tls_server_name = ours.tls_server_name;
        config.proxy_url = ours.proxy_url;
        build(config, options, Some(token.clone()), &Fence::default())
    })
}

fn build(
    mut config: Config,
    options: &ClientOptions,
    token: Option<Token>,
    fence: &Fence,
) -> Result<Client, ClientError> {
    config.headers.push((
        header::USER_AGENT,
        HeaderValue::from_static(options.user_agent),
    ));
    // No request needs a response later than this; watches have their own timeout.
    config.write_timeout = Some(Duration::from_secs(30));
    let url = config.cluster_url.to_string();
    let host = config.cluster_url.authority().map(ToString::to_string);
    let host = host.unwrap_or_default();
    let builder = ClientBuilder::try_from(config).map_err(|source| ClientError::Build {
        url,
        source: Box::new(source),
    })?;
    Ok(limited(builder, &host, options, token, fence))
}

/// A client of an in-process server.
fn in_process_client(
    server: &Client,
    options: &ClientOptions,
    token: Option<Token>,
    fence: &Fence,
) -> Client {
    let namespace = server.default_namespace().to_owned();
    let (server, agent) = (server.clone(), options.user_agent);
    let call = move |mut request: Request<Body>| {
        let server = server.clone();
        let agent = HeaderValue::from_static(agent);
        request.headers_mut().insert(header::USER_AGENT, agent);
        async move { server.send(request).await.map_err(BoxError::from) }
    };
    let builder = ClientBuilder::new(tower::service_fn(call), namespace);
    let mut options = options.clone();
    if options.in_process.limits == RateLimits::Lifted {
        options.qps = 0.0;
    }
    limited(builder, "in-process", &options, token, fence)
}

/// The layers of every client: rate limit, fence, token, timeout.
fn limited<S, B>(
    builder: ClientBuilder<S>,
    host: &str,
    options: &ClientOptions,
    token: Option<Token>,
    fence: &Fence,
) -> Client
where
    S: Service<Request<Body>, Response = http::Response<B>, Error = BoxError> + Send + 'static,
    S::Future: Send + 'static,
    B: http_body::Body<Data = bytes::Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    let limit = RateLimitLayer::new(host, Bucket::new(options.qps, options.burst));
    let named = MapRequestLayer::new(move |request| match &token {
        Some(token) => token.authorize(request),
        None => request,
    });
    // The fence is checked after a request has waited for the rate limit.
    let builder = builder.with_layer(fence).with_layer(&limit);
    builder.with_layer(&named).build()
}

/// A client of an unreachable cluster: every request fails for this reason.
pub fn unavailable(reason: &str) -> Client {
    let reason: Arc<str> = reason.into();
    let refuse = move |_: Request<Body>| {
        let error = std::io::Error::other(reason.to_string());
        std::future::ready(Err::<http::Response<Body>, _>(error))
    };
    Client::new(tower::service_fn(refuse), "default")
}

async fn load(path: Option<&Path>) -> Result<Config, ClientError> {
    let path = match path {
        Some(path) if !path.as_os_str().is_empty() => Some(path.to_owned()),
        _ => None,
    };
    if let Some(path) = path {
        let failed = |error| ClientError::Kubeconfig {
            path: path.display().to_string(),
            source: UnusableKubeconfig(error),
        };
        let kubeconfig = Kubeconfig::read_from(&path).map_err(failed)?;
        let failed = |error| ClientError::Kubeconfig {
            path: path.display().to_string(),
            source: UnusableKubeconfig(error),
        };
        return Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default())
            .await
            .map_err(failed);
    }
    // The Pod's own account comes before the home directory's file, as in controller-runtime: an
    // image that happens to hold one must not talk to another cluster.
    if std::env::var_os("KUBECONFIG").is_none_or(|value| value.is_empty())
        && let Ok(config) = Config::incluster()
    {
        return Ok(config);
    }
    Config::from_kubeconfig(&KubeConfigOptions::default())
        .await
        .map_err(ClientError::Infer)
}

/// The namespace this process runs in, when it runs in a Pod.
pub fn own_namespace() -> Option<String> {
    if std::env::var("OSDK_FORCE_RUN_MODE").is_ok_and(|mode| mode == "local") {
        return None;
    }
    let path = "/var/run/secrets/kubernetes.io/serviceaccount/namespace";
    let namespace = std::fs::read_to_string(path).ok()?;
    let namespace = namespace.trim();
    (!namespace.is_empty()).then(|| namespace.to_owned())
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn in_process_requests_are_rate_limited_only_on_request() {
        let answer = || http::Response::new(Body::from(b"{}".to_vec()));
        let server = tower::service_fn(move |_: Request<Body>| {
            std::future::ready(Ok::<_, BoxError>(answer()))
        });
        for (limits, seconds) in [(RateLimits::Lifted, 0), (RateLimits::Enforced, 9)] {
            let path = PathBuf::from("kubeconfig");
            let in_process =
                InProcessServers::new([(path.clone(), Client::new(server, "default"))]);
            let options = ClientOptions {
                kubeconfig: Some(path),
                qps: 1.0,
                burst: 1,
                user_agent: "test",
                in_process: in_process.with_rate_limits(limits),
            };
            let client = connect(&options).await.unwrap();
            let started = Instant::now();
            for _ in 0..10 {
                let request = Request::get("/").body(Vec::new()).unwrap();
                client.request_text(request).await.unwrap();
            }
            assert_eq!(started.elapsed().as_secs(), seconds, "{limits:?}");
        }
    }

    #[tokio::test]
    async fn in_process_server_is_reached_without_socket() {
        let echo = tower::service_fn(|request: Request<Body>| {
            let header = |name| request.headers().get(name).cloned();
            let agent = header(header::USER_AGENT).unwrap();
            let token = header(header::AUTHORIZATION);
            let answer = http::Response::builder()
                .header("agent", agent)
                .header("token", token.unwrap_or(HeaderValue::from_static("none")))
                .body(Body::empty());
            std::future::ready(Ok::<_, BoxError>(answer.unwrap()))
        });
        let server = Client::new(echo, "default");
        let mut options = ClientOptions {
            kubeconfig: Some("/in/this/process".into()),
            qps: 1.0,
            burst: 2,
            user_agent: "test",
            in_process: InProcessServers::new([("/in/this/process".into(), server)]),
        };
        let ask = |client: Client| async move {
            let answer = client.send(Request::new(Body::empty())).await.unwrap();
            let header = |name| answer.headers()[name].to_str().unwrap().to_owned();
            (header("agent"), header("token"))
        };
        let ours = connect(&options).await.unwrap();
        assert_eq!(ask(ours).await, ("test".to_owned(), "none".to_owned()));
        let token = Token::new("secret".to_owned());
        let theirs = connect_as(&options, &token).await.unwrap();
        assert_eq!(ask(theirs).await.1, "Bearer secret");
        options.kubeconfig = Some("/elsewhere".into());
        assert!(connect(&options).await.is_err());
    }

    #[tokio::test]
    async fn missing_kubeconfig_is_named() {
        let options = ClientOptions {
            kubeconfig: Some("/nonexistent/kubeconfig".into()),
            qps: 1.0,
            burst: 1,
            user_agent: "test",
            in_process: InProcessServers::default(),
        };
        let error = connect(&options).await.err().unwrap();
        assert_eq!(
            error.to_string(),
            "cannot use the kubeconfig /nonexistent/kubeconfig"
        );
    }
}
