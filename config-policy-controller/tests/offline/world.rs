//! YAML in, report out.

use reeve_api::configuration_policy::{ConfigurationPolicy, ObjectProperties, RelatedObject};
use reeve_config_policy_controller::dryrun::Options;
use reeve_config_policy_controller::dryrun::{Offline, builtin, kind};
use reeve_config_policy_controller::{Report, evaluate};
use reeve_go_compat::{json, yaml};
use serde_json::Value;

/// The documents of a YAML text.
pub(crate) fn documents(text: &str) -> Vec<Value> {
    let parts = text.split("\n---\n");
    let read = |text: &str| -> Value {
        let value = yaml::decode_sigs(text.as_bytes()).unwrap();
        let json = json::encode(&value, json::Escape::Html).unwrap();
        serde_json::from_slice(&json).unwrap()
    };
    parts.map(read).filter(|value| !value.is_null()).collect()
}

/// A policy `p` in `managed`, from the fields of its spec.
pub(crate) fn policy(spec: &str) -> ConfigurationPolicy {
    let spec = documents(spec).remove(0);
    let mut policy = serde_json::json!({
        "apiVersion": "policy.open-cluster-management.io/v1", "kind": "ConfigurationPolicy",
        "metadata": {"name": "p", "namespace": "managed"},
        "spec": {"remediationAction": "inform"},
    });
    for (key, value) in spec.as_object().unwrap() {
        policy["spec"][key] = value.clone();
    }
    serde_json::from_value(policy).unwrap()
}

/// What the policy finds among the objects.
pub(crate) fn report(spec: &str, objects: &str) -> Report {
    report_of(&policy(spec), objects, &Options::default())
}

/// What a policy with these annotations finds.
pub(crate) fn report_of(policy: &ConfigurationPolicy, objects: &str, options: &Options) -> Report {
    let mut kinds = builtin();
    kinds.push(kind("config.example.com/v1", "Widget", "widgets", true));
    kinds.push(kind("config.example.com/v1", "Gadget", "gadgets", false));
    let cluster = Offline::new(kinds, documents(objects)).unwrap();
    evaluate(policy, &cluster, options)
}

/// The latest message.
pub(crate) fn message(report: &Report) -> &str {
    report.messages.last().map_or("", String::as_str)
}

/// The message of one object template.
pub(crate) fn detail(report: &Report, index: usize) -> String {
    let details = report.status.compliancy_details.as_ref().unwrap();
    let condition = &details[index].conditions.as_ref().unwrap()[0];
    condition.message.clone().unwrap_or_default()
}

/// The related objects: `Kind namespace/name compliant reason`.
pub(crate) fn related(report: &Report) -> Vec<String> {
    let entries = report.status.related_objects.iter().flatten();
    entries.map(describe).collect()
}

fn describe(entry: &RelatedObject) -> String {
    let object = entry.object.as_ref().unwrap();
    let metadata = object.metadata.as_ref().unwrap();
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    format!(
        "{} {}/{} {} {}",
        text(&object.kind),
        text(&metadata.namespace),
        text(&metadata.name),
        text(&entry.compliant),
        text(&entry.reason)
    )
}

/// The properties of the only related object.
pub(crate) fn properties(report: &Report) -> ObjectProperties {
    let related = report.status.related_objects.as_ref().unwrap();
    assert_eq!(related.len(), 1, "{related:?}");
    related[0].properties.clone().unwrap()
}

/// The difference that the only related object shows.
pub(crate) fn diff(report: &Report) -> String {
    properties(report).diff.unwrap_or_default()
}
