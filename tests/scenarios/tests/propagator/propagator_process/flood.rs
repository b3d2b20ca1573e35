//! Metrics over HTTPS for everybody who reaches the port, and a propagator that goes on working.

use std::fs;
use std::net::{IpAddr, Ipv4Addr};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use bytes::Bytes;
use http::Request;
use http_body_util::Empty;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::Api;
use kube::api::PostParams;
use reeve_testkit::world::{decide, register};
use reeve_testkit::{Plane, SOON, eventually, reeve_binary};
use rustls::{ClientConfig, RootCertStore};
use serde_json::json;

use crate::propagator_process::serving_client::Certificate;
use crate::propagator_process::{Hubs, Running, WRITER};

const API: &str = "policy.open-cluster-management.io/v1";
const LEASE: &str = "policy-propagator.open-cluster-management.io";
const USER: &str = "flooded";
const CLUSTER: &str = "flooded-cluster";
const NAMESPACE: &str = "flooded";

/// How many bogus tokens a second, for how long, over how many connections: with those of the readers fewer than a listener takes, which
/// refuses more from one address.
const RATE: u32 = 500;
const FLOOD: Duration = Duration::from_secs(30);
const CONNECTIONS: usize = 48;
/// A root status that takes longer does not wait for the machine. Without a flood it takes some 100 ms.
const LATEST: Duration = Duration::from_secs(4);
/// On a machine where it takes longer without a flood, it may take so many times longer with one.
const TIMES: u32 = 20;
/// The longest pause between two renewals, of which there is one every 2 s.
const PACE: SignedDuration = SignedDuration::from_secs(5);

const OBJECTS: &str = r#"
apiVersion: v1
kind: Namespace
metadata: {name: flooded}
---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: reader, namespace: flooded}}
---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: late-reader, namespace: flooded}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: flooded-metrics-reader}
rules: [{nonResourceURLs: ["/metrics"], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: flooded-metrics-reader}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: flooded-metrics-reader}
subjects:
- {kind: ServiceAccount, name: reader, namespace: flooded}
- {kind: ServiceAccount, name: late-reader, namespace: flooded}
---
apiVersion: cluster.open-cluster-management.io/v1beta1
kind: Placement
metadata: {name: chosen, namespace: flooded}
spec: {}
---
apiVersion: policy.open-cluster-management.io/v1
kind: Policy
metadata: {name: p, namespace: flooded}
spec: {disabled: false, remediationAction: inform, policy-templates: []}
---
apiVersion: policy.open-cluster-management.io/v1
kind: PlacementBinding
metadata: {name: p, namespace: flooded}
placementRef: {apiGroup: cluster.open-cluster-management.io, kind: Placement, name: chosen}
subjects: [{apiGroup: policy.open-cluster-management.io, kind: Policy, name: p}]
"#;

/// Starts the program with a certificate where the kubelet would mount one, which only its own mounts show.
const LAUNCHER: &str = r#"#!/bin/sh
as=
[ "$(id -u)" = 0 ] || as=--map-root-user
exec unshare --mount $as sh -ec '
    run=$(readlink -f /var/run)
    mount -t tmpfs tmpfs "$run"
    mkdir "$run/metrics-cert"
    cp "$CERTIFICATE/tls.crt" "$CERTIFICATE/tls.key" "$run/metrics-cert"
    exec "$PROGRAM" "$@"
' sh "$@"
"#;

fn launcher(certificate: &Certificate) -> Result<(PathBuf, PathBuf)> {
    let launcher = certificate.folder().join("launcher");
    fs::write(&launcher, LAUNCHER)?;
    fs::set_permissions(&launcher, fs::Permissions::from_mode(0o755))?;
    // The program looks at the name that it is called by.
    let program = certificate.folder().join(crate::propagator_process::NAME);
    std::os::unix::fs::symlink(reeve_binary()?, &program)?;
    Ok((launcher, program))
}

