//! The hub's controller: from bindings to replicated policies, from their answers to the statuses of
//! root policies and policy sets.
//!
//! Read in this order: `run` below wires, [`process`] is what flags and environment say;
//! [`observe`] turns watches into an [`index`]; [`decide`] says, purely, what a replica must look
//! like and what a status must be; [`templates`] resolves hub templates, with [`keys`] for what is
//! secret in them; [`replicas`] brings replicas in line, written by [`act`], deletions after [`confirm`] has asked the hub; [`publish`] writes
//! statuses and events; [`automation`] runs Ansible jobs; [`webhooks`] answers the API server.

pub mod act;
pub mod args;
pub mod automation;
pub mod confirm;
pub mod decide;
pub mod error;
pub mod index;
pub mod keys;
pub mod messages;
pub mod metrics;
pub mod observe;
pub mod process;
pub mod publish;
pub mod replica;
pub mod replicas;
pub mod root;
pub mod templates;
pub mod webhooks;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use kube::Client;
use reeve_api::names::RootPolicyName;
use reeve_runtime::CancellationToken;
use reeve_runtime::client::{self, ClientOptions};
use reeve_runtime::dependencies::DependencyWatches;
use reeve_runtime::events::EventRecorder;
use reeve_runtime::events::{EventBroadcaster, EventBroadcasterMetrics};
use reeve_runtime::fence::Fence;
use reeve_runtime::kinds::Kinds;
use reeve_runtime::leader::{self, Election, LeaseTimings};
use reeve_runtime::metrics::{ControllerMetrics, Metrics};
use reeve_runtime::object::ObjectKey;
use reeve_runtime::probes::Probes;
use reeve_runtime::queue::{Action, Key, Queue};
use reeve_runtime::serving::{self, MetricsOptions, ReviewClients};
use reeve_runtime::supervisor::Supervisor;

pub use args::Args;
use automation::Automations;
use confirm::Confirmer;
pub use error::Error;
use keys::rotate::Keys;
use metrics::PropagatorMetrics;
use observe::{Hub, Watches};
use publish::roots::Roots;
use publish::sets::Sets;
use replicas::Replicas;
use templates::accounts::{Accounts, Schedule};
use templates::{HubTemplates, Means};

const LEASE: &str = "policy-propagator.open-cluster-management.io";
const CONTROLLER: &str = "policy-propagator";
const SETS_CONTROLLER: &str = "policy-set";

/// What must be done: keys only, as the work itself is decided when its turn comes.
#[derive(Clone)]
pub struct Queues {
    /// Replicas to bring in line, by cluster namespace and own name.
    pub replicas: Queue<ObjectKey>,
    /// Root policies whose status to bring in line.
    pub roots: Queue<RootPolicyName>,
    /// Policy sets whose status to bring in line.
    pub sets: Queue<ObjectKey>,
    /// Secrets with encryption keys to bring in line.
    pub keys: Queue<ObjectKey>,
    /// Automations to bring in line.
    pub automations: Queue<ObjectKey>,
}

impl Queues {
    fn new(metrics: &ControllerMetrics) -> Self {
        Self {
            replicas: Queue::new("replicated-policy", metrics),
            roots: Queue::new("root-policy-status", metrics),
            sets: Queue::new("policy-set", metrics),
            keys: Queue::new("policy-encryption-keys", metrics),
            automations: Queue::new("policy-automation", metrics),
        }
    }
}

/// Runs until `stop`, or until something ends that must not.
pub async fn run(args: Args, stop: CancellationToken) -> Result<(), Error> {
    reeve_runtime::logging::start(&args.log)?;
    let settings = process::settings(&args)?;
    let rates = args::Rates::from_environment();
    let options = ClientOptions {
        kubeconfig: args.kubeconfig.clone(),
        qps: rates.qps,
        burst: rates.burst,
        user_agent: "governance-policy-propagator",
        in_process: args.in_process.clone(),
    };
    let fence = Fence::default();
    let client = client::connect_fenced(&options, &fence).await?;

    let metrics = Metrics::default();
    let ours = process::metrics(&metrics, &settings);
    let queues =
        Queues::new(&ControllerMetrics::new(&metrics).tracked_by(args.in_process.component()));
    let rules = process::placement_rules(&client, settings.placement_rules).await?;
    // Watches have a client of their own: they do not wait behind a crowd of writes.
    let watching = client::connect(&options).await?;
    let watches = Watches::new(&watching, rules);
    let hub = Hub::new(&watches, queues.clone(), ours.clone(), settings.namespaces);
    let hub = Arc::new(hub);

    let mut tasks = Supervisor::new(stop.clone());
    let counted = EventBroadcasterMetrics::new(&metrics);
    let broadcaster = EventBroadcaster::start(
        client::connect_fenced(&options, &fence).await?,
        counted,
        &mut tasks,
    );
    let templates = templates(&args, &hub, (&client, &watching, &options), &mut tasks)?;
    templates.register(&metrics);
    let synced = Arc::clone(&hub);
    let ready = Arc::new(move || {
        if synced.has_synced() {
            Ok(())
        } else {
            Err("the watches are not synced".to_owned())
        }
    });
    let probes = Probes::default().readyz("watches", ready);
    serve(&args, (&client, &options), metrics, probes, &mut tasks).await?;
    // A standby watches too: it is ready to take over, and its probes say so.
    watches.start(&hub, &mut tasks);
    if args.leader_elect {
        let election = Election {
            client: leader::connect(&options).await?,
            namespace: process::lease_namespace(&args)?,
            lease: LEASE,
            timings: LeaseTimings::CONTROLLER_RUNTIME,
            fence,
        };
        let Some(leadership) = leader::acquire(election, &stop).await? else {
            return Ok(tasks.run().await?);
        };
        tasks.lead(leadership);
    }
    let work = Work {
        client,
        hub,
        queues,
        broadcaster,
        metrics: ours,
    };
    work.start(&args, templates, &mut tasks);
    Ok(tasks.run().await?)
}

