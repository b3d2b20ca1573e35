//! Wires the process: the client of the hub, servers, leader election, the watches and the reconcilers.

use std::path::PathBuf;
use std::time::Duration;

use futures::future::BoxFuture;
use k8s_openapi::api::core::v1::ObjectReference;
use kube::Client;
use kube::api::{Api, DynamicObject};
use kube::core::{ApiResource, GroupVersionKind};
use reeve_runtime::CancellationToken;
use reeve_runtime::client::{self, ClientOptions, InProcessServers};
use reeve_runtime::decode::AnyDepth;
use reeve_runtime::events::EventRecorder;
use reeve_runtime::leader::{LeaderError, LeaseTimings};
use reeve_runtime::manager::{LeaderElection, Manager, ManagerError, Role, ServerOptions};

use crate::addon::Addon;
use crate::addon_csr_approval::{self, Approval};
use crate::addon_deploy::{self, Installer};
use crate::args::{self, Args};
use crate::caches::Caches;
use crate::queues::Queues;
use crate::registration::Grants;
use crate::{cma_config, messages};

/// The leader's lease.
const LEASE: &str = "governance-policy-addon-controller-lock";
const USER_AGENT: &str = concat!(
    "governance-policy-addon-controller/",
    env!("CARGO_PKG_VERSION")
);
/// The interval between two checks of the files of `--terminate-on-files`.
const FILES: Duration = Duration::from_secs(10);

/// Runs the controller until `stop`, or until one of its tasks fails.
pub fn run(args: Args, stop: CancellationToken) -> BoxFuture<'static, Result<(), ManagerError>> {
    Box::pin(async move {
        let manager = Manager::with_logging(&args.log, &InProcessServers::default(), stop)?;
        let outcome = start(&args, manager).await;
        if let Err(error) = &outcome {
            let text = match error {
                ManagerError::Client(_) => messages::NO_MANAGER,
                ManagerError::Serve(_) | ManagerError::Logging(_) => messages::NO_AGENT,
                ManagerError::Leader(_) | ManagerError::Task(_) => messages::PROBLEM,
            };
            tracing::error!(error = reeve_runtime::object::error_chain(error), "{text}");
        }
        outcome
    })
}

async fn start(args: &Args, mut manager: Manager) -> Result<(), ManagerError> {
    if !args.config.is_empty() {
        tracing::warn!("{}", messages::CONFIG_IGNORED);
    }
    let options = ClientOptions {
        kubeconfig: args.kubeconfig.clone(),
        qps: args.client_max_qps,
        burst: args.client_burst,
        user_agent: USER_AGENT,
        in_process: InProcessServers::default(),
    };
    let client = manager.client(&options).await?;
    let broadcaster = manager.event_broadcaster(&options).await?;
    let queues = Queues {
        installations: manager.queue(addon_deploy::CONTROLLER),
        requests: manager.queue(addon_csr_approval::CONTROLLER),
        definitions: manager.queue(cma_config::CONTROLLER),
    };
    let (caches, watches) = Caches::new(client.clone());
    // No readiness check: a standby is ready, which a rolling update needs.
    let servers = ServerOptions {
        health: args.health_probe_bind_address,
        metrics: args.metrics_bind_address,
        secure_metrics: args.secure_metrics,
        tls: args.tls.clone(),
        reviews: &options,
    };
    manager.serve(servers).await?;
    if !args.terminate_on_files.is_empty() {
        let (files, stop) = (args.terminate_on_files.clone(), manager.stop());
        manager
            .tasks()
            .spawn_infallible("the watch of files", async move {
                until_changed(&files, &stop).await;
                stop.cancel();
            });
    }
    let namespace = lease_namespace(args).ok_or(LeaderError::NoNamespace)?;
    let election = LeaderElection {
        options: &options,
        namespace: Some(namespace.clone()),
        lease: LEASE,
        timings: lease_timings(&client).await,
    };
    if manager.elect(election).await? == Role::Stopped {
        return manager.run().await;
    }
    tracing::info!("{}", messages::STARTING);
    watches.start(&caches, &queues, manager.tasks());
    let environment = args::environment(|name| std::env::var(name).ok());
    let recorder = |controller| EventRecorder::new(client.clone(), controller, broadcaster.clone());
    let events = recorder("addon-registration");
    let grants = Grants::new(client.clone(), events, own_pod(&namespace));
    let events = recorder(addon_deploy::CONTROLLER);
    let installer = Installer::new(caches.clone(), environment, grants.clone(), events);
    let approvals = Approval::new(caches.clone(), recorder(addon_csr_approval::CONTROLLER));

    let workers = usize::from(args.concurrency);
    let synced = || {
        let caches = caches.clone();
        async move { caches.wait_for_cache_sync().await }
    };
    manager.spawn_workers(queues.installations, workers, synced(), move |key| {
        installer.clone().reconcile(key)
    });
    manager.spawn_workers(queues.requests, workers, synced(), move |name| {
        approvals.clone().reconcile(name)
    });
    // Add-ons may have gone while no controller was running.
    for addon in Addon::ALL {
        queues.definitions.add(addon);
    }
    let (synced, caches) = (synced(), caches.clone());
    manager.spawn_workers(queues.definitions, workers, synced, move |addon| {
        cma_config::reconcile(caches.clone(), grants.clone(), addon)
    });
    manager.run().await
}

fn lease_namespace(args: &Args) -> Option<String> {
    let requested = Some(args.namespace.clone()).filter(|name| !name.is_empty());
    requested.or_else(client::own_namespace)
}

/// A reference to this Pod, for events about the hub's roles.
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

/// Waits until one of the files changes.
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

/// How long to wait for the hub's topology from the API server.
const TOPOLOGY: Duration = Duration::from_secs(10);

/// The periods of leader election: longer ones on OpenShift with a single node.
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
