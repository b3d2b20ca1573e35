use super::{Level, Rule, Violation, content, is_word, trim_start, violation};

static MISMATCHED: Rule = Rule {
    id: "GTUL006",
    name: "mismatchedQuotes",
    description: "Mismatched quotes should be removed or paired with a closing quote.",
    full_description: "Mismatched quotes should be removed or paired with a closing quote. ",
    level: Level::Warning,
};

/// Quotes within actions, counted over lines as long as an action is open.
#[derive(Default)]
struct Counter {
    singles: usize,
    doubles: usize,
    in_action: bool,
}

/// GTUL006: quotes that do not match.
pub(super) fn mismatched(lines: &[&str]) -> Vec<Violation> {
    let mut counter = Counter::default();
    let mut violations = Vec::new();
    for (number, line) in content(lines) {
        let trimmed = line.trim();
        if counter.is_odd(trimmed) || is_wrongly_quoted(trimmed) {
            let message = "Unmatched or invalid quote detected.";
            violations.push(violation(&MISMATCHED, number, line, message));
        }
    }
    violations
}

impl Counter {
    /// Whether an action of this line ends with a quote left over that began on it.
    fn is_odd(&mut self, line: &str) -> bool {
        if !self.in_action {
            self.singles = 0;
            self.doubles = 0;
        }
        let before = (self.singles, self.doubles);
        let became_odd = |count: usize, before: usize| count % 2 == 1 && before.is_multiple_of(2);
        let mut in_string = false;
        for (offset, character) in line.char_indices() {
            let rest = line.get(offset..).unwrap_or_default();
            if rest.starts_with("{{") {
                self.in_action = true;
            } else if rest.starts_with("}}") {
                self.in_action = false;
                if became_odd(self.singles, before.0) || became_odd(self.doubles, before.1) {
                    return true;
                }
            }
            match character {
                _ if !self.in_action => {}
                '\'' if !in_string => self.singles += 1,
                '"' => {
                    self.doubles += 1;
                    in_string = !in_string;
                }
                _ => {}
            }
        }
        false
    }
}

/// Whether a line has a key and a quoted value with a bare quote at one of its ends.
fn is_wrongly_quoted(line: &str) -> bool {
    let Some(value) = value_of_key(line) else {
        return false;
    };
    match value.strip_prefix('\'') {
        Some(inside) => has_doubled_end(inside),
        None => has_third_quote(value),
    }
}

/// The value behind a key of at least two characters.
fn value_of_key(line: &str) -> Option<&str> {
    let (key, value) = line.split_once(':')?;
    let key = super::trim_end(key);
    let fits = |byte: u8| is_word(byte) || matches!(byte, b'-' | b'.' | b'/');
    let is_key = match key.as_bytes() {
        [first, middle @ .., last] => {
            is_word(*first) && is_word(*last) && middle.iter().all(|byte| fits(*byte))
        }
        _ => false,
    };
    is_key.then(|| trim_start(value))
}

/// `''…'` or `'…''`, given without its first quote.
fn has_doubled_end(inside: &str) -> bool {
    let Some(inside) = inside.strip_suffix('\'') else {
        return false;
    };
    let at_start = inside
        .strip_prefix('\'')
        .is_some_and(|rest| !rest.contains('\''));
    let at_end = inside
        .strip_suffix('\'')
        .is_some_and(|rest| !rest.contains(['\'', '{', '}']));
    at_start || at_end
}

/// A value in double quotes whose last two characters both are quotes, and not the only ones.
fn has_third_quote(value: &str) -> bool {
    if !value.starts_with('"') {
        return false;
    }
    let mut quotes = 0;
    let mut trailing = 0;
    let mut characters = value.chars();
    while let Some(character) = characters.next() {
        match character {
            '"' => {
                quotes += 1;
                trailing += 1;
            }
            '\\' => {
                trailing = 0;
                if characters.next().is_none() {
                    return false;
                }
            }
            _ => trailing = 0,
        }
    }
    quotes >= 3 && trailing >= 2
}
