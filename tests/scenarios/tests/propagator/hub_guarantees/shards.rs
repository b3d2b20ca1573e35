//! Two propagators share a hub by shards, and each is killed again and again: no replica is lost, and none is written twice.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use kube::ResourceExt as _;
use reeve_scenarios::Random;
use reeve_testkit::world::{decide, register};
use reeve_testkit::{AuditEvent, Mark, Plane, eventually};
use serde_json::json;

use crate::hub_guarantees::{Propagator, V1, plane};

const NAMESPACE: &str = "roots";
const CLUSTERS: usize = 24;
const POLICIES: usize = 6;
/// The shards; each propagator works on two of them.
const SHARDS: usize = 4;
/// How often one of the two is killed.
const KILLS: usize = 20;
/// From an edit to the latest moment of a kill, in milliseconds: about as long as all replicas take.
const LATEST_KILL: usize = 900;
/// A lease and what comes after it.
const TAKEN_OVER: Duration = Duration::from_mins(1);
const LEASE_API: &str = "coordination.k8s.io/v1";
/// The label of root policies that changes in each round.
const ROUND: &str = "round";

pub(crate) async fn killed() -> Result<()> {
    let hub = plane("shards").await?;
    objects(&hub).await?;
    let mark = hub.audit()?.mark()?;
    let lease = format!("--leader-election-namespace={NAMESPACE}");
    let shards = format!("--shards={SHARDS}");
    let flags = ["--leader-elect", lease.as_str(), shards.as_str()];
    let start = async |user| {
        let kubeconfig = hub.kubeconfig_for(user, Some("system:masters"))?;
        let kubeconfig = kubeconfig.display().to_string();
        Propagator::start(&hub, &flags, &[("KUBECONFIG", &kubeconfig)]).await
    };
    let mut both = [start("first").await?, start("second").await?];
    let outcome = rounds(&hub, &mut both).await;
    let outcome = both[1].with_log(outcome);
    both[0].with_log(outcome)?;
    let writes = written_once(&hub, mark)?;
    println!("{writes} replicas written, each once, {KILLS} kills");
    let [mut first, mut second] = both;
    first.component.stop().await?;
    second.component.stop().await?;
    let leases = hub.list(LEASE_API, "Lease", Some(NAMESPACE)).await?;
    let held = leases.iter().filter(|lease| holder(lease).is_some());
    ensure!(held.count() == 0, "a stopped process holds a lease");
    Ok(())
}

async fn rounds(hub: &Plane, both: &mut [Propagator; 2]) -> Result<()> {
    let mut random = Random::of(20_261_125);
    written(hub, 0).await?;
    for round in 1..=KILLS {
        shared(hub).await?;
        edit(hub, round).await?;
        let after = random.below(LATEST_KILL);
        tokio::time::sleep(Duration::from_millis(u64::try_from(after)?)).await;
        let victim = both
            .get_mut(random.below(2))
            .context("no such propagator")?;
        victim.component.kill().await;
        let killed = Instant::now();
        written(hub, round).await?;
        println!(
            "round {round}: killed {after} ms after the edit, all written {:.1} s later",
            killed.elapsed().as_secs_f64()
        );
        victim.component.restart()?;
        victim.ready().await?;
    }
    shared(hub).await
}

