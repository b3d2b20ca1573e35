//! `ExpansionTemplate`: the objects that controllers would make of an object, without running them (GK-121).

use std::collections::BTreeSet;

use petgraph::algo::kosaraju_scc;
use petgraph::graph::DiGraph;
use serde_json::json;

use crate::Json;
use crate::audit::ResourceKind;
use crate::client::Violation;
use crate::constraint::Constraint;
use crate::matching::{group_and_kind, own_name, own_namespace};
use crate::messages;

/// Objects that are made of made objects are followed no deeper than this.
const MAX_DEPTH: usize = 30;

/// What is made of one object, and of that in turn, is no more than this: each template may double it.
const MAX_RESULTANTS: usize = 1_000;
/// The same in bytes of JSON, about.
const MAX_BYTES: usize = 16 << 20;

/// Why a template or an object cannot be expanded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ExpansionError(pub String);

#[derive(Clone, Debug, PartialEq, Eq)]
struct ApplyTo {
    groups: Vec<String>,
    versions: Vec<String>,
    kinds: Vec<String>,
}

impl ApplyTo {
    fn includes(&self, gvk: &ResourceKind) -> bool {
        self.groups.contains(&gvk.group)
            && self.versions.contains(&gvk.version)
            && self.kinds.contains(&gvk.kind)
    }
}

/// An `ExpansionTemplate`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpansionTemplate {
    /// Its name.
    pub name: String,
    /// The action of violations of what it makes, if it says one.
    pub enforcement_action: Option<String>,
    apply_to: Vec<ApplyTo>,
    source: String,
    generated: ResourceKind,
}

impl ExpansionTemplate {
    /// Reads and checks a template.
    pub fn parse(object: &Json) -> Result<Self, ExpansionError> {
        let fail = |text: String| Err(ExpansionError(text));
        let name = own_name(object);
        let spec = &object["spec"];
        let text = |value: &Json| value.as_str().unwrap_or_default().to_owned();
        let texts = |value: &Json| -> Vec<String> {
            let list = value.as_array().into_iter().flatten();
            list.map(text).collect()
        };
        if name.is_empty() {
            return fail(messages::EXPANSION_NAME.to_owned());
        }
        if name.len() >= 64 {
            return fail(messages::EXPANSION_NAME_LENGTH.to_owned());
        }
        let source = text(&spec["templateSource"]);
        if source.is_empty() {
            return fail(messages::expansion_source(name));
        }
        let generated = &spec["generatedGVK"];
        let generated = ResourceKind {
            group: text(&generated["group"]),
            version: text(&generated["version"]),
            kind: text(&generated["kind"]),
        };
        if generated.version.is_empty() && generated.kind.is_empty() && generated.group.is_empty() {
            return fail(messages::expansion_gvk(name));
        }
        let apply_to = spec["applyTo"].as_array().into_iter().flatten();
        let apply_to: Vec<ApplyTo> = apply_to
            .map(|one| ApplyTo {
                groups: texts(&one["groups"]),
                versions: texts(&one["versions"]),
                kinds: texts(&one["kinds"]),
            })
            .collect();
        if apply_to.is_empty() {
            return fail(messages::expansion_apply_to(name));
        }
        if apply_to.iter().any(|one| one.includes(&generated)) {
            return fail(messages::expansion_itself(
                name,
                &generated.api_version(),
                &generated.kind,
            ));
        }
        let action = text(&spec["enforcementAction"]);
        Ok(Self {
            name: name.to_owned(),
            enforcement_action: (!action.is_empty()).then_some(action),
            apply_to,
            source,
            generated,
        })
    }

    fn applies_to(&self, gvk: &ResourceKind) -> bool {
        self.apply_to.iter().any(|one| one.includes(gvk))
    }

    fn makes_for(&self, other: &Self) -> bool {
        other.applies_to(&self.generated)
    }

    fn expand(&self, parent: &Json, namespace: &str) -> Result<Json, ExpansionError> {
        let mut source = parent;
        for segment in self.source.split('.') {
            source = &source[segment];
        }
        if !source.is_object() {
            let message = messages::expansion_no_source(&self.source, own_name(parent));
            return Err(ExpansionError(message));
        }
        let mut object = source.clone();
        object["apiVersion"] = json!(self.generated.api_version());
        object["kind"] = json!(self.generated.kind);
        if !object["metadata"].is_object() {
            object["metadata"] = json!({});
        }
        if !namespace.is_empty() {
            object["metadata"]["namespace"] = json!(namespace);
        }
        let name = format!("{}-{}", own_name(parent), self.generated.kind).to_lowercase();
        object["metadata"]["name"] = json!(name);
        object["metadata"]["ownerReferences"] = json!([{
            "apiVersion": parent["apiVersion"],
            "kind": parent["kind"],
            "name": own_name(parent),
            "uid": "",
        }]);
        Ok(object)
    }
}

/// An object that an expansion has made.
#[derive(Clone, Debug, PartialEq)]
pub struct Resultant {
    /// The object.
    pub object: Json,
    /// The template that made it.
    pub template: String,
    /// The action of its violations, if the template says one.
    pub enforcement_action: Option<String>,
}

impl Resultant {
    /// The violations of the made object as violations of its parent.
    pub fn attribute(&self, violations: Vec<Violation>) -> Vec<Violation> {
        violations
            .into_iter()
            .map(|mut violation| {
                violation.message = messages::implied_by(&self.template, &violation.message);
                if let Some(action) = &self.enforcement_action {
                    violation.enforcement_action.clone_from(action);
                    violation.scoped_actions.clear();
                }
                violation
            })
            .collect()
    }
}

