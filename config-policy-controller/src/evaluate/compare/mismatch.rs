//! The fields that differ.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::equal::{deep, field};
use super::equality::Equality;
use super::merge;
use super::rules::{AbsenceRules, EmptyListRule, ZeroRule};

/// How many differences are listed; a completely different object needs no list of thousands.
const MAX_MISMATCHES: usize = 50;

/// The rules outside of lists.
const OUTSIDE_LISTS: AbsenceRules = AbsenceRules {
    zero: ZeroRule::Distinct,
    empty_list: EmptyListRule::IfNotStored,
};

/// One field that is not as the policy wants it.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Mismatch {
    /// Where, such as `spec.containers[name=web].image` or `rules[2]`.
    pub path: String,
    /// The desired value.
    pub want: Shown,
    /// What is there.
    pub got: Shown,
}

/// A value as it may be shown.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Shown {
    /// The value itself.
    Value(Value),
    /// Nothing is (or should be) there.
    Absent,
    /// There is a value, but it is secret.
    Redacted,
}

/// Where two objects differ, exactly: nothing is taken for a default.
pub fn differences(wanted: &Value, live: &Value) -> Vec<Mismatch> {
    let mut found = Vec::new();
    differ(String::new(), (wanted, live), &mut found);
    found
}

fn differ(path: String, (wanted, live): (&Value, &Value), found: &mut Vec<Mismatch>) {
    if wanted == live || found.len() >= MAX_MISMATCHES {
        return;
    }
    let (Value::Object(wants), Value::Object(has)) = (wanted, live) else {
        let shown = |value: &Value| match value {
            Value::Null => Shown::Absent,
            value => Shown::Value(value.clone()),
        };
        found.push(Mismatch {
            path,
            want: shown(wanted),
            got: shown(live),
        });
        return;
    };
    let keys: BTreeSet<&String> = wants.keys().chain(has.keys()).collect();
    for key in keys {
        let path = if path.is_empty() {
            key.clone()
        } else {
            join(&path, key)
        };
        let of = |map: &Map<String, Value>| map.get(key).cloned().unwrap_or_default();
        differ(path, (&of(wants), &of(has)), found);
    }
}

/// Collects mismatches.
pub(crate) struct Reporter {
    secret: bool,
    found: Vec<Mismatch>,
}

impl Reporter {
    /// `secret` hides every value.
    pub(crate) fn new(secret: bool) -> Self {
        Self {
            secret,
            found: Vec::new(),
        }
    }

    /// Reports where `merged` differs from `live`, both found under `path`.
    pub(crate) fn report(&mut self, path: &str, merged: &Value, live: &Value) {
        let before = self.found.len();
        match (merged, live) {
            (Value::Object(merged), Value::Object(live)) => self.report_maps(path, merged, live),
            (Value::Array(merged), Value::Array(live)) => self.report_lists(path, merged, live),
            (merged, Value::Null) => self.push(path, Some(merged), None),
            (merged, live) => self.push(path, Some(merged), Some(live)),
        }
        if self.found.len() == before {
            // No single field differs, so the whole value is reported.
            self.push(path, Some(merged), Some(live));
        }
    }

    /// Reports something that should not be there.
    pub(crate) fn report_extra(&mut self, path: &str, live: &Value) {
        self.push(path, None, Some(live));
    }

    pub(crate) fn finish(self) -> Vec<Mismatch> {
        self.found
    }

    fn report_maps(&mut self, path: &str, merged: &Map<String, Value>, live: &Map<String, Value>) {
        for (key, wanted) in merged {
            let path = join(path, key);
            if field(wanted, live.get(key), OUTSIDE_LISTS) == Equality::Different {
                self.report(&path, wanted, live.get(key).unwrap_or(&Value::Null));
            }
        }
        for (key, live) in live {
            if !merged.contains_key(key) {
                self.report_extra(&join(path, key), live);
            }
        }
    }

    /// Items with a counterpart of the same name are compared with it, the others are there or are not.
    fn report_lists(&mut self, path: &str, merged: &[Value], live: &[Value]) {
        let mut left: Vec<&Value> = live.iter().collect();
        for (position, wanted) in merged.iter().enumerate() {
            if self.found.len() >= MAX_MISMATCHES {
                return;
            }
            if let Some(at) = left.iter().position(|live| same_item(wanted, live)) {
                left.remove(at);
                continue;
            }
            let name = merge::name(wanted);
            let same_name = name.and_then(|name| {
                left.iter()
                    .position(|live| merge::name(live) == Some(name))
                    .map(|at| (name, at))
            });
            match same_name {
                Some((name, at)) => {
                    let live = left.remove(at);
                    self.report(&format!("{path}[name={name}]"), wanted, live);
                }
                None => self.push(&format!("{path}[{position}]"), Some(wanted), None),
            }
        }
        for live in left {
            self.report_extra(&format!("{path}[]"), live);
        }
    }

    fn push(&mut self, path: &str, want: Option<&Value>, got: Option<&Value>) {
        if self.found.len() < MAX_MISMATCHES {
            let (want, got) = (self.show(want), self.show(got));
            self.found.push(Mismatch {
                path: path.to_owned(),
                want,
                got,
            });
        }
    }

    fn show(&self, value: Option<&Value>) -> Shown {
        match value {
            None => Shown::Absent,
            Some(_) if self.secret => Shown::Redacted,
            Some(value) => Shown::Value(value.clone()),
        }
    }
}

fn same_item(wanted: &Value, live: &Value) -> bool {
    deep(wanted, live, OUTSIDE_LISTS.in_list()) != Equality::Different
}

/// Keys with dots, slashes or brackets are quoted, so that a path can be read back.
fn join(path: &str, key: &str) -> String {
    if key.contains(['.', '/', '[', ']', '"']) {
        format!("{path}[{key:?}]")
    } else {
        format!("{path}.{key}")
    }
}
