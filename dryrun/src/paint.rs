//! Colours, as upstream's terminal library writes them.

/// Whether texts are coloured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Paint {
    /// With the sequences of ANSI terminals, wherever the output goes.
    Ansi,
    /// Without.
    Plain,
}

/// A colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Color {
    Red,
    Green,
    Yellow,
}

impl Color {
    fn code(self) -> &'static str {
        match self {
            Self::Red => "31",
            Self::Green => "32",
            Self::Yellow => "33",
        }
    }
}

impl Paint {
    /// A text in a colour.
    pub(crate) fn text(self, color: Color, text: &str) -> String {
        match self {
            Self::Plain => text.to_owned(),
            Self::Ansi => format!("\u{1b}[{}m{text}\u{1b}[0m", color.code()),
        }
    }

    /// A bold text in a colour.
    pub(crate) fn bold(self, color: Color, text: &str) -> String {
        match self {
            Self::Plain => text.to_owned(),
            Self::Ansi => self.text(color, &format!("\u{1b}[1m{text}\u{1b}[0m")),
        }
    }
}
