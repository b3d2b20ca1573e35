//! `HorizontalPodAutoscalers`.

use super::common;
use super::field::{Errors, FieldValue, required_name};
use crate::names;
use crate::status_error::{Cause, FieldError};

/// The types of metrics, and where each has what it needs.
const METRICS: [(&str, &str); 5] = [
    ("ContainerResource", "containerResource"),
    ("External", "external"),
    ("Object", "object"),
    ("Pods", "pods"),
    ("Resource", "resource"),
];
const AN_HOUR: i64 = 3600;
const HALF_AN_HOUR: i64 = 1800;

/// An autoscaler.
pub(super) fn autoscaler(object: &FieldValue<'_>, errors: &mut Errors) {
    let spec = object.get("spec");
    let (least, most) = (spec.get("minReplicas"), spec.get("maxReplicas"));
    let metrics = spec.get("metrics");
    let highest = most.number().unwrap_or_default();
    if least.number().is_some_and(|number| number < 1) {
        errors.push(least.invalid("must be greater than or equal to 1"));
    }
    if highest < 1 {
        errors.push(most.required("must be set and greater than 0"));
    }
    if least.number().is_some_and(|least| highest < least) {
        errors.push(FieldError::of_value(
            Cause::Invalid,
            &most.path,
            &highest.into(),
            "must be greater than or equal to `minReplicas`",
        ));
    }
    target_object(&spec.get("scaleTargetRef"), true, errors);
    for metric in metrics.items() {
        self::metric(&metric, errors);
    }
    let to_nothing = least.number() == Some(0);
    let from_elsewhere = metrics
        .items()
        .any(|one| ["Object", "External"].contains(&one.get("type").text()));
    if to_nothing && !from_elsewhere {
        errors.push(metrics.forbidden(
            "must specify at least one Object or External metric to support scaling to zero replicas",
        ));
    }
    for (field, longest) in [("scaleUp", AN_HOUR), ("scaleDown", AN_HOUR)] {
        let rules = spec.get("behavior").get(field);
        if rules.is_set() {
            behaviour(&rules, longest, errors);
        }
    }
}

fn target_object(target: &FieldValue<'_>, scaled: bool, errors: &mut Errors) {
    for field in ["kind", "name"] {
        required_name(&target.get(field), names::path_segment, errors);
    }
    let version = target.get("apiVersion");
    if version.text().matches('/').count() > 1 {
        let why = format!("unexpected GroupVersion string: {}", version.text());
        errors.push(version.invalid(&why));
    } else if scaled && version.is_empty() && target.get("kind").text() != "ReplicationController" {
        errors.push(version.invalid_text("apiVersion must specify API group"));
    }
}

fn metric(metric: &FieldValue<'_>, errors: &mut Errors) {
    let kind = metric.get("type");
    if kind.is_empty() {
        errors.push(kind.required("must specify a metric source type"));
    }
    let Some((_, field)) = METRICS.iter().find(|(known, _)| *known == kind.text()) else {
        let known: Vec<&str> = METRICS.iter().map(|(known, _)| *known).collect();
        errors.push(kind.unsupported(&known));
        errors.push(kind.unsupported(&known));
        return;
    };
    let source = metric.get(field);
    if !source.is_set() {
        errors.push(source.required("must populate information for the given metric source"));
        return;
    }
    let target = source.get("target");
    self::target(&target, errors);
    match *field {
        "object" => target_object(&source.get("describedObject"), false, errors),
        "resource" | "containerResource" => of_resource(&source, errors),
        _ => {}
    }
    if ["object", "pods", "external"].contains(field) {
        let name = source.get("metric.name");
        if name.is_empty() {
            errors.push(name.required("must specify a metric name"));
        } else {
            super::field::named(&name, names::path_segment, errors);
        }
    }
    let (value, average) = (target.get("value"), target.get("averageValue"));
    match *field {
        "pods" if !positive(&average) => {
            errors.push(average.required("must specify a positive target averageValue"));
        }
        "object" | "external" if !value.is_set() && !average.is_set() => {
            let why = if *field == "object" {
                "must set either a target value or averageValue"
            } else {
                "must set either a target value for metric or a per-pod target"
            };
            errors.push(average.required(why));
        }
        "external" if value.is_set() && average.is_set() => {
            let why = "may not set both a target value for metric and a per-pod target";
            errors.push(value.forbidden(why));
        }
        _ => {}
    }
}

fn positive(at: &FieldValue<'_>) -> bool {
    common::amount(at).is_some_and(|amount| amount > 0)
}

fn of_resource(source: &FieldValue<'_>, errors: &mut Errors) {
    let name = source.get("name");
    if name.is_empty() {
        errors.push(name.required("must specify a resource name"));
    }
    if source.path.ends_with("containerResource") {
        let container = source.get("container");
        if container.is_empty() {
            errors.push(container.required("must specify a container"));
        }
    }
    let (usage, average) = (
        source.get("target.averageUtilization"),
        source.get("target.averageValue"),
    );
    if !usage.is_set() && !average.is_set() {
        let why = "must set either a target raw value or a target utilization";
        errors.push(usage.required(why));
    }
    if usage.is_set() && average.is_set() {
        let why = "may not set both a target raw value and a target utilization";
        errors.push(average.forbidden(why));
    }
}

fn target(target: &FieldValue<'_>, errors: &mut Errors) {
    let kind = target.get("type");
    if kind.is_empty() {
        errors.push(kind.required("must specify a metric target type"));
    } else if !["Utilization", "Value", "AverageValue"].contains(&kind.text()) {
        errors.push(kind.invalid("must be either Utilization, Value, or AverageValue"));
    }
    for field in ["value", "averageValue"] {
        let at = target.get(field);
        if at.is_set() && !positive(&at) {
            errors.push(at.invalid("must be positive"));
        }
    }
    let usage = target.get("averageUtilization");
    if usage.number().is_some_and(|usage| usage < 1) {
        errors.push(usage.invalid("must be greater than 0"));
    }
}

fn behaviour(rules: &FieldValue<'_>, longest: i64, errors: &mut Errors) {
    let window = rules.get("stabilizationWindowSeconds");
    match window.number() {
        Some(seconds) if seconds < 0 => {
            errors.push(window.invalid("must be greater than or equal to zero"));
        }
        Some(seconds) if seconds > longest => {
            errors.push(window.invalid(&format!("must be less than or equal to {longest}")));
        }
        _ => {}
    }
    let select = rules.get("selectPolicy");
    super::field::one_of(&select, &["Disabled", "Max", "Min"], errors);
    let policies = rules.get("policies");
    if policies.is_empty() {
        errors.push(policies.required("must specify at least one Policy"));
    }
    for policy in policies.items() {
        let kind = policy.get("type");
        if !["Percent", "Pods"].contains(&kind.text()) {
            errors.push(kind.unsupported(&["Percent", "Pods"]));
        }
        for (field, most) in [("value", i64::MAX), ("periodSeconds", HALF_AN_HOUR)] {
            let at = policy.get(field);
            let number = at.number().unwrap_or_default();
            if number <= 0 {
                errors.push(at.invalid("must be greater than zero"));
            } else if number > most {
                errors.push(at.invalid(&format!("must be less than or equal to {most}")));
            }
        }
    }
}
