//! The process deps the controller: flags, clients, servers, leases.

mod prefetch;
mod trigger_uninstall;
mod watches;

use std::path::{Path, PathBuf};
use std::time::Duration;

use kube::Client;
use reeve_runtime::CancellationToken;
use reeve_runtime::events::{EventBroadcasterMetrics, EventBroadcaster};
use reeve_runtime::client::{self, ClientError, ClientOptions, InProcessServers};
use reeve_runtime::events::EventRecorder;
use reeve_runtime::flags::TlsArgs;
use reeve_runtime::leader::{self, Election, LeaderError, LeaseTimings};
use reeve_runtime::addon_lease::AddonLease;
use reeve_runtime::metrics::{ControllerMetrics, Metrics};
use reeve_runtime::object::ObjectKey;
use reeve_runtime::probes::{self, Probes};
use reeve_runtime::queue::{Backoff, Queue};
use reeve_runtime::serving::{self, MetricsOptions, ReviewClients};
use reeve_runtime::supervisor::Supervisor;

use crate::args::{Args, Command, ControllerArgs};
use crate::configuration_policy::hub_templates::Hub;
use crate::error::Error;
use crate::evaluate::selectors::namespaces::TerminatingInclusion;
use crate::messages;
use crate::metrics::PolicyMetrics;
use crate::uninstall::UninstallWatch;
pub use watches::{ClusterClients, ReconcilerDeps, start_reconciler};

const LEASE: &str = "config-policy-controller.open-cluster-management.io";
const ADDON: &str = "config-policy-controller";
/// The add-on that lets hub templates be resolved here.
const STANDALONE_ADDON: &str = "governance-standalone-hub-templating";
const USER_AGENT: &str = "config-policy-controller";
const CONTROLLER: &str = "configuration-policy-controller";
/// Where policies may be kept that came from no hub.
const OCM_POLICY_NAMESPACE: &str = "open-cluster-management-policies";
/// The longest backoff of a policy that fails. Upstream retries after every evaluation backoff.
const LONGEST_RETRY: Duration = Duration::from_secs(10);

