//! The rewrites of the text between YAML and parsing: fields whose value is no string, and
//! `autoindent`.

use std::sync::LazyLock;

use regex::Regex;

use crate::language::Delimiters;

/// White space as Go's regular expressions see it: no vertical tab, no Unicode.
const SPACE: &str = r"[\t\n\x0c\r ]";

/// Stands for a `'` of an action within single quotes while the text is rewritten, so that it is
/// known afterwards which actions are still within them.
pub(crate) const APOSTROPHE: char = '\u{fdd0}';

/// A pattern that is written here and therefore compiles.
fn compiled(pattern: &str) -> Option<Regex> {
    Regex::new(pattern).ok()
}

/// The two rewrites for one pair of delimiters.
#[derive(Clone, Debug)]
pub struct Rewrites {
    data_types: Option<Regex>,
    autoindent: Option<Regex>,
}

static DEFAULT: LazyLock<Rewrites> = LazyLock::new(|| Rewrites::compile(Delimiters::default()));
static HUB: LazyLock<Rewrites> = LazyLock::new(|| {
    Rewrites::compile(Delimiters {
        left: "{{hub",
        right: "hub}}",
    })
});

impl Rewrites {
    /// The rewrites for these delimiters.
    pub fn new(delimiters: Delimiters<'_>) -> Self {
        match (delimiters.left, delimiters.right) {
            ("{{", "}}") => DEFAULT.clone(),
            ("{{hub", "hub}}") => HUB.clone(),
            _ => Self::compile(delimiters),
        }
    }

    fn compile(delimiters: Delimiters<'_>) -> Self {
        let left = regex::escape(delimiters.left);
        let right = regex::escape(delimiters.right);
        let action = format!(
            r"{left}-?(?:.*\|{SPACE}*(?:toInt|toBool|toLiteral)|.*(?:copyConfigMapData|copySecretData)).*{right}"
        );
        // An opening quote takes the white space and the quote behind the action with it; an
        // action without one leaves what follows alone, the newline included.
        let data_types = format!(
            r":{SPACE}+(?:[|>]-?{SPACE}+)?(?:'{SPACE}*(?P<quoted>{action}){SPACE}*'?|(?P<bare>{action}))"
        );
        let autoindent = format!(r#"( *)['"]?({left}.*\| *autoindent *-?{right})"#);
        Self {
            data_types: compiled(&data_types),
            autoindent: compiled(&autoindent),
        }
    }

    /// Takes the quotes off actions that end in `toInt`, `toBool` or `toLiteral`, or that copy
    /// the data of an object, so that YAML reads what they give as it is.
    pub fn data_types(&self, text: &str) -> String {
        self.unquoted(text, str::to_owned)
    }

    /// The same with apostrophes [marked](APOSTROPHE). Actions without quotes have their own.
    pub(crate) fn data_types_of_marked(&self, text: &str) -> String {
        self.unquoted(text, |action| action.replace(APOSTROPHE, "'"))
    }

    fn unquoted(&self, text: &str, write: impl Fn(&str) -> String) -> String {
        let Some(pattern) = &self.data_types else {
            return text.to_owned();
        };
        let replaced = pattern.replace_all(text, |found: &regex::Captures<'_>| {
            match (found.name("quoted"), found.name("bare")) {
                (Some(action), _) => format!(": {}", write(action.as_str())),
                (None, action) => format!(": {}", action.map_or("", |action| action.as_str())),
            }
        });
        replaced.into_owned()
    }

    /// Turns `autoindent` into `indent` by as many spaces as there are before its action.
    pub fn autoindent(&self, text: &str, additional_indentation: u32) -> String {
        let mut result = text.to_owned();
        if !text.contains("autoindent") {
            return result;
        }
        let Some(pattern) = &self.autoindent else {
            return result;
        };
        for found in pattern.captures_iter(text) {
            let spaces = found.get(1).map_or(0, |spaces| spaces.len());
            let action = found.get(2).map_or("", |action| action.as_str());
            let spaces = i64::try_from(spaces).unwrap_or(0) - i64::from(additional_indentation);
            let indented = action.replacen("autoindent", &format!("indent {spaces}"), 1);
            result = result.replacen(action, &indented, 1);
        }
        result
    }
}

#[cfg(test)]
mod tests {
    use super::Rewrites;
    use crate::language::Delimiters;

    fn data_types(text: &str) -> String {
        Rewrites::new(Delimiters::default()).data_types(text)
    }

    #[test]
    fn tmpl_33_data_types_are_rewritten() {
        for (text, expected) in [
            (r#"k: '{{ "6" | toInt }}'"#, r#"k: {{ "6" | toInt }}"#),
            ("k: |\n  '{{ 1 | toInt }}'", "k: {{ 1 | toInt }}"),
            ("k: >-\n  '{{ 1 | toBool }}'\n", "k: {{ 1 | toBool }}\n"),
            ("k:\n  '{{ 1 | toLiteral }}'", "k: {{ 1 | toLiteral }}"),
            (r#"- '{{ "6" | toInt }}'"#, r#"- '{{ "6" | toInt }}'"#),
            ("- k: '{{ 1 | toInt }}'", "- k: {{ 1 | toInt }}"),
            (r#"k: '{{ toInt "6" }}'"#, r#"k: '{{ toInt "6" }}'"#),
            ("k: 'x{{ 1 | toInt }}'", "k: 'x{{ 1 | toInt }}'"),
            (r#"k: "{{ 6 | toInt }}""#, r#"k: "{{ 6 | toInt }}""#),
            ("k: '{{ 1 | toInt }} foo'", "k: {{ 1 | toInt }}foo'"),
            ("k: |+\n  '{{ 1 | toInt }}'", "k: |+\n  '{{ 1 | toInt }}'"),
            (
                "k: '{{ if a | toInt }} {{ else }} {{ end }}'",
                "k: {{ if a | toInt }} {{ else }} {{ end }}",
            ),
            ("k: '{{ 1 | toIntegerX }}'", "k: {{ 1 | toIntegerX }}"),
            (
                r#"k: '{{ copySecretData "a" "b" }}'"#,
                r#"k: {{ copySecretData "a" "b" }}"#,
            ),
        ] {
            assert_eq!(data_types(text), expected);
        }
    }

    /// Upstream eats the newline and joins the next field to the action.
    #[test]
    fn tmpl_33_9_unquoted_action_keeps_its_newline() {
        let text = "k: {{ 1 | toInt }}\nk2: v";
        assert_eq!(data_types(text), text);
        assert_eq!(
            data_types("k: |\n  {{ 1 | toInt }}\nk2: v"),
            "k: {{ 1 | toInt }}\nk2: v"
        );
    }

    #[test]
    fn autoindent_counts_the_spaces_before_its_action() {
        let rewrites = Rewrites::new(Delimiters::default());
        for (text, additional, expected) in [
            (
                "a: |\n    {{ x | autoindent }}",
                0,
                "a: |\n    {{ x | indent 4 }}",
            ),
            ("  '{{ x | autoindent }}'", 8, "  '{{ x | indent -6 }}'"),
            ("{{ x | autoindent -}}", 0, "{{ x | indent 0 -}}"),
            ("{{ x | autoindent | y }}", 0, "{{ x | autoindent | y }}"),
            (
                "{{ x | autoindent }} {{ y | autoindent }}",
                0,
                "{{ x | indent 0 }} {{ y | autoindent }}",
            ),
            ("{{ x\n| autoindent }}", 0, "{{ x\n| autoindent }}"),
        ] {
            assert_eq!(rewrites.autoindent(text, additional), expected);
        }
    }
}
