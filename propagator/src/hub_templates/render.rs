//! Resolves the hub templates in one desired replica. It computes and blocks: it runs on a thread of its own.

use std::collections::BTreeMap;
use std::rc::Rc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kube::ResourceExt;
use reeve_api::Policy;
use reeve_api::names::{CLUSTER_GROUP, ENCRYPTION_IV_ANNOTATION, HUB_TEMPLATES_ERROR_ANNOTATION};
use reeve_api::policy::PolicyTemplate;
use reeve_go_compat::json as engine_json;
use reeve_go_compat::value::Value;
use reeve_template_reads::ReadCache;
use reeve_templates_engine::detect;
use reeve_templates_engine::encryption::{
    Encryption, EncryptionError, Piece, TOKEN_PREFIX, pieces,
};
use reeve_templates_engine::language::Delimiters;
use reeve_templates_engine::lookup::{ClusterScopedRule, Restrictions};
use reeve_templates_engine::resolver::{
    Config, Context, DerivedField, EncryptionConfig, Failed, IncompleteDelimiters, Input, Mode,
    Options, ResolveError, Resolved, Resolver,
};
use serde_json::{Value as Json, json};
use zeroize::Zeroizing;

use super::lookups::{HubLookups, Trouble};
use crate::index::Pair;
use crate::messages;

/// What starts a hub template.
pub const START: &str = "{{hub";
const STOP: &str = "hub}}";
/// A template that does not name the labels does not get them, so that their changes do not concern it.
const LABELS: &str = "ManagedClusterLabels";

/// Where a template may have a whole document as its text.
const RAW: &str = "/spec/object-templates-raw";

/// The resolver of hub templates.
pub fn resolver() -> Result<Resolver, IncompleteDelimiters> {
    Resolver::new(Config {
        additional_indentation: 8,
        start_delimiter: START.to_owned(),
        stop_delimiter: STOP.to_owned(),
        ..Config::default()
    })
}

/// Whether a policy template has hub templates.
pub fn has_hub_templates(template: &PolicyTemplate) -> bool {
    contains(&template.object_definition, START)
}

/// Whether any of a policy's templates needs the labels of the cluster.
pub fn needs_labels(policy: &Policy) -> bool {
    let mut templates = policy.spec.policy_templates.iter();
    templates.any(|template| {
        has_hub_templates(template) && contains(&template.object_definition, LABELS)
    })
}

/// Whether any of a policy's templates may have something to encrypt.
pub fn needs_encryption(policy: &Policy) -> bool {
    let mut templates = policy.spec.policy_templates.iter();
    templates.any(|template| {
        has_hub_templates(template) && encrypts(&template.object_definition.to_string())
    })
}

fn encrypts(definition: &str) -> bool {
    let delimiters = Delimiters {
        left: START,
        right: STOP,
    };
    detect::uses_encryption(definition, delimiters)
}

/// Whether a text stands in any key or string of a document.
fn contains(document: &Json, text: &str) -> bool {
    match document {
        Json::String(string) => string.contains(text),
        Json::Array(items) => items.iter().any(|item| contains(item, text)),
        Json::Object(fields) => fields
            .iter()
            .any(|(key, value)| key.contains(text) || contains(value, text)),
        Json::Null | Json::Bool(_) | Json::Number(_) => false,
    }
}

/// What encrypts values for one replica. Nothing prints it.
#[derive(Clone)]
pub struct Cipher {
    /// The cluster's key.
    pub key: Zeroizing<Vec<u8>>,
    /// The replica's initialisation vector, 16 bytes.
    pub vector: Vec<u8>,
}

impl Cipher {
    fn encryption(&self) -> Result<Encryption, EncryptionError> {
        Encryption::new(&self.key, None, &self.vector)
    }

    fn encoded_vector(&self) -> String {
        STANDARD.encode(&self.vector)
    }
}

/// What templates are resolved with.
pub struct Task<'a> {
    /// Resolves templates.
    pub resolver: &'a Resolver,
    /// Functions that fail when called.
    pub denied: &'a [String],
    /// Whose replica it is.
    pub pair: &'a Pair,
    /// The root policy.
    pub root: &'a Policy,
    /// The labels of the cluster, if there is such a cluster.
    pub labels: Option<&'a BTreeMap<String, String>>,
    /// Whether only the policy's namespace may be read; not so in the name of a service account.
    pub restricted: bool,
    /// What encrypts; `None` if no template needs it.
    pub cipher: Option<&'a Cipher>,
}

