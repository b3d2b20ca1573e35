//! From a policy file to what is evaluated of it: configuration policies and, as a command of Reeve, constraints.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use reeve_api::ConfigurationPolicy;
use reeve_api::names::split_api_version;
use reeve_gatekeeper::enforcement::WARN;
use reeve_gatekeeper::{CONSTRAINT_GROUP, TEMPLATE_GROUP};
use reeve_manifests::{Document, documents};
use serde_json::{Map, Value};

use crate::args::Caller;
use crate::json::{from_yaml, text};
use crate::{messages, strict};

const API_VERSION: &str = "policy.open-cluster-management.io/v1";
const GROUP: &str = "policy.open-cluster-management.io/";

/// What is evaluated.
#[derive(Debug)]
pub(crate) struct Target {
    pub(crate) definition: Definition,
    /// What it is called among others.
    pub(crate) name: String,
}

/// The definition of an object, by its kind.
#[derive(Debug)]
pub(crate) enum Definition {
    ConfigurationPolicy(Box<ConfigurationPolicy>),
    ConstraintTemplate(Value),
    Constraint(Value),
}

/// What a policy file has.
#[derive(Debug, Default)]
pub(crate) struct Policies {
    pub(crate) targets: Vec<Target>,
    /// Lines for standard output.
    pub(crate) lines: Vec<String>,
    /// Lines for standard error.
    pub(crate) asides: Vec<String>,
    /// The CRDs among the documents.
    pub(crate) crds: Vec<Value>,
}

/// A text with policies.
#[derive(Debug)]
pub(crate) struct Source {
    /// The file of a folder; none for the only text.
    pub(crate) file: Option<PathBuf>,
    pub(crate) text: String,
}

/// A document, with the file of a folder that it is in.
type Placed<'s> = (Option<&'s Path>, Document<'s>);

fn filled(source: &Source) -> impl Iterator<Item = Placed<'_>> {
    let documents = documents(&source.text).into_iter();
    let filled = documents.filter(|document| !document.is_empty());
    filled.map(|document| (source.file.as_deref(), document))
}

/// Reads policy files.
pub(crate) fn read(sources: &[Source], caller: Caller) -> Result<Policies, String> {
    let all: Vec<Placed<'_>> = sources.iter().flat_map(filled).collect();
    match (all.as_slice(), caller) {
        ([], _) => Err(messages::EMPTY.to_owned()),
        ([(_, first), ..], Caller::Upstream) => one(from_yaml(first.text)?, caller),
        ([(_, only)], Caller::Reeve) => {
            let object = from_yaml(only.text)?;
            if object["kind"] == "List" || gatekeeper_kind(&object).is_some() {
                all_of(&all)
            } else {
                one(object, caller)
            }
        }
        (several, Caller::Reeve) => all_of(several),
    }
}

/// Reads an object that must be a policy.
fn one(object: Value, caller: Caller) -> Result<Policies, String> {
    let (api_version, kind) = (any_case(&object, "apiVersion"), any_case(&object, "kind"));
    if api_version != API_VERSION {
        return Err(messages::other_version(&api_version));
    }
    let mut policies = Policies::default();
    match kind.as_str() {
        "ConfigurationPolicy" => policies.targets.push(standalone(object)?),
        "Policy" => {
            let within = of_policy(object, caller)?;
            match caller {
                Caller::Reeve => {
                    policies.targets = within.targets;
                    policies.skip(&within.others);
                }
                Caller::Upstream => {
                    let more = within.targets.len() - 1;
                    policies.lines = vec![messages::IGNORED.to_owned(); more];
                    policies.targets = within.targets.into_iter().take(1).collect();
                }
            }
        }
        other => return Err(messages::other_kind(other)),
    }
    Ok(policies)
}

