//! The desired object of a template, and its comparison with the live one.

use std::collections::BTreeMap;

use kube::api::DynamicObject;
use kube::core::GroupVersionKind;
use reeve_api::names::{
    CLUSTER_NAME_LABEL, CLUSTER_NAMESPACE_LABEL, GROUP, LEGACY_CLUSTER_NAME_LABEL,
    LEGACY_CLUSTER_NAMESPACE_LABEL, PARENT_POLICY_LABEL,
};
use reeve_runtime::discovery::ServedKind;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::error::TemplateError;
use super::plan::{Parent, ParsedTemplate};
use crate::gatekeeper;
use crate::templates::{owners, parent_label};

/// The desired object of a template, as it is created.
pub fn build(
    parent: &Parent,
    parsed: &ParsedTemplate,
    kind: &ServedKind,
) -> Result<DynamicObject, TemplateError> {
    let mut object = DynamicObject::deserialize(&parsed.definition)
        .map_err(|error| TemplateError::Unmarshal(error.to_string()))?;
    let metadata = &mut object.metadata;
    metadata.namespace = kind.namespaced.then(|| parent.namespace.clone());
    metadata.owner_references = kind.namespaced.then(|| vec![parent.owner_reference()]);
    metadata
        .labels
        .get_or_insert_default()
        .extend(labels(parent));
    if let Some(spec) = object.data.get_mut("spec").and_then(Value::as_object_mut) {
        override_remediation(spec, &parsed.kind, parent.remediation.as_deref());
        fill_defaults(spec, &parsed.kind);
    }
    Ok(object)
}

fn labels(parent: &Parent) -> BTreeMap<String, String> {
    let labels = [
        (PARENT_POLICY_LABEL, &parent.name),
        (CLUSTER_NAME_LABEL, &parent.cluster),
        (LEGACY_CLUSTER_NAME_LABEL, &parent.cluster),
        (CLUSTER_NAMESPACE_LABEL, &parent.namespace),
        (LEGACY_CLUSTER_NAMESPACE_LABEL, &parent.namespace),
    ];
    labels
        .map(|(label, value)| (label.to_owned(), value.clone()))
        .into()
}

/// The policy's remediation action overrides the template's, unless the template only informs.
fn override_remediation(
    spec: &mut Map<String, Value>,
    kind: &GroupVersionKind,
    parent: Option<&str>,
) {
    match kind.group.as_str() {
        "templates.gatekeeper.sh" => {}
        "constraints.gatekeeper.sh" => {
            let action = match parent.map(str::to_ascii_lowercase).as_deref() {
                Some("inform") => "warn",
                Some("enforce") => "deny",
                _ => return,
            };
            spec.insert("enforcementAction".to_owned(), json!(action));
        }
        _ => {
            let own = spec.get("remediationAction").and_then(Value::as_str);
            let only_informs = own.is_some_and(|own| own.eq_ignore_ascii_case("informonly"));
            let action = if only_informs { Some("inform") } else { parent };
            if let Some(action) = action {
                spec.insert("remediationAction".to_owned(), json!(action));
            }
        }
    }
}

/// The defaults in the schema of `OperatorPolicy`: object, field and value.
const OPERATOR_POLICY_DEFAULTS: &[(&str, &[(&str, &str)])] = &[
    (
        "complianceConfig",
        &[
            ("catalogSourceUnhealthy", "Compliant"),
            ("deploymentsUnavailable", "NonCompliant"),
            ("deprecationsPresent", "Compliant"),
            ("minorChannelUpgradeAvailable", "Compliant"),
            ("upgradesAvailable", "Compliant"),
        ],
    ),
    (
        "removalBehavior",
        &[
            ("clusterServiceVersions", "Delete"),
            ("customResourceDefinitions", "Keep"),
            ("operatorGroups", "DeleteIfUnused"),
            ("subscriptions", "Delete"),
        ],
    ),
];

