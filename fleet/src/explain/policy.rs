//! How a policy got its state on each cluster.

use std::collections::BTreeSet;

use kube::ResourceExt as _;
use reeve_api::PlacementBinding;
use reeve_api::names::RootPolicyName;
use reeve_report::{Entry, Reason, Rule, State};
use serde_json::Value;

use super::expressions::{Side, expressions, hub_template_errors, is_unresolved};
use super::observe::{Observed, OfPolicy, OnCluster, TemplateObject, definitions, text};
use super::{fact, finding, messages, placement};
use crate::results::entries;
use crate::results::hub::PolicyView;
use crate::results::unplaced;

/// The steps on the hub, then those of each cluster that the policy is on or should be on.
pub(super) fn steps(observed: &Observed, root: &PolicyView, of_policy: &OfPolicy) -> Vec<Entry> {
    let subject = format!("{}/{}", root.metadata.namespace, root.metadata.name);
    let mut all = vec![
        Entry::of_rules(&subject, "policy", whole(root, of_policy)),
        Entry::of_rules(&subject, "bindings", bindings(observed, root)),
    ];
    let placing = unplaced::bindings(&observed.hub, root);
    let placing: Vec<&PlacementBinding> = placing
        .into_iter()
        .filter(|binding| !binding.spec.is_restricted())
        .collect();
    let mut clusters = BTreeSet::new();
    let mut placements = BTreeSet::new();
    for binding in placing {
        let reference = &binding.spec.placement_ref;
        if placements.insert((&reference.kind, &reference.name)) {
            let (steps, chosen) =
                placed(observed, root, &subject, &reference.kind, &reference.name);
            all.extend(steps);
            clusters.extend(chosen);
        }
    }
    let reported = root.status.status.iter().flatten();
    clusters.extend(reported.filter_map(|one| one.clustername.clone()));
    if root.spec.disabled {
        return all;
    }
    let evaluations = |name: &str| of_policy.on_clusters.get(name).map(|on| &on.evaluations);
    let results = entries::of_policy(&observed.hub, root, &evaluations);
    for cluster in clusters {
        let result = results.iter().find(|entry| entry.place == cluster);
        all.extend(on_cluster(root, of_policy, &cluster, result));
    }
    all
}

/// The policy itself.
fn whole(root: &PolicyView, of_policy: &OfPolicy) -> Vec<Rule> {
    let name = RootPolicyName::new(root.metadata.namespace.clone(), root.metadata.name.clone());
    if let Err(length) = name.fits() {
        let why = crate::results::messages::name_too_long(length);
        return vec![finding("", State::Error, why)];
    }
    if root.spec.disabled {
        return vec![finding("", State::Skipped, messages::DISABLED)];
    }
    let action = text(&of_policy.root, "/spec/remediationAction");
    let count = root.spec.templates.len();
    if count == 0 {
        return vec![finding("", State::Error, messages::NO_TEMPLATES)];
    }
    vec![fact("", messages::policy(action, count))]
}

fn bindings(observed: &Observed, root: &PolicyView) -> Vec<Rule> {
    let bindings = unplaced::bindings(&observed.hub, root);
    if bindings.is_empty() {
        let why = crate::results::messages::UNBOUND;
        return vec![finding("", State::Unplaced, why)];
    }
    let is_placing = bindings.iter().any(|one| !one.spec.is_restricted());
    let mut rules: Vec<Rule> = bindings
        .into_iter()
        .map(|binding| {
            let reference = &binding.spec.placement_ref;
            let subjects = binding.spec.subjects.iter();
            let is_direct = subjects
                .clone()
                .any(|one| one.kind == "Policy" && one.name == root.metadata.name);
            let sets = subjects.filter(|one| one.kind == "PolicySet");
            let sets: Vec<&str> = sets.map(|one| one.name.as_str()).collect();
            let through = if is_direct { &[][..] } else { &sets };
            let message = messages::binding(
                &binding.name_any(),
                (&reference.kind, &reference.name),
                through,
                binding.spec.is_restricted(),
            );
            fact("", message)
        })
        .collect();
    if !is_placing {
        let why = crate::results::messages::RESTRICTED;
        rules.push(finding("", State::Unplaced, why));
    }
    rules
}