async fn token(plane: &Plane, account: &str) -> Result<String> {
    let accounts: Api<ServiceAccount> = Api::namespaced(plane.client(), NAMESPACE);
    let request = TokenRequest {
        spec: Some(TokenRequestSpec::default()),
        ..TokenRequest::default()
    };
    let parameters = PostParams::default();
    let answer = accounts.create_token_request(account, &parameters, &request);
    let token = answer.await?.status.and_then(|status| status.token);
    token.context("no token")
}

/// A connection to the metrics port from one address, on which many requests may be under way.
#[derive(Clone)]
struct Scraper {
    client: Client<HttpsConnector<HttpConnector>, Empty<Bytes>>,
    url: String,
}

impl Scraper {
    fn new(certificate: &Certificate, port: u16, from: [u8; 4]) -> Result<Self> {
        let mut roots = RootCertStore::empty();
        roots.add(certificate.der()?)?;
        let config = ClientConfig::builder()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let mut http = HttpConnector::new();
        http.enforce_http(false);
        http.set_local_address(Some(IpAddr::V4(Ipv4Addr::from(from))));
        let https = HttpsConnectorBuilder::new()
            .with_tls_config(config)
            .https_only()
            .enable_http2()
            .wrap_connector(http);
        let mut builder = Client::builder(TokioExecutor::new());
        builder.http2_only(true);
        Ok(Self {
            client: builder.build(https),
            url: format!("https://127.0.0.1:{port}/metrics"),
        })
    }

    async fn code(&self, token: &str) -> Result<u16> {
        let request = Request::get(&self.url)
            .header("Authorization", format!("Bearer {token}"))
            .body(Empty::new())?;
        let answer = tokio::time::timeout(SOON, self.client.request(request)).await;
        Ok(answer.context("no answer")??.status().as_u16())
    }
}

/// Sends tokens that nobody has, each once, and counts those that were answered.
async fn flood(scrapers: Vec<Scraper>, answered: Arc<AtomicU64>) {
    let started = tokio::time::Instant::now();
    for number in 0_u32.. {
        let at = started + number * Duration::from_secs(1) / RATE;
        if at > started + FLOOD {
            break;
        }
        tokio::time::sleep_until(at).await;
        let scraper = scrapers.get(number as usize % scrapers.len()).cloned();
        let (Some(scraper), answered) = (scraper, Arc::clone(&answered)) else {
            break;
        };
        // Nobody waits for the answers: that is what makes it a flood.
        tokio::spawn(async move {
            if scraper.code(&format!("bogus-{number}")).await.is_ok() {
                answered.fetch_add(1, Ordering::SeqCst);
            }
        });
    }
}

/// How long root statuses take after an answer of the replica, for a time; sorted.
async fn latencies(hub: &Plane, time: Duration) -> Result<Vec<Duration>> {
    let (end, mut took) = (Instant::now() + time, Vec::new());
    while Instant::now() < end {
        let state = ["Compliant", "NonCompliant"][took.len() % 2];
        let status = json!({ "status": { "compliant": state } });
        let replica = format!("{NAMESPACE}.p");
        hub.patch_status(API, "Policy", Some(CLUSTER), &replica, status)
            .await?;
        let asked = Instant::now();
        eventually(format!("the root is {state}"), 2 * SOON, || async {
            let root = hub.get(API, "Policy", Some(NAMESPACE), "p").await?;
            let root = root.context("absent")?;
            ensure!(root.data["status"]["compliant"] == state, "{:#}", root.data);
            Ok(())
        })
        .await?;
        took.push(asked.elapsed());
    }
    took.sort_unstable();
    Ok(took)
}

/// The value below which 99 of 100 are.
fn p99(sorted: &[Duration]) -> Result<Duration> {
    let index = (sorted.len() * 99).div_ceil(100).saturating_sub(1);
    sorted.get(index).copied().context("no values")
}

/// Scrapes with a token that has been used before, and once with one that has not, from elsewhere.
async fn scrapes(hub: &Plane, (old, new): (Scraper, Scraper), known: &str) -> Result<()> {
    let late = token(hub, "late-reader").await?;
    for round in 0..2 {
        // Longer than answers are kept for: every scrape is reviewed anew.
        tokio::time::sleep(Duration::from_secs(11)).await;
        let code = old.code(known).await?;
        ensure!(code == 200, "scrape {round} was answered {code}");
        if round == 1 {
            let code = new.code(&late).await?;
            ensure!(code == 200, "the first scrape of another reader: {code}");
        }
    }
    Ok(())
}

