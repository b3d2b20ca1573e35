//! The emitter: where lines break and how deep they start.

use std::fmt::Write as _;

use serde_json::{Map, Number, Value};

use super::natural;
use super::scalar::{Position, Style, is_break, is_printable, is_simple_key, style};
use crate::evaluate::compare::print_float;

/// Texts fold at the first blank beyond this column.
const WIDTH: usize = 80;
/// Columns per level.
const STEP: usize = 2;

/// The value as YAML, ending in a line break.
pub fn to_yaml(value: &Value) -> String {
    let mut emitter = Emitter {
        out: String::new(),
        column: 0,
        indent: None,
        after_blank: true,
        only_indentation: true,
    };
    emitter.node(value, Parent::List);
    emitter.start_line();
    emitter.out
}

/// What a node is part of: a list that is a mapping's value is not indented.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Parent {
    List,
    Mapping,
}

struct Emitter {
    out: String,
    /// How many characters the current line has.
    column: usize,
    /// Where the lines of the current block start; `None` outside of everything.
    indent: Option<usize>,
    /// The last thing written was a blank (or a line's start).
    after_blank: bool,
    /// The current line has only blanks and the signs `-`, `?`, `:` so far.
    only_indentation: bool,
}

impl Emitter {
    fn node(&mut self, value: &Value, parent: Parent) {
        match value {
            Value::Object(entries) if !entries.is_empty() => self.mapping(entries),
            Value::Array(items) if !items.is_empty() => self.list(items, parent),
            Value::Object(_) => self.word("{}"),
            Value::Array(_) => self.word("[]"),
            Value::Null => self.word("null"),
            Value::Bool(flag) => self.word(if *flag { "true" } else { "false" }),
            Value::Number(number) => self.word(&print_number(number)),
            Value::String(text) => self.value_text(text),
        }
    }

    /// A text whose further lines, if it gets any, start one step further in.
    fn value_text(&mut self, text: &str) {
        let outer = self.indent;
        self.indent = Some(outer.unwrap_or(0).saturating_add(STEP));
        self.text(text, Position::Value);
        self.indent = outer;
    }

    fn mapping(&mut self, entries: &Map<String, Value>) {
        self.indented(STEP, |out| {
            for (key, value) in natural::sort(entries.iter()) {
                out.start_line();
                if is_simple_key(key) {
                    out.text(key, Position::SimpleKey);
                    out.put(':');
                    out.after_blank = false;
                    out.only_indentation = false;
                } else {
                    out.sign('?');
                    out.value_text(key);
                    out.start_line();
                    out.sign(':');
                }
                out.node(value, Parent::Mapping);
            }
        });
    }

    fn list(&mut self, items: &[Value], parent: Parent) {
        let step = if parent == Parent::Mapping && !self.only_indentation {
            0
        } else {
            STEP
        };
        self.indented(step, |out| {
            for item in items {
                out.start_line();
                out.sign('-');
                out.node(item, Parent::List);
            }
        });
    }

    /// Runs `body` in a block that starts `step` columns further in; the outermost block starts at 0.
    fn indented(&mut self, step: usize, body: impl FnOnce(&mut Self)) {
        let outer = self.indent;
        self.indent = Some(outer.map_or(0, |indent| indent.saturating_add(step)));
        body(self);
        self.indent = outer;
    }

    /// Goes to the start of a line of the current block, on the current line if nothing but signs is on it yet.
    fn start_line(&mut self) {
        let indent = self.indent.unwrap_or(0);
        let taken = self.column > indent || (self.column == indent && !self.after_blank);
        if !self.only_indentation || taken {
            self.put('\n');
        }
        while self.column < indent {
            self.put(' ');
        }
        self.after_blank = true;
        self.only_indentation = true;
    }

    fn put(&mut self, c: char) {
        self.out.push(c);
        self.column = if is_break(c) {
            0
        } else {
            self.column.saturating_add(1)
        };
    }

    fn blank_before(&mut self) {
        if !self.after_blank {
            self.put(' ');
        }
    }

    /// One of the signs that structure a block.
    fn sign(&mut self, sign: char) {
        self.blank_before();
        self.put(sign);
        self.after_blank = false;
    }

    /// Something that never folds.
    fn word(&mut self, word: &str) {
        self.blank_before();
        word.chars().for_each(|c| self.put(c));
        self.after_blank = false;
        self.only_indentation = false;
    }

    fn text(&mut self, text: &str, position: Position) {
        match style(text, position) {
            Style::Plain => self.folded(text, position, Quote::None),
            Style::SingleQuoted => self.folded(text, position, Quote::Single),
            Style::DoubleQuoted => self.folded(text, position, Quote::Double),
            Style::Literal => self.literal(text),
        }
        // A block that ends in a line break leaves us at the start of a line.
        self.after_blank = self.column == 0;
        self.only_indentation = self.column == 0;
    }

