//! `gator test`: reviews objects by the templates and constraints beside them.

use std::io::Read;
use std::path::PathBuf;

use reeve_gatekeeper::Json;
use reeve_gatekeeper::client::{Client, Violation};
use reeve_gatekeeper::enforcement::{DENY, EnforcementPoint};
use reeve_gatekeeper::expansion::{Expansion, ExpansionTemplate};
use reeve_gatekeeper::matching::Source;
use reeve_gatekeeper::review::Review;
use reeve_gatekeeper::template::ConstraintTemplate;
use serde::Serialize;
use serde_json::json;

use crate::{Outcome, engines, messages, read};

pub const EXAMPLES: &str = "Examples:
  reeve gator test -f policies/ -f objects/            all templates, constraints and objects of two folders
  kustomize build | reeve gator test -f policies/ -o json

Exit codes: 0 nothing is denied, 1 something is, or it could not run.";

const TARGET: &str = "admission.k8s.gatekeeper.sh";

/// What is reviewed.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// A file or folder with templates, constraints and objects; those of standard input are added.
    #[arg(short = 'f', long, value_name = "PATH")]
    filename: Vec<PathBuf>,
    /// The form of the results; lines of text unless it is given.
    #[arg(short, long, default_value = "", value_name = "json|yaml")]
    output: String,
    /// Print only what is denied.
    #[arg(long)]
    deny_only: bool,
    /// Evaluate CEL where a template has it.
    #[arg(long, default_value_t = true, action = clap::ArgAction::Set, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "BOOL")]
    enable_k8s_native_validation: bool,
    /// An OCI image with policies: not read here.
    #[arg(short, long, value_name = "URL")]
    image: Vec<String>,
}

/// A violation as JSON and YAML have it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Finding {
    target: &'static str,
    #[serde(skip_serializing_if = "String::is_empty")]
    msg: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<Json>,
    #[serde(skip_serializing_if = "Json::is_null")]
    constraint: Json,
    #[serde(skip_serializing_if = "String::is_empty")]
    enforcement_action: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    scoped_actions: Vec<String>,
    violating_object: Json,
    trace: Option<String>,
}

impl Finding {
    fn is_denied(&self) -> bool {
        self.enforcement_action == DENY || self.scoped_actions.iter().any(|one| one == DENY)
    }

    fn line(&self) -> String {
        let object = &self.violating_object;
        let namespace = match read::namespace(object) {
            "" => String::new(),
            namespace => format!("{namespace}/"),
        };
        format!(
            "{}/{} {namespace}{}: [{}] Message: {}\n",
            object["apiVersion"].as_str().unwrap_or_default(),
            read::kind(object),
            read::name(object),
            quoted(read::name(&self.constraint)),
            quoted(&self.msg),
        )
    }
}

/// A text in quotes, as Go writes it.
fn quoted(text: &str) -> String {
    use reeve_go_compat::{printing, value::Value};
    let text = printing::sprintf(b"%q", &[Value::str(text)], usize::MAX);
    String::from_utf8_lossy(&text.unwrap_or_default()).into_owned()
}

pub fn run(args: &Args, input: Option<&mut dyn Read>) -> Outcome {
    if !args.image.is_empty() {
        return Outcome::failed(messages::images_unsupported());
    }
    let objects = match read::sources(&args.filename, input) {
        Ok(objects) if objects.is_empty() => return Outcome::failed(messages::NO_INPUT.to_owned()),
        Ok(objects) => objects,
        Err(error) => return Outcome::failed(messages::reading(&error)),
    };
    let mut findings = match review_all(&objects, args.enable_k8s_native_validation) {
        Ok(findings) => findings,
        Err(error) => return Outcome::failed(messages::auditing(&error)),
    };
    let is_denied = findings.iter().any(Finding::is_denied);
    if args.deny_only {
        findings.retain(Finding::is_denied);
    }
    match args.output.to_lowercase().as_str() {
        "json" => Outcome::of(to_json(&findings), is_denied),
        "yaml" => Outcome::of(to_yaml(&findings), is_denied),
        "" | "default" => {
            let lines: Vec<String> = findings.iter().map(Finding::line).collect();
            Outcome::of(lines.concat(), is_denied)
        }
        other => Outcome::failed(messages::unknown_format("output", other)),
    }
}

/// Adds the templates, the constraints and all objects as the inventory to a client.
pub fn fill(mut client: Client, objects: &[Json]) -> Result<Client, String> {
    for object in objects.iter().filter(|one| read::is_template(one)) {
        ConstraintTemplate::parse(object)
            .and_then(|template| client.add_template(template))
            .map_err(|error| messages::adding_named("template", read::name(object), &error))?;
    }
    for object in objects.iter().filter(|one| read::is_constraint(one)) {
        client
            .add_constraint(&read::with_float_parameters(object))
            .map_err(|error| messages::adding_named("constraint", read::name(object), &error))?;
    }
    for object in objects {
        client.set_object(object);
    }
    Ok(client)
}

