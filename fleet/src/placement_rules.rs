//! `PlacementRule`s, the older way to choose clusters: samples and older hubs still have them.
//!
//! A rule chooses among the clusters that it names, or all, those that match its labels and conditions, up to its
//! number. A chosen cluster stays chosen as long as it matches.

use std::collections::BTreeSet;
use std::sync::Arc;

use kube::{Api, Client, ResourceExt};
use reeve_api::ocm::{
    ConditionFilter, ManagedCluster, PlacementRule, PlacementRuleSpec, RuleDecision,
};
use reeve_runtime::CancellationToken;
use reeve_runtime::metrics::ControllerMetrics;
use reeve_runtime::object::{ObjectKey, StatusReason, status_message};
use reeve_runtime::queue::{Action, Queue};
use reeve_runtime::supervisor::{Supervisor, TaskError};
use reeve_runtime::watch::{Store, Watch};
use reeve_runtime::writes;
use serde_json::json;

use crate::placement::schedule::selectors::Selector;

const WORKERS: usize = 1;

/// Reconciles all rules of a hub, until `stop`.
pub(crate) async fn run(
    hub: Client,
    metrics: ControllerMetrics,
    stop: CancellationToken,
) -> Result<(), TaskError> {
    let mut tasks = Supervisor::new(stop.child_token());
    let rules: Watch<PlacementRule> = Watch::new(Api::all(hub.clone()));
    let clusters: Watch<ManagedCluster> = Watch::new(Api::all(hub.clone()));
    let queue = Queue::new("placement-rule", &metrics);
    let known = (rules.store(), clusters.store());
    let seen = {
        let queue = queue.clone();
        rules.run(tasks.stop(), move |change| queue.add(change.key))
    };
    tasks.spawn_infallible("watch of placement rules", seen);
    let seen = {
        let (queue, rules) = (queue.clone(), known.0.clone());
        clusters.run(tasks.stop(), move |_| {
            for rule in rules.keys() {
                queue.add(rule);
            }
        })
    };
    tasks.spawn_infallible("watch of managed clusters", seen);
    let stop = tasks.stop();
    tasks.spawn_infallible("placement rules", async move {
        let (rules, clusters) = known;
        // Before the cache of clusters has synced, an absent cluster may only be late.
        tokio::select! { () = stop.cancelled() => return, () = clusters.wait_for_cache_sync() => {} }
        tokio::select! { () = stop.cancelled() => return, () = rules.wait_for_cache_sync() => {} }
        let work = queue.run(WORKERS, stop, move |key| {
            reconcile(hub.clone(), rules.clone(), clusters.clone(), key)
        });
        work.await;
    });
    tasks.run().await
}

/// Why the decisions of a rule were not written.
#[derive(Debug, thiserror::Error)]
enum Error {
    #[error("PlacementRule {rule}: spec.clusterSelector: {reason}")]
    Selector { rule: String, reason: String },
    #[error("cannot write the status of PlacementRule {rule}: {}", status_message(.source))]
    Write { rule: String, source: kube::Error },
}

async fn reconcile(
    hub: Client,
    rules: Store<PlacementRule>,
    clusters: Store<ManagedCluster>,
    key: ObjectKey,
) -> Result<Action, Error> {
    let Some(rule) = rules.get_valid(&key) else {
        return Ok(Action::AwaitChange);
    };
    let is_others = rule
        .spec
        .scheduler_name
        .as_ref()
        .is_some_and(|name| !name.is_empty());
    if is_others || rule.metadata.deletion_timestamp.is_some() {
        return Ok(Action::AwaitChange);
    }
    let all = clusters.collect(|_, cluster| Some(Arc::clone(cluster)));
    let before = rule.status.clone().unwrap_or_default();
    let decisions = decide(&rule.spec, &before.decisions, &all);
    let decisions = decisions.map_err(|reason| Error::Selector {
        rule: key.to_string(),
        reason,
    })?;
    if decisions == before.decisions {
        return Ok(Action::AwaitChange);
    }
    let metadata = &rule.metadata;
    let identity = json!({ "uid": metadata.uid, "resourceVersion": metadata.resource_version });
    let patch = json!({ "metadata": identity, "status": { "decisions": decisions } });
    let patch = kube::api::Patch::Merge(patch);
    let name = (key.namespace.as_str(), key.name.as_str());
    match writes::patch_status::<PlacementRule>(&hub, name, &patch).await {
        Ok(()) => Ok(Action::AwaitChange),
        Err(source) => match StatusReason::of(&source) {
            StatusReason::NotFound => Ok(Action::AwaitChange),
            StatusReason::Conflict => Ok(Action::Requeue),
            _ => Err(Error::Write {
                rule: key.to_string(),
                source,
            }),
        },
    }
}

