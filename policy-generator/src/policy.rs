//! Root policies and policy sets.

use reeve_go_compat::value::{Map, Value};

use crate::config::{Dependency, PolicyConfig, PolicySetConfig};
use crate::kinds::{POLICY_API_VERSION, POLICY_KIND, POLICY_SET_API_VERSION, POLICY_SET_KIND};
use crate::templates::{Template, dependency};
use crate::values::{map_field, object, set, text_field, texts};

/// The root policy of these templates. `before` is the policy that it waits for.
pub fn policy(
    config: &PolicyConfig,
    templates: &[Template],
    namespace: &str,
    before: Option<&PolicyConfig>,
) -> Map {
    let options = &config.policy;
    let metadata = Map::dict();
    set(&metadata, "annotations", Value::Map(annotations(config)));
    let labels = texts(options.labels.as_ref());
    if !labels.is_empty() {
        set(&metadata, "labels", Value::Map(labels));
    }
    set(&metadata, "name", config.name.as_str());
    set(&metadata, "namespace", namespace);

    let spec = Map::dict();
    set(&spec, "disabled", options.disabled == Some(true));
    let entries = templates
        .iter()
        .map(|template| Value::Map(template.0.clone()));
    set(&spec, "policy-templates", Value::list(entries));
    if options.copy_policy_metadata == Some(false) {
        set(&spec, "copyPolicyMetadata", false);
    }
    let ordered = before.map(|before| Dependency {
        api_version: POLICY_API_VERSION.to_owned(),
        compliance: "Compliant".to_owned(),
        kind: POLICY_KIND.to_owned(),
        name: before.name.clone(),
        namespace: namespace.to_owned(),
    });
    let dependencies = options.dependencies.iter().flatten().chain(&ordered);
    let dependencies: Vec<Value> = dependencies.map(dependency).collect();
    if !dependencies.is_empty() {
        set(&spec, "dependencies", Value::list(dependencies));
    }
    let account = options.hub_template_service_account.as_str();
    if !account.is_empty() {
        let hub_templates = Value::dict([("serviceAccountName", account.into())]);
        set(&spec, "hubTemplateOptions", hub_templates);
    }
    if let Some(action) = remediation_action(templates) {
        set(&spec, "remediationAction", action);
    }
    object(POLICY_API_VERSION, POLICY_KIND, metadata, spec)
}

/// A policy set.
pub fn policy_set(config: &PolicySetConfig, namespace: &str) -> Map {
    let metadata = Map::dict();
    set(&metadata, "name", config.name.as_str());
    set(&metadata, "namespace", namespace);
    let spec = Map::dict();
    set(&spec, "description", config.description.as_str());
    let members = config.policies.iter().map(|name| Value::str(name.as_str()));
    set(&spec, "policies", Value::list(members));
    if !config.exclusions.is_empty() {
        set(&spec, "exclusions", Value::list(config.exclusions.clone()));
    }
    object(POLICY_SET_API_VERSION, POLICY_SET_KIND, metadata, spec)
}

fn annotations(config: &PolicyConfig) -> Map {
    let options = &config.policy;
    let annotations = texts(options.annotations.as_ref());
    let joined = |texts: &Option<Vec<String>>| texts.as_deref().unwrap_or_default().join(",");
    for (key, value) in [
        ("categories", joined(&options.categories)),
        ("controls", joined(&options.controls)),
        ("standards", joined(&options.standards)),
        ("description", options.description.clone()),
    ] {
        set(
            &annotations,
            &format!("policy.open-cluster-management.io/{key}"),
            value,
        );
    }
    annotations
}

/// The action on which all templates that have one agree.
fn remediation_action(templates: &[Template]) -> Option<String> {
    let action_of = |template: &Template| {
        let spec = map_field(&template.object()?, "spec")?;
        text_field(&spec, "remediationAction")
    };
    let mut actions = templates.iter().filter_map(action_of);
    let first = actions.next()?;
    if actions.any(|action| action != first) {
        return None;
    }
    if first.eq_ignore_ascii_case("informonly") {
        return Some("inform".to_owned());
    }
    Some(first)
}
