//! Evaluates policies without a suite: what they come to on clusters with some objects.

use std::time::Duration;

use reeve_fleet::Cluster;
use reeve_manifests::Object;
use reeve_report::{Entry, Reason, State};

use crate::run::without_suites;
use crate::world::{Setup, World, with_fleet};

/// What is evaluated on which clusters.
#[derive(Default)]
pub struct Evaluation {
    /// The clusters.
    pub clusters: Vec<Cluster>,
    /// The objects that every cluster has.
    pub cluster_objects: Vec<Object>,
    /// CRDs for the hub and all clusters.
    pub crds: Vec<Object>,
    /// The policies, and all else that the hub has.
    pub policies: Vec<Object>,
    /// Whether policies that nothing binds are bound to all clusters.
    pub bind_unbound: bool,
}

/// The states of all policies, and what was done without being asked for. What cannot be applied is an entry, too.
pub async fn evaluate(
    evaluation: Evaluation,
    timeout: Duration,
) -> Result<(Vec<Entry>, Vec<String>), String> {
    let objects = evaluation.cluster_objects;
    let of_clusters = evaluation
        .clusters
        .iter()
        .map(|cluster| (cluster.name.clone(), objects.clone()));
    let setup = Setup {
        of_clusters: of_clusters.collect(),
        clusters: evaluation.clusters,
        crds: evaluation.crds,
        of_hub: without_suites(evaluation.policies),
        bind_unbound: evaluation.bind_unbound,
    };
    let evaluated = with_fleet(setup, timeout, async |world: &mut World<'_>| {
        let late = world.settled().await.err();
        let mut entries = world.entries().await?;
        entries.extend(late.map(|why| error("fleet", why)));
        for refused in &world.errors {
            entries.push(error("input", refused.to_string()));
        }
        Ok((entries, std::mem::take(&mut world.notes)))
    });
    evaluated.await?
}

fn error(subject: &str, why: String) -> Entry {
    Entry {
        subject: subject.to_owned(),
        state: State::Error,
        reasons: vec![Reason::text(why)],
        ..Entry::default()
    }
}
