//! Walks a tree. Ported from Go's `text/template/exec.go`.
//!
//! An error is reported at the node that was visited last, which is not always the one that
//! failed; [`Exec::at`] is called where Go calls it, no more and no less.

use std::collections::HashSet;

use super::output::{Origin, Output, Rendered};
use super::scope::{Held, Sensitivity, Variables};
use super::table::FunctionTable;
use super::tree::{Name, Node, NodeId, Template};
use crate::budget::Exceeded;
use crate::encryption::DecryptedTokens;
use crate::function::{Env, Failure};
use crate::lookup::LookupError;
use reeve_go_compat::printing;
use reeve_go_compat::runes::quote;
use reeve_go_compat::value::Value;

/// Why a template could not be executed.
#[derive(Debug, thiserror::Error)]
#[error("{text}")]
pub struct ExecError {
    /// Go's text: `template: tmpl:1:3: executing "tmpl" at <.x>: …`.
    pub text: String,
    /// The beginning of the text, which has the position and quotes nothing but the template.
    pub place: String,
    /// Whether values that were computed from secrets were being worked on, so that the text may quote them.
    pub derived: bool,
    /// What lay behind it, for callers that treat some failures differently.
    #[source]
    pub cause: Option<Cause>,
}

/// The failures that a caller may want to distinguish.
#[derive(Debug, thiserror::Error)]
pub enum Cause {
    /// A read of the cluster that was refused, failed, or has not been made yet.
    #[error(transparent)]
    Lookup(LookupError),
    /// The template ran into a limit.
    #[error(transparent)]
    Limit(#[from] Exceeded),
}

pub(super) type Done<T> = Result<T, Box<ExecError>>;

/// How a statement ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flow {
    Next,
    Break,
    Continue,
}

/// Executes a template with this data.
pub fn execute(
    template: &Template,
    functions: &FunctionTable,
    data: Value,
    decrypted: &DecryptedTokens,
    env: Env<'_>,
) -> Result<Rendered, Box<ExecError>> {
    let root = template.roots.get(&template.name).copied();
    let data = Held::plain(data);
    let mut exec = Exec {
        template,
        functions,
        decrypted,
        env,
        out: Output::with_capacity(template.text.len()),
        node: None,
        name: template.name.clone(),
        dollar: template.find_variable("$"),
        variables: Variables::new(None),
        depth: 0,
        tainted_maps: false,
        control: false,
        worked_on: Sensitivity::Open,
    };
    exec.variables = exec.fresh_variables(&data);
    let Some(root) = root else {
        let quoted = quote(&template.name);
        return exec.fail(format!("{quoted} is an incomplete or empty template"));
    };
    exec.walk(&data, root)?;
    Ok(exec.out.finish(|node| template.render(node)))
}

pub(super) struct Exec<'t, 'e> {
    pub(super) template: &'t Template,
    pub(super) functions: &'t FunctionTable,
    pub(super) decrypted: &'t DecryptedTokens,
    pub(super) env: Env<'e>,
    pub(super) out: Output,
    /// The node visited last.
    pub(super) node: Option<NodeId>,
    /// The template being executed.
    pub(super) name: String,
    dollar: Option<Name>,
    pub(super) variables: Variables,
    pub(super) depth: u32,
    /// Some map had a secret put into it: containers must be looked through from now on.
    pub(super) tainted_maps: bool,
    /// A condition above depends on a secret, and so does all that is written below it.
    pub(super) control: bool,
    /// The sensitivity of the values that the statement has used so far.
    pub(super) worked_on: Sensitivity,
}

