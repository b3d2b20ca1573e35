//! Tests of the comparison: the building blocks, whole objects, properties, and what the Go libraries answer.

use serde_json::{Map, Value};

use super::{
    AbsenceRules, Comparison, ComplianceType, DesiredContent, EmptyListRule, ZeroRule, compare,
};

mod blocks;
mod differences;
mod objects;
mod oracle;
mod properties;

/// The rules for a field of musthave outside of lists.
const STRICT: AbsenceRules = AbsenceRules {
    zero: ZeroRule::Distinct,
    empty_list: EmptyListRule::IfNotStored,
};

fn map(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        other => panic!("not a map: {other}"),
    }
}

fn list(value: Value) -> Vec<Value> {
    match value {
        Value::Array(items) => items,
        other => panic!("not a list: {other}"),
    }
}

fn compared(compliance: ComplianceType, definition: &Value, live: &Value) -> Comparison {
    let definition = map(definition.clone());
    compare(
        DesiredContent {
            definition: &definition,
            compliance,
            metadata_compliance: None,
        },
        live,
    )
}

/// What an evaluation without a server would conclude.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Compliant,
    AskServer,
    NonCompliant,
    Error,
}

fn verdict_of(comparison: &Comparison) -> Verdict {
    if comparison.error.is_some() {
        Verdict::Error
    } else if comparison.update_needed || comparison.status_mismatch {
        Verdict::NonCompliant
    } else if comparison.missing {
        Verdict::AskServer
    } else {
        Verdict::Compliant
    }
}
