//! The hub cannot be reached while the cluster goes on.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use reeve_scenarios::{Addon, POLICY, configuration};
use reeve_testkit::{FaultProxy, Mark, NetworkFault, Plane, SOON, eventually};
use serde_json::Value;
use tokio::time::{Instant, sleep_until};

use crate::addon_guarantees::steps::{
    NAMESPACE, clusters, delete, expire, history_is, policy, put, report, reported, start,
};

const POLICIES: usize = 40;
/// Changes of compliance that each policy sees while the hub is away.
const CHANGES: usize = 5;
const TEMPLATE: &str = "rule";
const AT_FIRST: &str = "Compliant; at first";
/// Who the add-on is on the hub.
const USER: &str = "addon-behind-the-cut";
/// How many tries of the hub a minute of its absence may cost: each watch and the statuses together try less and less
/// often.
const TRIES_A_MINUTE: usize = 120;
/// How much more memory an absence may cost, in KiB: what waits is one status a policy.
const MEMORY: u64 = 16 << 10;

/// Connections are refused for a minute.
pub(crate) async fn refused() -> Result<()> {
    Box::pin(run_partition(NetworkFault::Refused, Duration::from_mins(1))).await
}

/// Nothing arrives, and nobody is reported.
pub(crate) async fn silent() -> Result<()> {
    Box::pin(run_partition(NetworkFault::Silent, Duration::from_secs(30))).await
}

async fn run_partition(fault: NetworkFault, absence: Duration) -> Result<()> {
    let (hub, managed) = clusters().await?;
    let proxy = FaultProxy::to(&hub).await?;
    let kubeconfig = hub.kubeconfig_for(USER, Some("system:masters"))?;
    let through = proxy.kubeconfig(&hub, &kubeconfig)?;
    let mut addon = start(&through, managed.kubeconfig()).await?;
    let story = Partition {
        hub: &hub,
        managed: &managed,
        proxy: &proxy,
        fault,
        absence,
    };
    let outcome = story.run_partition(&mut addon).await;
    outcome.with_context(|| {
        let log = addon.log();
        let lines: Vec<&str> = log.lines().collect();
        let last = lines[lines.len().saturating_sub(60)..].join("\n");
        format!("--- the add-on's log ends:\n{last}\n---")
    })
}

/// The names of a policy and of its template.
fn of(policy: usize) -> (String, String) {
    (format!("ns.p{policy:02}"), format!("{TEMPLATE}-{policy}"))
}

fn template(policy: usize) -> Value {
    configuration(&of(policy).1, "inform")
}

/// What happens on the hub while it is away: one policy is deleted, one changed, one new.
const DELETED: usize = POLICIES - 1;
const CHANGED: usize = POLICIES - 2;
const NEW: usize = POLICIES;

struct Partition<'a> {
    hub: &'a Plane,
    managed: &'a Plane,
    proxy: &'a FaultProxy,
    fault: NetworkFault,
    absence: Duration,
}