/// What resolving came to, besides the policy.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Why templates were withheld, in their order.
    pub failures: Vec<String>,
    /// The worst trouble that reads had.
    pub trouble: Option<Trouble>,
    /// Whether values came from Secrets and there was nothing to encrypt them with.
    pub needs_cipher: bool,
}

/// Resolves every hub template in a desired replica. One that cannot be resolved is withheld, with the reason in its
/// place; the others are not touched by that.
pub fn render(task: &Task<'_>, desired: &mut Policy, reads: &Rc<ReadCache<HubLookups>>) -> Outcome {
    let context = context(task, desired);
    let mut outcome = Outcome::default();
    for template in &mut desired.spec.policy_templates {
        if !has_hub_templates(template) {
            continue;
        }
        match one(task, &template.object_definition, context.clone(), reads) {
            Ok(resolved) => {
                template.object_definition = resolved.definition;
                outcome.needs_cipher |= resolved.needs_cipher;
            }
            Err(error) => {
                withhold(template, &error);
                outcome.failures.push(error);
            }
        }
    }
    outcome.trouble = reads.lookups().trouble();
    if let Some(cipher) = task.cipher {
        let annotations = desired.annotations_mut();
        annotations.insert(ENCRYPTION_IV_ANNOTATION.to_owned(), cipher.encoded_vector());
    }
    outcome
}

/// A resolved definition.
struct One {
    definition: Json,
    needs_cipher: bool,
}

/// Resolves one definition.
fn one(
    task: &Task<'_>,
    definition: &Json,
    context: Context,
    reads: &Rc<ReadCache<HubLookups>>,
) -> Result<One, String> {
    let json = definition.to_string();
    if task.labels.is_none() && json.contains(LABELS) {
        return Err(messages::cluster_missing(&task.pair.cluster));
    }
    let options = Options {
        context,
        mode: Mode::Watch,
        restrictions: restrictions(task),
        denied_functions: task.denied,
        encryption: task.cipher.map(|cipher| EncryptionConfig {
            key: &cipher.key,
            fallback_key: None,
            initialization_vector: &cipher.vector,
            encrypts: true,
            decrypts: false,
        }),
        ..Options::default()
    };
    let told = |error: &ResolveError| reads.secrets().redact(&in_words(error));
    let prepared = task.resolver.prepare(Input::Json(json.as_bytes()), options);
    let prepared = prepared.map_err(|error| told(&error))?;
    let resolved = reads.resolve(&prepared);
    let resolved = resolved.map_err(|failed| match withheld(&failed) {
        Some(error) => error,
        None => told(&failed.error),
    })?;
    let mut definition: Json =
        engine_json::tree(&resolved.json).map_err(|error| error.to_string())?;
    let exposed = exposed(&definition, &resolved);
    let exposes_raw = is_exposed_raw(&definition, &resolved.sensitive_fields);
    let Some(cipher) = task.cipher else {
        // With a key, what reads a Secret may encrypt it itself.
        let needs_cipher =
            exposes_raw || !exposed.is_empty() || !resolved.derived_fields.is_empty();
        return Ok(One {
            definition,
            needs_cipher,
        });
    };
    if let Some(field) = unprotectable(&definition, &resolved, reads) {
        return Err(messages::exposed(&field.expression, shown(field)));
    }
    if exposes_raw {
        return Err(messages::EXPOSED_RAW.to_owned());
    }
    let encryption = cipher.encryption().map_err(|error| error.to_string())?;
    for pointer in exposed {
        if let Some(Json::String(text)) = definition.pointer_mut(&pointer) {
            *text = encryption.protect(opened(text, &encryption).as_bytes());
        }
    }
    if encrypts(&json) || contains(&definition, TOKEN_PREFIX) {
        let vector = cipher.encoded_vector();
        annotate(&mut definition, ENCRYPTION_IV_ANNOTATION, &vector);
    }
    Ok(One {
        definition,
        needs_cipher: false,
    })
}

/// A text that is to be protected as a whole, without the protection that parts of it have: a cluster decrypts once.
fn opened(text: &str, encryption: &Encryption) -> Zeroizing<String> {
    let mut opened = Zeroizing::new(String::new());
    for piece in pieces(text) {
        match piece {
            Piece::Open(open) => opened.push_str(open),
            Piece::Token(token) => match encryption.decrypt(token) {
                Ok(plain) => opened.push_str(&plain),
                // It only looks like one.
                Err(_) => opened.extend([TOKEN_PREFIX, token]),
            },
        }
    }
    opened
}