/// The lease has stayed with its holder, and was renewed all the time.
async fn lease_holds(hub: &Plane, since: Timestamp, mark: reeve_testkit::Mark) -> Result<()> {
    let events = hub.audit()?.since(mark)?;
    let renewals = events.iter().filter(|event| {
        event.user == USER
            && event.resource == "leases"
            && event.verb == "update"
            && event.code == 200
    });
    let mut times: Vec<_> = renewals.map(|event| event.request_received).collect();
    times.extend([since, Timestamp::now()]);
    times.sort_unstable();
    let gaps = times.windows(2).map(|pair| pair[1].duration_since(pair[0]));
    let longest = gaps.max().context("no renewals")?;
    println!("{} renewals, at most {longest:#} apart", times.len() - 2);
    ensure!(longest <= PACE, "renewals were {longest:#} apart");
    let api = "coordination.k8s.io/v1";
    let lease = hub.get(api, "Lease", Some(NAMESPACE), LEASE).await?;
    let spec = lease.context("no lease")?.data["spec"].clone();
    ensure!(spec["leaseTransitions"] == 0, "{spec:#}");
    Ok(())
}

pub(crate) async fn starves_nobody(hubs: Arc<Hubs>) -> Result<()> {
    let _turn = WRITER.lock().await;
    let hub = &hubs.plain;
    register(hub, CLUSTER).await?;
    hub.apply(OBJECTS).await?;
    decide(hub, NAMESPACE, "chosen", &[CLUSTER]).await?;
    let certificate = Certificate::new()?;
    let (launcher, program) = launcher(&certificate)?;
    let kubeconfig = hub.kubeconfig_for(USER, Some("system:masters"))?;
    let lease = format!("--leader-election-namespace={NAMESPACE}");
    let mut running = Running::spawn_program(
        &launcher,
        &kubeconfig,
        &["--secure-metrics", "--leader-elect", &lease],
        &[
            ("CERTIFICATE", &certificate.folder().display().to_string()),
            ("PROGRAM", &program.display().to_string()),
        ],
    )?;
    running.ready().await?;
    let replica = format!("{NAMESPACE}.p");
    eventually("the policy is replicated", SOON, || async {
        let found = hub.get(API, "Policy", Some(CLUSTER), &replica).await?;
        found.context("absent").map(|_| ())
    })
    .await?;

    let scraper = |from| Scraper::new(&certificate, running.metrics, from);
    let readers = (scraper([127, 0, 0, 1])?, scraper([127, 0, 0, 2])?);
    let known = token(hub, "reader").await?;
    ensure!(readers.0.code(&known).await? == 200, "before the flood");
    let before = p99(&latencies(hub, Duration::from_secs(5)).await?)?;
    let (mark, since) = (hub.audit()?.mark()?, Timestamp::now());
    let flooders: Result<Vec<_>> = (0..CONNECTIONS).map(|_| scraper([127, 0, 0, 1])).collect();
    let answered = Arc::new(AtomicU64::new(0));
    let (took, readers_were_served, ()) = tokio::join!(
        latencies(hub, FLOOD),
        scrapes(hub, readers, &known),
        flood(flooders?, Arc::clone(&answered)),
    );
    let during = p99(&took?)?;
    println!("p99 of a root status: {before:?} before, {during:?} during the flood");
    println!("{answered:?} bogus tokens were answered");
    readers_were_served?;
    ensure!(
        during <= LATEST.max(before * TIMES),
        "{before:?} before, {during:?} during the flood"
    );
    lease_holds(hub, since, mark).await?;
    // It was a flood.
    let half = u64::from(RATE) * FLOOD.as_secs() / 2;
    ensure!(
        answered.load(Ordering::SeqCst) > half,
        "{answered:?} were answered"
    );
    running.component.stop().await?;
    Ok(())
}
