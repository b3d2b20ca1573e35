//! Events: the algorithm of libyaml's `parser.c`.

mod flow;

use std::collections::BTreeMap;

use super::error::{Dialect, Problem, Source};
use super::reader::Mark;
use super::scanner::{Kind, Scanner, Style, Token};

/// No tag may be longer, in bytes: one long prefix could otherwise be part of any number of tags.
const MAX_TAG: usize = 1024;

/// What an event is.
#[derive(Clone, Debug)]
pub enum EventKind {
    /// The stream begins.
    StreamStart,
    /// The stream ends.
    StreamEnd,
    /// A document begins.
    DocumentStart,
    /// A document ends.
    DocumentEnd,
    /// The node of this anchor once more.
    Alias(String),
    /// A scalar.
    Scalar {
        /// Its anchor and tag.
        properties: Properties,
        /// Its text.
        value: String,
        /// How it was written.
        style: Style,
    },
    /// A sequence begins.
    SequenceStart(Properties),
    /// A sequence ends.
    SequenceEnd,
    /// A mapping begins.
    MappingStart(Properties),
    /// A mapping ends.
    MappingEnd,
}

/// What stands before a node.
#[derive(Clone, Debug, Default)]
pub struct Properties {
    /// `&name`
    pub anchor: Option<String>,
    /// The tag in its long form; empty when there is none.
    pub tag: String,
}

/// An event and where it stands.
#[derive(Clone, Debug)]
pub struct Event {
    /// What it is.
    pub kind: EventKind,
    /// Where it begins.
    pub start: Mark,
    /// Where it ends.
    pub end: Mark,
}

#[derive(Clone, Copy)]
enum State {
    StreamStart,
    ImplicitDocumentStart,
    DocumentStart,
    DocumentContent,
    DocumentEnd,
    BlockNode,
    BlockSequenceFirstEntry,
    BlockSequenceEntry,
    IndentlessSequenceEntry,
    BlockMappingFirstKey,
    BlockMappingKey,
    BlockMappingValue,
    FlowSequenceFirstEntry,
    FlowSequenceEntry,
    FlowSequenceEntryKey,
    FlowSequenceEntryValue,
    FlowSequenceEntryEnd,
    FlowMappingFirstKey,
    FlowMappingKey,
    FlowMappingValue,
    FlowMappingEmptyValue,
    End,
}

/// Turns tokens into events.
pub struct Parser<'a> {
    scanner: Scanner<'a>,
    state: State,
    states: Vec<State>,
    /// Where the open collections began.
    marks: Vec<Mark>,
    /// Prefixes by their handles.
    tag_directives: BTreeMap<Vec<u8>, Vec<u8>>,
}

type Parsed<T = Event> = Result<T, Problem>;

fn event(kind: EventKind, token: &Token) -> Event {
    Event {
        kind,
        start: token.start,
        end: token.end,
    }
}

fn empty_scalar(mark: Mark) -> Event {
    Event {
        kind: EventKind::Scalar {
            properties: Properties::default(),
            value: String::new(),
            style: Style::Plain,
        },
        start: mark,
        end: mark,
    }
}

impl<'a> Parser<'a> {
    /// A parser of this text.
    pub fn new(text: &'a [u8], dialect: Dialect) -> Self {
        Self {
            scanner: Scanner::new(text, dialect),
            state: State::StreamStart,
            states: Vec::new(),
            marks: Vec::new(),
            tag_directives: BTreeMap::new(),
        }
    }

