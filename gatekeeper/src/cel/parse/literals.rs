//! String literals in triple quotes, which the parser cannot read: they become literals in single ones.

use std::borrow::Cow;

/// The expression with literals in single quotes only.
pub fn normalized(text: &str) -> Cow<'_, str> {
    if !text.contains("'''") && !text.contains("\"\"\"") {
        return Cow::Borrowed(text);
    }
    let mut made = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let is_raw = made.ends_with(['r', 'R']);
        if let Some((content, after)) = tripled(rest, is_raw) {
            if is_raw {
                made.pop();
            }
            made.push('"');
            escape(content, is_raw, &mut made);
            made.push('"');
            rest = after;
        } else if first == '\'' || first == '"' {
            let (literal, after) = rest.split_at(end_of_literal(rest, first, is_raw));
            made.push_str(literal);
            rest = after;
        } else {
            let (one, after) = rest.split_at(first.len_utf8());
            made.push_str(one);
            rest = after;
        }
    }
    Cow::Owned(made)
}

/// The content of a literal in triple quotes at the begin, and what follows it.
fn tripled(text: &str, is_raw: bool) -> Option<(&str, &str)> {
    let quotes = ["'''", "\"\"\""]
        .into_iter()
        .find(|one| text.starts_with(one))?;
    let content = text.get(quotes.len()..)?;
    let mut is_escaped = false;
    for (place, character) in content.char_indices() {
        if is_escaped {
            is_escaped = false;
        } else if character == '\\' && !is_raw {
            is_escaped = true;
        } else if content.get(place..)?.starts_with(quotes) {
            let after = content.get(place + quotes.len()..)?;
            return Some((content.get(..place)?, after));
        }
    }
    None
}

fn end_of_literal(text: &str, quote: char, is_raw: bool) -> usize {
    let mut is_escaped = false;
    for (place, character) in text.char_indices().skip(1) {
        if is_escaped {
            is_escaped = false;
        } else if character == '\\' && !is_raw {
            is_escaped = true;
        } else if character == quote {
            return place + character.len_utf8();
        }
    }
    text.len()
}

fn escape(content: &str, is_raw: bool, into: &mut String) {
    let mut is_escaped = false;
    for character in content.chars() {
        match character {
            '\n' => into.push_str("\\n"),
            '\r' => into.push_str("\\r"),
            '"' if !is_escaped => into.push_str("\\\""),
            '\\' if is_raw => into.push_str("\\\\"),
            other => into.push(other),
        }
        is_escaped = character == '\\' && !is_raw && !is_escaped;
    }
}

#[cfg(test)]
mod tests {
    use super::normalized;

    #[test]
    fn triple_quotes_become_single_ones() {
        for (given, expected) in [
            ("'''a'b'''", "\"a'b\""),
            ("\"\"\"a\"b\"\"\" + 'x'", "\"a\\\"b\" + 'x'"),
            ("r'''\\d''' == ''", "\"\\\\d\" == ''"),
            ("'''a\nb'''", "\"a\\nb\""),
            ("'it\\'s' + '''x'''", "'it\\'s' + \"x\""),
            ("'''open", "'''open"),
            ("a == b", "a == b"),
        ] {
            assert_eq!(normalized(given), expected, "{given}");
        }
    }
}
