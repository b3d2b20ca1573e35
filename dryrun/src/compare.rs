//! Compares a part of a status with the status.

use reeve_go_compat::json::go_type;
use serde_json::{Map, Value};

use crate::messages;
use crate::paint::{Color, Paint};

/// The lines of a comparison, and whether everything is as expected.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Comparison {
    pub(crate) lines: Vec<String>,
    pub(crate) matches: bool,
}

/// Compares `wanted`, a part of a status, with the status.
pub(crate) fn compare(wanted: &Map<String, Value>, found: &Value, paint: Paint) -> Comparison {
    let mut walk = Walk {
        lines: Vec::new(),
        paint,
        inside_element: false,
    };
    let empty = Map::new();
    let found = found.as_object().unwrap_or(&empty);
    let matches = walk.map(wanted, found, "");
    let text = if matches {
        messages::STATUS_MATCHES
    } else {
        messages::STATUS_DIFFERS
    };
    let mut lines = walk.lines;
    lines.push(paint.bold(color_of(matches), text));
    Comparison { lines, matches }
}

struct Walk {
    lines: Vec<String>,
    paint: Paint,
    /// What is compared inside of an element of a list prints nothing.
    inside_element: bool,
}

impl Walk {
    fn line(&mut self, color: Color, line: &str) {
        if !self.inside_element {
            self.lines.push(self.paint.text(color, line));
        }
    }

    /// A line about something that is as expected, or is not.
    fn verdict(&mut self, matches: bool, line: &str) {
        self.line(color_of(matches), line);
    }

    fn map(
        &mut self,
        wanted: &Map<String, Value>,
        found: &Map<String, Value>,
        place: &str,
    ) -> bool {
        let mut matches = true;
        for (key, wanted) in wanted {
            let inner = format!("{place}.{key}");
            let Some(found) = found.get(key) else {
                self.verdict(false, &messages::key_missing(key, place));
                matches = false;
                continue;
            };
            matches &= self.value(key, wanted, found, &inner);
        }
        matches
    }

    fn value(&mut self, key: &str, wanted: &Value, found: &Value, place: &str) -> bool {
        match (wanted, found) {
            // Null says nothing of the value.
            (Value::Null, _) => true,
            (Value::Object(wanted), Value::Object(found)) => self.map(wanted, found, place),
            (Value::Array(wanted), Value::Array(found)) => self.list(wanted, found, place),
            (Value::Array(_), _) => {
                self.line(Color::Yellow, &messages::not_a_list(key, place));
                false
            }
            (Value::Object(_), _) | (_, Value::Object(_) | Value::Array(_)) => {
                self.verdict(false, &messages::other_type(place, go_type(found)));
                false
            }
            (wanted, found) => {
                let (wanted, found) = (plain(wanted), plain(found));
                let same = wanted == found;
                self.verdict(same, &messages::scalar(place, &wanted, &found, same));
                same
            }
        }
    }

    fn list(&mut self, wanted: &[Value], found: &[Value], place: &str) -> bool {
        if !wanted.iter().all(Value::is_object) {
            let same = wanted.len() == found.len()
                && wanted.iter().zip(found).all(|(a, b)| plain(a) == plain(b));
            self.verdict(same, &messages::elements(place, same));
            return same;
        }
        for (index, wanted) in wanted.iter().enumerate() {
            let is_found = found.iter().any(|found| self.element(wanted, found, place));
            self.verdict(is_found, &messages::element(place, index, is_found));
            if !is_found {
                self.verdict(false, &messages::elements(place, false));
                return false;
            }
        }
        self.verdict(true, &messages::elements(place, true));
        true
    }

    fn element(&mut self, wanted: &Value, found: &Value, place: &str) -> bool {
        let (Some(wanted), Some(found)) = (wanted.as_object(), found.as_object()) else {
            return false;
        };
        let outside = std::mem::replace(&mut self.inside_element, true);
        let matches = self.map(wanted, found, place);
        self.inside_element = outside;
        matches
    }
}

fn color_of(matches: bool) -> Color {
    if matches { Color::Green } else { Color::Red }
}

/// A value as text.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "<nil>".to_owned(),
        other => other.to_string(),
    }
}
