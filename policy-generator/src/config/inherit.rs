//! What policies take over from the defaults, manifests from their policy, and policy sets from policies.

use super::{
    Dependency, Generator, Halves, PlacementConfig, PlacementSpec, PolicyOptions, PolicySetConfig,
    TemplateOptions,
};
use crate::kinds::{POLICY_API_VERSION, POLICY_KIND};

impl Generator {
    /// Completes everything. Nothing is completed without policies.
    pub fn inherit(&mut self) {
        if self.policies.is_empty() {
            return;
        }
        self.complete_defaults();
        let defaults = &self.defaults;
        for policy in &mut self.policies {
            policy.policy.inherit(&defaults.policy);
            policy.template.inherit(&defaults.template);
            complete(&mut policy.policy.dependencies, &defaults.namespace);
            complete(&mut policy.template.extra_dependencies, &defaults.namespace);
            for manifest in &mut policy.manifests {
                manifest.template.inherit(&policy.template);
                complete(
                    &mut manifest.template.extra_dependencies,
                    &defaults.namespace,
                );
            }
        }
        self.complete_sets();
    }

    fn complete_defaults(&mut self) {
        let policy = &mut self.defaults.policy;
        let texts = |text: &str| vec![text.to_owned()];
        policy
            .categories
            .get_or_insert_with(|| texts("CM Configuration Management"));
        policy
            .controls
            .get_or_insert_with(|| texts("CM-2 Baseline Configuration"));
        policy
            .standards
            .get_or_insert_with(|| texts("NIST SP 800-53"));
        policy.copy_policy_metadata.get_or_insert(true);
        policy.disabled.get_or_insert(false);
        let ordered = *policy.order_manifests.get_or_insert(false);
        policy.inform_gatekeeper_policies.get_or_insert(true);
        policy.inform_kyverno_policies.get_or_insert(true);
        policy.generate_policy_placement.get_or_insert(true);
        policy.generate_placement_when_in_set.get_or_insert(false);
        // An explicit value beside `orderManifests` is refused later.
        policy.consolidate_manifests.get_or_insert(!ordered);
        let template = &mut self.defaults.template;
        for (option, default) in [
            (&mut template.remediation_action, "inform"),
            (&mut template.severity, "low"),
            (&mut template.compliance_type, "musthave"),
        ] {
            inherit_text(option, default);
        }
        template.ignore_pending.get_or_insert(false);
        complete(&mut policy.dependencies, &self.defaults.namespace);
        complete(&mut template.extra_dependencies, &self.defaults.namespace);
    }

    fn complete_sets(&mut self) {
        for policy in &self.policies {
            for name in policy.policy.policy_sets.iter().flatten() {
                let known = self.policy_sets.iter_mut().find(|set| set.name == *name);
                let member = policy.name.clone();
                match known {
                    Some(set) => set.policies.push(member),
                    None => self.policy_sets.push(PolicySetConfig {
                        name: name.clone(),
                        policies: vec![member],
                        ..PolicySetConfig::default()
                    }),
                }
            }
        }
        let default = self.set_defaults.generate_placement.unwrap_or(true);
        for set in &mut self.policy_sets {
            set.policies.sort();
            set.policies.dedup();
            set.placement.inherit(&self.set_defaults.placement);
            set.generate_placement.get_or_insert(default);
        }
    }
}

impl PolicyOptions {
    fn inherit(&mut self, from: &Self) {
        fn take<T: Clone>(own: &mut Option<T>, from: Option<&T>) {
            if own.is_none() {
                *own = from.cloned();
            }
        }
        take(&mut self.categories, from.categories.as_ref());
        take(&mut self.controls, from.controls.as_ref());
        take(&mut self.standards, from.standards.as_ref());
        inherit_text(&mut self.description, &from.description);
        take(&mut self.annotations, from.annotations.as_ref());
        take(&mut self.labels, from.labels.as_ref());
        take(
            &mut self.configuration_policy_annotations,
            from.configuration_policy_annotations.as_ref(),
        );
        take(
            &mut self.copy_policy_metadata,
            from.copy_policy_metadata.as_ref(),
        );
        take(&mut self.disabled, from.disabled.as_ref());
        inherit_text(
            &mut self.hub_template_service_account,
            &from.hub_template_service_account,
        );
        take(&mut self.dependencies, from.dependencies.as_ref());
        take(&mut self.order_manifests, from.order_manifests.as_ref());
        if self.consolidate_manifests.is_none() && self.order_manifests == Some(true) {
            self.consolidate_manifests = Some(false);
        }
        take(
            &mut self.consolidate_manifests,
            from.consolidate_manifests.as_ref(),
        );
        take(
            &mut self.inform_gatekeeper_policies,
            from.inform_gatekeeper_policies.as_ref(),
        );
        take(
            &mut self.inform_kyverno_policies,
            from.inform_kyverno_policies.as_ref(),
        );
        take(
            &mut self.generate_policy_placement,
            from.generate_policy_placement.as_ref(),
        );
        take(
            &mut self.generate_placement_when_in_set,
            from.generate_placement_when_in_set.as_ref(),
        );
        take(&mut self.policy_sets, from.policy_sets.as_ref());
        self.placement.inherit(&from.placement);
    }
}

