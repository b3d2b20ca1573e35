//! What becomes of a template: its expressions, what the hub made of them, its object on each cluster, and the objects
//! that it is about.

use reeve_report::{Entry, Rule, State};
use serde_json::Value;

use super::expressions::{Side, at, expressions, hub_template_errors};
use super::observe::{Observed, OfPolicy, TemplateObject, definitions, text};
use super::{fact, finding, messages};
use crate::results::entries;
use crate::results::hub::PolicyView;

/// The steps of one template, or of all.
pub(super) fn steps(
    observed: &Observed,
    root: &PolicyView,
    only: Option<usize>,
    of_policy: &OfPolicy,
) -> Vec<Entry> {
    let whole = format!("{}/{}", root.metadata.namespace, root.metadata.name);
    let evaluations = |name: &str| of_policy.on_clusters.get(name).map(|on| &on.evaluations);
    let results = entries::of_policy(&observed.hub, root, &evaluations);
    let mut all = Vec::new();
    for (index, definition) in definitions(&of_policy.root).enumerate() {
        if only.is_some_and(|only| only != index) {
            continue;
        }
        let subject = format!("{whole}/{}", text(definition, "/metadata/name"));
        all.push(Entry::of_rules(&subject, "template", described(definition)));
        for (namespace, replica) in &of_policy.replicas {
            let result = results.iter().find(|one| one.place == *namespace);
            let on = messages::on_cluster(&subject, namespace);
            all.extend(on_cluster(
                &on,
                of_policy,
                (namespace, replica),
                index,
                result,
            ));
        }
    }
    if of_policy.replicas.is_empty() {
        let why = results.iter().flat_map(|entry| &entry.reasons).cloned();
        let mut none = Entry::of_rules(&whole, "clusters", Vec::new());
        none.state = State::Unplaced;
        none.reasons = why.collect();
        all.push(none);
    }
    all
}

/// The kind of a template, and its expressions.
fn described(definition: &Value) -> Vec<Rule> {
    let kind = text(definition, "/kind");
    let mut rules = vec![fact("", messages::template(kind))];
    for (side, word) in [
        (Side::Hub, messages::BY_HUB),
        (Side::Cluster, messages::BY_CLUSTER),
    ] {
        for (path, expression) in expressions(definition, side) {
            rules.push(fact(&path, messages::expression(word, expression)));
        }
    }
    rules
}

fn on_cluster(
    subject: &str,
    of_policy: &OfPolicy,
    (cluster, replica): (&String, &Value),
    index: usize,
    result: Option<&Entry>,
) -> Vec<Entry> {
    let mut steps = Vec::new();
    let root = definitions(&of_policy.root).nth(index);
    let resolved = definitions(replica).nth(index);
    if let (Some(root), Some(resolved)) = (root, resolved) {
        let fields = expressions(root, Side::Hub);
        if !fields.is_empty() {
            let errors = hub_template_errors(replica);
            let rules = match errors.into_iter().next() {
                Some(failed) => vec![failed],
                None => fields
                    .iter()
                    .map(|(path, _)| fact(path, messages::value(at(resolved, path))))
                    .collect(),
            };
            steps.push(Entry::of_rules(subject, "hub templates", rules));
        }
    }
    let on = of_policy.on_clusters.get(cluster);
    let object = match on.and_then(|on| on.objects.get(index)) {
        None => finding("", State::Skipped, messages::not_read(cluster)),
        Some(TemplateObject::Found(found)) => {
            let (kind, name) = (text(found, "/kind"), text(found, "/metadata/name"));
            fact("", messages::object(kind, name))
        }
        Some(TemplateObject::Absent) => {
            let kind = resolved.map(|one| text(one, "/kind")).unwrap_or_default();
            let name = resolved.map(|one| text(one, "/metadata/name"));
            let why = messages::no_object(kind, name.unwrap_or_default());
            finding("", State::Pending, why)
        }
        Some(TemplateObject::NotServed) => {
            let kind = resolved.map(|one| text(one, "/kind")).unwrap_or_default();
            let api_version = resolved.map(|one| text(one, "/apiVersion"));
            let api_version = api_version.unwrap_or_default();
            let why = crate::results::messages::kind_not_installed(kind, api_version);
            finding("", State::Error, why)
        }
    };
    let found = match on.and_then(|on| on.objects.get(index)) {
        Some(TemplateObject::Found(found)) => Some(found.as_ref()),
        _ => None,
    };
    steps.push(Entry::of_rules(subject, "object", vec![object]));
    let rules = result.and_then(|result| result.rules.get(index)).cloned();
    steps.push(Entry::of_rules(
        subject,
        "evaluation",
        rules.into_iter().collect(),
    ));
    let related = found.map(related).unwrap_or_default();
    if !related.is_empty() {
        steps.push(Entry::of_rules(subject, "objects", related));
    }
    steps
}

/// The objects that an evaluation was about.
fn related(object: &Value) -> Vec<Rule> {
    let related = object.pointer("/status/relatedObjects");
    let related = related.and_then(Value::as_array).into_iter().flatten();
    let rule = |one: &Value| {
        let (kind, name) = (
            text(one, "/object/kind"),
            text(one, "/object/metadata/name"),
        );
        let name = match text(one, "/object/metadata/namespace") {
            "" => format!("{kind} {name}"),
            namespace => format!("{kind} {namespace}/{name}"),
        };
        let state = match text(one, "/compliant") {
            "Compliant" => State::Compliant,
            "NonCompliant" => State::Violation,
            _ => State::Unknown,
        };
        finding(&name, state, text(one, "/reason"))
    };
    related.map(rule).collect()
}
