//! Quotas, ranges of limits, and budgets of disruptions.

use reeve_go_compat::labels;

use super::common::{self, at_most_all, number_or_percent};
use super::field::{Errors, FieldValue, no_duplicates, one_of};
use super::{containers, shape};
use crate::status_error::{Cause, FieldError};

/// Amounts that a quota may name.
const AMOUNTS: [&str; 11] = [
    "cpu",
    "memory",
    "ephemeral-storage",
    "storage",
    "requests.cpu",
    "requests.memory",
    "requests.storage",
    "requests.ephemeral-storage",
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
];
/// What it may count.
const COUNTS: [&str; 9] = [
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "persistentvolumeclaims",
    "configmaps",
    "services.nodeports",
    "services.loadbalancers",
];
const SCOPES: [&str; 7] = [
    "BestEffort",
    "CrossNamespacePodAffinity",
    "NotBestEffort",
    "NotTerminating",
    "PriorityClass",
    "Terminating",
    "VolumeAttributesClass",
];
/// Scopes that no object has at once.
const CLASHES: [(&str, &str); 2] = [
    ("BestEffort", "NotBestEffort"),
    ("Terminating", "NotTerminating"),
];

/// A `ResourceQuota`.
pub(super) fn quota(object: &FieldValue<'_>, old: Option<&FieldValue<'_>>, errors: &mut Errors) {
    let spec = object.get("spec");
    for (name, amount) in spec.get("hard").entries() {
        let counted = name.starts_with("count/");
        name_of(
            name,
            &amount,
            |name| {
                AMOUNTS.contains(&name)
                    || COUNTS.contains(&name)
                    || name.starts_with("hugepages-")
                    || name.starts_with("requests.hugepages-")
            },
            "must be a standard resource for quota",
            errors,
        );
        common::amount_not_negative(&amount, errors);
        if (counted || COUNTS.contains(&name)) && !common::is_whole(&amount) {
            errors.push(amount.invalid("must be an integer"));
        }
    }
    scopes(&spec, errors);
    scope_selector(&spec.get("scopeSelector"), errors);
    if let Some(old) = old {
        let key = |spec: &FieldValue<'_>| {
            let mut all: Vec<String> = spec
                .get("scopes")
                .items()
                .map(|one| one.text().to_owned())
                .collect();
            all.sort();
            all
        };
        if key(&spec) != key(&old.get("spec")) {
            errors.push(spec.get("scopes").invalid("field is immutable"));
        }
    }
}

/// The name of a resource: a standard one or an extended one.
fn name_of(
    name: &str,
    at: &FieldValue<'_>,
    known: impl Fn(&str) -> bool,
    why: &str,
    errors: &mut Errors,
) {
    let mut refuse = |why: &str| {
        errors.push(FieldError::of_value(
            Cause::Invalid,
            &at.path,
            &name.into(),
            why,
        ));
    };
    let wrong = labels::key_errors(name);
    for why in &wrong {
        refuse(why);
    }
    if !name.contains('/') && !known(name) {
        if wrong.is_empty() {
            refuse("must be a standard resource type or fully qualified");
        }
        refuse(why);
    }
}

fn scopes(spec: &FieldValue<'_>, errors: &mut Errors) {
    let scopes = spec.get("scopes");
    let has = |scope: &str| scopes.items().any(|one| one.text() == scope);
    for scope in scopes.items() {
        if !SCOPES.contains(&scope.text()) {
            errors.push(scopes.invalid("unsupported scope"));
        }
        for (name, _) in spec.get("hard").entries() {
            let fits = match scope.text() {
                "BestEffort" => name == "pods",
                "Terminating" | "NotTerminating" | "NotBestEffort" | "PriorityClass" => {
                    name == "pods" || ["cpu", "memory"].iter().any(|end| name.ends_with(end))
                }
                _ => true,
            };
            if !fits {
                errors.push(scopes.invalid("unsupported scope applied to resource"));
            }
        }
    }
    if CLASHES.iter().any(|(one, other)| has(one) && has(other)) {
        errors.push(scopes.invalid("conflicting scopes"));
    }
}

fn scope_selector(selector: &FieldValue<'_>, errors: &mut Errors) {
    for one in selector.get("matchExpressions").items() {
        // A kube-apiserver reports no index.
        let [scope, operator, values] = ["scopeName", "operator", "values"].map(|field| {
            selector
                .get("matchExpressions")
                .get(field)
                .with(one.get(field).value)
        });
        let by_presence = !["PriorityClass", "VolumeAttributesClass"].contains(&scope.text())
            && SCOPES.contains(&scope.text());
        if by_presence && operator.text() != "Exists" {
            errors.push(operator.invalid_text(
                "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, \
                 ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or \
                 ResourceQuotaScopeCrossNamespacePodAffinity",
            ));
        }
        if !SCOPES.contains(&scope.text()) {
            errors.push(scope.invalid_text("unsupported scope"));
        }
        match operator.text() {
            "In" | "NotIn" if values.is_empty() => errors.push(values.required(
                "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector",
            )),
            "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
            _ => errors.push(operator.invalid_text("not a valid selector operator")),
        }
    }
}

