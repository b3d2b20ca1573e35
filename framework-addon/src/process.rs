//! The process: what it connects to, what it waits for, and who works.

use std::fmt::Display;
use std::path::PathBuf;
use std::sync::Arc;

use reeve_runtime::CancellationToken;
use reeve_runtime::addon_lease::AddonLease;
use reeve_runtime::client::{self, ClientOptions, InProcessServers};
use reeve_runtime::events::{EventBroadcaster, EventBroadcasterMetrics};
use reeve_runtime::fence::Fence;
use reeve_runtime::leader::{self, Election, LeaderError, LeaseTimings};
use reeve_runtime::metrics::{ControllerMetrics, Metrics};
use reeve_runtime::object::ObjectKey;
use reeve_runtime::probes::{self, Check, Probes};
use reeve_runtime::queue::{Action, Queue};
use reeve_runtime::serving::{self, MetricsOptions, ReviewClients};
use reeve_runtime::supervisor::Supervisor;

use crate::args::{ADDON_NAMESPACE, Args, DEPLOYMENT, Mode, Rates, Settings};
use crate::gatekeeper::webhook::Webhook;
use crate::gatekeeper::{Integration, Relay};
use crate::metrics::ErrorMetrics;
use crate::secret_sync::SecretSync;
use crate::spec_sync::SpecSync;
use crate::status_sync::StatusSync;
use crate::status_sync::hub::{HubStatusSync, Outbox};
use crate::template_sync::TemplateSync;
use crate::world::{Clusters, Connection, Queues, World};
use crate::{
    Error, USER_AGENT, gatekeeper, messages, secret_sync, spec_sync, status_sync, template_sync,
};

/// The lease of the one leader. Upstream has a second and a third for its other managers, and with
/// them leaders in different Pods that cannot wake each other.
const LEASE: &str = "governance-policy-framework-addon.open-cluster-management.io";
/// The lease that says that the add-on is alive; named as the add-on. It is renewed by the leader
/// once the watches of both clusters have seen their first lists. A connection that is lost after
/// that does not stop it: the watches try again, and the hub sees statuses that no longer change.
const ADDON_LEASE: &str = "governance-policy-framework";

/// Runs until `stop`, or until something ends that must not.
pub async fn run(args: Args, stop: CancellationToken) -> Result<(), Error> {
    reeve_runtime::logging::start(&args.log)?;
    let settings = args.settings(|name| std::env::var(name).ok())?;
    say_what_differs(&args);
    let metrics = Metrics::default();
    let mut tasks = Supervisor::new(stop.clone());
    let fence = Fence::default();
    let near = (&args.in_process, &fence);
    let (managed, hub) = connect_both(&settings, near, &metrics, &mut tasks).await?;
    let errors = ErrorMetrics::new(&metrics);
    let controllers = ControllerMetrics::new(&metrics).tracked_by(args.in_process.component());
    let queues = queues(&settings, &controllers);
    let lease = addon_lease(&args, &managed, hub.as_ref());
    let (world, watches) = World::new(managed, hub, settings.integration, &queues);
    world.objects.register(&metrics);
    let reviews = ReviewClients::connect(&managed_options(&settings, &args.in_process)).await?;
    serve((&args, &settings), &world, reviews, metrics, &mut tasks)?;
    // Those who wait for leadership watch too: they are ready, which a rolling update needs, and
    // take over at once.
    watches.start(&world, &queues, template_sync::is_concerned, &mut tasks);
    let staff = Staff::hire(&settings, &world, &queues, errors, &mut tasks).await;
    if args.leader_elect {
        let election = Election {
            client: leader::connect(&managed_options(&settings, &args.in_process)).await?,
            namespace: client::own_namespace().ok_or(LeaderError::NoNamespace)?,
            lease: LEASE,
            timings: LeaseTimings::CONTROLLER_RUNTIME,
            fence,
        };
        let Some(leadership) = leader::acquire(election, &stop).await? else {
            return Ok(tasks.run().await?);
        };
        tasks.lead(leadership);
    }
    if let Some(lease) = lease {
        let (world, stop) = (world.clone(), stop);
        tasks.spawn_infallible("the add-on lease", async move {
            // Waiting makes the first renewal follow the first lists at once, not a minute later.
            tokio::select! { () = stop.cancelled() => return, () = world.wait_for_cache_sync(Clusters::Both) => {} }
            lease.run(move || world.has_synced(Clusters::Both), stop).await;
        });
    }
    let crew = Crew {
        world,
        workers: settings.workers,
        stop: tasks.stop(),
    };
    staff.start(queues, &crew, &mut tasks);
    Ok(tasks.run().await?)
}

fn say_what_differs(args: &Args) {
    if args.disable_spec_sync {
        tracing::warn!("{}", messages::DISABLE_SPEC_SYNC);
    }
    if args.disable_gatekeeper_sync {
        tracing::info!("{}", messages::GATEKEEPER_DISABLED);
    }
}