    /// The next event.
    pub fn next_event(&mut self) -> Parsed {
        match self.state {
            State::StreamStart => {
                let token = self.take()?;
                self.state = State::ImplicitDocumentStart;
                Ok(event(EventKind::StreamStart, &token))
            }
            State::ImplicitDocumentStart => self.document_start(true),
            State::DocumentStart => self.document_start(false),
            State::DocumentContent => self.document_content(),
            State::DocumentEnd => self.document_end(),
            State::BlockNode => self.node(true, false),
            State::BlockSequenceFirstEntry => {
                self.open()?;
                self.block_sequence_entry()
            }
            State::BlockSequenceEntry => self.block_sequence_entry(),
            State::IndentlessSequenceEntry => self.indentless_sequence_entry(),
            State::BlockMappingFirstKey => {
                self.open()?;
                self.block_mapping_key()
            }
            State::BlockMappingKey => self.block_mapping_key(),
            State::BlockMappingValue => self.block_mapping_value(),
            State::FlowSequenceFirstEntry => {
                self.open()?;
                self.flow_sequence_entry(true)
            }
            State::FlowSequenceEntry => self.flow_sequence_entry(false),
            State::FlowSequenceEntryKey => self.flow_sequence_entry_key(),
            State::FlowSequenceEntryValue => self.flow_sequence_entry_value(),
            State::FlowSequenceEntryEnd => {
                let start = self.peek()?.start;
                self.state = State::FlowSequenceEntry;
                Ok(Event {
                    kind: EventKind::MappingEnd,
                    start,
                    end: start,
                })
            }
            State::FlowMappingFirstKey => {
                self.open()?;
                self.flow_mapping_key(true)
            }
            State::FlowMappingKey => self.flow_mapping_key(false),
            State::FlowMappingValue => self.flow_mapping_value(),
            State::FlowMappingEmptyValue => {
                let start = self.peek()?.start;
                self.state = State::FlowMappingKey;
                Ok(empty_scalar(start))
            }
            State::End => Ok(Event {
                kind: EventKind::StreamEnd,
                start: Mark::default(),
                end: Mark::default(),
            }),
        }
    }

    fn peek(&mut self) -> Parsed<&Token> {
        self.scanner.peek()
    }

    fn take(&mut self) -> Parsed<Token> {
        self.scanner.peek()?;
        let missing = Problem::new(Source::Parser, "unexpected end of tokens", 0, 0);
        self.scanner.take().ok_or(missing)
    }

    /// Takes the token that opens a collection.
    fn open(&mut self) -> Parsed<()> {
        let token = self.take()?;
        self.marks.push(token.start);
        Ok(())
    }

    fn pop_state(&mut self) {
        self.state = self.states.pop().unwrap_or(State::End);
    }

    fn close(&mut self, kind: EventKind) -> Parsed {
        self.pop_state();
        self.marks.pop();
        let token = self.take()?;
        Ok(event(kind, &token))
    }

    /// The problem that the token which is next does not belong into the open collection.
    fn unexpected(&mut self, text: &'static str) -> Problem {
        let context = self.marks.pop().unwrap_or_default();
        match self.peek() {
            Ok(token) => Problem::new(Source::Parser, text, token.start.line, context.line),
            Err(problem) => problem,
        }
    }

    fn document_start(&mut self, implicit: bool) -> Parsed {
        if !implicit {
            while self.peek()?.kind == Kind::DocumentEnd {
                self.take()?;
            }
        }
        let token = self.peek()?;
        let start = token.start;
        let first = event(EventKind::DocumentStart, token);
        match token.kind {
            Kind::StreamEnd => {
                self.state = State::End;
                let token = self.take()?;
                return Ok(event(EventKind::StreamEnd, &token));
            }
            Kind::Version(..) | Kind::TagDirective(..) | Kind::DocumentStart => {}
            _ if implicit => {
                self.process_directives()?;
                self.states.push(State::DocumentEnd);
                self.state = State::BlockNode;
                return Ok(first);
            }
            _ => {}
        }
        self.process_directives()?;
        let token = self.peek()?;
        if token.kind != Kind::DocumentStart {
            let line = token.start.line;
            let text = "did not find expected <document start>";
            return Err(Problem::new(Source::Parser, text, line, 0));
        }
        self.states.push(State::DocumentEnd);
        self.state = State::DocumentContent;
        let token = self.take()?;
        Ok(Event {
            kind: EventKind::DocumentStart,
            start,
            end: token.end,
        })
    }

