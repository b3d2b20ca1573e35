//! Resolves the hub templates in one desired replica. Rendering blocks, so it runs on a thread of its own.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kube::ResourceExt;
use reeve_api::Policy;
use reeve_api::names::{CLUSTER_GROUP, ENCRYPTION_IV_ANNOTATION, HUB_TEMPLATES_ERROR_ANNOTATION};
use reeve_api::policy::PolicyTemplate;
use reeve_go_compat::json as engine_json;
use reeve_go_compat::value::Value;
use reeve_template_reads::ReadCache;
use reeve_templates_engine::budget::{Budget, Exceeded, processor_time};
use reeve_templates_engine::detect;
use reeve_templates_engine::encryption::{
    Encryption, EncryptionError, Piece, TOKEN_PREFIX, pieces,
};
use reeve_templates_engine::language::{Delimiters, ExecCause};
use reeve_templates_engine::lookup::{ClusterScopedRule, Restrictions};
use reeve_templates_engine::resolver::{
    Config, Context, DerivedField, EncryptionConfig, Failed, IncompleteDelimiters, Input, Mode,
    Options, ResolveError, Resolved, Resolver,
};
use serde_json::{Value as Json, json};
use zeroize::Zeroizing;

use super::lookups::{HubLookups, ReadFailure};
use crate::index::Pair;
use crate::messages;

/// The delimiter that starts a hub template.
pub const START_DELIMITER: &str = "{{hub";
const STOP_DELIMITER: &str = "hub}}";
/// Only templates that name this variable get the labels, so that a change of labels re-renders no others.
const LABELS_VARIABLE: &str = "ManagedClusterLabels";

/// How much processor time all templates of a policy may use together for one cluster: five times that of one template.
const PROCESSOR_TIME: Duration = Duration::from_secs(10);

/// The field that holds a whole document of templates as text.
const RAW_TEMPLATES_POINTER: &str = "/spec/object-templates-raw";

/// The resolver of hub templates.
pub fn resolver() -> Result<Resolver, IncompleteDelimiters> {
    Resolver::new(Config {
        additional_indentation: 8,
        start_delimiter: START_DELIMITER.to_owned(),
        stop_delimiter: STOP_DELIMITER.to_owned(),
        ..Config::default()
    })
}

/// Whether a policy template has hub templates.
pub fn has_hub_templates(template: &PolicyTemplate) -> bool {
    contains(&template.object_definition, START_DELIMITER)
}

