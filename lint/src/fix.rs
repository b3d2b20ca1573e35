//! Mends findings in the text of a file. A change is made only if the values of the file stay the same, but for those that
//! are quoted.

use std::ops::Range;

use serde_json::Value;

use crate::file::File;
use crate::finding::{Edit, EditKind, Finding};

/// More findings of one file than this are mended together or not at all.
const ONE_BY_ONE: usize = 200;

/// The mended text, and how many findings it mends.
pub(crate) fn mend(file: &File, findings: &[Finding]) -> (String, usize) {
    let mut edits: Vec<&Edit> = findings
        .iter()
        .filter_map(|one| one.edit.as_ref())
        .collect();
    edits.sort_by_key(|edit| (edit.range.start, edit.range.end));
    edits.dedup_by_key(|edit| edit.range.clone());
    let mut end = 0;
    edits.retain(|edit| {
        let is_free = edit.range.start >= end;
        if is_free {
            end = edit.range.end;
        }
        is_free
    });
    if edits.is_empty() {
        return (file.text.clone(), 0);
    }
    if is_safe(file, &edits) {
        return (apply(&file.text, &edits), edits.len());
    }
    // A document may need all of these to be readable, and says only then what the other changes do to its values.
    let is_mend = |edit: &&&Edit| edit.kind == EditKind::Mend;
    let mends: Vec<&Edit> = edits.iter().filter(is_mend).copied().collect();
    if !mends.is_empty() && is_safe(file, &mends) {
        return (apply(&file.text, &mends), mends.len());
    }
    if edits.len() > ONE_BY_ONE {
        return (file.text.clone(), 0);
    }
    let safe: Vec<&Edit> = edits
        .into_iter()
        .filter(|edit| is_safe(file, &[edit]))
        .collect();
    // Each is safe by itself, but two may not be together.
    if safe.is_empty() || !is_safe(file, &safe) {
        return (file.text.clone(), 0);
    }
    (apply(&file.text, &safe), safe.len())
}

fn apply(text: &str, edits: &[&Edit]) -> String {
    let mut result = String::with_capacity(text.len());
    let mut at = 0;
    for edit in edits {
        result.push_str(text.get(at..edit.range.start).unwrap_or_default());
        result.push_str(&edit.text);
        at = edit.range.end;
    }
    result.push_str(text.get(at..).unwrap_or_default());
    result
}

fn is_safe(file: &File, edits: &[&Edit]) -> bool {
    let mended = File::new(file.path.clone(), apply(&file.text, edits));
    if mended.documents.len() != file.documents.len() {
        return false;
    }
    let quotes = edits.iter().any(|edit| edit.kind == EditKind::Quote);
    let mends = edits.iter().any(|edit| edit.kind == EditKind::Mend);
    let edits_in = |range: &Range<usize>| {
        let range = range.clone();
        let is_in =
            move |edit: &&&Edit| edit.range.start < range.end && range.start <= edit.range.end;
        edits.iter().filter(is_in)
    };
    let pairs = file.documents.iter().zip(&mended.documents);
    pairs
        .into_iter()
        .all(|(before, after)| match (&before.value, &after.value) {
            (Ok(before), Ok(after)) => {
                before == after || (quotes || mends) && is_quoted(before, after)
            }
            // A document that could not be read may be readable now. Nothing says what another change did to its values.
            (Err(_), Ok(_)) => edits_in(&before.range).all(|edit| edit.kind == EditKind::Mend),
            (Err(_), Err(_)) => edits_in(&before.range).next().is_none(),
            (Ok(_), Err(_)) => false,
        })
}

/// Whether two values differ only in scalars that became text.
fn is_quoted(before: &Value, after: &Value) -> bool {
    match (before, after) {
        (Value::Array(before), Value::Array(after)) => {
            before.len() == after.len() && before.iter().zip(after).all(|(a, b)| is_quoted(a, b))
        }
        (Value::Object(before), Value::Object(after)) => {
            before.len() == after.len()
                && before
                    .iter()
                    .all(|(key, value)| after.get(key).is_some_and(|other| is_quoted(value, other)))
        }
        (Value::Bool(_) | Value::Number(_), Value::String(_)) => true,
        (before, after) => before == after,
    }
}
