//! A server with something in it, for as long as a number of requests.

use std::cell::RefCell;
use std::panic::Location;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt as _, Full};
use reeve_apiserver::{Identity, Options, Server, Service};
use tokio::runtime::{Builder, Runtime};
use tower::Service as _;

use super::answer;
use super::recorded::{NAMESPACE, RECORDED};

/// A server is left behind after so many requests: what they have made is memory.
const REQUESTS: usize = 2_000;
/// How long a watch is listened to when nothing comes.
const SILENCE: Duration = Duration::from_millis(2);
/// And how many pieces of it.
const PIECES: usize = 100;

/// Somebody has panicked, be it a task that nobody waits for.
static PANICKED: AtomicBool = AtomicBool::new(false);

/// A request.
pub(super) struct RawRequest<'a> {
    pub(super) method: &'a str,
    pub(super) path: &'a str,
    pub(super) headers: &'a [(&'a str, &'a str)],
    pub(super) body: &'a [u8],
}

impl<'a> RawRequest<'a> {
    /// One without headers and body.
    pub(super) fn plain(method: &'a str, path: &'a str) -> Self {
        Self {
            method,
            path,
            headers: &[],
            body: &[],
        }
    }

    /// What a client would send of it; nothing, if no client could.
    fn request(&self) -> Option<Request<Full<Bytes>>> {
        let mut request = Request::builder().method(self.method).uri(self.path);
        for (name, value) in self.headers {
            request = request.header(*name, *value);
        }
        if !self.body.is_empty() && self.headers.is_empty() {
            request = request.header("content-type", "application/json");
        }
        request
            .body(Full::new(Bytes::copy_from_slice(self.body)))
            .ok()
    }
}

struct World {
    runtime: Runtime,
    service: Service,
    left: usize,
}

thread_local! {
    static WORLD: RefCell<Option<World>> = const { RefCell::new(None) };
}

/// Bytes as they may stand in a query.
pub(super) fn encoded(bytes: &[u8]) -> String {
    percent_encoding::percent_encode(bytes, percent_encoding::NON_ALPHANUMERIC).to_string()
}

/// Whether a panic is one of the evaluator of rules: it panics on what it does not know, and where numbers overflow, and is
/// caught.
fn is_of_evaluator(file: &str) -> bool {
    let crates = ["/cel-", "/kube-cel-", "/antlr4rust-"];
    // Arithmetic panics in the standard library, whoever does it.
    let is_arithmetic = || file.contains("/library/core/src/ops/");
    let called = || std::backtrace::Backtrace::force_capture().to_string();
    crates.iter().any(|crates| file.contains(crates))
        || (is_arithmetic() && called().contains("cel::objects::Value::resolve"))
}

/// Asks, and holds the answer to what every client relies on.
pub(super) fn send(send: &RawRequest<'_>) {
    WORLD.with_borrow_mut(|slot| {
        let world = slot.take().filter(|world| world.left > 0);
        let Some(mut world) = world.or_else(World::new) else {
            return;
        };
        world.send(send);
        *slot = Some(world);
    });
    assert!(
        !PANICKED.load(Ordering::Relaxed),
        "a task of the server has panicked"
    );
}

impl World {
    fn new() -> Option<Self> {
        static HOOK: Once = Once::new();
        HOOK.call_once(|| {
            let print = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |panic| {
                if !is_of_evaluator(panic.location().map_or("", Location::file)) {
                    PANICKED.store(true, Ordering::Relaxed);
                    print(panic);
                }
            }));
        });
        let runtime = Builder::new_current_thread().enable_all().build().ok()?;
        let service = {
            let _inside = runtime.enter();
            let server = Server::start(Options {
                rbac: true,
                ..Options::default()
            })
            .ok()?;
            server.service(Identity::admin())
        };
        let mut world = Self {
            runtime,
            service,
            left: REQUESTS,
        };
        world.furnish();
        Some(world)
    }

    /// What requests are about.
    fn furnish(&mut self) {
        let metadata = format!(r#""metadata":{{"name":"kept","namespace":"{NAMESPACE}"}}"#);
        let namespace = format!(r#"{{"metadata":{{"name":"{NAMESPACE}"}}}}"#);
        self.make("/api/v1/namespaces", &namespace);
        let kinds = RECORDED.definitions.iter();
        for definition in kinds.filter_map(|definition| std::str::from_utf8(definition).ok()) {
            if definition.contains("widgets.custom.example.com") {
                let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
                self.make(path, definition);
            }
        }
        let pod = r#"{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i","ports":[{"containerPort":80}]}]}}"#;
        for (path, rest) in [
            ("/api/v1/namespaces/c-fuzz/configmaps", r#""data":{"a":"1","b":"2"}"#.to_owned()),
            (
                "/api/v1/namespaces/c-fuzz/services",
                r#""spec":{"ports":[{"port":80,"name":"x"},{"port":81,"name":"y"}]}"#.to_owned(),
            ),
            (
                "/apis/apps/v1/namespaces/c-fuzz/deployments",
                format!(r#""spec":{{"selector":{{"matchLabels":{{"a":"b"}}}},"template":{pod}}}"#),
            ),
            (
                "/apis/custom.example.com/v1/namespaces/c-fuzz/widgets",
                r#""apiVersion":"custom.example.com/v1","kind":"Widget","spec":{"size":1,"items":[{"key":"a"}]}"#.to_owned(),
            ),
        ] {
            self.make(path, &format!("{{{metadata},{rest}}}"));
        }
    }

    fn make(&mut self, path: &str, body: &str) {
        let code = self.send(&RawRequest {
            method: "POST",
            path,
            headers: &[],
            body: body.as_bytes(),
        });
        // Definitions are recorded again and again.
        assert!(
            matches!(code, Some(201 | 409 | 422)),
            "{path} answers {code:?}"
        );
    }

    fn send(&mut self, send: &RawRequest<'_>) -> Option<u16> {
        self.left = self.left.saturating_sub(1);
        let request = send.request()?;
        let service = &mut self.service;
        let (parts, body, ended) = self.runtime.block_on(async {
            let Ok(response) = service.call(request).await;
            let (parts, mut body) = response.into_parts();
            let (mut read, mut ended) = (Vec::new(), false);
            for _ in 0..PIECES {
                match tokio::time::timeout(SILENCE, body.frame()).await {
                    Ok(Some(Ok(frame))) => read.extend(frame.into_data().unwrap_or_default()),
                    Ok(_) => {
                        ended = true;
                        break;
                    }
                    Err(_) => break,
                }
            }
            // What follows of it.
            for _ in 0..4 {
                tokio::task::yield_now().await;
            }
            (parts, read, ended)
        });
        // A watch that is refused, or has been ended, is an answer as all others are; what else is not over yet streams.
        let streams = !ended || (parts.status.is_success() && body.starts_with(b"{\"type\":"));
        if streams {
            answer::check_lines(&body);
        } else {
            answer::check(send.path, &parts, &body);
        }
        Some(parts.status.as_u16())
    }
}
