//! What keeps Pods running: Deployments and their like.

use serde_json::Value;

use super::claims;
use super::common::{self, at_most_all, is_none, number_or_percent};
use super::field::{
    Errors, FieldValue, immutable, none_negative, not_negative, one_of, optional_name,
};
use super::pods::{self, Restarts};
use super::shape::{self, Field};
use crate::names;
use crate::status_error::{Cause, FieldError};

const FORBIDDEN_OF_SETS: &str = "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', \
    'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden";
const MAY_CHANGE_OF_SETS: [&str; 7] = [
    "replicas",
    "ordinals",
    "template",
    "updateStrategy",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
    "minReadySeconds",
];

const STRATEGY: [Field; 2] = [("Type", "type"), ("RollingUpdate", "rollingUpdate")];

/// A Deployment, `ReplicaSet`, `DaemonSet` or `StatefulSet`.
pub(super) fn workload(
    resource: &str,
    object: &FieldValue<'_>,
    old: Option<&FieldValue<'_>>,
    errors: &mut Errors,
) {
    let spec = object.get("spec");
    none_negative(&spec, &["replicas", "minReadySeconds"], errors);
    if resource != "statefulsets" {
        not_negative(&spec.get("revisionHistoryLimit"), errors);
    }
    selector(resource, &spec, errors);
    let template = spec.get("template");
    let claims = spec.get("volumeClaimTemplates");
    let claimed: Vec<&str> = claims
        .items()
        .map(|one| one.get("metadata.name").text())
        .collect();
    for (place, claim) in claims.items().enumerate() {
        // Every claim is a volume of the Pods.
        let name = FieldValue {
            value: claim.get("metadata.name").value,
            path: format!("spec.template.spec.volumes[{place}].name"),
        };
        super::field::required_name(&name, names::label, errors);
        claims::claim_spec(&claim.get("spec"), errors);
    }
    pods::template_with(&template, Restarts::Always, &claimed, errors);
    if resource == "statefulsets" {
        // A kube-apiserver reports these errors twice.
        pods::template_metadata(&template, errors);
    }
    let deadline = spec.get("template.spec.activeDeadlineSeconds");
    if deadline.is_set() {
        let kind = match resource {
            "deployments" | "replicasets" => "ReplicaSet",
            "daemonsets" => "DaemonSet",
            _ => "StatefulSet",
        };
        let why = format!("activeDeadlineSeconds in {kind} is not Supported");
        errors.push(deadline.forbidden(&why));
    }
    match resource {
        "deployments" => deployment(&spec, errors),
        "statefulsets" => stateful(&spec, errors),
        "daemonsets" => daemon(&spec, errors),
        _ => {}
    }
    let Some(old) = old else {
        return;
    };
    if resource == "statefulsets" {
        stateful_update(&spec, &old.get("spec"), errors);
    } else {
        immutable(&spec.get("selector"), &old.get("spec.selector"), errors);
    }
}

/// A workload selects the Pods that it makes.
fn selector(resource: &str, spec: &FieldValue<'_>, errors: &mut Errors) {
    let selector = spec.get("selector");
    let labels = spec.get("template.metadata.labels");
    let kind = match resource {
        "statefulsets" => "statefulset",
        "daemonsets" => "daemonset",
        _ => "deployment",
    };
    if selector.is_set() {
        let before = errors.len();
        common::selector(&selector, errors);
        if selector.is_empty() {
            let why = format!("empty selector is invalid for {kind}");
            errors.push(selector.invalid(&why));
        } else if errors.len() > before {
            let shown = shape::selector(selector.value);
            match kind {
                "deployment" => {
                    errors.push(shape::invalid(&selector, &shown, "invalid label selector"));
                }
                "statefulset" => errors.push(shape::invalid(&selector, &shown, "")),
                _ => {}
            }
            return;
        }
    } else if kind != "daemonset" {
        errors.push(selector.required(""));
    }
    if !selector.is_set() || !common::selects(&selector, labels.value) {
        errors.push(labels.invalid("`selector` does not match template `labels`"));
    }
}

