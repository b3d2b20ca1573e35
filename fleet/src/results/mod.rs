//! What the policies of a fleet came to: each policy on each cluster, with the reasons that the engine gives.
//!
//! The hub says which clusters a policy is on and what each of its templates reports; the objects and fields behind a
//! violation come from the configuration policies of the managed cluster.

pub(crate) mod cluster;
pub(crate) mod entries;
pub(crate) mod hub;
pub(crate) mod messages;
pub(crate) mod shorten;
pub(crate) mod unplaced;

#[cfg(test)]
mod tests;

use std::collections::HashMap;

use futures::future::BoxFuture;
use reeve_report::{Entry, Source};

use crate::start::Fleet;
use cluster::Evaluations;
use hub::HubView;

/// Reads results, and only what has changed since the last time.
#[derive(Default)]
pub struct Results {
    hub: Cached<HubView>,
    clusters: HashMap<String, Cached<Evaluations>>,
    /// Where policies are written, by `namespace/name`.
    sources: HashMap<String, Source>,
}

/// A view of a server, of one of its revisions.
#[derive(Default)]
struct Cached<T> {
    revision: Option<u64>,
    view: T,
}

impl Results {
    /// The results name these positions of policies.
    #[must_use]
    pub fn with_sources(self, sources: HashMap<String, Source>) -> Self {
        Self { sources, ..self }
    }

    /// The state of every policy on every cluster, unsorted.
    pub fn read<'a>(
        &'a mut self,
        fleet: &'a Fleet,
    ) -> BoxFuture<'a, Result<Vec<Entry>, kube::Error>> {
        Box::pin(async move {
            // The revision is taken first: what changes while the view is read is read again.
            let revision = Some(fleet.hub.server.revision());
            if self.hub.revision != revision {
                self.hub.view = hub::read(fleet).await?;
                self.hub.revision = revision;
            }
            for member in &fleet.clusters {
                let revision = Some(member.server.revision());
                let cached = self.clusters.entry(member.name.clone()).or_default();
                if cached.revision != revision {
                    cached.view = cluster::read(member).await?;
                    cached.revision = revision;
                }
            }
            let of_cluster = |name: &str| self.clusters.get(name).map(|cached| &cached.view);
            let mut entries = entries::all(&self.hub.view, &of_cluster);
            for entry in &mut entries {
                entry.source = self.sources.get(&entry.subject).cloned();
            }
            Ok(entries)
        })
    }
}
