//! The place where a text is shown.

/// Whether texts have colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Color {
    /// No escape sequences.
    #[default]
    Never,
    /// The state is coloured.
    Always,
}

/// The place where a text is shown.
#[derive(Clone, Copy, Debug, Default)]
pub struct Style {
    /// The columns of the terminal; `None`: as many as there are.
    pub width: Option<usize>,
    /// The most rows of a table; `None`: all.
    pub rows: Option<usize>,
    /// Whether there are colours.
    pub color: Color,
}
