//! The bootstrap of a controller process: logging, clients, events, probes, metrics, leader election, queues and workers.
//!
//! Parts that only one controller has (its flags, its watches, its reconcilers) stay in that controller's own
//! `manager`. A process is built in this order, and each step may be left out:
//!
//! ```no_run
//! # use reeve_runtime::{CancellationToken, client::ClientOptions, leader::LeaseTimings, queue::Action};
//! # use reeve_runtime::manager::{LeaderElection, Manager, ManagerError, Role};
//! # async fn run(options: ClientOptions, stop: CancellationToken) -> Result<(), ManagerError> {
//! let mut manager = Manager::new(&options.in_process, stop);
//! let client = manager.client(&options).await?;
//! let queue = manager.queue::<String>("example");
//! let election = LeaderElection { options: &options, namespace: None, lease: "example", timings: LeaseTimings::CONTROLLER_RUNTIME };
//! if manager.elect(election).await? == Role::Stopped {
//!     return manager.run().await;
//! }
//! # type Never = std::convert::Infallible;
//! manager.spawn_workers(queue, 1, std::future::ready(()), |key| async move {
//!     println!("reconcile {key}");
//!     Ok::<_, Never>(Action::AwaitChange)
//! });
//! manager.run().await
//! # }
//! ```

use std::collections::HashMap;
use std::fmt::Display;
use std::path::PathBuf;

use futures::future::BoxFuture;
use kube::Client;
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use crate::client::{self, ClientError, ClientOptions, InProcessServers};
use crate::events::{EventBroadcaster, EventBroadcasterMetrics};
use crate::fence::Fence;
use crate::flags::{ListenAddress, LogArgs, TlsArgs};
use crate::leader::shards::{self, OnChange, Ownership, ShardElection};
use crate::leader::{self, Election, LeaderError, LeaseTimings};
use crate::logging::{self, InvalidLevel};
use crate::metrics::{ControllerMetrics, Metrics};
use crate::probes::{Check, Probes};
use crate::queue::{Action, Backoff, Key, Queue};
use crate::serving::{self, MetricsOptions, ReviewClients, ServeError};
use crate::supervisor::{Supervisor, TaskError};

/// Why a process could not start, or ended without having been stopped.
#[derive(Debug, thiserror::Error)]
pub enum ManagerError {
    /// The log level is invalid.
    #[error(transparent)]
    Logging(#[from] InvalidLevel),
    /// A cluster cannot be reached.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// A port is taken or a certificate is missing.
    #[error(transparent)]
    Serve(#[from] ServeError),
    /// The lease has no namespace.
    #[error(transparent)]
    Leader(#[from] LeaderError),
    /// A task failed, or leadership was lost.
    #[error(transparent)]
    Task(#[from] TaskError),
}

/// Whether this process leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It holds the lease.
    Leader,
    /// It was stopped before it held the lease.
    Stopped,
}

/// The lease that the processes of a component compete for.
pub struct LeaderElection<'a> {
    /// The API server of the lease.
    pub options: &'a ClientOptions,
    /// The lease's namespace; absent, the Pod's own.
    pub namespace: Option<String>,
    /// The lease's name.
    pub lease: &'static str,
    /// Its periods, the same for all candidates.
    pub timings: LeaseTimings,
}

/// The shards of the work that the processes of a component share.
pub struct Shards {
    /// How many there are, the same for all processes.
    pub count: u16,
    /// Of `count` shards; it records which of them this process works on.
    pub ownership: Ownership,
    /// Called when that has changed.
    pub on_change: OnChange,
}

/// Where health and metrics are served.
pub struct ServerOptions<'a> {
    /// The address of `/healthz` and `/readyz`.
    pub health: ListenAddress,
    /// The address of `/metrics`.
    pub metrics: ListenAddress,
    /// Whether metrics are served over HTTPS to readers that the API server authorizes.
    pub secure_metrics: bool,
    /// The TLS settings of the metrics server.
    pub tls: TlsArgs,
    /// The API server that authorizes readers of metrics.
    pub reviews: &'a ClientOptions,
}

/// A controller process under construction. [`Manager::run`] waits for its end.
pub struct Manager {
    tasks: Supervisor,
    metrics: Metrics,
    controllers: ControllerMetrics,
    events: EventBroadcasterMetrics,
    probes: Probes,
    fence: Fence,
    /// The clients without a rate limit, by kubeconfig and user agent.
    unlimited: Mutex<HashMap<(Option<PathBuf>, &'static str), Client>>,
}

impl Manager {
    /// A process without clients, queues and tasks, that ends when `stop` is cancelled.
    pub fn new(in_process: &InProcessServers, stop: CancellationToken) -> Self {
        let metrics = Metrics::default();
        Self {
            tasks: Supervisor::new(stop),
            controllers: ControllerMetrics::new(&metrics).tracked_by(in_process.component()),
            events: EventBroadcasterMetrics::new(&metrics),
            metrics,
            probes: Probes::default(),
            fence: Fence::default(),
            unlimited: Mutex::default(),
        }
    }

