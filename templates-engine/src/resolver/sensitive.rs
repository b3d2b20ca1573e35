//! Which fields of a resolved document came from secrets.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::language::Rendered;
use reeve_go_compat::value::Value;
use reeve_go_compat::yaml::{self, PathSegment, Place, YamlError};

/// A field into which a value was written that was computed from a secret, and not encrypted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DerivedField {
    /// JSON pointer.
    pub pointer: String,
    /// Whether it is the key at the end of the pointer, rather than the value.
    pub is_key: bool,
    /// The expression of the template whose value it is.
    pub expression: String,
}

/// A document, and what came from secrets.
pub(super) struct Decoded {
    pub(super) value: Value,
    /// JSON pointers of what was computed from secrets or chosen by them.
    pub(super) sensitive: Vec<String>,
    pub(super) derived: Vec<DerivedField>,
}

/// Reads what a template wrote, and names the fields that its sensitive parts became.
pub(super) fn decode(rendered: &Rendered) -> Result<Decoded, YamlError> {
    if rendered.sensitive.is_empty() {
        return Ok(Decoded {
            value: yaml::decode(&rendered.bytes)?,
            sensitive: Vec::new(),
            derived: Vec::new(),
        });
    }
    let mut fields = BTreeSet::new();
    let mut derived = Vec::new();
    let mut note = |place: Place<'_>| {
        if overlapping(&rendered.sensitive, &place.range, Range::clone).is_none() {
            return;
        }
        let pointer = pointer(place.path);
        let of_range = |(range, _): &(Range<usize>, String)| range.clone();
        if let Some((_, expression)) = overlapping(&rendered.derived, &place.range, of_range) {
            derived.push(DerivedField {
                pointer: pointer.clone(),
                is_key: place.is_key,
                expression: expression.clone(),
            });
        }
        fields.insert(pointer);
    };
    let value = yaml::decode_with_places(&rendered.bytes, &mut note)?;
    Ok(Decoded {
        value,
        sensitive: fields.into_iter().collect(),
        derived,
    })
}

/// The first of some ranges, which are in order and apart, that another one overlaps.
fn overlapping<'a, T>(
    all: &'a [T],
    range: &Range<usize>,
    of: impl Fn(&T) -> Range<usize>,
) -> Option<&'a T> {
    let place = all.partition_point(|one| of(one).end <= range.start);
    all.get(place).filter(|one| of(one).start < range.end)
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
