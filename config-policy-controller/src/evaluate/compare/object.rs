//! Comparing a whole object.

use serde_json::{Map, Value};

use super::equality::Equality;
use super::error::CompareError;
use super::key::{KeyOutcome, compare_key};
use super::metadata::{self, compare_metadata};
use super::mismatch::{Mismatch, Reporter};
use super::rules::{ComplianceType, Rules, ZeroRule};
use super::secret::decoded_data;

/// The desired content of one object.
#[derive(Debug, Clone, Copy)]
pub struct DesiredContent<'a> {
    /// The object definition: `apiVersion`, `kind` and any other top-level keys.
    pub definition: &'a Map<String, Value>,
    /// The compliance type.
    pub compliance: ComplianceType,
    /// The compliance type of labels and annotations, if it is another one.
    pub metadata_compliance: Option<ComplianceType>,
}

/// How a live object relates to the desired content.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Comparison {
    /// The live object with the desired content merged in, including the desired `status`: what a diff shows.
    pub candidate: Value,
    /// Content other than `status` differs.
    pub update_needed: bool,
    /// A desired field, of the `status` too, is absent and may equal a default: only a dry run can decide.
    pub missing: bool,
    /// The desired `status` differs. It is checked, never written.
    pub status_mismatch: bool,
    /// The comparison could not be made. It counts as a violation, the other fields describe what was
    /// compared until then.
    pub error: Option<CompareError>,
    /// Field by field, what differs.
    pub mismatches: Vec<Mismatch>,
}

impl Comparison {
    /// The object to send in an update: the candidate with the `status` of the live object, since the API server would store the
    /// desired status of a kind without a status subresource. A dry run sends the candidate itself.
    pub fn to_write(&self, live: &Value) -> Value {
        with_status_of(&self.candidate, live)
    }

    /// Whether neither a dry run nor an update is needed.
    pub fn is_conclusive(&self) -> bool {
        !self.update_needed && !self.missing && self.error.is_none()
    }

    fn take(&mut self, key: &str, equality: Equality) {
        let is_status = key == "status";
        match equality {
            Equality::Same => {}
            Equality::Different | Equality::IfServerAgrees if is_status => {
                self.status_mismatch = true;
            }
            Equality::Different => self.update_needed = true,
            Equality::IfDefaulted | Equality::IfServerAgrees => self.missing = true,
        }
    }
}

/// A copy of an object with the `status` of another one.
pub fn with_status_of(object: &Value, other: &Value) -> Value {
    let mut object = object.clone();
    if let Some(fields) = object.as_object_mut() {
        match other.get("status") {
            Some(status) => fields.insert("status".to_owned(), status.clone()),
            None => fields.remove("status"),
        };
    }
    object
}

/// Compares a policy's object with the live object of that name.
pub fn compare(desired: DesiredContent<'_>, live: &Value) -> Comparison {
    compare_as(desired, live, ZeroRule::Distinct).comparison
}

/// Whether a listed object is one that a definition without a name describes.
///
/// No dry run will follow, so an absent field and a zero value are taken for the same.
pub fn matches(desired: DesiredContent<'_>, live: &Value) -> bool {
    let outcome = compare_as(desired, live, ZeroRule::EqualsAbsent);
    outcome.comparison.error.is_none() && outcome.worst <= Equality::IfDefaulted
}

struct ObjectOutcome {
    comparison: Comparison,
    worst: Equality,
}

fn compare_as(desired: DesiredContent<'_>, live: &Value, zero: ZeroRule) -> ObjectOutcome {
    let kind = Kind::of(desired.definition);
    let mut reporter = Reporter::new(kind == Kind::Secret);
    let mut outcome = ObjectOutcome {
        comparison: Comparison {
            candidate: live.clone(),
            ..Comparison::default()
        },
        worst: Equality::Same,
    };
    let mut keys: Vec<_> = desired.definition.iter().collect();
    keys.sort_by_key(|(key, _)| *key);
    for (key, wanted) in keys {
        if matches!(key.as_str(), "apiVersion" | "kind") {
            continue;
        }
        let compliance = match key.as_str() {
            "metadata" => desired.metadata_compliance.unwrap_or(desired.compliance),
            _ => desired.compliance,
        };
        let rules = Rules { compliance, zero };
        let result = if key == "metadata" {
            take_metadata(
                &mut outcome.comparison,
                wanted,
                live,
                (rules, kind),
                &mut reporter,
            )
        } else {
            take_key(
                &mut outcome.comparison,
                (key, wanted),
                live,
                (rules, kind),
                &mut reporter,
            )
        };
        match result {
            Ok(equality) => outcome.worst = outcome.worst.max(equality),
            Err(error) => {
                outcome.comparison.error = Some(error);
                outcome.comparison.update_needed = true;
                break;
            }
        }
    }
    if desired.compliance == ComplianceType::MustOnlyHave && outcome.comparison.error.is_none() {
        let removed = drop_extra_keys(
            desired.definition,
            kind,
            &mut outcome.comparison,
            &mut reporter,
        );
        outcome.worst = outcome.worst.max(removed);
    }
    outcome.comparison.mismatches = reporter.finish();
    outcome
}

