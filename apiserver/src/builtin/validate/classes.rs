//! Classes of Pods: of their priority, and of what runs them.

use super::field::{Errors, FieldValue, immutable, required_name};
use super::{common, containers, scheduling};
use crate::names;

const HIGHEST: i64 = 1_000_000_000;
const SYSTEM: [(&str, i64); 2] = [
    ("system-cluster-critical", 2_000_000_000),
    ("system-node-critical", 2_000_001_000),
];

/// A `PriorityClass`.
pub(super) fn priority(object: &FieldValue<'_>, old: Option<&FieldValue<'_>>, errors: &mut Errors) {
    let name = object.get("metadata.name");
    let (value, preemption) = (object.get("value"), object.get("preemptionPolicy"));
    let known = SYSTEM.iter().any(|(system, _)| *system == name.text());
    if name.text().starts_with("system-") {
        if !known {
            errors.push(name.forbidden(&format!(
                "priority class names with 'system-' prefix are reserved for system use only. error: {} is not a \
                 known system priority class",
                name.text()
            )));
        }
    } else if value.number().is_some_and(|value| value > HIGHEST) {
        let why = format!("maximum allowed value of a user defined priority is {HIGHEST}");
        errors.push(value.forbidden(&why));
    }
    let policies = ["PreemptLowerPriority", "Never"];
    if preemption.is_set() && !policies.contains(&preemption.text()) {
        errors.push(preemption.unsupported(&policies));
    }
    if let Some(old) = old {
        if value.value != old.get("value").value {
            errors.push(value.forbidden("may not be changed in an update."));
        }
        immutable(&preemption, &old.get("preemptionPolicy"), errors);
    }
}

/// A `RuntimeClass`.
pub(super) fn runtime(object: &FieldValue<'_>, old: Option<&FieldValue<'_>>, errors: &mut Errors) {
    let handler = object.get("handler");
    required_name(&handler, names::label, errors);
    for (name, amount) in object.get("overhead.podFixed").entries() {
        let at = FieldValue {
            value: amount.value,
            path: format!("overhead.limits[{name}]"),
        };
        containers::resource(name, &at, errors);
    }
    let scheduling = object.get("scheduling");
    common::labels(&scheduling.get("nodeSelector"), errors);
    scheduling::tolerations(&scheduling.get("tolerations"), errors);
    if let Some(old) = old {
        immutable(&handler, &old.get("handler"), errors);
    }
}
