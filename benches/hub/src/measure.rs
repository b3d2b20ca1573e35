//! The measurements, one function each.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use kube::ResourceExt as _;
use kube::api::{Api, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use reeve_benches_measuring::{
    Observed, Program, Seen, Used, print_latencies, print_requests, print_servers_cpu, print_used,
    servers_cpu, until_quiet,
};
use reeve_testkit::{Mark, Plane};
use serde_json::{Value, json};

use crate::objects::{self, ROOTS, Size, bindings, cluster, policies, replica, root};

/// How long one answer may take to arrive.
const TIMEOUT: Duration = Duration::from_secs(30);

/// One phase: what the program used and asked in it.
struct Phase<'a> {
    plane: &'a Plane,
    program: &'a Program,
    mark: Mark,
    before: Used,
    servers_before: Duration,
}

impl<'a> Phase<'a> {
    fn start(plane: &'a Plane, program: &'a Program) -> Result<Self> {
        Ok(Self {
            plane,
            program,
            mark: plane.audit()?.mark()?,
            before: program.used()?,
            servers_before: servers_cpu(plane)?,
        })
    }

    /// Waits until the program has nothing more to do, prints what it took, and returns its CPU time.
    async fn end(self) -> Result<Duration> {
        until_quiet(self.plane, self.program.name()).await?;
        let used = self.program.used()?;
        print_used(used, self.before);
        print_servers_cpu(self.plane, self.servers_before)?;
        print_requests(self.plane, self.program.name(), self.mark)?;
        Ok(used.cpu.saturating_sub(self.before.cpu))
    }
}

fn all(plane: &Plane) -> Api<DynamicObject> {
    Api::all_with(plane.client(), &policies())
}

fn roots(plane: &Plane) -> Api<DynamicObject> {
    Api::namespaced_with(plane.client(), ROOTS, &policies())
}

fn replicas(plane: &Plane, on: usize) -> Api<DynamicObject> {
    Api::namespaced_with(plane.client(), &cluster(on), &policies())
}

fn text<'a>(object: &'a DynamicObject, pointer: &str) -> Option<&'a str> {
    object.data.pointer(pointer).and_then(Value::as_str)
}

/// What is edited in root policies.
const SEVERITY: &str = "/spec/policy-templates/1/objectDefinition/spec/severity";

/// Watches policies for what the measurements look at.
fn observe(api: Api<DynamicObject>) -> Observed {
    Observed::start_with(api, |mut object| {
        let severity = text(&object, SEVERITY).unwrap_or_default().to_owned();
        let compliant = text(&object, "/status/compliant").map(str::to_owned);
        let none = json!({});
        let templates = json!([none, {"objectDefinition": {"spec": {"severity": severity}}}]);
        object.data =
            json!({"spec": {"policy-templates": templates}, "status": {"compliant": compliant}});
        object.metadata.managed_fields = None;
        object.metadata.annotations = None;
        object
    })
}

/// The start of the program, over roots that nothing binds.
pub(crate) async fn settle(plane: &Plane, program: &Program) -> Result<()> {
    until_quiet(plane, program.name()).await?;
    print_used(program.used()?, Used::default());
    Ok(())
}

pub(crate) async fn propagate(plane: &Plane, program: &Program, size: Size) -> Result<Duration> {
    let phase = Phase::start(plane, program)?;
    let mut observed = observe(all(plane));
    let started = Instant::now();
    let binding: DynamicObject = serde_json::from_value(objects::binding(size))?;
    bindings(plane)
        .create(&PostParams::default(), &binding)
        .await?;
    let last = until_all(&mut observed, size.pairs(), |_| true).await?;
    println!("{:.2} s", (last - started).as_secs_f64());
    phase.end().await
}

pub(crate) async fn edit(plane: &Plane, program: &Program, size: Size) -> Result<Duration> {
    let phase = Phase::start(plane, program)?;
    let mut observed = observe(all(plane));
    let started = Instant::now();
    objects::each(0..size.policies, |number| async move {
        let patch = json!([{"op": "replace", "path": SEVERITY, "value": "high"}]);
        let patch = Patch::Json::<()>(serde_json::from_value(patch)?);
        let name = root(number);
        roots(plane)
            .patch(&name, &PatchParams::default(), &patch)
            .await?;
        Ok(())
    })
    .await?;
    let edited = |object: &DynamicObject| text(object, SEVERITY) == Some("high");
    let last = until_all(&mut observed, size.pairs(), edited).await?;
    println!("{:.2} s", (last - started).as_secs_f64());
    phase.end().await
}

pub(crate) async fn answer(plane: &Plane, program: &Program, size: Size) -> Result<Duration> {
    let phase = Phase::start(plane, program)?;
    let mut observed = observe(roots(plane));
    let started = Instant::now();
    // Cluster by cluster, as clusters answer.
    let pairs =
        (0..size.clusters).flat_map(|on| (0..size.policies).map(move |number| (on, number)));
    objects::each(pairs, |(on, number)| report(plane, on, number, "Compliant")).await?;
    let answered = Instant::now();
    let mut compliant = HashSet::new();
    while compliant.len() < size.policies {
        let Seen { object, .. } = observed.next().await?;
        if text(&object, "/status/compliant") == Some("Compliant") {
            compliant.insert(object.name_any());
        }
    }
    println!(
        "{:.2} s, of which the answers took {:.2} s",
        started.elapsed().as_secs_f64(),
        (answered - started).as_secs_f64()
    );
    phase.end().await
}

