//! A cluster with the real Gatekeeper, and a server in memory with the same objects.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use http_body_util::BodyExt as _;
use kube::Client;
use kube::client::Body;
use reeve_apiserver::{Identity, Options, Server};
use reeve_fleet::{ConstraintEvaluation, Constraints};
use reeve_runtime::CancellationToken;
use reeve_runtime::metrics::ControllerMetrics;
use reeve_testkit::{Gatekeeper, Plane, PlaneOptions, install_gatekeeper_crds};
use serde_json::{Value, json};
use tokio_util::task::AbortOnDropHandle;

use crate::fixtures::{WEBHOOK, json_patch, namespace};

/// The label of Namespaces whose objects no constraint refuses.
const IGNORE: &str = "admission.gatekeeper.sh/ignore";

const SOON: Duration = Duration::from_mins(1);
/// The writer of all requests.
const USER: &str = "alice";
const GROUP: &str = "system:masters";

/// A request that both clusters get.
#[derive(Clone, Debug)]
pub struct Request {
    pub method: &'static str,
    pub path: String,
    pub body: Value,
    /// Its type, if it is a patch.
    pub patch: Option<&'static str>,
    /// The groups of the writer, besides those of an administrator.
    pub groups: &'static [&'static str],
}

/// What a client sees of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    pub code: u16,
    pub reason: String,
    pub message: String,
    pub warnings: Vec<String>,
}

impl Reply {
    pub fn is_refused(&self) -> bool {
        self.code >= 400
    }
}

/// Objects that are made before requests are compared.
pub struct Prepared {
    pub name: &'static str,
    pub requests: Vec<Request>,
    /// A request that is refused, or gets a warning, once both clusters use them.
    pub shows: Vec<Request>,
}

pub struct Clusters {
    theirs: Client,
    ours: Client,
    _plane: Plane,
    _gatekeeper: Gatekeeper,
    _server: Server,
    _audit: AbortOnDropHandle<()>,
}

impl Clusters {
    pub async fn start() -> Result<Self> {
        let plane = Plane::start(PlaneOptions {
            name: "admission",
            ..PlaneOptions::default()
        })
        .await?;
        let (theirs, evaluation) = (plane.client(), ConstraintEvaluation::default());
        let server = Server::start(Options {
            rbac: true,
            webhooks: vec![evaluation.webhook()],
            ..Options::default()
        })?;
        let ours = Client::new(server.service(Identity::admin()), "default");
        let labels = json!({IGNORE: "x", "owner": "me", "checked": "yes"});
        for client in [&theirs, &ours] {
            // Nobody may make one once the webhooks are there.
            let made = send(client, &namespace("ignored", &labels)).await?;
            ensure!(!made.is_refused(), "{made:?}");
        }
        let made = send(
            &ours,
            &namespace("gatekeeper-system", &json!({IGNORE: "x"})),
        )
        .await?;
        ensure!(!made.is_refused(), "{made:?}");
        install_gatekeeper_crds(&plane).await?;
        let gatekeeper = Gatekeeper::start(&plane).await?;
        guard_label(&theirs).await?;
        let audited = server.clone();
        let audit = tokio::spawn(async move {
            let metrics = ControllerMetrics::default();
            let stop = CancellationToken::new();
            let ended = evaluation.run(&audited, Constraints::Enforced, metrics, stop);
            if let Err(error) = ended.await {
                eprintln!("the audit has ended: {error}");
            }
        });
        let clusters = Self {
            theirs,
            ours,
            _plane: plane,
            _gatekeeper: gatekeeper,
            _server: server,
            _audit: AbortOnDropHandle::new(audit),
        };
        let installed = "/apis/templates.gatekeeper.sh/v1/constrainttemplates";
        let listed = Request {
            method: "GET",
            path: installed.to_owned(),
            body: Value::Null,
            patch: None,
            groups: &[],
        };
        clusters.until(&listed, |reply| reply.code == 200).await?;
        Ok(clusters)
    }