/// Runs until `stop`, or until something ends that must not.
pub async fn run(args: Args, stop: CancellationToken) -> Result<(), Error> {
    let args = match args.command {
        Some(Command::Controller(args)) => *args,
        Some(Command::TriggerUninstall(args)) => return trigger_uninstall::run(*args, stop).await,
        Some(Command::Unknown(_)) | None => return Err(Error::Subcommand),
    };
    reeve_runtime::logging::start(&args.log)?;
    let settings = Settings::from_args(&args)?;
    let options = ClientOptions {
        kubeconfig: args.kubeconfig.clone(),
        qps: args.qps(),
        burst: args.burst(),
        user_agent: USER_AGENT,
        in_process: args.in_process.clone(),
    };
    let fence = Fence::default();
    let client = client::connect_fenced(&options, &fence).await?;
    let hub = match &settings.standalone_hub {
        Some(path) => Some(Hub {
            client: connect_to(path, &options, &fence).await?,
            cluster_name: args.cluster_name.clone(),
        }),
        None => None,
    };

    let metrics = Metrics::default();
    let controllers = ControllerMetrics::new(&metrics).tracked_by(args.in_process.component());
    let ours = PolicyMetrics::new(&metrics);
    let mut tasks = Supervisor::new(stop.clone());
    // Informational events have a rate limit of their own and never delay a status.
    let background = client::connect_fenced(&options, &fence).await?;
    let counted = EventBroadcasterMetrics::new(&metrics);
    let broadcaster = EventBroadcaster::start(background, counted, &mut tasks);
    let events = EventRecorder::new(client.clone(), CONTROLLER, broadcaster);
    let namespace = settings.pod.as_ref().map(|own| own.namespace.as_str());
    let tls = serving::tls_settings(&args.tls, &client, namespace, &mut tasks).await?;
    let uninstall_watch = UninstallWatch::start(&client, settings.pod.clone(), &mut tasks).await;
    let hosting = ClusterClients {
        calls: client.clone(),
        watches: client::connect(&options).await?,
    };
    let target = match &settings.target {
        Some(path) => target(path, (&options, &fence), &uninstall_watch, &mut tasks).await?,
        None => hosting.clone(),
    };
    let probes = settings.probes(&uninstall_watch)?;
    let reviews = ReviewClients::connect(&options).await?;
    serve(&args, (probes, tls), reviews, metrics.clone(), &mut tasks)?;
    if args.leader_elect {
        let election = Election {
            client: leader::connect(&options).await?,
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
    if let (true, Some(own)) = (args.enable_lease, &settings.pod) {
        let managed = (client.clone(), own.namespace.clone());
        let hubs = (settings.lease_hub.as_deref(), hub.as_ref());
        keep_leases(managed, hubs, &args.cluster_name, &mut tasks).await;
    }

    let first = Duration::from_secs(u64::from(args.evaluation_backoff.max(1)));
    let backoff = Backoff {
        first,
        longest: LONGEST_RETRY.max(first),
    };
    let queue = Queue::with_backoff(CONTROLLER, &controllers, backoff);
    let deps = ReconcilerDeps {
        hosting,
        target,
        hub,
        namespaces: settings.namespaces,
        terminating: settings.terminating,
        denied_functions: args.template_function_denylist.clone(),
        backoff: Duration::from_secs(u64::from(args.evaluation_backoff)),
        workers: usize::from(args.workers()),
        uninstall_watch,
        events,
        metrics: ours,
        registry: metrics,
    };
    start_reconciler(deps, &queue, &mut tasks)?;
    Ok(tasks.run().await?)
}

/// The checked settings from flags and environment.
struct Settings {
    /// The watched namespaces; one empty name is all of them.
    namespaces: Vec<String>,
    terminating: TerminatingInclusion,
    /// The own Deployment, in a cluster.
    pod: Option<ObjectKey>,
    /// The kubeconfig of the target cluster, in hosted mode.
    target: Option<PathBuf>,
    /// The kubeconfig of the hub whose objects hub templates may read.
    standalone_hub: Option<PathBuf>,
    /// The kubeconfig of the hub, where a lease is kept.
    lease_hub: Option<PathBuf>,
}

impl Settings {
    fn from_args(args: &ControllerArgs) -> Result<Self, Error> {
        let wrong = |text: &str| Err(Error::Settings(text.to_owned()));
        if args.workers() < 1 {
            return wrong(messages::NO_WORKERS);
        }
        let word = &args.default_terminating_namespace_inclusion;
        let Some(terminating) = TerminatingInclusion::parse(word) else {
            return Err(Error::Settings(messages::unknown_terminating_inclusion(
                word,
            )));
        };
        let given = args.watch_namespace.clone();
        let Some(namespace) = given.or_else(|| std::env::var("WATCH_NAMESPACE").ok()) else {
            return wrong(messages::WATCH_NAMESPACE_MISSING);
        };
        if namespace.contains(',') {
            return wrong(messages::SEVERAL_NAMESPACES);
        }
        let pod = match client::own_namespace() {
            Some(namespace) => Some(ObjectKey::new(namespace, deployment_name()?)),
            None => None,
        };
        if args.enable_operator_policy {
            tracing::warn!("{}", messages::OPERATOR_POLICY_UNSUPPORTED);
        }
        let file = |path: &str| (!path.is_empty()).then(|| PathBuf::from(path));
        let target = file(&args.target_kubeconfig_path);
        let mut namespaces = vec![namespace.clone()];
        // A hosting cluster keeps the policies of many clusters; that namespace is its own.
        let also = args.enable_ocm_policy_namespace && !namespace.is_empty() && target.is_none();
        if also && namespace != OCM_POLICY_NAMESPACE {
            namespaces.push(OCM_POLICY_NAMESPACE.to_owned());
        }
        Ok(Self {
            namespaces,
            terminating,
            pod,
            target,
            standalone_hub: file(&args.standalone_hub_templates_kubeconfig_path),
            lease_hub: file(&args.hub_kubeconfig_path).filter(|_| args.enable_lease),
        })
    }

    /// `/healthz` fails once the files of a connection have changed: the process is started again to use the new ones.
    fn probes(&self, uninstall_watch: &UninstallWatch) -> Result<Probes, Error> {
        let tracked = |path: &Path| {
            let unchanged = probes::unchanged_files(probes::kubeconfig_files(path));
            unchanged.map_err(|source| Error::Files {
                path: path.display().to_string(),
                source,
            })
        };
        let mut probes = Probes::default();
        if let Some(path) = &self.target {
            match tracked(path) {
                Ok(unchanged) => probes = probes.healthz("target kubeconfig", unchanged),
                // During an uninstallation the credentials of the target cluster may be gone.
                Err(_) if uninstall_watch.is_uninstalling() => {}
                Err(error) => return Err(error),
            }
        }
        // Upstream checks these two files for its leases only.
        if let Some(path) = &self.lease_hub {
            if let Some(path) = &self.standalone_hub {
                probes = probes.healthz("standalone hub kubeconfig", tracked(path)?);
            }
            if let Ok(unchanged) = tracked(path) {
                probes = probes.healthz("hub kubeconfig", unchanged);
            }
        }
        Ok(probes)
    }
}

fn deployment_name() -> Result<String, Error> {
    let name = std::env::var("OPERATOR_NAME").unwrap_or_default();
    if name.is_empty() {
        return Err(Error::Settings(messages::OPERATOR_NAME_MISSING.to_owned()));
    }
    Ok(name)
}

/// Connects to another cluster, with the rate limit of the first.
async fn connect_to(
    kubeconfig: &Path,
    options: &ClientOptions,
    fence: &Fence,
) -> Result<Client, ClientError> {
    let options = ClientOptions {
        kubeconfig: Some(kubeconfig.to_owned()),
        ..options.clone()
    };
    client::connect_fenced(&options, fence).await
}

/// The target cluster in hosted mode. While the add-on is being removed the cluster may be gone with its kubeconfig:
/// finalizers are removed all the same. If it is not being removed after all, the process starts again.
async fn target(
    kubeconfig: &Path,
    (options, fence): (&ClientOptions, &Fence),
    uninstall_watch: &UninstallWatch,
    tasks: &mut Supervisor,
) -> Result<ClusterClients, ClientError> {
    let error = match connect_to(kubeconfig, options, fence).await {
        Ok(calls) => {
            let watches = connect_to(kubeconfig, options, &Fence::default()).await?;
            return Ok(ClusterClients { calls, watches });
        }
        Err(error) => error,
    };
    if !uninstall_watch.is_uninstalling() {
        return Err(error);
    }
    tracing::warn!(%error, "the target cluster cannot be reached during an uninstallation");
    let (uninstall_watch, stop) = (uninstall_watch.clone(), tasks.stop());
    tasks.spawn_infallible("the uninstallation without a target cluster", async move {
        tokio::select! { () = stop.cancelled() => {}, () = uninstall_watch.wait_until_not_uninstalling() => {} }
    });
    let nobody = client::unavailable(&error.to_string());
    Ok(ClusterClients {
        calls: nobody.clone(),
        watches: nobody,
    })
}

fn serve(
    args: &ControllerArgs,
    (probes, tls): (Probes, TlsArgs),
    reviews: ReviewClients,
    metrics: Metrics,
    tasks: &mut Supervisor,
) -> Result<(), Error> {
    let options = MetricsOptions {
        address: args.metrics_bind_address,
        secure: args.secure_metrics,
        tls,
        reviews,
    };
    let health = args.health_probe_bind_address;
    Ok(serving::start(health, probes, options, metrics, tasks)?)
}

/// Keeps the add-ons' leases, on the cluster of this Pod or else on the hub.
async fn keep_leases(
    managed: (Client, String),
    (hub, standalone): (Option<&Path>, Option<&Hub>),
    cluster_name: &str,
    tasks: &mut Supervisor,
) {
    let options = ClientOptions {
        kubeconfig: hub.map(Path::to_owned),
        qps: 5.0,
        burst: 10,
        user_agent: USER_AGENT,
        in_process: InProcessServers::default(),
    };
    let hub = match hub {
        Some(_) => match client::connect(&options).await {
            Ok(hub) => Some((hub, cluster_name.to_owned())),
            Err(error) => {
                tracing::warn!(%error, "{}", messages::NO_HUB_FOR_LEASE);
                None
            }
        },
        None => None,
    };
    let deployment = deployment_name().ok();
    let mut leases = vec![AddonLease {
        name: ADDON,
        managed: managed.clone(),
        hub,
        deployment: deployment.clone(),
    }];
    if let Some(hub) = standalone {
        leases.push(AddonLease {
            name: STANDALONE_ADDON,
            managed,
            hub: Some((hub.client.clone(), hub.cluster_name.clone())),
            deployment,
        });
    }
    for lease in leases {
        tasks.spawn_infallible("the add-on lease", lease.run(|| true, tasks.stop()));
    }
}
