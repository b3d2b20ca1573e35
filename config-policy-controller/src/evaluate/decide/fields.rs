//! The fields of an object that differ, for the status, with secret values redacted.

use reeve_api::configuration_policy::FieldDifference;
use serde_json::Value;

use super::Target;
use crate::evaluate::compare::{self, Mismatch, Shown};
use crate::evaluate::diff::{RecordDiff, Sensitivity};

/// How many fields are listed. An object that is entirely different is better read as a whole.
const MOST_FIELDS: usize = 20;
/// How much of a value is shown, in bytes of its JSON.
const LONGEST_VALUE: usize = 256;

/// The fields that differ, if the template's `recordDiff` lets the status hold them. The values of sensitive ones are
/// left out.
pub(super) fn shown(target: &Target<'_>, mismatches: &[Mismatch]) -> Vec<FieldDifference> {
    let desired = target.desired;
    let secret = desired.kind.group.is_empty() && desired.kind.kind == "Secret";
    let redact = match desired.record_diff {
        RecordDiff::None | RecordDiff::Log => return Vec::new(),
        RecordDiff::Censored => true,
        RecordDiff::InStatus => secret || desired.sensitivity == Sensitivity::Sensitive,
    };
    let one = |mismatch: &Mismatch| FieldDifference {
        path: mismatch.path.clone(),
        found: value(&mismatch.got).filter(|_| !redact),
        wanted: value(&mismatch.want).filter(|_| !redact),
        redacted: (redact || is_redacted(mismatch)).then_some(true),
    };
    mismatches.iter().take(MOST_FIELDS).map(one).collect()
}

/// The fields that an update would change.
pub(super) fn between(target: &Target<'_>, live: &Value, updated: &Value) -> Vec<FieldDifference> {
    let (live, updated) = (
        compare::without_noise(live),
        compare::without_noise(updated),
    );
    shown(target, &compare::differences(&updated, &live))
}

fn is_redacted(mismatch: &Mismatch) -> bool {
    mismatch.want == Shown::Redacted || mismatch.got == Shown::Redacted
}

fn value(shown: &Shown) -> Option<String> {
    let Shown::Value(value) = shown else {
        return None;
    };
    let text = value.to_string();
    if text.len() <= LONGEST_VALUE {
        return Some(text);
    }
    let start = reeve_runtime::events::at_most(&text, LONGEST_VALUE);
    Some(format!("{start}{}", crate::messages::TRUNCATED))
}
