//! The terminal that the output is shown on, if it is one.

use std::io::{IsTerminal as _, stdout};

use reeve_report::{Color, Style};

/// The size of terminals that do not say theirs.
const DEFAULT: (usize, usize) = (80, 24);

/// Whether the output is a terminal that can redraw.
pub(crate) fn is_terminal() -> bool {
    stdout().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// Columns and rows of the terminal, now: users change them.
pub(crate) fn size() -> (usize, usize) {
    let size = rustix::termios::tcgetwinsize(stdout());
    match size {
        Ok(size) if size.ws_col > 0 && size.ws_row > 0 => {
            (usize::from(size.ws_col), usize::from(size.ws_row))
        }
        _ => DEFAULT,
    }
}

/// The style of a text that is printed once.
pub(crate) fn style() -> Style {
    if !is_terminal() {
        return Style::default();
    }
    Style {
        width: Some(size().0),
        rows: None,
        color: color(),
    }
}

/// Colours on a terminal, unless the user wants none.
pub(crate) fn color() -> Color {
    let unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    if is_terminal() && !unwanted {
        Color::Always
    } else {
        Color::Never
    }
}