/// The names of the clusters that a rule chooses; the error is the reason why its selector is invalid.
fn decide(
    spec: &PlacementRuleSpec,
    before: &[RuleDecision],
    clusters: &[Arc<ManagedCluster>],
) -> Result<Vec<RuleDecision>, String> {
    let selector = spec
        .cluster_selector
        .as_ref()
        .map(Selector::of_labels)
        .transpose()?;
    let named = spec.clusters.as_ref().filter(|named| !named.is_empty());
    let conditions = spec.cluster_conditions.as_deref().unwrap_or_default();
    let is_so = |cluster: &ManagedCluster, wanted: &ConditionFilter| {
        let status = cluster.status.as_ref();
        let found = status.and_then(|status| status.condition(&wanted.kind));
        found.is_some_and(|found| wanted.status.is_empty() || found == wanted.status)
    };
    let is_candidate = |cluster: &ManagedCluster| {
        !cluster.is_terminating()
            && named.is_none_or(|named| named.iter().any(|one| one.name == cluster.name()))
            && selector
                .as_ref()
                .is_none_or(|selector| selector.matches(cluster.labels()))
            && conditions.iter().all(|wanted| is_so(cluster, wanted))
    };
    let candidates = clusters.iter().filter(|cluster| is_candidate(cluster));
    let candidates: BTreeSet<&str> = candidates.map(|cluster| cluster.name()).collect();
    let chosen_before: BTreeSet<&str> = before.iter().map(RuleDecision::cluster).collect();
    let (kept, new): (Vec<&str>, Vec<&str>) = candidates
        .iter()
        .partition(|name| chosen_before.contains(*name));
    let most = spec
        .cluster_replicas
        .map_or(usize::MAX, |most| usize::try_from(most).unwrap_or_default());
    let chosen: BTreeSet<&str> = kept.into_iter().chain(new).take(most).collect();
    let decision = |name: &str| RuleDecision {
        cluster_name: name.to_owned(),
        cluster_namespace: name.to_owned(),
    };
    Ok(chosen.into_iter().map(decision).collect())
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::Value;

    use super::*;

    fn cluster(name: &str, env: &str, available: &str) -> Arc<ManagedCluster> {
        let cluster = json!({
            "apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster",
            "metadata": { "name": name, "labels": { "env": env } }, "spec": {},
            "status": { "conditions": [
                { "type": "ManagedClusterConditionAvailable", "status": available },
            ] },
        });
        Arc::new(serde_json::from_value(cluster).unwrap())
    }

    fn chosen(spec: Value, before: &[&str]) -> Result<Vec<String>, String> {
        let clusters = [
            cluster("c3", "dev", "True"),
            cluster("c1", "dev", "False"),
            cluster("c2", "prod", "True"),
        ];
        let decision = |name: &&str| RuleDecision {
            cluster_name: (*name).to_owned(),
            cluster_namespace: String::new(),
        };
        let before: Vec<RuleDecision> = before.iter().map(decision).collect();
        let spec = serde_json::from_value(spec).unwrap();
        let decided = decide(&spec, &before, &clusters)?;
        Ok(decided.into_iter().map(|one| one.cluster_name).collect())
    }

    #[rstest]
    #[case::no_restriction(json!({}), &[], &["c1", "c2", "c3"])]
    #[case::empty_lists(json!({"clusters": [], "clusterConditions": []}), &[], &["c1", "c2", "c3"])]
    #[case::labels(json!({"clusterSelector": {"matchLabels": {"env": "dev"}}}), &[], &["c1", "c3"])]
    #[case::expressions(
        json!({"clusterSelector": {"matchExpressions": [{"key": "env", "operator": "NotIn", "values": ["dev"]}]}}),
        &[], &["c2"]
    )]
    #[case::names(json!({"clusters": [{"name": "c2"}, {"name": "c9"}]}), &[], &["c2"])]
    #[case::conditions(
        json!({"clusterConditions": [{"type": "ManagedClusterConditionAvailable", "status": "True"}]}),
        &[], &["c2", "c3"]
    )]
    #[case::condition_of_no_cluster(json!({"clusterConditions": [{"type": "Other", "status": "True"}]}), &[], &[])]
    #[case::limited_number(json!({"clusterReplicas": 2}), &[], &["c1", "c2"])]
    #[case::chosen_clusters_stay(json!({"clusterReplicas": 1}), &["c3"], &["c3"])]
    #[case::zero(json!({"clusterReplicas": 0}), &["c3"], &[])]
    #[case::negative_number(json!({"clusterReplicas": -1}), &[], &[])]
    fn rule_chooses_clusters(#[case] spec: Value, #[case] before: &[&str], #[case] want: &[&str]) {
        assert_eq!(chosen(spec, before).unwrap(), want);
    }

    #[test]
    fn invalid_selector_chooses_nothing_and_is_reported() {
        let spec =
            json!({"clusterSelector": {"matchExpressions": [{"key": "env", "operator": "Like"}]}});
        let error = chosen(spec, &["c1"]).unwrap_err();
        assert!(error.contains("Like"), "{error}");
    }
}
