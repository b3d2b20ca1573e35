//! The first filter: labels, claims and expressions.

use std::sync::Arc;

use kube::ResourceExt;
use reeve_api::ocm::{ManagedCluster, PlacementSpec};
use reeve_apiserver::cel::on_large_stack;

use super::Scores;
use super::cel::{Expressions, LIMITS, Subject};
use super::selectors::Selector;

pub(super) const NAME: &str = "Predicate";

/// The predicates of a placement, checked.
pub(super) struct Predicates(Vec<Predicate>);

struct Predicate {
    labels: Selector,
    claims: Selector,
    expressions: Option<Expressions>,
}

impl Predicates {
    /// The error is that of the first invalid predicate.
    pub(super) fn of(spec: &PlacementSpec, scores: &Arc<Scores>) -> Result<Self, String> {
        let predicates = spec.predicates.iter().map(|predicate| {
            let selector = &predicate.required_cluster_selector;
            let texts = &selector.cel_selector.cel_expressions;
            Ok(Predicate {
                labels: Selector::of_labels(&selector.label_selector)?,
                claims: Selector::of_claims(&selector.claim_selector)?,
                expressions: if texts.is_empty() {
                    None
                } else {
                    Some(Expressions::compile(texts, scores)?)
                },
            })
        });
        predicates.collect::<Result<_, String>>().map(Self)
    }

    /// Whether any predicate has an expression.
    pub(super) fn have_expressions(&self) -> bool {
        self.0.iter().any(|one| one.expressions.is_some())
    }

    /// The clusters that match any predicate; all if there is none.
    pub(super) fn filter(&self, clusters: &[Arc<ManagedCluster>]) -> Vec<Arc<ManagedCluster>> {
        let fits = |cluster: &&Arc<ManagedCluster>| {
            self.0.is_empty() || self.0.iter().any(|one| one.matches(cluster))
        };
        let filter = || clusters.iter().filter(fits).cloned().collect();
        if self.have_expressions() {
            on_large_stack(filter)
        } else {
            filter()
        }
    }
}

impl Predicate {
    fn matches(&self, cluster: &ManagedCluster) -> bool {
        self.labels.matches(cluster.labels())
            && self.claims.matches(&cluster.claims())
            && self
                .expressions
                .as_ref()
                .is_none_or(|expressions| expressions.hold(&Subject::of(cluster), LIMITS))
    }
}
