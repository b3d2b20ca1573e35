//! Wires the process: clients of the clusters, servers, leases, the watches and the reconciler.

mod constraints;
mod operator_policies;
mod prefetch;
mod reconcilers;
mod settings;
mod shared_watches;
mod trigger_uninstall;
mod watches;

use std::path::Path;
use std::time::Duration;

use futures::future::BoxFuture;
use kube::Client;
use reeve_runtime::CancellationToken;
use reeve_runtime::addon_lease::AddonLease;
use reeve_runtime::client::{self, ClientOptions, InProcessServers};
use reeve_runtime::dependencies::DependencyGauges;
use reeve_runtime::events::EventRecorder;
use reeve_runtime::leader::LeaseTimings;
use reeve_runtime::manager::{LeaderElection, Manager, ManagerError, Role, ServerOptions};
use reeve_runtime::object::ObjectKey;
use reeve_runtime::queue::{Backoff, flow};
use reeve_runtime::serving;
use reeve_runtime::supervisor::Supervisor;

use crate::args::{Args, Command, ControllerArgs};
use crate::error::Error;
use crate::hub_templates::Hub;
use crate::messages;
use crate::metrics::PolicyMetrics;
use crate::operator_policy;
use crate::uninstall::UninstallWatch;
pub use operator_policies::OperatorPolicies;
pub use reconcilers::start_reconcilers;
use settings::{Settings, deployment_name};
pub use watches::{ClusterClients, ReconcilerDeps};

const LEASE: &str = "config-policy-controller.open-cluster-management.io";
const ADDON: &str = "config-policy-controller";
/// The add-on that lets hub templates be resolved here.
const STANDALONE_ADDON: &str = "governance-standalone-hub-templating";
/// Reports that the status of an `OperatorPolicy` keeps, where the flag is 0.
const DEFAULT_HISTORY: usize = 10;
const USER_AGENT: &str = "config-policy-controller";
const CONTROLLER: &str = "configuration-policy-controller";
/// Its events are those of [`CONTROLLER`].
const OPERATOR_POLICY_CONTROLLER: &str = "operator-policy-controller";
/// The longest backoff of a policy that fails. Upstream retries after every evaluation backoff.
const LONGEST_RETRY: Duration = Duration::from_secs(10);

/// Runs the controller until `stop`, or until one of its tasks fails; a sub-command until it is done.
pub fn run(args: Args, stop: CancellationToken) -> BoxFuture<'static, Result<(), Error>> {
    Box::pin(async move {
        match args.command {
            Some(Command::Controller(args)) => {
                // Boxed: what the start needs is freed when it is over.
                let manager = Box::pin(start_controller(*args, stop)).await?;
                Ok(manager.run().await?)
            }
            Some(Command::TriggerUninstall(args)) => {
                Box::pin(trigger_uninstall::run(*args, stop)).await
            }
            Some(Command::Unknown(_)) | None => Err(Error::Subcommand),
        }
    })
}