/// The steps of a placement, and the clusters that it has decided for.
fn placed(
    observed: &Observed,
    root: &PolicyView,
    subject: &str,
    kind: &str,
    name: &str,
) -> (Vec<Entry>, Vec<String>) {
    let namespace = root.metadata.namespace.as_str();
    let title = messages::placement(kind, name);
    if kind != "Placement" {
        return of_rule(observed, namespace, subject, name);
    }
    let mut all = observed.hub.placements.iter();
    let found = all.find(|one| {
        one.metadata.namespace.as_deref() == Some(namespace)
            && one.metadata.name.as_deref() == Some(name)
    });
    let Some(found) = found else {
        let why = messages::of(&title, messages::MISSING);
        let why = finding("", State::Unplaced, why);
        return (
            vec![Entry::of_rules(subject, "placement", vec![why])],
            Vec::new(),
        );
    };
    let mut rules = placement::sets(observed, found);
    for rule in &mut rules {
        rule.message = messages::of(&title, &rule.message);
    }
    rules.extend(placement::clusters(observed, found));
    let steps = vec![
        Entry::of_rules(subject, "placement", rules),
        Entry::of_rules(subject, "decisions", placement::decisions(observed, found)),
    ];
    (steps, observed.decided(namespace, name))
}

fn of_rule(
    observed: &Observed,
    namespace: &str,
    subject: &str,
    name: &str,
) -> (Vec<Entry>, Vec<String>) {
    let mut all = observed.hub.rules.iter();
    let found = all.find(|one| {
        one.metadata.namespace.as_deref() == Some(namespace)
            && one.metadata.name.as_deref() == Some(name)
    });
    let decided = found.map(|rule| {
        let decisions = rule.status.iter().flat_map(|status| &status.decisions);
        let clusters: Vec<String> = decisions.map(|one| one.cluster().to_owned()).collect();
        clusters
    });
    let title = messages::placement("PlacementRule", name);
    let rule = match &decided {
        None => finding("", State::Unplaced, messages::of(&title, messages::MISSING)),
        Some(clusters) if clusters.is_empty() => {
            let why = unplaced::of_rule(&observed.hub, namespace, name);
            finding("", State::Unplaced, why.unwrap_or_default())
        }
        Some(clusters) => {
            let chosen = messages::of(&title, &messages::names(clusters));
            fact("", chosen)
        }
    };
    (
        vec![Entry::of_rules(subject, "placement", vec![rule])],
        decided.unwrap_or_default(),
    )
}

/// The steps from the replicated policy to its status, of one cluster.
fn on_cluster(
    root: &PolicyView,
    of_policy: &OfPolicy,
    cluster: &str,
    result: Option<&Entry>,
) -> Vec<Entry> {
    let subject = messages::on_cluster(
        &format!("{}/{}", root.metadata.namespace, root.metadata.name),
        cluster,
    );
    let mut reported = root.status.status.iter().flatten();
    let own = reported.find(|one| one.clustername.as_deref() == Some(cluster));
    let namespace = own.and_then(|one| one.clusternamespace.as_deref());
    let namespace = namespace.unwrap_or(cluster);
    let name = format!("{}.{}", root.metadata.namespace, root.metadata.name);
    let Some(replica) = of_policy.replicas.get(namespace) else {
        let why = finding("", State::Pending, messages::no_replica(namespace, &name));
        return vec![Entry::of_rules(&subject, "replica", vec![why])];
    };
    let on = of_policy.on_clusters.get(cluster);
    let mut steps = vec![
        Entry::of_rules(
            &subject,
            "hub templates",
            hub_templates(&of_policy.root, replica),
        ),
        Entry::of_rules(
            &subject,
            "replica",
            vec![fact("", messages::replica(namespace, &name))],
        ),
        Entry::of_rules(&subject, "spec sync", spec_sync(replica, on, cluster)),
        Entry::of_rules(
            &subject,
            "template sync",
            template_sync(replica, on, cluster),
        ),
    ];
    let mut evaluation = Entry::of_rules(&subject, "evaluation", Vec::new());
    if let Some(result) = result {
        evaluation.state = result.state;
        evaluation.reasons.clone_from(&result.reasons);
        evaluation.rules.clone_from(&result.rules);
    } else {
        evaluation.state = State::Unknown;
        evaluation.reasons = vec![Reason::text(crate::results::messages::NOT_EVALUATED)];
    }
    steps.push(evaluation);
    let at_root = own.and_then(|one| one.compliant.as_deref());
    let at_replica = text(replica, "/status/compliant");
    steps.push(Entry::of_rules(
        &subject,
        "status",
        vec![status(at_replica, at_root)],
    ));
    steps
}