    /// Like [`Self::new`], after logging has been set up.
    pub fn with_logging(
        log: &LogArgs,
        in_process: &InProcessServers,
        stop: CancellationToken,
    ) -> Result<Self, ManagerError> {
        logging::start(log)?;
        Ok(Self::new(in_process, stop))
    }

    /// The metrics of queues that a library makes itself.
    pub fn controller_metrics(&self) -> &ControllerMetrics {
        &self.controllers
    }

    /// The registry of the process.
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// The tasks of the process.
    pub fn tasks(&mut self) -> &mut Supervisor {
        &mut self.tasks
    }

    /// The token that stops the process.
    pub fn stop(&self) -> CancellationToken {
        self.tasks.stop()
    }

    /// A client for the reconcilers: once leadership is lost, no request leaves it. Where there is no rate limit, all clients
    /// of a server are one: each has a queue of requests, which takes some KiB.
    pub fn client<'a>(
        &'a self,
        options: &'a ClientOptions,
    ) -> BoxFuture<'a, Result<Client, ManagerError>> {
        Box::pin(async move {
            let kubeconfig = options.kubeconfig.as_deref();
            if !options.in_process.has_unlimited(kubeconfig) {
                return Ok(client::connect_fenced(options, &self.fence).await?);
            }
            let of = (options.kubeconfig.clone(), options.user_agent);
            let known = self.unlimited.lock().get(&of).cloned();
            if let Some(known) = known {
                return Ok(known);
            }
            let client = client::connect_fenced(options, &self.fence).await?;
            self.unlimited.lock().insert(of, client.clone());
            Ok(client)
        })
    }

    /// A client for watches. Its rate limit is its own, so that no list waits behind writes, and a standby may use it.
    pub async fn watch_client(&self, options: &ClientOptions) -> Result<Client, ManagerError> {
        Ok(client::connect(options).await?)
    }

