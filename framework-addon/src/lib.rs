//! The managed cluster's controller: policies down from the hub, their template objects onto the
//! cluster, compliance back up.
//!
//! Three controllers share what [`world`] watches on both clusters. Each is read in the same order:
//! `mod`, `observe`, `decide`, `act`, `publish`, `messages`, `error`.
//!
//! - [`spec_sync`] copies policies from the cluster's namespace on the hub;
//! - [`template_sync`] keeps one object for each policy template;
//! - [`status_sync`] folds what evaluators report into the policies' statuses.
//!
//! They talk through the API server only: every one of them is a function of what the clusters
//! hold, so a process that is killed anywhere and started again comes to the same end.

pub mod args;
pub mod error;
pub mod kinds;
pub mod messages;
pub mod metrics;
pub mod replica;
pub mod reports;
pub mod spec_sync;
pub mod status_sync;
pub mod template_sync;
pub mod templates;
pub mod world;

use std::fmt::Display;
use std::path::PathBuf;
use std::sync::Arc;

use reeve_runtime::CancellationToken;
use reeve_runtime::announcements::{AnnouncementMetrics, Announcements};
use reeve_runtime::client::{self, ClientOptions};
use reeve_runtime::leader::{self, LeaderError};
use reeve_runtime::lease::AddonLease;
use reeve_runtime::metrics::{ControllerMetrics, Metrics};
use reeve_runtime::probes::{self, Check, Probes};
use reeve_runtime::queue::{Next, Queue};
use reeve_runtime::serving::{self, MetricsOptions};
use reeve_runtime::supervisor::Supervisor;

pub use args::Args;
use args::{Mode, Rates, Settings};
pub use error::Error;
use metrics::ErrorMetrics;
use spec_sync::SpecSync;
use status_sync::StatusSync;
use template_sync::TemplateSync;
use world::{Clusters, Connection, Queues, World};

/// The lease of the one leader. Upstream has a second and a third for its other managers, and with
/// them leaders in different Pods that cannot wake each other.
const LEASE: &str = "governance-policy-framework-addon.open-cluster-management.io";
/// The lease that says that the add-on is alive; named as the add-on. It is renewed by the leader
/// once the watches of both clusters have seen their first lists. A connection that is lost after
/// that does not stop it: the watches try again, and the hub sees statuses that no longer change.
const ADDON_LEASE: &str = "governance-policy-framework";
const USER_AGENT: &str = "governance-policy-framework-addon";

/// Runs until `stop`, or until something ends that must not.
pub async fn run(args: Args, stop: CancellationToken) -> Result<(), Error> {
    reeve_runtime::logging::start(&args.log)?;
    let settings = args.settings(|name| std::env::var(name).ok())?;
    say_what_differs(&args);
    let metrics = Metrics::default();
    let mut tasks = Supervisor::new(stop.clone());
    let announced = AnnouncementMetrics::new(&metrics);
    let path = settings.managed_kubeconfig.clone();
    let at = (path, settings.namespace.clone(), settings.rates);
    let managed = connect(at, &announced, &mut tasks).await?;
    let hub = match settings.mode {
        Mode::Managed => {
            let path = settings.hub_kubeconfig.clone();
            let at = (path, settings.hub_namespace.clone(), Rates::HUB);
            Some(connect(at, &announced, &mut tasks).await?)
        }
        Mode::SelfManagedHub => None,
    };
    let controllers = ControllerMetrics::new(&metrics);
    let errors = ErrorMetrics::new(&metrics);
    let queues = Queues {
        specs: hub
            .is_some()
            .then(|| Queue::new(spec_sync::CONTROLLER, &controllers)),
        statuses: Queue::new(status_sync::CONTROLLER, &controllers),
        templates: Queue::new(template_sync::CONTROLLER, &controllers),
    };
    let lease = addon_lease(&args, &managed, hub.as_ref());
    let leader_client = managed.client.clone();
    let (world, watches) = World::new(managed, hub, &queues);
    world.objects.register(&metrics);
    serve(&args, &settings, &world, metrics, &mut tasks)?;
    // Those who wait for leadership watch too: they are ready, which a rolling update needs, and
    // take over at once.
    watches.start(&world, &queues, template_sync::is_concerned, &mut tasks);
    if args.leader_elect {
        let namespace = client::own_namespace().ok_or(LeaderError::NoNamespace)?;
        let Some(leadership) = leader::acquire(leader_client, &namespace, LEASE, &stop).await?
        else {
            return Ok(tasks.run().await?);
        };
        tasks.spawn("leader election", leadership.keep(stop.clone()));
    }
    if let Some(lease) = lease {
        let (world, stop) = (world.clone(), stop);
        tasks.spawn_infallible("the add-on lease", async move {
            // Waiting makes the first renewal follow the first lists at once, not a minute later.
            tokio::select! { () = stop.cancelled() => return, () = world.ready(Clusters::Both) => {} }
            lease.run(move || world.is_ready(Clusters::Both), stop).await;
        });
    }
    start(&settings, &world, queues, errors, &mut tasks);
    Ok(tasks.run().await?)
}