/// Whether the hub has resolved the templates that are for it.
fn hub_templates(root: &Value, replica: &Value) -> Vec<Rule> {
    let mut rules = hub_template_errors(replica);
    if !rules.is_empty() {
        return rules;
    }
    let count: usize = definitions(root)
        .map(|definition| expressions(definition, Side::Hub).len())
        .sum();
    let left: usize = definitions(replica)
        .map(|definition| expressions(definition, Side::Hub).len())
        .sum();
    rules.push(match (count, left) {
        (0, _) => fact("", messages::NO_HUB_TEMPLATES),
        (count, 0) => fact("", messages::hub_templates(count)),
        (_, left) => finding("", State::Pending, messages::hub_templates_left(left)),
    });
    rules
}

/// Whether the policy on the cluster is the replicated one.
fn spec_sync(replica: &Value, on: Option<&OnCluster>, cluster: &str) -> Vec<Rule> {
    let Some(on) = on else {
        return vec![finding("", State::Skipped, messages::not_read(cluster))];
    };
    let spec = replica.get("spec");
    vec![match &on.policy {
        None => finding("", State::Pending, messages::not_synced(cluster)),
        Some(policy) if policy.get("spec") == spec => fact("", messages::synced(cluster)),
        Some(_) => finding("", State::Pending, messages::OTHER_SPEC),
    }]
}

/// Whether each template has its object on the cluster.
fn template_sync(replica: &Value, on: Option<&OnCluster>, cluster: &str) -> Vec<Rule> {
    let Some(on) = on else {
        return vec![finding("", State::Skipped, messages::not_read(cluster))];
    };
    let all = definitions(replica).zip(&on.objects);
    let rule = |(definition, object): (&Value, &TemplateObject)| {
        let (kind, name) = (
            text(definition, "/kind"),
            text(definition, "/metadata/name"),
        );
        match object {
            TemplateObject::Found(_) => fact(name, messages::object(kind, name)),
            TemplateObject::Absent if is_unresolved(definition) => {
                finding(name, State::Skipped, messages::NOT_CREATED)
            }
            TemplateObject::Absent => {
                finding(name, State::Pending, messages::no_object(kind, name))
            }
            TemplateObject::NotServed => finding(
                name,
                State::Error,
                crate::results::messages::kind_not_installed(kind, text(definition, "/apiVersion")),
            ),
        }
    };
    all.map(rule).collect()
}

/// Whether the root policy reports what the cluster has reported.
fn status(at_replica: &str, at_root: Option<&str>) -> Rule {
    match (at_replica, at_root) {
        ("", None | Some("")) => finding("", State::Unknown, messages::NO_STATUS),
        (replica, Some(root)) if replica == root => fact("", messages::status(root)),
        (replica, root) => finding(
            "",
            State::Pending,
            messages::statuses_differ(replica, root.unwrap_or_default()),
        ),
    }
}
