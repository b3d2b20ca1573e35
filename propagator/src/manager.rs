//! Wires the process: clients, the watches that fill the cache, servers, leader election, and the reconcilers.

use std::sync::Arc;

use kube::Client;
use reeve_runtime::CancellationToken;
use reeve_runtime::client::ClientOptions;
use reeve_runtime::dependencies::DependencyWatches;
use reeve_runtime::events::{EventBroadcaster, EventRecorder};
use reeve_runtime::kinds::Kinds;
use reeve_runtime::leader::LeaseTimings;
use reeve_runtime::manager::{LeaderElection, Manager, Role, ServerOptions};
use reeve_runtime::object::ObjectKey;
use reeve_runtime::probes::Check;
use reeve_runtime::queue::{Action, Key, Queue};
use reeve_runtime::serving;

use crate::args::{Args, Rates};
use crate::cache::{HubCache, Watches};
use crate::confirmation::DeletionConfirmer;
use crate::error::Error;
use crate::hub_templates::accounts::{Accounts, TokenSchedule};
use crate::hub_templates::{Deps, HubTemplates};
use crate::metrics::PropagatorMetrics;
use crate::policy_automation::PolicyAutomationReconciler;
use crate::policy_encryption_keys::EncryptionKeysReconciler;
use crate::policy_set::PolicySetReconciler;
use crate::queues::Queues;
use crate::replicated_policy::ReplicatedPolicyReconciler;
use crate::root_policy_status::RootPolicyStatusReconciler;
use crate::settings::{self, Settings};
use crate::webhooks::Webhooks;

const LEASE: &str = "policy-propagator.open-cluster-management.io";
const USER_AGENT: &str = "governance-policy-propagator";
/// The reporting controllers of events, which differ from the names of the queues.
const CONTROLLER: &str = "policy-propagator";
const SETS_CONTROLLER: &str = "policy-set";

/// Runs the propagator until `stop`, or until one of its tasks fails.
pub async fn run(args: Args, stop: CancellationToken) -> Result<(), Error> {
    // Boxed: the future is large, and every caller would hold it.
    Box::pin(start(args, stop)).await
}

async fn start(args: Args, stop: CancellationToken) -> Result<(), Error> {
    let mut manager = Manager::with_logging(&args.log, &args.in_process, stop)?;
    let settings = Settings::new(&args)?;
    let rates = Rates::from_environment();
    let options = ClientOptions {
        kubeconfig: args.kubeconfig.clone(),
        qps: rates.qps,
        burst: rates.burst,
        user_agent: USER_AGENT,
        in_process: args.in_process.clone(),
    };
    let client = manager.client(&options).await?;
    let watch_client = manager.watch_client(&options).await?;
    let metrics = settings::metrics(manager.metrics(), &settings);
    let queues = Queues::new(&manager);
    let rules = settings::placement_rules(&client, settings.placement_rules).await?;
    let watches = Watches::new(&watch_client, rules);
    let cache = HubCache::new(
        &watches,
        queues.clone(),
        metrics.clone(),
        settings.namespaces,
    );
    let cache = Arc::new(cache);
    let reconcilers = Reconcilers {
        templates: hub_templates(
            &args,
            &cache,
            (&client, &watch_client, &options),
            &mut manager,
        )?,
        broadcaster: manager.event_broadcaster(&options).await?,
        cache: Arc::clone(&cache),
        client: client.clone(),
        metrics,
        queues,
    };

    manager.add_readyz_check("watches", has_synced(&cache));
    let tls = serving::openshift_tls_settings(&args.tls, &client, manager.tasks()).await;
    if args.enable_webhooks {
        let webhooks = Webhooks {
            port: args.webhook_port,
            certificate: &args.webhook_cert_dir,
            tls: &tls.tls,
        };
        webhooks.start(manager.tasks())?;
    }
    let servers = ServerOptions {
        health: args.health_probe_bind_address,
        metrics: args.metrics_bind_address,
        secure_metrics: args.secure_metrics,
        tls: tls.tls,
        reviews: &options,
    };
    manager.serve(servers).await?;
    // A standby watches too: it is ready to take over, and its probes answer so.
    watches.start(&cache, manager.tasks());
    if args.leader_elect {
        let election = LeaderElection {
            options: &options,
            namespace: args.leader_election_namespace.clone(),
            lease: LEASE,
            timings: LeaseTimings::CONTROLLER_RUNTIME,
        };
        if manager.elect(election).await? == Role::Stopped {
            return Ok(manager.run().await?);
        }
    }
    reconcilers.start(&args, &mut manager);
    Ok(manager.run().await?)
}

