//! Puts together what the hub and the clusters report.

use reeve_api::Compliance;
use reeve_api::names::RootPolicyName;
use reeve_api::policy::CompliancePerCluster;
use reeve_report::{Entry, Reason, Rule, State};

use super::cluster::Evaluations;
use super::hub::{HubView, PolicyView, Reported, Template};
use super::{messages, shorten, unplaced};

/// The annotations that reports carry.
const ANNOTATIONS: [&str; 3] = ["standards", "categories", "controls"];

/// The evaluations of a cluster.
pub(crate) type OfCluster<'a> = dyn Fn(&str) -> Option<&'a Evaluations> + 'a;

/// All policies on all clusters, and the objects that belong into a policy.
pub(super) fn all(hub: &HubView, of_cluster: &OfCluster<'_>) -> Vec<Entry> {
    let mut entries: Vec<Entry> = hub
        .roots
        .iter()
        .flat_map(|root| of_policy(hub, root, of_cluster))
        .collect();
    let misplaced = hub.misplaced.iter();
    entries.extend(misplaced.map(|(kind, namespace, name)| Entry {
        subject: format!("{namespace}/{name}"),
        state: State::Error,
        reasons: vec![Reason::text(messages::on_the_hub(kind))],
        ..Entry::default()
    }));
    entries
}

/// A policy on all clusters.
pub(crate) fn of_policy(
    hub: &HubView,
    root: &PolicyView,
    of_cluster: &OfCluster<'_>,
) -> Vec<Entry> {
    let (namespace, name) = (&root.metadata.namespace, &root.metadata.name);
    let annotations = ANNOTATIONS.iter().filter_map(|short| {
        let key = format!("policy.open-cluster-management.io/{short}");
        let value = root.metadata.annotations.get(&key)?;
        Some(((*short).to_owned(), value.clone()))
    });
    let entry = Entry {
        subject: format!("{namespace}/{name}"),
        annotations: annotations.collect(),
        ..Entry::default()
    };
    let without_cluster = |state, why: String| {
        vec![Entry {
            state,
            reasons: vec![Reason::text(why)],
            ..entry.clone()
        }]
    };
    if let Err(length) = RootPolicyName::new(namespace.clone(), name.clone()).fits() {
        return without_cluster(State::Error, messages::name_too_long(length));
    }
    if root.spec.disabled {
        return without_cluster(State::Skipped, messages::DISABLED.to_owned());
    }
    match root.status.status.as_deref() {
        None | Some([]) => match unplaced::why(hub, root) {
            Some(why) => without_cluster(State::Unplaced, why),
            None => without_cluster(State::Unknown, messages::NOT_EVALUATED.to_owned()),
        },
        Some(clusters) => clusters
            .iter()
            .map(|one| on_cluster(hub, root, one, &entry, of_cluster))
            .collect(),
    }
}

fn on_cluster(
    hub: &HubView,
    root: &PolicyView,
    one: &CompliancePerCluster,
    entry: &Entry,
    of_cluster: &OfCluster<'_>,
) -> Entry {
    let cluster = one.clustername.clone().unwrap_or_default();
    let replica = format!("{}.{}", root.metadata.namespace, root.metadata.name);
    let namespace = one.clusternamespace.clone();
    let namespace = namespace.unwrap_or_else(|| cluster.clone());
    let reported = hub.replicas.get(&(namespace, replica));
    let evaluations = of_cluster(&cluster);
    let rules = root.spec.templates.iter().enumerate();
    let rules: Vec<Rule> = rules
        .map(|(index, template)| {
            let reported = reported.and_then(|templates| templates.get(index));
            rule(template, reported, evaluations)
        })
        .collect();
    let worst = rules.iter().map(|rule| rule.state).min();
    Entry {
        place: cluster,
        state: worst.unwrap_or_default(),
        rules,
        ..entry.clone()
    }
}

fn rule(
    template: &Template,
    reported: Option<&Reported>,
    evaluations: Option<&Evaluations>,
) -> Rule {
    let definition = &template.object_definition;
    let name = definition.metadata.name.clone();
    let evaluation = evaluations.and_then(|all| all.get(&name));
    let message = reported.map(|reported| reported.message.clone());
    let message = message.unwrap_or_default();
    let state = match reported.and_then(|reported| reported.compliance) {
        Some(Compliance::Compliant) => State::Compliant,
        Some(Compliance::Pending) => State::Pending,
        Some(Compliance::NonCompliant) if shorten::is_template_error(&message) => State::Error,
        Some(Compliance::NonCompliant) => match evaluation {
            Some(evaluation) if shorten::has_error(evaluation) => State::Error,
            _ => State::Violation,
        },
        Some(Compliance::Terminating) | None => State::Unknown,
    };
    let reasons = match state {
        State::Compliant => Vec::new(),
        State::Unknown => vec![Reason::text(messages::NO_ANSWER)],
        _ => shorten::reasons(&message, evaluation),
    };
    Rule {
        name,
        state,
        message,
        reasons,
        severity: definition.spec.severity.clone(),
        ..Rule::default()
    }
}
