//! A leader that cannot renew its lease stops before another one starts.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use jiff::{SignedDuration, Timestamp};
use reeve_testkit::world::{decide, register};
use reeve_testkit::{AuditEvent, Mark, Plane, Proxy, SOON, eventually};
use serde_json::json;

use crate::propagator_process::{Hubs, Running, WRITER};

/// How long renewals are cut.
const CUT: Duration = Duration::from_mins(1);
const API: &str = "policy.open-cluster-management.io/v1";
const LEASE: &str = "policy-propagator.open-cluster-management.io";
const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/";
const POLICIES: usize = 12;

/// The lease, the renew deadline with the time that a last request is on its way, and the longest time between two tries of
/// a candidate.
const DURATION: SignedDuration = SignedDuration::from_secs(15);
const GONE: SignedDuration = SignedDuration::from_secs(11);
const TRY: SignedDuration = SignedDuration::from_millis(4_400);
/// A lease that was renewed two seconds ago has not expired by then.
const BEFORE_EXPIRY: Duration = Duration::from_millis(12_900);
/// How much later than it should a busy machine may do something.
const LATE: SignedDuration = SignedDuration::from_secs(3);

/// Two candidates and policies that keep whoever leads busy.
struct Stage<'a> {
    hub: &'a Plane,
    /// Of the policies; the cluster is named after it.
    namespace: &'static str,
    users: [&'static str; 2],
    /// Where its part of the audit log begins.
    mark: Mark,
}

