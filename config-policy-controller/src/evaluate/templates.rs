//! Go templates in policies, resolved against the target cluster of the policy.
//!
//! The engine computes and never waits; here its reads become reads of the cluster, which are watched for the policy
//! like all others. A render may take long and its values stay on one thread, so it has a thread of its own.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use kube::core::GroupVersionKind;
use reeve_go_compat::json as engine_json;
use reeve_go_compat::value;
use reeve_runtime::discovery::{DiscoveryError, ServedKind};
use reeve_runtime::secrets::{self, Secrets};
use reeve_template_reads::{Lookups, ReadCache};
use reeve_templates_engine::encryption::{Encryption, EncryptionError, Piece, pieces};
use reeve_templates_engine::lookup::LookupError;
use reeve_templates_engine::resolver::{
    Context, EncryptionConfig, Failed, Input, Mode, Options, ResolveError, Resolver, SkipObject,
};
use serde_json::Value;

use crate::evaluate::cluster::{Cluster, ReadMode};
use crate::evaluate::diff::Sensitivity;
use crate::evaluate::encryption_keys::DecryptionKeys;
use crate::evaluate::spec::EvaluationError;
use crate::messages;
use crate::status::finding::Location;

/// The fields of `.` in a template: the object that the template is resolved for.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TemplateContext {
    /// The object's namespace, where it is known and the kind has namespaces.
    pub namespace: Option<String>,
    /// The object's name, where it is known.
    pub name: Option<String>,
    /// The object itself, where it exists.
    pub object: Option<Arc<Value>>,
}

/// A resolved document.
#[derive(Clone, PartialEq)]
pub struct Rendered {
    pub value: Value,
    /// Whether a Secret was read or a value decrypted, whether or not it shows.
    pub sensitivity: Sensitivity,
    /// The secret values that it was made of, and those in it that were computed from secrets.
    pub secrets: Secrets,
}

/// The result of resolving a document for one object.
#[derive(Clone)]
pub struct TemplateResult {
    /// The template called `skipObject`, which counts even if the template failed later.
    pub skipped: bool,
    pub result: Result<Rendered, TemplateError>,
}

/// Why a template could not be resolved, as the status reports it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// The Secret holds no valid AES key.
    #[error("{}", messages::INVALID_KEY)]
    Key,
    /// The annotation is no valid initialisation vector; only an edit of the policy fixes it.
    #[error("{}", messages::INVALID_VECTOR)]
    Vector,
    /// It reads a kind that cannot be watched, in a policy that is evaluated on change.
    #[error("{}", messages::unwatchable_template(.0))]
    Unwatchable(String),
    /// Anything else.
    #[error("{0}")]
    Other(String),
}

impl From<TemplateError> for EvaluationError {
    fn from(error: TemplateError) -> Self {
        let (reason, message) = (messages::TEMPLATE_ERROR, error.to_string());
        match error {
            // Only an edit of the policy changes its annotation.
            TemplateError::Vector => Self::permanent(reason, message),
            _ => Self::transient(reason, message),
        }
    }
}

/// Resolves the templates of one policy.
#[derive(Clone)]
pub struct Templates {
    /// Resolves templates.
    pub resolver: Arc<Resolver>,
    /// Functions that fail when called, besides the engine's own.
    pub denied: Arc<[String]>,
    /// What decrypts values, if the policy has encrypted ones.
    pub keys: Option<Arc<DecryptionKeys>>,
}