    fn document_content(&mut self) -> Parsed {
        let token = self.peek()?;
        let start = token.start;
        match token.kind {
            Kind::Version(..)
            | Kind::TagDirective(..)
            | Kind::DocumentStart
            | Kind::DocumentEnd
            | Kind::StreamEnd => {
                self.pop_state();
                Ok(empty_scalar(start))
            }
            _ => self.node(true, false),
        }
    }

    fn document_end(&mut self) -> Parsed {
        let token = self.peek()?;
        let start = token.start;
        let mut end = start;
        if token.kind == Kind::DocumentEnd {
            end = token.end;
            self.take()?;
        }
        self.tag_directives.clear();
        self.state = State::DocumentStart;
        Ok(Event {
            kind: EventKind::DocumentEnd,
            start,
            end,
        })
    }

    fn process_directives(&mut self) -> Parsed<()> {
        let mut has_version = false;
        loop {
            let token = self.peek()?;
            let line = token.start.line;
            let wrong = |text| Err(Problem::new(Source::Parser, text, line, 0));
            match &token.kind {
                Kind::Version(..) if has_version => {
                    return wrong("found duplicate %YAML directive");
                }
                Kind::Version(1, 1) => has_version = true,
                Kind::Version(..) => return wrong("found incompatible YAML document"),
                Kind::TagDirective(handle, prefix) => {
                    let (handle, prefix) = (handle.clone(), prefix.clone());
                    if self.tag_directives.contains_key(&handle) {
                        return wrong("found duplicate %TAG directive");
                    }
                    self.tag_directives.insert(handle, prefix);
                }
                _ => break,
            }
            self.take()?;
        }
        for (handle, prefix) in [("!", "!"), ("!!", "tag:yaml.org,2002:")] {
            self.tag_directives
                .entry(handle.into())
                .or_insert_with(|| prefix.into());
        }
        Ok(())
    }

    fn node(&mut self, block: bool, indentless_sequence: bool) -> Parsed {
        let token = self.peek()?;
        if let Kind::Alias(name) = &token.kind {
            let alias = event(EventKind::Alias(name.clone()), token);
            self.pop_state();
            self.take()?;
            return Ok(alias);
        }
        let start = token.start;
        let (properties, properties_end) = self.properties(start)?;
        let token = self.peek()?;
        let (next, kind) = match &token.kind {
            Kind::BlockEntry if indentless_sequence => (
                State::IndentlessSequenceEntry,
                EventKind::SequenceStart(properties),
            ),
            Kind::FlowSequenceStart => (
                State::FlowSequenceFirstEntry,
                EventKind::SequenceStart(properties),
            ),
            Kind::FlowMappingStart => (
                State::FlowMappingFirstKey,
                EventKind::MappingStart(properties),
            ),
            Kind::BlockSequenceStart if block => (
                State::BlockSequenceFirstEntry,
                EventKind::SequenceStart(properties),
            ),
            Kind::BlockMappingStart if block => (
                State::BlockMappingFirstKey,
                EventKind::MappingStart(properties),
            ),
            Kind::Scalar(..) => return self.scalar(properties, start),
            _ if properties.anchor.is_some() || !properties.tag.is_empty() => {
                self.pop_state();
                let mut scalar = empty_scalar(start);
                scalar.end = properties_end;
                if let EventKind::Scalar { properties: of, .. } = &mut scalar.kind {
                    *of = properties;
                }
                return Ok(scalar);
            }
            _ => {
                let text = "did not find expected node content";
                let line = token.start.line;
                return Err(Problem::new(Source::Parser, text, line, start.line));
            }
        };
        let end = token.end;
        self.state = next;
        Ok(Event { kind, start, end })
    }

    fn scalar(&mut self, properties: Properties, start: Mark) -> Parsed {
        self.pop_state();
        let token = self.take()?;
        let (value, style) = match token.kind {
            Kind::Scalar(value, style) => (value, style),
            _ => (String::new(), Style::Plain),
        };
        Ok(Event {
            kind: EventKind::Scalar {
                properties,
                value,
                style,
            },
            start,
            end: token.end,
        })
    }

