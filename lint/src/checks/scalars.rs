//! RVL101 to RVL104: values that are not what they look like.

use serde_json::Value;

use crate::finding::{Edit, EditKind, Finding};
use crate::items::{Item, Role};
use crate::messages;

/// The maps whose values are text.
const TEXT_MAPS: [&str; 4] = ["annotations", "labels", "matchLabels", "nodeSelector"];
/// The largest integer that readers with floating-point numbers keep.
const EXACT: u64 = 9_007_199_254_740_992;

/// Checks the scalars of a whole document.
pub(crate) fn check(item: &Item<'_>) -> Vec<Finding> {
    if !matches!(item.role, Role::Document) {
        // They are part of their document.
        return Vec::new();
    }
    let scalars = item.scalars().into_iter();
    let values = scalars.filter_map(|(pointer, value)| scalar(item, &pointer, value));
    values.chain(keys(item)).collect()
}

/// Keys that are booleans: they become `"true"` and `"false"`. Those of all items of a list are found with its first one.
fn keys(item: &Item<'_>) -> Vec<Finding> {
    let is_first = matches!(item.pointer.as_str(), "" | "/items/0");
    let keys = item.document.keys.values().filter(|_| is_first);
    let words = keys.filter_map(|range| Some((range, item.file.text.get(range.clone())?)));
    words
        .filter(|(_, word)| is_old_boolean(word))
        .map(|(range, word)| {
            let position = item.file.position(range);
            item.file
                .at(position, "RVL101", messages::boolean_key(word))
        })
        .collect()
}

fn scalar(item: &Item<'_>, pointer: &str, value: &Value) -> Option<Finding> {
    let range = item.document.scalar(&item.at(pointer))?;
    let raw = item.file.text.get(range.clone())?;
    // The place of an alias is that of its anchor. Quotes there would change all aliases, so nothing mends them.
    let (raw, is_anchored) = match raw.strip_prefix('&') {
        Some(anchored) => (anchored.split_once(char::is_whitespace)?.1.trim(), true),
        None => (raw, false),
    };
    let is_plain = !raw.starts_with(['"', '\'', '|', '>', '*', '!']);
    if !is_plain || raw.is_empty() {
        return None;
    }
    let quote = (!is_anchored).then(|| Edit {
        range: range.clone(),
        text: format!("\"{raw}\""),
        kind: EditKind::Quote,
    });
    let finding = |id: &str, message: String| item.finding(pointer, id, message);
    if is_text(item, pointer) && !value.is_string() && !value.is_null() {
        let message = messages::not_text(&shown(pointer), raw);
        return Some(finding("RVL102", message).mended_by(quote));
    }
    if let (Value::Bool(read), true) = (value, is_old_boolean(raw)) {
        return Some(finding("RVL101", messages::boolean(raw, *read)));
    }
    if value.is_string() && is_date(raw) {
        let quote = quote.map(|quote| Edit {
            kind: EditKind::Layout,
            ..quote
        });
        return Some(finding("RVL104", messages::date(raw)).mended_by(quote));
    }
    let number = value.as_number()?;
    let is_large = number
        .as_i64()
        .is_some_and(|number| number.unsigned_abs() > EXACT)
        || number.as_u64().is_some_and(|number| number > EXACT);
    let is_other = raw != number.to_string() && raw.chars().any(|c| c.is_ascii_digit());
    let reason = match (is_large, is_other) {
        (true, _) => messages::large_number(raw),
        (false, true) if is_unexpected(raw) => messages::other_number(raw, &number.to_string()),
        _ => return None,
    };
    Some(finding("RVL103", reason))
}

/// Whether the value at a pointer has to be text.
fn is_text(item: &Item<'_>, pointer: &str) -> bool {
    let mut keys = pointer.rsplit('/');
    let last = keys.next().unwrap_or_default();
    let parent = keys.next().unwrap_or_default();
    let is_name = parent == "metadata" && matches!(last, "name" | "namespace");
    if TEXT_MAPS.contains(&parent) || is_name {
        return true;
    }
    if last == "value" && keys.next() == Some("env") {
        return true;
    }
    if parent != "data" && parent != "stringData" {
        return false;
    }
    // The object that has the map.
    let owner = pointer.rsplitn(3, '/').nth(2).unwrap_or_default();
    let owner = item.value.pointer(owner).unwrap_or(&Value::Null);
    matches!(owner["kind"].as_str(), Some("ConfigMap" | "Secret")) && owner["apiVersion"] == "v1"
}

fn is_old_boolean(raw: &str) -> bool {
    let word = raw.to_ascii_lowercase();
    matches!(word.as_str(), "yes" | "no" | "on" | "off" | "y" | "n")
}

fn is_date(raw: &str) -> bool {
    let bytes = raw.as_bytes();
    let digit = |index: usize| bytes.get(index).is_some_and(u8::is_ascii_digit);
    let dash = |index: usize| bytes.get(index) == Some(&b'-');
    [0, 1, 2, 3, 5, 6, 8, 9].into_iter().all(digit)
        && dash(4)
        && dash(7)
        && bytes
            .get(10)
            .is_none_or(|byte| matches!(byte, b'T' | b't' | b' '))
}

/// Octal, exponents and separators.
fn is_unexpected(raw: &str) -> bool {
    let digits = raw.trim_start_matches(['-', '+']);
    let is_octal = digits.len() > 1 && digits.starts_with('0') && !digits.contains('.');
    is_octal || raw.contains('_') || raw.contains(['e', 'E'])
}

fn shown(pointer: &str) -> String {
    let keys = pointer.trim_start_matches('/').split('/');
    let keys: Vec<String> = keys
        .map(|key| key.replace("~1", "/").replace("~0", "~"))
        .collect();
    keys.join(".")
}