fn deployment(spec: &FieldValue<'_>, errors: &mut Errors) {
    let strategy = spec.get("strategy");
    let rolling = strategy.get("rollingUpdate");
    match strategy.get("type").text() {
        "Recreate" => {
            if rolling.is_set() {
                let why = "may not be specified when strategy `type` is 'Recreate'";
                errors.push(rolling.forbidden(why));
            }
        }
        "RollingUpdate" => rolling_update(&rolling, errors),
        _ => {
            let shown = shape::whole(strategy.value, &STRATEGY);
            let known = ["Recreate", "RollingUpdate"];
            errors.push(shape::unsupported(&strategy, &shown, &known));
        }
    }
    let deadline = spec.get("progressDeadlineSeconds");
    if let Some(seconds) = deadline.number() {
        not_negative(&deadline, errors);
        let ready = spec.get("minReadySeconds").number().unwrap_or_default();
        if seconds <= ready {
            errors.push(deadline.invalid("must be greater than minReadySeconds"));
        }
    }
}

fn rolling_update(rolling: &FieldValue<'_>, errors: &mut Errors) {
    let (unavailable, surge) = (rolling.get("maxUnavailable"), rolling.get("maxSurge"));
    number_or_percent(&unavailable, errors);
    number_or_percent(&surge, errors);
    if is_none(&unavailable) && is_none(&surge) {
        errors.push(unavailable.invalid("may not be 0 when `maxSurge` is 0"));
    }
    at_most_all(&unavailable, errors);
}

fn stateful(spec: &FieldValue<'_>, errors: &mut Errors) {
    let management = spec.get("podManagementPolicy");
    if !["OrderedReady", "Parallel"].contains(&management.text()) {
        let why = "must be 'OrderedReady' or 'Parallel'";
        errors.push(management.invalid_text(why));
    }
    let strategy = spec.get("updateStrategy");
    let rolling = strategy.get("rollingUpdate");
    match strategy.get("type").text() {
        "OnDelete" if rolling.is_set() => {
            let fields = [
                ("Partition", "partition"),
                ("MaxUnavailable", "maxUnavailable"),
            ];
            let shown = shape::whole(rolling.value, &fields);
            let why = "only allowed for updateStrategy 'RollingUpdate'";
            errors.push(shape::invalid(&rolling, &shown, why));
        }
        "OnDelete" => {}
        "RollingUpdate" => not_negative(&rolling.get("partition"), errors),
        "" => errors.push(strategy.required("")),
        _ => {
            let shown = shape::whole(strategy.value, &STRATEGY);
            let why = "must be 'RollingUpdate' or 'OnDelete'";
            errors.push(shape::invalid(&strategy, &shown, why));
        }
    }
    let claims = spec.get("persistentVolumeClaimRetentionPolicy");
    for field in ["whenDeleted", "whenScaled"] {
        one_of(&claims.get(field), &["Retain", "Delete"], errors);
    }
    not_negative(&spec.get("ordinals.start"), errors);
    optional_name(&spec.get("serviceName"), names::label, errors);
}

fn stateful_update(new: &FieldValue<'_>, old: &FieldValue<'_>, errors: &mut Errors) {
    let rest = |spec: &Value| {
        let mut rest = spec.clone();
        if let Some(fields) = rest.as_object_mut() {
            for field in MAY_CHANGE_OF_SETS {
                fields.remove(field);
            }
        }
        rest
    };
    if rest(new.value) != rest(old.value) {
        errors.push(new.forbidden(FORBIDDEN_OF_SETS));
    }
}

fn daemon(spec: &FieldValue<'_>, errors: &mut Errors) {
    let strategy = spec.get("updateStrategy");
    let rolling = strategy.get("rollingUpdate");
    match strategy.get("type").text() {
        "OnDelete" => {}
        "RollingUpdate" => {
            let (unavailable, surge) = (rolling.get("maxUnavailable"), rolling.get("maxSurge"));
            number_or_percent(&unavailable, errors);
            number_or_percent(&surge, errors);
            match (is_none(&unavailable), is_none(&surge)) {
                (true, true) => errors.push(FieldError::new(
                    Cause::Required,
                    &unavailable.path,
                    "cannot be 0 when maxSurge is 0",
                )),
                (false, false) => {
                    errors.push(surge.invalid("may not be set when maxUnavailable is non-zero"));
                }
                _ => {}
            }
            at_most_all(&unavailable, errors);
            at_most_all(&surge, errors);
        }
        _ => {
            let shown = shape::whole(strategy.value, &STRATEGY);
            let known = ["RollingUpdate", "OnDelete"];
            errors.push(shape::unsupported(&strategy, &shown, &known));
        }
    }
}