/// The first field that holds what was computed from a Secret and that a cluster could not decrypt: anything but a text
/// within the spec.
fn unprotectable<'a>(
    definition: &Json,
    resolved: &'a Resolved,
    reads: &ReadCache<HubLookups>,
) -> Option<&'a DerivedField> {
    resolved.derived_fields.iter().find(|field| {
        if field.is_key {
            // Fields of a Secret are copied with their names.
            let name = field.pointer.rsplit('/').next().unwrap_or_default();
            let name = name.replace("~1", "/").replace("~0", "~");
            return !reads.is_secret_field(&name);
        }
        match definition.pointer(&field.pointer) {
            Some(Json::String(text)) => {
                !text.is_empty() && (!field.pointer.starts_with("/spec/") || field.pointer == RAW)
            }
            Some(Json::Null | Json::Object(_) | Json::Array(_)) | None => false,
            Some(Json::Bool(_) | Json::Number(_)) => true,
        }
    })
}

/// Where a field is; of a key that was computed from a Secret the map that it is in.
fn shown(field: &DerivedField) -> &str {
    let parent = field.pointer.rsplit_once('/').map(|(parent, _)| parent);
    parent.filter(|_| field.is_key).unwrap_or(&field.pointer)
}

/// The texts of a definition that are to be encrypted as they are: what they hold came from a Secret, and its author forgot
/// to protect it, perhaps beside something protected. Texts only, and only where a cluster decrypts them.
fn exposed(definition: &Json, resolved: &Resolved) -> Vec<String> {
    let is_derived = |pointer: &String| {
        let mut derived = resolved.derived_fields.iter();
        derived.any(|field| !field.is_key && field.pointer == *pointer)
    };
    let is_exposed = |pointer: &&String| {
        let text = definition.pointer(pointer).and_then(Json::as_str);
        pointer.starts_with("/spec/")
            && pointer.as_str() != RAW
            && text.is_some_and(|text| {
                // What was only chosen by a condition on a Secret and is protected anyway gives nothing away.
                !text.is_empty() && (is_derived(pointer) || !text.contains(TOKEN_PREFIX))
            })
    };
    let fields = resolved.sensitive_fields.iter();
    fields.filter(is_exposed).cloned().collect()
}

/// Whether a document of templates holds the text of a Secret and nothing protected. It cannot be encrypted as a whole:
/// the cluster puts what it decrypts into one line.
fn is_exposed_raw(definition: &Json, sensitive: &[String]) -> bool {
    let text = definition.pointer(RAW).and_then(Json::as_str);
    sensitive.iter().any(|pointer| pointer == RAW)
        && text.is_some_and(|text| !text.is_empty() && !text.contains(TOKEN_PREFIX))
}

/// The error that takes the place of one that may quote what was computed from a Secret.
fn withheld(failed: &Failed) -> Option<String> {
    let place = match &failed.error {
        ResolveError::Execute { source, .. } => source.place.as_str(),
        _ => "",
    };
    let quotes = failed.quotes_secrets;
    quotes.then(|| messages::failed_on_a_secret(place))
}

/// The error without the document that it is about: raw templates do not leave the hub.
fn in_words(error: &ResolveError) -> String {
    match error {
        ResolveError::Parse { source, .. } => messages::unparsable(&source.to_string()),
        ResolveError::Execute { source, .. } => messages::unresolvable(&source.to_string()),
        other => other.to_string(),
    }
}

fn restrictions(task: &Task<'_>) -> Restrictions {
    if !task.restricted {
        return Restrictions::default();
    }
    Restrictions {
        namespace: task.pair.root.namespace.clone(),
        cluster_scoped: vec![ClusterScopedRule {
            group: CLUSTER_GROUP.to_owned(),
            kind: "ManagedCluster".to_owned(),
            name: task.pair.cluster.clone(),
        }],
    }
}

fn context(task: &Task<'_>, desired: &Policy) -> Context {
    let mut labels = task.root.labels().clone();
    if !labels.is_empty() {
        // Templates written for upstream may know the labels of the replica.
        labels.extend(desired.labels().clone());
    }
    let metadata = Value::dict([
        ("annotations", Value::string_map(task.root.annotations())),
        ("labels", Value::string_map(&labels)),
        ("name", Value::str(&task.pair.root.name)),
        ("namespace", Value::str(&task.pair.root.namespace)),
    ]);
    Context::new(
        "propagator.templateCtx",
        [
            ("ManagedClusterName", Value::str(&task.pair.cluster)),
            (
                "ManagedClusterLabels",
                Value::string_map(task.labels.into_iter().flatten()),
            ),
            ("PolicyMetadata", metadata),
        ],
    )
}