async fn objects(hub: &Plane) -> Result<()> {
    let names: Vec<String> = (0..CLUSTERS).map(|number| format!("c{number}")).collect();
    for name in &names {
        register(hub, name).await?;
    }
    let mut objects = vec![
        json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": NAMESPACE } }),
        json!({
            "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "Placement",
            "metadata": { "name": "all", "namespace": NAMESPACE }, "spec": {},
        }),
    ];
    let subjects: Vec<_> = (0..POLICIES)
        .map(|number| {
            json!({
                "apiGroup": "policy.open-cluster-management.io", "kind": "Policy", "name": policy(number),
            })
        })
        .collect();
    objects.extend((0..POLICIES).map(|number| {
        json!({
            "apiVersion": V1, "kind": "Policy",
            "metadata": { "name": policy(number), "namespace": NAMESPACE, "labels": { ROUND: "0" } },
            "spec": { "disabled": false, "remediationAction": "inform", "policy-templates": [] },
        })
    }));
    objects.push(json!({
        "apiVersion": V1, "kind": "PlacementBinding",
        "metadata": { "name": "all", "namespace": NAMESPACE },
        "placementRef": {
            "apiGroup": "cluster.open-cluster-management.io", "kind": "Placement", "name": "all",
        },
        "subjects": subjects,
    }));
    let objects: Vec<String> = objects.iter().map(ToString::to_string).collect();
    hub.apply(&objects.join("\n---\n")).await?;
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    decide(hub, NAMESPACE, "all", &names).await
}

fn policy(number: usize) -> String {
    format!("p{number}")
}

fn holder(lease: &kube::api::DynamicObject) -> Option<&str> {
    let holder = lease.data["spec"]["holderIdentity"].as_str();
    holder.filter(|holder| !holder.is_empty())
}

/// Waits until two living processes hold as many shards each.
async fn shared(hub: &Plane) -> Result<()> {
    eventually("two processes share the shards", TAKEN_OVER, || async {
        let leases = hub.list(LEASE_API, "Lease", Some(NAMESPACE)).await?;
        let mut held: BTreeMap<&str, usize> = BTreeMap::new();
        for lease in &leases {
            if lease.name_any().contains("-shard-") {
                *held.entry(holder(lease).unwrap_or("nobody")).or_default() += 1;
            }
        }
        let counts: Vec<usize> = held.values().copied().collect();
        ensure!(counts == [SHARDS / 2; 2], "{held:?}");
        Ok(())
    })
    .await
}

/// Changes every root policy, so that every replica has to be written.
async fn edit(hub: &Plane, round: usize) -> Result<()> {
    for number in 0..POLICIES {
        let label = json!({ "metadata": { "labels": { ROUND: round.to_string() } } });
        hub.patch(V1, "Policy", Some(NAMESPACE), &policy(number), label)
            .await?;
    }
    Ok(())
}

/// Waits until every replica has the label of the round.
async fn written(hub: &Plane, round: usize) -> Result<()> {
    let round = round.to_string();
    eventually("all replicas are written", TAKEN_OVER, || async {
        let policies = hub.list(V1, "Policy", None).await?;
        let written = policies.iter().filter(|policy| {
            policy.namespace().as_deref() != Some(NAMESPACE)
                && policy.labels().get(ROUND) == Some(&round)
        });
        let written = written.count();
        ensure!(written == CLUSTERS * POLICIES, "{written} are");
        Ok(())
    })
    .await
}

/// No replica was written more often than there were edits. Each was seen after each edit, so it was written once for each. The
/// API server may not record the answers to a killed process: the writes that were under way then are missing here.
fn written_once(hub: &Plane, mark: Mark) -> Result<usize> {
    let mut writes: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    let is_write = |event: &AuditEvent| {
        event.resource == "policies"
            && event.namespace != NAMESPACE
            && matches!(
                event.verb.as_str(),
                "create" | "update" | "patch" | "delete"
            )
            && event.code < 300
    };
    let events = hub.audit()?.since(mark)?;
    for event in events.into_iter().filter(is_write) {
        // A create has no name in the audit log of some versions.
        if event.verb != "create" {
            let write = format!("{} {} {}", event.request_received, event.user, event.verb);
            let key = (event.namespace, event.name);
            writes.entry(key).or_default().push(write);
        }
    }
    let wrong = writes.iter().filter(|(_, writes)| writes.len() > KILLS);
    let wrong: BTreeMap<_, _> = wrong.collect();
    ensure!(
        wrong.is_empty(),
        "written more than {KILLS} times: {wrong:#?}"
    );
    ensure!(
        writes.len() == CLUSTERS * POLICIES,
        "{} replicas were written",
        writes.len()
    );
    Ok(writes.values().map(Vec::len).sum())
}