/// Fills the defaults of the API server, so that they are no drift.
fn fill_defaults(spec: &mut Map<String, Value>, kind: &GroupVersionKind) {
    if gatekeeper::is_constraint_template(kind) {
        fill_legacy_schema(spec, &kind.version);
    }
    if kind.group != GROUP {
        return;
    }
    match kind.kind.as_str() {
        "ConfigurationPolicy" => {
            fill(spec, "pruneObjectBehavior", "None");
            let templates = spec
                .get_mut("object-templates")
                .and_then(Value::as_array_mut);
            for template in templates.into_iter().flatten() {
                if let Some(template) = template.as_object_mut() {
                    fill(template, "recreateOption", "None");
                }
            }
        }
        "OperatorPolicy" => {
            for (group, defaults) in OPERATOR_POLICY_DEFAULTS {
                let group = spec.entry(*group).or_insert_with(|| json!({}));
                let Some(group) = group.as_object_mut() else {
                    continue;
                };
                for (field, default) in *defaults {
                    fill(group, field, default);
                }
            }
        }
        _ => {}
    }
}

/// Fills `legacySchema`: the API server defaults it only where there is a `validation`, Gatekeeper everywhere.
fn fill_legacy_schema(spec: &mut Map<String, Value>, version: &str) {
    let crd = spec.get_mut("crd").and_then(Value::as_object_mut);
    let Some(crd) = crd.and_then(|crd| crd.get_mut("spec")?.as_object_mut()) else {
        return;
    };
    let validation = crd.entry("validation").or_insert_with(|| json!({}));
    if validation.is_null() {
        *validation = json!({});
    }
    if let Some(validation) = validation.as_object_mut() {
        let legacy = validation.entry("legacySchema");
        legacy.or_insert_with(|| json!(version == "v1beta1"));
    }
}

fn fill(object: &mut Map<String, Value>, field: &str, default: &str) {
    let empty = match object.get(field) {
        None | Some(Value::Null) => true,
        Some(value) => value.as_str() == Some(""),
    };
    if empty {
        object.insert(field.to_owned(), json!(default));
    }
}

/// The live object with the desired fields; `None` if nothing differs. Labels and annotations that others have added are no drift,
/// but the next update removes them.
pub fn merge_into_live(
    parent: &Parent,
    kind: &ServedKind,
    desired: &DynamicObject,
    live: &DynamicObject,
) -> Option<DynamicObject> {
    // An owner reference is restored only if there is none; others may have added theirs.
    let restore = kind.namespaced
        && owners(&live.metadata).is_empty()
        && parent_label(&live.metadata) == Some(parent.name.as_str());
    let spec = desired.data.get("spec");
    if !restore
        && spec == live.data.get("spec")
        && has_all(
            live.metadata.labels.as_ref(),
            desired.metadata.labels.as_ref(),
        )
        && has_all(
            live.metadata.annotations.as_ref(),
            desired.metadata.annotations.as_ref(),
        )
    {
        return None;
    }
    let mut changed = live.clone();
    changed.metadata.labels.clone_from(&desired.metadata.labels);
    changed
        .metadata
        .annotations
        .clone_from(&desired.metadata.annotations);
    if restore {
        changed.metadata.owner_references = Some(vec![parent.owner_reference()]);
    }
    if let Some(data) = changed.data.as_object_mut() {
        match spec {
            Some(spec) => data.insert("spec".to_owned(), spec.clone()),
            None => data.remove("spec"),
        };
    }
    Some(changed)
}

type Pairs = BTreeMap<String, String>;

