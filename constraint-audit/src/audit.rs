//! Runs the parts of the audit, and hands the work of the queue to them.

use std::sync::Arc;

use kube::Client;
use reeve_runtime::CancellationToken;
use reeve_runtime::metrics::ControllerMetrics;
use reeve_runtime::queue::Action;
use reeve_runtime::supervisor::{Supervisor, TaskError};

use crate::error::AuditError;
use crate::state::{Audit, Work};
use crate::{Options, definitions, kinds, namespaces, templates, webhook};

/// Keys that are reconciled at once. Those that wait for a list take no time of others.
const WORKERS: usize = 8;

/// Audits the constraints of a cluster until `stop`.
pub(crate) async fn run(
    client: Client,
    options: Options,
    metrics: &ControllerMetrics,
    stop: CancellationToken,
) -> Result<(), TaskError> {
    let mut tasks = Supervisor::new(stop);
    let audit = Arc::new(Audit::new(client, options, metrics));
    let stop = tasks.stop();
    if let Some(admission) = &audit.options.admission {
        admission.attach(&audit);
        let (audit, stop) = (Arc::clone(&audit), stop.clone());
        tasks.spawn_infallible("webhook of constraints", async move {
            tokio::select! {
                () = stop.cancelled() => {}
                () = webhook::install(&audit.client) => stop.cancelled().await,
            }
        });
    }
    tasks.spawn_infallible("watch of constraint templates", {
        let (audit, stop) = (Arc::clone(&audit), stop.clone());
        async move {
            tokio::select! {
                () = stop.cancelled() => {}
                () = async {
                    definitions::install(&audit.client).await;
                    templates::watch(&audit).await;
                } => {}
            }
        }
    });
    tasks.spawn_infallible("watch of namespaces", {
        let (audit, stop) = (Arc::clone(&audit), stop.clone());
        async move {
            tokio::select! {
                () = stop.cancelled() => {}
                () = namespaces::watch(&audit) => {}
            }
        }
    });
    tasks.spawn_infallible("watch of custom resource definitions", {
        let (audit, stop) = (Arc::clone(&audit), stop.clone());
        async move { kinds::watch(&audit, stop).await }
    });
    tasks.spawn_infallible("constraint audit", {
        let audit = Arc::clone(&audit);
        async move {
            let (queue, shared) = (audit.queue.clone(), Arc::clone(&audit));
            queue
                .run(WORKERS, stop, move |work| {
                    Arc::clone(&shared).reconcile(work)
                })
                .await;
            audit.stop();
        }
    });
    tasks.run().await
}

impl Audit {
    async fn reconcile(self: Arc<Self>, work: Work) -> Result<Action, AuditError> {
        match work {
            Work::Template(name) => self.template(&name).await,
            Work::Quarantine(kind) => self.publish_quarantine(&kind).await,
            Work::Constraint(key) => self.constraint(&key).await,
            Work::Kinds => self.plan().await,
            Work::Configuration => Ok(self.configuration_changed()),
            Work::Kind(kind) => Ok(self.list(&kind).await),
            Work::Inventory => Ok(self.inventory_changed()),
            Work::Status(key) => self.publish(&key).await,
        }
    }
}
