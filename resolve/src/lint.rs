//! The linter of upstream's program.

use std::path::Path;

use reeve_go_compat::paths;
use reeve_templates_engine::lint::{self, Level, Violation};

use crate::{messages, saved};

/// The exit code of warnings only.
const WARNINGS: u8 = 3;
/// The exit code of errors.
const ERRORS: u8 = 2;

/// What the linter found.
pub(crate) struct Findings {
    violations: Vec<Violation>,
}

impl Findings {
    /// Lints a text.
    pub(crate) fn of(text: &str) -> Self {
        Self {
            violations: lint::lint(text),
        }
    }

    /// The findings as text; nothing without any.
    pub(crate) fn text(&self) -> String {
        if self.violations.is_empty() {
            return String::new();
        }
        format!(
            "{}\n{}",
            messages::LINT_TITLE,
            lint::to_text(&self.violations)
        )
    }

    /// Writes the findings as SARIF.
    pub(crate) fn write_sarif(&self, to: &Path, about: Option<&Path>) -> Result<(), String> {
        let stdin = Path::new(reeve_manifests::STDIN);
        let about = match about {
            Some(path) if path != stdin => cleaned(path),
            _ => messages::STDIN.to_owned(),
        };
        let text = lint::to_sarif(&self.violations, &about).map_err(|error| error.to_string())?;
        saved::write(to, &text)
    }

    /// The exit code of the command `lint`.
    pub(crate) fn code(&self) -> u8 {
        let is_error = |violation: &Violation| violation.rule.level == Level::Error;
        if self.violations.is_empty() {
            0
        } else if self.violations.iter().any(is_error) {
            ERRORS
        } else {
            WARNINGS
        }
    }
}

/// A path as upstream writes it.
fn cleaned(path: &Path) -> String {
    let clean = paths::clean(path.as_os_str().as_encoded_bytes());
    String::from_utf8_lossy(&clean).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rsv_15_paths_in_sarif_are_cleaned() {
        for (path, expected) in [
            ("./ll.yaml", "ll.yaml"),
            ("a/../b//./c.yaml", "b/c.yaml"),
            ("../x/../y.yaml", "../y.yaml"),
            ("/../x.yaml", "/x.yaml"),
            ("a/..", "."),
        ] {
            assert_eq!(cleaned(Path::new(path)), expected);
        }
    }
}