/// All templates; those that are in a cycle expand nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expansion {
    templates: Vec<ExpansionTemplate>,
    in_cycle: BTreeSet<String>,
}

impl Expansion {
    /// The expansion by some templates, in the order of their names.
    pub fn new(templates: impl IntoIterator<Item = ExpansionTemplate>) -> Self {
        let mut templates: Vec<ExpansionTemplate> = templates.into_iter().collect();
        templates.sort_by(|a, b| a.name.cmp(&b.name));
        let in_cycle = in_cycle(&templates);
        Self {
            templates,
            in_cycle,
        }
    }

    /// Whether there is nothing to expand with.
    pub fn is_empty(&self) -> bool {
        self.templates.is_empty()
    }

    /// The templates that are disabled because they are in a cycle.
    pub fn disabled(&self) -> impl Iterator<Item = &str> {
        self.in_cycle.iter().map(String::as_str)
    }

    /// The kinds of what is made of objects of a kind, and of that in turn.
    pub fn made_of(&self, kind: &ResourceKind) -> Vec<ResourceKind> {
        let mut made = BTreeSet::new();
        let mut pending = vec![kind];
        while let Some(kind) = pending.pop() {
            for template in self.templates.iter().filter(|one| self.makes(one, kind)) {
                if made.insert(&template.generated) {
                    pending.push(&template.generated);
                }
            }
        }
        made.into_iter().cloned().collect()
    }

    /// Whether objects are made of those of a kind, by one or several expansions, that a constraint may match.
    pub fn makes_for(&self, kind: &ResourceKind, constraint: &Constraint) -> bool {
        let mut made = self.made_of(kind).into_iter();
        made.any(|one| constraint.matches.matches_kind(&one.group, &one.kind))
    }

    fn makes(&self, template: &ExpansionTemplate, of: &ResourceKind) -> bool {
        template.applies_to(of) && !self.in_cycle.contains(&template.name)
    }

    /// What is made of an object, and of that in turn.
    pub fn expand(&self, object: &Json) -> Result<Vec<Resultant>, ExpansionError> {
        let namespace = own_namespace(object);
        let mut made = ExpansionResult::default();
        self.step(object, namespace, &mut made)?;
        let mut done = 0;
        for _ in 0..=MAX_DEPTH {
            let level = done..made.resultants.len();
            if level.is_empty() {
                return Ok(made.resultants);
            }
            done = level.end;
            for index in level {
                let parent = made.resultants.get(index).map(|one| one.object.clone());
                self.step(&parent.unwrap_or_default(), namespace, &mut made)?;
            }
        }
        Err(ExpansionError(messages::expansion_depth(MAX_DEPTH)))
    }

    fn step(
        &self,
        parent: &Json,
        namespace: &str,
        made: &mut ExpansionResult,
    ) -> Result<(), ExpansionError> {
        let (group, kind) = group_and_kind(parent);
        let version = parent["apiVersion"].as_str().unwrap_or_default();
        let gvk = ResourceKind {
            group: group.to_owned(),
            version: version.rsplit('/').next().unwrap_or_default().to_owned(),
            kind: kind.to_owned(),
        };
        for template in self.templates.iter().filter(|one| self.makes(one, &gvk)) {
            made.add(template, template.expand(parent, namespace)?)?;
        }
        Ok(())
    }
}

/// The objects made so far.
#[derive(Default)]
struct ExpansionResult {
    resultants: Vec<Resultant>,
    bytes: usize,
}

impl ExpansionResult {
    fn add(&mut self, template: &ExpansionTemplate, object: Json) -> Result<(), ExpansionError> {
        self.bytes = self.bytes.saturating_add(size(&object));
        if self.resultants.len() >= MAX_RESULTANTS || self.bytes > MAX_BYTES {
            let limits = (MAX_RESULTANTS, MAX_BYTES >> 20);
            let message = messages::expansion_size(&template.name, limits.0, limits.1);
            return Err(ExpansionError(message));
        }
        self.resultants.push(Resultant {
            object,
            template: template.name.clone(),
            enforcement_action: template.enforcement_action.clone(),
        });
        Ok(())
    }
}

/// The length of a document's JSON, about.
fn size(value: &Json) -> usize {
    match value {
        Json::String(text) => text.len() + 2,
        Json::Array(list) => list.iter().map(|one| size(one) + 1).sum::<usize>() + 2,
        Json::Object(members) => {
            let members = members.iter();
            members
                .map(|(key, one)| key.len() + size(one) + 4)
                .sum::<usize>()
                + 2
        }
        _ => 5,
    }
}

/// The templates that expand, by one or several others, what they themselves generate.
fn in_cycle(templates: &[ExpansionTemplate]) -> BTreeSet<String> {
    let edges = templates.iter().enumerate().flat_map(|(from, template)| {
        let made = templates.iter().enumerate();
        made.filter(|(_, other)| template.makes_for(other))
            .map(move |(to, _)| (from, to))
    });
    let graph = DiGraph::<(), (), usize>::from_edges(edges);
    // No template applies to what it generates itself (`ExpansionTemplate::parse`): a cycle has two templates at least.
    kosaraju_scc(&graph)
        .into_iter()
        .filter(|component| component.len() > 1)
        .flatten()
        .filter_map(|node| templates.get(node.index()))
        .map(|template| template.name.clone())
        .collect()
}

#[cfg(test)]
#[path = "expansion_tests.rs"]
mod tests;
