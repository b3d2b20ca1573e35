//! Compiles the sources of templates and evaluates them (GK-103, GK-104). A [`Client`](crate::client::Client) decides which
//! constraints an object is reviewed by; an [`Evaluator`] runs the code of their templates, which any tenant may have written: here,
//! or in another process that can be killed.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, PoisonError, RwLock};

use regorus::Value;
use serde::{Deserialize, Serialize};

use crate::Json;
use crate::cel;
use crate::constraint::{Constraint, ConstraintKey};
use crate::external_data::ExternalData;
use crate::inventory::{Inventory, InventoryKey};
use crate::messages;
use crate::rego::{self, Finding, Limits};
use crate::review::Review;
use crate::template::{ConstraintTemplate, TemplateError};

/// How a client evaluates.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Options {
    /// Which engine evaluates a template with sources for both.
    pub engines: Engines,
    /// What an evaluation may take and give.
    pub limits: Limits,
    /// What providers of external data answer.
    pub external_data: ExternalData,
}

/// Which engines there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Engines {
    /// CEL where a template has it, otherwise Rego.
    #[default]
    CelFirst,
    /// Rego only.
    RegoOnly,
}

/// What a violation is the result of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Cause {
    /// The template reports it.
    Violation,
    /// The constraint cannot be matched with the object, and so rejects it.
    MatchError,
    /// The evaluation failed: whether the object complies is not known.
    EvaluationError,
    /// The evaluation failed because it took longer than it may.
    TimeLimit,
    /// The template is evaluated no more: its evaluation took so much that its process was killed.
    Quarantine,
    /// Nothing could evaluate it now.
    Overload,
}

/// What is known of a template whose sources compile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compiled {
    /// Whether it reads `data.inventory`.
    pub is_referential: bool,
}

/// Why a constraint has no result for an object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// What went wrong, and where.
    pub message: String,
    /// One of the causes that are failures.
    pub cause: Cause,
}

/// The violations of one constraint by an object, or why they are not known.
pub type Evaluated = Result<Vec<Finding>, Failure>;

/// Runs the code of templates. Everything may be called from several threads at once, and may take as long as the limits allow.
pub trait Evaluator: Debug + Send + Sync {
    /// Compiles the sources of a template, in place of an earlier one of the same kind. After an error the earlier one stays. One whose
    /// compilation has to be killed is quarantined.
    fn load(&self, template: &ConstraintTemplate) -> Result<Compiled, TemplateError>;

    /// Forgets the template of a kind and its constraints.
    fn unload(&self, kind: &str);

    /// Evaluates the template of a kind no more, until it is loaded or unloaded. `reason` is what its constraints fail with.
    fn quarantine(&self, kind: &str, reason: &str);

    /// Why the template of a kind is evaluated no more; nothing if it is.
    fn quarantined(&self, kind: &str) -> Option<String>;

    /// Adds a constraint, or replaces it.
    fn set_constraint(&self, constraint: &Constraint);

    /// Forgets a constraint.
    fn remove_constraint(&self, key: &ConstraintKey);

    /// Adds an object to the inventory, or replaces it; false when it has no place there.
    fn set_object(&self, object: &Json) -> bool;

    /// Removes an object from the inventory; false when it was not there.
    fn remove_object(&self, key: &InventoryKey) -> bool;

    /// The violations of an object: for each of the constraints, in their order.
    fn evaluate(&self, review: &Review, constraints: &[&Constraint]) -> Vec<Evaluated>;
}

/// Evaluates in this process, on the thread of the caller.
#[derive(Debug)]
pub struct InProcess {
    options: Options,
    state: RwLock<State>,
}

#[derive(Debug, Default)]
struct State {
    programs: BTreeMap<String, Arc<Program>>,
    parameters: BTreeMap<ConstraintKey, Value>,
    inventory: Inventory,
    /// Of the inventory: counts its changes.
    generation: u64,
}

#[derive(Debug)]
enum Program {
    Cel(cel::Program),
    Rego(Box<Rego>),
    /// It is evaluated no more.
    Quarantined(String),
}

#[derive(Debug)]
struct Rego {
    plain: rego::Program,
    /// The program with the inventory of a generation, for referential templates.
    loaded: RwLock<Option<(u64, Arc<rego::Program>)>>,
}

impl InProcess {
    /// An evaluator without templates.
    pub fn new(options: Options) -> Self {
        Self {
            options,
            state: RwLock::default(),
        }
    }