impl<'a> Stage<'a> {
    async fn new(
        hub: &'a Plane,
        namespace: &'static str,
        users: [&'static str; 2],
    ) -> Result<Self> {
        let stage = Self {
            hub,
            namespace,
            users,
            mark: hub.audit()?.mark()?,
        };
        register(hub, &stage.cluster()).await?;
        let mut objects = format!(
            "
apiVersion: v1
kind: Namespace
metadata: {{name: {namespace}}}
---
apiVersion: cluster.open-cluster-management.io/v1beta1
kind: Placement
metadata: {{name: chosen, namespace: {namespace}}}
spec: {{}}
"
        );
        let policies = (0..POLICIES).map(|number| {
            format!(
                "
---
apiVersion: {API}
kind: Policy
metadata: {{name: p{number}, namespace: {namespace}}}
spec: {{disabled: false, remediationAction: inform, policy-templates: []}}
---
apiVersion: {API}
kind: PlacementBinding
metadata: {{name: p{number}, namespace: {namespace}}}
placementRef: {{apiGroup: cluster.open-cluster-management.io, kind: Placement, name: chosen}}
subjects: [{{apiGroup: policy.open-cluster-management.io, kind: Policy, name: p{number}}}]
"
            )
        });
        objects.extend(policies);
        hub.apply(&objects).await?;
        decide(hub, namespace, "chosen", &[&stage.cluster()]).await?;
        Ok(stage)
    }

    fn cluster(&self) -> String {
        format!("{}-cluster", self.namespace)
    }

    async fn start(&self, kubeconfig: &Path) -> Result<Running> {
        let lease = format!("--leader-election-namespace={}", self.namespace);
        Running::start(kubeconfig, &["--leader-elect", &lease], &[]).await
    }

    async fn holder(&self) -> Result<String> {
        let api = "coordination.k8s.io/v1";
        let lease = self.hub.get(api, "Lease", Some(self.namespace), LEASE);
        let lease = lease.await?.context("no lease")?;
        let holder = lease.data["spec"]["holderIdentity"].as_str();
        holder.map(str::to_owned).context("no holder")
    }

    /// Waits until somebody else than `before` holds the lease, and reports who.
    async fn holder_after(&self, before: &str) -> Result<String> {
        eventually("another candidate leads", SOON, || async {
            let holder = self.holder().await?;
            ensure!(holder != before, "{holder} leads");
            Ok(holder)
        })
        .await
    }

    /// Waits until all policies are replicated.
    async fn replicated(&self) -> Result<()> {
        let cluster = self.cluster();
        eventually("all policies are replicated", SOON, || async {
            let replicas = self.hub.list(API, "Policy", Some(&cluster)).await?;
            ensure!(replicas.len() == POLICIES, "{} are", replicas.len());
            Ok(())
        })
        .await
    }

    /// Changes policies and the statuses of their replicas until `done`: there is always something to write.
    async fn keep_busy(&self, done: &AtomicBool) -> Result<()> {
        let cluster = self.cluster();
        for round in 0_usize.. {
            if done.load(Ordering::SeqCst) {
                break;
            }
            let name = format!("p{}", round % POLICIES);
            let action = ["inform", "enforce"][round / POLICIES % 2];
            let spec = json!({ "spec": { "remediationAction": action } });
            self.hub
                .patch(API, "Policy", Some(self.namespace), &name, spec)
                .await?;
            let state = ["Compliant", "NonCompliant"][round / POLICIES % 2];
            let status = json!({ "status": { "compliant": state } });
            let replica = format!("{}.{name}", self.namespace);
            self.hub
                .patch_status(API, "Policy", Some(&cluster), &replica, status)
                .await?;
        }
        Ok(())
    }

    fn events(&self, user: &str) -> Result<Vec<AuditEvent>> {
        let mut events = self.hub.audit()?.since(self.mark)?;
        events.retain(|event| event.user == user);
        Ok(events)
    }
}

fn is_write(event: &AuditEvent) -> bool {
    let changes = ["create", "update", "patch", "delete"];
    changes.contains(&event.verb.as_str()) && event.resource != "leases"
}

/// When the API server got the renewals that it stored.
fn renewals(events: &[AuditEvent]) -> Vec<Timestamp> {
    let stored = events.iter().filter(|event| {
        event.resource == "leases"
            && matches!(event.verb.as_str(), "create" | "update" | "patch")
            && event.code < 300
    });
    stored.map(|event| event.request_received).collect()
}

/// What a lost leader may have asked for after its deadline.
#[derive(Clone, Copy, PartialEq)]
enum AllowedRequests {
    /// Nothing at all.
    None,
    /// Whatever changes nothing: watches go on.
    ReadOnly,
}

/// What the audit log has to say when the first candidate has lost the lease and the second one has worked.
fn one_leader_at_a_time(stage: &Stage<'_>, allowed: AllowedRequests) -> Result<()> {
    let [first, second] = stage.users;
    let (first, second) = (stage.events(first)?, stage.events(second)?);
    let last = renewals(&first).into_iter().max().context("never led")?;
    let taken = renewals(&second).into_iter().min().context("no takeover")?;
    let gap = taken.duration_since(last);
    println!("the lease was taken over {gap:#} after its last renewal");
    ensure!(gap >= DURATION, "taken over {gap:#} after its last renewal");
    let latest = DURATION + TRY + TRY + LATE;
    ensure!(gap <= latest, "taken over {gap:#} after its last renewal");

    let writes = |events: &[AuditEvent]| -> Vec<AuditEvent> {
        events
            .iter()
            .filter(|event| is_write(event))
            .cloned()
            .collect()
    };
    let (ours, theirs) = (writes(&first), writes(&second));
    let received = |event: &AuditEvent| event.request_received;
    let ended = ours.iter().map(received).max().context("no writes")?;
    let began = theirs
        .iter()
        .map(received)
        .min()
        .context("no writes of the second")?;
    let after = ended.duration_since(last);
    println!("the last write came {after:#} after the last renewal");
    ensure!(after <= GONE, "written {after:#} after the last renewal");
    ensure!(ended < taken && began > taken, "{ended} {taken} {began}");
    if allowed == AllowedRequests::None {
        let last_asked = first.iter().map(received).max().context("no requests")?;
        let after = last_asked.duration_since(last);
        ensure!(after <= GONE, "asked {after:#} after the last renewal");
    }
    Ok(())
}

/// Waits until the first candidate, which cannot renew its lease, has ended.
async fn ended(running: &mut Running) -> Result<()> {
    let status = running.component.wait(SOON).await?;
    ensure!(
        status.code() == Some(1),
        "{status}: {}",
        running.component.log()
    );
    Ok(())
}

/// Whether it has observed why.
fn logged_reason(running: &Running) -> Result<()> {
    let log = running.component.log();
    ensure!(log.contains("leader election lost"), "{log}");
    Ok(())
}

/// Keeps whoever leads busy while `scenario` goes on.
async fn while_leader_is_busy<T>(
    stage: &Stage<'_>,
    scenario: impl Future<Output = Result<T>>,
) -> Result<T> {
    let done = AtomicBool::new(false);
    let scenario = async {
        let outcome = scenario.await;
        done.store(true, Ordering::SeqCst);
        outcome
    };
    let (outcome, busy) = tokio::join!(scenario, stage.keep_busy(&done));
    let outcome = outcome?;
    busy.map(|()| outcome)
}

/// Waits until the second candidate leads and works, and reports who that is.
async fn wait_for_new_leader(stage: &Stage<'_>, holder: &str) -> Result<String> {
    let new_leader = stage.holder_after(holder).await?;
    eventually("the new leader writes", SOON, || async {
        let events = stage.events(stage.users[1])?;
        ensure!(events.iter().any(is_write), "nothing was written");
        Ok(())
    })
    .await?;
    Ok(new_leader)
}

pub(crate) async fn renewals_are_cut(hubs: Arc<Hubs>) -> Result<()> {
    let _turn = WRITER.lock().await;
    let hub = &hubs.plain;
    let stage = Stage::new(hub, "cut-off", ["cut-first", "cut-second"]).await?;
    let proxy = Proxy::to(hub, stage.users[0], "system:masters").await?;
    let mut first = stage.start(proxy.kubeconfig()).await?;
    stage.replicated().await?;
    let holder = stage.holder().await?;
    let kubeconfig = hub.kubeconfig_for(stage.users[1], Some("system:masters"))?;
    let mut second = stage.start(&kubeconfig).await?;

    let scenario = async {
        proxy.hold(LEASES);
        let cut = Instant::now();
        ended(&mut first).await?;
        let took = cut.elapsed();
        println!("the leader ended {took:?} after its renewals were cut");
        ensure!(took < BEFORE_EXPIRY, "it ended {took:?} after");
        let new_leader = wait_for_new_leader(&stage, &holder).await?;
        one_leader_at_a_time(&stage, AllowedRequests::None)?;
        logged_reason(&first)?;
        // The old leader comes back when all is well again: it waits.
        tokio::time::sleep_until((cut + CUT).into()).await;
        one_leader_at_a_time(&stage, AllowedRequests::None)?;
        proxy.open();
        first.component.restart()?;
        first.ready().await?;
        ensure!(stage.holder().await? == new_leader, "the lease went back");
        first.component.stop().await?;
        Ok(new_leader)
    };
    let new_leader = while_leader_is_busy(&stage, scenario).await;
    let new_leader = new_leader.with_context(|| second.component.log())?;
    ensure!(stage.holder().await? == new_leader, "the lease went on");
    second.component.stop().await?;
    ensure!(stage.holder().await.is_err(), "the lease was not released");
    Ok(())
}

pub(crate) async fn leader_is_suspended(hubs: Arc<Hubs>) -> Result<()> {
    let _turn = WRITER.lock().await;
    let hub = &hubs.plain;
    let stage = Stage::new(hub, "suspended", ["awake-first", "awake-second"]).await?;
    let [first, second] = stage.users;
    let start = async |user| {
        let kubeconfig = hub.kubeconfig_for(user, Some("system:masters"))?;
        stage.start(&kubeconfig).await
    };
    let mut first = start(first).await?;
    stage.replicated().await?;
    let holder = stage.holder().await?;
    let mut second = start(second).await?;

    let scenario = async {
        first.component.pause()?;
        wait_for_new_leader(&stage, &holder).await?;
        // It finds the changes of all this time on its connections, and wants to write.
        first.component.resume()?;
        ended(&mut first).await?;
        one_leader_at_a_time(&stage, AllowedRequests::ReadOnly)?;
        logged_reason(&first)
    };
    while_leader_is_busy(&stage, scenario).await?;
    second.component.stop().await?;
    Ok(())
}

pub(crate) async fn lease_is_deleted(hubs: Arc<Hubs>) -> Result<()> {
    let _turn = WRITER.lock().await;
    let hub = &hubs.plain;
    let stage = Stage::new(hub, "deleted-lease", ["kept-first", "kept-second"]).await?;
    let start = async |user| {
        let kubeconfig = hub.kubeconfig_for(user, Some("system:masters"))?;
        stage.start(&kubeconfig).await
    };
    let mut first = start(stage.users[0]).await?;
    stage.replicated().await?;
    let holder = stage.holder().await?;
    let mut second = start(stage.users[1]).await?;
    // A candidate that has never seen the Lease cannot know that somebody held it.
    eventually("the second candidate has seen the lease", SOON, || async {
        ensure!(second.component.log().contains("another process leads"));
        Ok(())
    })
    .await?;
    let lease = json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": { "name": LEASE, "namespace": stage.namespace }
    });
    for _ in 0..3 {
        hub.delete(&lease.to_string()).await?;
        let again = eventually("there is a lease again", SOON, || stage.holder()).await?;
        ensure!(again == holder, "{again} leads");
    }
    ensure!(
        first.component.status()?.is_none(),
        "{}",
        first.component.log()
    );
    // Given back by its owner it is taken at the next try.
    first.component.stop().await?;
    let released = Instant::now();
    stage.holder_after(&holder).await?;
    let took = released.elapsed();
    ensure!(took < BEFORE_EXPIRY, "taken {took:?} after");
    second.component.stop().await?;
    Ok(())
}