    /// An anchor and a tag in either order, and where they end.
    fn properties(&mut self, start: Mark) -> Parsed<(Properties, Mark)> {
        let mut properties = Properties::default();
        let mut end = start;
        let mut tag = None;
        loop {
            let token = self.peek()?;
            match &token.kind {
                Kind::Anchor(name) if properties.anchor.is_none() => {
                    properties.anchor = Some(name.clone());
                }
                Kind::Tag(handle, suffix) if tag.is_none() => {
                    tag = Some((handle.clone(), suffix.clone(), token.start));
                }
                _ => break,
            }
            end = token.end;
            self.take()?;
        }
        if let Some((handle, suffix, mark)) = tag {
            properties.tag = self.resolve_tag(&handle, &suffix, mark, start)?;
        }
        Ok((properties, end))
    }

    fn resolve_tag(&self, handle: &[u8], suffix: &[u8], mark: Mark, start: Mark) -> Parsed<String> {
        let mut tag = Vec::new();
        if handle.is_empty() {
            tag.extend_from_slice(suffix);
        } else {
            if let Some(prefix) = self.tag_directives.get(handle) {
                tag.extend_from_slice(prefix);
                tag.extend_from_slice(suffix);
            }
            if tag.is_empty() {
                let text = "found undefined tag handle";
                return Err(Problem::new(Source::Parser, text, mark.line, start.line));
            }
        }
        if tag.len() > MAX_TAG {
            let text = "found a tag that is too long";
            return Err(Problem::new(Source::Parser, text, mark.line, start.line));
        }
        Ok(String::from_utf8_lossy(&tag).into_owned())
    }

    fn block_sequence_entry(&mut self) -> Parsed {
        match self.peek()?.kind {
            Kind::BlockEntry => {
                let mark = self.take()?.end;
                if matches!(self.peek()?.kind, Kind::BlockEntry | Kind::BlockEnd) {
                    self.state = State::BlockSequenceEntry;
                    return Ok(empty_scalar(mark));
                }
                self.states.push(State::BlockSequenceEntry);
                self.node(true, false)
            }
            Kind::BlockEnd => self.close(EventKind::SequenceEnd),
            _ => Err(self.unexpected("did not find expected '-' indicator")),
        }
    }

    fn indentless_sequence_entry(&mut self) -> Parsed {
        let token = self.peek()?;
        if token.kind != Kind::BlockEntry {
            let start = token.start;
            self.pop_state();
            return Ok(Event {
                kind: EventKind::SequenceEnd,
                start,
                end: start,
            });
        }
        let mark = self.take()?.end;
        if matches!(
            self.peek()?.kind,
            Kind::BlockEntry | Kind::Key | Kind::Value | Kind::BlockEnd
        ) {
            self.state = State::IndentlessSequenceEntry;
            return Ok(empty_scalar(mark));
        }
        self.states.push(State::IndentlessSequenceEntry);
        self.node(true, false)
    }

    fn ends_block_entry(&mut self) -> Parsed<bool> {
        Ok(matches!(
            self.peek()?.kind,
            Kind::Key | Kind::Value | Kind::BlockEnd
        ))
    }

    fn block_mapping_key(&mut self) -> Parsed {
        match self.peek()?.kind {
            Kind::Key => {
                let mark = self.take()?.end;
                if self.ends_block_entry()? {
                    self.state = State::BlockMappingValue;
                    return Ok(empty_scalar(mark));
                }
                self.states.push(State::BlockMappingValue);
                self.node(true, true)
            }
            Kind::BlockEnd => self.close(EventKind::MappingEnd),
            _ => Err(self.unexpected("did not find expected key")),
        }
    }

    fn block_mapping_value(&mut self) -> Parsed {
        let token = self.peek()?;
        let start = token.start;
        if token.kind != Kind::Value {
            self.state = State::BlockMappingKey;
            return Ok(empty_scalar(start));
        }
        let mark = self.take()?.end;
        if self.ends_block_entry()? {
            self.state = State::BlockMappingKey;
            return Ok(empty_scalar(mark));
        }
        self.states.push(State::BlockMappingKey);
        self.node(true, true)
    }
}
