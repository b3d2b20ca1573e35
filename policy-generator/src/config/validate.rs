//! Refuses what cannot be generated, in upstream's order: the first failure is reported.

use std::collections::HashSet;

use reeve_go_compat::labels::is_dns_subdomain;
use reeve_go_compat::time::Duration;
use reeve_go_compat::value::Value;

use super::{
    Dependency, Generator, Halves, ManifestConfig, PlacementConfig, PolicyConfig, TemplateOptions,
};
use crate::error::Error;
use crate::messages;
use crate::paths::Base;
use crate::selectors::label_selector;

/// The longest name of a replicated policy on a managed cluster.
const MAX_POLICY_NAME: usize = 63;

/// What is asked about files: whether they are there and below the working directory.
pub type Files = Base;

/// Checks a configuration in which everything is inherited.
pub fn validate(generator: &Generator, files: &Files) -> Result<(), Error> {
    let checker = Checker { generator, files };
    checker.defaults()?;
    let mut names = HashSet::new();
    for (index, policy) in generator.policies.iter().enumerate() {
        if policy.name.is_empty() {
            return fail(messages::unnamed_policy(index));
        }
        if !is_dns_subdomain(&policy.name) {
            return fail(messages::policy_name_not_dns(&policy.name));
        }
        if !names.insert(&policy.name) {
            return fail(messages::repeated_policy(&policy.name));
        }
        checker.policy(policy)?;
    }
    checker.sets()
}

fn fail(text: impl Into<String>) -> Result<(), Error> {
    Err(Error::new(text))
}

struct Checker<'a> {
    generator: &'a Generator,
    files: &'a Files,
}

impl Checker<'_> {
    fn defaults(&self) -> Result<(), Error> {
        let generator = self.generator;
        let defaults = &generator.defaults;
        if defaults.namespace.is_empty() {
            return fail(messages::NO_NAMESPACE);
        }
        self.placement(&defaults.policy.placement, "policyDefaults")?;
        let binding = &generator.binding_name;
        if !binding.is_empty() && !is_dns_subdomain(binding) {
            return fail(messages::binding_name_not_dns(binding));
        }
        if generator.policies.is_empty() {
            return fail(messages::NO_POLICIES);
        }
        let dependencies = defaults.policy.dependencies.as_deref().unwrap_or_default();
        if defaults.order_policies && !dependencies.is_empty() {
            return fail(messages::DEPENDENCIES_AND_ORDER);
        }
        named("dependencies", dependencies, "policyDefaults")?;
        let extra = defaults.template.extra_dependencies();
        if defaults.policy.order_manifests == Some(true) {
            if defaults.policy.consolidate_manifests == Some(true) {
                return fail(messages::CONSOLIDATED_AND_ORDERED);
            }
            if !extra.is_empty() {
                return fail(messages::EXTRA_DEPENDENCIES_AND_ORDERED);
            }
        }
        named("extraDependencies", extra, "policyDefaults")
    }

    fn policy(&self, policy: &PolicyConfig) -> Result<(), Error> {
        let (name, options) = (policy.name.as_str(), &policy.policy);
        let namespace = &self.generator.defaults.namespace;
        if namespace.len() + 1 + name.len() > MAX_POLICY_NAME {
            return fail(messages::long_policy_name(namespace, name));
        }
        interval(&policy.template.evaluation_interval)
            .map_err(|(half, error)| Error::new(messages::invalid_interval(name, half, &error)))?;
        if policy.manifests.is_empty() {
            return fail(messages::policy_without_manifests(name));
        }
        let dependencies = options.dependencies.as_deref().unwrap_or_default();
        if !dependencies.is_empty() && self.generator.defaults.order_policies {
            return fail(messages::dependencies_in_ordered_policy(name));
        }
        let of = format!("policy {name}");
        named("dependencies", dependencies, &of)?;
        let is_ordered = options.order_manifests == Some(true);
        if is_ordered && options.consolidate_manifests == Some(true) {
            return fail(messages::consolidated_and_ordered(name));
        }
        let extra = policy.template.extra_dependencies();
        if is_ordered && !extra.is_empty() {
            return fail(messages::extra_dependencies_of_ordered(name));
        }
        named("extraDependencies", extra, &of)?;
        for (index, manifest) in policy.manifests.iter().enumerate() {
            self.manifest(policy, index, manifest)?;
        }
        self.placement(&options.placement, &of)
    }

    fn manifest(
        &self,
        policy: &PolicyConfig,
        index: usize,
        manifest: &ManifestConfig,
    ) -> Result<(), Error> {
        let name = policy.name.as_str();
        if manifest.path.is_empty() {
            return fail(messages::manifest_without_path(name));
        }
        if !self.files.join(&manifest.path).exists() {
            return fail(messages::manifest_not_found(&manifest.path, name));
        }
        self.files.check(&manifest.path, "manifest")?;
        if !manifest.openapi.is_empty() {
            self.files.check(&manifest.openapi, "openapi")?;
        }
        let options = &manifest.template;
        if policy.policy.consolidate_manifests == Some(true)
            && let Some(field) = differing(options, &policy.template)
        {
            return fail(messages::set_on_consolidated(name, field, index));
        }
        interval(&options.evaluation_interval).map_err(|(half, error)| {
            Error::new(messages::invalid_manifest_interval(
                name, index, half, &error,
            ))
        })?;
        let extra = options.extra_dependencies();
        if policy.policy.order_manifests == Some(true) && !extra.is_empty() {
            return fail(messages::extra_dependencies_of_ordered_manifest(
                name, index,
            ));
        }
        let of = format!("policy {name} manifest[{index}]");
        named("extraDependencies", extra, &of)
    }

    fn placement(&self, placement: &PlacementConfig, of: &str) -> Result<(), Error> {
        let sources = [
            placement.has_selector(),
            !placement.path.is_empty(),
            !placement.placement_name.is_empty(),
        ];
        if sources.into_iter().filter(|is_set| *is_set).count() > 1 {
            return fail(messages::several_placements(of));
        }
        for (field, name) in [
            ("placementName", &placement.placement_name),
            ("name", &placement.name),
        ] {
            if !name.is_empty() && !is_dns_subdomain(name) {
                return fail(messages::placement_field_not_dns(of, field, name));
            }
        }
        if !placement.path.is_empty() && !self.files.join(&placement.path).exists() {
            return fail(messages::placement_not_found(of, &placement.path));
        }
        if label_selector(placement.label_selector.as_ref()).is_none() {
            return fail(messages::invalid_selectors(of));
        }
        if !placement.is_generated()
            && let Some((field, _)) = placement.spec.fields().first()
        {
            return fail(messages::placement_not_generated(of, field));
        }
        let is_count = |value: &Value| matches!(value, Value::Int(count) if i32::try_from(*count).is_ok_and(|count| count >= 0));
        match &placement.spec.number_of_clusters {
            Some(value) if !is_count(value) => fail(messages::no_number_of_clusters(of)),
            _ => Ok(()),
        }
    }

    fn sets(&self) -> Result<(), Error> {
        self.placement(&self.generator.set_defaults.placement, "policySetDefaults")?;
        let mut names = HashSet::new();
        for (index, set) in self.generator.policy_sets.iter().enumerate() {
            if set.name.is_empty() {
                return fail(messages::unnamed_set(index));
            }
            if !is_dns_subdomain(&set.name) {
                return fail(messages::set_name_not_dns(&set.name));
            }
            if !names.insert(&set.name) {
                return fail(messages::repeated_set(&set.name));
            }
            self.placement(&set.placement, &format!("policySet {}", set.name))?;
        }
        Ok(())
    }
}