/// Reads all policies of several documents. What is none is named.
fn all_of(several: &[Placed<'_>]) -> Result<Policies, String> {
    let mut policies = Policies::default();
    let (mut present, mut sets, mut others) = (BTreeSet::new(), Vec::new(), Vec::new());
    for (file, document) in several {
        let at = |why: String| {
            let place = messages::place(*file, document.number, document.line);
            format!("{place}: {why}")
        };
        let object = from_yaml(document.text).map_err(at)?;
        for object in items(object) {
            let api_version = any_case(&object, "apiVersion");
            let kind = any_case(&object, "kind");
            let name = text(&object, "/metadata/name").to_owned();
            match (api_version.as_str(), kind.as_str()) {
                (API_VERSION, "ConfigurationPolicy") => {
                    policies.targets.push(standalone(object).map_err(at)?);
                }
                (API_VERSION, "Policy") => {
                    present.insert(name.clone());
                    match of_policy(object, Caller::Reeve) {
                        Ok(within) => {
                            policies.targets.extend(within.targets);
                            others.extend(within.others);
                        }
                        Err(why) if why == messages::NO_CONFIGURATION_POLICY => {
                            others.push(format!("Policy {name}"));
                        }
                        Err(why) => return Err(at(why)),
                    }
                }
                (version, "PolicySet") if version.starts_with(GROUP) => {
                    let named = object.pointer("/spec/policies").and_then(Value::as_array);
                    let named = named.into_iter().flatten().filter_map(Value::as_str);
                    sets.push((name, named.map(str::to_owned).collect::<Vec<_>>()));
                }
                (_, "CustomResourceDefinition") => policies.crds.push(object),
                _ => match gatekeeper_kind(&object) {
                    Some(of_kind) => policies.targets.push(Target {
                        definition: of_kind(object),
                        name: format!("{kind} {name}"),
                    }),
                    None => others.push(format!("{kind} {name}")),
                },
            }
        }
    }
    if policies.targets.is_empty() {
        return Err(messages::NOTHING_TO_EVALUATE.to_owned());
    }
    policies.skip(&others);
    for (set, named) in sets {
        let missing = named.into_iter().filter(|name| !present.contains(name));
        let missing: Vec<String> = missing.collect();
        if !missing.is_empty() {
            policies
                .asides
                .push(messages::missing_of_set(&set, &missing));
        }
    }
    Ok(policies)
}

impl Policies {
    /// Names what is not evaluated.
    pub(crate) fn skip(&mut self, others: &[String]) {
        if !others.is_empty() {
            self.asides.push(messages::skipped(others));
        }
    }
}

/// The items of a list, or the object itself; nothing of null.
fn items(mut object: Value) -> Vec<Value> {
    let is_list = object["kind"] == "List";
    match object.get_mut("items").map(Value::take) {
        Some(Value::Array(items)) if is_list => items,
        _ if object.is_null() => Vec::new(),
        taken => {
            if let (Some(items), Some(fields)) = (taken, object.as_object_mut()) {
                fields.insert("items".to_owned(), items);
            }
            vec![object]
        }
    }
}

/// A field of the type, whose key may be in any case.
fn any_case(object: &Value, key: &str) -> String {
    let fields = object.as_object().into_iter().flatten();
    let mut same = fields.filter(|(name, _)| name.eq_ignore_ascii_case(key));
    let found = same.next().and_then(|(_, value)| value.as_str());
    found.unwrap_or_default().to_owned()
}

fn standalone(object: Value) -> Result<Target, String> {
    let policy = configuration_policy(object)?;
    let name = policy.metadata.name.clone().unwrap_or_default();
    Ok(Target {
        definition: Definition::ConfigurationPolicy(Box::new(policy)),
        name: format!("ConfigurationPolicy {name}"),
    })
}

/// The templates of a Policy.
struct Within {
    targets: Vec<Target>,
    /// What is of another kind.
    others: Vec<String>,
}

/// What a document of Gatekeeper's kinds becomes; none for other kinds.
fn gatekeeper_kind(object: &Value) -> Option<fn(Value) -> Definition> {
    let api_version = any_case(object, "apiVersion");
    let (group, _) = split_api_version(&api_version);
    match (group, any_case(object, "kind").as_str()) {
        (TEMPLATE_GROUP, "ConstraintTemplate") => Some(Definition::ConstraintTemplate),
        (CONSTRAINT_GROUP, _) => Some(Definition::Constraint),
        _ => None,
    }
}

/// A policy informs: its constraints warn if it has a remediation action, as the add-on has it.
fn inform(definition: &mut Definition, policy: &Value) {
    let is_overridden = !text(policy, "/spec/remediationAction").is_empty();
    if let Definition::Constraint(object) = definition
        && is_overridden
        && let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut)
    {
        spec.insert("enforcementAction".to_owned(), WARN.into());
    }
}

