//! Label selectors that are applied here because a shared watch sees more than was asked for.
//!
//! The API server stays the judge of what a selector means: only what is beyond doubt is read here,
//! everything else keeps a watch of its own. That is why this is not the full grammar, which the
//! template engine has for its users' errors.

/// A selector that is understood; all requirements must hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Selector(Vec<Requirement>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Requirement {
    key: String,
    /// Absent: any value will do.
    values: Option<Vec<String>>,
    /// Whether the label must be, or must not be, one of the values.
    wanted: bool,
}

impl Selector {
    /// `None` if the text is not understood.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut requirements = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            // The commas of a set are not those between requirements.
            let set = rest
                .find('(')
                .and_then(|open| rest.find(')').filter(|close| *close > open));
            let comma = match (rest.find(','), set) {
                (Some(comma), Some(close)) if rest.find('(')? < comma => {
                    rest.get(close..)?.find(',').map(|after| close + after)
                }
                (comma, _) => comma,
            };
            let (one, after) = match comma {
                Some(comma) => (rest.get(..comma)?, rest.get(comma + 1..)?),
                None => (rest, ""),
            };
            if comma.is_some() && after.trim().is_empty() {
                return None;
            }
            requirements.push(Requirement::parse(one.trim())?);
            rest = after;
        }
        Some(Self(requirements))
    }

    /// Whether labels fit, given what each label's value is.
    pub(super) fn matches<'a>(&self, label: impl Fn(&str) -> Option<&'a str>) -> bool {
        self.0.iter().all(|requirement| {
            let fits = label(&requirement.key).is_some_and(|label| match &requirement.values {
                Some(values) => values.iter().any(|value| value == label),
                None => true,
            });
            fits == requirement.wanted
        })
    }
}

impl Requirement {
    fn parse(text: &str) -> Option<Self> {
        let of = |key: &str, values: Option<Vec<String>>, wanted| {
            let key = key.trim().to_owned();
            is_key(&key).then_some(Self {
                key,
                values,
                wanted,
            })
        };
        let value = |text: &str| is_value(text.trim()).then(|| vec![text.trim().to_owned()]);
        if let Some(key) = text.strip_prefix('!') {
            return of(key, None, false);
        }
        if let Some((key, right)) = text.split_once("!=") {
            return of(key, Some(value(right)?), false);
        }
        if let Some((key, right)) = text.split_once('=') {
            let right = right.strip_prefix('=').unwrap_or(right);
            return of(key, Some(value(right)?), true);
        }
        if let Some((left, right)) = text.split_once('(') {
            let (key, word) = left.trim().rsplit_once(char::is_whitespace)?;
            let wanted = match word {
                "in" => true,
                "notin" => false,
                _ => return None,
            };
            let values = right.strip_suffix(')')?.split(',').map(str::trim);
            let values: Vec<String> = values.map(str::to_owned).collect();
            let are_values = values
                .iter()
                .all(|value| is_value(value) && !value.is_empty());
            return are_values.then(|| of(key, Some(values), wanted)).flatten();
        }
        of(text, None, true)
    }
}

/// A label's key: an optional domain and a name.
fn is_key(key: &str) -> bool {
    let (domain, name) = match key.split_once('/') {
        Some((domain, name)) => (Some(domain), name),
        None => (None, key),
    };
    let is_domain = |domain: &str| {
        let label = |label: &str| {
            let lower = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
            is_framed(label, lower, |byte| byte == b'-')
        };
        domain.len() <= 253 && domain.split('.').all(label)
    };
    // Both words begin a set in the grammar.
    let is_word = matches!(key, "in" | "notin");
    !is_word && domain.is_none_or(is_domain) && !name.is_empty() && is_value(name)
}

fn is_value(value: &str) -> bool {
    let inner = |byte: u8| matches!(byte, b'-' | b'_' | b'.');
    value.is_empty()
        || (value.len() <= 63 && is_framed(value, |byte| byte.is_ascii_alphanumeric(), inner))
}

/// Whether all is `ends` or `inner`, and it begins and ends with `ends`.
fn is_framed(text: &str, ends: impl Fn(u8) -> bool, inner: impl Fn(u8) -> bool) -> bool {
    let bytes = text.as_bytes();
    let is_end = |byte: Option<&u8>| byte.is_some_and(|byte| ends(*byte));
    is_end(bytes.first())
        && is_end(bytes.last())
        && bytes.iter().all(|byte| ends(*byte) || inner(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("a=1", true)]
    #[case("a==1", true)]
    #[case("a=2", false)]
    #[case("a!=2,b", true)]
    #[case("c!=1", true)]
    #[case("!c", true)]
    #[case("!b", false)]
    #[case("a in (2, 1), b notin (1,2)", true)]
    #[case("c in (1)", false)]
    #[case("c notin (1),a", true)]
    #[case("b=", true)]
    #[case("c=", false)]
    #[case("example.com/d = x_1 , a", true)]
    fn what_is_understood_matches_as_on_the_api_server(#[case] text: &str, #[case] fits: bool) {
        let labels = [("a", "1"), ("b", ""), ("example.com/d", "x_1")];
        let label = |key: &str| {
            labels
                .iter()
                .find(|(name, _)| *name == key)
                .map(|(_, value)| *value)
        };
        assert_eq!(
            Selector::parse(text).unwrap().matches(label),
            fits,
            "{text}"
        );
    }

    #[rstest]
    #[case("a>1")]
    #[case("a=b=c")]
    #[case("a,")]
    #[case(",a")]
    #[case("a in 1")]
    #[case("a in ()")]
    #[case("a in (1")]
    #[case("a in (1))")]
    #[case("a inn (1)")]
    #[case("in (1)")]
    #[case("a b")]
    #[case("-a")]
    #[case("a=-")]
    #[case("A.b/c")]
    #[case("a/b/c")]
    #[case("ä=1")]
    #[case("!a=1")]
    #[case("!")]
    #[case("in")]
    fn what_is_in_doubt_is_left_to_the_api_server(#[case] text: &str) {
        assert_eq!(Selector::parse(text), None, "{text}");
    }

    #[test]
    fn lengths_have_bounds() {
        assert!(Selector::parse(&format!("a={}", "v".repeat(63))).is_some());
        assert!(Selector::parse(&format!("a={}", "v".repeat(64))).is_none());
        assert!(Selector::parse(&"k".repeat(64)).is_none());
    }
}