/// A `LimitRange`.
pub(super) fn limits(object: &FieldValue<'_>, errors: &mut Errors) {
    let all = object.get("spec.limits");
    for limit in all.items() {
        let kind = limit.get("type");
        super::field::named(&kind, labels::key_errors, errors);
        if !kind.text().contains('/')
            && !["Container", "Pod", "PersistentVolumeClaim"].contains(&kind.text())
        {
            errors.push(kind.invalid_text("must be a standard limit type or fully qualified"));
        }
        range(&limit, errors);
    }
    no_duplicates(all.items(), "type", errors);
}

fn range(limit: &FieldValue<'_>, errors: &mut Errors) {
    let [least, most, default, request, ratio] = [
        "min",
        "max",
        "default",
        "defaultRequest",
        "maxLimitRequestRatio",
    ]
    .map(|field| limit.get(field));
    let pod = limit.get("type").text() == "Pod";
    if pod {
        for at in [&default, &request] {
            if !at.is_empty() {
                errors.push(at.forbidden("may not be specified when `type` is 'Pod'"));
            }
        }
    }
    if limit.get("type").text() == "PersistentVolumeClaim"
        && !least.key("storage").is_set()
        && !most.key("storage").is_set()
    {
        errors.push(limit.get("limits").required(
            "either minimum or maximum storage value is required, but neither was provided",
        ));
    }
    for at in [&most, &least, &default, &request, &ratio] {
        for (name, amount) in at.entries() {
            if limit.get("type").text() == "Container" {
                containers::resource(name, &amount, errors);
            }
        }
    }
    let mut names: Vec<&str> = [&least, &most, &default, &request, &ratio]
        .iter()
        .flat_map(|at| at.entries().map(|(name, _)| name).collect::<Vec<_>>())
        .collect();
    names.sort_unstable();
    names.dedup();
    for name in names {
        order(
            [&least, &request, &default, &most].map(|at| at.key(name)),
            errors,
        );
        share(&least.key(name), &most.key(name), &ratio.key(name), errors);
    }
}

/// How much more may be allowed than is asked for.
fn share(
    least: &FieldValue<'_>,
    most: &FieldValue<'_>,
    ratio: &FieldValue<'_>,
    errors: &mut Errors,
) {
    let Some(times) = common::amount(ratio) else {
        return;
    };
    if times < 1_000_000_000 {
        errors.push(ratio.invalid(&format!("ratio {} is less than 1", ratio.text())));
    }
    let (Some(from), Some(to)) = (common::amount(least), common::amount(most)) else {
        return;
    };
    if from <= 0 || to <= 0 {
        return;
    }
    #[expect(clippy::cast_precision_loss, reason = "it is written with six digits")]
    let widest = to as f64 / from as f64;
    #[expect(clippy::cast_precision_loss, reason = "it is written with six digits")]
    let asked = times as f64 / 1e9;
    if asked > widest {
        let why = format!(
            "ratio {} is greater than max/min = {widest:.6}",
            ratio.text()
        );
        errors.push(ratio.invalid(&why));
    }
}

/// Least, request, default and most come in this order.
fn order([least, request, default, most]: [FieldValue<'_>; 4], errors: &mut Errors) {
    let more = |one: &FieldValue<'_>, other: &FieldValue<'_>| matches!((common::amount(one), common::amount(other)), (Some(one), Some(other)) if one > other);
    let mut refuse = |of: &FieldValue<'_>,
                      (what, than): (&str, &str),
                      (left, right): (&FieldValue<'_>, &FieldValue<'_>)| {
        let why = format!(
            "{what} value {} is {than} value {}",
            left.text(),
            right.text()
        );
        errors.push(of.invalid(&why));
    };
    if more(&least, &most) {
        refuse(&least, ("min", "greater than max"), (&least, &most));
    }
    if more(&least, &request) {
        let words = ("min", "greater than default request");
        refuse(&request, words, (&least, &request));
    }
    if more(&request, &most) {
        let words = ("default request", "greater than max");
        refuse(&request, words, (&request, &most));
    }
    if more(&request, &default) {
        let words = ("default request", "greater than default limit");
        refuse(&request, words, (&request, &default));
    }
    if more(&least, &default) {
        let at = default.with(least.value);
        refuse(&at, ("min", "greater than default"), (&least, &default));
    }
    if more(&default, &most) {
        let at = default.with(most.value);
        refuse(&at, ("default", "greater than max"), (&default, &most));
    }
}

/// A `PodDisruptionBudget`.
pub(super) fn budget(object: &FieldValue<'_>, errors: &mut Errors) {
    let spec = object.get("spec");
    let (least, most) = (spec.get("minAvailable"), spec.get("maxUnavailable"));
    if least.is_set() && most.is_set() {
        let shown = shape::whole(
            spec.value,
            &[
                ("MinAvailable", "minAvailable"),
                ("Selector", "selector"),
                ("MaxUnavailable", "maxUnavailable"),
                ("UnhealthyPodEvictionPolicy", "unhealthyPodEvictionPolicy"),
            ],
        );
        let why = "minAvailable and maxUnavailable cannot be both set";
        errors.push(shape::invalid(&spec, &shown, why));
    }
    for at in [&least, &most] {
        number_or_percent(at, errors);
        at_most_all(at, errors);
    }
    common::selector(&spec.get("selector"), errors);
    let known = ["AlwaysAllow", "IfHealthyBudget"];
    one_of(&spec.get("unhealthyPodEvictionPolicy"), &known, errors);
}