/// A document with templates, and the fields of `.` in them.
enum Document<'a> {
    /// The definition of an object.
    Definition(&'a [u8], &'a TemplateContext, &'a SkipObject),
    /// A text that is a list of object templates.
    Raw(&'a str),
    /// A value without an object that it is resolved for.
    Plain(&'a [u8]),
    /// A policy with templates about the hub.
    Policy(&'a [u8], &'a ManagedCluster),
}

/// This cluster as the hub knows it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ManagedCluster {
    pub name: String,
    /// The labels of its `ManagedCluster`.
    pub labels: BTreeMap<String, String>,
}

impl Default for Templates {
    /// Resolves templates without encrypted values.
    fn default() -> Self {
        Self {
            resolver: Arc::new(Resolver::default()),
            denied: Arc::default(),
            keys: None,
        }
    }
}

impl Templates {
    /// Resolves one definition for several objects.
    pub async fn resolve_each<C: Cluster>(
        &self,
        cluster: &C,
        definition: &Value,
        contexts: Vec<TemplateContext>,
    ) -> Vec<TemplateResult> {
        // A definition that was read from JSON can be written as JSON.
        let document = serde_json::to_vec(definition).unwrap_or_default();
        let (templates, at) = (self.clone(), cluster.clone());
        let work = move || {
            let reads = Rc::new(ReadCache::new(ClusterLookups(at)));
            let one = |frame: TemplateContext| {
                let skip = SkipObject::new();
                let document = Document::Definition(&document, &frame, &skip);
                let result = templates.resolve(&document, &reads);
                TemplateResult {
                    skipped: skip.is_marked(),
                    result,
                }
            };
            contexts.into_iter().map(one).collect()
        };
        cluster.run_blocking(work).await
    }

    /// Resolves a text that is a list of object templates.
    pub async fn resolve_raw<C: Cluster>(
        &self,
        cluster: &C,
        text: &str,
    ) -> Result<Rendered, TemplateError> {
        let (templates, at, text) = (self.clone(), cluster.clone(), text.to_owned());
        let work = move || {
            let reads = Rc::new(ReadCache::new(ClusterLookups(at)));
            templates.resolve(&Document::Raw(&text), &reads)
        };
        cluster.run_blocking(work).await
    }

    /// Resolves a value without an object that it is resolved for.
    pub async fn resolve_plain<C: Cluster>(
        &self,
        cluster: &C,
        value: &Value,
    ) -> Result<Rendered, TemplateError> {
        // A value that was read from JSON can be written as JSON.
        let json = serde_json::to_vec(value).unwrap_or_default();
        let (templates, at) = (self.clone(), cluster.clone());
        let work = move || {
            let reads = Rc::new(ReadCache::new(ClusterLookups(at)));
            templates.resolve(&Document::Plain(&json), &reads)
        };
        cluster.run_blocking(work).await
    }

    /// Resolves the hub templates of a policy. `cluster` is the hub.
    pub async fn resolve_policy<C: Cluster>(
        &self,
        cluster: &C,
        policy: Vec<u8>,
        member: ManagedCluster,
    ) -> Result<Rendered, TemplateError> {
        let (templates, at) = (self.clone(), cluster.clone());
        let work = move || {
            let reads = Rc::new(ReadCache::new(ClusterLookups(at)));
            templates.resolve(&Document::Policy(&policy, &member), &reads)
        };
        cluster.run_blocking(work).await
    }

    /// The values that are encrypted in a document.
    fn decrypted(&self, document: &Document<'_>) -> Secrets {
        let Some(keys) = &self.keys else {
            return Secrets::default();
        };
        let previous = keys.previous.as_ref().map(|key| key.as_slice());
        let Ok(encryption) = Encryption::new(&keys.key, previous, &keys.vector) else {
            return Secrets::default();
        };
        let text = match document {
            Document::Definition(json, ..) | Document::Plain(json) | Document::Policy(json, _) => {
                String::from_utf8_lossy(json)
            }
            Document::Raw(text) => Cow::Borrowed(*text),
        };
        let plain = pieces(&text).into_iter().filter_map(|piece| match piece {
            Piece::Open(_) => None,
            Piece::Token(token) => Some(encryption.decrypt(token).ok()?.to_string()),
        });
        plain.collect()
    }

    fn resolve<C: Cluster>(
        &self,
        document: &Document<'_>,
        reads: &Rc<ReadCache<ClusterLookups<C>>>,
    ) -> Result<Rendered, TemplateError> {
        let (input, context, functions) = match document {
            Document::Definition(json, frame, skip) => {
                let skip = ("skipObject".to_owned(), skip.function());
                (Input::Json(json), context(frame), vec![skip])
            }
            Document::Raw(text) => (Input::Yaml(text), Context::None, Vec::new()),
            Document::Plain(json) => (Input::Json(json), Context::None, Vec::new()),
            Document::Policy(json, member) => (Input::Json(json), member.context(), Vec::new()),
        };
        let mode = match reads.lookups().0.read_mode() {
            ReadMode::Watched => Mode::Watch,
            ReadMode::Polled => Mode::Plain,
        };
        let encryption = self.keys.as_ref().map(|keys| EncryptionConfig {
            key: &keys.key,
            fallback_key: keys.previous.as_ref().map(|key| key.as_slice()),
            initialization_vector: &keys.vector,
            encrypts: false,
            decrypts: true,
        });
        let options = Options {
            context,
            mode,
            functions,
            denied_functions: &self.denied,
            encryption,
            ..Options::default()
        };
        // Errors may quote decrypted values as well as values that were read.
        let decrypted = self.decrypted(document);
        let prepared = self.resolver.prepare(input, options);
        let prepared = prepared.map_err(|error| template_error(&error, &decrypted))?;
        let resolved = reads.resolve(&prepared);
        let secrets = reads.secrets().union(&decrypted);
        let resolved = resolved.map_err(|Failed { error, .. }| template_error(&error, &secrets))?;
        let value: Value = engine_json::tree(&resolved.json)
            .map_err(|error| TemplateError::Other(error.to_string()))?;
        let computed = secrets::at_pointers(&value, &resolved.sensitive_fields);
        Ok(Rendered {
            sensitivity: if resolved.has_sensitive_data {
                Sensitivity::Sensitive
            } else {
                Sensitivity::Plain
            },
            secrets: secrets.union(&computed.into_iter().collect()),
            value,
        })
    }
}

impl ManagedCluster {
    fn context(&self) -> Context {
        Context::new(
            "controllers.templateCtx",
            [
                ("ManagedClusterName", value::Value::str(&self.name)),
                (
                    "ManagedClusterLabels",
                    value::Value::string_map(&self.labels),
                ),
            ],
        )
    }
}

/// The fields depend on what is known of the object. Their order is visible in the error about a missing field.
fn context(frame: &TemplateContext) -> Context {
    let object = || match &frame.object {
        Some(object) => value::Value::from(&without_managed_fields(object)),
        None => value::Value::Map(value::Map::nil()),
    };
    let text = |text: &str| value::Value::str(text);
    match (&frame.name, &frame.namespace) {
        (Some(name), Some(namespace)) => Context::new(
            "struct { Object map[string]interface {}; ObjectNamespace string; ObjectName string }",
            [
                ("Object", object()),
                ("ObjectNamespace", text(namespace)),
                ("ObjectName", text(name)),
            ],
        ),
        (Some(name), None) => Context::new(
            "struct { Object map[string]interface {}; ObjectName string }",
            [("Object", object()), ("ObjectName", text(name))],
        ),
        (None, Some(namespace)) => Context::new(
            "struct { ObjectNamespace string }",
            [("ObjectNamespace", text(namespace))],
        ),
        (None, None) => Context::new::<&str>("struct {}", []),
    }
}

fn without_managed_fields(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
    object
}

/// The error without secret values in its text.
fn template_error(error: &ResolveError, secrets: &Secrets) -> TemplateError {
    let text = || secrets.redact(&error.to_string());
    match (error, error.lookup()) {
        (ResolveError::Encryption(EncryptionError::NoKey | EncryptionError::KeySize(_)), _) => {
            TemplateError::Key
        }
        (ResolveError::Encryption(EncryptionError::NoVector | EncryptionError::VectorSize), _) => {
            TemplateError::Vector
        }
        (_, Some(LookupError::Unwatchable(..))) => TemplateError::Unwatchable(text()),
        _ => TemplateError::Other(text()),
    }
}

/// A cluster as templates read it.
struct ClusterLookups<C>(C);

impl<C: Cluster> Lookups for ClusterLookups<C> {
    async fn kind(&self, kind: &GroupVersionKind) -> Result<ServedKind, DiscoveryError> {
        self.0.kind(kind).await
    }

    async fn get(
        &self,
        kind: &ServedKind,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Arc<Value>>, String> {
        let found = if kind.namespaced && namespace.is_empty() {
            self.0.find(kind, name).await
        } else {
            self.0.get(kind, &Location::new(namespace, name)).await
        };
        found.map_err(|error| error.text().to_owned())
    }

    async fn list(
        &self,
        kind: &ServedKind,
        namespace: &str,
        selector: &str,
    ) -> Result<Vec<Arc<Value>>, String> {
        let listed = self.0.list(kind, namespace, selector).await;
        listed.map_err(|error| error.text().to_owned())
    }

    fn wait<T>(&self, answer: impl Future<Output = T>) -> T {
        self.0.wait(answer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The type of a field as Go prints it, and whether it is nil.
    fn field(context: &Context, name: &str) -> (String, bool) {
        let Context::Struct(value::Value::Struct(fields)) = context else {
            panic!("no struct: {context:?}");
        };
        let field = fields.field(name).unwrap();
        (field.type_name().into_owned(), field.is_nil())
    }

    #[test]
    fn managed_cluster_labels_are_a_string_map_and_nil_when_empty() {
        let member = |labels: &[(&str, &str)]| {
            let labels = labels.iter();
            let member = ManagedCluster {
                name: "c1".to_owned(),
                labels: labels
                    .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
                    .collect(),
            };
            field(&member.context(), "ManagedClusterLabels")
        };
        let of_strings = || "map[string]string".to_owned();
        assert_eq!(member(&[("a", "b")]), (of_strings(), false));
        assert_eq!(member(&[]), (of_strings(), true));
    }

    #[test]
    fn missing_object_is_a_nil_map_in_context() {
        let frame = TemplateContext {
            name: Some("a".to_owned()),
            ..TemplateContext::default()
        };
        let (of, is_nil) = field(&context(&frame), "Object");
        assert_eq!((of.as_str(), is_nil), ("map[string]interface {}", true));
    }

    #[test]
    fn decrypted_values_are_redacted_from_errors() {
        let keys = DecryptionKeys {
            key: vec![7; 32].into(),
            previous: None,
            vector: vec![9; 16],
        };
        let encryption = Encryption::new(&keys.key, None, &keys.vector).unwrap();
        let text = format!("a: {}", encryption.protect(b"hunter2"));
        let templates = Templates {
            keys: Some(Arc::new(keys)),
            ..Templates::default()
        };
        let secrets = templates.decrypted(&Document::Raw(&text));
        assert_eq!(
            secrets.redact("parsing \"hunter2\""),
            "parsing \"[redacted]\""
        );
    }
}
