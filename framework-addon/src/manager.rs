//! Wires the process: the connections to both clusters, the watches, servers, leases, and the reconcilers.

use std::path::PathBuf;
use std::sync::Arc;

use reeve_runtime::CancellationToken;
use reeve_runtime::addon_lease::AddonLease;
use reeve_runtime::client::{self, ClientOptions};
use reeve_runtime::dependencies::DependencyGauges;
use reeve_runtime::leader::LeaseTimings;
use reeve_runtime::manager::{LeaderElection, Manager, Role, ServerOptions};
use reeve_runtime::object::ObjectKey;
use reeve_runtime::probes::{self, Check};

use crate::args::{ADDON_NAMESPACE, Args, DEPLOYMENT, USER_AGENT};
use crate::caches::Caches;
use crate::cluster::{Connection, RequiredClusters};
use crate::gatekeeper::Integration;
use crate::gatekeeper_constraint_status_sync::ConstraintStatusSync;
use crate::gatekeeper_constraint_status_sync::webhook::Webhook;
use crate::hub_outbox::Outbox;
use crate::hub_status_sync::HubStatusSync;
use crate::metrics::ErrorMetrics;
use crate::policy_spec_sync::SpecSync;
use crate::policy_status_sync::StatusSync;
use crate::policy_template_sync::TemplateSync;
use crate::queues::Queues;
use crate::secret_sync::SecretSync;
use crate::settings::{Mode, Rates, Settings};
use crate::{
    Error, gatekeeper_constraint_status_sync, hub_status_sync, messages, policy_spec_sync,
    policy_status_sync, policy_template_sync, secret_sync,
};

/// The lease of the one leader. Upstream has a second and a third for its other managers, and with
/// them leaders in different Pods that cannot enqueue for each other.
const LEASE: &str = "governance-policy-framework-addon.open-cluster-management.io";
/// The lease of the add-on's health; named as the add-on. The leader renews it
/// once the caches of both clusters have synced. A connection that is lost after
/// that does not stop it: the watches try again, and the hub sees statuses that no longer change.
const ADDON_LEASE: &str = "governance-policy-framework";

/// Runs the add-on until `stop`, or until one of its tasks fails.
pub async fn run(args: Args, stop: CancellationToken) -> Result<(), Error> {
    // Boxed: what the start needs is freed when it is over.
    let manager = Box::pin(start(args, stop)).await?;
    Ok(manager.run().await?)
}

/// Starts all tasks, once this process leads. A process that is stopped before has no reconcilers.
async fn start(args: Args, stop: CancellationToken) -> Result<Manager, Error> {
    let mut manager = Manager::with_logging(&args.log, &args.in_process, stop)?;
    let settings = args.settings(|name| std::env::var(name).ok())?;
    log_ignored_flags(&args);
    let options = client_options(&args, settings.managed_kubeconfig.clone(), settings.rates);
    let managed_cluster = connect(&mut manager, &options, settings.namespace.clone()).await?;
    let hub = match settings.mode {
        Mode::Managed => {
            let options = client_options(&args, settings.hub_kubeconfig.clone(), Rates::HUB);
            Some(connect(&mut manager, &options, settings.hub_namespace.clone()).await?)
        }
        Mode::SelfManagedHub => None,
    };
    let errors = ErrorMetrics::new(manager.metrics());
    let queues = queues(&settings, &manager);
    let lease = addon_lease(&args, &managed_cluster, hub.as_ref());
    let (caches, watches) = Caches::new(managed_cluster, hub, settings.integration, &queues);
    caches
        .objects
        .count_in(&DependencyGauges::register(manager.metrics()));
    serve(&args, &settings, (&options, &caches), &mut manager).await?;
    // A standby watches too: it is ready, which a rolling update needs, and takes over at once.
    let affects_template_objects = policy_template_sync::affects_template_objects;
    watches.start(&caches, &queues, affects_template_objects, manager.tasks());
    let reconcilers = Reconcilers::new(&settings, &caches, &queues, errors, &mut manager).await;
    if args.leader_elect {
        let election = LeaderElection {
            options: &options,
            namespace: None,
            lease: LEASE,
            timings: LeaseTimings::CONTROLLER_RUNTIME,
        };
        if manager.elect(election).await? == Role::Stopped {
            return Ok(manager);
        }
    }
    if let Some(lease) = lease {
        let (caches, stop) = (caches.clone(), manager.stop());
        manager
            .tasks()
            .spawn_infallible("the add-on lease", async move {
                // Waiting makes the first renewal follow the first lists at once, not a minute later.
                tokio::select! {
                    () = stop.cancelled() => return,
                    () = caches.wait_for_cache_sync(RequiredClusters::Both) => {}
                }
                let has_synced = move || caches.has_synced(RequiredClusters::Both);
                lease.run(has_synced, stop).await;
            });
    }
    reconcilers.start(queues, settings.workers, &caches, &mut manager);
    Ok(manager)
}