/// Starts all tasks, once this process leads. A process that is stopped before reconciles nothing.
async fn start_controller(args: ControllerArgs, stop: CancellationToken) -> Result<Manager, Error> {
    let mut manager = Manager::with_logging(&args.log, &args.in_process, stop)?;
    let settings = Settings::from_args(&args)?;
    let options = ClientOptions {
        kubeconfig: args.kubeconfig.clone(),
        qps: args.qps(),
        burst: args.burst(),
        user_agent: USER_AGENT,
        in_process: args.in_process.clone(),
    };
    let client = manager.client(&options).await?;
    let hub = match &settings.standalone_hub {
        Some(path) => Some(Hub {
            client: manager.client(&with_kubeconfig(&options, path)).await?,
            cluster_name: args.cluster_name.clone(),
        }),
        None => None,
    };
    let metrics = PolicyMetrics::new(manager.metrics());
    let broadcaster = manager.event_broadcaster(&options).await?;
    let events = EventRecorder::new(client.clone(), CONTROLLER, broadcaster);
    let namespace = settings.pod.as_ref().map(|own| own.namespace.as_str());
    let tls = serving::tls_settings(&args.tls, &client, namespace, manager.tasks()).await?;
    let uninstall_watch =
        UninstallWatch::start(&client, settings.pod.clone(), manager.tasks()).await;
    let hosting = ClusterClients {
        calls: client.clone(),
        watches: manager.watch_client(&options).await?,
    };
    let target = match &settings.target {
        Some(path) => {
            let options = with_kubeconfig(&options, path);
            target(&options, &uninstall_watch, &mut manager).await?
        }
        // A rate limit of its own: the repair of an object does not wait behind statuses and events.
        None => ClusterClients {
            calls: manager.client(&options).await?,
            watches: hosting.watches.clone(),
        },
    };
    settings.add_health_checks(&mut manager, &uninstall_watch)?;
    let servers = ServerOptions {
        health: args.health_probe_bind_address,
        metrics: args.metrics_bind_address,
        secure_metrics: args.secure_metrics,
        tls,
        reviews: &options,
    };
    manager.serve(servers).await?;
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
    if let (true, Some(own)) = (args.enable_lease, &settings.pod) {
        let own_cluster = (client, own.namespace.clone());
        let hubs = (settings.lease_hub.as_deref(), hub.as_ref());
        keep_leases(own_cluster, hubs, &args.cluster_name, manager.tasks()).await;
    }
    let first = Duration::from_secs(u64::from(args.evaluation_backoff.max(1)));
    let backoff = Backoff {
        first,
        longest: LONGEST_RETRY.max(first),
    };
    constraints::start(&args, (&options, settings.target.as_deref()), &mut manager).await?;
    let queue = manager
        .queue_with_backoff(CONTROLLER, backoff)
        // Policies that take long leave workers to the others.
        .with_flows(|policy: &ObjectKey| flow(policy));
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
        metrics,
        gauges: DependencyGauges::register(manager.metrics()),
    };
    let operator_policies = args.enable_operator_policy.then(|| OperatorPolicies {
        queue: manager.queue(OPERATOR_POLICY_CONTROLLER),
        settings: operator_policy_settings(&args),
    });
    start_reconcilers(deps, &queue, operator_policies, manager.tasks())?;
    Ok(manager)
}

fn operator_policy_settings(args: &ControllerArgs) -> operator_policy::Settings {
    let history = usize::from(args.operator_policy_status_history_length);
    operator_policy::Settings {
        default_namespace: args.operator_policy_default_namespace.clone(),
        history_length: if history == 0 {
            DEFAULT_HISTORY
        } else {
            history
        },
    }
}

/// The options for another cluster, with the rate limit of the first.
fn with_kubeconfig(options: &ClientOptions, kubeconfig: &Path) -> ClientOptions {
    ClientOptions {
        kubeconfig: Some(kubeconfig.to_owned()),
        ..options.clone()
    }
}

/// The target cluster in hosted mode. While the add-on is being removed the cluster may be gone with its kubeconfig:
/// finalizers are removed all the same. If it is not being removed after all, the process starts again.
async fn target(
    options: &ClientOptions,
    uninstall_watch: &UninstallWatch,
    manager: &mut Manager,
) -> Result<ClusterClients, ManagerError> {
    let error = match manager.client(options).await {
        Ok(calls) => {
            let watches = manager.watch_client(options).await?;
            return Ok(ClusterClients { calls, watches });
        }
        Err(error) => error,
    };
    if !uninstall_watch.is_uninstalling() {
        return Err(error);
    }
    tracing::warn!(%error, "the target cluster cannot be reached during an uninstallation");
    let (uninstall_watch, stop) = (uninstall_watch.clone(), manager.stop());
    let task = "the uninstallation without a target cluster";
    manager.tasks().spawn_infallible(task, async move {
        tokio::select! { () = stop.cancelled() => {}, () = uninstall_watch.wait_until_not_uninstalling() => {} }
    });
    let unavailable = client::unavailable(&error.to_string());
    Ok(ClusterClients {
        calls: unavailable.clone(),
        watches: unavailable,
    })
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
