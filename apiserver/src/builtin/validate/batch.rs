//! Jobs, and what makes them when it is time.

use serde_json::Value;

use super::common;
use super::cron;
use super::field::{
    Errors, FieldValue, immutable, none_negative, not_negative, one_of, required_one_of,
};
use super::pods::{self, Restarts};
use super::shape;
use crate::names;
use crate::status_error::{Cause, FieldError};

const CRON_NAME: usize = 52;

/// A Job.
pub(super) fn job(object: &FieldValue<'_>, old: Option<&FieldValue<'_>>, errors: &mut Errors) {
    let spec = object.get("spec");
    job_spec(&spec, errors);
    pods_of_job(&spec, errors);
    if let Some(old) = old {
        job_update(&spec, &old.get("spec"), errors);
    }
}

/// A Job selects its own Pods.
fn pods_of_job(spec: &FieldValue<'_>, errors: &mut Errors) {
    let selector = spec.get("selector");
    let labels = spec.get("template.metadata.labels");
    if !selector.is_set() {
        errors.push(selector.required(""));
    }
    common::selector(&selector, errors);
    let own = selector
        .get("matchLabels")
        .key(super::super::jobs::UID)
        .text();
    if !spec.get("manualSelector").is_true()
        && selector.is_set()
        && (own.is_empty() || selector.get("matchLabels").len() > 1)
    {
        let shown = shape::selector(selector.value);
        errors.push(shape::invalid(
            &selector,
            &shown,
            "`selector` not auto-generated",
        ));
    }
    if !selector.is_set() || !common::selects(&selector, labels.value) {
        errors.push(labels.invalid("`selector` does not match template `labels`"));
    }
}

fn job_spec(spec: &FieldValue<'_>, errors: &mut Errors) {
    none_negative(
        spec,
        &[
            "parallelism",
            "completions",
            "activeDeadlineSeconds",
            "backoffLimit",
            "ttlSecondsAfterFinished",
            "backoffLimitPerIndex",
            "maxFailedIndexes",
        ],
        errors,
    );
    pods::template(&spec.get("template"), Restarts::AtMostOnFailure, errors);
    let mode = spec.get("completionMode");
    if mode.is_set() && !["NonIndexed", "Indexed"].contains(&mode.text()) {
        errors.push(mode.unsupported(&["NonIndexed", "Indexed"]));
    }
    if mode.text() == "Indexed" {
        let completions = spec.get("completions");
        if !completions.is_set() {
            errors.push(completions.required("when completion mode is Indexed"));
        }
    } else {
        for field in ["backoffLimitPerIndex", "maxFailedIndexes"] {
            let at = spec.get(field);
            if at.is_set() {
                errors.push(at.invalid("requires indexed completion mode"));
            }
        }
    }
    if spec.get("maxFailedIndexes").is_set() && !spec.get("backoffLimitPerIndex").is_set() {
        let limit = spec.get("backoffLimitPerIndex");
        errors.push(limit.required("when maxFailedIndexes is specified"));
    }
    let manager = spec.get("managedBy");
    if manager.is_set() {
        super::field::named(&manager, domain_path, errors);
    }
    let replacement = spec.get("podReplacementPolicy");
    let with_failures = spec.get("podFailurePolicy").is_set();
    if with_failures {
        one_of(&replacement, &["Failed"], errors);
    } else {
        one_of(&replacement, &["Failed", "TerminatingOrFailed"], errors);
    }
    failures(spec, errors);
}

/// Validates a name that begins with a domain.
pub(super) fn domain_path(text: &str) -> Vec<String> {
    let Some((domain, path)) = text.split_once('/') else {
        return vec!["must be a domain-prefixed path (such as \"acme.io/foo\")".to_owned()];
    };
    let mut errors = names::subdomain(domain);
    if path.is_empty() {
        errors.push("must be a domain-prefixed path (such as \"acme.io/foo\")".to_owned());
    }
    errors
}

/// The pod failure policy of a Job.
fn failures(spec: &FieldValue<'_>, errors: &mut Errors) {
    let policy = spec.get("podFailurePolicy");
    if !policy.is_set() {
        return;
    }
    let restarts = spec.get("template.spec.restartPolicy");
    if restarts.text() != "Never" {
        let why = "only \"Never\" is supported when podFailurePolicy is specified";
        errors.push(restarts.invalid_text(why));
    }
    for rule in policy.get("rules").items() {
        let action = rule.get("action");
        let actions = ["Count", "FailIndex", "FailJob", "Ignore"];
        if !action.is_empty() && !actions.contains(&action.text()) {
            errors.push(action.unsupported(&actions));
        } else {
            required_one_of(&action, &actions, errors);
        }
        let (codes, conditions) = (rule.get("onExitCodes"), rule.get("onPodConditions"));
        if codes.is_set() {
            exit_codes(&codes, errors);
        }
        if codes.is_set() && !conditions.is_empty() {
            let why = "specifying both OnExitCodes and OnPodConditions is not supported";
            errors.push(FieldError::new(Cause::Invalid, &rule.path, why));
        }
        if !codes.is_set() && conditions.is_empty() {
            let why = "specifying one of OnExitCodes and OnPodConditions is required";
            errors.push(FieldError::new(Cause::Invalid, &rule.path, why));
        }
    }
}