/// What resolves hub templates.
fn templates(
    args: &Args,
    hub: &Arc<Hub>,
    (client, watching, options): (&Client, &Client, &ClientOptions),
    tasks: &mut Supervisor,
) -> Result<HubTemplates, Error> {
    let wake = || {
        let hub = Arc::clone(hub);
        move |replica: &ObjectKey| hub.look_at(replica)
    };
    let (kinds, watches) = Kinds::new(watching.clone(), wake());
    watches.start(tasks);
    let schedule = Schedule::default();
    Ok(HubTemplates::new(Means {
        denied: args.template_function_denylist.clone(),
        hub: Arc::clone(hub),
        client: client.clone(),
        kinds,
        own: DependencyWatches::new(watching.clone(), wake())
            .without_refusal_wakeups()
            .with_refusal_ttl(schedule.spacing),
        accounts: Accounts::new(client.clone(), options.clone(), schedule, wake()),
        awaited: DependencyWatches::new(watching.clone(), wake())
            .without_refusal_wakeups()
            .with_refusal_ttl(schedule.spacing),
    })?)
}

/// What only the leader does.
struct Work {
    client: Client,
    hub: Arc<Hub>,
    queues: Queues,
    broadcaster: EventBroadcaster,
    metrics: PropagatorMetrics,
}

impl Work {
    fn start(self, args: &Args, templates: HubTemplates, tasks: &mut Supervisor) {
        let events = |controller| {
            let (client, broadcaster) = (self.client.clone(), self.broadcaster.clone());
            EventRecorder::new(client, controller, broadcaster)
        };
        let (client, hub) = (|| self.client.clone(), || Arc::clone(&self.hub));
        let (ours, metrics) = (events(CONTROLLER), self.metrics.clone());
        // One for both: they ask about the same roots.
        let confirmer = Confirmer::new(client(), hub());
        let (confirm, announce) = (confirmer.clone(), ours.clone());
        let replicas = Replicas::new(client(), hub(), confirm, templates, announce, metrics);
        let roots = Roots::new(client(), hub(), confirmer, ours, self.metrics.clone());
        let sets = Sets::new(client(), hub(), events(SETS_CONTROLLER));
        let keys = Keys::new(client(), hub(), args.encryption_key_rotation);
        let automations = Automations::new(client(), hub());
        let mut workers = Workers { hub: hub(), tasks };
        workers.start(
            (
                "replicated policies",
                args.replicated_policy_max_concurrency,
            ),
            self.queues.replicas,
            move |key| replicas.clone().reconcile(key),
        );
        workers.start(
            ("root policy statuses", args.policy_status_max_concurrency),
            self.queues.roots,
            move |root| roots.clone().reconcile(root),
        );
        workers.start(("policy set statuses", 1), self.queues.sets, move |key| {
            sets.clone().reconcile(key)
        });
        workers.start(
            ("encryption keys", args.key_rotation_max_concurrency),
            self.queues.keys,
            move |key| keys.clone().reconcile(key),
        );
        workers.start(("automations", 1), self.queues.automations, move |key| {
            automations.clone().reconcile(key)
        });
    }
}

/// Starts the workers of queues.
struct Workers<'a> {
    hub: Arc<Hub>,
    tasks: &'a mut Supervisor,
}

impl Workers<'_> {
    fn start<K, F, Fut, E>(
        &mut self,
        (name, count): (&'static str, u16),
        queue: Queue<K>,
        reconcile: F,
    ) where
        K: Key,
        F: Fn(K) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Action, E>> + Send + 'static,
        E: std::fmt::Display + Send + 'static,
    {
        let (hub, stop) = (Arc::clone(&self.hub), self.tasks.stop());
        self.tasks.spawn_infallible(name, async move {
            // Before the first lists are complete, absence means nothing.
            tokio::select! { () = stop.cancelled() => return, () = hub.wait_for_cache_sync() => {} }
            queue.run(usize::from(count.max(1)), stop, reconcile).await;
        });
    }
}

/// Starts the servers: probes, metrics, webhooks. A standby has them all.
async fn serve(
    args: &Args,
    (client, options): (&Client, &ClientOptions),
    metrics: Metrics,
    probes: Probes,
    tasks: &mut Supervisor,
) -> Result<(), Error> {
    let tls = process::tls(args, client, tasks).await;
    process::webhooks(args, &tls, tasks)?;
    let options = MetricsOptions {
        address: args.metrics_bind_address,
        secure: args.secure_metrics,
        tls,
        reviews: ReviewClients::connect(options).await?,
    };
    let health = args.health_probe_bind_address;
    Ok(serving::start(health, probes, options, metrics, tasks)?)
}
