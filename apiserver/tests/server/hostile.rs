//! Hostile clients, over sockets.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, PostParams};
use kube::{Client, ResourceExt as _};
use reeve_apiserver::{Authority, Identity, Listener, Options, Server, ServerLimits};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

const SHORT: Duration = Duration::from_millis(300);
/// More than anything takes.
const LONG: Duration = Duration::from_mins(5);
const MAPS: &str = "/api/v1/namespaces/default/configmaps";

struct World {
    server: Server,
    listener: Listener,
    connector: TlsConnector,
}

impl World {
    async fn start(options: Options) -> Self {
        let authority = Authority::new().unwrap();
        let server = Server::start(options).unwrap();
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let listener = server.listen(&authority, address).await.unwrap();
        let mut roots = RootCertStore::empty();
        let pem = authority.pem();
        roots
            .add(CertificateDer::from_pem_slice(pem.as_bytes()).unwrap())
            .unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        Self {
            server,
            listener,
            connector: TlsConnector::from(Arc::new(config)),
        }
    }

    /// A connection without a client certificate on which a text was sent.
    async fn send(&self, text: &str) -> TlsStream<TcpStream> {
        let tcp = TcpStream::connect(self.listener.address()).await.unwrap();
        let name = Ipv4Addr::LOCALHOST.to_string().try_into().unwrap();
        let mut stream = self.connector.connect(name, tcp).await.unwrap();
        stream.write_all(text.as_bytes()).await.unwrap();
        stream.flush().await.unwrap();
        stream
    }

    async fn get(&self, path: &str) -> String {
        let request = format!("GET {path} HTTP/1.1\r\nhost: t\r\nconnection: close\r\n\r\n");
        until(self.send(&request).await, "\r\n\r\n").await
    }
}

/// A creation of this many bytes, as a user or anonymously.
fn creation(user: &str, path: &str, length: usize) -> String {
    let user = match user {
        "" => String::new(),
        user => format!("impersonate-user: {user}\r\n"),
    };
    format!(
        "POST {path} HTTP/1.1\r\nhost: t\r\ncontent-type: application/json\r\n{user}content-length: {length}\r\n\r\n"
    )
}

/// What comes until a text has come, or the connection has ended.
async fn until(mut stream: TlsStream<TcpStream>, end: &str) -> String {
    let mut text = String::new();
    let read = async {
        let mut buffer = vec![0; 64 << 10];
        while !text.contains(end) {
            match stream.read(&mut buffer).await {
                Ok(length @ 1..) => text.push_str(&String::from_utf8_lossy(&buffer[..length])),
                _ => break,
            }
        }
    };
    let ended = tokio::time::timeout(LONG, read).await;
    ended.expect("nothing came");
    text
}

/// The bodies would be 900 MiB. The responses come before the bodies, so the server does not read them.
#[tokio::test(flavor = "multi_thread")]
async fn anonymous_bodies_are_refused_before_they_are_sent() {
    let world = World::start(Options {
        rbac: true,
        ..Options::default()
    })
    .await;
    let requests = (0..300).map(|_| async {
        let stream = world.send(&creation("", MAPS, 3 << 20)).await;
        until(stream, "\r\n\r\n").await
    });
    for response in join_all(requests).await {
        assert!(response.starts_with("HTTP/1.1 403"), "{response}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn too_large_body_is_refused_before_it_is_sent() {
    let world = World::start(Options::default()).await;
    let stream = world.send(&creation("", MAPS, 4 << 20)).await;
    let response = until(stream, "\r\n\r\n").await;
    assert!(response.starts_with("HTTP/1.1 413"), "{response}");
}

fn short_limits() -> ServerLimits {
    let mut limits = ServerLimits::default();
    limits.connections.head = SHORT;
    limits.connections.body = SHORT;
    limits.connections.idle = SHORT;
    limits
}

#[tokio::test(flavor = "multi_thread")]
async fn body_that_stops_is_answered_with_a_timeout() {
    let world = World::start(Options {
        limits: short_limits(),
        ..Options::default()
    })
    .await;
    let stream = world
        .send(&format!("{}{{", creation("", MAPS, 1_000)))
        .await;
    let response = until(stream, "did not arrive in time").await;
    assert!(response.starts_with("HTTP/1.1 504"), "{response}");
    assert!(response.contains(r#""reason":"Timeout""#), "{response}");
}

#[tokio::test(flavor = "multi_thread")]
async fn watch_is_not_cut_by_the_limits_of_requests() {
    let world = World::start(Options {
        limits: short_limits(),
        ..Options::default()
    })
    .await;
    let request = format!("GET {MAPS}?watch=1&resourceVersion=0 HTTP/1.1\r\nhost: t\r\n\r\n");
    let watch = world.send(&request).await;
    tokio::time::sleep(4 * SHORT).await;
    let client = Client::new(world.server.service(Identity::admin()), "default");
    let maps: Api<ConfigMap> = Api::default_namespaced(client);
    let mut map = ConfigMap::default();
    map.metadata.name = Some("late".to_owned());
    let made = maps.create(&PostParams::default(), &map).await.unwrap();
    let events = until(watch, "\"late\"").await;
    assert!(events.contains(&made.name_any()), "{events}");
}

#[tokio::test(flavor = "multi_thread")]
async fn silent_connections_are_closed_for_new_ones() {
    let mut limits = ServerLimits::default();
    limits.connections.connections = 8;
    let world = World::start(Options {
        limits,
        ..Options::default()
    })
    .await;
    let mut silent = Vec::new();
    for _ in 0..10 {
        for _ in 0..20 {
            let tcp = TcpStream::connect(world.listener.address()).await;
            silent.push(tcp.unwrap());
        }
        let response = world.get("/healthz").await;
        assert!(response.starts_with("HTTP/1.1 200"), "{response}");
    }
}

/// A user has a share of the memory for bodies. Declared bodies that do not arrive use up this share only.
#[tokio::test(flavor = "multi_thread")]
async fn bodies_that_do_not_arrive_use_up_the_share_of_their_user() {
    let mut limits = ServerLimits::default();
    limits.bodies.total = 9 << 20;
    limits.bodies.per_user = 3 << 20;
    limits.bodies.wait = SHORT;
    let world = World::start(Options {
        limits,
        ..Options::default()
    })
    .await;
    let declared = creation("greedy", MAPS, 3 << 20);
    let _first = world.send(&format!("{declared}{{")).await;
    // The others wait for the first until they time out. Any of them may have been the first.
    let others = (0..20).map(|_| async { until(world.send(&declared).await, "}").await });
    let others = join_all(others).await;
    let refused = others
        .iter()
        .filter(|response| response.starts_with("HTTP/1.1 429"));
    assert!(refused.clone().count() >= 19, "{others:?}");
    assert!(
        refused
            .clone()
            .all(|response| response.contains("retry-after: 1"))
    );
    let body = r#"{"metadata":{"name":"modest"}}"#;
    let modest = creation("modest", MAPS, body.len());
    let response = until(world.send(&format!("{modest}{body}")).await, "uid").await;
    assert!(response.starts_with("HTTP/1.1 201"), "{response}");
}
