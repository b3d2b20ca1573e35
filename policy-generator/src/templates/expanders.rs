//! Configuration policies that inform on what Gatekeeper and Kyverno found.

use reeve_go_compat::value::{Map, Value};

use super::configuration_policy::bare;
use crate::config::PolicyConfig;
use crate::kinds::CONSTRAINT_GROUP;
use crate::messages;
use crate::settings::Mode;
use crate::values::{map_field, name_of, set, text_field};

/// The version of constraints that upstream's generator informs on.
const CONSTRAINT_VERSION: &str = "v1beta1";

/// The groups of Kyverno, with the version that upstream's generator informs on.
const KYVERNO_GROUP: &str = "kyverno.io";
const KYVERNO_POLICIES_GROUP: &str = "policies.kyverno.io";
const KYVERNO_VERSION: &str = "v1";

/// The kinds of `policies.kyverno.io`; each exists with `Namespaced` before it, too.
const KYVERNO_KINDS: [&str; 4] = [
    "ValidatingPolicy",
    "MutatingPolicy",
    "GeneratingPolicy",
    "ImageValidatingPolicy",
];
const NAMESPACED: &str = "Namespaced";

/// The annotations of the Event that Gatekeeper emits when it denies a request; those that depend on the constraint are added.
const DENIED: [(&str, &str); 2] = [("constraint_action", "deny"), ("event_type", "violation")];

/// The additional objects for one object of a manifest: Gatekeeper's, then Kyverno's.
pub(super) fn expand(policy: &PolicyConfig, object: &Map, mode: Mode) -> Vec<Map> {
    let severity = policy.template.severity.as_str();
    match Informed::of(policy, object) {
        Some(informed) if informed.is_known || mode.is_extended() => match informed.engine {
            Engine::Gatekeeper => gatekeeper(&informed, severity, mode).to_vec(),
            Engine::Kyverno => vec![kyverno(&informed, severity, mode)],
        },
        _ => Vec::new(),
    }
}

/// What the additional objects of one object do not do, though their names promise it.
pub(super) fn hint(policy: &PolicyConfig, object: &Map, mode: Mode) -> Option<String> {
    let informed = Informed::of(policy, object)?;
    let (kind, name) = (informed.kind.as_str(), informed.name.as_str());
    if !mode.is_extended() && !informed.is_known {
        let api_version = informed.api_version.as_str();
        return Some(messages::not_informed_on(
            &policy.name,
            kind,
            name,
            api_version,
        ));
    }
    match informed.engine {
        Engine::Gatekeeper if !mode.is_extended() => {
            Some(messages::no_admission_event(&policy.name, kind, name))
        }
        Engine::Kyverno if informed.is_namespaced() && informed.namespace.is_none() => {
            Some(messages::unknown_report_namespace(&policy.name, kind, name))
        }
        Engine::Kyverno if informed.is_namespaced() && !mode.is_extended() => {
            Some(messages::reported_with_namespace(&policy.name, kind, name))
        }
        _ => None,
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Engine {
    Gatekeeper,
    Kyverno,
}

/// An object of an engine on which the generator informs.
struct Informed {
    engine: Engine,
    api_version: String,
    kind: String,
    name: String,
    namespace: Option<String>,
    /// Upstream's generator informs on its version.
    is_known: bool,
}

impl Informed {
    fn of(policy: &PolicyConfig, object: &Map) -> Option<Self> {
        let api_version = text_field(object, "apiVersion")?;
        let kind = text_field(object, "kind").filter(|kind| !kind.is_empty())?;
        let name = name_of(object).filter(|name| !name.is_empty())?;
        let (group, version) = api_version.split_once('/')?;
        let (engine, informs, known) = match group {
            CONSTRAINT_GROUP => (
                Engine::Gatekeeper,
                policy.policy.inform_gatekeeper_policies,
                CONSTRAINT_VERSION,
            ),
            KYVERNO_GROUP | KYVERNO_POLICIES_GROUP if is_kyverno(group, &kind) => (
                Engine::Kyverno,
                policy.policy.inform_kyverno_policies,
                KYVERNO_VERSION,
            ),
            _ => return None,
        };
        let namespace = map_field(object, "metadata")
            .and_then(|metadata| text_field(&metadata, "namespace"))
            .filter(|namespace| !namespace.is_empty());
        (informs == Some(true)).then(|| Self {
            engine,
            is_known: version == known,
            namespace,
            api_version: api_version.clone(),
            kind,
            name,
        })
    }

    /// Whether a policy of Kyverno is one of a namespace: reports name it `<namespace>/<name>`.
    fn is_namespaced(&self) -> bool {
        self.engine == Engine::Kyverno
            && (self.kind == "Policy" || self.kind.starts_with(NAMESPACED))
    }
}

fn is_kyverno(group: &str, kind: &str) -> bool {
    if group == KYVERNO_GROUP {
        return matches!(kind, "ClusterPolicy" | "Policy");
    }
    KYVERNO_KINDS.contains(&kind.strip_prefix(NAMESPACED).unwrap_or(kind))
}

fn gatekeeper(constraint: &Informed, severity: &str, mode: Mode) -> [Map; 2] {
    let (kind, name) = (constraint.kind.as_str(), constraint.name.as_str());
    let audit = Value::dict([
        ("apiVersion", constraint.api_version.as_str().into()),
        ("kind", kind.into()),
        ("metadata", Value::dict([("name", name.into())])),
        ("status", Value::dict([("totalViolations", Value::Int(0))])),
    ]);
    let annotations = Map::dict();
    for (key, value) in DENIED {
        set(&annotations, key, value);
    }
    set(&annotations, "constraint_kind", kind);
    set(&annotations, "constraint_name", name);
    let annotations = ("annotations", Value::Map(annotations));
    let event = [("apiVersion", "v1".into()), ("kind", "Event".into())];
    let [api_version, event] = event;
    let admission = if mode.is_extended() {
        let metadata = ("metadata", Value::dict([annotations]));
        Value::dict([api_version, event, metadata])
    } else {
        // The annotations of an event are in its metadata; upstream looks for them here, so this matches no event.
        Value::dict([annotations, api_version, event])
    };
    let of_template = |word: &str, compliance_type: &str, object: Value| {
        let templates = vec![object_template(compliance_type, object)];
        inform(
            &format!("inform-gatekeeper-{word}-{name}"),
            severity,
            templates,
        )
    };
    [
        of_template("audit", "musthave", audit),
        of_template("admission", "mustnothave", admission),
    ]
}

fn kyverno(policy: &Informed, severity: &str, mode: Mode) -> Map {
    let report = |kind: &str, name: &str| {
        let result = Value::dict([("policy", name.into()), ("result", "fail".into())]);
        let report = Value::dict([
            ("apiVersion", "wgpolicyk8s.io/v1alpha2".into()),
            ("kind", kind.into()),
            ("results", Value::list([result])),
        ]);
        object_template("mustnothave", report)
    };
    let name = policy.name.as_str();
    let mut templates = vec![
        report("ClusterPolicyReport", name),
        report("PolicyReport", name),
    ];
    if let Some(namespace) = &policy.namespace
        && mode.is_extended()
        && policy.is_namespaced()
    {
        // It has no results in reports of the cluster.
        templates.push(report("PolicyReport", &format!("{namespace}/{name}")));
    }
    inform(&format!("inform-kyverno-{name}"), severity, templates)
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
