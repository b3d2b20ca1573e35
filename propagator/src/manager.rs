//! Wires the process: clients, the watches that fill the cache, servers, leader election, and the reconcilers.

use std::sync::Arc;

use futures::future::BoxFuture;
use kube::Client;
use reeve_runtime::CancellationToken;
use reeve_runtime::client::ClientOptions;
use reeve_runtime::dependencies::DependencyWatches;
use reeve_runtime::events::{EventBroadcaster, EventRecorder};
use reeve_runtime::kinds::Kinds;
use reeve_runtime::leader::LeaseTimings;
use reeve_runtime::leader::shards::Ownership;
use reeve_runtime::manager::{LeaderElection, Manager, Role, ServerOptions, Shards};
use reeve_runtime::object::ObjectKey;
use reeve_runtime::probes::Check;
use reeve_runtime::queue::Queue;
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
use crate::replicated_policy::{ReplicatedPolicyReconciler, Writers};
use crate::root_policy_status::RootPolicyStatusReconciler;
use crate::settings::{self, Settings};
use crate::shards::{ShardedReconciler, enqueue_shard, reconcile_owned};
use crate::webhooks::Webhooks;

const LEASE: &str = "policy-propagator.open-cluster-management.io";
const USER_AGENT: &str = "governance-policy-propagator";
/// The reporting controllers of events, which differ from the names of the queues.
const CONTROLLER: &str = "policy-propagator";
const SETS_CONTROLLER: &str = "policy-set";

/// Runs the propagator until `stop`, or until one of its tasks fails.
pub fn run(args: Args, stop: CancellationToken) -> BoxFuture<'static, Result<(), Error>> {
    Box::pin(async move {
        // Boxed: the future is large, and every caller would hold it.
        Box::pin(start(args, stop)).await
    })
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
    if let Some(ownership) = elect(&args, &options, &cache, &mut manager).await? {
        reconcilers.start(&args, ownership, &mut manager);
    }
    Ok(manager.run().await?)
}

/// Waits until this process may work, and returns on what. `None` if it was stopped before.
async fn elect(
    args: &Args,
    options: &ClientOptions,
    cache: &Arc<HubCache>,
    manager: &mut Manager,
) -> Result<Option<Ownership>, Error> {
    if !args.leader_elect {
        return Ok(Some(Ownership::all()));
    }
    let election = LeaderElection {
        options,
        namespace: args.leader_election_namespace.clone(),
        lease: LEASE,
        timings: LeaseTimings::CONTROLLER_RUNTIME,
    };
    let (ownership, role) = if args.shards == 1 {
        (Ownership::all(), manager.elect(election).await?)
    } else {
        let ownership = Ownership::none_of(args.shards);
        let (cache, changed) = (Arc::clone(cache), ownership.clone());
        let shards = Shards {
            count: args.shards,
            ownership: ownership.clone(),
            on_change: Arc::new(move |shard| enqueue_shard(&cache, &changed, shard)),
        };
        (ownership, manager.elect_shards(election, shards).await?)
    };
    Ok(Some(ownership).filter(|_| role == Role::Leader))
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

/// The reconcilers, which a standby does not run, and their dependencies.
struct Reconcilers {
    client: Client,
    cache: Arc<HubCache>,
    queues: Queues,
    templates: HubTemplates,
    broadcaster: EventBroadcaster,
    metrics: PropagatorMetrics,
}

impl Reconcilers {
    fn start(self, args: &Args, ownership: Ownership, manager: &mut Manager) {
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
            (events.clone(), self.metrics.clone()),
            if ownership.is_shared() {
                Writers::Several
            } else {
                Writers::One
            },
        );
        let metrics = self.metrics.clone();
        let roots = RootPolicyStatusReconciler::new(client(), cache(), confirmer, events, metrics);
        let sets = PolicySetReconciler::new(client(), cache(), recorder(SETS_CONTROLLER));
        let keys = EncryptionKeysReconciler::new(client(), cache(), args.encryption_key_rotation);
        let automations = PolicyAutomationReconciler::new(client(), cache());

        let mut workers = Workers {
            manager,
            cache: &self.cache,
            ownership,
        };
        let queues = &self.queues;
        workers.spawn(
            &queues.replicas,
            args.replicated_policy_max_concurrency,
            replicas,
        );
        workers.spawn(&queues.roots, args.policy_status_max_concurrency, roots);
        workers.spawn(&queues.sets, 1, sets);
        workers.spawn(&queues.keys, args.key_rotation_max_concurrency, keys);
        workers.spawn(&queues.automations, 1, automations);
    }
}

/// Spawns the workers of queues.
struct Workers<'a> {
    manager: &'a mut Manager,
    cache: &'a Arc<HubCache>,
    ownership: Ownership,
}

impl Workers<'_> {
    /// Spawns `count` workers that reconcile the keys of a queue, once the caches have synced.
    fn spawn<R: ShardedReconciler>(&mut self, queue: &Queue<R::Key>, count: u16, reconciler: R) {
        let cache = Arc::clone(self.cache);
        let synced = async move { cache.wait_for_cache_sync().await };
        let ownership = self.ownership.clone();
        let reconcile = move |key| reconcile_owned(reconciler.clone(), ownership.clone(), key);
        let count = usize::from(count.max(1));
        self.manager
            .spawn_workers(queue.clone(), count, synced, reconcile);
    }
}