fn exit_codes(codes: &FieldValue<'_>, errors: &mut Errors) {
    required_one_of(&codes.get("operator"), &["In", "NotIn"], errors);
    let values = codes.get("values");
    if values.is_empty() {
        errors.push(values.invalid("at least one value is required"));
    }
}

fn job_update(new: &FieldValue<'_>, old: &FieldValue<'_>, errors: &mut Errors) {
    let indexed = new.get("completionMode").text() == "Indexed";
    let (completions, parallelism) = (new.get("completions"), new.get("parallelism"));
    let before = old.get("completions");
    let scales = indexed && completions.value == parallelism.value;
    if !scales {
        immutable(&completions, &before, errors);
    }
    for field in ["selector", "completionMode", "podFailurePolicy"] {
        immutable(&new.get(field), &old.get(field), errors);
    }
    let (after, before) = (new.get("template"), old.get("template"));
    let waits = old.get("suspend").is_true();
    let spec = |template: &Value| template.get("spec").cloned();
    let (now, then) = (
        placed_apart(after.value, waits),
        placed_apart(before.value, waits),
    );
    if waits && spec(&now) != spec(&then) {
        errors.push(after.get("spec").invalid("field is immutable"));
    } else if now != then {
        errors.push(after.invalid("field is immutable"));
    }
    for field in ["backoffLimitPerIndex", "managedBy", "successPolicy"] {
        immutable(&new.get(field), &old.get(field), errors);
    }
}

/// A template without what may change as long as a Job waits: where its Pods go and what they ask for.
fn placed_apart(template: &Value, waits: bool) -> Value {
    let mut rest = template.clone();
    if !waits {
        return rest;
    }
    if let Some(metadata) = rest.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("labels");
        metadata.remove("annotations");
    }
    if let Some(spec) = rest.get_mut("spec").and_then(Value::as_object_mut) {
        for field in ["nodeSelector", "tolerations", "schedulingGates", "affinity"] {
            spec.remove(field);
        }
        for list in ["initContainers", "containers"] {
            let containers = spec.get_mut(list).and_then(Value::as_array_mut);
            for one in containers.into_iter().flatten() {
                if let Some(one) = one.as_object_mut() {
                    one.remove("resources");
                }
            }
        }
    }
    rest
}

/// A `CronJob`.
pub(super) fn cron_job(object: &FieldValue<'_>, old: Option<&FieldValue<'_>>, errors: &mut Errors) {
    let spec = object.get("spec");
    let name = object.get("metadata.name");
    if name.text().len() > CRON_NAME && old.is_none() {
        errors.push(name.invalid("must be no more than 52 characters"));
    }
    let schedule = spec.get("schedule");
    if schedule.is_empty() {
        errors.push(schedule.required(""));
    } else {
        let has_zone = spec.get("timeZone").is_set();
        errors.extend(
            cron::schedule(schedule.text(), has_zone)
                .iter()
                .map(|why| schedule.invalid(why)),
        );
    }
    not_negative(&spec.get("startingDeadlineSeconds"), errors);
    let zone = spec.get("timeZone");
    if zone.is_set() {
        errors.extend(
            cron::zone(zone.text())
                .iter()
                .map(|why| zone.invalid_text(why)),
        );
    }
    let known = ["Allow", "Forbid", "Replace"];
    required_one_of(&spec.get("concurrencyPolicy"), &known, errors);
    let job = spec.get("jobTemplate.spec");
    job_spec(&job, errors);
    if job.get("manualSelector").is_true() {
        let manual = job.get("manualSelector");
        let shown = manual.value.to_string();
        errors.push(shape::unsupported(&manual, &shown, &["nil", "false"]));
    }
    let selector = job.get("selector");
    if selector.is_set() {
        let shown = shape::selector(selector.value);
        let why = "`selector` will be auto-generated";
        errors.push(shape::invalid(&selector, &shown, why));
    }
    none_negative(
        &spec,
        &["successfulJobsHistoryLimit", "failedJobsHistoryLimit"],
        errors,
    );
}