    fn compile(&self, template: &ConstraintTemplate) -> Result<Program, TemplateError> {
        let with_cel = self.options.engines == Engines::CelFirst;
        if let Some(source) = template.cel.as_ref().filter(|_| with_cel) {
            let program = cel::Program::compile(source);
            return program
                .map(Program::Cel)
                .map_err(|error| TemplateError::ingest(error.message));
        }
        let Some(source) = &template.rego else {
            return Err(TemplateError::ingest(messages::no_driver(with_cel)));
        };
        let plain =
            rego::Program::compile(source, &self.options.limits, &self.options.external_data)
                .map_err(|error| TemplateError::ingest(error.message))?;
        let loaded = RwLock::default();
        Ok(Program::Rego(Box::new(Rego { plain, loaded })))
    }

    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        change(&mut self.state.write().unwrap_or_else(PoisonError::into_inner))
    }

    fn read<T>(&self, read: impl FnOnce(&State) -> T) -> T {
        read(&self.state.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The violations of one constraint.
    pub fn evaluate_one(&self, review: &Review, constraint: &Constraint) -> Evaluated {
        let (program, parameters) = self.read(|state| {
            (
                state.programs.get(&constraint.kind).cloned(),
                state.parameters.get(&constraint.key()).cloned(),
            )
        });
        let Some(program) = program else {
            return Err(Failure {
                message: messages::no_template(&constraint.kind),
                cause: Cause::EvaluationError,
            });
        };
        match &*program {
            Program::Quarantined(reason) => Err(Failure {
                message: reason.clone(),
                cause: Cause::Quarantine,
            }),
            Program::Cel(program) => Ok(evaluate_cel(program, review, constraint)),
            Program::Rego(rego) => {
                let document = review.document();
                let parameters = parameters.unwrap_or_else(Value::new_object);
                let result = if rego.plain.is_referential() {
                    self.with_inventory(rego)
                        .and_then(|program| program.evaluate(document, &parameters))
                } else {
                    rego.plain.evaluate(document, &parameters)
                };
                result.map_err(|error| self.failure(error))
            }
        }
    }

    fn failure(&self, error: rego::EvaluationError) -> Failure {
        let limit = messages::time_limit(self.options.limits.time);
        let cause = if error.message.ends_with(&limit) {
            Cause::TimeLimit
        } else {
            Cause::EvaluationError
        };
        Failure {
            message: error.message,
            cause,
        }
    }

    /// The program with the inventory as it is now.
    fn with_inventory(&self, rego: &Rego) -> Result<Arc<rego::Program>, rego::EvaluationError> {
        let generation = self.read(|state| state.generation);
        if let Some((loaded, program)) =
            &*rego.loaded.read().unwrap_or_else(PoisonError::into_inner)
            && *loaded == generation
        {
            return Ok(program.clone());
        }
        let (generation, document) =
            self.read(|state| (state.generation, state.inventory.document()));
        let program = Arc::new(rego.plain.with_inventory(document)?);
        let mut loaded = rego.loaded.write().unwrap_or_else(PoisonError::into_inner);
        *loaded = Some((generation, program.clone()));
        Ok(program)
    }
}

fn evaluate_cel(program: &cel::Program, review: &Review, constraint: &Constraint) -> Vec<Finding> {
    let messages = program.evaluate(&cel::Input {
        object: review.new_object(),
        old_object: review.old_object(),
        request: review.cel_request(),
        namespace_object: review.visible_namespace(),
        parameters: constraint.parameters(),
        constraint: &constraint.object,
    });
    let finding = |message| Finding {
        message,
        details: Json::Null,
    };
    messages.into_iter().map(finding).collect()
}

impl Evaluator for InProcess {
    fn load(&self, template: &ConstraintTemplate) -> Result<Compiled, TemplateError> {
        // No lock is held while the code of a tenant runs.
        let program = self.compile(template)?;
        let is_referential = matches!(&program, Program::Rego(rego) if rego.plain.is_referential());
        let (kind, program) = (template.kind.clone(), Arc::new(program));
        self.change(|state| state.programs.insert(kind, program));
        Ok(Compiled { is_referential })
    }

    fn unload(&self, kind: &str) {
        self.change(|state| {
            state.programs.remove(kind);
            state.parameters.retain(|key, _| key.kind != kind);
        });
    }

    fn quarantine(&self, kind: &str, reason: &str) {
        let program = Arc::new(Program::Quarantined(reason.to_owned()));
        self.change(|state| state.programs.insert(kind.to_owned(), program));
    }

    fn quarantined(&self, kind: &str) -> Option<String> {
        self.read(|state| match &**state.programs.get(kind)? {
            Program::Quarantined(reason) => Some(reason.clone()),
            _ => None,
        })
    }

    fn set_constraint(&self, constraint: &Constraint) {
        let parameters = constraint.parameters();
        let parameters = parameters.map_or_else(Value::new_object, rego::to_value);
        self.change(|state| state.parameters.insert(constraint.key(), parameters));
    }

    fn remove_constraint(&self, key: &ConstraintKey) {
        self.change(|state| state.parameters.remove(key));
    }

    fn set_object(&self, object: &Json) -> bool {
        self.change(|state| {
            state.generation += 1;
            state.inventory.insert(object)
        })
    }

    fn remove_object(&self, key: &InventoryKey) -> bool {
        self.change(|state| {
            state.generation += 1;
            state.inventory.remove(key)
        })
    }

    fn evaluate(&self, review: &Review, constraints: &[&Constraint]) -> Vec<Evaluated> {
        let constraints = constraints.iter();
        constraints
            .map(|constraint| self.evaluate_one(review, constraint))
            .collect()
    }
}