pub fn expansion_of(objects: &[Json]) -> Result<Expansion, String> {
    let templates = objects.iter().filter(|one| read::is_expansion(one));
    let templates: Result<Vec<ExpansionTemplate>, _> =
        templates.map(ExpansionTemplate::parse).collect();
    Ok(Expansion::new(
        templates.map_err(|error| error.to_string())?,
    ))
}

fn review_all(objects: &[Json], has_cel: bool) -> Result<Vec<Finding>, String> {
    let client = fill(reeve_constraint_worker::client(engines(has_cel)), objects)?;
    let expansion = expansion_of(objects)?;
    let mut findings = Vec::new();
    for object in objects {
        let namespace = namespace_of(object, objects);
        let reviewing = |error| messages::reviewing(object, &error);
        let review = Review::of_object(object.clone()).map_err(reviewing)?;
        let review = review
            .with_namespace(namespace.clone())
            .with_source(Source::Original);
        let mut violations = client.review(&review, EnforcementPoint::Gator);
        let resultants = expansion.expand(object);
        let resultants =
            resultants.map_err(|error| messages::expanding(read::name(object), &error))?;
        for resultant in resultants {
            let review = Review::of_object(resultant.object.clone()).map_err(reviewing)?;
            let review = review
                .with_namespace(namespace.clone())
                .with_source(Source::Generated);
            let found = client.review(&review, EnforcementPoint::Gator);
            violations.extend(resultant.attribute(found));
        }
        let found = violations.into_iter();
        findings.extend(found.map(|violation| finding_of(violation, &client, object)));
    }
    let order = |one: &Finding| (one.enforcement_action.clone(), one.msg.clone());
    findings.sort_by_cached_key(order);
    Ok(findings)
}

/// The Namespace of an object: one of the objects, or `default`, which every cluster has. An object without a
/// namespace has an empty Namespace, so that constraints take it as one that has.
pub fn namespace_of(object: &Json, objects: &[Json]) -> Option<Json> {
    let name = read::namespace(object);
    let made =
        |metadata: Json| json!({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata});
    if name.is_empty() {
        return Some(made(json!({})));
    }
    let is_namespace = |one: &&Json| {
        read::kind(one) == "Namespace" && read::group(one).is_empty() && read::name(one) == name
    };
    let found = objects.iter().find(is_namespace).cloned();
    found.or_else(|| (name == "default").then(|| made(json!({"name": "default"}))))
}

fn finding_of(violation: Violation, client: &Client, object: &Json) -> Finding {
    let constraint = client.constraint(&violation.constraint);
    let metadata = (!violation.details.is_null()).then(|| json!({"details": violation.details}));
    Finding {
        target: TARGET,
        msg: violation.message,
        metadata,
        constraint: constraint.map_or(Json::Null, |one| with_action(&one.object)),
        enforcement_action: violation.enforcement_action,
        scoped_actions: violation.scoped_actions,
        violating_object: object.clone(),
        trace: None,
    }
}

/// The constraint with the default of its action.
fn with_action(constraint: &Json) -> Json {
    let mut constraint = constraint.clone();
    // Indexing would write a null where there is no spec.
    if let Some(spec) = constraint.get_mut("spec").and_then(Json::as_object_mut) {
        spec.entry("enforcementAction")
            .or_insert_with(|| json!(DENY));
    }
    constraint
}

/// JSON with an indentation of four, and with the signs of HTML escaped, as Go writes it.
pub fn to_json<T: Serialize>(values: &[T]) -> String {
    if values.is_empty() {
        return "null".to_owned();
    }
    pretty(&values)
}

pub fn pretty<T: Serialize>(value: &T) -> String {
    let mut bytes = Vec::new();
    let formatter = serde_json::ser::PrettyFormatter::with_indent(b"    ");
    let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, formatter);
    // Writing to memory does not fail, and all keys are texts.
    let _ = value.serialize(&mut serializer);
    let text = String::from_utf8_lossy(&bytes);
    text.replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
}

/// The fields as Gatekeeper names them in YAML.
fn to_yaml(findings: &[Finding]) -> String {
    let found = findings.iter().map(|one| {
        json!({
            "result": {
                "target": one.target,
                "msg": one.msg,
                "metadata": one.metadata.clone().unwrap_or_else(|| json!({})),
                "constraint": {"object": one.constraint},
                "enforcementaction": one.enforcement_action,
                "scopedenforcementactions": one.scoped_actions,
            },
            "violatingObject": one.violating_object,
            "trace": one.trace,
        })
    });
    yaml_of(&Json::Array(found.collect()))
}

/// YAML with sorted keys.
pub fn yaml_of(value: &Json) -> String {
    let encoded = reeve_go_compat::yaml::encode_sigs(value).unwrap_or_default();
    String::from_utf8_lossy(&encoded).into_owned()
}
