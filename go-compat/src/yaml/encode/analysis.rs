use crate::yaml::error::Dialect;

/// What of a text decides in which styles it can be written.
#[derive(Default)]
#[allow(clippy::struct_excessive_bools)] // independent answers, not a state
pub(super) struct Analysis {
    /// Whether it has line breaks, Unicode's included.
    pub multiline: bool,
    pub plain_allowed: bool,
    pub single_quoted_allowed: bool,
    pub block_allowed: bool,
}

/// A line break, as YAML 1.1 knows them.
pub(super) fn is_break(character: char) -> bool {
    matches!(character, '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Whether a character may stand for itself. Those beyond the basic plane may not: go-yaml looks
/// at the first byte only.
pub(super) fn is_printable(character: char) -> bool {
    matches!(character,
        '\n' | ' '..='~' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}')
        && character != '\u{feff}'
}

impl Analysis {
    pub(super) fn of(text: &str, dialect: Dialect) -> Self {
        if text.is_empty() {
            return Self {
                plain_allowed: true,
                single_quoted_allowed: true,
                ..Self::default()
            };
        }
        let mut flags = Flags {
            indicators: text.starts_with("---") || text.starts_with("..."),
            ..Flags::default()
        };
        let mut preceded_by_space = true;
        let mut previous = None;
        let mut characters = text.chars().peekable();
        while let Some(character) = characters.next() {
            let next = characters.peek().copied();
            let followed_by_space = matches!(next, None | Some(' ' | '\t'));
            flags.indicators |= match previous {
                None => is_first_indicator(character, followed_by_space),
                Some(_) => {
                    (character == ':' && followed_by_space)
                        || (character == '#' && preceded_by_space)
                }
            };
            flags.record(character, previous, next.is_none());
            // v2 prints no tab as it is.
            flags.special |= character == '\t' && dialect == Dialect::V2;
            preceded_by_space = matches!(character, ' ' | '\t') || is_break(character);
            previous = Some(character);
        }
        flags.decide()
    }
}

fn is_first_indicator(character: char, followed_by_space: bool) -> bool {
    match character {
        '#' | ',' | '[' | ']' | '{' | '}' | '&' | '*' | '!' | '|' | '>' | '\'' | '"' | '%'
        | '@' | '`' => true,
        '?' | ':' | '-' => followed_by_space,
        _ => false,
    }
}

#[derive(Default)]
#[allow(clippy::struct_excessive_bools)] // the original's flags, each with its own consequences
struct Flags {
    indicators: bool,
    line_breaks: bool,
    special: bool,
    tab: bool,
    outer_space: bool,
    trailing_space: bool,
    break_space: bool,
    space_break: bool,
}

impl Flags {
    fn record(&mut self, character: char, previous: Option<char>, is_last: bool) {
        if character == '\t' {
            self.tab = true;
        } else if !is_printable(character) {
            self.special = true;
        }
        if character == ' ' {
            self.outer_space |= previous.is_none() || is_last;
            self.trailing_space |= is_last;
            self.break_space |= previous.is_some_and(is_break);
        } else if is_break(character) {
            self.line_breaks = true;
            self.outer_space |= previous.is_none() || is_last;
            self.space_break |= previous == Some(' ');
        }
    }

    fn decide(&self) -> Analysis {
        let unquotable = self.break_space || self.space_break || self.tab || self.special;
        Analysis {
            multiline: self.line_breaks,
            plain_allowed: !(self.outer_space || unquotable || self.line_breaks || self.indicators),
            single_quoted_allowed: !unquotable,
            block_allowed: !(self.trailing_space || self.space_break || self.special),
        }
    }
}
