//! Tokens: the algorithm of libyaml's `scanner.c`, with go-yaml's limits and lookahead.

mod block;
mod comments;
mod directives;
mod quoted;

use std::collections::{HashMap, VecDeque};

use super::error::{Dialect, Problem, Source};
use super::reader::{Mark, Reader};

/// How many flow collections, and how many block collections, may be nested.
const MAX_DEPTH: usize = 10_000;
/// How far a key may be from its colon.
const MAX_SIMPLE_KEY: usize = 1024;

/// How a scalar was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Without any indicator.
    Plain,
    /// `'…'`
    Single,
    /// `"…"`
    Double,
    /// `|` or `>`
    Block,
}

/// What a token is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The beginning.
    StreamStart,
    /// The end.
    StreamEnd,
    /// `%YAML major.minor`
    Version(u8, u8),
    /// `%TAG handle prefix`
    TagDirective(Vec<u8>, Vec<u8>),
    /// `---`
    DocumentStart,
    /// `...`
    DocumentEnd,
    /// Before the first entry of an indented sequence.
    BlockSequenceStart,
    /// Before the first key of an indented mapping.
    BlockMappingStart,
    /// Where the indentation ends.
    BlockEnd,
    /// `[`
    FlowSequenceStart,
    /// `]`
    FlowSequenceEnd,
    /// `{`
    FlowMappingStart,
    /// `}`
    FlowMappingEnd,
    /// `-`
    BlockEntry,
    /// `,`
    FlowEntry,
    /// `?`, or before a key that turned out to be one.
    Key,
    /// `:`
    Value,
    /// `*name`
    Alias(String),
    /// `&name`
    Anchor(String),
    /// `!handle!suffix`
    Tag(Vec<u8>, Vec<u8>),
    /// A scalar.
    Scalar(String, Style),
}

/// A token and where it stands.
#[derive(Clone, Debug)]
pub struct Token {
    /// What it is.
    pub kind: Kind,
    /// Its first character.
    pub start: Mark,
    /// Behind its last character.
    pub end: Mark,
}

/// A place where a key may have begun whose `:` is still to come.
#[derive(Clone, Copy, Default)]
struct SimpleKey {
    possible: bool,
    required: bool,
    token: usize,
    mark: Mark,
}

/// Cuts a text into tokens.
pub struct Scanner<'a> {
    reader: Reader<'a>,
    dialect: Dialect,
    started: bool,
    queue: VecDeque<Token>,
    /// How many tokens left the queue.
    taken: usize,
    /// Whether the first token of the queue is known to be complete.
    available: bool,
    indent: isize,
    indents: Vec<isize>,
    flow_level: usize,
    simple_key_allowed: bool,
    simple_keys: Vec<SimpleKey>,
    /// Positions in `simple_keys` by the number of their token.
    simple_keys_by_token: HashMap<usize, usize>,
}

type Scanned<T = ()> = Result<T, Problem>;

/// Columns fit: no text is that long.
fn signed(column: usize) -> isize {
    isize::try_from(column).unwrap_or(isize::MAX)
}

impl<'a> Scanner<'a> {
    /// A scanner of this text.
    pub fn new(text: &'a [u8], dialect: Dialect) -> Self {
        Self {
            reader: Reader::new(text),
            dialect,
            started: false,
            queue: VecDeque::new(),
            taken: 0,
            available: false,
            indent: -1,
            indents: Vec::new(),
            flow_level: 0,
            simple_key_allowed: true,
            simple_keys: Vec::new(),
            simple_keys_by_token: HashMap::new(),
        }
    }

    /// The next token, which stays.
    pub fn peek(&mut self) -> Scanned<&Token> {
        if !self.available {
            self.fetch_more()?;
            self.available = true;
        }
        let missing = Problem::new(Source::Scanner, "unexpected end of tokens", 0, 0);
        self.queue.front().ok_or(missing)
    }

    /// Takes the token that was looked at.
    pub fn take(&mut self) -> Option<Token> {
        self.available = false;
        self.taken += 1;
        self.queue.pop_front()
    }

    fn problem(&self, text: &'static str, context: Mark) -> Problem {
        Problem::new(Source::Scanner, text, self.reader.mark.line, context.line)
    }

