//! Which kinds are audited: those that a constraint matches and that the API server lists and watches.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use kube::api::Api;
use kube::core::ApiResource;
use kube::discovery::{ApiCapabilities, ApiGroup, Discovery, verbs};
use reeve_gatekeeper::audit::{ResourceKind, kinds_to_list};
use reeve_gatekeeper::constraint::Constraint;
use reeve_runtime::CancellationToken;
use reeve_runtime::definitions::{Crd, Definition};
use reeve_runtime::queue::Action;
use reeve_runtime::watch::Watch;

use crate::error::AuditError;
use crate::inventory;
use crate::state::{Audit, Duties, Served, ServedKinds, Work};

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
        self.follow_configuration(&served.preferred).await;
        let effect = self.effect();
        let preferred = served.preferred.iter();
        let all: Vec<ResourceKind> = preferred.map(|one| one.kind.clone()).collect();
        let (audited, inventory, constraints) = {
            let engine = self.engine.read();
            let audited = kinds_to_list(engine.constraints(), &all, |kind, one| {
                effect.expansion.makes_for(kind, one)
            });
            let constraints: Vec<_> = engine.constraints().map(Constraint::key).collect();
            let inventory = inventory::kinds(&engine, &served, &effect);
            (audited, inventory, constraints)
        };
        let audited: HashSet<&ResourceKind> = audited.iter().collect();
        let inventory: HashSet<&ResourceKind> = inventory.iter().collect();
        let is_wanted = |kind: &ResourceKind| audited.contains(kind) || inventory.contains(kind);
        let (mut dropped, mut unfed) = (Vec::new(), Vec::new());
        self.kind_watches.lock().retain(|kind, watch| {
            if watch.duties.feeds_inventory && !inventory.contains(kind) {
                unfed.push(kind.clone());
            }
            if !is_wanted(kind) {
                dropped.push((kind.clone(), watch.duties));
            }
            is_wanted(kind)
        });
        let all = served.preferred.iter().chain(&served.others);
        for one in all.filter(|one| is_wanted(&one.kind)) {
            let duties = Duties {
                is_audited: audited.contains(&one.kind),
                feeds_inventory: inventory.contains(&one.kind),
            };
            // Before the statuses are due: a kind that is not listed yet keeps them back.
            self.start_unless_current(one, duties);
        }
        for (kind, duties) in &dropped {
            let mut results = self.results.lock();
            if duties.is_audited {
                results.forget_kind(kind);
            } else {
                results.listed(kind);
            }
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

    /// What the API server lists and watches.
    pub(crate) async fn served(&self) -> Result<Arc<ServedKinds>, AuditError> {
        if let Some(served) = &*self.served.lock() {
            return Ok(Arc::clone(served));
        }
        let served = discover(self.client.clone()).await;
        let served = served.map_err(AuditError::new("discover the kinds of the API server"))?;
        let served = Arc::new(served);
        *self.served.lock() = Some(Arc::clone(&served));
        Ok(served)
    }
}

/// What an API server lists and watches.
pub(crate) async fn discover(client: Client) -> Result<ServedKinds, kube::Error> {
    let discovery = Discovery::new(client).run_aggregated().await?;
    let preferred: Vec<Served> = discovery
        .groups()
        .flat_map(ApiGroup::recommended_resources)
        .filter_map(watched)
        .collect();
    let all = discovery.groups().flat_map(|group| {
        let versions = group.versions();
        versions.flat_map(|version| group.versioned_resources(version))
    });
    let is_preferred: HashSet<&ResourceKind> = preferred.iter().map(|one| &one.kind).collect();
    let others = all
        .filter_map(watched)
        .filter(|one| !is_preferred.contains(&one.kind))
        .collect();
    Ok(ServedKinds { preferred, others })
}

/// A discovered resource, if it can be listed and watched.
fn watched((resource, capabilities): (ApiResource, ApiCapabilities)) -> Option<Served> {
    let is_watched = [verbs::LIST, verbs::WATCH]
        .iter()
        .all(|verb| capabilities.supports_operation(verb));
    is_watched.then(|| Served {
        kind: ResourceKind {
            group: resource.group.clone(),
            version: resource.version.clone(),
            kind: resource.kind.clone(),
        },
        resource,
    })
}