    /// Writes informational events to one cluster. It has a client, and so a rate limit, of its own: no status waits behind
    /// an event.
    pub fn event_broadcaster<'a>(
        &'a mut self,
        options: &'a ClientOptions,
    ) -> BoxFuture<'a, Result<EventBroadcaster, ManagerError>> {
        Box::pin(async move {
            let client = self.client(options).await?;
            let metrics = self.events.clone();
            Ok(EventBroadcaster::start(client, metrics, &mut self.tasks))
        })
    }

    /// A work queue. `controller` is its name in logs and metrics.
    pub fn queue<K: Key>(&self, controller: &'static str) -> Queue<K> {
        Queue::new(controller, &self.controllers)
    }

    /// Like [`Self::queue`], with a backoff of its own.
    pub fn queue_with_backoff<K: Key>(
        &self,
        controller: &'static str,
        backoff: Backoff,
    ) -> Queue<K> {
        Queue::with_backoff(controller, &self.controllers, backoff)
    }

    /// Adds a check to `/healthz`.
    pub fn add_healthz_check(&mut self, name: &'static str, check: Check) {
        self.probes = std::mem::take(&mut self.probes).healthz(name, check);
    }

    /// Adds a check to `/readyz`.
    pub fn add_readyz_check(&mut self, name: &'static str, check: Check) {
        self.probes = std::mem::take(&mut self.probes).readyz(name, check);
    }

    /// Starts the health and the metrics server. Checks that are added later are not served.
    pub fn serve<'a>(
        &'a mut self,
        servers: ServerOptions<'a>,
    ) -> BoxFuture<'a, Result<(), ManagerError>> {
        Box::pin(async move {
            let metrics = MetricsOptions {
                address: servers.metrics,
                secure: servers.secure_metrics,
                tls: servers.tls,
                reviews: ReviewClients::connect(servers.reviews).await?,
            };
            let (probes, registry) = (self.probes.clone(), self.metrics.clone());
            serving::start(servers.health, probes, metrics, registry, &mut self.tasks)?;
            Ok(())
        })
    }

    /// Waits until this process leads. From then on it ends when its leadership is lost.
    pub fn elect<'a>(
        &'a mut self,
        election: LeaderElection<'a>,
    ) -> BoxFuture<'a, Result<Role, ManagerError>> {
        Box::pin(async move {
            let namespace = election.namespace.or_else(client::own_namespace);
            let candidate = Election {
                client: leader::connect(election.options, 1).await?,
                namespace: namespace.ok_or(LeaderError::NoNamespace)?,
                lease: election.lease,
                timings: election.timings,
                fence: self.fence.clone(),
            };
            let Some(leadership) = leader::acquire(candidate, &self.tasks.stop()).await? else {
                return Ok(Role::Stopped);
            };
            self.tasks.lead(leadership);
            Ok(Role::Leader)
        })
    }

    /// Competes for shards in the background, once no process without shards works any more. From then on this process ends when
    /// a lease of its shards is lost.
    pub fn elect_shards<'a>(
        &'a mut self,
        election: LeaderElection<'a>,
        shards: Shards,
    ) -> BoxFuture<'a, Result<Role, ManagerError>> {
        Box::pin(async move {
            let namespace = election.namespace.or_else(client::own_namespace);
            let namespace = namespace.ok_or(LeaderError::NoNamespace)?;
            let client = leader::connect(election.options, shards.count).await?;
            // A process without shards works on everything while it holds the lease of the whole.
            let whole = Election {
                client: client.clone(),
                namespace: namespace.clone(),
                lease: election.lease,
                timings: election.timings,
                fence: Fence::default(),
            };
            let Some(leadership) = leader::acquire(whole, &self.tasks.stop()).await? else {
                return Ok(Role::Stopped);
            };
            leadership.release().await;
            let candidate = ShardElection {
                client,
                namespace,
                lease: election.lease,
                count: shards.count,
                timings: election.timings,
                fence: self.fence.clone(),
            };
            let Shards {
                ownership,
                on_change,
                ..
            } = shards;
            let run = shards::run(candidate, ownership, on_change, self.tasks.stop());
            self.tasks.spawn("the election of shards", run);
            Ok(Role::Leader)
        })
    }

    /// Spawns the workers of a queue. They begin when `synced` ends: before the caches have synced, absence means nothing.
    pub fn spawn_workers<K, S, F, Fut, E>(
        &mut self,
        queue: Queue<K>,
        workers: usize,
        synced: S,
        reconcile: F,
    ) where
        K: Key,
        S: Future<Output = ()> + Send + 'static,
        F: Fn(K) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Action, E>> + Send + 'static,
        E: Display + Send + 'static,
    {
        let stop = self.tasks.stop();
        self.tasks.spawn_infallible(queue.name(), async move {
            tokio::select! { () = stop.cancelled() => return, () = synced => {} }
            queue.run(workers, stop, reconcile).await;
        });
    }

    /// Waits until the process is stopped or a task ends.
    pub async fn run(self) -> Result<(), ManagerError> {
        Ok(self.tasks.run().await?)
    }
}
