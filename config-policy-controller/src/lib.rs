//! Evaluates `ConfigurationPolicy` objects on the managed cluster.
//!
//! The modules in the order of the calls:
//!
//! - [`args`] are the flags; [`run`] checks and wires; [`error`] is what can go wrong.
//! - [`wake`] says, for each change of a policy, whether it asks for a turn; [`throttle`] spaces the turns that
//!   changes of other objects ask for.
//! - [`controller`] is one policy's turn and calls all that follows; [`schedule`] says whether the turn is due and
//!   when the next one is; [`spec`] reads what the policy asks for.
//! - [`evaluate`] is what `controller` hands the templates to. For each object it lets [`observe`] read the cluster
//!   ([`namespaces`] chooses namespaces for it), asks [`memory`] what it knows of the object, and drives [`decide`]:
//!   `decide::first` gives a step, [`act`] carries it out, the matching `decide::after_…` takes the answer and gives
//!   the next step, until one is done.
//! - [`decide`] is pure; it uses [`compare`] for what differs and [`diff`] to show it.
//! - [`report`] is what an evaluation found, object by object; [`batches`] puts these findings into the order in which
//!   `controller` tells them, with the words of [`status_text`].
//! - [`status`] records such a verdict in the policy's status; [`publish`] writes the status and the events.
//! - [`messages`] has every text a user can see, [`metrics`] what is counted.

pub mod act;
pub mod args;
pub mod batches;
pub mod compare;
pub mod controller;
pub mod decide;
pub mod diff;
pub mod error;
pub mod evaluate;
pub mod memory;
pub mod messages;
pub mod metrics;
pub mod namespaces;
pub mod observe;
pub mod publish;
pub mod report;
pub mod schedule;
pub mod spec;
pub mod status;
pub mod status_text;
pub mod throttle;
pub mod wake;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use kube::api::Api;
use kube::core::DeserializeGuard;
use parking_lot::Mutex;
use reeve_api::configuration_policy::ConfigurationPolicy;
use reeve_runtime::CancellationToken;
use reeve_runtime::announcements::{AnnouncementMetrics, Announcements};
use reeve_runtime::client::{self, ClientOptions};
use reeve_runtime::dependencies::DependencyWatches;
use reeve_runtime::discovery::Discovery;
use reeve_runtime::events::EventWriter;
use reeve_runtime::leader::{self, LeaderError};
use reeve_runtime::lease::AddonLease;
use reeve_runtime::metrics::{ControllerMetrics, Metrics};
use reeve_runtime::object::ObjectKey;
use reeve_runtime::probes::{self, Probes};
use reeve_runtime::queue::{Backoff, Queue};
use reeve_runtime::serving::{self, MetricsOptions};
use reeve_runtime::supervisor::Supervisor;
use reeve_runtime::watch::{Store, Watch};

pub use args::{Args, Command, ControllerArgs};
pub use error::Error;

use controller::Controller;
use evaluate::Evaluator;
use memory::Memories;
use metrics::PolicyMetrics;
use namespaces::Terminating;
use publish::Publisher;
use spec::HubTemplates;
use throttle::Throttle;

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
    let publisher = Publisher::new(client.clone(), events, ours.clone());
    start(
        &args,
        &settings,
        &client,
        (publisher, ours),
        &queue,
        &mut tasks,
    );
    Ok(tasks.run().await?)
}

/// Starts the watches of policies and the workers.
fn start(
    args: &ControllerArgs,
    settings: &Settings,
    client: &Client,
    (publisher, metrics): (Publisher, PolicyMetrics),
    queue: &Queue<ObjectKey>,
    tasks: &mut Supervisor,
) {
    let policies: Vec<Watch<ConfigurationPolicy>> = settings
        .namespaces
        .iter()
        .map(|namespace| Watch::new(policies_in(client, namespace)))
        .collect();
    let stores: Vec<Store<ConfigurationPolicy>> = policies.iter().map(Watch::store).collect();
    let throttle = Arc::new(Throttle::new(Duration::from_secs(u64::from(
        args.evaluation_backoff,
    ))));
    let watches = {
        let (queue, throttle) = (queue.clone(), Arc::clone(&throttle));
        DependencyWatches::new(client.clone(), move |policy: &ObjectKey| {
            let wait = throttle.wait(policy, tokio::time::Instant::now());
            if wait.is_zero() {
                queue.add(policy.clone());
            } else {
                queue.add_after(policy.clone(), wait);
            }
        })
    };
    let controller = Arc::new(Controller {
        policies: stores.clone(),
        watches,
        discovery: Discovery::new(client.clone()),
        publisher,
        evaluator: Evaluator {
            client: client.clone(),
            memories: Memories::default(),
            metrics,
            terminating: settings.terminating,
        },
        throttle,
        hub: settings.hub,
        selections: Mutex::default(),
    });
    for watch in policies {
        let (controller, queue) = (Arc::clone(&controller), queue.clone());
        tasks.spawn_infallible(
            "the watch of policies",
            watch.run(tasks.stop(), move |change| {
                if controller.noticed(&change) {
                    queue.add(change.key);
                }
            }),
        );
    }
    let (queue, stop, workers) = (queue.clone(), tasks.stop(), usize::from(args.workers()));
    tasks.spawn_infallible("configuration policies", async move {
        for store in &stores {
            // Before the first list is complete, absence means nothing.
            tokio::select! { () = stop.cancelled() => return, () = store.ready() => {} }
            let uids = store.collect(|_, policy| policy.metadata.uid.clone());
            controller.publisher.inherit(uids);
        }
        queue
            .run(workers, stop, move |key| {
                Arc::clone(&controller).reconcile(key)
            })
            .await;
    });
}

fn policies_in(client: &Client, namespace: &str) -> Api<DeserializeGuard<ConfigurationPolicy>> {
    if namespace.is_empty() {
        Api::all(client.clone())
    } else {
        Api::namespaced(client.clone(), namespace)
    }
}

/// What flags and environment say, once they are known to make sense.
struct Settings {
    /// Where policies are looked for; one empty name is everywhere.
    namespaces: Vec<String>,
    terminating: Terminating,
    hub: HubTemplates,
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
        let hub = if args.standalone_hub_templates_kubeconfig_path.is_empty() {
            HubTemplates::Unavailable
        } else {
            HubTemplates::Configured
        };
        Ok(Self {
            namespaces,
            terminating,
            hub,
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