fn say_what_differs(args: &Args) {
    if args.disable_spec_sync {
        tracing::warn!("--disable-spec-sync is deprecated: use --on-multicluster-hub");
    }
    if args.disable_gatekeeper_sync {
        tracing::info!("the Gatekeeper integration is disabled");
    } else {
        tracing::warn!("{}", template_sync::messages::GATEKEEPER_NOT_BUILT);
    }
}

/// Connects twice: what people read has a rate limit of its own and never delays a status.
async fn connect(
    (kubeconfig, namespace, rates): (Option<PathBuf>, String, Rates),
    announced: &AnnouncementMetrics,
    tasks: &mut Supervisor,
) -> Result<Connection, Error> {
    let options = ClientOptions {
        kubeconfig,
        qps: rates.qps,
        burst: rates.burst,
        user_agent: USER_AGENT,
    };
    let client = client::connect(&options).await?;
    let background = client::connect(&options).await?;
    Ok(Connection {
        client,
        namespace,
        announcements: Announcements::start(background, announced.clone(), tasks),
    })
}

fn serve(
    args: &Args,
    settings: &Settings,
    world: &World,
    metrics: Metrics,
    tasks: &mut Supervisor,
) -> Result<(), Error> {
    let mut probes = Probes::default().ready("watches", has_synced(world));
    if let Some(path) = &settings.hub_kubeconfig {
        // The hub rotates these credentials: the process is restarted to use the new ones.
        let unchanged = probes::unchanged_files(probes::kubeconfig_files(path));
        let unchanged = unchanged.map_err(|source| Error::HubKubeconfig {
            path: path.clone(),
            source,
        })?;
        probes = probes.healthy("healthz", unchanged);
    }
    let options = MetricsOptions {
        address: args.metrics_bind_address,
        secure: args.secure_metrics,
        tls: args.tls.clone(),
        client: world.managed.client.clone(),
    };
    let health = args.health_probe_bind_address;
    Ok(serving::start(health, probes, options, metrics, tasks)?)
}

/// Ready is who has seen the first lists of both clusters, leading or not.
fn has_synced(world: &World) -> Check {
    let world = world.clone();
    Arc::new(move || {
        if world.is_ready(Clusters::Both) {
            Ok(())
        } else {
            Err(messages::NOT_SYNCED.to_owned())
        }
    })
}

fn addon_lease(args: &Args, managed: &Connection, hub: Option<&Connection>) -> Option<AddonLease> {
    if !args.enable_lease {
        return None;
    }
    let Some(namespace) = client::own_namespace() else {
        tracing::info!("not in a Pod: the add-on lease is not renewed");
        return None;
    };
    Some(AddonLease {
        name: ADDON_LEASE,
        managed: (managed.client.clone(), namespace),
        hub: hub.map(|hub| (hub.client.clone(), hub.namespace.clone())),
    })
}

/// Starts the workers of the three controllers.
fn start(
    settings: &Settings,
    world: &World,
    queues: Queues,
    errors: ErrorMetrics,
    tasks: &mut Supervisor,
) {
    let templates = TemplateSync::new(world.clone(), errors);
    let statuses = StatusSync::new(world.clone());
    let crew = Crew {
        world: world.clone(),
        workers: settings.workers,
        stop: tasks.stop(),
    };
    let reconcile = move |policy| templates.clone().reconcile(policy);
    let work = crew
        .clone()
        .work(queues.templates, Clusters::Managed, reconcile);
    tasks.spawn_infallible(template_sync::CONTROLLER, work);
    let reconcile = move |policy| statuses.clone().reconcile(policy);
    let work = crew
        .clone()
        .work(queues.statuses, Clusters::Both, reconcile);
    tasks.spawn_infallible(status_sync::CONTROLLER, work);
    if let (Some(queue), Some(hub)) = (queues.specs, &world.hub) {
        let specs = SpecSync::new(hub.clone(), world.managed.clone());
        let reconcile = move |policy| specs.clone().reconcile(policy);
        let work = crew.work(queue, Clusters::Both, reconcile);
        tasks.spawn_infallible(spec_sync::CONTROLLER, work);
    }
}

/// Those who work a queue.
#[derive(Clone)]
struct Crew {
    world: World,
    workers: usize,
    stop: CancellationToken,
}

impl Crew {
    async fn work<F, Fut, E>(self, queue: Queue<String>, needed: Clusters, reconcile: F)
    where
        F: Fn(String) -> Fut,
        Fut: Future<Output = Result<Next, E>> + Send + 'static,
        E: Display + Send + 'static,
    {
        tokio::select! {
            () = self.stop.cancelled() => return,
            () = self.world.ready(needed) => {}
        }
        queue.run(self.workers, self.stop, reconcile).await;
    }
}
