//! The measurements, one function each.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use kube::ResourceExt as _;
use kube::api::{Patch, PatchParams};
use reeve_benches_measuring::{
    Observed, Program, Seen, Used, print_latencies, print_requests, print_used, until_quiet,
};
use reeve_testkit::{Mark, Object, Plane};
use serde_json::{Value, json};

use crate::objects;

/// How long one change may take to arrive.
const TIMEOUT: Duration = Duration::from_mins(1);

/// What is measured, and with what.
pub(crate) struct Bench {
    pub(crate) program: Program,
    pub(crate) hub: Plane,
    pub(crate) managed: Plane,
    pub(crate) policies: usize,
    pub(crate) templates: usize,
}

/// Where a measurement begins.
struct Begin {
    hub: Mark,
    managed: Mark,
    used: Used,
}

impl Bench {
    /// Policies that are there when the program starts: until their templates' objects are there, and their statuses.
    pub(crate) async fn first(&mut self) -> Result<()> {
        for plane in [&self.hub, &self.managed] {
            objects::namespace(plane).await?;
        }
        objects::create(&self.hub, self.policies, self.templates).await?;
        let begin = self.begin(Used::default())?;
        let mut made = Observed::start(objects::templates(&self.managed));
        let mut statuses = Observed::start(objects::policies(&self.hub));
        let started = Instant::now();
        self.program.start()?;
        let all = self.policies * self.templates;
        let last = all_are(&mut made, all, |_| true).await?;
        print_after("all objects are there", started, last);
        let last = all_are(&mut statuses, self.policies, |policy| {
            policy.data.pointer("/status/details").is_some()
        })
        .await?;
        print_after("all statuses are on the hub", started, last);
        self.print(&begin).await
    }

    /// All templates are reported at once: until the hub knows.
    pub(crate) async fn answers(&self) -> Result<()> {
        let begin = self.begin(self.program.used()?)?;
        let uids = objects::uids(&self.managed, self.policies).await?;
        let mut statuses = Observed::start(objects::policies(&self.hub));
        let started = Instant::now();
        objects::report_all(&self.managed.client(), &uids, self.templates).await?;
        let last = all_are(&mut statuses, self.policies, |policy| {
            policy.data.pointer("/status/compliant") == Some(&json!("Compliant"))
        })
        .await?;
        print_after("all are Compliant on the hub", started, last);
        self.print(&begin).await
    }

    /// Policies are changed on the hub: until the object of the last template has changed.
    pub(crate) async fn edits(&self, (count, pause): (usize, Duration)) -> Result<()> {
        let begin = self.begin(self.program.used()?)?;
        let api = objects::policies(&self.hub);
        let mut changed = Observed::start(objects::templates(&self.managed));
        let mut took = Vec::new();
        for number in 0..count {
            tokio::time::sleep(pause).await;
            let policy = number % self.policies;
            let severity = ["medium", "high"][number / self.policies % 2];
            let last = self.templates.saturating_sub(1);
            let field = format!("/spec/policy-templates/{last}/objectDefinition/spec/severity");
            let edit = json!([{ "op": "replace", "path": field, "value": severity }]);
            let edit = Patch::<()>::Json(serde_json::from_value(edit)?);
            let started = Instant::now();
            api.patch(&objects::name(policy), &PatchParams::default(), &edit)
                .await?;
            let name = objects::template_name(policy, last);
            let arrived = until(&mut changed, &name, |object| {
                object.data.pointer("/spec/severity") == Some(&json!(severity))
            })
            .await?;
            took.push(arrived.saturating_duration_since(started));
        }
        print_latencies("on the cluster after", took);
        self.print(&begin).await
    }

    /// Templates are reported one by one: until the hub's status has the message.
    pub(crate) async fn flips(&self, (count, pause): (usize, Duration)) -> Result<()> {
        let begin = self.begin(self.program.used()?)?;
        let uids = objects::uids(&self.managed, self.policies).await?;
        let client = self.managed.client();
        let mut statuses = Observed::start(objects::policies(&self.hub));
        let mut took = Vec::new();
        for number in 0..count {
            tokio::time::sleep(pause).await;
            let policy = number % self.policies;
            let uid = uids.get(policy).context("an unknown policy")?;
            let message = format!("NonCompliant; flip {number}");
            let started = Instant::now();
            objects::report(&client, (policy, uid), 0, &message).await?;
            let arrived = until(&mut statuses, &objects::name(policy), |policy| {
                let newest = policy.data.pointer("/status/details/0/history/0/message");
                newest.and_then(Value::as_str) == Some(message.as_str())
            })
            .await?;
            took.push(arrived.saturating_duration_since(started));
        }
        print_latencies("on the hub after", took);
        self.print(&begin).await
    }

    /// What is asked while nothing happens.
    pub(crate) async fn idle(&self, time: Duration) -> Result<()> {
        let begin = self.begin(self.program.used()?)?;
        tokio::time::sleep(time).await;
        self.print_now(&begin)
    }

    /// What a new process asks and writes over what an old one left.
    pub(crate) async fn restart(&mut self) -> Result<()> {
        self.program.stop().await?;
        let begin = self.begin(Used::default())?;
        self.program.start()?;
        self.print(&begin).await
    }

    fn begin(&self, used: Used) -> Result<Begin> {
        Ok(Begin {
            hub: self.hub.audit()?.mark()?,
            managed: self.managed.audit()?.mark()?,
            used,
        })
    }

    /// Waits until the program has nothing more to do, and prints what it has cost.
    async fn print(&self, begin: &Begin) -> Result<()> {
        // Each may give the other something to do, so the second is asked last.
        until_quiet(&self.hub, self.program.name()).await?;
        until_quiet(&self.managed, self.program.name()).await?;
        self.print_now(begin)
    }

    fn print_now(&self, begin: &Begin) -> Result<()> {
        print_used(self.program.used()?, begin.used);
        for (which, plane, mark) in [
            ("the hub", &self.hub, begin.hub),
            ("the cluster", &self.managed, begin.managed),
        ] {
            print!("to {which}: ");
            print_requests(plane, self.program.name(), mark)?;
        }
        Ok(())
    }
}

fn print_after(what: &str, started: Instant, ended: Instant) {
    let took = ended.saturating_duration_since(started);
    println!("{what} after {:.2} s", took.as_secs_f64());
}

/// When the last of `count` objects was first seen as it should be.
async fn all_are(
    observed: &mut Observed,
    count: usize,
    is_right: impl Fn(&Object) -> bool,
) -> Result<Instant> {
    let mut right: HashMap<String, Instant> = HashMap::new();
    while right.len() < count {
        let Seen { at, object } = observed.next().await?;
        if is_right(&object) {
            right.entry(object.name_any()).or_insert(at);
        }
    }
    right.into_values().max().context("there were none")
}

/// When an object was first seen as it should be.
async fn until(
    observed: &mut Observed,
    name: &str,
    is_right: impl Fn(&Object) -> bool,
) -> Result<Instant> {
    let seen = async {
        loop {
            let Seen { at, object } = observed.next().await?;
            if object.name_any() == name && is_right(&object) {
                return anyhow::Ok(at);
            }
        }
    };
    let seen = tokio::time::timeout(TIMEOUT, seen).await;
    seen.with_context(|| format!("{name} stays as it is"))?
}