/// Answers of one cluster, one after the other.
pub(crate) struct Flips {
    /// How many.
    pub count: usize,
    /// The time before each.
    pub pause: Duration,
    /// Answers of others in each second.
    pub load: u32,
}

/// From the answer of one cluster to the status of the root, while others answer, too.
pub(crate) async fn flips(
    plane: &Plane,
    program: &Program,
    size: Size,
    flips: Flips,
) -> Result<()> {
    let phase = Phase::start(plane, program)?;
    let mut observed = observe(all(plane));
    // Reading all that is there takes longer than an answer.
    until_all(&mut observed, size.pairs(), |_| true).await?;
    let mut took = Vec::new();
    let noise = noise(plane, size, flips.load);
    let measured = async {
        for flip in 0..flips.count {
            tokio::time::sleep(flips.pause).await;
            // Nobody else touches this root, so its status speaks of this cluster alone.
            let (compliance, on) = if flip % 2 == 0 {
                ("NonCompliant", flip / 2 % size.clusters)
            } else {
                ("Compliant", flip / 2 % size.clusters)
            };
            report(plane, on, 0, compliance).await?;
            let delay = tokio::time::timeout(TIMEOUT, seen(&mut observed, on, compliance)).await;
            took.push(delay.with_context(|| format!("flip {flip} does not arrive"))??);
        }
        anyhow::Ok(())
    };
    tokio::select! {
        done = measured => done?,
        broken = noise => broken?,
    }
    print_latencies("after", took);
    phase.end().await?;
    Ok(())
}

/// From one watch's view of the answer to the same watch's view of the root, so its delay is in neither.
async fn seen(observed: &mut Observed, on: usize, compliance: &str) -> Result<Duration> {
    let mut answered = None;
    loop {
        let Seen { at, object } = observed.next().await?;
        let is_reported = text(&object, "/status/compliant") == Some(compliance);
        let namespace = object.namespace().unwrap_or_default();
        if is_reported && namespace == cluster(on) && object.name_any() == replica(0) {
            answered = Some(at);
        } else if let Some(answered) = answered.filter(|_| is_reported)
            && namespace == ROOTS
            && object.name_any() == root(0)
        {
            return Ok(at - answered);
        }
    }
}

/// Other replicas than the first root's change their minds.
async fn noise(plane: &Plane, size: Size, load: u32) -> Result<()> {
    if load == 0 || size.policies < 2 {
        return std::future::pending().await;
    }
    let mut tick = tokio::time::interval(Duration::from_secs(1) / load);
    for round in 0.. {
        tick.tick().await;
        let number = 1 + round % (size.policies - 1);
        let on = round % size.clusters;
        let compliance = ["Pending", "NonCompliant", "Compliant"];
        let compliance = compliance
            .get(round % compliance.len())
            .context("no such answer")?;
        report(plane, on, number, compliance).await?;
    }
    Ok(())
}

pub(crate) async fn restart(plane: &Plane, program: &mut Program) -> Result<()> {
    program.stop().await?;
    let mark = plane.audit()?.mark()?;
    let started = Instant::now();
    program.start()?;
    let quiet = until_quiet(plane, program.name()).await?;
    println!(
        "quiet after {:.1} s",
        started.elapsed().saturating_sub(quiet).as_secs_f64()
    );
    print_used(program.used()?, Used::default());
    print_requests(plane, program.name(), mark)
}

pub(crate) async fn withdraw(plane: &Plane, program: &Program, size: Size) -> Result<()> {
    let phase = Phase::start(plane, program)?;
    let started = Instant::now();
    bindings(plane)
        .delete("all", &DeleteParams::default())
        .await?;
    loop {
        tokio::time::sleep(Duration::from_millis(250)).await;
        // Not the objects: a list of all would cost the API server more than to delete them.
        let first = all(plane)
            .list_metadata(&ListParams::default().limit(1))
            .await?;
        let remaining = first.metadata.remaining_item_count.unwrap_or_default();
        let left = first.items.len() + usize::try_from(remaining)?;
        if left <= size.policies {
            break;
        }
    }
    println!("{:.2} s", started.elapsed().as_secs_f64());
    phase.end().await?;
    Ok(())
}

/// The length of a root policy with its status as JSON, in bytes.
pub(crate) async fn root_length(plane: &Plane) -> Result<usize> {
    let policy = roots(plane).get(&root(0)).await?;
    Ok(serde_json::to_vec(&policy)?.len())
}

async fn report(plane: &Plane, on: usize, number: usize, compliance: &str) -> Result<()> {
    let patch = Patch::Merge(json!({"status": {"compliant": compliance}}));
    replicas(plane, on)
        .patch_status(&replica(number), &PatchParams::default(), &patch)
        .await?;
    Ok(())
}

/// When the last of so many replicas was as wanted.
async fn until_all(
    observed: &mut Observed,
    count: usize,
    wanted: impl Fn(&DynamicObject) -> bool,
) -> Result<Instant> {
    let mut done = HashSet::new();
    let mut last = Instant::now();
    while done.len() < count {
        let Seen { at, object } = observed.next().await?;
        let namespace = object.namespace().unwrap_or_default();
        if namespace != ROOTS && wanted(&object) && done.insert((namespace, object.name_any())) {
            last = at;
        }
    }
    Ok(last)
}
