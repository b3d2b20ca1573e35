//! Templates, constraints, inventory, and the review of an object by all of them (GK-102, GK-113).

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use regorus::Value;

use crate::Json;
use crate::cel;
use crate::constraint::{Constraint, ConstraintError};
use crate::enforcement::EnforcementPoint;
use crate::inventory::{self, Inventory, InventoryKey};
use crate::matching::own_name;
use crate::messages;
use crate::rego::{self, Limits};
use crate::review::Review;
use crate::template::{ConstraintTemplate, SyncRequirement, TemplateError};

pub use crate::constraint::ConstraintKey;

/// How a client evaluates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Which engine evaluates a template with sources for both.
    pub engines: Engines,
    /// What an evaluation may take and give.
    pub limits: Limits,
}

/// Which engines there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Engines {
    /// CEL where a template has it, otherwise Rego.
    #[default]
    CelFirst,
    /// Rego only.
    RegoOnly,
}

/// What a violation is the result of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cause {
    /// The template reports it.
    Violation,
    /// The constraint cannot be matched with the object, and so rejects it.
    MatchError,
    /// The evaluation failed: whether the object complies is not known.
    EvaluationError,
    /// The evaluation failed because it took longer than it may.
    TimeLimit,
}

/// A violation of one constraint by the reviewed object.
#[derive(Clone, Debug, PartialEq)]
pub struct Violation {
    /// The constraint.
    pub constraint: ConstraintKey,
    /// The text.
    pub message: String,
    /// What a Rego template adds, an empty object without; null for CEL and after an error.
    pub details: Json,
    /// `spec.enforcementAction` of the constraint, `scoped` included.
    pub enforcement_action: String,
    /// The actions at the enforcement point; empty unless the action is `scoped`.
    pub scoped_actions: Vec<String>,
    /// What it is the result of.
    pub cause: Cause,
}

impl Violation {
    /// The actions that count at the enforcement point.
    pub fn actions(&self) -> impl Iterator<Item = &str> {
        let own = self
            .scoped_actions
            .is_empty()
            .then_some(self.enforcement_action.as_str());
        own.into_iter()
            .chain(self.scoped_actions.iter().map(String::as_str))
    }
}

/// Holds templates, constraints and inventory, and reviews objects. Reviews need only a shared reference.
#[derive(Debug, Default)]
pub struct Client {
    options: Options,
    templates: BTreeMap<String, Entry>,
    inventory: Inventory,
    namespaces: BTreeMap<String, Json>,
    /// Those of the inventory, which serve where the caller has given none.
    inventory_namespaces: BTreeMap<String, Json>,
    generation: u64,
}

#[derive(Debug)]
struct Entry {
    template: ConstraintTemplate,
    program: Program,
    constraints: BTreeMap<String, Loaded>,
}

#[derive(Debug)]
struct Loaded {
    constraint: Constraint,
    parameters: Value,
}

#[derive(Debug)]
enum Program {
    Cel(Box<cel::Program>),
    Rego(Box<Rego>),
}

#[derive(Debug)]
struct Rego {
    plain: rego::Program,
    /// The program with the inventory of a generation, for referential templates.
    loaded: RwLock<Option<(u64, Arc<rego::Program>)>>,
}

impl Client {
    /// A client without templates.
    pub fn new(options: Options) -> Self {
        Self {
            options,
            ..Self::default()
        }
    }

    /// Compiles a template and adds it, or replaces it. Its constraints stay where they are still valid; the others are
    /// returned.
    pub fn add_template(
        &mut self,
        template: ConstraintTemplate,
    ) -> Result<Vec<(ConstraintKey, ConstraintError)>, TemplateError> {
        let program = self.compile(&template)?;
        let kind = template.kind.clone();
        let constraints = self.templates.remove(&kind).map(|entry| entry.constraints);
        let entry = Entry {
            template,
            program,
            constraints: BTreeMap::new(),
        };
        self.templates.insert(kind.clone(), entry);
        let mut dropped = Vec::new();
        for (name, loaded) in constraints.into_iter().flatten() {
            if let Err(error) = self.add_constraint(&loaded.constraint.object) {
                let kind = kind.clone();
                dropped.push((ConstraintKey { kind, name }, error));
            }
        }
        Ok(dropped)
    }

    fn compile(&self, template: &ConstraintTemplate) -> Result<Program, TemplateError> {
        let with_cel = self.options.engines == Engines::CelFirst;
        if let Some(source) = template.cel.as_ref().filter(|_| with_cel) {
            let program = cel::Program::compile(source)
                .map_err(|error| TemplateError::ingest(error.message))?;
            return Ok(Program::Cel(Box::new(program)));
        }
        let Some(source) = &template.rego else {
            return Err(TemplateError::ingest(messages::no_driver(with_cel)));
        };
        let plain = rego::Program::compile(source, &self.options.limits)
            .map_err(|error| TemplateError::ingest(error.message))?;
        let loaded = RwLock::default();
        Ok(Program::Rego(Box::new(Rego { plain, loaded })))
    }

