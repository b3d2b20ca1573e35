//! Rewrites what the parser reads differently from Open Policy Agent's. Lines stay where they are.

use super::scan::{Token, TokenKind};

/// The source with a separator before a bracket that begins a statement, and with the head before every further body of a
/// rule.
pub fn rewrite(source: &str, tokens: &[Token<'_>]) -> String {
    let mut insertions: Vec<(usize, String)> = Vec::new();
    separate_statements(tokens, &mut insertions);
    repeat_heads(tokens, &mut insertions);
    enclose_domains(tokens, &mut insertions);
    insertions.sort_by_key(|(position, _)| *position);
    let mut out = String::with_capacity(source.len() + 64);
    let mut from = 0;
    for (position, text) in insertions {
        out.push_str(source.get(from..position).unwrap_or_default());
        out.push_str(&text);
        from = position;
    }
    out.push_str(source.get(from..).unwrap_or_default());
    out
}

/// A line that begins with a bracket after a complete expression begins a statement, where statements can be.
fn separate_statements(tokens: &[Token<'_>], insertions: &mut Vec<(usize, String)>) {
    // Whether statements can be in each open bracket: in braces, and after the bar of a comprehension.
    let mut open: Vec<bool> = Vec::new();
    let mut previous: Option<&Token<'_>> = None;
    for token in tokens {
        let begins_line = previous.is_some_and(|one| one.line != token.line && one.ends_term());
        if (token.is("(") || token.is("[")) && begins_line && open.last() == Some(&true) {
            insertions.push((token.start, ";".to_owned()));
        }
        match token.text {
            "{" if token.is("{") => open.push(true),
            "(" | "[" if token.is(token.text) => open.push(false),
            ")" | "]" | "}" if token.is(token.text) => {
                open.pop();
            }
            "|" if token.is("|") => {
                if let Some(last) = open.last_mut() {
                    *last = true;
                }
            }
            _ => {}
        }
        previous = Some(token);
    }
}

/// The parser takes the braces of a domain for those of the body: `every x in {1, 2} { … }`.
fn enclose_domains(tokens: &[Token<'_>], insertions: &mut Vec<(usize, String)>) {
    for (index, token) in tokens.iter().enumerate() {
        if !token.is_word("every") {
            continue;
        }
        let rest = tokens.iter().skip(index + 1).take(6);
        let names = rest.take_while(|one| !one.is_word("in")).count();
        let first = index + names + 2;
        if !tokens.get(first).is_some_and(|one| one.is("{")) {
            continue;
        }
        if let Some(last) = closing(tokens, first) {
            let begin = tokens.get(first).map_or(0, |one| one.start);
            insertions.push((begin, "(".to_owned()));
            insertions.push((last, ")".to_owned()));
        }
    }
}

/// Where the bracket that opens at a token is closed: the position behind it.
fn closing(tokens: &[Token<'_>], first: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for token in tokens.iter().skip(first) {
        match token.text {
            "(" | "[" | "{" if token.is(token.text) => depth += 1,
            ")" | "]" | "}" if token.is(token.text) => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(token.end());
                }
            }
            _ => {}
        }
    }
    None
}

/// Blanks imports that say the same as one before: Open Policy Agent takes them.
pub fn without_repeated_imports(source: &str) -> String {
    let mut seen = Vec::new();
    let mut out = String::with_capacity(source.len());
    for line in source.split_inclusive('\n') {
        let statement = line.split('#').next().unwrap_or_default().trim();
        let is_import = statement.starts_with("import ") && !statement.contains(';');
        if is_import && seen.contains(&statement) {
            out.push_str(
                line.get(line.trim_end_matches(['\n', '\r']).len()..)
                    .unwrap_or_default(),
            );
            continue;
        }
        if is_import {
            seen.push(statement);
        }
        out.push_str(line);
    }
    out
}

fn repeat_heads(tokens: &[Token<'_>], insertions: &mut Vec<(usize, String)>) {
    let mut depth = 0_usize;
    // The tokens of the head of the rule that is being read, until its first body.
    let mut head: Vec<Token<'_>> = Vec::new();
    let mut in_head = true;
    let mut body_ended = false;
    let mut is_else = false;
    let mut opens_body = Vec::new();
    let mut previous: Option<Token<'_>> = None;
    for token in tokens.iter().copied() {
        if depth == 0 {
            let chained = body_ended && token.is("{");
            if chained && !is_else {
                insertions.push((token.start, format!(" {} ", join(&head))));
            }
            if begins_rule(token, previous, body_ended) {
                head.clear();
                in_head = true;
                is_else = false;
            }
            if token.is_word("else") {
                is_else = true;
                in_head = false;
            }
        }
        let can_follow =
            previous.is_some_and(|one| one.ends_term() || one.is_word("if") || one.is_word("else"));
        let is_body = depth == 0 && token.is("{") && can_follow;
        if is_body {
            in_head = false;
        }
        if in_head {
            head.push(token);
        }
        body_ended = false;
        match token.text {
            "(" | "[" | "{" if token.is(token.text) => {
                opens_body.push(is_body);
                depth += 1;
            }
            ")" | "]" | "}" if token.is(token.text) => {
                depth = depth.saturating_sub(1);
                body_ended = opens_body.pop().unwrap_or_default();
            }
            _ => {}
        }
        previous = Some(token);
    }
}

/// The line of an `if` that is no keyword for want of an import: the parser would go on with it as a name.
pub fn if_without_import(source: &str, tokens: &[Token<'_>]) -> Option<usize> {
    if source.contains("future.keywords") || source.contains("rego.v1") {
        return None;
    }
    let mut outermost = with_depth(tokens).filter(|(depth, ..)| *depth == 0);
    outermost
        .find(|(_, token, previous)| {
            token.is_word("if") && !previous.is_some_and(|one| one.is("."))
        })
        .map(|(_, token, _)| token.line)
}

/// The tokens, each with how many brackets it is in and the token before it.
fn with_depth<'s>(
    tokens: &[Token<'s>],
) -> impl Iterator<Item = (usize, Token<'s>, Option<Token<'s>>)> {
    let (mut depth, mut previous) = (0_usize, None);
    tokens.iter().copied().map(move |token| {
        let found = (depth, token, previous);
        match token.text {
            "(" | "[" | "{" if token.is(token.text) => depth += 1,
            ")" | "]" | "}" if token.is(token.text) => depth = depth.saturating_sub(1),
            _ => {}
        }
        previous = Some(token);
        found
    })
}

/// The line of a rule body that version 1 of the language would begin with `if`.
pub fn body_without_if(tokens: &[Token<'_>]) -> Option<usize> {
    let mut may_follow = false;
    for (depth, token, previous) in with_depth(tokens) {
        if depth == 0 && begins_rule(token, previous, previous.is_some_and(|one| one.is("}"))) {
            may_follow = false;
        }
        // The body of `every` follows its domain.
        may_follow |= token.is_word("every");
        let follows_term = previous.is_some_and(|one| one.ends_term());
        if depth == 0 && token.is("{") && follows_term && !may_follow {
            return Some(token.line);
        }
    }
    None
}

fn begins_rule(token: Token<'_>, previous: Option<Token<'_>>, body_ended: bool) -> bool {
    if token.kind != TokenKind::Word || matches!(token.text, "else" | "if" | "contains" | "in") {
        return false;
    }
    let Some(previous) = previous else {
        return true;
    };
    body_ended || (previous.line != token.line && previous.ends_term())
}

/// The tokens on one line, with the white space between them that they need.
fn join(tokens: &[Token<'_>]) -> String {
    let mut out = String::new();
    let mut end = None;
    for token in tokens {
        if end.is_some_and(|end| end != token.start) {
            out.push(' ');
        }
        // A raw text may have lines of its own: they stay.
        out.push_str(token.text);
        end = Some(token.end());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::scan::tokens;
    use super::*;

    fn rewritten(source: &str) -> String {
        rewrite(source, &tokens(source))
    }

    #[test]
    fn bracket_at_line_start_after_complete_term_begins_a_statement() {
        assert_eq!(
            rewritten("a {\n  x := y\n  (x + 1) == 2\n}"),
            "a {\n  x := y\n  ;(x + 1) == 2\n}"
        );
        assert_eq!(
            rewritten("a {\n  x\n  [1][_] == 2\n}"),
            "a {\n  x\n  ;[1][_] == 2\n}"
        );
        assert_eq!(
            rewritten("a { b := [x | c[x]\n (x > 1)] }"),
            "a { b := [x | c[x]\n ;(x > 1)] }"
        );
    }

    #[test]
    fn bracket_after_an_operator_or_in_brackets_continues() {
        for source in [
            "a {\n  x :=\n  (1 + 2)\n}",
            "a { f(1,\n  [2]) }",
            "a := [\n  1,\n  [2]\n]",
            "a {\n not\n (x) }",
        ] {
            assert_eq!(rewritten(source), source);
        }
    }

    #[test]
    fn head_is_repeated_for_every_body() {
        assert_eq!(
            rewritten("v[{\"msg\": m}] {\n m := 1\n} {\n m := 2\n}"),
            "v[{\"msg\": m}] {\n m := 1\n}  v[{\"msg\": m}] {\n m := 2\n}"
        );
        assert_eq!(
            rewritten("f(x) = {\"a\": 1} { x } { not x } { y }"),
            "f(x) = {\"a\": 1} { x }  f(x) = {\"a\": 1} { not x }  f(x) = {\"a\": 1} { y }"
        );
    }

    #[test]
    fn bodies_of_one_rule_and_of_else_stay() {
        for source in [
            "a { b }\nc { d }",
            "a = 1 { b } else = 2 { c }",
            "a = {x | y[x]}\nb { c }",
            "default a = {}\nb { c }",
        ] {
            assert_eq!(rewritten(source), source);
        }
    }

    #[test]
    fn comments_and_texts_are_no_brackets() {
        let source = "a { # {\n  x := \"} {\"\n  y := `} {`\n}\n";
        assert_eq!(rewritten(source), source);
    }
}