impl<'t> Exec<'t, '_> {
    pub(super) fn at(&mut self, node: NodeId) {
        self.node = Some(node);
    }

    pub(super) fn fresh_variables(&self, data: &Held) -> Variables {
        Variables::new(self.dollar.map(|name| (name, data.clone())))
    }

    /// An error at the node visited last.
    pub(super) fn fail<T>(&self, message: impl AsRef<str>) -> Done<T> {
        self.fail_because(message, None)
    }

    pub(super) fn fail_because<T>(
        &self,
        message: impl AsRef<str>,
        cause: Option<Cause>,
    ) -> Done<T> {
        let message = message.as_ref();
        let name = &self.template.name;
        let place = match self.node {
            None => format!("template: {}", self.name),
            Some(node) => {
                let position = self.template.position(node);
                let (line, column) = self.template.line_and_column(position);
                let executing = quote(&self.name);
                let context = self.template.render(node);
                format!("template: {name}:{line}:{column}: executing {executing} at <{context}>")
            }
        };
        Err(Box::new(ExecError {
            text: format!("{place}: {message}"),
            place,
            derived: self.worked_on == Sensitivity::Derived,
            cause,
        }))
    }

    pub(super) fn exceeded<T>(&self, limit: Exceeded) -> Done<T> {
        let message = limit.to_string();
        self.fail_because(message, Some(Cause::Limit(limit)))
    }

    pub(super) fn step(&mut self) -> Done<()> {
        match self.env.meter.steps(1) {
            Ok(()) => Ok(()),
            Err(limit) => self.exceeded(limit),
        }
    }

    /// A function's failure, reported at the call.
    pub(super) fn call_failed<T>(&mut self, node: NodeId, name: &str, why: Failure) -> Done<T> {
        self.at(node);
        let (text, cause) = match why {
            Failure::Text(text) => (text, None),
            Failure::Lookup(error) => (error.to_string(), Some(Cause::Lookup(error))),
            Failure::Limit(limit) => (limit.to_string(), Some(Cause::Limit(limit))),
        };
        self.fail_because(format!("error calling {name}: {text}"), cause)
    }

    pub(super) fn write(&mut self, bytes: &[u8], sensitivity: Sensitivity) -> Done<()> {
        let origin = Origin {
            sensitivity: sensitivity.max(self.chosen()),
            node: self.node,
        };
        match self.out.write(bytes, origin, self.env.meter) {
            Ok(()) => Ok(()),
            Err(limit) => self.exceeded(limit),
        }
    }

    pub(super) fn walk(&mut self, dot: &Held, id: NodeId) -> Done<Flow> {
        self.at(id);
        self.step()?;
        match self.template.node(id) {
            Node::List(run) => {
                let template = self.template;
                for child in template.children(run) {
                    let flow = self.walk(dot, *child)?;
                    if flow != Flow::Next {
                        return Ok(flow);
                    }
                }
                Ok(Flow::Next)
            }
            Node::Text { start, end } => {
                self.write_text(start, end)?;
                Ok(Flow::Next)
            }
            Node::Action(pipe) => {
                self.worked_on = Sensitivity::Open;
                let held = self.pipeline(dot, pipe)?;
                if !self.declares(pipe) {
                    self.print(id, &held)?;
                }
                Ok(Flow::Next)
            }
            Node::Branch {
                control,
                pipe,
                list,
                otherwise,
            } => stacker::maybe_grow(128 * 1024, 1024 * 1024, || {
                self.branch(dot, control, pipe, list, otherwise)
            }),
            Node::Template { name, pipe } => {
                stacker::maybe_grow(128 * 1024, 1024 * 1024, || {
                    self.template_call(dot, id, name, pipe)
                })?;
                Ok(Flow::Next)
            }
            Node::Break => Ok(Flow::Break),
            Node::Continue => Ok(Flow::Continue),
            _ => {
                let text = self.template.render(id);
                self.fail(format!("unknown node: {text}"))
            }
        }
    }

    fn declares(&self, pipe: NodeId) -> bool {
        matches!(self.template.node(pipe), Node::Pipe { declared, .. } if declared.len() > 0)
    }

    /// Writes template text, with its encrypted tokens decrypted.
    fn write_text(&mut self, start: u32, end: u32) -> Done<()> {
        let text: &'t str = self.template.source(start, end);
        let decrypted = self.decrypted;
        for (bytes, sensitive) in decrypted.pieces(text) {
            self.write(&bytes, Sensitivity::derived_if(sensitive))?;
        }
        Ok(())
    }

    fn print(&mut self, node: NodeId, held: &Held) -> Done<()> {
        self.at(node);
        let sensitivity = match held.value {
            // Whether a condition on a secret holds reveals no more than a chosen value.
            Value::Bool(_) => self.sensitivity_of(held).min(Sensitivity::Chosen),
            _ => self.sensitivity_of(held),
        };
        let quoted = self.template.doubles_apostrophes(node);
        match &held.value {
            Value::Missing => self.write(b"<no value>", sensitivity),
            Value::Str(text) if quoted => self.write(&with_doubled_apostrophes(text), sensitivity),
            Value::Str(text) => self.write(text, sensitivity),
            value => {
                if let Err(limit) = self.env.meter.walk(value) {
                    return self.exceeded(limit);
                }
                let text = printing::display(value);
                if quoted {
                    return self.write(&with_doubled_apostrophes(&text), sensitivity);
                }
                self.write(&text, sensitivity)
            }
        }
    }

    /// The sensitivity of a value and of the maps in it.
    pub(super) fn sensitivity_of(&mut self, held: &Held) -> Sensitivity {
        let by_map = Sensitivity::derived_if(self.contains_secret(&held.value));
        let sensitivity = held.sensitivity.max(by_map);
        self.worked_on = self.worked_on.max(sensitivity);
        sensitivity
    }

    /// The least sensitivity of everything that is written or set here.
    pub(super) fn chosen(&self) -> Sensitivity {
        if self.control {
            Sensitivity::Chosen
        } else {
            Sensitivity::Open
        }
    }

    /// Whether a map somewhere in this value had a secret put into it. Looking is charged; a limit
    /// that it exceeds ends the next step.
    fn contains_secret(&mut self, value: &Value) -> bool {
        if !self.tainted_maps {
            return false;
        }
        let (found, looked_at) = find_tainted_map(value);
        let _ = self.env.meter.steps(looked_at);
        found
    }
}

/// As YAML writes a text within single quotes.
fn with_doubled_apostrophes(text: &[u8]) -> Vec<u8> {
    let mut doubled = Vec::with_capacity(text.len());
    for byte in text {
        doubled.push(*byte);
        if *byte == b'\'' {
            doubled.push(b'\'');
        }
    }
    doubled
}

/// Whether there is a map with a secret in this value, and how many values were looked at. Each
/// container is looked at once, however often it is held.
fn find_tainted_map(value: &Value) -> (bool, u64) {
    let mut seen = HashSet::new();
    let mut pending = vec![value.clone()];
    let mut looked_at = 0;
    while let Some(value) = pending.pop() {
        looked_at += 1;
        match &value {
            Value::List(list) if seen.insert(list.identity()) => {
                let containers = list.iter().filter(|item| is_container(item));
                pending.extend(containers.cloned());
            }
            Value::Map(map) if seen.insert(map.identity()) => {
                if map.is_sensitive() {
                    return (true, looked_at);
                }
                // Values that were never read from the map cannot have been changed.
                let materialized = map.materialized_values().into_iter();
                pending.extend(materialized.filter(is_container));
            }
            _ => {}
        }
    }
    (false, looked_at)
}

fn is_container(value: &Value) -> bool {
    matches!(value, Value::List(_) | Value::Map(_))
}