fn take_metadata(
    comparison: &mut Comparison,
    wanted: &Value,
    live: &Value,
    (rules, kind): (Rules, Kind),
    reporter: &mut Reporter,
) -> Result<Equality, CompareError> {
    let live_metadata = live.get("metadata").unwrap_or(&Value::Null);
    let found = compare_metadata(wanted, live_metadata, rules, kind == Kind::Namespace)?;
    metadata::write_into(&mut comparison.candidate, &found.merged);
    comparison.take("metadata", found.equality);
    if found.equality == Equality::Different {
        reporter.report(
            "metadata",
            &Value::Object(found.merged),
            &Value::Object(found.live),
        );
    }
    Ok(found.equality)
}

fn take_key(
    comparison: &mut Comparison,
    (key, wanted): (&str, &Value),
    live: &Value,
    (rules, kind): (Rules, Kind),
    reporter: &mut Reporter,
) -> Result<Equality, CompareError> {
    let writes_string_data = kind == Kind::Secret && key == "stringData";
    let outcome = if writes_string_data {
        // Only what the policy wants is written: the merged map would turn binary values into text.
        let mut outcome = compare_key(key, wanted, Some(&decoded_data(live)?), rules)?;
        set(&mut comparison.candidate, key, wanted.clone());
        if outcome.equality == Equality::Different {
            reporter.report(key, &outcome.merged, &outcome.live);
        }
        outcome.merged = Value::Null;
        outcome
    } else {
        let outcome = compare_key(key, wanted, live.get(key), rules)?;
        if outcome.equality == Equality::Different {
            reporter.report(key, &outcome.merged, &outcome.live);
        }
        set(&mut comparison.candidate, key, outcome.merged.clone());
        outcome
    };
    let absent = !writes_string_data && live.get(key).is_none();
    let KeyOutcome { equality, .. } = outcome;
    comparison.take(key, equality);
    if absent && key != "status" {
        comparison.missing = true;
    }
    Ok(equality)
}

/// Removes the top-level keys that a mustonlyhave definition does not have.
fn drop_extra_keys(
    definition: &Map<String, Value>,
    kind: Kind,
    comparison: &mut Comparison,
    reporter: &mut Reporter,
) -> Equality {
    // The server keeps `stringData` as `data`. Once something has to be written, the old `data` must go for
    // the wanted keys to be the only ones; while they are the only ones it has to stay.
    let keeps_data =
        kind == Kind::Secret && definition.contains_key("stringData") && !comparison.update_needed;
    let Some(candidate) = comparison.candidate.as_object_mut() else {
        return Equality::Same;
    };
    let extra: Vec<String> = candidate
        .keys()
        .filter(|key| !definition.contains_key(*key) && !kind.keeps(key))
        .filter(|key| !(keeps_data && *key == "data"))
        .cloned()
        .collect();
    for key in &extra {
        if let Some(removed) = candidate.remove(key) {
            reporter.report_extra(key, &removed);
        }
    }
    if extra.is_empty() {
        return Equality::Same;
    }
    comparison.update_needed = true;
    Equality::Different
}

fn set(object: &mut Value, key: &str, value: Value) {
    if let Some(fields) = object.as_object_mut() {
        fields.insert(key.to_owned(), value);
    }
}

/// The kinds with rules of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Namespace,
    Secret,
    ServiceAccount,
    Other,
}

impl Kind {
    fn of(definition: &Map<String, Value>) -> Self {
        let text = |key| definition.get(key).and_then(Value::as_str).map(str::trim);
        match (text("apiVersion"), text("kind")) {
            (Some("v1"), Some("Namespace")) => Self::Namespace,
            (Some("v1"), Some("Secret")) => Self::Secret,
            (Some("v1"), Some("ServiceAccount")) => Self::ServiceAccount,
            _ => Self::Other,
        }
    }

    /// Top-level keys that mustonlyhave leaves alone.
    fn keeps(self, key: &str) -> bool {
        match key {
            "apiVersion" | "kind" | "metadata" | "status" => true,
            // The token controller adds these.
            "secrets" | "imagePullSecrets" => self == Self::ServiceAccount,
            _ => false,
        }
    }
}
