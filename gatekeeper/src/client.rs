//! Templates, constraints, inventory, and the review of an object by all of them (GK-102, GK-113).

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::Json;
use crate::constraint::{Constraint, ConstraintError};
use crate::enforcement::EnforcementPoint;
use crate::evaluator::{Compiled, Evaluator, InProcess};
use crate::inventory::{self, InventoryKey};
use crate::matching::own_name;
use crate::messages;
use crate::review::Review;
use crate::template::{ConstraintTemplate, SyncRequirement, TemplateError};

pub use crate::constraint::ConstraintKey;
pub use crate::evaluator::{Cause, Engines, Options};

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

/// How many constraints are evaluated between two checks of the cancellation.
const BATCH: usize = 32;

/// Holds templates and constraints, and reviews objects. Reviews need only a shared reference.
#[derive(Debug)]
pub struct Client {
    evaluator: Arc<dyn Evaluator>,
    templates: BTreeMap<String, Entry>,
    namespaces: BTreeMap<String, Json>,
    /// Those of the inventory, which serve where the caller has given none.
    inventory_namespaces: BTreeMap<String, Json>,
}

#[derive(Debug)]
struct Entry {
    template: ConstraintTemplate,
    compiled: Compiled,
    constraints: BTreeMap<String, Arc<Constraint>>,
}

impl Default for Client {
    fn default() -> Self {
        Self::new(Options::default())
    }
}

impl Client {
    /// A client without templates that evaluates in this process.
    pub fn new(options: Options) -> Self {
        Self::with_evaluator(Arc::new(InProcess::new(options)))
    }

    /// A client without templates. It is the only one of the evaluator.
    pub fn with_evaluator(evaluator: Arc<dyn Evaluator>) -> Self {
        Self {
            evaluator,
            templates: BTreeMap::new(),
            namespaces: BTreeMap::new(),
            inventory_namespaces: BTreeMap::new(),
        }
    }

    /// What compiles and evaluates.
    pub fn evaluator(&self) -> Arc<dyn Evaluator> {
        Arc::clone(&self.evaluator)
    }

    /// Compiles a template and adds it, or replaces it. Its constraints stay where they are still valid; the others are
    /// returned.
    pub fn add_template(
        &mut self,
        template: ConstraintTemplate,
    ) -> Result<Vec<(ConstraintKey, ConstraintError)>, TemplateError> {
        let compiled = self.evaluator.load(&template)?;
        Ok(self.put_template(template, compiled))
    }

    /// Adds a template that the [`evaluator`](Self::evaluator) has loaded, or replaces it. Its constraints stay where they are still
    /// valid; the others are returned.
    pub fn put_template(
        &mut self,
        template: ConstraintTemplate,
        compiled: Compiled,
    ) -> Vec<(ConstraintKey, ConstraintError)> {
        let kind = template.kind.clone();
        let constraints = self.templates.remove(&kind).map(|entry| entry.constraints);
        let entry = Entry {
            template,
            compiled,
            constraints: BTreeMap::new(),
        };
        self.templates.insert(kind.clone(), entry);
        let mut dropped = Vec::new();
        for (name, constraint) in constraints.into_iter().flatten() {
            if let Err(error) = self.add_constraint(&constraint.object) {
                let key = ConstraintKey {
                    kind: kind.clone(),
                    name,
                };
                self.evaluator.remove_constraint(&key);
                dropped.push((key, error));
            }
        }
        dropped
    }

    /// Removes the template of a kind with its constraints; false when there is none.
    pub fn remove_template(&mut self, kind: &str) -> bool {
        self.evaluator.unload(kind);
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
        let entry = self.templates.get(kind);
        entry.is_some_and(|entry| entry.compiled.is_referential)
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
        self.evaluator.set_constraint(&constraint);
        entry
            .constraints
            .insert(key.name.clone(), Arc::new(constraint));
        Ok(key)
    }

    /// Removes a constraint; false when it is not there.
    pub fn remove_constraint(&mut self, key: &ConstraintKey) -> bool {
        self.evaluator.remove_constraint(key);
        self.templates
            .get_mut(&key.kind)
            .is_some_and(|entry| entry.constraints.remove(&key.name).is_some())
    }

    /// A constraint.
    pub fn constraint(&self, key: &ConstraintKey) -> Option<&Constraint> {
        let entry = self.templates.get(&key.kind)?;
        entry.constraints.get(&key.name).map(Arc::as_ref)
    }

