//! What a run leaves: files, the exit code and the last lines.

use reeve_manifests::{Readers, replace_file};
use serde_json::{Map, Value};

use crate::args::Args;
use crate::compare::compare;
use crate::error::Error;
use crate::evaluation::Evaluation;
use crate::json::to_yaml;
use crate::outcome::Outcome;
use crate::policies::Target;
use crate::{messages, print};

const NOT_COMPLIANT: u8 = 2;

/// What became of all policies.
#[derive(Default)]
pub(crate) struct Results {
    statuses: Vec<Value>,
    messages: Vec<String>,
    /// The policies that are not Compliant, and their state.
    bad: Vec<(String, String)>,
    /// The status of a policy is not the expected one.
    differs: bool,
}

impl Results {
    /// Keeps an evaluation, and returns the lines that are printed of it.
    pub(crate) fn add(
        &mut self,
        args: &Args,
        target: &Target,
        evaluation: Evaluation,
        desired: Option<&Map<String, Value>>,
    ) -> Vec<String> {
        let mut lines = Vec::new();
        if let Some(desired) = desired {
            let comparison = compare(desired, &evaluation.status, args.paint());
            self.differs |= !comparison.matches;
            lines.push(messages::STATUS_TITLE.to_owned());
            lines.extend(comparison.lines);
            lines.push(String::new());
        }
        if !evaluation.is_compliant() {
            let state = evaluation.state.clone();
            self.bad.push((target.name.clone(), state));
        }
        if args.print_diffs {
            lines.extend(evaluation.diffs);
        }
        if args.messages_path.is_none() {
            lines.extend(print::compliance(&evaluation.messages));
        }
        self.statuses.push(evaluation.status);
        self.messages.extend(evaluation.messages);
        lines
    }

    /// Writes the files that the flags ask for.
    pub(crate) fn save(&self, args: &Args) -> Result<(), Error> {
        if let Some(path) = &args.status_path {
            let texts = self
                .statuses
                .iter()
                .map(to_yaml)
                .collect::<Result<Vec<_>, _>>();
            let text = texts.map_err(Error::SaveStatus)?.join("---\n");
            let written = replace_file(path, text.as_bytes(), Readers::Usual);
            written.map_err(|error| Error::SaveStatus(messages::unreadable(path, &error)))?;
        }
        if let Some(path) = &args.messages_path {
            let mut text = self.messages.join("\n");
            if !text.is_empty() {
                text.push('\n');
            }
            let written = replace_file(path, text.as_bytes(), Readers::Usual);
            written.map_err(|error| Error::SaveMessages(messages::unreadable(path, &error)))?;
        }
        Ok(())
    }

    /// Reports which targets are not compliant.
    pub(crate) fn judge(&self, args: &Args, targets: &[Target], outcome: &mut Outcome) {
        match (targets.len(), self.bad.as_slice()) {
            (_, []) => {}
            (1, [(_, state)]) => outcome.fail(NOT_COMPLIANT, &messages::verdict(state)),
            (count, bad) => {
                let names: Vec<String> = bad.iter().map(|(name, _)| name.clone()).collect();
                outcome.fail(NOT_COMPLIANT, &messages::verdicts(&names, count));
            }
        }
        if self.differs && args.fail_on_status {
            outcome.fail(NOT_COMPLIANT, messages::STATUS_DIFFERS.trim());
        }
    }
}
