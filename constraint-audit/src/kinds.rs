//! Which kinds are audited: those that a constraint matches and that the API server lists and watches.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use kube::api::Api;
use kube::discovery::{ApiGroup, Discovery, verbs};
use reeve_gatekeeper::audit::{ResourceKind, kinds_to_list};
use reeve_gatekeeper::constraint::Constraint;
use reeve_runtime::CancellationToken;
use reeve_runtime::definitions::{Crd, Definition};
use reeve_runtime::queue::Action;
use reeve_runtime::watch::Watch;

use crate::error::AuditError;
use crate::inventory;
use crate::state::{Audit, Served, Work};

/// Discovery shows a new kind a moment after its definition.
const DISCOVERY_WINDOW: Duration = Duration::from_millis(500);

/// Discovers again when a definition changes.
pub(crate) async fn watch(audit: &Arc<Audit>, stop: CancellationToken) {
    let api: Api<_> = Api::all(audit.client.clone());
    let watch = Watch::<Crd, Definition>::projected(api, Definition::of);
    let audit = Arc::clone(audit);
    watch
        .run(stop, move |change| {
            let (old, new) = change.valid();
            if old == new {
                return;
            }
            let served = audit.served.lock().take();
            // Nobody has asked yet.
            if served.is_some() {
                audit.queue.add_after(Work::Kinds, DISCOVERY_WINDOW);
            }
        })
        .await;
}

impl Audit {
    /// Starts the streams of kinds that must be audited, and ends the others.
    pub(crate) async fn plan(self: &Arc<Self>) -> Result<Action, AuditError> {
        let mut synced = self.namespaces_synced.subscribe();
        if synced.wait_for(|synced| *synced).await.is_err() {
            return Ok(Action::AwaitChange);
        }
        let has_constraints = self.engine.read().constraints().next().is_some();
        let served = if has_constraints {
            self.served().await?
        } else {
            Arc::default()
        };
        let all: Vec<ResourceKind> = served.iter().map(|one| one.kind.clone()).collect();
        let (audited, inventory, constraints) = {
            let engine = self.engine.read();
            let audited = kinds_to_list(engine.constraints(), &all);
            let constraints: Vec<_> = engine.constraints().map(Constraint::key).collect();
            (audited, inventory::kinds(&engine, &all), constraints)
        };
        let wanted: HashSet<&ResourceKind> = audited.iter().chain(&inventory).collect();
        let inventory: HashSet<&ResourceKind> = inventory.iter().collect();
        let (mut dropped, mut unfed) = (Vec::new(), Vec::new());
        self.kind_watches.lock().retain(|kind, watch| {
            if watch.feeds_inventory && !inventory.contains(kind) {
                unfed.push(kind.clone());
            }
            if !wanted.contains(kind) {
                dropped.push(kind.clone());
            }
            wanted.contains(kind)
        });
        for one in served.iter().filter(|one| wanted.contains(&one.kind)) {
            // Before the statuses are due: a kind that is not listed yet keeps them back.
            self.start_unless_current(one, inventory.contains(&one.kind));
        }
        for kind in &dropped {
            self.results.lock().forget_kind(kind);
        }
        for kind in &unfed {
            self.forget_inventory(kind);
        }
        self.unplanned
            .lock()
            .retain(|key| !constraints.contains(key));
        for key in constraints {
            self.queue.add(Work::Status(key));
        }
        Ok(Action::AwaitChange)
    }

    /// What the API server lists and watches, in preferred versions.
    pub(crate) async fn served(&self) -> Result<Arc<Vec<Served>>, AuditError> {
        if let Some(served) = &*self.served.lock() {
            return Ok(Arc::clone(served));
        }
        let discovery = Discovery::new(self.client.clone());
        let discovery = discovery.run_aggregated().await;
        let discovery =
            discovery.map_err(AuditError::new("discover the kinds of the API server"))?;
        let resources = discovery.groups().flat_map(ApiGroup::recommended_resources);
        let served = resources
            .filter(|(_, capabilities)| {
                capabilities.supports_operation(verbs::LIST)
                    && capabilities.supports_operation(verbs::WATCH)
            })
            .map(|(resource, _)| Served {
                kind: ResourceKind {
                    group: resource.group.clone(),
                    version: resource.version.clone(),
                    kind: resource.kind.clone(),
                },
                resource,
            });
        let served = Arc::new(served.collect::<Vec<_>>());
        *self.served.lock() = Some(Arc::clone(&served));
        Ok(served)
    }
}
