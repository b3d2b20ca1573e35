//! The linter of upstream's program.

use std::path::{Component, Path, PathBuf};

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
            Some(path) if path != stdin => cleaned(path).display().to_string(),
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

/// The path as Go's `filepath.Clean` writes it: without `.`, and without `..` behind another name.
fn cleaned(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for part in path.components() {
        let last = clean.components().next_back();
        match (part, last) {
            (Component::CurDir, _) | (Component::ParentDir, Some(Component::RootDir)) => {}
            (Component::ParentDir, Some(Component::Normal(_))) => {
                clean.pop();
            }
            _ => clean.push(part),
        }
    }
    if clean.as_os_str().is_empty() {
        clean.push(Component::CurDir);
    }
    clean
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
            assert_eq!(cleaned(Path::new(path)), Path::new(expected));
        }
    }
}
