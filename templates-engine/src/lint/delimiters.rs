use super::{Level, MOST_VIOLATIONS, Rule, Violation, column, content, violation};

static MISMATCHED: Rule = Rule {
    id: "GTUL002",
    name: "mismatchedDelimiters",
    description: "Template delimiters must be properly paired.",
    full_description: "Template and JSON start delimiters (`{{` or `{{hub` or `{`) must be paired \
        with a corresponding closing delimiter. Otherwise, the template is invalid.",
    level: Level::Error,
};

#[derive(Clone, Copy)]
struct Delimiter<'a> {
    text: &'a str,
    line: usize,
    /// Its position in the line.
    byte: usize,
}

impl Delimiter<'_> {
    fn opens(self) -> bool {
        self.text.starts_with('{')
    }

    fn is_hub(self) -> bool {
        self.text.contains("hub")
    }

    fn is_json(self) -> bool {
        self.text.len() == 1
    }
}

/// GTUL002: delimiters that do not match.
pub(super) fn mismatched(lines: &[&str]) -> Vec<Violation> {
    let mut checker = Checker {
        lines,
        open: Vec::new(),
        violations: Vec::new(),
    };
    for (line, text) in content(lines) {
        for delimiter in delimiters(text, line) {
            if delimiter.opens() {
                checker.open.push(delimiter);
            } else {
                checker.close(delimiter);
            }
        }
    }
    for left in std::mem::take(&mut checker.open) {
        let message = format!("Unmatched opening delimiter '{}'.", left.text);
        checker.report(left, &message);
    }
    checker.violations
}

/// The delimiters of a line.
fn delimiters(text: &str, line: usize) -> Vec<Delimiter<'_>> {
    let mut found = Vec::new();
    let mut at = 0;
    let end = text.trim_end().len();
    while at < end {
        let rest = text.get(at..end).unwrap_or_default();
        match delimiter_length(rest) {
            Some(length) => {
                found.push(Delimiter {
                    text: rest.get(..length).unwrap_or_default(),
                    line,
                    byte: at,
                });
                at += length;
            }
            None => at += rest.chars().next().map_or(1, char::len_utf8),
        }
    }
    found
}

fn delimiter_length(text: &str) -> Option<usize> {
    if let Some(behind) = text.strip_prefix("{{") {
        let behind = behind.strip_prefix("hub").unwrap_or(behind);
        let behind = behind.strip_prefix('-').unwrap_or(behind);
        return Some(text.len() - behind.len());
    }
    ["-hub}}", "hub}}", "-}}", "}}", "{", "}"]
        .into_iter()
        .find(|delimiter| text.starts_with(delimiter))
        .map(str::len)
}

struct Checker<'a> {
    lines: &'a [&'a str],
    /// What is open, the innermost last.
    open: Vec<Delimiter<'a>>,
    violations: Vec<Violation>,
}

impl<'a> Checker<'a> {
    fn report(&mut self, at: Delimiter<'a>, message: &str) {
        if self.violations.len() >= MOST_VIOLATIONS {
            return;
        }
        let shown = self.lines.get(at.line - 1).copied().unwrap_or_default();
        self.violations.push(Violation {
            column: column(shown, at.byte),
            ..violation(&MISMATCHED, at.line, shown, message)
        });
    }

    fn close(&mut self, delimiter: Delimiter<'a>) {
        let Some(mut opener) = self.open.pop() else {
            let message = format!("Unmatched closing delimiter '{}'.", delimiter.text);
            self.report(delimiter, &message);
            return;
        };
        let mut closer = delimiter;
        if closer.text == "}}" && opener.is_json() {
            // Two closing braces of JSON, or one and something else.
            let Some(next) = self.open.pop() else {
                self.report(delimiter, "Unmatched closing JSON delimiter '}'.");
                return;
            };
            closer = Delimiter {
                text: "}",
                byte: closer.byte + 1,
                ..closer
            };
            opener = next;
        }
        let kind = if opener.is_json() != closer.is_json() {
            if !closer.is_json() && opener.is_hub() != closer.is_hub() {
                "hub and managed cluster"
            } else {
                "JSON and template"
            }
        } else if opener.is_hub() != closer.is_hub() {
            "hub and managed cluster"
        } else {
            return;
        };
        let at = if opener.line == closer.line {
            closer
        } else {
            opener
        };
        let known = self.violations.len();
        self.report(at, &format!("Mismatched {kind} delimiters"));
        if let Some(last) = self.violations.get_mut(known) {
            last.message = format!("{}: {} ... {}", last.message, opener.text, closer.text);
        }
    }
}