fn has_all(live: Option<&Pairs>, desired: Option<&Pairs>) -> bool {
    let mut desired = desired.into_iter().flatten();
    desired.all(|(key, value)| live.and_then(|live| live.get(key)) == Some(value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy_template_sync::tests::{parent, parsed, served};
    use rstest::rstest;

    fn build_spec(kind: &str, spec: &Value, parent_action: Option<&str>) -> Value {
        let mut parent = parent();
        parent.remediation = parent_action.map(str::to_owned);
        let (api_version, kind) = kind.rsplit_once('/').unwrap();
        let definition = json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": "t"}, "spec": spec});
        let object = build(
            &parent,
            &parsed(&definition),
            &served(api_version, kind, true),
        )
        .unwrap();
        object.data.get("spec").cloned().unwrap_or_default()
    }

    const CERTIFICATES: &str = "policy.open-cluster-management.io/v1/CertificatePolicy";
    const CONSTRAINT: &str = "constraints.gatekeeper.sh/v1beta1/NoTea";
    const CONSTRAINT_TEMPLATE: &str = "templates.gatekeeper.sh/v1/ConstraintTemplate";

    #[rstest]
    #[case::verbatim(CERTIFICATES, json!({"remediationAction": "inform"}), Some("Enforce"), json!({"remediationAction": "Enforce"}))]
    #[case::added(CERTIFICATES, json!({}), Some("enforce"), json!({"remediationAction": "enforce"}))]
    #[case::kept(CERTIFICATES, json!({"remediationAction": "inform"}), None, json!({"remediationAction": "inform"}))]
    #[case::only_informs(CERTIFICATES, json!({"remediationAction": "InformOnly"}), Some("enforce"), json!({"remediationAction": "inform"}))]
    #[case::only_informs_alone(CERTIFICATES, json!({"remediationAction": "informonly"}), None, json!({"remediationAction": "inform"}))]
    #[case::warn(CONSTRAINT, json!({"enforcementAction": "dryrun"}), Some("Inform"), json!({"enforcementAction": "warn"}))]
    #[case::deny(CONSTRAINT, json!({}), Some("enforce"), json!({"enforcementAction": "deny"}))]
    #[case::dryrun(CONSTRAINT, json!({"enforcementAction": "dryrun"}), None, json!({"enforcementAction": "dryrun"}))]
    #[case::template(CONSTRAINT_TEMPLATE, json!({"a": 1}), Some("enforce"), json!({"a": 1}))]
    #[case::no_object(CERTIFICATES, json!("text"), Some("enforce"), json!("text"))]
    fn remediation(
        #[case] kind: &str,
        #[case] spec: Value,
        #[case] parent: Option<&str>,
        #[case] expected: Value,
    ) {
        assert_eq!(build_spec(kind, &spec, parent), expected);
    }

    #[test]
    fn metadata() {
        let definition = json!({"apiVersion": "policy.open-cluster-management.io/v1", "kind": "ConfigurationPolicy",
            "metadata": {"name": "tmpl-a", "namespace": "bad", "labels": {"own": "x", "cluster-name": "lie"}}, "spec": {}});
        let kind = served(
            "policy.open-cluster-management.io/v1",
            "ConfigurationPolicy",
            true,
        );
        let object = build(&parent(), &parsed(&definition), &kind).unwrap();
        insta::assert_yaml_snapshot!(object, @r#"
        apiVersion: policy.open-cluster-management.io/v1
        kind: ConfigurationPolicy
        metadata:
          labels:
            cluster-name: c1
            cluster-namespace: c1
            own: x
            policy.open-cluster-management.io/cluster-name: c1
            policy.open-cluster-management.io/cluster-namespace: c1
            policy.open-cluster-management.io/policy: ns1.pol
          name: tmpl-a
          namespace: c1
          ownerReferences:
            - apiVersion: policy.open-cluster-management.io/v1
              blockOwnerDeletion: true
              controller: true
              kind: Policy
              name: ns1.pol
              uid: uid-1
        spec:
          pruneObjectBehavior: None
          remediationAction: enforce
        "#);
        let kind = served(
            "policy.open-cluster-management.io/v1",
            "ConfigurationPolicy",
            false,
        );
        let object = build(&parent(), &parsed(&definition), &kind).unwrap();
        assert_eq!(
            (object.metadata.namespace, object.metadata.owner_references),
            (None, None)
        );
    }

    fn live_of(definition: &Value) -> (ServedKind, DynamicObject, DynamicObject) {
        let api_version = definition["apiVersion"].as_str().unwrap();
        let kind = served(api_version, definition["kind"].as_str().unwrap(), true);
        let desired = build(&parent(), &parsed(definition), &kind).unwrap();
        (kind, desired.clone(), desired)
    }

    fn differs(change: impl FnOnce(&mut DynamicObject)) -> bool {
        let definition = json!({"apiVersion": "policy.open-cluster-management.io/v1", "kind": "ConfigurationPolicy",
            "metadata": {"name": "t", "annotations": {"note": "x"}}, "spec": {"object-templates": [{"complianceType": "musthave"}]}});
        let (kind, desired, mut live) = live_of(&definition);
        change(&mut live);
        merge_into_live(&parent(), &kind, &desired, &live).is_some()
    }

    fn label(object: &mut DynamicObject, label: &str, value: &str) {
        let labels = object.metadata.labels.as_mut().unwrap();
        labels.insert(label.to_owned(), value.to_owned());
    }

    #[test]
    fn drift_is_in_spec_labels_annotations_or_missing_owner() {
        assert!(!differs(|_| {}));
        assert!(!differs(|live| label(live, "extra", "y")));
        assert!(differs(|live| label(live, PARENT_POLICY_LABEL, "other")));
        assert!(differs(|live| live.metadata.annotations = None));
        assert!(differs(
            |live| live.data["spec"]["object-templates"] = json!([])
        ));
        assert!(differs(|live| live.metadata.owner_references = None));
        assert!(!differs(
            |live| live.data["status"] = json!({"compliant": "Compliant"})
        ));
        assert!(!differs(|live| live
            .metadata
            .owner_references
            .as_mut()
            .unwrap()[0]
            .uid = "old".into()));
    }

    #[test]
    fn defaults_of_the_api_server_are_no_drift() {
        let definition = json!({"apiVersion": "policy.open-cluster-management.io/v1", "kind": "ConfigurationPolicy",
            "metadata": {"name": "t"}, "spec": {"pruneObjectBehavior": "", "object-templates": [{"a": 1}]}});
        let (kind, desired, mut live) = live_of(&definition);
        live.data["spec"] = json!({"pruneObjectBehavior": "None", "remediationAction": "enforce",
            "object-templates": [{"a": 1, "recreateOption": "None"}]});
        assert!(merge_into_live(&parent(), &kind, &desired, &live).is_none());
    }

    #[test]
    fn op_24_34_defaults_of_an_operator_policy_are_no_drift() {
        let definition = json!({"apiVersion": "policy.open-cluster-management.io/v1beta1", "kind": "OperatorPolicy",
            "metadata": {"name": "t"}, "spec": {"removalBehavior": {"subscriptions": "Keep"}}});
        let (kind, desired, mut live) = live_of(&definition);
        let crds = reeve_api::crds::all().unwrap();
        let (_, crd) = crds
            .iter()
            .find(|(_, crd)| crd["spec"]["names"]["kind"] == "OperatorPolicy")
            .unwrap();
        let mut spec = definition["spec"].clone();
        spec["remediationAction"] = json!("enforce");
        for group in ["complianceConfig", "removalBehavior"] {
            let fields = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
                ["properties"][group]["properties"];
            for (field, schema) in fields.as_object().unwrap() {
                if spec[group][field].is_null() {
                    spec[group][field] = schema["default"].clone();
                }
            }
        }
        live.data["spec"] = spec;
        assert!(merge_into_live(&parent(), &kind, &desired, &live).is_none());
    }

    #[rstest]
    #[case::v1("v1", json!({"crd": {"spec": {"names": {"kind": "A"}}}}), json!({"legacySchema": false}))]
    #[case::v1beta1("v1beta1", json!({"crd": {"spec": {"validation": {"a": 1}}}}), json!({"a": 1, "legacySchema": true}))]
    #[case::given("v1", json!({"crd": {"spec": {"validation": {"legacySchema": true}}}}), json!({"legacySchema": true}))]
    #[case::null("v1", json!({"crd": {"spec": {"validation": null}}}), json!({"legacySchema": false}))]
    fn fwk_85_only_legacy_schema_is_defaulted_in_a_constraint_template(
        #[case] version: &str,
        #[case] mut spec: Value,
        #[case] expected: Value,
    ) {
        spec["fromTheFuture"] = json!({"a": 1});
        let kind = format!("templates.gatekeeper.sh/{version}/ConstraintTemplate");
        let built = build_spec(&kind, &spec, Some("enforce"));
        assert_eq!(built["crd"]["spec"]["validation"], expected);
        assert_eq!(built["fromTheFuture"], spec["fromTheFuture"]);
    }

    #[test]
    fn update_keeps_fields_that_the_template_does_not_set() {
        let definition =
            json!({"apiVersion": "a/v1", "kind": "K", "metadata": {"name": "t"}, "spec": {"a": 1}});
        let (kind, desired, mut live) = live_of(&definition);
        live.metadata.resource_version = Some("7".to_owned());
        live.metadata.finalizers = Some(vec!["f".to_owned()]);
        live.metadata.owner_references = None;
        live.data = json!({"spec": {"a": 2}, "status": {"x": 1}});
        let changed = merge_into_live(&parent(), &kind, &desired, &live).unwrap();
        assert_eq!(changed.metadata.resource_version.as_deref(), Some("7"));
        assert_eq!(changed.metadata.finalizers, live.metadata.finalizers);
        assert_eq!(
            changed.metadata.owner_references,
            Some(vec![parent().owner_reference()])
        );
        assert_eq!(
            changed.data,
            json!({"spec": {"a": 1, "remediationAction": "enforce"}, "status": {"x": 1}})
        );
    }
}