/// The managed cluster, and the hub if there is one.
async fn connect_both(
    settings: &Settings,
    (in_process, fence): (&InProcessServers, &Fence),
    metrics: &Metrics,
    tasks: &mut Supervisor,
) -> Result<(Connection, Option<Connection>), Error> {
    let announced = EventBroadcasterMetrics::new(metrics);
    let options = managed_options(settings, in_process);
    let at = (options, settings.namespace.clone());
    let managed = connect(at, fence, &announced, tasks).await?;
    let hub = match settings.mode {
        Mode::Managed => {
            let options = client_options(settings.hub_kubeconfig.clone(), Rates::HUB, in_process);
            let at = (options, settings.hub_namespace.clone());
            Some(connect(at, fence, &announced, tasks).await?)
        }
        Mode::SelfManagedHub => None,
    };
    Ok((managed, hub))
}

fn queues(settings: &Settings, metrics: &ControllerMetrics) -> Queues {
    let with_hub = settings.mode == Mode::Managed;
    let relays = settings.integration == Integration::Enabled;
    let queue = |name| Queue::new(name, metrics);
    Queues {
        specs: with_hub.then(|| queue(spec_sync::CONTROLLER)),
        statuses: queue(status_sync::CONTROLLER),
        hub_statuses: with_hub.then(|| queue(status_sync::hub::CONTROLLER)),
        templates: queue(template_sync::CONTROLLER),
        constraints: relays.then(|| queue(gatekeeper::CONTROLLER)),
        secrets: with_hub.then(|| queue(secret_sync::CONTROLLER)),
    }
}

/// The way to the managed cluster.
fn managed_options(settings: &Settings, in_process: &InProcessServers) -> ClientOptions {
    let kubeconfig = settings.managed_kubeconfig.clone();
    client_options(kubeconfig, settings.rates, in_process)
}

fn client_options(
    kubeconfig: Option<PathBuf>,
    rates: Rates,
    in_process: &InProcessServers,
) -> ClientOptions {
    ClientOptions {
        kubeconfig,
        qps: rates.qps,
        burst: rates.burst,
        user_agent: USER_AGENT,
        in_process: in_process.clone(),
    }
}

/// Connects twice: what people read has a rate limit of its own and never delays a status.
async fn connect(
    (options, namespace): (ClientOptions, String),
    fence: &Fence,
    announced: &EventBroadcasterMetrics,
    tasks: &mut Supervisor,
) -> Result<Connection, Error> {
    let client = client::connect_fenced(&options, fence).await?;
    let background = client::connect_fenced(&options, fence).await?;
    Ok(Connection {
        client,
        namespace,
        broadcaster: EventBroadcaster::start(background, announced.clone(), tasks),
    })
}

fn serve(
    (args, settings): (&Args, &Settings),
    world: &World,
    reviews: ReviewClients,
    metrics: Metrics,
    tasks: &mut Supervisor,
) -> Result<(), Error> {
    let mut probes = Probes::default().readyz("watches", has_synced(world));
    if let Some(path) = &settings.hub_kubeconfig {
        // The hub rotates these credentials: the process is restarted to use the new ones.
        let unchanged = probes::unchanged_files(probes::kubeconfig_files(path));
        let unchanged = unchanged.map_err(|source| Error::HubKubeconfig {
            path: path.clone(),
            source,
        })?;
        // The probe is open to everybody: what has changed is for the log.
        let withheld = move || {
            unchanged().map_err(|why| {
                tracing::error!(why, "{}", messages::HUB_KUBECONFIG_CHANGED);
                messages::WITHHELD.to_owned()
            })
        };
        probes = probes.healthz("healthz", Arc::new(withheld));
    }
    let options = MetricsOptions {
        address: args.metrics_bind_address,
        secure: args.secure_metrics,
        tls: args.tls.clone(),
        reviews,
    };
    let health = args.health_probe_bind_address;
    Ok(serving::start(health, probes, options, metrics, tasks)?)
}