    fn fetch_more(&mut self) -> Scanned {
        // go-yaml v3 needs two more tokens to attach comments; errors in them come first, too.
        let lookahead = match self.dialect {
            Dialect::V3 => 2,
            Dialect::V2 => 0,
        };
        loop {
            if self.queue.len() > lookahead {
                let Some(&position) = self.simple_keys_by_token.get(&self.taken) else {
                    return Ok(());
                };
                if !self.is_simple_key_valid(position)? {
                    return Ok(());
                }
            }
            self.fetch_next()?;
        }
    }

    fn fetch_next(&mut self) -> Scanned {
        self.reader.need(1)?;
        if !self.started {
            self.started = true;
            self.simple_keys.push(SimpleKey::default());
            self.push(Kind::StreamStart, self.reader.mark);
            return Ok(());
        }
        self.skip_to_next_token()?;
        self.unroll_indent(signed(self.reader.mark.column));
        self.reader.need(4)?;
        if self.reader.is_end() {
            return self.fetch_stream_end();
        }
        if self.reader.mark.column == 0 && self.reader.at(0) == b'%' {
            return self.fetch_directive();
        }
        if self.reader.is_document_marker(b'-') {
            return self.fetch_document_marker(Kind::DocumentStart);
        }
        if self.reader.is_document_marker(b'.') {
            return self.fetch_document_marker(Kind::DocumentEnd);
        }
        self.fetch_content()?;
        let is_entry = self
            .queue
            .back()
            .is_some_and(|token| token.kind == Kind::BlockEntry);
        if self.dialect == Dialect::V3 && !is_entry {
            self.skip_line_comment()?;
        }
        Ok(())
    }

    fn fetch_content(&mut self) -> Scanned {
        let in_flow = self.flow_level > 0;
        let separated = self.reader.is_blank_or_end(1);
        match self.reader.at(0) {
            b'[' => self.fetch_flow_start(Kind::FlowSequenceStart),
            b'{' => self.fetch_flow_start(Kind::FlowMappingStart),
            b']' => self.fetch_flow_end(Kind::FlowSequenceEnd),
            b'}' => self.fetch_flow_end(Kind::FlowMappingEnd),
            b',' => self.fetch_flow_entry(),
            b'-' if separated => self.fetch_block_entry(),
            b'?' if in_flow || separated => self.fetch_key(),
            b':' if in_flow || separated => self.fetch_value(),
            b'*' => self.fetch_anchor(Kind::Alias),
            b'&' => self.fetch_anchor(Kind::Anchor),
            b'!' => self.fetch_tag(),
            b'|' if !in_flow => self.fetch_block_scalar(true),
            b'>' if !in_flow => self.fetch_block_scalar(false),
            b'\'' => self.fetch_quoted(true),
            b'"' => self.fetch_quoted(false),
            b'-' if !self.reader.is_blank(1) => self.fetch_plain(),
            b'?' | b':' if !in_flow => self.fetch_plain(),
            b'-' | b'?' | b':' | b'#' | b'|' | b'>' | b'%' | b'@' | b'`' => self.no_token(),
            _ if self.reader.is_blank_or_end(0) => self.no_token(),
            _ => self.fetch_plain(),
        }
    }

    fn no_token(&self) -> Scanned {
        let text = "found character that cannot start any token";
        Err(self.problem(text, self.reader.mark))
    }

    fn is_simple_key_valid(&mut self, position: usize) -> Scanned<bool> {
        let here = self.reader.mark;
        let Some(key) = self.simple_keys.get_mut(position) else {
            return Ok(false);
        };
        if !key.possible {
            return Ok(false);
        }
        if key.mark.line < here.line || key.mark.index + MAX_SIMPLE_KEY < here.index {
            if key.required {
                let start = key.mark;
                return Err(self.problem("could not find expected ':'", start));
            }
            key.possible = false;
            return Ok(false);
        }
        Ok(true)
    }

