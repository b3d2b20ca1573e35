//! The text of a document as a template, with the author's own words in its actions.
//!
//! YAML doubles a `'` within single quotes and escapes within double ones, and the template
//! language would read that. The author's text is restored before parsing.

use std::ops::Range;

use super::{NAME, Resolver};
use crate::language::{FunctionTable, ParseError, Template, parse};
use crate::rewrite::APOSTROPHE;
use reeve_go_compat::yaml::{self, QuotedAction, Quoting, TemplateStyle};

impl Resolver {
    pub(super) fn style(&self) -> TemplateStyle {
        TemplateStyle {
            start_delimiter: self.config.start_delimiter.clone(),
            stop_delimiter: self.config.stop_delimiter.clone(),
        }
    }

    /// Parses the text with the author's own words in single-quoted scalars. Actions that hand on
    /// what they work on, and those in double-quoted scalars, have them only when the text does
    /// not parse without.
    pub(super) fn parse(
        &self,
        text: &str,
        actions: &[QuotedAction],
        functions: &FunctionTable,
    ) -> Result<Template, ParseError> {
        if actions.is_empty() {
            return self.parse_rewritten(text, functions);
        }
        let style = self.style();
        let single = |action: &QuotedAction| action.quoting == Quoting::Single;
        let prints = |action: &QuotedAction| single(action) && !action.passes_value_on(&style);
        let first = self.parse_marked(&put_back(text, actions, prints), functions);
        if first.is_ok() || actions.iter().all(prints) {
            return first;
        }
        self.parse_marked(&put_back(text, actions, single), functions)
            .or_else(|_| self.parse_marked(&put_back(text, actions, |_| true), functions))
            .or(first)
    }

    fn parse_rewritten(
        &self,
        text: &str,
        functions: &FunctionTable,
    ) -> Result<Template, ParseError> {
        let spaces = self.config.additional_indentation;
        let text = self.rewrites.data_types(text);
        let text = self.rewrites.autoindent(&text, spaces);
        parse(NAME, text, self.delimiters(), functions)
    }

    /// The same for a text with marked apostrophes. What their actions print within single quotes
    /// gets its apostrophes doubled.
    fn parse_marked(&self, text: &str, functions: &FunctionTable) -> Result<Template, ParseError> {
        let spaces = self.config.additional_indentation;
        let text = self.rewrites.data_types_of_marked(text);
        let text = self.rewrites.autoindent(&text, spaces);
        let (text, quoted) = self.with_apostrophes(&text);
        let template = parse(NAME, text, self.delimiters(), functions)?;
        Ok(template.doubling_apostrophes_in(quoted))
    }

    /// The text with the apostrophes that were put back, and where their actions are.
    fn with_apostrophes(&self, text: &str) -> (String, Vec<Range<usize>>) {
        let mut result = String::with_capacity(text.len());
        let mut places = Vec::new();
        for (index, piece) in text.split(APOSTROPHE).enumerate() {
            if index > 0 {
                places.push(result.len());
                result.push('\'');
            }
            result.push_str(piece);
        }
        let mut actions = yaml::find_actions(&result, &self.style());
        actions.retain(|action| {
            let next = places.partition_point(|place| *place < action.start);
            places.get(next).is_some_and(|place| *place < action.end)
        });
        (result, actions)
    }
}

/// The text with some actions as their author wrote them, the apostrophes marked.
fn put_back(text: &str, actions: &[QuotedAction], which: impl Fn(&QuotedAction) -> bool) -> String {
    let mut result = String::with_capacity(text.len());
    let mut position = 0;
    for action in actions.iter().filter(|action| which(action)) {
        result.push_str(text.get(position..action.range.start).unwrap_or_default());
        match action.quoting {
            Quoting::Single => {
                let marked = action
                    .source
                    .replace('\'', APOSTROPHE.encode_utf8(&mut [0; 4]));
                result.push_str(&marked);
            }
            Quoting::Double => result.push_str(&action.source),
        }
        position = action.range.end;
    }
    result.push_str(text.get(position..).unwrap_or_default());
    result
}