/// Raw hub templates never leave the hub: of such a template only its name goes out, with the reason why the rest does
/// not.
pub fn withhold(template: &mut PolicyTemplate, why: &str) {
    let kept = |pointer| {
        let text = template.text(pointer);
        text.filter(|text| !text.contains(START))
    };
    let mut shell = json!({ "metadata": {} });
    if let Some(name) = kept("/metadata/name") {
        shell["metadata"]["name"] = json!(name);
    }
    for (pointer, field) in [("/apiVersion", "apiVersion"), ("/kind", "kind")] {
        if let Some(text) = kept(pointer) {
            shell[field] = json!(text);
        }
    }
    annotate(&mut shell, HUB_TEMPLATES_ERROR_ANNOTATION, why);
    template.object_definition = shell;
}

/// Withholds every hub template of a policy for the same reason.
pub fn withhold_all(desired: &mut Policy, why: &str) {
    let templates = desired.spec.policy_templates.iter_mut();
    for template in templates.filter(|template| has_hub_templates(template)) {
        withhold(template, why);
    }
}

/// Sets an annotation of an object that may have no metadata.
fn annotate(object: &mut Json, name: &str, value: &str) {
    let Some(fields) = object.as_object_mut() else {
        return;
    };
    let mut at = fields;
    for field in ["metadata", "annotations"] {
        let inner = at.entry(field).or_insert_with(|| json!({}));
        if !inner.is_object() {
            *inner = json!({});
        }
        let Some(inner) = inner.as_object_mut() else {
            return;
        };
        at = inner;
    }
    at.insert(name.to_owned(), json!(value));
}

#[cfg(test)]
mod tests {
    use reeve_api::names::RootPolicyName;
    use reeve_templates_engine::ambient::System;
    use reeve_templates_engine::lookup::Snapshot;

    use super::*;

    /// What a template prints on the context of a replica of a policy with this metadata, on a cluster with these labels.
    fn printed(labels: &Json, metadata: &Json, template: &str) -> Result<String, String> {
        let labels: BTreeMap<String, String> = serde_json::from_value(labels.clone()).unwrap();
        let root = Policy {
            metadata: serde_json::from_value(metadata.clone()).unwrap(),
            ..Policy::default()
        };
        let resolver = resolver().unwrap();
        let task = Task {
            resolver: &resolver,
            denied: &[],
            pair: &Pair {
                root: RootPolicyName::new("policies", "p"),
                cluster: "c1".to_owned(),
            },
            root: &root,
            labels: Some(&labels),
            restricted: true,
            cipher: None,
        };
        let options = Options {
            context: context(&task, &root),
            ..Options::default()
        };
        let text = format!("{{{{hub {template} hub}}}}");
        let prepared = resolver.prepare(Input::Yaml(&text), options).unwrap();
        let reads = Rc::new(Snapshot::new().complete());
        let outcome = prepared.resolve(reads, &mut System);
        let outcome = outcome.map_err(|failed| failed.error.to_string())?;
        Ok(String::from_utf8(outcome.json).unwrap())
    }

    #[test]
    fn labels_and_annotations_in_a_context_are_maps_of_strings() {
        let metadata = json!({ "labels": { "team": "a" }, "annotations": { "note": "b" } });
        let maps = [
            ".ManagedClusterLabels",
            ".PolicyMetadata.labels",
            ".PolicyMetadata.annotations",
        ];
        for map in maps {
            let given = |template: &str| {
                let template = template.replace("MAP", map);
                printed(&json!({ "region": "eu" }), &metadata, &template)
            };
            assert_eq!(given(r#"index MAP "no""#).unwrap(), "null", "{map}");
            assert_eq!(given(r#"eq (index MAP "no") """#).unwrap(), "true", "{map}");
            let error = given(r#"hasKey MAP "no""#).unwrap_err();
            assert!(error.contains("got map[string]string"), "{map}: {error}");
            let none = |template: &str| {
                let template = template.replace("MAP", map);
                printed(&json!({}), &json!({}), &template)
            };
            assert_eq!(none("toJson MAP").unwrap(), "null", "{map}");
        }
    }

    #[test]
    fn what_is_protected_in_a_text_is_opened_before_the_whole_is_protected() {
        let encryption = Encryption::new(&[7; 32], None, &[9; 16]).unwrap();
        let token = encryption.protect(b"hunter2");
        let cases = [
            ("plain".to_owned(), "plain"),
            (token.clone(), "hunter2"),
            (format!("a {token}, {token} z"), "a hunter2, hunter2 z"),
            (
                "$ocm_encrypted:none of ours".to_owned(),
                "$ocm_encrypted:none of ours",
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(*opened(&text, &encryption), expected);
        }
        let whole = encryption.protect(opened(&token, &encryption).as_bytes());
        assert_eq!(whole, token, "one that is protected already stays as it is");
    }
}