    /// Remembers that a key may begin here.
    fn save_simple_key(&mut self) -> Scanned {
        if !self.simple_key_allowed {
            return Ok(());
        }
        let mark = self.reader.mark;
        let key = SimpleKey {
            possible: true,
            required: self.flow_level == 0 && self.indent == signed(mark.column),
            token: self.taken + self.queue.len(),
            mark,
        };
        self.remove_simple_key()?;
        let position = self.simple_keys.len().saturating_sub(1);
        if let Some(last) = self.simple_keys.last_mut() {
            *last = key;
            self.simple_keys_by_token.insert(key.token, position);
        }
        Ok(())
    }

    /// Forgets the key that may have begun at this flow level.
    fn remove_simple_key(&mut self) -> Scanned {
        let Some(key) = self.simple_keys.last_mut() else {
            return Ok(());
        };
        if !key.possible {
            return Ok(());
        }
        if key.required {
            let start = key.mark;
            return Err(self.problem("could not find expected ':'", start));
        }
        key.possible = false;
        self.simple_keys_by_token.remove(&key.token);
        Ok(())
    }

    fn push(&mut self, kind: Kind, start: Mark) {
        self.queue.push_back(Token {
            kind,
            start,
            end: self.reader.mark,
        });
    }

    /// Puts a token before the one of this number, or at the end. So it does with a number whose
    /// token is gone already, as go-yaml does.
    fn insert(&mut self, number: Option<usize>, kind: Kind, mark: Mark) {
        let token = Token {
            kind,
            start: mark,
            end: mark,
        };
        let at = number
            .and_then(|number| number.checked_sub(self.taken))
            .map_or(self.queue.len(), |at| at.min(self.queue.len()));
        self.queue.insert(at, token);
    }

    /// Begins a block collection when the column is further right than the current one's.
    fn roll_indent(&mut self, number: Option<usize>, kind: Kind, mark: Mark) -> Scanned {
        let column = signed(mark.column);
        if self.flow_level > 0 || self.indent >= column {
            return Ok(());
        }
        self.indents.push(self.indent);
        self.indent = column;
        if self.indents.len() > MAX_DEPTH {
            let context = self.simple_keys.last().map_or(mark, |key| key.mark);
            return Err(self.problem("exceeded max depth of 10000", context));
        }
        self.insert(number, kind, mark);
        Ok(())
    }

    /// Ends the block collections that are further right than the column.
    fn unroll_indent(&mut self, column: isize) {
        if self.flow_level > 0 {
            return;
        }
        while self.indent > column {
            let mark = self.reader.mark;
            self.insert(None, Kind::BlockEnd, mark);
            self.indent = self.indents.pop().unwrap_or(-1);
        }
    }

    fn fetch_stream_end(&mut self) -> Scanned {
        if self.reader.mark.column != 0 {
            self.reader.mark.column = 0;
            self.reader.mark.line += 1;
        }
        self.unroll_indent(-1);
        self.remove_simple_key()?;
        self.simple_key_allowed = false;
        self.push(Kind::StreamEnd, self.reader.mark);
        Ok(())
    }

    fn fetch_document_marker(&mut self, kind: Kind) -> Scanned {
        self.unroll_indent(-1);
        self.remove_simple_key()?;
        self.simple_key_allowed = false;
        let start = self.reader.mark;
        self.reader.skip_many(3);
        self.push(kind, start);
        Ok(())
    }

    fn push_indicator(&mut self, kind: Kind) {
        let start = self.reader.mark;
        self.reader.skip();
        self.push(kind, start);
    }

    fn fetch_flow_start(&mut self, kind: Kind) -> Scanned {
        self.save_simple_key()?;
        let mark = self.reader.mark;
        self.simple_keys.push(SimpleKey {
            token: self.taken + self.queue.len(),
            mark,
            ..SimpleKey::default()
        });
        self.flow_level += 1;
        if self.flow_level > MAX_DEPTH {
            return Err(self.problem("exceeded max depth of 10000", mark));
        }
        self.simple_key_allowed = true;
        self.push_indicator(kind);
        Ok(())
    }

    fn fetch_flow_end(&mut self, kind: Kind) -> Scanned {
        self.remove_simple_key()?;
        if self.flow_level > 0 {
            self.flow_level -= 1;
            if let Some(key) = self.simple_keys.pop() {
                self.simple_keys_by_token.remove(&key.token);
            }
        }
        self.simple_key_allowed = false;
        self.push_indicator(kind);
        Ok(())
    }

