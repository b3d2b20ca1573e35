//! Replacement texts with `$1`, `${1}` and `$name`.

use crate::runes;

/// A group by its number or name, and what follows it in the template.
enum Reference<'a> {
    Number(usize),
    Name(&'a [u8]),
}

/// `Regexp.Expand`: names are as long as can be, so that `$1W` means a group named `1W`; groups
/// that do not exist are empty. What a group adds is charged before it is added, for a template
/// may name a long one any number of times.
pub fn expand<'t, E>(
    result: &mut Vec<u8>,
    template: &[u8],
    names: &[Option<String>],
    group: &dyn Fn(usize) -> Option<&'t [u8]>,
    charge: &mut dyn FnMut(usize) -> Result<(), E>,
) -> Result<(), E> {
    charge(template.len())?;
    let mut rest = template;
    while let Some(dollar) = rest.iter().position(|byte| *byte == b'$') {
        let (before, after) = rest.split_at(dollar);
        result.extend_from_slice(before);
        let after = after.get(1..).unwrap_or_default();
        if let Some(after) = after.strip_prefix(b"$") {
            result.push(b'$');
            rest = after;
            continue;
        }
        let Some((reference, after_reference)) = reference(after) else {
            result.push(b'$');
            rest = after;
            continue;
        };
        let found = match reference {
            Reference::Number(number) => group(number),
            Reference::Name(name) => names
                .iter()
                .enumerate()
                .filter(|(_, known)| known.as_ref().is_some_and(|known| known.as_bytes() == name))
                .find_map(|(number, _)| group(number)),
        };
        let found = found.unwrap_or_default();
        charge(found.len())?;
        result.extend_from_slice(found);
        rest = after_reference;
    }
    result.extend_from_slice(rest);
    Ok(())
}

fn reference(text: &[u8]) -> Option<(Reference<'_>, &[u8])> {
    let inner = text.strip_prefix(b"{");
    let body = inner.unwrap_or(text);
    let mut length = 0;
    while let Some(rest) = body.get(length..).filter(|rest| !rest.is_empty()) {
        let (rune, width) = runes::decode(rest);
        let is_word = |rune: char| rune == '_' || runes::is_letter(rune) || runes::is_digit(rune);
        if !rune.is_some_and(is_word) {
            break;
        }
        length += width;
    }
    let (name, rest) = body.split_at(length);
    if name.is_empty() {
        return None;
    }
    let rest = match inner {
        Some(_) => rest.strip_prefix(b"}")?,
        None => rest,
    };
    let number = std::str::from_utf8(name)
        .ok()
        .filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()))
        .filter(|name| name.len() == 1 || !name.starts_with('0'))
        .and_then(|name| name.parse().ok())
        .filter(|number| *number < 1_000_000_000);
    Some((
        number.map_or(Reference::Name(name), Reference::Number),
        rest,
    ))
}