/// Ready is who has seen the first lists of both clusters, leading or not.
fn has_synced(world: &World) -> Check {
    let world = world.clone();
    Arc::new(move || {
        if world.has_synced(Clusters::Both) {
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
        tracing::info!("{}", messages::NO_LEASE);
        return None;
    };
    Some(AddonLease {
        name: ADDON_LEASE,
        managed: (managed.client.clone(), namespace),
        hub: hub.map(|hub| (hub.client.clone(), hub.namespace.clone())),
        deployment: own_deployment().map(|own| own.name),
    })
}

/// The own Deployment, which says when the add-on is being removed.
fn own_deployment() -> Option<ObjectKey> {
    let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let is_local = set("OSDK_FORCE_RUN_MODE").is_some_and(|mode| mode == "local");
    let namespace = if is_local {
        ADDON_NAMESPACE.to_owned()
    } else {
        client::own_namespace()?
    };
    let name = set("DEPLOYMENT_NAME").unwrap_or_else(|| DEPLOYMENT.to_owned());
    Some(ObjectKey::new(namespace, name))
}

/// The controllers, before they start to work.
struct Staff {
    templates: Arc<TemplateSync>,
    statuses: Arc<StatusSync>,
    relay: Option<(Arc<Relay>, Webhook)>,
    hub: Option<HubStaff>,
}

/// Those that there are only with a hub.
struct HubStaff {
    specs: Arc<SpecSync>,
    statuses: Arc<HubStatusSync>,
    secrets: Option<Arc<SecretSync>>,
}

impl Staff {
    /// Makes the controllers, and starts the watches that only one of them needs.
    async fn hire(
        settings: &Settings,
        world: &World,
        queues: &Queues,
        errors: ErrorMetrics,
        tasks: &mut Supervisor,
    ) -> Self {
        let client = &world.managed.client;
        if let Some(own) = own_deployment() {
            let told = (world.clone(), queues.clone());
            let on_end = move || told.0.look_at_everything(&told.1);
            let follow = world.uninstalling.follow((client, own), on_end, tasks);
            follow.await;
        } else {
            tracing::info!("{}", messages::NO_DEPLOYMENT);
        }
        let templates = TemplateSync::new(world.clone(), errors, queues.constraints.clone());
        let relay = (settings.integration == Integration::Enabled).then(|| {
            let told = (world.clone(), queues.clone());
            let webhook =
                Webhook::start(client, move || told.0.look_at_constraints(&told.1), tasks);
            let relay = Relay::new(world.clone(), webhook.clone(), templates.memory());
            (relay, webhook)
        });
        let outbox = queues.hub_statuses.clone().map(Outbox::new);
        let hub = world.hub.clone().zip(outbox.clone()).map(|(hub, outbox)| {
            let (managed, uninstalling) = (&world.managed, &world.uninstalling);
            let secrets = queues.secrets.as_ref().map(|queue| {
                let from = (hub.client.clone(), hub.namespace.clone());
                let to = (managed.client.clone(), managed.namespace.clone());
                SecretSync::start(from, to, uninstalling.clone(), queue, tasks)
            });
            HubStaff {
                specs: SpecSync::new(hub.clone(), managed.clone(), uninstalling.clone()),
                statuses: HubStatusSync::new(world.clone(), hub, outbox),
                secrets,
            }
        });
        Self {
            templates,
            statuses: StatusSync::new(world.clone(), outbox),
            relay,
            hub,
        }
    }

    /// Starts the workers of all controllers.
    fn start(self, queues: Queues, crew: &Crew, tasks: &mut Supervisor) {
        let Self {
            templates,
            statuses,
            relay,
            hub,
        } = self;
        let work = crew.work(
            queues.templates,
            crew.sees(Clusters::Managed),
            move |policy| templates.clone().reconcile(policy),
        );
        tasks.spawn_infallible(template_sync::CONTROLLER, work);
        // Whatever becomes of the hub: reports are taken down before their events expire.
        let work = crew.work(
            queues.statuses,
            crew.sees(Clusters::Managed),
            move |policy| statuses.clone().reconcile(policy),
        );
        tasks.spawn_infallible(status_sync::CONTROLLER, work);
        if let (Some((relay, webhook)), Some(queue)) = (relay, queues.constraints) {
            let managed = crew.sees(Clusters::Managed);
            let seen = async move {
                managed.await;
                webhook.wait_for_cache_sync().await;
            };
            let work = crew.work(queue, seen, move |policy| relay.clone().reconcile(policy));
            tasks.spawn_infallible(gatekeeper::CONTROLLER, work);
        }
        let Some(hub) = hub else { return };
        if let Some(queue) = queues.specs {
            let specs = hub.specs;
            let work = crew.work(queue, crew.sees(Clusters::Both), move |policy| {
                specs.clone().reconcile(policy)
            });
            tasks.spawn_infallible(spec_sync::CONTROLLER, work);
        }
        if let Some(queue) = queues.hub_statuses {
            let statuses = hub.statuses;
            let work = crew.work(queue, crew.sees(Clusters::Both), move |policy| {
                statuses.clone().reconcile(policy)
            });
            tasks.spawn_infallible(status_sync::hub::CONTROLLER, work);
        }
        if let (Some(queue), Some(secrets)) = (queues.secrets, hub.secrets) {
            let first = Arc::clone(&secrets);
            let seen = async move { first.wait_for_cache_sync().await };
            let work = crew.work(queue, seen, move |name| secrets.clone().reconcile(name));
            tasks.spawn_infallible(secret_sync::CONTROLLER, work);
        }
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
    /// Waits until these clusters have been seen.
    fn sees(&self, needed: Clusters) -> impl Future<Output = ()> + Send + use<> {
        let world = self.world.clone();
        async move { world.wait_for_cache_sync(needed).await }
    }

    /// Works a queue once what the work needs has been seen.
    fn work<S, F, Fut, E>(
        &self,
        queue: Queue<String>,
        seen: S,
        reconcile: F,
    ) -> impl Future<Output = ()> + Send + use<S, F, Fut, E>
    where
        S: Future<Output = ()> + Send,
        F: Fn(String) -> Fut + Send,
        Fut: Future<Output = Result<Action, E>> + Send + 'static,
        E: Display + Send + 'static,
    {
        let (workers, stop) = (self.workers, self.stop.clone());
        async move {
            tokio::select! {
                () = stop.cancelled() => return,
                () = seen => {}
            }
            queue.run(workers, stop, reconcile).await;
        }
    }
}