    /// Makes objects on both, and waits until both use them.
    pub async fn prepare(&self, prepared: &Prepared) -> Result<()> {
        for request in &prepared.requests {
            // The kind of a constraint is served once its template is loaded.
            let made = |reply: &Reply| !reply.is_refused() || reply.code == 409;
            let what = || format!("preparing {}", prepared.name);
            self.until(request, made).await.with_context(what)?;
        }
        for request in &prepared.shows {
            let shows = |reply: &Reply| reply.is_refused() || !reply.warnings.is_empty();
            let what = || format!("waiting for {}", prepared.name);
            self.until(request, shows).await.with_context(what)?;
        }
        Ok(())
    }

    /// Sends a request to both.
    pub async fn send(&self, request: &Request) -> Result<(Reply, Reply)> {
        let theirs = send(&self.theirs, request).await?;
        Ok((theirs, send(&self.ours, request).await?))
    }

    async fn until(&self, request: &Request, check: impl Fn(&Reply) -> bool) -> Result<()> {
        for (client, is_real) in [(&self.theirs, true), (&self.ours, false)] {
            let begun = Instant::now();
            loop {
                let reply = send(client, request).await?;
                if check(&reply) {
                    break;
                }
                if begun.elapsed() > SOON {
                    bail!("real: {is_real}: {request:?} gets {reply:#?}");
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
        Ok(())
    }
}

/// A text without what the API server has added to a name: five characters that are different each time.
fn without_suffix(text: &str) -> String {
    let mut parts = text.split("-gen-");
    let mut whole = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        whole.push_str("-gen-");
        whole.push_str(part.get(5..).unwrap_or_default());
    }
    whole
}

/// Adds the webhook that guards the label of ignored Namespaces, which Gatekeeper's chart has and the one of the tests has not.
async fn guard_label(client: &Client) -> Result<()> {
    let found: Value = client
        .request(http::Request::get(WEBHOOK).body(Vec::new())?)
        .await?;
    let mut guard = found["webhooks"][0].clone();
    let url = guard["clientConfig"]["url"].as_str().context("no URL")?;
    guard["clientConfig"]["url"] = json!(url.replace("/v1/admit", "/v1/admitlabel"));
    guard["name"] = json!("check-ignore-label.gatekeeper.sh");
    guard["namespaceSelector"] = json!({});
    guard["rules"][0]["resources"] = json!(["namespaces"]);
    let added = json_patch(
        WEBHOOK,
        json!([{"op": "add", "path": "/webhooks/-", "value": guard}]),
    );
    let added = send(client, &added).await?;
    ensure!(!added.is_refused(), "{added:?}");
    Ok(())
}

async fn send(client: &Client, request: &Request) -> Result<Reply> {
    let mut built = http::Request::builder()
        .method(request.method)
        .uri(&request.path)
        .header("content-type", request.patch.unwrap_or("application/json"))
        .header("impersonate-user", USER)
        .header("impersonate-group", GROUP);
    for group in request.groups {
        built = built.header("impersonate-group", *group);
    }
    let body = match &request.body {
        Value::Null => Vec::new(),
        body => body.to_string().into_bytes(),
    };
    let response = client.send(built.body(Body::from(body))?).await?;
    let (parts, body) = response.into_parts();
    let body = body.collect().await?.to_bytes();
    let body: Value = serde_json::from_slice(&body).unwrap_or(json!({}));
    let warnings = parts.headers.get_all("warning").iter();
    let warnings = warnings.map(|one| without_suffix(&String::from_utf8_lossy(one.as_bytes())));
    let text = |field: &str| without_suffix(body[field].as_str().unwrap_or_default());
    let is_status = body["kind"] == "Status";
    Ok(Reply {
        code: parts.status.as_u16(),
        reason: if is_status {
            text("reason")
        } else {
            String::new()
        },
        message: if is_status {
            text("message")
        } else {
            String::new()
        },
        warnings: warnings.collect(),
    })
}
