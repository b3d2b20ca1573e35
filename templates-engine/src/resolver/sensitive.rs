//! Which fields of a resolved document came from secrets.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::language::Rendered;
use crate::value::Value;
use crate::yaml::{self, PathSegment, Place, YamlError};

/// Reads what a template wrote, and names the fields that its sensitive parts became.
pub(super) fn decode(rendered: &Rendered) -> Result<(Value, Vec<String>), YamlError> {
    if rendered.sensitive.is_empty() {
        return Ok((yaml::decode(&rendered.bytes)?, Vec::new()));
    }
    let mut fields = BTreeSet::new();
    let mut note = |place: Place<'_>| {
        if overlaps(&rendered.sensitive, &place.range) {
            fields.insert(pointer(place.path));
        }
    };
    let value = yaml::decode_with_places(&rendered.bytes, &mut note)?;
    Ok((value, fields.into_iter().collect()))
}

/// The ranges are in order and apart.
fn overlaps(ranges: &[Range<usize>], range: &Range<usize>) -> bool {
    let place = ranges.partition_point(|sensitive| sensitive.end <= range.start);
    ranges
        .get(place)
        .is_some_and(|sensitive| sensitive.start < range.end)
}

/// RFC 6901.
fn pointer(path: &[PathSegment]) -> String {
    let mut pointer = String::new();
    for segment in path {
        pointer.push('/');
        match segment {
            PathSegment::Key(key) => pointer.push_str(&key.replace('~', "~0").replace('/', "~1")),
            PathSegment::Index(index) => pointer.push_str(&index.to_string()),
        }
    }
    pointer
}
