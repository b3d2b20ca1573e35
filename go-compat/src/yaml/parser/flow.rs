use super::{EventKind, Kind, Parsed, Parser, Properties, State, empty_scalar, event};

impl Parser<'_> {
    pub(super) fn flow_sequence_entry(&mut self, first: bool) -> Parsed {
        if self.peek()?.kind != Kind::FlowSequenceEnd {
            if !first {
                if self.peek()?.kind != Kind::FlowEntry {
                    return Err(self.unexpected("did not find expected ',' or ']'"));
                }
                self.take()?;
            }
            match self.peek()?.kind {
                Kind::Key => {
                    self.state = State::FlowSequenceEntryKey;
                    let token = self.take()?;
                    let kind = EventKind::MappingStart(Properties::default());
                    return Ok(event(kind, &token));
                }
                Kind::FlowSequenceEnd => {}
                _ => {
                    self.states.push(State::FlowSequenceEntry);
                    return self.node(false, false);
                }
            }
        }
        self.close(EventKind::SequenceEnd)
    }

    pub(super) fn flow_sequence_entry_key(&mut self) -> Parsed {
        if matches!(
            self.peek()?.kind,
            Kind::Value | Kind::FlowEntry | Kind::FlowSequenceEnd
        ) {
            let mark = self.take()?.end;
            self.state = State::FlowSequenceEntryValue;
            return Ok(empty_scalar(mark));
        }
        self.states.push(State::FlowSequenceEntryValue);
        self.node(false, false)
    }

    pub(super) fn flow_sequence_entry_value(&mut self) -> Parsed {
        let token = self.peek()?;
        let start = token.start;
        if token.kind == Kind::Value {
            self.take()?;
            if !matches!(self.peek()?.kind, Kind::FlowEntry | Kind::FlowSequenceEnd) {
                self.states.push(State::FlowSequenceEntryEnd);
                return self.node(false, false);
            }
        }
        self.state = State::FlowSequenceEntryEnd;
        Ok(empty_scalar(start))
    }

    pub(super) fn flow_mapping_key(&mut self, first: bool) -> Parsed {
        if self.peek()?.kind != Kind::FlowMappingEnd {
            if !first {
                if self.peek()?.kind != Kind::FlowEntry {
                    return Err(self.unexpected("did not find expected ',' or '}'"));
                }
                self.take()?;
            }
            match self.peek()?.kind {
                Kind::Key => {
                    self.take()?;
                    let token = self.peek()?;
                    let start = token.start;
                    if matches!(
                        token.kind,
                        Kind::Value | Kind::FlowEntry | Kind::FlowMappingEnd
                    ) {
                        self.state = State::FlowMappingValue;
                        return Ok(empty_scalar(start));
                    }
                    self.states.push(State::FlowMappingValue);
                    return self.node(false, false);
                }
                Kind::FlowMappingEnd => {}
                _ => {
                    self.states.push(State::FlowMappingEmptyValue);
                    return self.node(false, false);
                }
            }
        }
        self.close(EventKind::MappingEnd)
    }

    pub(super) fn flow_mapping_value(&mut self) -> Parsed {
        let mut token = self.peek()?;
        let mut start = token.start;
        if token.kind == Kind::Value {
            self.take()?;
            token = self.peek()?;
            start = token.start;
            if !matches!(token.kind, Kind::FlowEntry | Kind::FlowMappingEnd) {
                self.states.push(State::FlowMappingKey);
                return self.node(false, false);
            }
        }
        self.state = State::FlowMappingKey;
        Ok(empty_scalar(start))
    }
}