    /// Writes a text between quotes, breaking long lines at blanks.
    fn folded(&mut self, text: &str, position: Position, quote: Quote) {
        self.blank_before();
        if let Some(mark) = quote.mark() {
            self.put(mark);
        }
        let mut after_space = false;
        let mut chars = text.chars().peekable();
        let mut first = true;
        while let Some(c) = chars.next() {
            if c == ' ' {
                let next = chars.peek().copied();
                let long = position == Position::Value && !after_space && self.column > WIDTH;
                if long && quote.may_fold(first, next) {
                    self.fold(quote, next);
                } else {
                    self.put(' ');
                }
                after_space = true;
            } else {
                self.folded_char(c, quote);
                // An escaped character ends a run of blanks like any other.
                after_space = false;
            }
            first = false;
        }
        if let Some(mark) = quote.mark() {
            self.put(mark);
        }
    }

    fn fold(&mut self, quote: Quote, next: Option<char>) {
        self.only_indentation = false;
        self.start_line();
        self.only_indentation = false;
        if quote == Quote::Double && next == Some(' ') {
            self.put('\\');
        }
    }

    fn folded_char(&mut self, c: char, quote: Quote) {
        match quote {
            Quote::Double if must_escape(c) => self.escaped(c),
            Quote::Single if c == '\'' => {
                self.put(c);
                self.put(c);
            }
            _ => self.put(c),
        }
    }

    fn escaped(&mut self, c: char) {
        let mut text = String::from('\\');
        let code = u32::from(c);
        let short = match c {
            '\0' => Some('0'),
            '\u{7}' => Some('a'),
            '\u{8}' => Some('b'),
            '\t' => Some('t'),
            '\n' => Some('n'),
            '\u{b}' => Some('v'),
            '\u{c}' => Some('f'),
            '\r' => Some('r'),
            '\u{1b}' => Some('e'),
            '"' | '\\' => Some(c),
            '\u{85}' => Some('N'),
            '\u{2028}' => Some('L'),
            '\u{2029}' => Some('P'),
            _ => None,
        };
        // Writing to a String cannot fail.
        let _ = match (short, code) {
            (Some(short), _) => write!(text, "{short}"),
            (None, 0..=0xff) => write!(text, "x{code:02X}"),
            (None, 0x100..=0xffff) => write!(text, "u{code:04X}"),
            (None, _) => write!(text, "U{code:08X}"),
        };
        text.chars().for_each(|c| self.put(c));
    }

    /// Writes a text of several lines below a `|`.
    fn literal(&mut self, text: &str) {
        self.blank_before();
        self.put('|');
        if text.starts_with(|c| c == ' ' || is_break(c)) {
            self.put('2');
        }
        let mut from_end = text.chars().rev();
        match (
            from_end.next().is_some_and(is_break),
            from_end.next().is_none_or(is_break),
        ) {
            (false, _) => self.put('-'),
            (true, true) => self.put('+'),
            (true, false) => {}
        }
        self.put('\n');
        for c in text.chars() {
            if is_break(c) {
                self.put(c);
                continue;
            }
            if self.column == 0 {
                (0..self.indent.unwrap_or(0)).for_each(|_| self.put(' '));
            }
            self.put(c);
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Quote {
    None,
    Single,
    Double,
}

impl Quote {
    fn mark(self) -> Option<char> {
        match self {
            Self::None => None,
            Self::Single => Some('\''),
            Self::Double => Some('"'),
        }
    }

    /// Whether the blank before `next` may become a line break.
    fn may_fold(self, first: bool, next: Option<char>) -> bool {
        match self {
            Self::None => next != Some(' '),
            Self::Single => !first && next.is_some_and(|next| next != ' '),
            Self::Double => !first && next.is_some(),
        }
    }
}

fn must_escape(c: char) -> bool {
    !is_printable(c) || is_break(c) || c == '"' || c == '\\'
}

/// A number as it looks after a round through JSON and YAML: floats without a fraction have become integers.
fn print_number(number: &Number) -> String {
    if let Some(whole) = number.as_i64() {
        return whole.to_string();
    }
    if let Some(whole) = number.as_u64() {
        return whole.to_string();
    }
    let Some(float) = number.as_f64() else {
        return number.to_string();
    };
    let whole = format!("{float:.0}");
    let is_whole = float.fract() == 0.0 && float.abs() < 1e21;
    match (is_whole, whole.parse::<i64>(), whole.parse::<u64>()) {
        (true, Ok(whole), _) => whole.to_string(),
        (true, _, Ok(whole)) => whole.to_string(),
        _ => print_float(float),
    }
}
