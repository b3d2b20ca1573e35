//! The process around the controller: flags, clients, servers, leases.

use std::path::Path;
use std::time::Duration;

use kube::Client;
use reeve_runtime::CancellationToken;
use reeve_runtime::announcements::{AnnouncementMetrics, Announcements};
use reeve_runtime::client::{self, ClientOptions};
use reeve_runtime::events::EventWriter;
use reeve_runtime::leader::{self, LeaderError};
use reeve_runtime::lease::AddonLease;
use reeve_runtime::metrics::{ControllerMetrics, Metrics};
use reeve_runtime::probes::{self, Probes};
use reeve_runtime::queue::{Backoff, Queue};
use reeve_runtime::serving::{self, MetricsOptions};
use reeve_runtime::supervisor::Supervisor;

use crate::args::{Args, Command, ControllerArgs};
use crate::cleanup::Cleanup;
use crate::error::Error;
use crate::messages;
use crate::metrics::PolicyMetrics;
use crate::namespaces::Terminating;
use crate::wiring::{self, Surroundings};

const LEASE: &str = "config-policy-controller.open-cluster-management.io";
const ADDON: &str = "config-policy-controller";
const CONTROLLER: &str = "configuration-policy-controller";
/// Where policies may be kept that came from no hub.
const OCM_POLICY_NAMESPACE: &str = "open-cluster-management-policies";
/// The longest time between two tries of something that fails.
const LONGEST_RETRY: Duration = Duration::from_mins(1);

/// Runs until `stop`, or until something ends that must not.
pub async fn run(args: Args, stop: CancellationToken) -> Result<(), Error> {
    let args = match args.command {
        Some(Command::Controller(args)) => *args,
        Some(Command::TriggerUninstall { .. }) => return Err(Error::TriggerUninstall),
        Some(Command::Unknown(_)) | None => return Err(Error::Subcommand),
    };
    reeve_runtime::logging::start(&args.log)?;
    let settings = Settings::check(&args)?;
    let options = ClientOptions {
        kubeconfig: args.kubeconfig.clone(),
        qps: args.qps(),
        burst: args.burst(),
        user_agent: "config-policy-controller",
    };
    let client = client::connect(&options).await?;

    let metrics = Metrics::default();
    let controllers = ControllerMetrics::new(&metrics);
    let ours = PolicyMetrics::new(&metrics);
    let mut tasks = Supervisor::new(stop.clone());
    // What people read has a rate limit of its own and never delays a verdict.
    let background = client::connect(&options).await?;
    let counted = AnnouncementMetrics::new(&metrics);
    let announcements = Announcements::start(background, counted, &mut tasks);
    let events = EventWriter::new(client.clone(), CONTROLLER, announcements);
    serve(&args, &client, metrics, &mut tasks)?;
    if args.leader_elect {
        let namespace = client::own_namespace().ok_or(LeaderError::NoNamespace)?;
        let Some(leadership) = leader::acquire(client.clone(), &namespace, LEASE, &stop).await?
        else {
            return Ok(tasks.run().await?);
        };
        tasks.spawn("leader election", leadership.keep(stop.clone()));
    }
    if args.enable_lease {
        keep_lease(&args, &client, &mut tasks).await;
    }

    let first = Duration::from_secs(u64::from(args.evaluation_backoff.max(1)));
    let backoff = Backoff {
        first,
        longest: LONGEST_RETRY.max(first),
    };
    let queue = Queue::with_backoff(CONTROLLER, &controllers, backoff);
    let around = Surroundings {
        hosting: client.clone(),
        target: client,
        hub: None,
        namespaces: settings.namespaces,
        terminating: settings.terminating,
        denied_functions: args.template_function_denylist.clone(),
        backoff: Duration::from_secs(u64::from(args.evaluation_backoff)),
        workers: usize::from(args.workers()),
        cleanup: Cleanup::default(),
        events,
        metrics: ours,
    };
    wiring::start(around, &queue, &mut tasks)?;
    Ok(tasks.run().await?)
}

/// What flags and environment say, once they are known to make sense.
struct Settings {
    /// Where policies are looked for; one empty name is everywhere.
    namespaces: Vec<String>,
    terminating: Terminating,
}

impl Settings {
    fn check(args: &ControllerArgs) -> Result<Self, Error> {
        let wrong = |text: &str| Err(Error::Settings(text.to_owned()));
        if args.workers() < 1 {
            return wrong(messages::NO_WORKERS);
        }
        let word = &args.default_terminating_namespace_inclusion;
        let Some(terminating) = Terminating::parse(word) else {
            return Err(Error::Settings(messages::unknown_terminating_inclusion(
                word,
            )));
        };
        if !args.target_kubeconfig_path.is_empty() {
            return wrong(messages::HOSTED_UNSUPPORTED);
        }
        let Ok(namespace) = std::env::var("WATCH_NAMESPACE") else {
            return wrong(messages::WATCH_NAMESPACE_MISSING);
        };
        if namespace.contains(',') {
            return wrong(messages::SEVERAL_NAMESPACES);
        }
        if args.enable_operator_policy {
            tracing::warn!("{}", messages::OPERATOR_POLICY_UNSUPPORTED);
        }
        let mut namespaces = vec![namespace.clone()];
        let also = args.enable_ocm_policy_namespace && !namespace.is_empty();
        if also && namespace != OCM_POLICY_NAMESPACE {
            namespaces.push(OCM_POLICY_NAMESPACE.to_owned());
        }
        Ok(Self {
            namespaces,
            terminating,
        })
    }
}

fn serve(
    args: &ControllerArgs,
    client: &Client,
    metrics: Metrics,
    tasks: &mut Supervisor,
) -> Result<(), Error> {
    let mut probes = Probes::default();
    let hub = Path::new(&args.hub_kubeconfig_path);
    if args.enable_lease
        && let Ok(unchanged) = probes::unchanged_files(probes::kubeconfig_files(hub))
    {
        probes = probes.healthy("hub kubeconfig", unchanged);
    }
    let options = MetricsOptions {
        address: args.metrics_bind_address,
        secure: args.secure_metrics,
        tls: args.tls.clone(),
        client: client.clone(),
    };
    let health = args.health_probe_bind_address;
    Ok(serving::start(health, probes, options, metrics, tasks)?)
}

/// Keeps the add-on's lease, here or on the hub. Outside a cluster there is none.
async fn keep_lease(args: &ControllerArgs, client: &Client, tasks: &mut Supervisor) {
    let Some(namespace) = client::own_namespace() else {
        return;
    };
    let options = ClientOptions {
        kubeconfig: Some(args.hub_kubeconfig_path.clone().into()),
        qps: 5.0,
        burst: 10,
        user_agent: "config-policy-controller",
    };
    let hub = match client::connect(&options).await {
        Ok(hub) => Some((hub, args.cluster_name.clone())),
        Err(error) => {
            tracing::warn!(%error, "Could not load hub config, lease updater not set with config");
            None
        }
    };
    let lease = AddonLease {
        name: ADDON,
        managed: (client.clone(), namespace),
        hub,
    };
    tasks.spawn_infallible("the add-on lease", lease.run(|| true, tasks.stop()));
}
