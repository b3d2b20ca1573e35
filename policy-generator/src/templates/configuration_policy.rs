//! The configuration policies that the generator makes.

use std::collections::HashMap;

use reeve_go_compat::value::{Map, Value};

use crate::config::{Halves, PolicyOptions, TemplateOptions};
use crate::kinds::{CONFIGURATION_POLICY_KIND, POLICY_API_VERSION};
use crate::values::{object, set, texts};

/// How often each name was given.
#[derive(Default)]
pub(super) struct Names(HashMap<String, usize>);

impl Names {
    /// The name itself at first, then with 2, 3 and so on behind it.
    pub(super) fn next(&mut self, base: &str) -> String {
        let count = self.0.entry(base.to_owned()).or_default();
        *count += 1;
        match count {
            1 => base.to_owned(),
            count => format!("{base}{count}"),
        }
    }
}

/// A configuration policy of one object.
pub(super) fn of_object(
    name: &str,
    object: &Map,
    options: &TemplateOptions,
    policy: &PolicyOptions,
) -> Map {
    consolidated(
        name,
        vec![object_template(object, options)],
        options,
        policy,
    )
}

/// A configuration policy of object templates.
pub(super) fn consolidated(
    name: &str,
    object_templates: Vec<Value>,
    options: &TemplateOptions,
    policy: &PolicyOptions,
) -> Map {
    let spec = Map::dict();
    set(&spec, "object-templates", Value::list(object_templates));
    configuration_policy(name, spec, options, policy)
}

/// A configuration policy whose object templates are text.
pub(super) fn of_raw(
    name: &str,
    text: &str,
    options: &TemplateOptions,
    policy: &PolicyOptions,
) -> Map {
    let spec = Map::dict();
    set(&spec, "object-templates-raw", text);
    configuration_policy(name, spec, options, policy)
}

/// An entry of `object-templates`.
pub(super) fn object_template(object: &Map, options: &TemplateOptions) -> Value {
    let entry = Map::dict();
    set(&entry, "complianceType", options.compliance_type.as_str());
    set(&entry, "objectDefinition", Value::Map(object.clone()));
    set_text(
        &entry,
        "metadataComplianceType",
        &options.metadata_compliance_type,
    );
    set_text(&entry, "recreateOption", &options.recreate_option);
    set_text(&entry, "recordDiff", &options.record_diff);
    if let Some(selector) = &options.object_selector {
        set(&entry, "objectSelector", selector.clone());
    }
    Value::Map(entry)
}

fn configuration_policy(
    name: &str,
    spec: Map,
    options: &TemplateOptions,
    policy: &PolicyOptions,
) -> Map {
    set(
        &spec,
        "remediationAction",
        options.remediation_action.as_str(),
    );
    set(&spec, "severity", options.severity.as_str());
    if let Some(selector) = &options.namespace_selector {
        set(&spec, "namespaceSelector", selector.clone());
    }
    set_halves(&spec, "evaluationInterval", &options.evaluation_interval);
    set_halves(&spec, "customMessage", &options.custom_message);
    set_text(&spec, "pruneObjectBehavior", &options.prune_object_behavior);
    let metadata = Map::dict();
    set(&metadata, "name", name);
    let annotations = texts(policy.configuration_policy_annotations.as_ref());
    if !annotations.is_empty() {
        set(&metadata, "annotations", Value::Map(annotations));
    }
    object(
        POLICY_API_VERSION,
        CONFIGURATION_POLICY_KIND,
        metadata,
        spec,
    )
}

/// A configuration policy with this spec and no annotations.
pub(super) fn bare(name: &str, spec: Map) -> Map {
    let metadata = Map::dict();
    set(&metadata, "name", name);
    object(
        POLICY_API_VERSION,
        CONFIGURATION_POLICY_KIND,
        metadata,
        spec,
    )
}

fn set_text(map: &Map, key: &str, text: &str) {
    if !text.is_empty() {
        set(map, key, text);
    }
}

fn set_halves(spec: &Map, key: &str, halves: &Halves) {
    if halves.is_empty() {
        return;
    }
    let value = Map::dict();
    set_text(&value, "compliant", halves.compliant());
    set_text(&value, "noncompliant", halves.noncompliant());
    set(spec, key, Value::Map(value));
}
