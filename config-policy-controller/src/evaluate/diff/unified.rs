//! The unified format.

use std::fmt::Write as _;
use std::ops::Range;

use super::sequence::{Edit, edits};

/// Unchanged lines around a change.
const CONTEXT: usize = 5;

/// The names in the two header lines.
#[derive(Debug, Clone, Copy)]
pub(super) struct Headers<'a> {
    pub before: &'a str,
    pub after: &'a str,
}

/// The unified diff of two texts, or an empty text if they are equal.
///
/// Each side is taken to have one more, empty line at its end, which shows as a line with a single blank
/// where a hunk reaches it.
pub(super) fn unified(before: &str, after: &str, headers: Headers<'_>) -> String {
    let (a, b): (Vec<&str>, Vec<&str>) =
        (before.split('\n').collect(), after.split('\n').collect());
    let mut out = String::new();
    for hunk in hunks(edits(&a, &b)) {
        if out.is_empty() {
            out = format!("--- {}\n+++ {}\n", headers.before, headers.after);
        }
        write_hunk(&mut out, &hunk, &a, &b);
    }
    out
}

fn write_hunk(out: &mut String, hunk: &[Edit], a: &[&str], b: &[&str]) {
    let (Some(first), Some(last)) = (hunk.first(), hunk.last()) else {
        return;
    };
    let (a_range, b_range) = (first.a.start..last.a.end, first.b.start..last.b.end);
    // Writing to a String cannot fail.
    let _ = writeln!(
        out,
        "@@ -{} +{} @@",
        range_text(&a_range),
        range_text(&b_range)
    );
    for edit in hunk {
        if edit.equal {
            write_lines(out, ' ', a, &edit.a);
        } else {
            write_lines(out, '-', a, &edit.a);
            write_lines(out, '+', b, &edit.b);
        }
    }
}

fn write_lines(out: &mut String, sign: char, lines: &[&str], range: &Range<usize>) {
    for line in lines.get(range.clone()).unwrap_or_default() {
        out.push(sign);
        out.push_str(line);
        out.push('\n');
    }
}

/// `start,count` counted from 1; an empty range names the line before it.
fn range_text(range: &Range<usize>) -> String {
    match range.len() {
        0 => format!("{},0", range.start),
        1 => (range.start + 1).to_string(),
        length => format!("{},{length}", range.start + 1),
    }
}

/// Cuts the edits into hunks: changes with their context, split where more than twice the context is unchanged.
fn hunks(mut edits: Vec<Edit>) -> Vec<Vec<Edit>> {
    if let Some(first) = edits.first_mut().filter(|edit| edit.equal) {
        keep_last(first);
    }
    if let Some(last) = edits.last_mut().filter(|edit| edit.equal) {
        keep_first(last);
    }
    let mut hunks = Vec::new();
    let mut hunk = Vec::new();
    for edit in edits {
        if edit.equal && edit.a.len() > 2 * CONTEXT {
            let (mut end, mut start) = (edit.clone(), edit);
            keep_first(&mut end);
            keep_last(&mut start);
            hunk.push(end);
            hunks.push(std::mem::take(&mut hunk));
            hunk.push(start);
        } else {
            hunk.push(edit);
        }
    }
    hunks.push(hunk);
    hunks.retain(|hunk| hunk.iter().any(|edit| !edit.equal));
    hunks
}

fn keep_first(edit: &mut Edit) {
    edit.a.end = edit.a.end.min(edit.a.start + CONTEXT);
    edit.b.end = edit.b.end.min(edit.b.start + CONTEXT);
}

fn keep_last(edit: &mut Edit) {
    edit.a.start = edit.a.start.max(edit.a.end.saturating_sub(CONTEXT));
    edit.b.start = edit.b.start.max(edit.b.end.saturating_sub(CONTEXT));
}
