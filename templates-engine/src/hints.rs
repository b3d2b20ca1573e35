//! What may mend an error of a template. The errors themselves are Go's, word for word; a hint stands beside them.

use crate::{functions, messages};

/// Jaro-Winkler similarity from which on a name is taken for a slip of another.
const ALIKE: f64 = 0.8;

/// What may mend an error, in words; nothing where that is not known.
///
/// ```
/// use reeve_templates_engine::hints::hint;
///
/// let error = r#"template: tmpl:1: function "fromConfigmap" not defined"#;
/// assert_eq!(hint(error).as_deref(), Some("did you mean fromConfigMap?"));
/// ```
pub fn hint(error: &str) -> Option<String> {
    if let Some((_, after)) = error.split_once("function \"") {
        let (name, after) = after.split_once('"')?;
        if after.trim_start().starts_with("not defined") {
            return meant(name).map(messages::did_you_mean);
        }
    }
    let is_quoted = error.contains("malformed character constant");
    is_quoted.then(|| messages::TEXT_IN_SINGLE_QUOTES.to_owned())
}

/// The function whose name is most like another one.
fn meant(name: &str) -> Option<&'static str> {
    let lower = name.to_lowercase();
    let alike = functions::all().into_iter().map(|function| {
        let likeness = strsim::jaro_winkler(&lower, &function.name.to_lowercase());
        (likeness, function.name)
    });
    let alike = alike.filter(|(likeness, _)| *likeness >= ALIKE);
    let (_, meant) = alike.max_by(|(one, _), (other, _)| one.total_cmp(other))?;
    Some(meant)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_that_users_mean_are_found() {
        let hint_of = |name: &str| hint(&format!("function \"{name}\" not defined"));
        for (name, meant) in [
            ("base64encode", "base64enc"),
            ("base64decode", "base64dec"),
            ("fromConfigmap", "fromConfigMap"),
            ("fromsecret", "fromSecret"),
            ("toYAML", "toYAML"),
            ("indnet", "indent"),
        ] {
            let found = hint_of(name);
            assert!(
                found.as_deref().is_some_and(|text| text.contains(meant)) || meant == name,
                "{name}: {found:?}"
            );
        }
        assert_eq!(hint_of("zzz"), None);
        assert_eq!(hint("unexpected EOF"), None);
        let quoted = "malformed character constant: '{{ x }}'";
        assert!(hint(quoted).unwrap().contains("{{ `{{ x }}` }}"));
    }
}
