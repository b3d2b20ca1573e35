//! The hub's controller: from bindings to replicated policies, from their answers to the status of
//! the root policy.
//!
//! Read in this order: `run` below wires; [`observe`] turns watches into an [`index`]; [`decide`]
//! says, purely, what a replica must look like and what a root's status must be; [`act`] writes
//! replicas; [`publish`] writes statuses and events.

pub mod act;
pub mod args;
pub mod decide;
pub mod error;
pub mod index;
pub mod messages;
pub mod metrics;
pub mod observe;
pub mod process;
pub mod publish;
pub mod replica;
pub mod webhooks;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use kube::Client;
use reeve_api::names::RootPolicyName;
use reeve_runtime::CancellationToken;
use reeve_runtime::announcements::{AnnouncementMetrics, Announcements};
use reeve_runtime::client::{self, ClientOptions};
use reeve_runtime::events::EventWriter;
use reeve_runtime::leader;
use reeve_runtime::metrics::{ControllerMetrics, Metrics};
use reeve_runtime::object::ObjectKey;
use reeve_runtime::probes::Probes;
use reeve_runtime::queue::Queue;
use reeve_runtime::serving::{self, MetricsOptions};
use reeve_runtime::supervisor::Supervisor;

pub use args::Args;
pub use error::Error;
use observe::{Hub, Watches};

const LEASE: &str = "policy-propagator.open-cluster-management.io";
const CONTROLLER: &str = "policy-propagator";

/// What must be done: keys only, as the work itself is decided when its turn comes.
#[derive(Clone)]
pub struct Queues {
    /// Replicas to bring in line, by cluster namespace and own name.
    pub replicas: Queue<ObjectKey>,
    /// Root policies whose status to bring in line.
    pub roots: Queue<RootPolicyName>,
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
    };
    let client = client::connect(&options).await?;

    let metrics = Metrics::default();
    let controllers = ControllerMetrics::new(&metrics);
    let ours = process::metrics(&metrics, &settings);
    let queues = Queues {
        replicas: Queue::new("replicated-policy", &controllers),
        roots: Queue::new("root-policy-status", &controllers),
    };
    let watches = Watches::new(&client);
    let hub = Arc::new(Hub::new(&watches, queues.clone(), ours.clone()));

    let mut tasks = Supervisor::new(stop.clone());
    let counted = AnnouncementMetrics::new(&metrics);
    let announcements = Announcements::start(client::connect(&options).await?, counted, &mut tasks);
    let synced = Arc::clone(&hub);
    let ready = Arc::new(move || {
        if synced.is_ready() {
            Ok(())
        } else {
            Err("the watches are not synced".to_owned())
        }
    });
    let probes = Probes::default().ready("watches", ready);
    serve(&args, &client, metrics, probes, &mut tasks).await?;
    // A standby watches too: it is ready to take over, and its probes say so.
    watches.start(&hub, &mut tasks);
    if args.leader_elect {
        let namespace = process::lease_namespace(&args)?;
        let Some(leadership) = leader::acquire(client.clone(), &namespace, LEASE, &stop).await?
        else {
            return Ok(tasks.run().await?);
        };
        tasks.spawn("leader election", leadership.keep(stop.clone()));
    }
    let events = EventWriter::new(client.clone(), CONTROLLER, announcements);
    let replicas = act::Replicas::new(
        client.clone(),
        Arc::clone(&hub),
        events.clone(),
        ours.clone(),
    );
    let roots = publish::Roots::new(client, Arc::clone(&hub), events, ours);
    let workers = usize::from(args.replicated_policy_max_concurrency);
    tasks.spawn_infallible("replicated policies", {
        let (hub, queue, stop) = (Arc::clone(&hub), queues.replicas, stop.clone());
        async move {
            // Before the first lists are complete, absence means nothing.
            tokio::select! { () = stop.cancelled() => return, () = hub.ready() => {} }
            queue
                .run(workers, stop, move |key| replicas.clone().reconcile(key))
                .await;
        }
    });
    let workers = usize::from(args.policy_status_max_concurrency);
    tasks.spawn_infallible("root policy statuses", {
        let queue = queues.roots;
        async move {
            tokio::select! { () = stop.cancelled() => return, () = hub.ready() => {} }
            queue
                .run(workers, stop, move |root| roots.clone().reconcile(root))
                .await;
        }
    });
    Ok(tasks.run().await?)
}

/// Starts the servers: probes, metrics, webhooks. A standby has them all.
async fn serve(
    args: &Args,
    client: &Client,
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
        client: client.clone(),
    };
    let health = args.health_probe_bind_address;
    Ok(serving::start(health, probes, options, metrics, tasks)?)
}