    fn fetch_flow_entry(&mut self) -> Scanned {
        self.remove_simple_key()?;
        self.simple_key_allowed = true;
        self.push_indicator(Kind::FlowEntry);
        Ok(())
    }

    fn fetch_block_entry(&mut self) -> Scanned {
        let mark = self.reader.mark;
        // In a flow collection the parser complains: it knows the context.
        if self.flow_level == 0 {
            if !self.simple_key_allowed {
                let text = "block sequence entries are not allowed in this context";
                return Err(self.problem(text, mark));
            }
            self.roll_indent(None, Kind::BlockSequenceStart, mark)?;
        }
        self.remove_simple_key()?;
        self.simple_key_allowed = true;
        self.push_indicator(Kind::BlockEntry);
        Ok(())
    }

    fn fetch_key(&mut self) -> Scanned {
        let mark = self.reader.mark;
        if self.flow_level == 0 {
            if !self.simple_key_allowed {
                let text = "mapping keys are not allowed in this context";
                return Err(self.problem(text, mark));
            }
            self.roll_indent(None, Kind::BlockMappingStart, mark)?;
        }
        self.remove_simple_key()?;
        self.simple_key_allowed = self.flow_level == 0;
        self.push_indicator(Kind::Key);
        Ok(())
    }

    fn fetch_value(&mut self) -> Scanned {
        let position = self.simple_keys.len().saturating_sub(1);
        if self.is_simple_key_valid(position)? {
            let key = self.simple_keys.get(position).copied().unwrap_or_default();
            self.insert(Some(key.token), Kind::Key, key.mark);
            self.roll_indent(Some(key.token), Kind::BlockMappingStart, key.mark)?;
            if let Some(key) = self.simple_keys.get_mut(position) {
                key.possible = false;
            }
            self.simple_keys_by_token.remove(&key.token);
            self.simple_key_allowed = false;
        } else {
            if self.flow_level == 0 {
                let mark = self.reader.mark;
                if !self.simple_key_allowed {
                    let text = "mapping values are not allowed in this context";
                    return Err(self.problem(text, mark));
                }
                self.roll_indent(None, Kind::BlockMappingStart, mark)?;
            }
            self.simple_key_allowed = self.flow_level == 0;
        }
        self.push_indicator(Kind::Value);
        Ok(())
    }

    /// What may begin a key and cannot be followed by one.
    fn begin_node(&mut self) -> Scanned {
        self.save_simple_key()?;
        self.simple_key_allowed = false;
        Ok(())
    }

    fn fetch_anchor(&mut self, kind: fn(String) -> Kind) -> Scanned {
        self.begin_node()?;
        let start = self.reader.mark;
        let name = self.scan_anchor()?;
        self.push(kind(name), start);
        Ok(())
    }

    fn fetch_tag(&mut self) -> Scanned {
        self.begin_node()?;
        let start = self.reader.mark;
        let (handle, suffix) = self.scan_tag()?;
        self.push(Kind::Tag(handle, suffix), start);
        Ok(())
    }

    fn fetch_directive(&mut self) -> Scanned {
        self.unroll_indent(-1);
        self.remove_simple_key()?;
        self.simple_key_allowed = false;
        self.scan_directive()
    }

    fn fetch_block_scalar(&mut self, literal: bool) -> Scanned {
        self.remove_simple_key()?;
        self.simple_key_allowed = true;
        self.scan_block_scalar(literal)
    }

    fn fetch_quoted(&mut self, single: bool) -> Scanned {
        self.begin_node()?;
        self.scan_quoted(single)
    }

    fn fetch_plain(&mut self) -> Scanned {
        self.begin_node()?;
        self.scan_plain()
    }

    fn push_scalar(&mut self, value: Vec<u8>, style: Style, start: Mark, end: Mark) {
        // Input and escapes are both whole characters.
        let value = String::from_utf8(value)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
        self.queue.push_back(Token {
            kind: Kind::Scalar(value, style),
            start,
            end,
        });
    }
}
