//! Numbers of a source that the parser reads otherwise than Open Policy Agent's: `1e3` would be a whole number, and a number with
//! a large exponent would be made in full.

use super::CompileError;
use super::scan::{Token, TokenKind};
use crate::messages;

/// The largest power of two of a number, as in Open Policy Agent, in decimal digits.
const MAX_DIGITS: i64 = 30_103;
/// A float has no more digits before its point.
const FLOAT_DIGITS: i64 = 308;

/// How much longer the source may become. Numbers beyond that stay whole ones.
const MAX_ADDED: usize = 1 << 20;

/// A number of a source with its exponent.
struct Literal<'a> {
    whole: &'a str,
    fraction: &'a str,
    exponent: Option<i64>,
    /// Where it ends.
    end: usize,
}

/// The source with numbers written with exponents as floats without them. `name` is that of the module.
pub fn rewrite(
    name: &str,
    source: &str,
    tokens: &[Token<'_>],
) -> Result<Option<String>, CompileError> {
    let mut out = String::new();
    let mut from = 0;
    for (index, token) in tokens.iter().enumerate() {
        if token.kind != TokenKind::Number || token.start < from {
            continue;
        }
        let point = leading_point(tokens, index);
        let start = point.unwrap_or(token.start);
        let Some(literal) = read(source, start) else {
            continue;
        };
        if literal.is_too_big() {
            let place = format!("{name}:{}", token.line);
            let error = format!("{place}: rego_parse_error: number too big");
            let message = messages::invalid_template(messages::errors_occurred(&[error]));
            return Err(CompileError { message });
        }
        let (plain, end) = match literal.without_exponent() {
            Some(plain) => (plain, literal.end),
            None if point.is_some() => ("0".to_owned(), start),
            None => continue,
        };
        if out.len() + plain.len() > MAX_ADDED + start {
            continue;
        }
        out.push_str(source.get(from..start).unwrap_or_default());
        out.push_str(&plain);
        from = end;
    }
    if out.is_empty() {
        return Ok(None);
    }
    out.push_str(source.get(from..).unwrap_or_default());
    Ok(Some(out))
}

/// Where a point is that a number begins with.
fn leading_point(tokens: &[Token<'_>], index: usize) -> Option<usize> {
    let point = tokens.get(index.checked_sub(1)?)?;
    let number = tokens.get(index)?;
    let before = index.checked_sub(2).and_then(|index| tokens.get(index));
    let is_member = before.is_some_and(|before| before.ends_term() && before.end() == point.start);
    (point.is(".") && point.end() == number.start && !is_member).then_some(point.start)
}

/// The parts of a number; none for what is no number.
fn read(source: &str, start: usize) -> Option<Literal<'_>> {
    let all = source.get(start..)?;
    let (whole, rest) = digits(all);
    let (fraction, rest) = match rest.strip_prefix('.').map(digits) {
        Some(("", _)) => return None,
        Some(parts) => parts,
        None => ("", rest),
    };
    let mut end = start + all.len() - rest.len();
    let mut exponent = None;
    if let Some(rest) = rest.strip_prefix(['e', 'E']) {
        let unsigned = rest.strip_prefix(['+', '-']).unwrap_or(rest);
        let (size, rest_of_all) = digits(unsigned);
        if size.is_empty() {
            return None;
        }
        let size = size.parse().unwrap_or(i64::MAX / 4);
        exponent = Some(if rest.starts_with('-') { -size } else { size });
        end = start + all.len() - rest_of_all.len();
    }
    Some(Literal {
        whole,
        fraction,
        exponent,
        end,
    })
}

/// The digits that a text begins with, and the rest.
fn digits(text: &str) -> (&str, &str) {
    let end = text.find(|rune: char| !rune.is_ascii_digit());
    text.split_at(end.unwrap_or(text.len()))
}

impl Literal<'_> {
    /// How many digits there are before the point, without zeros before them; fewer than none when there are zeros behind it. None
    /// for zero.
    fn digits_before_point(&self) -> Option<i64> {
        let digits = format!("{}{}", self.whole, self.fraction);
        let zeros = digits.len() - digits.trim_start_matches('0').len();
        let count = |length: usize| i64::try_from(length).unwrap_or(i64::MAX / 4);
        (zeros < digits.len())
            .then(|| count(self.whole.len()) - count(zeros) + self.exponent.unwrap_or_default())
    }

    fn is_too_big(&self) -> bool {
        self.digits_before_point()
            .is_some_and(|digits| digits.abs() > MAX_DIGITS)
    }

    /// None for a number that the parser reads as a float anyway, or that none is.
    fn without_exponent(&self) -> Option<String> {
        let exponent = self.exponent?;
        if self.whole.len() > 1 && self.whole.starts_with('0') {
            return None;
        }
        match self.digits_before_point() {
            None => Some("0.0".to_owned()),
            // No number of the parser's: it refuses what is larger than any float.
            Some(digits) if digits > FLOAT_DIGITS => None,
            Some(_) => {
                let places = usize::try_from(exponent).ok()?;
                if places < self.fraction.len() {
                    return None;
                }
                let zeros = "0".repeat(places - self.fraction.len());
                let digits = format!("{}{}{zeros}.0", self.whole, self.fraction);
                let significant = digits.trim_start_matches('0');
                Some(significant.to_owned())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::scan::tokens;
    use super::*;

    fn rewritten(source: &str) -> String {
        let rewritten = rewrite("template", source, &tokens(source)).unwrap();
        rewritten.unwrap_or_else(|| source.to_owned())
    }

    #[test]
    fn exponents_become_zeros_where_the_number_is_whole() {
        assert_eq!(rewritten("x := 1e3 + 1.5E+2"), "x := 1000.0 + 150.0");
        assert_eq!(rewritten("x := [0e5,2e0]"), "x := [0.0,2.0]");
    }

    #[test]
    fn number_that_begins_with_a_point_begins_with_zero() {
        assert_eq!(
            rewritten("[.5, -.25, a.b, .5e3]"),
            "[0.5, -0.25, a.b, 500.0]"
        );
    }

    #[test]
    fn other_numbers_stay() {
        for source in [
            "1", "1.50", "15e-1", "1.25e1", "0.e5", "01e3", "f1e3", "\"1e3\"",
        ] {
            assert_eq!(rewritten(source), source);
        }
    }

    #[test]
    fn source_does_not_become_much_longer() {
        let source = "1e300 ".repeat(100_000);
        assert!(rewritten(&source).len() < 3 << 20);
    }

    #[test]
    fn number_beyond_the_limit_is_refused() {
        for source in ["1e1000000", "1e99999999999999999999", "1e-1000000"] {
            assert!(rewrite("template", source, &tokens(source)).is_err());
        }
        assert_eq!(rewritten("1e30000"), "1e30000");
    }
}
