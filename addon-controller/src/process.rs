//! The process: what it connects to, what it waits for, and who works.

use std::fmt::Display;
use std::path::PathBuf;
use std::time::Duration;

use k8s_openapi::api::core::v1::ObjectReference;
use kube::Client;
use kube::api::{Api, DynamicObject};
use kube::core::{ApiResource, GroupVersionKind};
use reeve_runtime::CancellationToken;
use reeve_runtime::client::{self, ClientOptions, InProcessServers};
use reeve_runtime::decode::AnyDepth;
use reeve_runtime::events::EventRecorder;
use reeve_runtime::events::{EventBroadcaster, EventBroadcasterMetrics};
use reeve_runtime::fence::Fence;
use reeve_runtime::leader::{self, Election, LeaderError, LeaseTimings};
use reeve_runtime::metrics::{ControllerMetrics, Metrics};
use reeve_runtime::probes::Probes;
use reeve_runtime::queue::Queue;
use reeve_runtime::serving::{self, MetricsOptions, ReviewClients};
use reeve_runtime::supervisor::Supervisor;

use crate::approval::{self, Approval};
use crate::args::{self, Args};
use crate::deploy::{self, Installer};
use crate::error::Error;
use crate::registration::Grants;
use crate::world::{Queues, World};
use crate::{configs, messages};

/// The lease of the one that works.
const LEASE: &str = "governance-policy-addon-controller-lock";
const USER_AGENT: &str = concat!(
    "governance-policy-addon-controller/",
    env!("CARGO_PKG_VERSION")
);
/// How long between two looks at the files of `--terminate-on-files`.
const FILES: Duration = Duration::from_secs(10);

/// Runs until `stop`, or until something ends that must not.
pub async fn run(args: Args, stop: CancellationToken) -> Result<(), Error> {
    reeve_runtime::logging::start(&args.log)?;
    let outcome = supervise(args, stop).await;
    if let Err(error) = &outcome {
        let text = match error {
            Error::Client(_) => messages::NO_MANAGER,
            Error::Serve(_) | Error::LogLevel(_) => messages::NO_AGENT,
            Error::Leader(_) | Error::Task(_) => messages::PROBLEM,
        };
        tracing::error!(error = reeve_runtime::object::error_chain(error), "{text}");
    }
    outcome
}

async fn supervise(args: Args, stop: CancellationToken) -> Result<(), Error> {
    if !args.config.is_empty() {
        tracing::warn!("{}", messages::CONFIG_IGNORED);
    }
    let metrics = Metrics::default();
    let mut tasks = Supervisor::new(stop.clone());
    let options = ClientOptions {
        kubeconfig: args.kubeconfig.clone(),
        qps: args.client_max_qps,
        burst: args.client_burst,
        user_agent: USER_AGENT,
        in_process: InProcessServers::default(),
    };
    let fence = Fence::default();
    let client = client::connect_fenced(&options, &fence).await?;
    // What people read has a rate limit of its own and never delays an installation.
    let background = client::connect_fenced(&options, &fence).await?;
    let announced = EventBroadcasterMetrics::new(&metrics);
    let broadcaster = EventBroadcaster::start(background, announced, &mut tasks);
    let controllers = ControllerMetrics::new(&metrics);
    let queues = Queues {
        installations: Queue::new(deploy::CONTROLLER, &controllers),
        requests: Queue::new(approval::CONTROLLER, &controllers),
        definitions: Queue::new(configs::CONTROLLER, &controllers),
    };
    let (world, watches) = World::new(client.clone());
    let reviews = ReviewClients::connect(&options).await?;
    serve(&args, reviews, metrics, &mut tasks)?;
    if !args.terminate_on_files.is_empty() {
        let files = args.terminate_on_files.clone();
        let stop = stop.clone();
        tasks.spawn_infallible("the watch of files", async move {
            until_changed(&files, &stop).await;
            stop.cancel();
        });
    }
    let namespace = lease_namespace(&args).ok_or(LeaderError::NoNamespace)?;
    let election = Election {
        client: leader::connect(&options).await?,
        namespace: namespace.clone(),
        lease: LEASE,
        timings: lease_timings(&client).await,
        fence,
    };
    let Some(leadership) = leader::acquire(election, &stop).await? else {
        return Ok(tasks.run().await?);
    };
    tasks.lead(leadership);
    tracing::info!("{}", messages::STARTING);
    watches.start(&world, &queues, &mut tasks);
    let environment = args::environment(|name| std::env::var(name).ok());
    let events = |controller| EventRecorder::new(client.clone(), controller, broadcaster.clone());
    let grants = Grants::new(
        client.clone(),
        events("addon-registration"),
        own_pod(&namespace),
    );
    let installer = Installer::new(
        world.clone(),
        environment,
        grants,
        events(deploy::CONTROLLER),
    );
    let approvals = Approval::new(world.clone(), events(approval::CONTROLLER));
    let crew = Crew {
        workers: usize::from(args.concurrency),
        stop,
        world: world.clone(),
    };
    crew.start(
        &mut tasks,
        deploy::CONTROLLER,
        queues.installations,
        move |key| installer.clone().reconcile(key),
    );
    crew.start(
        &mut tasks,
        approval::CONTROLLER,
        queues.requests,
        move |name| approvals.clone().reconcile(name),
    );
    crew.start(
        &mut tasks,
        configs::CONTROLLER,
        queues.definitions,
        move |addon| configs::reconcile(world.clone(), addon),
    );
    Ok(tasks.run().await?)
}

