//! A standby whose watch lags becomes the leader: nothing is deleted on the word of its cache.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use clap::Parser as _;
use futures::StreamExt as _;
use http::{Request, Uri};
use http_body_util::{BodyExt as _, StreamBody};
use kube::Client;
use kube::client::Body;
use reeve_propagator::Args;
use reeve_runtime::CancellationToken;
use reeve_runtime::client::InProcessServers;
use reeve_testkit::world::{decide, register};
use reeve_testkit::{Objects, Plane, SOON, eventually, free_port, http_get};
use serde_json::json;
use tokio::sync::watch;
use tower::service_fn;

use crate::hub_guarantees::{Propagator, V1, plane};

const CLUSTER: &str = "placed";
const NAMESPACE: &str = "roots";
/// How long a new leader that decides wrongly would take for it, many times over.
const STEADY: Duration = Duration::from_secs(5);

/// Whose watch lags.
#[derive(Clone, Copy)]
pub(crate) enum Lag {
    /// That of root policies.
    Roots,
    /// Those of bindings and of placement decisions.
    Placement,
}

impl Lag {
    fn concerns(self, uri: &Uri) -> bool {
        let query = uri.query().unwrap_or_default();
        let kind = uri.path().rsplit('/').next().unwrap_or_default();
        query.contains("watch=true")
            && match self {
                // Replicas are watched by the same label.
                Self::Roots => kind == "policies" && query.contains("labelSelector=%21"),
                Self::Placement => matches!(kind, "placementbindings" | "placementdecisions"),
            }
    }
}

/// A client of a plane that delivers nothing of some watches while the gate is shut.
fn lagging(plane: &Plane, lag: Lag, gate: &watch::Sender<bool>) -> Client {
    let (client, gate) = (plane.client(), gate.subscribe());
    let ask = move |request: Request<Body>| {
        let (client, gate) = (client.clone(), gate.clone());
        async move {
            let lags = lag.concerns(request.uri());
            let (parts, body) = client.send(request).await?.into_parts();
            let body = if lags {
                let late = body.into_data_stream().then(move |part| {
                    let mut gate = gate.clone();
                    async move {
                        // Without a gate there is no scenario any more.
                        let _ = gate.wait_for(|open| *open).await;
                        part.map(http_body::Frame::data)
                    }
                });
                StreamBody::new(late).boxed_unsync()
            } else {
                body.boxed_unsync()
            };
            Ok::<_, kube::Error>(http::Response::from_parts(parts, body))
        }
    };
    Client::new(service_fn(ask), "default")
}

/// A policy in the namespace of roots.
fn policy(name: &str) -> String {
    json!({
        "apiVersion": V1, "kind": "Policy", "metadata": { "name": name, "namespace": NAMESPACE },
        "spec": { "disabled": false, "remediationAction": "inform", "policy-templates": [] },
    })
    .to_string()
}

async fn bind(hub: &Plane, name: &str) -> Result<()> {
    let binding = json!({
        "apiVersion": V1, "kind": "PlacementBinding", "metadata": { "name": name, "namespace": NAMESPACE },
        "placementRef": { "apiGroup": "cluster.open-cluster-management.io", "kind": "Placement", "name": name },
        "subjects": [{ "apiGroup": "policy.open-cluster-management.io", "kind": "Policy", "name": name }],
    });
    let placement = json!({
        "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "Placement",
        "metadata": { "name": name, "namespace": NAMESPACE }, "spec": {},
    });
    hub.apply(&format!("{placement}\n---\n{binding}")).await?;
    decide(hub, NAMESPACE, name, &[CLUSTER]).await
}

/// The UID of a replica, once it is there.
async fn replica(hub: &Objects, name: &str) -> Result<String> {
    let replica = format!("{NAMESPACE}.{name}");
    eventually(format!("the replica {replica}"), SOON, || async {
        let found = hub.get(V1, "Policy", Some(CLUSTER), &replica).await?;
        found.context("absent")?.metadata.uid.context("no uid")
    })
    .await
}

pub(crate) async fn with(lag: Lag) -> Result<()> {
    let hub = plane("takeover").await?;
    register(&hub, CLUSTER).await?;
    hub.apply(
        &json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": NAMESPACE } })
            .to_string(),
    )
    .await?;
    let election = format!("--leader-election-namespace={NAMESPACE}");
    let mut leader = Propagator::start(&hub, &["--leader-elect", &election], &[]).await?;
    for name in ["early", "late"] {
        if matches!(lag, Lag::Placement) || name == "early" {
            hub.apply(&policy(name)).await?;
        }
    }
    bind(&hub, "early").await?;
    replica(&hub, "early").await?;

    let gate = watch::Sender::new(true);
    let stop = CancellationToken::new();
    let health = free_port()?;
    let kubeconfig = hub.kubeconfig().to_owned();
    let mut args = Args::try_parse_from([
        "governance-policy-propagator",
        "--enable-webhooks=false",
        "--metrics-bind-address=0",
        "--watch-namespace=",
        &format!("--health-probe-bind-address=127.0.0.1:{health}"),
        &election,
        &format!("--kubeconfig={}", kubeconfig.display()),
    ])?;
    args.in_process = InProcessServers::new([(kubeconfig, lagging(&hub, lag, &gate))]);
    let standby = tokio::spawn(reeve_propagator::run(args, stop.clone()));
    let ready = format!("http://127.0.0.1:{health}/readyz");
    eventually("the standby is ready", SOON, || async {
        let (code, text) = http_get(&ready).await?;
        ensure!(code == 200, "{code}: {text}");
        Ok(())
    })
    .await?;

    // From here on the standby does not learn what the leader makes.
    gate.send_replace(false);
    hub.apply(&policy("late")).await?;
    bind(&hub, "late").await?;
    let made = replica(&hub, "late").await?;
    leader.component.kill().await;

    // It leads as soon as it makes again what somebody deletes.
    let early = json!({ "apiVersion": V1, "kind": "Policy", "metadata": { "name": format!("{NAMESPACE}.early"), "namespace": CLUSTER } });
    hub.delete(&early.to_string()).await?;
    replica(&hub, "early").await?;
    let end = tokio::time::Instant::now() + STEADY;
    while tokio::time::Instant::now() < end {
        let found = hub
            .get(V1, "Policy", Some(CLUSTER), &format!("{NAMESPACE}.late"))
            .await?;
        let uid = found.and_then(|found| found.metadata.uid);
        ensure!(
            uid.as_ref() == Some(&made),
            "the new leader deleted the replica of a policy that it had not seen"
        );
        tokio::time::sleep(Duration::from_millis(100)).await;
    }

    // When the watch delivers, all is as it should be; and what is no longer placed goes.
    gate.send_replace(true);
    decide(&hub, NAMESPACE, "late", &[]).await?;
    hub.gone(
        V1,
        "Policy",
        Some(CLUSTER),
        &format!("{NAMESPACE}.late"),
        SOON,
    )
    .await?;
    ensure!(!standby.is_finished(), "the standby has ended");
    stop.cancel();
    standby.await??;
    Ok(())
}