fn named(list: &str, dependencies: &[Dependency], of: &str) -> Result<(), Error> {
    match dependencies.iter().position(|one| one.name.is_empty()) {
        Some(index) => fail(messages::unnamed_dependency(list, of, index)),
        None => Ok(()),
    }
}

/// The half that is no interval, and why.
fn interval(interval: &Halves) -> Result<(), (&'static str, String)> {
    for (half, text) in [
        ("compliant", interval.compliant()),
        ("noncompliant", interval.noncompliant()),
    ] {
        if !matches!(text, "" | "never" | "watch") {
            Duration::parse(text.as_bytes()).map_err(|error| (half, error))?;
        }
    }
    Ok(())
}

/// The first option of a manifest that differs from its policy's and has no place in a common configuration policy.
fn differing(own: &TemplateOptions, policy: &TemplateOptions) -> Option<&'static str> {
    let halves = |own: &Halves, policy: &Halves| {
        own.compliant() != policy.compliant() || own.noncompliant() != policy.noncompliant()
    };
    let namespaces = match (&own.namespace_selector, &policy.namespace_selector) {
        (Some(own), Some(policy)) => !own.deep_equal(policy),
        (None, None) => false,
        _ => true,
    };
    let differences = [
        (
            "evaluationInterval",
            halves(&own.evaluation_interval, &policy.evaluation_interval),
        ),
        (
            "customMessage",
            halves(&own.custom_message, &policy.custom_message),
        ),
        ("namespaceSelector", namespaces),
        (
            "pruneObjectBehavior",
            own.prune_object_behavior != policy.prune_object_behavior,
        ),
        (
            "remediationAction",
            own.remediation_action != policy.remediation_action,
        ),
        ("severity", own.severity != policy.severity),
        (
            "extraDependencies",
            own.extra_dependencies() != policy.extra_dependencies(),
        ),
        (
            "ignorePending",
            own.ignores_pending() != policy.ignores_pending(),
        ),
    ];
    let (field, _) = differences.into_iter().find(|(_, differs)| *differs)?;
    Some(field)
}