impl TemplateOptions {
    fn inherit(&mut self, from: &Self) {
        if self.extra_dependencies.is_none() {
            self.extra_dependencies.clone_from(&from.extra_dependencies);
        }
        self.ignore_pending = self.ignore_pending.or(from.ignore_pending);
        for (own, from) in [
            (&mut self.remediation_action, &from.remediation_action),
            (&mut self.severity, &from.severity),
            (&mut self.compliance_type, &from.compliance_type),
            (
                &mut self.metadata_compliance_type,
                &from.metadata_compliance_type,
            ),
            (&mut self.recreate_option, &from.recreate_option),
            (&mut self.record_diff, &from.record_diff),
            (&mut self.prune_object_behavior, &from.prune_object_behavior),
            (
                &mut self.gatekeeper_enforcement_action,
                &from.gatekeeper_enforcement_action,
            ),
        ] {
            inherit_text(own, from);
        }
        for (own, from) in [
            (&mut self.object_selector, &from.object_selector),
            (&mut self.namespace_selector, &from.namespace_selector),
        ] {
            // One without entries inherits, as `{}` does.
            if own.is_none() {
                own.clone_from(from);
            }
        }
        self.evaluation_interval.inherit(&from.evaluation_interval);
        self.custom_message.inherit(&from.custom_message);
    }
}

impl Halves {
    fn inherit(&mut self, from: &Self) {
        for (own, from) in [
            (&mut self.compliant, &from.compliant),
            (&mut self.noncompliant, &from.noncompliant),
        ] {
            if own.is_none() {
                own.clone_from(from);
            }
        }
    }
}

impl PlacementConfig {
    /// Takes over where the clusters come from, but not the name, which is a rule for naming.
    fn inherit(&mut self, from: &Self) {
        if !self.is_set() {
            if !from.path.is_empty() {
                self.path.clone_from(&from.path);
            } else if !from.placement_name.is_empty() {
                self.placement_name.clone_from(&from.placement_name);
            } else if from.has_selector() {
                self.label_selector.clone_from(&from.label_selector);
            }
        }
        if self.is_generated() {
            self.spec.inherit(&from.spec);
        }
        let (own, from) = (&mut self.binding, &from.binding);
        inherit_text(&mut own.sub_filter, &from.sub_filter);
        inherit_text(&mut own.remediation_action, &from.remediation_action);
    }
}

impl PlacementSpec {
    fn inherit(&mut self, from: &Self) {
        if self.cluster_sets.is_none() {
            self.cluster_sets.clone_from(&from.cluster_sets);
        }
        for (own, from) in [
            (&mut self.number_of_clusters, &from.number_of_clusters),
            (&mut self.prioritizer_policy, &from.prioritizer_policy),
        ] {
            if own.is_none() {
                own.clone_from(from);
            }
        }
    }
}

fn inherit_text(own: &mut String, from: &str) {
    if own.is_empty() {
        from.clone_into(own);
    }
}

/// Fills in what dependencies leave out.
fn complete(dependencies: &mut Option<Vec<Dependency>>, namespace: &str) {
    for dependency in dependencies.iter_mut().flatten() {
        inherit_text(&mut dependency.kind, POLICY_KIND);
        inherit_text(&mut dependency.api_version, POLICY_API_VERSION);
        inherit_text(&mut dependency.compliance, "Compliant");
        if dependency.kind == POLICY_KIND {
            inherit_text(&mut dependency.namespace, namespace);
        }
    }
}