fn log_ignored_flags(args: &Args) {
    if args.disable_spec_sync {
        tracing::warn!("{}", messages::DISABLE_SPEC_SYNC);
    }
    if args.disable_gatekeeper_sync {
        tracing::info!("{}", messages::GATEKEEPER_DISABLED);
    }
}

fn queues(settings: &Settings, manager: &Manager) -> Queues {
    let with_hub = settings.mode == Mode::Managed;
    let with_gatekeeper = settings.integration == Integration::Enabled;
    let queue = |controller| manager.queue(controller);
    Queues {
        specs: with_hub.then(|| queue(policy_spec_sync::CONTROLLER)),
        statuses: queue(policy_status_sync::CONTROLLER),
        hub_statuses: with_hub.then(|| queue(hub_status_sync::CONTROLLER)),
        templates: queue(policy_template_sync::CONTROLLER),
        constraints: with_gatekeeper.then(|| queue(gatekeeper_constraint_status_sync::CONTROLLER)),
        secrets: with_hub.then(|| queue(secret_sync::CONTROLLER)),
    }
}

fn client_options(args: &Args, kubeconfig: Option<PathBuf>, rates: Rates) -> ClientOptions {
    ClientOptions {
        kubeconfig,
        qps: rates.qps,
        burst: rates.burst,
        user_agent: USER_AGENT,
        in_process: args.in_process.clone(),
    }
}

async fn connect(
    manager: &mut Manager,
    options: &ClientOptions,
    namespace: String,
) -> Result<Connection, Error> {
    Ok(Connection {
        client: manager.client(options).await?,
        broadcaster: manager.event_broadcaster(options).await?,
        namespace,
    })
}

async fn serve(
    args: &Args,
    settings: &Settings,
    (options, caches): (&ClientOptions, &Caches),
    manager: &mut Manager,
) -> Result<(), Error> {
    manager.add_readyz_check("watches", has_synced(caches));
    let own = |path: &&PathBuf| !args.in_process.has(path);
    if let Some(path) = settings.hub_kubeconfig.as_ref().filter(own) {
        // The hub rotates these credentials: the process is restarted to use the new ones.
        let unchanged = probes::unchanged_files(probes::kubeconfig_files(path));
        let unchanged = unchanged.map_err(|source| Error::HubKubeconfig {
            path: path.clone(),
            source,
        })?;
        // Anybody can read the probe, so the reason goes to the log.
        let withheld = move || {
            unchanged().map_err(|why| {
                tracing::error!(why, "{}", messages::HUB_KUBECONFIG_CHANGED);
                messages::WITHHELD.to_owned()
            })
        };
        manager.add_healthz_check("healthz", Arc::new(withheld));
    }
    let servers = ServerOptions {
        health: args.health_probe_bind_address,
        metrics: args.metrics_bind_address,
        secure_metrics: args.secure_metrics,
        tls: args.tls.clone(),
        reviews: options,
    };
    Ok(manager.serve(servers).await?)
}

