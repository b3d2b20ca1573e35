//! The validation of policies.

use kube::ResourceExt;
use reeve_api::Policy;
use reeve_api::names::ROOT_POLICY_LABEL;
use reeve_api::policy::PolicyTemplate;

use super::{AdmissionDecision, Admit, Operation};
use crate::messages;

/// The longest namespace and name together, in characters. With the dot between them they are the value of a label on the
/// replicas, which has 63 characters at most.
const MAX_FULL_NAME_LENGTH: usize = 62;

impl Admit for Policy {
    fn admit(&self, operation: Operation) -> AdmissionDecision {
        let too_long = operation == Operation::Create && has_long_name(self);
        let denied = if too_long {
            Some(messages::LONG_NAME)
        } else {
            lacks_remediation(self).then_some(messages::NO_REMEDIATION)
        };
        AdmissionDecision {
            denied: denied.map(str::to_owned),
            warnings: templates_without_kind(self)
                .map(messages::template_without_kind)
                .collect(),
        }
    }
}

/// Whether a root policy's name is too long. The name of a replica is never the value of a label.
fn has_long_name(policy: &Policy) -> bool {
    let length = |text: Option<&str>| text.unwrap_or_default().chars().count();
    let meta = &policy.metadata;
    !policy.labels().contains_key(ROOT_POLICY_LABEL)
        && length(meta.name.as_deref()) + length(meta.namespace.as_deref()) > MAX_FULL_NAME_LENGTH
}

/// Whether a configuration policy gets a remediation action neither from the policy nor from the template. Other kinds have
/// defaults.
fn lacks_remediation(policy: &Policy) -> bool {
    let spec = &policy.spec;
    let is_set = |action: &String| !action.is_empty();
    if spec.remediation_action.as_ref().is_some_and(is_set) {
        return false;
    }
    let lacks = |template: &PolicyTemplate| {
        template.text("/kind") == Some("ConfigurationPolicy")
            && template.text("/spec/remediationAction").is_none()
    };
    spec.policy_templates.iter().any(lacks)
}

/// The positions of the templates without a kind.
fn templates_without_kind(policy: &Policy) -> impl Iterator<Item = usize> {
    let templates = policy.spec.policy_templates.iter().enumerate();
    templates
        .filter(|(_, template)| template.text("/kind").is_none_or(str::is_empty))
        .map(|(position, _)| position)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn policy(name: &str, spec: &Value) -> Policy {
        let value = json!({
            "apiVersion": "policy.open-cluster-management.io/v1", "kind": "Policy",
            "metadata": { "name": name, "namespace": "policies" }, "spec": spec
        });
        serde_json::from_value(value).unwrap()
    }

    fn with(action: &Value, definition: &Value) -> Policy {
        let templates = json!([{ "objectDefinition": definition }]);
        let mut spec = json!({ "disabled": false, "policy-templates": templates });
        if !action.is_null() {
            spec["remediationAction"] = action.clone();
        }
        policy("p", &spec)
    }

    fn empty(name: &str) -> Policy {
        policy(name, &json!({ "disabled": false, "policy-templates": [] }))
    }

    fn denied(policy: &Policy, operation: Operation) -> Option<String> {
        policy.admit(operation).denied
    }

    #[test]
    fn prop_52_long_name_is_denied_at_creation_unless_it_is_a_replica() {
        let long =
            "the combined length of the policy namespace and name cannot exceed 62 characters";
        let fits = empty(&"n".repeat(62 - "policies".len()));
        assert_eq!(denied(&fits, Operation::Create), None);
        // Characters count, not bytes.
        let fits = empty(&"ü".repeat(62 - "policies".len()));
        assert_eq!(denied(&fits, Operation::Create), None);
        let mut exceeds = empty(&"n".repeat(63 - "policies".len()));
        assert_eq!(denied(&exceeds, Operation::Create).as_deref(), Some(long));
        assert_eq!(denied(&exceeds, Operation::Update), None);
        exceeds
            .labels_mut()
            .insert(ROOT_POLICY_LABEL.to_owned(), String::new());
        assert_eq!(denied(&exceeds, Operation::Create), None);
        let mut both = with(&json!(null), &json!({ "kind": "ConfigurationPolicy" }));
        both.metadata.name = Some("n".repeat(60));
        assert_eq!(denied(&both, Operation::Create).as_deref(), Some(long));
    }

    #[test]
    fn prop_53_policy_without_a_remediation_action_is_denied() {
        let text = "RemediationAction field of the policy and policy template cannot both be unset";
        let template = |spec: Value| json!({ "kind": "ConfigurationPolicy", "spec": spec });
        let refused = [
            with(&json!(null), &template(json!({}))),
            with(&json!(""), &template(json!({}))),
            with(&json!(null), &template(json!({ "remediationAction": 1 }))),
            with(&json!(null), &json!({ "kind": "ConfigurationPolicy" })),
        ];
        for policy in refused {
            assert_eq!(denied(&policy, Operation::Create).as_deref(), Some(text));
            assert_eq!(denied(&policy, Operation::Update).as_deref(), Some(text));
        }
        let mut replica = with(&json!(null), &template(json!({})));
        let label = (ROOT_POLICY_LABEL.to_owned(), "a.b".to_owned());
        replica.labels_mut().extend([label]);
        assert!(denied(&replica, Operation::Create).is_some());
        let accepted = [
            with(&json!("inform"), &template(json!({}))),
            with(
                &json!(null),
                &template(json!({ "remediationAction": "enforce" })),
            ),
            with(&json!(null), &template(json!({ "remediationAction": "" }))),
            with(&json!(null), &json!({ "kind": "CertificatePolicy" })),
            with(&json!(null), &json!({ "spec": {} })),
            with(&json!(null), &json!("no object")),
        ];
        for policy in accepted {
            assert_eq!(denied(&policy, Operation::Create), None, "{policy:?}");
        }
    }

    #[test]
    fn prop_55_template_without_a_kind_gets_a_warning() {
        let decision = with(&json!("inform"), &json!({ "metadata": {} })).admit(Operation::Update);
        assert_eq!(decision.denied, None);
        let warning = "spec.policy-templates[0].objectDefinition has no kind: managed clusters will report it as invalid";
        assert_eq!(decision.warnings, [warning]);
    }
}