    /// Removes the template of a kind with its constraints; false when there is none.
    pub fn remove_template(&mut self, kind: &str) -> bool {
        self.templates.remove(kind).is_some()
    }

    /// The template of a kind.
    pub fn template(&self, kind: &str) -> Option<&ConstraintTemplate> {
        self.templates.get(kind).map(|entry| &entry.template)
    }

    /// The templates, by kind.
    pub fn templates(&self) -> impl Iterator<Item = &ConstraintTemplate> {
        self.templates.values().map(|entry| &entry.template)
    }

    /// Whether the template of a kind reads the inventory.
    pub fn is_referential(&self, kind: &str) -> bool {
        self.templates.get(kind).is_some_and(
            |entry| matches!(&entry.program, Program::Rego(rego) if rego.plain.is_referential()),
        )
    }

    /// Whether the template of a kind may read the Namespace of the reviewed object.
    pub fn reads_namespace(&self, kind: &str) -> bool {
        const MEMBER: &str = "namespaceObject";
        self.template(kind).is_some_and(|template| {
            let rego = template.rego.iter();
            let mut sources = rego.flat_map(|rego| rego.libs.iter().chain([&rego.rego]));
            let cel = template.cel.as_ref().map(Json::to_string);
            sources.any(|source| source.contains(MEMBER))
                || cel.is_some_and(|source| source.contains(MEMBER))
        })
    }

    /// The kinds that the template of a kind needs in the inventory: those of its annotation; without it those that its source
    /// names; all, when it names none.
    pub fn sync_requirements(&self, kind: &str) -> Vec<SyncRequirement> {
        let Some(template) = self.template(kind).filter(|_| self.is_referential(kind)) else {
            return Vec::new();
        };
        if !template.requires_sync.is_empty() {
            return template.requires_sync.iter().flatten().cloned().collect();
        }
        let rego = template.rego.iter();
        let sources = rego.flat_map(|rego| rego.libs.iter().chain([&rego.rego]));
        sources
            .flat_map(|source| inventory::references(source))
            .collect()
    }

    /// Validates a constraint and adds it, or replaces it.
    pub fn add_constraint(&mut self, object: &Json) -> Result<ConstraintKey, ConstraintError> {
        let kind = object["kind"].as_str().unwrap_or_default();
        let entry = self.templates.get_mut(kind);
        // Templates are found by their names, which may have capitals although those of CRDs have none.
        let Some(entry) = entry.filter(|one| one.template.name == kind.to_lowercase()) else {
            return Err(ConstraintError::NoTemplate(messages::no_template(kind)));
        };
        let constraint = Constraint::parse(object, &entry.template)?;
        let key = constraint.key();
        let parameters = constraint.parameters();
        let parameters = parameters.map_or_else(Value::new_object, rego::to_value);
        let loaded = Loaded {
            constraint,
            parameters,
        };
        entry.constraints.insert(key.name.clone(), loaded);
        Ok(key)
    }

    /// Removes a constraint; false when it is not there.
    pub fn remove_constraint(&mut self, key: &ConstraintKey) -> bool {
        self.templates
            .get_mut(&key.kind)
            .is_some_and(|entry| entry.constraints.remove(&key.name).is_some())
    }

    /// A constraint.
    pub fn constraint(&self, key: &ConstraintKey) -> Option<&Constraint> {
        let entry = self.templates.get(&key.kind)?;
        entry.constraints.get(&key.name).map(|one| &one.constraint)
    }

    /// The constraints, by kind and name.
    pub fn constraints(&self) -> impl Iterator<Item = &Constraint> {
        let entries = self.templates.values();
        entries.flat_map(|entry| entry.constraints.values().map(|one| &one.constraint))
    }

    /// Adds an object to the inventory, or replaces it. A Namespace serves the selectors of Namespaces, too.
    pub fn set_object(&mut self, object: &Json) -> bool {
        if object["kind"] == "Namespace" && object["apiVersion"] == "v1" {
            let name = own_name(object).to_owned();
            self.inventory_namespaces.insert(name, object.clone());
        }
        self.generation += 1;
        self.inventory.insert(object)
    }

    /// Removes an object from the inventory; false when it was not there.
    pub fn remove_object(&mut self, key: &InventoryKey) -> bool {
        if key.kind == "Namespace" && key.group_version == "v1" {
            self.inventory_namespaces.remove(&key.name);
        }
        self.generation += 1;
        self.inventory.remove(key)
    }