/// The readiness check: the caches of both clusters have synced, on the leader or a standby.
fn has_synced(caches: &Caches) -> Check {
    let caches = caches.clone();
    Arc::new(move || {
        if caches.has_synced(RequiredClusters::Both) {
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

/// The process's own Deployment, whose annotation shows that the add-on is being removed.
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

/// The reconcilers, before their workers are spawned.
struct Reconcilers {
    templates: Arc<TemplateSync>,
    statuses: Arc<StatusSync>,
    constraints: Option<(Arc<ConstraintStatusSync>, Webhook)>,
    hub: Option<HubReconcilers>,
}

/// The reconcilers that need a hub.
struct HubReconcilers {
    specs: Arc<SpecSync>,
    statuses: Arc<HubStatusSync>,
    secrets: Option<Arc<SecretSync>>,
}

impl Reconcilers {
    /// Builds the reconcilers, and starts the watches that only one of them needs.
    async fn new(
        settings: &Settings,
        caches: &Caches,
        queues: &Queues,
        errors: ErrorMetrics,
        manager: &mut Manager,
    ) -> Self {
        let tasks = manager.tasks();
        let client = &caches.managed.client;
        if let Some(own) = own_deployment() {
            let (all, every) = (caches.clone(), queues.clone());
            let on_end = move || all.enqueue_all(&every);
            let follow = caches.uninstalling.follow((client, own), on_end, tasks);
            follow.await;
        } else {
            tracing::info!("{}", messages::NO_DEPLOYMENT);
        }
        let templates = TemplateSync::new(caches.clone(), errors, queues.constraints.clone());
        let constraints = (settings.integration == Integration::Enabled).then(|| {
            let (all, every) = (caches.clone(), queues.clone());
            let webhook = Webhook::start(client, move || all.enqueue_constraints(&every), tasks);
            let sent = templates.sent_reports();
            let sync = ConstraintStatusSync::new(caches.clone(), webhook.clone(), sent);
            (sync, webhook)
        });
        let outbox = queues.hub_statuses.clone().map(Outbox::new);
        let hub = caches.hub.clone().zip(outbox.clone()).map(|(hub, outbox)| {
            let (local, uninstalling) = (&caches.managed, &caches.uninstalling);
            let secrets = queues.secrets.as_ref().map(|queue| {
                let from = (hub.client.clone(), hub.namespace.clone());
                let to = (local.client.clone(), local.namespace.clone());
                SecretSync::start(from, to, uninstalling.clone(), queue, tasks)
            });
            HubReconcilers {
                specs: SpecSync::new(hub.clone(), local.clone(), uninstalling.clone()),
                statuses: HubStatusSync::new(caches.clone(), hub, outbox),
                secrets,
            }
        });
        Self {
            templates,
            statuses: StatusSync::new(caches.clone(), outbox),
            constraints,
            hub,
        }
    }

    /// Spawns the workers of all reconcilers.
    fn start(self, queues: Queues, workers: usize, caches: &Caches, manager: &mut Manager) {
        let Self {
            templates,
            statuses,
            constraints,
            hub,
        } = self;
        let synced = |required| {
            let caches = caches.clone();
            async move { caches.wait_for_cache_sync(required).await }
        };
        let first_lists = synced(RequiredClusters::Managed);
        manager.spawn_workers(queues.templates, workers, first_lists, move |policy| {
            templates.clone().reconcile(policy)
        });
        // Also while the hub cannot be reached: compliance events are read before they expire.
        let first_lists = synced(RequiredClusters::Managed);
        manager.spawn_workers(queues.statuses, workers, first_lists, move |policy| {
            statuses.clone().reconcile(policy)
        });
        if let (Some((sync, webhook)), Some(queue)) = (constraints, queues.constraints) {
            let first_lists = synced(RequiredClusters::Managed);
            let synced = async move {
                first_lists.await;
                webhook.wait_for_cache_sync().await;
            };
            manager.spawn_workers(queue, workers, synced, move |policy| {
                sync.clone().reconcile(policy)
            });
        }
        let Some(hub) = hub else { return };
        if let Some(queue) = queues.specs {
            let specs = hub.specs;
            let both = synced(RequiredClusters::Both);
            manager.spawn_workers(queue, workers, both, move |policy| {
                specs.clone().reconcile(policy)
            });
        }
        if let Some(queue) = queues.hub_statuses {
            let statuses = hub.statuses;
            let both = synced(RequiredClusters::Both);
            manager.spawn_workers(queue, workers, both, move |policy| {
                statuses.clone().reconcile(policy)
            });
        }
        if let (Some(queue), Some(secrets)) = (queues.secrets, hub.secrets) {
            let first = Arc::clone(&secrets);
            let synced = async move { first.wait_for_cache_sync().await };
            manager.spawn_workers(queue, workers, synced, move |name| {
                secrets.clone().reconcile(name)
            });
        }
    }
}
