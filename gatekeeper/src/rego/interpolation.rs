//! Texts with expressions in them, `$"…{x}…"`, as calls of a function.

use super::builtins::INTERPOLATE;
use super::scan::{TokenKind, tokens};

/// The source with every such text replaced.
pub fn rewrite(source: &str) -> String {
    if !source.contains('$') {
        return source.to_owned();
    }
    let all = tokens(source);
    let mut out = String::with_capacity(source.len());
    let mut from = 0;
    for pair in all.windows(2) {
        let [dollar, text] = pair else { continue };
        let is_template = dollar.is("$")
            && text.kind == TokenKind::Text
            && text.start == dollar.end()
            && dollar.start >= from;
        if !is_template {
            continue;
        }
        out.push_str(source.get(from..dollar.start).unwrap_or_default());
        out.push_str(&call(text.text));
        from = text.end();
    }
    out.push_str(source.get(from..).unwrap_or_default());
    out
}

fn call(text: &str) -> String {
    let quote = text.chars().next().unwrap_or('"');
    let inner = text
        .get(1..text.len().saturating_sub(1))
        .unwrap_or_default();
    let mut parts: Vec<String> = Vec::new();
    let mut literal = String::new();
    let mut runes = inner.chars();
    let mut names = 0;
    while let Some(rune) = runes.next() {
        match rune {
            '\\' => {
                let next = runes.next();
                // A brace that is escaped is one of the text.
                if !matches!(next, Some('{' | '}')) {
                    literal.push('\\');
                }
                literal.extend(next);
            }
            '{' => {
                parts.push(format!("{quote}{literal}{quote}"));
                literal.clear();
                let mut depth = 1;
                let mut expression = String::new();
                for rune in runes.by_ref() {
                    match rune {
                        '{' => depth += 1,
                        '}' => depth -= 1,
                        _ => {}
                    }
                    if depth == 0 {
                        break;
                    }
                    expression.push(rune);
                }
                let name = format!("__part{names}");
                names += 1;
                parts.push(format!("{{{name} | {name} := {expression}}}"));
            }
            other => literal.push(other),
        }
    }
    parts.push(format!("{quote}{literal}{quote}"));
    format!("{INTERPOLATE}([{}])", parts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_of_a_text_become_sets() {
        assert_eq!(
            rewrite("x := $\"a {b.c} d\""),
            "x := __interpolate([\"a \", {__part0 | __part0 := b.c}, \" d\"])"
        );
    }

    #[test]
    fn texts_without_a_dollar_stay() {
        assert_eq!(rewrite("x := \"$a {b}\""), "x := \"$a {b}\"");
    }
}