fn of_policy(object: Value, caller: Caller) -> Result<Within, String> {
    let mut policy = strict::spelt("Policy", object)?;
    let owner = {
        let (namespace, name) = (
            text(&policy, "/metadata/namespace"),
            text(&policy, "/metadata/name"),
        );
        match namespace {
            "" => format!("Policy {name}"),
            namespace => format!("Policy {namespace}/{name}"),
        }
    };
    let templates = policy
        .pointer_mut("/spec/policy-templates")
        .map(Value::take);
    let templates = match templates {
        Some(Value::Array(templates)) if !templates.is_empty() => templates,
        Some(Value::Array(_) | Value::Null) | None => return Err(messages::NO_TEMPLATES.to_owned()),
        Some(_) => {
            return Err(messages::wrong_value(
                "spec.policy-templates",
                "expected a list",
            ));
        }
    };
    let mut within = Within {
        targets: Vec::new(),
        others: Vec::new(),
    };
    for mut template in templates {
        let definition = template.get_mut("objectDefinition").map(Value::take);
        let definition = definition.unwrap_or_default();
        let kind = any_case(&definition, "kind");
        let name = text(&definition, "/metadata/name").to_owned();
        if kind == "ConfigurationPolicy" && any_case(&definition, "apiVersion") == API_VERSION {
            within.targets.push(Target {
                definition: Definition::ConfigurationPolicy(Box::new(configuration_policy(
                    definition,
                )?)),
                name: format!("ConfigurationPolicy {name} of {owner}"),
            });
            continue;
        }
        let name = format!("{kind} {name} of {owner}");
        match gatekeeper_kind(&definition).filter(|_| caller == Caller::Reeve) {
            Some(of_kind) => {
                let mut definition = of_kind(definition);
                inform(&mut definition, &policy);
                within.targets.push(Target { definition, name });
            }
            None => within.others.push(name),
        }
    }
    if within.targets.is_empty() {
        return Err(messages::NO_CONFIGURATION_POLICY.to_owned());
    }
    Ok(within)
}

fn configuration_policy(object: Value) -> Result<ConfigurationPolicy, String> {
    let mut policy = strict::spelt("ConfigurationPolicy", object)?;
    let templates = policy.pointer_mut("/spec/object-templates");
    for template in templates
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
    {
        if let Some(fields) = template.as_object_mut() {
            complete(fields);
        }
    }
    let has_spec = policy.get("spec").is_some_and(|spec| !spec.is_null());
    if let (false, Some(fields)) = (has_spec, policy.as_object_mut()) {
        fields.insert("spec".to_owned(), Value::Object(Map::new()));
    }
    let mut policy: ConfigurationPolicy = strict::typed(policy)?;
    "inform".clone_into(&mut policy.spec.remediation_action);
    Ok(policy)
}

/// The fields that the CRD requires and upstream's decoder does not: the evaluation reports them.
fn complete(template: &mut Map<String, Value>) {
    let empty = || Value::String(String::new());
    template.entry("complianceType").or_insert_with(empty);
    template.entry("objectDefinition").or_insert(Value::Null);
}
