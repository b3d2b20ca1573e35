//! Configuration policies that inform on what Gatekeeper and Kyverno found.

use reeve_go_compat::value::{Map, Value};

use super::configuration_policy::bare;
use crate::config::PolicyConfig;
use crate::values::{name_of, set, text_field};

/// The kinds of `policies.kyverno.io/v1`; each exists with `Namespaced` before it, too.
const KYVERNO_KINDS: [&str; 4] = [
    "ValidatingPolicy",
    "MutatingPolicy",
    "GeneratingPolicy",
    "ImageValidatingPolicy",
];

/// The additional objects for one object of a manifest: Gatekeeper's, then Kyverno's.
pub(super) fn expand(policy: &PolicyConfig, object: &Map) -> Vec<Map> {
    let text = |key| text_field(object, key).unwrap_or_default();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    let name = name_of(object).unwrap_or_default();
    if name.is_empty() || kind.is_empty() {
        return Vec::new();
    }
    let severity = policy.template.severity.as_str();
    let informs = |option: Option<bool>| option == Some(true);
    if informs(policy.policy.inform_gatekeeper_policies)
        && api_version == "constraints.gatekeeper.sh/v1beta1"
    {
        return gatekeeper(&api_version, &kind, &name, severity);
    }
    if informs(policy.policy.inform_kyverno_policies) && is_kyverno(&api_version, &kind) {
        return vec![kyverno(&name, severity)];
    }
    Vec::new()
}

fn is_kyverno(api_version: &str, kind: &str) -> bool {
    match api_version {
        "kyverno.io/v1" => matches!(kind, "ClusterPolicy" | "Policy"),
        "policies.kyverno.io/v1" => {
            let kind = kind.strip_prefix("Namespaced").unwrap_or(kind);
            KYVERNO_KINDS.contains(&kind)
        }
        _ => false,
    }
}

fn gatekeeper(api_version: &str, kind: &str, name: &str, severity: &str) -> Vec<Map> {
    let audit = Value::dict([
        ("apiVersion", api_version.into()),
        ("kind", kind.into()),
        ("metadata", Value::dict([("name", name.into())])),
        ("status", Value::dict([("totalViolations", Value::Int(0))])),
    ]);
    // The annotations of an event are in its metadata; upstream looks for them here, so this matches no event.
    let admission = Value::dict([
        (
            "annotations",
            Value::dict([
                ("constraint_action", "deny".into()),
                ("constraint_kind", kind.into()),
                ("constraint_name", name.into()),
                ("event_type", "violation".into()),
            ]),
        ),
        ("apiVersion", "v1".into()),
        ("kind", "Event".into()),
    ]);
    vec![
        inform(
            &format!("inform-gatekeeper-audit-{name}"),
            severity,
            vec![object_template("musthave", audit)],
        ),
        inform(
            &format!("inform-gatekeeper-admission-{name}"),
            severity,
            vec![object_template("mustnothave", admission)],
        ),
    ]
}

fn kyverno(name: &str, severity: &str) -> Map {
    let report = |kind: &str| {
        let result = Value::dict([("policy", name.into()), ("result", "fail".into())]);
        let report = Value::dict([
            ("apiVersion", "wgpolicyk8s.io/v1alpha2".into()),
            ("kind", kind.into()),
            ("results", Value::list([result])),
        ]);
        object_template("mustnothave", report)
    };
    inform(
        &format!("inform-kyverno-{name}"),
        severity,
        vec![report("ClusterPolicyReport"), report("PolicyReport")],
    )
}

fn object_template(compliance_type: &str, object: Value) -> Value {
    Value::dict([
        ("complianceType", compliance_type.into()),
        ("objectDefinition", object),
    ])
}

fn inform(name: &str, severity: &str, object_templates: Vec<Value>) -> Map {
    let spec = Map::dict();
    set(&spec, "remediationAction", "inform");
    set(&spec, "severity", severity);
    let namespaces = |pattern: &str| Value::list([Value::from(pattern)]);
    let selector = Value::dict([
        ("exclude", namespaces("kube-*")),
        ("include", namespaces("*")),
    ]);
    set(&spec, "namespaceSelector", selector);
    set(&spec, "object-templates", Value::list(object_templates));
    bare(name, spec)
}