/// The readiness check: the caches have synced, on the leader or a standby.
fn has_synced(cache: &Arc<HubCache>) -> Check {
    let cache = Arc::clone(cache);
    Arc::new(move || {
        if cache.has_synced() {
            Ok(())
        } else {
            Err("the watches are not synced".to_owned())
        }
    })
}

/// Builds the resolver of hub templates, and starts the watches of kinds.
fn hub_templates(
    args: &Args,
    cache: &Arc<HubCache>,
    (client, watch_client, options): (&Client, &Client, &ClientOptions),
    manager: &mut Manager,
) -> Result<HubTemplates, Error> {
    let enqueue = || {
        let cache = Arc::clone(cache);
        move |replica: &ObjectKey| cache.enqueue_replica(replica)
    };
    let (kinds, watches) = Kinds::new(watch_client.clone(), enqueue());
    watches.start(manager.tasks());
    let schedule = TokenSchedule::default();
    let dependencies = || {
        DependencyWatches::new(watch_client.clone(), enqueue())
            .without_refusal_wakeups()
            .with_refusal_ttl(schedule.retry_interval)
    };
    let templates = HubTemplates::new(Deps {
        denied: args.template_function_denylist.clone(),
        hub: Arc::clone(cache),
        client: client.clone(),
        kinds,
        own_watches: dependencies(),
        missing_accounts: dependencies(),
        accounts: Accounts::new(client.clone(), options.clone(), schedule, enqueue()),
    })?;
    templates.register(manager.metrics());
    Ok(templates)
}

/// The reconcilers, which only the leader runs, and their dependencies.
struct Reconcilers {
    client: Client,
    cache: Arc<HubCache>,
    queues: Queues,
    templates: HubTemplates,
    broadcaster: EventBroadcaster,
    metrics: PropagatorMetrics,
}

impl Reconcilers {
    fn start(self, args: &Args, manager: &mut Manager) {
        let client = || self.client.clone();
        let cache = || Arc::clone(&self.cache);
        let recorder =
            |controller| EventRecorder::new(client(), controller, self.broadcaster.clone());
        // Both reconcilers share it, because they ask the API server about the same root policies.
        let confirmer = DeletionConfirmer::new(client(), cache());
        let events = recorder(CONTROLLER);
        let replicas = ReplicatedPolicyReconciler::new(
            client(),
            cache(),
            confirmer.clone(),
            self.templates.clone(),
            events.clone(),
            self.metrics.clone(),
        );
        let metrics = self.metrics.clone();
        let roots = RootPolicyStatusReconciler::new(client(), cache(), confirmer, events, metrics);
        let sets = PolicySetReconciler::new(client(), cache(), recorder(SETS_CONTROLLER));
        let keys = EncryptionKeysReconciler::new(client(), cache(), args.encryption_key_rotation);
        let automations = PolicyAutomationReconciler::new(client(), cache());

        let workers = args.replicated_policy_max_concurrency;
        self.spawn(manager, &self.queues.replicas, workers, move |key| {
            replicas.clone().reconcile(key)
        });
        let workers = args.policy_status_max_concurrency;
        self.spawn(manager, &self.queues.roots, workers, move |root| {
            roots.clone().reconcile(root)
        });
        self.spawn(manager, &self.queues.sets, 1, move |key| {
            sets.clone().reconcile(key)
        });
        let workers = args.key_rotation_max_concurrency;
        self.spawn(manager, &self.queues.keys, workers, move |key| {
            keys.clone().reconcile(key)
        });
        self.spawn(manager, &self.queues.automations, 1, move |key| {
            automations.clone().reconcile(key)
        });
    }

    fn spawn<K, F, Fut, E>(&self, manager: &mut Manager, queue: &Queue<K>, count: u16, reconcile: F)
    where
        K: Key,
        F: Fn(K) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Action, E>> + Send + 'static,
        E: std::fmt::Display + Send + 'static,
    {
        let cache = Arc::clone(&self.cache);
        let synced = async move { cache.wait_for_cache_sync().await };
        manager.spawn_workers(queue.clone(), usize::from(count.max(1)), synced, reconcile);
    }
}