/// Whether any of a policy's templates needs the labels of the cluster.
pub fn needs_labels(policy: &Policy) -> bool {
    let mut templates = policy.spec.policy_templates.iter();
    templates.any(|template| {
        has_hub_templates(template) && contains(&template.object_definition, LABELS_VARIABLE)
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
        left: START_DELIMITER,
        right: STOP_DELIMITER,
    };
    detect::uses_encryption(definition, delimiters)
}

/// Whether any key or string of a document contains a text.
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

/// The key and vector that encrypt the values of one replica. It has no `Debug`, so that it cannot be logged.
#[derive(Clone)]
pub struct Cipher {
    /// The cluster's key.
    pub key: Zeroizing<Vec<u8>>,
    /// The replica's initialization vector, 16 bytes.
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

/// The input of rendering, apart from the policy.
pub struct RenderInput<'a> {
    /// The template resolver.
    pub resolver: &'a Resolver,
    /// Functions that fail when called.
    pub denied: &'a [String],
    /// The root policy's name and the cluster.
    pub pair: &'a Pair,
    /// The root policy.
    pub root: &'a Policy,
    /// The labels of the cluster, if there is such a cluster.
    pub labels: Option<&'a BTreeMap<String, String>>,
    /// Whether templates may read the policy's namespace only; with a service account its RBAC decides.
    pub restricted: bool,
    /// The cipher; `None` if no template needs encryption.
    pub cipher: Option<&'a Cipher>,
}

/// The result of rendering, apart from the policy.
#[derive(Debug, Default)]
pub struct RenderOutcome {
    /// The errors of the templates that were withheld, in the order of the templates.
    pub failures: Vec<String>,
    /// The worst read failure.
    pub worst_failure: Option<ReadFailure>,
    /// Whether values came from Secrets while there was no cipher.
    pub needs_cipher: bool,
}

/// Resolves every hub template in a desired replica. A template that cannot be resolved is withheld, and an annotation in its
/// place has the reason; the other templates are not affected.
pub fn render(
    task: &RenderInput<'_>,
    desired: &mut Policy,
    reads: &Rc<ReadCache<HubLookups>>,
) -> RenderOutcome {
    let context = context(task, desired);
    let mut outcome = RenderOutcome::default();
    let started = processor_time();
    for template in &mut desired.spec.policy_templates {
        if !has_hub_templates(template) {
            continue;
        }
        let spent = processor_time().saturating_sub(started);
        let definition = &template.object_definition;
        let resolved = budget_after(spent)
            .ok_or_else(|| messages::policy_computes_too_long(PROCESSOR_TIME))
            .and_then(|budget| {
                resolve_definition(task, definition, context.clone(), budget, reads)
            });
        match resolved {
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
    outcome.worst_failure = reads.lookups().worst_failure();
    if let Some(cipher) = task.cipher {
        let annotations = desired.annotations_mut();
        annotations.insert(ENCRYPTION_IV_ANNOTATION.to_owned(), cipher.encoded_vector());
    }
    outcome
}

/// What the next template of a policy may use, after its others have `spent` processor time; none if they have spent all.
fn budget_after(spent: Duration) -> Option<Budget> {
    let left = PROCESSOR_TIME
        .checked_sub(spent)
        .filter(|left| !left.is_zero())?;
    let budget = Budget::default();
    Some(Budget {
        processor_time: budget.processor_time.min(left),
        ..budget
    })
}

/// A resolved object definition.
struct ResolvedDefinition {
    definition: Json,
    needs_cipher: bool,
}

/// Resolves one object definition.
fn resolve_definition(
    task: &RenderInput<'_>,
    definition: &Json,
    context: Context,
    budget: Budget,
    reads: &Rc<ReadCache<HubLookups>>,
) -> Result<ResolvedDefinition, String> {
    let json = definition.to_string();
    if task.labels.is_none() && json.contains(LABELS_VARIABLE) {
        return Err(messages::managed_cluster_missing(&task.pair.cluster));
    }
    let options = Options {
        context,
        mode: Mode::Watch,
        restrictions: restrictions(task),
        denied_functions: task.denied,
        budget,
        encryption: task.cipher.map(|cipher| EncryptionConfig {
            key: &cipher.key,
            fallback_key: None,
            initialization_vector: &cipher.vector,
            encrypts: true,
            decrypts: false,
        }),
        ..Options::default()
    };
    let redact = |error: &ResolveError| reads.secrets().redact(&error_text(error));
    let prepared = task.resolver.prepare(Input::Json(json.as_bytes()), options);
    let prepared = prepared.map_err(|error| redact(&error))?;
    let resolved = reads.resolve(&prepared);
    let resolved = resolved.map_err(|failed| {
        if has_timed_out(&failed.error) {
            reads.lookups().record_failure(ReadFailure::TimedOut);
        }
        match error_without_secrets(&failed) {
            Some(error) => error,
            None => redact(&failed.error),
        }
    })?;
    let mut definition: Json =
        engine_json::tree(&resolved.json).map_err(|error| error.to_string())?;
    let exposed = exposed(&definition, &resolved);
    let has_unencrypted_raw_templates =
        has_unencrypted_raw(&definition, &resolved.sensitive_fields);
    let Some(cipher) = task.cipher else {
        // Rendered again with a key, the template may encrypt the value itself.
        let needs_cipher = has_unencrypted_raw_templates
            || !exposed.is_empty()
            || !resolved.derived_fields.is_empty();
        return Ok(ResolvedDefinition {
            definition,
            needs_cipher,
        });
    };
    if let Some(field) = unencryptable_field(&definition, &resolved, reads) {
        return Err(messages::exposed(
            &field.expression,
            reported_pointer(field),
        ));
    }
    if has_unencrypted_raw_templates {
        return Err(messages::EXPOSED_RAW.to_owned());
    }
    let encryption = cipher.encryption().map_err(|error| error.to_string())?;
    for pointer in exposed {
        if let Some(Json::String(text)) = definition.pointer_mut(&pointer) {
            *text = encryption.protect(decrypt_tokens(text, &encryption).as_bytes());
        }
    }
    if encrypts(&json) || contains(&definition, TOKEN_PREFIX) {
        let vector = cipher.encoded_vector();
        annotate(&mut definition, ENCRYPTION_IV_ANNOTATION, &vector);
    }
    Ok(ResolvedDefinition {
        definition,
        needs_cipher: false,
    })
}

/// Whether a render took longer than it may. How much it computed does not count: it would compute as much again.
fn has_timed_out(error: &ResolveError) -> bool {
    let ResolveError::Execute { source, .. } = error else {
        return false;
    };
    matches!(source.cause, Some(ExecCause::Limit(Exceeded::Time(_))))
}

/// Decrypts the encrypted parts of a text that is about to be encrypted as a whole: a cluster decrypts once.
fn decrypt_tokens(text: &str, encryption: &Encryption) -> Zeroizing<String> {
    let mut decrypted = Zeroizing::new(String::new());
    for piece in pieces(text) {
        match piece {
            Piece::Open(open) => decrypted.push_str(open),
            Piece::Token(token) => match encryption.decrypt(token) {
                Ok(plain) => decrypted.push_str(&plain),
                // It has the prefix of a token, but is none.
                Err(_) => decrypted.extend([TOKEN_PREFIX, token]),
            },
        }
    }
    decrypted
}

/// The first field with a value computed from a Secret that a cluster could not decrypt: any but a string within the spec.
fn unencryptable_field<'a>(
    definition: &Json,
    resolved: &'a Resolved,
    reads: &ReadCache<HubLookups>,
) -> Option<&'a DerivedField> {
    resolved.derived_fields.iter().find(|field| {
        if field.is_key {
            // The names of a Secret's fields are not secret.
            let name = field.pointer.rsplit('/').next().unwrap_or_default();
            let name = name.replace("~1", "/").replace("~0", "~");
            return !reads.is_secret_field(&name);
        }
        match definition.pointer(&field.pointer) {
            Some(Json::String(text)) => {
                !text.is_empty()
                    && (!field.pointer.starts_with("/spec/")
                        || field.pointer == RAW_TEMPLATES_POINTER)
            }
            Some(Json::Null | Json::Object(_) | Json::Array(_)) | None => false,
            Some(Json::Bool(_) | Json::Number(_)) => true,
        }
    })
}

/// The JSON pointer to show for a field; for a key that was computed from a Secret that of its parent map.
fn reported_pointer(field: &DerivedField) -> &str {
    let parent = field.pointer.rsplit_once('/').map(|(parent, _)| parent);
    parent.filter(|_| field.is_key).unwrap_or(&field.pointer)
}

/// The strings of a definition that rendering has to encrypt as a whole: they hold values from a Secret that the author did not
/// pass to `protect`. Only strings in places where a cluster decrypts them.
fn exposed(definition: &Json, resolved: &Resolved) -> Vec<String> {
    let is_derived = |pointer: &String| {
        let mut derived = resolved.derived_fields.iter();
        derived.any(|field| !field.is_key && field.pointer == *pointer)
    };
    let is_exposed = |pointer: &&String| {
        let text = definition.pointer(pointer).and_then(Json::as_str);
        pointer.starts_with("/spec/")
            && pointer.as_str() != RAW_TEMPLATES_POINTER
            && text.is_some_and(|text| {
                // A protected text that a condition on a Secret has only selected reveals nothing.
                !text.is_empty() && (is_derived(pointer) || !text.contains(TOKEN_PREFIX))
            })
    };
    let fields = resolved.sensitive_fields.iter();
    fields.filter(is_exposed).cloned().collect()
}

/// Whether `object-templates-raw` holds text of a Secret and nothing encrypted. It cannot be encrypted as a whole, because a
/// cluster decrypts into one line.
fn has_unencrypted_raw(definition: &Json, sensitive: &[String]) -> bool {
    let text = definition
        .pointer(RAW_TEMPLATES_POINTER)
        .and_then(Json::as_str);
    sensitive
        .iter()
        .any(|pointer| pointer == RAW_TEMPLATES_POINTER)
        && text.is_some_and(|text| !text.is_empty() && !text.contains(TOKEN_PREFIX))
}

/// The message that replaces an error that may quote a value computed from a Secret.
fn error_without_secrets(failed: &Failed) -> Option<String> {
    let place = match &failed.error {
        ResolveError::Execute { source, .. } => source.place.as_str(),
        _ => "",
    };
    let quotes = failed.quotes_secrets;
    quotes.then(|| messages::failed_on_a_secret(place))
}

/// The error message without the document, because unresolved templates must not leave the hub.
fn error_text(error: &ResolveError) -> String {
    match error {
        ResolveError::Parse { source, .. } => messages::unparsable(&source.to_string()),
        ResolveError::Execute { source, .. } => messages::unresolvable(&source.to_string()),
        other => other.to_string(),
    }
}

fn restrictions(task: &RenderInput<'_>) -> Restrictions {
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

fn context(task: &RenderInput<'_>, desired: &Policy) -> Context {
    let mut labels = task.root.labels().clone();
    if !labels.is_empty() {
        // Templates written for upstream may use the labels of the replica.
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

/// Replaces a template that could not be resolved by its name and kind, and the reason as an annotation: unresolved templates
/// never leave the hub.
pub fn withhold(template: &mut PolicyTemplate, reason: &str) {
    let current_vector = |pointer| {
        let text = template.text(pointer);
        text.filter(|text| !text.contains(START_DELIMITER))
    };
    let mut shell = json!({ "metadata": {} });
    if let Some(name) = current_vector("/metadata/name") {
        shell["metadata"]["name"] = json!(name);
    }
    for (pointer, field) in [("/apiVersion", "apiVersion"), ("/kind", "kind")] {
        if let Some(text) = current_vector(pointer) {
            shell[field] = json!(text);
        }
    }
    annotate(&mut shell, HUB_TEMPLATES_ERROR_ANNOTATION, reason);
    template.object_definition = shell;
}

/// Withholds every hub template of a policy for the same reason.
pub fn withhold_all(desired: &mut Policy, reason: &str) {
    let templates = desired.spec.policy_templates.iter_mut();
    for template in templates.filter(|template| has_hub_templates(template)) {
        withhold(template, reason);
    }
}

/// Sets an annotation on an object that may have no metadata.
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

    /// The output of a template for a policy with this metadata on a cluster with these labels.
    fn printed(labels: &Json, metadata: &Json, template: &str) -> Result<String, String> {
        let labels: BTreeMap<String, String> = serde_json::from_value(labels.clone()).unwrap();
        let root = Policy {
            metadata: serde_json::from_value(metadata.clone()).unwrap(),
            ..Policy::default()
        };
        let resolver = resolver().unwrap();
        let task = RenderInput {
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
    fn prop_194_templates_of_a_policy_share_its_processor_time() {
        let left = |spent| budget_after(spent).map(|budget| budget.processor_time);
        let of_one = Budget::default().processor_time;
        assert_eq!(left(Duration::ZERO), Some(of_one));
        assert_eq!(left(of_one), Some(of_one));
        let rest = Duration::from_millis(300);
        assert_eq!(left(PROCESSOR_TIME.saturating_sub(rest)), Some(rest));
        assert_eq!(left(PROCESSOR_TIME), None);
        assert_eq!(left(2 * PROCESSOR_TIME), None);
    }

    #[test]
    fn prop_194_only_renders_that_ran_out_of_time_are_tried_again() {
        let failure = |items: u32, budget: Budget| {
            let text = format!("{{{{hub range until {items} hub}}}}a{{{{hub end hub}}}}");
            let options = Options {
                budget,
                ..Options::default()
            };
            let prepared = resolver()
                .unwrap()
                .prepare(Input::Yaml(&text), options)
                .unwrap();
            let reads = Rc::new(Snapshot::new().complete());
            prepared.resolve(reads, &mut System).unwrap_err().error
        };
        assert!(!has_timed_out(&failure(1_000_000_000, Budget::default())));
        let no_processor_time = Budget {
            processor_time: Duration::ZERO,
            ..Budget::default()
        };
        assert!(!has_timed_out(&failure(100_000, no_processor_time)));
        let no_time = Budget {
            time: Duration::ZERO,
            ..Budget::default()
        };
        assert!(has_timed_out(&failure(100_000, no_time)));
    }

    #[test]
    fn labels_and_annotations_in_the_context_are_maps_of_strings() {
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
    fn encrypted_parts_of_a_text_are_decrypted_before_the_whole_is_encrypted() {
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
            assert_eq!(*decrypt_tokens(&text, &encryption), expected);
        }
        let whole = encryption.protect(decrypt_tokens(&token, &encryption).as_bytes());
        assert_eq!(whole, token, "an encrypted text stays the same");
    }
}