impl Partition<'_> {
    async fn run_partition(&self, addon: &mut Addon) -> Result<()> {
        self.begin().await?;
        let memory = resident(addon)?;
        let before = self.proxy.connections();
        self.proxy.set(self.fault);
        self.continue_partition().await?;
        let tries = self.proxy.connections() - before;
        ensure!(
            tries <= TRIES_A_MINUTE,
            "the hub was tried {tries} times in {:?}",
            self.absence
        );
        let mark = self.hub.audit()?.mark()?;
        self.proxy.set(NetworkFault::None);
        let healed = Instant::now();
        self.agree().await?;
        let (agreed, counted) = (healed.elapsed(), requests(self.hub, mark)?);
        println!(
            "{:?}: {tries} tries in {:?}; then all agree within {agreed:?}, after {counted:?}",
            self.fault, self.absence
        );
        assert_no_retry_burst(&counted)?;
        let grown = resident(addon)?.saturating_sub(memory);
        ensure!(grown <= MEMORY, "{grown} KiB more memory than before");
        Ok(())
    }

    async fn begin(&self) -> Result<()> {
        for number in 0..POLICIES {
            put(self.hub, &of(number).0, "inform", &[template(number)]).await?;
        }
        for number in 0..POLICIES {
            let (name, template) = of(number);
            eventually(format!("{name} is copied"), SOON, || {
                policy(self.managed, &name)
            })
            .await?;
            report(self.managed, &name, &template, AT_FIRST).await?;
        }
        for number in 0..POLICIES {
            let (name, template) = of(number);
            history_is(self.hub, (&name, &template), &[AT_FIRST.to_owned()]).await?;
        }
        Ok(())
    }

    /// The hub is away: the cluster goes on, and so do the hub's users.
    async fn continue_partition(&self) -> Result<()> {
        let begin = Instant::now();
        let all = u32::try_from(POLICIES * CHANGES)?;
        for change in 0..CHANGES {
            for number in 0..POLICIES {
                let nth = u32::try_from(change * POLICIES + number)?;
                sleep_until(begin + self.absence * nth / all).await;
                let (name, template) = of(number);
                report(self.managed, &name, &template, &message(change)).await?;
            }
        }
        delete(self.hub, &of(DELETED).0).await?;
        put(self.hub, &of(CHANGED).0, "enforce", &[template(CHANGED)]).await?;
        put(self.hub, &of(NEW).0, "inform", &[template(NEW)]).await?;
        for number in 0..POLICIES {
            let (name, template) = of(number);
            history_is(self.managed, (&name, &template), &expected()).await?;
        }
        // As after an hour: what the events observed is in the statuses.
        expire(self.managed.client()).await?;
        sleep_until(begin + self.absence).await;
        Ok(())
    }

    /// The hub is back: everything arrives, both ways.
    async fn agree(&self) -> Result<()> {
        for number in 0..DELETED {
            let (name, template) = of(number);
            history_is(self.hub, (&name, &template), &expected()).await?;
        }
        eventually("the hub's own changes have arrived", SOON, || async {
            let deleted = of(DELETED).0;
            let left = self
                .managed
                .get(POLICY.0, POLICY.1, Some(NAMESPACE), &deleted)
                .await?;
            ensure!(left.is_none(), "{deleted} is still there");
            let other = policy(self.managed, &of(CHANGED).0).await?;
            let action = &other.data["spec"]["remediationAction"];
            ensure!(action == "enforce", "{} is to {action}", of(CHANGED).0);
            policy(self.managed, &of(NEW).0).await?;
            for number in 0..DELETED {
                let name = of(number).0;
                let (there, here) = (
                    reported(self.hub, &name).await?,
                    reported(self.managed, &name).await?,
                );
                ensure!(
                    there.0 == here.0,
                    "{name} on the hub is {}, here {}",
                    there.0,
                    here.0
                );
            }
            Ok(())
        })
        .await
    }
}

/// Each status is written once; a few twice, where the hub's own change came in between, or where a request was held up on
/// the way and arrived after all. The rest is a handful.
fn assert_no_retry_burst(counted: &BTreeMap<String, usize>) -> Result<()> {
    let is_status = |what: &str| what.contains("policies/status");
    let statuses: usize = counted
        .iter()
        .filter(|(what, _)| is_status(what))
        .map(|(_, count)| count)
        .sum();
    ensure!(
        (DELETED..=DELETED + 10).contains(&statuses),
        "the statuses took {statuses} writes: {counted:?}"
    );
    let others: usize = counted
        .iter()
        .filter(|(what, _)| !is_status(what) && !what.contains("events"))
        .map(|(_, count)| count)
        .sum();
    ensure!(others <= 12, "the rest took {others} requests: {counted:?}");
    Ok(())
}

fn message(change: usize) -> String {
    let compliance = ["NonCompliant", "Compliant"][change % 2];
    format!("{compliance}; change {change}")
}

fn expected() -> Vec<String> {
    let mut messages: Vec<String> = (0..CHANGES).rev().map(message).collect();
    messages.push(AT_FIRST.to_owned());
    messages
}

/// What the hub has served to the add-on since then: counts by verb and resource.
fn requests(hub: &Plane, mark: Mark) -> Result<BTreeMap<String, usize>> {
    let mut counts = BTreeMap::new();
    for event in hub.audit()?.since(mark)? {
        // A watch is written down when it begins and when it ends.
        let counts_here =
            event.user == USER && (event.verb != "watch" || event.stage == "ResponseStarted");
        if counts_here {
            let what = format!("{} {}", event.verb, event.resource);
            *counts.entry(what).or_insert(0) += 1;
        }
    }
    Ok(counts)
}

/// The process's memory, in KiB.
fn resident(addon: &mut Addon) -> Result<u64> {
    let path = format!("/proc/{}/status", addon.component().pid());
    let text = std::fs::read_to_string(&path).with_context(|| format!("reading {path}"))?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let line = line.context("no VmRSS")?;
    let number = line.trim().trim_end_matches("kB").trim();
    Ok(number.parse()?)
}
