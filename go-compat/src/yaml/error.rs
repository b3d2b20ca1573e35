//! Why YAML could not be read or written.

use std::borrow::Cow;

/// Why YAML could not be read or written, in go-yaml's words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum YamlError {
    /// The text is not YAML, or means something that cannot be a value.
    #[error("yaml: {0}")]
    Text(String),
    /// Parts of the document do not fit; one line each.
    #[error("yaml: unmarshal errors:\n  {}", .0.join("\n  "))]
    Parts(Vec<String>),
    /// The document has no form in JSON. Go: errors of `sigs.k8s.io/yaml` itself.
    #[error("{0}")]
    NotJson(String),
    /// A value of a type that has no form in YAML.
    #[error("cannot marshal type: {0}")]
    Unsupported(String),
}

impl YamlError {
    pub(super) fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    pub(super) fn too_deep() -> Self {
        Self::text("exceeded max depth of 10000")
    }
}

/// Which part of libyaml found a problem; the line that is reported depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Decoding bytes to characters.
    Reader,
    /// Finding tokens.
    Scanner,
    /// Fitting tokens to the grammar.
    Parser,
}

/// What is wrong with a text, and on which lines (from zero).
#[derive(Clone, Debug)]
pub struct Problem {
    source: Source,
    text: Cow<'static, str>,
    line: usize,
    /// Where the construct started in which the problem is.
    context_line: usize,
}

/// Whose rules apply: they differ in error lines, comments and types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// gopkg.in/yaml.v3
    V3,
    /// go.yaml.in/yaml/v2, which `sigs.k8s.io/yaml` uses.
    V2,
}

impl Problem {
    pub(super) fn reader(text: &'static str) -> Self {
        Self::new(Source::Reader, text, 0, 0)
    }

    pub(super) fn new(
        source: Source,
        text: impl Into<Cow<'static, str>>,
        line: usize,
        context_line: usize,
    ) -> Self {
        Self {
            source,
            text: text.into(),
            line,
            context_line,
        }
    }

    /// The error as go-yaml words it: v3 prefers the context's line, v2 the problem's, and the
    /// scanner's lines alone count from one.
    pub(super) fn to_error(&self, dialect: Dialect) -> YamlError {
        let scanner = usize::from(self.source == Source::Scanner);
        let line = match dialect {
            Dialect::V3 if self.context_line != 0 => self.context_line + scanner,
            Dialect::V3 | Dialect::V2 if self.line != 0 => self.line + scanner,
            Dialect::V3 => 0,
            Dialect::V2 => self.context_line,
        };
        YamlError::Text(if line == 0 {
            self.text.to_string()
        } else {
            format!("line {line}: {}", self.text)
        })
    }
}
