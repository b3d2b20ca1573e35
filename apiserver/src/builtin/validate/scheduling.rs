//! Where Pods may and should run.

use reeve_go_compat::labels;

use super::common;
use super::field::{Errors, FieldValue, one_of, required_one_of};
use crate::names;

/// The range of weights.
const WEIGHTS: &str = "must be in the range 1-100";
const EMPTY: &str = "can not be empty";

/// What Pods bear.
pub(super) fn tolerations(all: &FieldValue<'_>, errors: &mut Errors) {
    for one in all.items() {
        let (key, operator, value) = (one.get("key"), one.get("operator"), one.get("value"));
        let effect = one.get("effect");
        super::field::optional_name(&key, labels::key_errors, errors);
        if key.is_empty() && operator.text() != "Exists" {
            errors.push(operator.invalid_text(
                "operator must be Exists when `key` is empty, which means \"match all values and all keys\"",
            ));
        }
        let seconds = one.get("tolerationSeconds");
        if seconds.is_set() && effect.text() != "NoExecute" {
            errors.push(
                effect.invalid_text("effect must be 'NoExecute' when `tolerationSeconds` is set"),
            );
        }
        match operator.text() {
            "" | "Equal" => {
                for why in labels::value_errors(value.text()) {
                    errors.push(operator.with(value.value).invalid_text(&why));
                }
            }
            "Exists" if !value.is_empty() => {
                let why = "value must be empty when `operator` is 'Exists'";
                errors.push(operator.with(value.value).invalid(why));
            }
            "Exists" => {}
            // Those that compare are behind a switch of the server.
            "Lt" | "Gt" => {
                errors.push(operator.unsupported(&["Equal", "Exists", "Lt", "Gt"]));
            }
            _ => errors.push(operator.unsupported(&["Equal", "Exists"])),
        }
        if !effect.is_empty() {
            let known = ["NoSchedule", "PreferNoSchedule", "NoExecute"];
            one_of(&effect, &known, errors);
        }
    }
}

/// What nodes and which neighbours Pods want.
pub(super) fn affinity(affinity: &FieldValue<'_>, errors: &mut Errors) {
    let nodes = affinity.get("nodeAffinity");
    let required = nodes.get("requiredDuringSchedulingIgnoredDuringExecution");
    if required.is_set() {
        node_selector(&required, errors);
    }
    for one in nodes
        .get("preferredDuringSchedulingIgnoredDuringExecution")
        .items()
    {
        weight(&one.get("weight"), errors);
        node_term(&one.get("preference"), errors);
    }
    for kind in ["podAffinity", "podAntiAffinity"] {
        let pods = affinity.get(kind);
        for term in pods
            .get("requiredDuringSchedulingIgnoredDuringExecution")
            .items()
        {
            pod_term(&term, errors);
        }
        for one in pods
            .get("preferredDuringSchedulingIgnoredDuringExecution")
            .items()
        {
            weight(&one.get("weight"), errors);
            pod_term(&one.get("podAffinityTerm"), errors);
        }
    }
}

fn weight(at: &FieldValue<'_>, errors: &mut Errors) {
    if at
        .number()
        .is_none_or(|weight| !(1..=100).contains(&weight))
    {
        errors.push(at.invalid(WEIGHTS));
    }
}

/// A selector of nodes.
pub(super) fn node_selector(selector: &FieldValue<'_>, errors: &mut Errors) {
    let terms = selector.get("nodeSelectorTerms");
    if terms.is_empty() {
        errors.push(terms.required("must have at least one node selector term"));
    }
    for term in terms.items() {
        node_term(&term, errors);
    }
}

fn node_term(term: &FieldValue<'_>, errors: &mut Errors) {
    for one in term.get("matchExpressions").items() {
        if !["Gt", "Lt"].contains(&one.get("operator").text()) {
            common::expression(&one, errors);
            continue;
        }
        let values = one.get("values");
        if values.len() != 1 {
            let why = "must be specified single value when `operator` is 'Lt' or 'Gt'";
            errors.push(values.required(why));
        }
        common::names_of_expression(&one, errors);
    }
    for one in term.get("matchFields").items() {
        let (operator, values, key) = (one.get("operator"), one.get("values"), one.get("key"));
        match operator.text() {
            "In" | "NotIn" if values.len() != 1 => errors.push(values.required(
                "must be only one value when `operator` is 'In' or 'NotIn' for node field selector",
            )),
            "In" | "NotIn" => {}
            _ => errors.push(operator.invalid_text("not a valid selector operator")),
        }
        if key.text() != "metadata.name" {
            errors.push(key.invalid_text("not a valid field selector key"));
        }
    }
}

fn pod_term(term: &FieldValue<'_>, errors: &mut Errors) {
    common::selector(&term.get("labelSelector"), errors);
    common::selector(&term.get("namespaceSelector"), errors);
    for namespace in term.get("namespaces").items() {
        for why in names::label(namespace.text()) {
            errors.push(
                FieldValue {
                    value: namespace.value,
                    path: format!("{}.namespace", term.path),
                }
                .invalid(&why),
            );
        }
    }
    let topology = term.get("topologyKey");
    if topology.is_empty() {
        errors.push(topology.required(EMPTY));
    }
    super::field::named(&topology, labels::key_errors, errors);
}

/// How Pods spread.
pub(super) fn spreading(all: &FieldValue<'_>, errors: &mut Errors) {
    let pair = |one: &FieldValue<'_>| {
        let of = |field: &str| one.get(field).text().to_owned();
        (of("topologyKey"), of("whenUnsatisfiable"))
    };
    let pairs: Vec<(String, String)> = all.items().map(|one| pair(&one)).collect();
    for (place, one) in all.items().enumerate() {
        let (skew, topology) = (one.get("maxSkew"), one.get("topologyKey"));
        if skew.number().unwrap_or_default() <= 0 {
            errors.push(skew.invalid("must be greater than zero"));
        }
        if topology.is_empty() {
            errors.push(topology.required(EMPTY));
        } else {
            super::field::named(&topology, labels::key_errors, errors);
        }
        let otherwise = one.get("whenUnsatisfiable");
        required_one_of(&otherwise, &["DoNotSchedule", "ScheduleAnyway"], errors);
        let pair = pair(&one);
        if pairs.iter().skip(place + 1).any(|later| *later == pair) {
            let shown = format!("{{{}, {}}}", pair.0, pair.1);
            let place = FieldValue {
                value: &shown.into(),
                path: format!("{}.{{topologyKey, whenUnsatisfiable}}", one.path),
            };
            errors.push(place.duplicate());
        }
        let domains = one.get("minDomains");
        if domains.number().is_some_and(|domains| domains <= 0) {
            errors.push(domains.invalid("must be greater than zero"));
        }
        for field in ["nodeAffinityPolicy", "nodeTaintsPolicy"] {
            one_of(&one.get(field), &["Honor", "Ignore"], errors);
        }
        common::selector(&one.get("labelSelector"), errors);
    }
}