    /// The constraints, by kind and name.
    pub fn constraints(&self) -> impl Iterator<Item = &Constraint> {
        let entries = self.templates.values();
        entries.flat_map(|entry| entry.constraints.values().map(Arc::as_ref))
    }

    /// Adds an object to the inventory, or replaces it. A Namespace serves the selectors of Namespaces, too.
    pub fn set_object(&mut self, object: &Json) -> bool {
        if object["kind"] == "Namespace" && object["apiVersion"] == "v1" {
            let name = own_name(object).to_owned();
            self.inventory_namespaces.insert(name, object.clone());
        }
        self.evaluator.set_object(object)
    }

    /// Removes an object from the inventory; false when it was not there.
    pub fn remove_object(&mut self, key: &InventoryKey) -> bool {
        if key.kind == "Namespace" && key.group_version == "v1" {
            self.inventory_namespaces.remove(&key.name);
        }
        self.evaluator.remove_object(key)
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
        self.matching(review, point, wanted)
            .evaluate(review, || false)
    }

    /// The constraints that an object is evaluated by, of those that `wanted` chooses. They are evaluated without this client, which
    /// may change meanwhile.
    pub fn matching(
        &self,
        review: &Review,
        point: EnforcementPoint,
        wanted: impl Fn(&Constraint) -> bool,
    ) -> Matching {
        let namespace = match review.namespace() {
            "" => review.namespace_object(),
            name => review.namespace_object().or_else(|| self.namespace(name)),
        };
        let is_admission = point == EnforcementPoint::Webhook;
        let entries = self
            .templates
            .values()
            .filter(|entry| !is_admission || entry.template.is_for_operation(review.operation()));
        let mut matching = Matching {
            evaluator: self.evaluator(),
            constraints: Vec::new(),
            violations: Vec::new(),
        };
        for constraint in entries.flat_map(|entry| entry.constraints.values()) {
            let Some(scoped) = constraint.enforcement.scoped_actions(point) else {
                continue;
            };
            if !wanted(constraint) {
                continue;
            }
            match matches(review, namespace, constraint) {
                Ok(false) => {}
                Ok(true) => matching.constraints.push((Arc::clone(constraint), scoped)),
                Err(message) => {
                    let cause = Cause::MatchError;
                    let violation = violation(constraint, &scoped, (message, Json::Null), cause);
                    matching.violations.push(violation);
                }
            }
        }
        matching
    }
}

/// The constraints that an object is evaluated by.
#[derive(Debug)]
pub struct Matching {
    evaluator: Arc<dyn Evaluator>,
    /// With their actions at the enforcement point.
    constraints: Vec<(Arc<Constraint>, Vec<String>)>,
    /// Of constraints that cannot be matched.
    violations: Vec<Violation>,
}

impl Matching {
    /// The violations, ordered by enforcement action and message. Some are missing once `is_cancelled` is true.
    pub fn evaluate(self, review: &Review, is_cancelled: impl Fn() -> bool) -> Vec<Violation> {
        let mut violations = self.violations;
        for batch in self.constraints.chunks(BATCH) {
            if is_cancelled() {
                break;
            }
            let constraints: Vec<&Constraint> = batch.iter().map(|(one, _)| &**one).collect();
            let evaluated = self.evaluator.evaluate(review, &constraints);
            for ((constraint, scoped), evaluated) in batch.iter().zip(evaluated) {
                match evaluated {
                    Ok(findings) => violations.extend(findings.into_iter().map(|one| {
                        let found = (one.message, one.details);
                        violation(constraint, scoped, found, Cause::Violation)
                    })),
                    Err(failure) => {
                        let found = (failure.message, Json::Null);
                        violations.push(violation(constraint, scoped, found, failure.cause));
                    }
                }
            }
        }
        let order = |one: &Violation| (one.enforcement_action.clone(), one.message.clone());
        violations.sort_by_cached_key(order);
        violations
    }
}

/// Whether a constraint is for an object; the error is why that cannot be said.
fn matches(
    review: &Review,
    namespace: Option<&Json>,
    constraint: &Constraint,
) -> Result<bool, String> {
    let mut matched = review
        .targets(namespace)
        .map(|target| constraint.matches.matches(&target));
    matched
        .find(|matched| *matched != Ok(false))
        .unwrap_or(Ok(false))
}

fn violation(
    constraint: &Constraint,
    scoped_actions: &[String],
    (message, details): (String, Json),
    cause: Cause,
) -> Violation {
    Violation {
        constraint: constraint.key(),
        message,
        details,
        enforcement_action: constraint.enforcement.action.clone(),
        scoped_actions: scoped_actions.to_vec(),
        cause,
    }
}