fn lease_namespace(args: &Args) -> Option<String> {
    let asked = Some(args.namespace.clone()).filter(|name| !name.is_empty());
    asked.or_else(client::own_namespace)
}

/// This Pod, which events about the hub's roles are about.
fn own_pod(namespace: &str) -> Option<ObjectReference> {
    let name = std::env::var("POD_NAME").ok()?;
    (!name.is_empty()).then(|| ObjectReference {
        api_version: Some("v1".to_owned()),
        kind: Some("Pod".to_owned()),
        name: Some(name),
        namespace: Some(namespace.to_owned()),
        ..ObjectReference::default()
    })
}

fn serve(
    args: &Args,
    reviews: ReviewClients,
    metrics: Metrics,
    tasks: &mut Supervisor,
) -> Result<(), Error> {
    // Who waits for leadership is ready: a rolling update needs that.
    let probes = Probes::default();
    let options = MetricsOptions {
        address: args.metrics_bind_address,
        secure: args.secure_metrics,
        tls: args.tls.clone(),
        reviews,
    };
    let address = args.health_probe_bind_address;
    Ok(serving::start(address, probes, options, metrics, tasks)?)
}

/// Waits until one of the files is another than it was.
async fn until_changed(files: &[PathBuf], stop: &CancellationToken) {
    let content = |path: &PathBuf| std::fs::read(path).ok();
    let before: Vec<_> = files.iter().map(content).collect();
    loop {
        tokio::select! { () = stop.cancelled() => return, () = tokio::time::sleep(FILES) => {} }
        let mut both = files.iter().zip(&before);
        if let Some((path, _)) = both.find(|(path, before)| content(path) != **before) {
            tracing::info!("{}", messages::file_changed(&path.display().to_string()));
            return;
        }
    }
}

/// Those who work queues.
struct Crew {
    workers: usize,
    stop: CancellationToken,
    world: World,
}

impl Crew {
    /// Works a queue once the hub has been seen.
    fn start<K, F, Fut, E>(
        &self,
        tasks: &mut Supervisor,
        name: &'static str,
        queue: Queue<K>,
        work: F,
    ) where
        K: reeve_runtime::queue::Key,
        F: Fn(K) -> Fut + Send + 'static,
        Fut: Future<Output = Result<reeve_runtime::queue::Action, E>> + Send + 'static,
        E: Display + Send + 'static,
    {
        let (world, stop, workers) = (self.world.clone(), self.stop.clone(), self.workers);
        tasks.spawn_infallible(name, async move {
            tokio::select! {
                () = stop.cancelled() => return,
                () = world.wait_for_cache_sync() => {}
            }
            queue.run(workers, stop, work).await;
        });
    }
}

/// How long to wait for the API server's word on the hub's topology.
const TOPOLOGY: Duration = Duration::from_secs(10);

/// The periods of leader election: longer ones on OpenShift of a single node.
async fn lease_timings(client: &Client) -> LeaseTimings {
    let kind = GroupVersionKind::gvk("config.openshift.io", "v1", "Infrastructure");
    let resource = ApiResource::from_gvk_with_plural(&kind, "infrastructures");
    let all: Api<AnyDepth<DynamicObject>> = Api::all_with(client.clone(), &resource);
    let found = match tokio::time::timeout(TOPOLOGY, all.get_opt("cluster")).await {
        Ok(Ok(found)) => found,
        Ok(Err(error)) => {
            tracing::info!(%error, "cannot read the hub's topology, electing as on a hub of several nodes");
            None
        }
        Err(_) => None,
    };
    let topology = found.as_ref().and_then(|AnyDepth(found)| {
        let topology = found.data.pointer("/status/controlPlaneTopology");
        topology?.as_str()
    });
    if topology == Some("SingleReplica") {
        LeaseTimings::SINGLE_NODE
    } else {
        LeaseTimings::LIBRARY_GO
    }
}
