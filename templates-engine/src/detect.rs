//! What a text contains, before anybody resolves it.

use crate::encryption::TOKEN_PREFIX;
use crate::language::{Delimiters, FunctionTable, parse};

/// Whether encrypted values count as templates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encrypted {
    /// A text that has only encrypted values has no template.
    Ignored,
    /// It has.
    Counts,
}

/// Whether a text has templates that start with this delimiter; an empty one stands for `{{`. It
/// does not have to parse. Note that `{{hub` starts with `{{`, too.
pub fn has_template(text: &str, start: &str, encrypted: Encrypted) -> bool {
    let start = if start.is_empty() { "{{" } else { start };
    text.contains(start) || encrypted == Encrypted::Counts && text.contains(TOKEN_PREFIX)
}

/// The functions whose results are encrypted in hub templates.
const ENCRYPTING: [&str; 3] = ["fromSecret", "copySecretData", "protect"];

/// Whether a text uses functions whose results have to be encrypted, anywhere in its templates: as
/// an argument, in parentheses or in the middle of a pipeline as well. A text that does not parse
/// uses them if it names them.
pub fn uses_encryption(text: &str, delimiters: Delimiters<'_>) -> bool {
    if !text.contains(delimiters.left) || !ENCRYPTING.iter().any(|name| text.contains(name)) {
        return false;
    }
    match parse("tmpl", text, delimiters, &FunctionTable::new()) {
        Ok(template) => ENCRYPTING.iter().any(|name| template.calls(name)),
        Err(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::{Encrypted, has_template, uses_encryption};
    use crate::language::Delimiters;

    #[test]
    fn templates_are_found_by_their_start() {
        let ignored = |text, start| has_template(text, start, Encrypted::Ignored);
        assert!(ignored("a {{ b", ""));
        assert!(ignored("{{hub x hub}}", "{{"));
        assert!(ignored("{{hub x hub}}", "{{hub"));
        assert!(!ignored("{{ x }}", "{{hub"));
        assert!(!ignored("$ocm_encrypted:abc", ""));
        assert!(has_template("$ocm_encrypted:abc", "", Encrypted::Counts));
        assert!(!has_template("plain", "", Encrypted::Counts));
    }

    #[test]
    fn encryption_is_found_where_upstream_finds_it() {
        let uses = |text| uses_encryption(text, Delimiters::default());
        for text in [
            r#"{{ fromSecret "a" "b" "c" }}"#,
            r#"{{- fromSecret "a" "b" "c" -}}"#,
            r#"{{ copySecretData "a" "b" }}"#,
            r#"{{ "x" | protect }}"#,
            r#"{{- "x" | protect -}}"#,
            r#"{{ fromSecret "a" "b" "c" | base64dec }}"#,
        ] {
            assert!(uses(text), "{text}");
        }
        for text in [
            r#"{{ fromConfigMap "a" "b" "c" }}"#,
            r#"fromSecret "a" "b" "c""#,
            r#"{{ "fromSecret" }}"#,
            r#"{{ "a" }} protect"#,
            r#"{{ lookup "v1" "Secret" "a" "b" }}"#,
        ] {
            assert!(!uses(text), "{text}");
        }
    }

    /// Upstream checks only the first word of an action and the last stage of its pipeline, and
    /// sends the other secrets in clear text.
    #[test]
    fn tmpl_106_encryption_is_found_anywhere_in_template() {
        let hub = Delimiters {
            left: "{{hub",
            right: "hub}}",
        };
        for text in [
            r#"{{hub $x := fromSecret "a" "b" "c" hub}}"#,
            r#"{{hub (fromSecret "a" "b" "c") | quote hub}}"#,
            r#"{{hub "c" | fromSecret "a" "b" hub}}"#,
            r#"{{hub "x" | protect | quote hub}}"#,
            r#"{{hub if true hub}}{{hub print (copySecretData "a" "b") hub}}{{hub end hub}}"#,
            r#"{{hub define "d" hub}}{{hub protect "x" hub}}{{hub end hub}}"#,
        ] {
            assert!(uses_encryption(text, hub), "{text}");
        }
    }

    #[test]
    fn unparsable_template_uses_encryption_if_it_names_a_function() {
        assert!(uses_encryption(
            r#"{{ fromSecret "a" "#,
            Delimiters::default()
        ));
    }
}
