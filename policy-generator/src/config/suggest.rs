//! Names the field that an unknown one may have been meant as.

use reeve_go_compat::yaml::YamlError;

use super::schema::tagged;
use crate::messages;
use crate::settings::Mode;

/// Names that are less alike are not suggested.
const MIN_SIMILARITY: f64 = 0.85;

/// Says of each unknown field where it is and what may be meant.
pub(super) fn with_suggestions(error: YamlError, mode: Mode) -> YamlError {
    match error {
        YamlError::Parts(lines) => {
            YamlError::Parts(lines.iter().map(|line| hint(line, mode)).collect())
        }
        other => other,
    }
}

fn hint(line: &str, mode: Mode) -> String {
    let unknown = || {
        let (at, rest) = line.split_once(": field ")?;
        let (field, type_name) = rest.split_once(" not found in type ")?;
        Some((at, field, type_name))
    };
    let Some((at, field, type_name)) = unknown() else {
        return line.to_owned();
    };
    let of = tagged(mode).iter().find(|(of, _)| of.name == type_name);
    let tag = of.and_then(|(_, tag)| *tag);
    let fields = of.into_iter().flat_map(|(of, _)| of.all_fields());
    let keys = fields.map(|field| field.key);
    format!(
        "{at}: {}",
        messages::unknown_field(field, tag, closest(field, keys))
    )
}

/// The name that is most like another: the first of several.
fn closest<'a>(name: &str, among: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let mut best = (MIN_SIMILARITY, None);
    for candidate in among {
        let similarity = similarity(name.as_bytes(), candidate.as_bytes());
        if similarity > best.0 {
            best = (similarity, Some(candidate));
        }
    }
    best.1
}

/// The measure of Ratcliff and Obershelp: twice the bytes of the longest common blocks, by all bytes.
#[allow(clippy::cast_precision_loss)] // names are short
fn similarity(a: &[u8], b: &[u8]) -> f64 {
    if a.is_empty() && b.is_empty() {
        return 1.0;
    }
    2.0 * matching(a, b) as f64 / (a.len() + b.len()) as f64
}

fn matching(a: &[u8], b: &[u8]) -> usize {
    let mut longest = (0, 0, 0);
    for from_a in 0..a.len() {
        for from_b in 0..b.len() {
            let common = common_prefix(a.get(from_a..), b.get(from_b..));
            if common > longest.2 {
                longest = (from_a, from_b, common);
            }
        }
    }
    let (from_a, from_b, length) = longest;
    if length == 0 {
        return 0;
    }
    let before = matching(
        a.get(..from_a).unwrap_or_default(),
        b.get(..from_b).unwrap_or_default(),
    );
    let after = matching(
        a.get(from_a + length..).unwrap_or_default(),
        b.get(from_b + length..).unwrap_or_default(),
    );
    before + length + after
}

fn common_prefix(a: Option<&[u8]>, b: Option<&[u8]>) -> usize {
    let (a, b) = (a.unwrap_or_default(), b.unwrap_or_default());
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}