    /// Adds a Namespace for the selectors of Namespaces only, or replaces it. Returns the one before.
    pub fn set_namespace(&mut self, namespace: Json) -> Option<Json> {
        let name = own_name(&namespace).to_owned();
        self.namespaces.insert(name, namespace)
    }

    /// Removes a Namespace that was added for selectors.
    pub fn remove_namespace(&mut self, name: &str) {
        self.namespaces.remove(name);
    }

    /// A Namespace that the client has.
    pub fn namespace(&self, name: &str) -> Option<&Json> {
        let given = self.namespaces.get(name);
        given.or_else(|| self.inventory_namespaces.get(name))
    }

    /// The violations of all constraints, ordered by enforcement action and message.
    pub fn review(&self, review: &Review, point: EnforcementPoint) -> Vec<Violation> {
        self.review_by(review, point, |_| true)
    }

    /// The violations of those constraints that `wanted` chooses.
    pub fn review_by(
        &self,
        review: &Review,
        point: EnforcementPoint,
        wanted: impl Fn(&Constraint) -> bool,
    ) -> Vec<Violation> {
        let namespace = match review.namespace() {
            "" => review.namespace_object(),
            name => review.namespace_object().or_else(|| self.namespace(name)),
        };
        let mut violations = Vec::new();
        for entry in self.templates.values() {
            let is_admission = point == EnforcementPoint::Webhook;
            if is_admission && !entry.template.is_for_operation(review.operation()) {
                continue;
            }
            for loaded in entry.constraints.values() {
                let Some(scoped) = loaded.constraint.enforcement.scoped_actions(point) else {
                    continue;
                };
                if !wanted(&loaded.constraint) {
                    continue;
                }
                let findings = self.evaluate(entry, loaded, review, namespace);
                violations.extend(findings.into_iter().map(|(message, details, cause)| {
                    Violation {
                        constraint: loaded.constraint.key(),
                        message,
                        details,
                        enforcement_action: loaded.constraint.enforcement.action.clone(),
                        scoped_actions: scoped.clone(),
                        cause,
                    }
                }));
            }
        }
        let order = |one: &Violation| (one.enforcement_action.clone(), one.message.clone());
        violations.sort_by_cached_key(order);
        violations
    }

    fn evaluate(
        &self,
        entry: &Entry,
        loaded: &Loaded,
        review: &Review,
        namespace: Option<&Json>,
    ) -> Vec<(String, Json, Cause)> {
        let matched = review
            .targets(namespace)
            .map(|target| loaded.constraint.matches.matches(&target))
            .find(|matched| *matched != Ok(false));
        match matched {
            Some(Ok(_)) => {}
            Some(Err(message)) => {
                return vec![(message, Json::Null, Cause::MatchError)];
            }
            None => return Vec::new(),
        }
        match &entry.program {
            Program::Cel(program) => {
                let messages = program.evaluate(&cel::Input {
                    object: review.new_object(),
                    old_object: review.old_object(),
                    request: review.cel_request(),
                    namespace_object: review.namespace_object(),
                    parameters: loaded.constraint.parameters(),
                    constraint: &loaded.constraint.object,
                });
                let messages = messages.into_iter();
                messages
                    .map(|message| (message, Json::Null, Cause::Violation))
                    .collect()
            }
            Program::Rego(rego) => {
                let document = review.document();
                let result = if rego.plain.is_referential() {
                    self.with_inventory(rego)
                        .and_then(|program| program.evaluate(document, &loaded.parameters))
                } else {
                    rego.plain.evaluate(document, &loaded.parameters)
                };
                match result {
                    Ok(findings) => findings
                        .into_iter()
                        .map(|one| (one.message, one.details, Cause::Violation))
                        .collect(),
                    Err(error) => {
                        let limit = messages::time_limit(self.options.limits.time);
                        let cause = if error.message.ends_with(&limit) {
                            Cause::TimeLimit
                        } else {
                            Cause::EvaluationError
                        };
                        vec![(error.message, Json::Null, cause)]
                    }
                }
            }
        }
    }

    /// The program with the inventory as it is now.
    fn with_inventory(&self, rego: &Rego) -> Result<Arc<rego::Program>, rego::EvaluationError> {
        if let Some((generation, program)) =
            &*rego.loaded.read().unwrap_or_else(PoisonError::into_inner)
            && *generation == self.generation
        {
            return Ok(program.clone());
        }
        let program = rego.plain.with_inventory(self.inventory.document())?;
        let program = Arc::new(program);
        let mut loaded = rego.loaded.write().unwrap_or_else(PoisonError::into_inner);
        *loaded = Some((self.generation, program.clone()));
        Ok(program)
    }
}
