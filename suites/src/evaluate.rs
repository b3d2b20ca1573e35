//! Evaluates policies without a suite: what they come to on clusters with some objects.

use std::time::Duration;

use reeve_fleet::explain::{self, ExplainError, Servers};
use reeve_fleet::{Cluster, Constraints, ExternalData, Initial, Unbound};
use reeve_manifests::Object;
use reeve_report::{Entry, Reason, State};

use crate::world::{Setup, World, with_fleet};

/// What leaves policies unplaced that nothing binds.
const BIND_UNBOUND: &str = "--bind-unbound=false";

/// What is evaluated on which clusters.
#[derive(Default)]
pub struct Evaluation {
    /// The clusters.
    pub clusters: Vec<Cluster>,
    /// The first objects of clusters, by their names.
    pub of_clusters: Vec<(String, Vec<Object>)>,
    /// CRDs for the hub and all clusters.
    pub crds: Vec<Object>,
    /// The policies, and all else that the hub has.
    pub policies: Vec<Object>,
    /// What becomes of policies that no binding names.
    pub unbound: Unbound,
    /// Whether the clusters evaluate Gatekeeper's constraints.
    pub constraints: Constraints,
    /// What was done for it without being asked for.
    pub notes: Vec<String>,
}

impl Evaluation {
    fn setup(self) -> Setup {
        Setup {
            constraints: self.constraints,
            external_data: ExternalData::default(),
            notes: self.notes,
            clusters: self.clusters,
            initial: Initial {
                of_clusters: self.of_clusters,
                crds: self.crds,
                of_hub: self.policies,
                unbound: self.unbound,
            },
        }
    }
}

/// The states of all policies, and what was done without being asked for. What cannot be applied is an entry, too.
pub async fn evaluate(
    evaluation: Evaluation,
    timeout: Duration,
) -> Result<(Vec<Entry>, Vec<String>), String> {
    let setup = evaluation.setup();
    let evaluated = with_fleet(setup, timeout, async |world: &mut World<'_>| {
        let late = world.settled().await.err();
        let mut entries = world.entries().await?;
        entries.extend(late.map(|why| error("fleet", why)));
        for refused in &world.errors {
            entries.push(error("input", refused.to_string()));
        }
        Ok((entries, world.notes(BIND_UNBOUND)))
    });
    evaluated.await?
}

/// What is explained, by its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Question {
    /// A policy.
    Policy(String),
    /// A placement.
    Placement(String),
    /// A template of a policy, or all.
    Template(String),
}

impl Question {
    /// The steps of the explanation.
    pub async fn answer(&self, servers: &Servers) -> Result<Vec<Entry>, ExplainError> {
        match self {
            Self::Policy(name) => explain::policy(servers, name).await,
            Self::Placement(name) => explain::placement(servers, name).await,
            Self::Template(name) => explain::template(servers, name).await,
        }
    }
}

/// Explains a policy, a placement or a template, when all controllers are idle. What cannot be applied is an entry,
/// too.
pub async fn explain(
    evaluation: Evaluation,
    question: Question,
    timeout: Duration,
) -> Result<(Vec<Entry>, Vec<String>), String> {
    let setup = evaluation.setup();
    let explained = with_fleet(setup, timeout, async |world: &mut World<'_>| {
        let late = world.settled().await.err();
        let answered = question.answer(&world.servers()).await;
        let refused = world.errors.iter().map(ToString::to_string);
        let refused: Vec<String> = refused.collect();
        let mut entries = match answered {
            Ok(entries) => entries,
            // What is not found may be what was refused.
            Err(error) if refused.is_empty() => return Err(error.to_string()),
            Err(error) => return Err(format!("{error}\nerror: {}", refused.join("\nerror: "))),
        };
        entries.extend(late.map(|why| error("fleet", why)));
        entries.extend(refused.into_iter().map(|why| error("input", why)));
        Ok((entries, world.notes(BIND_UNBOUND)))
    });
    explained.await?
}

fn error(subject: &str, why: String) -> Entry {
    Entry {
        subject: subject.to_owned(),
        state: State::Error,
        reasons: vec![Reason::text(why)],
        ..Entry::default()
    }
}
