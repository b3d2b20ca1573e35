//! Which lists merge, and by which keys: those of the Kubernetes 1.21 schema that kustomize brings, or those of a file.

use std::path::Path;
use std::rc::Rc;

use reeve_go_compat::json::{self, Escape};
use reeve_go_compat::yaml;
use serde_json::Value as Json;

use crate::error::Error;
use crate::messages;

/// How the elements of a list find those that they change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Merging {
    /// By the values of these fields.
    Keys(Vec<String>),
    /// Values are added that are not there.
    Values,
}

/// The schema of all kinds.
pub struct Schema(Source);

#[derive(Clone)]
enum Source {
    Builtin,
    File(Rc<Json>),
}

/// The schema of a place in an object.
pub enum Node {
    /// Nothing is known: lists replace.
    Unknown,
    /// A type of Kubernetes.
    Builtin(Type),
    /// A definition in a file.
    File(Rc<Json>, Json),
}

/// The types that have lists that merge, or lead to some.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// Nothing below it merges.
    Other,
    /// An object of Kubernetes of which only the metadata merges.
    Object,
    Metadata,
    Workload,
    WorkloadSpec,
    CronJob,
    CronJobSpec,
    JobTemplate,
    PodTemplateObject,
    PodTemplate,
    Pod,
    PodSpec,
    Container,
    Service,
    ServiceSpec,
    ServiceAccount,
    Webhooks,
    Node,
    NodeSpec,
    CsiNode,
    CsiNodeSpec,
    WithStatus,
    Status,
    ComponentStatus,
}

impl Schema {
    /// The schema of Kubernetes.
    pub fn builtin() -> Self {
        Self(Source::Builtin)
    }

    /// A swagger file in JSON or YAML, which replaces the schema of Kubernetes.
    pub fn read(path: &str, at: &Path) -> Result<Self, Error> {
        let text = std::fs::read(at).map_err(|error| {
            Error::new(messages::unreadable_schema(path, &messages::io(&error)))
        })?;
        let invalid =
            |error: &dyn std::fmt::Display| Error::new(messages::invalid_schema(path, error));
        let value = yaml::decode(&text).map_err(|error| invalid(&error))?;
        let text = json::encode(&value, Escape::None).map_err(|error| invalid(&error))?;
        let json = serde_json::from_slice(&text).map_err(|error| invalid(&error))?;
        Ok(Self(Source::File(Rc::new(json))))
    }

    /// The schema of a kind.
    pub fn of(&self, api_version: &str, kind: &str) -> Node {
        match &self.0 {
            Source::Builtin => Node::Builtin(root(api_version, kind)),
            Source::File(file) => match definition(file, api_version, kind) {
                Some(definition) => Node::File(Rc::clone(file), definition),
                None => Node::Unknown,
            },
        }
    }
}

impl Node {
    /// The schema of a field, or of the elements of the list that it has, and how that list merges.
    pub fn field(&self, name: &str) -> (Self, Option<Merging>) {
        match self {
            Self::Unknown => (Self::Unknown, None),
            Self::Builtin(of) => {
                let (of, keys) = field(*of, name);
                let merging = match keys {
                    Keys::None => None,
                    Keys::Values => Some(Merging::Values),
                    Keys::Named(keys) => Some(Merging::Keys(
                        keys.iter().map(|key| (*key).to_owned()).collect(),
                    )),
                };
                (Self::Builtin(of), merging)
            }
            Self::File(file, definition) => {
                let property = definition
                    .get("properties")
                    .and_then(|properties| properties.get(name))
                    .or_else(|| definition.get("additionalProperties"));
                match property {
                    Some(property) => of_property(file, property),
                    None => (Self::Unknown, None),
                }
            }
        }
    }
}

fn of_property(file: &Rc<Json>, property: &Json) -> (Node, Option<Merging>) {
    let resolved = resolve(file, property);
    let merging = merging(property).or_else(|| merging(&resolved));
    let node = match resolved.get("items") {
        Some(items) => resolve(file, items),
        None => resolved,
    };
    (Node::File(Rc::clone(file), node), merging)
}

fn merging(property: &Json) -> Option<Merging> {
    let strategy = property.get("x-kubernetes-patch-strategy")?.as_str()?;
    if !strategy.split(',').any(|word| word == "merge") {
        return None;
    }
    let text = |value: &Json| value.as_str().map(str::to_owned);
    let several = property
        .get("x-kubernetes-list-map-keys")
        .and_then(Json::as_array)
        .map(|keys| keys.iter().filter_map(text).collect::<Vec<_>>());
    let single = property.get("x-kubernetes-patch-merge-key").and_then(text);
    Some(match (several, single) {
        (Some(keys), _) if !keys.is_empty() => Merging::Keys(keys),
        (_, Some(key)) => Merging::Keys(vec![key]),
        _ => Merging::Values,
    })
}

/// What a reference leads to. References to references are followed a few times: a schema may refer to itself.
fn resolve(file: &Json, definition: &Json) -> Json {
    const MAX_REFERENCES: usize = 16;
    let mut definition = definition;
    for _ in 0..MAX_REFERENCES {
        let target = definition
            .get("$ref")
            .and_then(Json::as_str)
            .and_then(|reference| file.pointer(reference.strip_prefix('#')?));
        match target {
            Some(target) => definition = target,
            None => break,
        }
    }
    definition.clone()
}

fn definition(file: &Json, api_version: &str, kind: &str) -> Option<Json> {
    let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
    let text = |entry: &Json, field: &str| {
        let value = entry.get(field).and_then(Json::as_str);
        value.unwrap_or_default().to_owned()
    };
    let is_kind = |entry: &Json| {
        text(entry, "group") == group
            && text(entry, "version") == version
            && text(entry, "kind") == kind
    };
    let definitions = file.get("definitions")?.as_object()?;
    let found = definitions.values().find(|definition| {
        let kinds = definition.get("x-kubernetes-group-version-kind");
        kinds
            .and_then(Json::as_array)
            .is_some_and(|kinds| kinds.iter().any(is_kind))
    })?;
    Some(found.clone())
}

enum Keys {
    None,
    Values,
    Named(&'static [&'static str]),
}

fn root(api_version: &str, kind: &str) -> Type {
    match (api_version, kind) {
        ("apps/v1", "Deployment" | "ReplicaSet" | "StatefulSet" | "DaemonSet")
        | ("batch/v1", "Job")
        | ("v1", "ReplicationController") => Type::Workload,
        ("batch/v1" | "batch/v1beta1", "CronJob") => Type::CronJob,
        ("v1", "Pod") => Type::Pod,
        ("v1", "PodTemplate") => Type::PodTemplateObject,
        ("v1", "Service") => Type::Service,
        ("v1", "ServiceAccount") => Type::ServiceAccount,
        ("v1", "Node") => Type::Node,
        ("v1", "ComponentStatus") => Type::ComponentStatus,
        ("storage.k8s.io/v1" | "storage.k8s.io/v1beta1", "CSINode") => Type::CsiNode,
        (
            "admissionregistration.k8s.io/v1" | "admissionregistration.k8s.io/v1beta1",
            "ValidatingWebhookConfiguration" | "MutatingWebhookConfiguration",
        ) => Type::Webhooks,
        ("v1", "Namespace" | "PersistentVolumeClaim")
        | ("policy/v1" | "policy/v1beta1", "PodDisruptionBudget")
        | ("apiregistration.k8s.io/v1" | "apiregistration.k8s.io/v1beta1", "APIService")
        | ("flowcontrol.apiserver.k8s.io/v1beta1", "FlowSchema" | "PriorityLevelConfiguration") => {
            Type::WithStatus
        }
        _ => {
            let group = api_version.rsplit_once('/').map_or("", |(group, _)| group);
            if !group.contains('.') || group.ends_with(".k8s.io") {
                Type::Object
            } else {
                Type::Other
            }
        }
    }
}

fn field(of: Type, name: &str) -> (Type, Keys) {
    match (of, name) {
        (Type::Metadata, "ownerReferences") => (Type::Other, Keys::Named(&["uid"])),
        (Type::Metadata, "finalizers") | (Type::NodeSpec, "podCIDRs") => {
            (Type::Other, Keys::Values)
        }
        (
            Type::Object
            | Type::Workload
            | Type::CronJob
            | Type::JobTemplate
            | Type::PodTemplateObject
            | Type::PodTemplate
            | Type::Pod
            | Type::Service
            | Type::ServiceAccount
            | Type::Webhooks
            | Type::Node
            | Type::CsiNode
            | Type::WithStatus
            | Type::ComponentStatus,
            "metadata",
        ) => (Type::Metadata, Keys::None),
        (Type::Workload | Type::JobTemplate, "spec") => (Type::WorkloadSpec, Keys::None),
        (Type::CronJob, "spec") => (Type::CronJobSpec, Keys::None),
        (Type::CronJobSpec, "jobTemplate") => (Type::JobTemplate, Keys::None),
        (Type::WorkloadSpec | Type::PodTemplateObject, "template") => {
            (Type::PodTemplate, Keys::None)
        }
        (Type::Pod | Type::PodTemplate, "spec") => (Type::PodSpec, Keys::None),
        (Type::Service, "spec") => (Type::ServiceSpec, Keys::None),
        (Type::Node, "spec") => (Type::NodeSpec, Keys::None),
        (Type::CsiNode, "spec") => (Type::CsiNodeSpec, Keys::None),
        (Type::Workload | Type::Pod | Type::Service | Type::Node | Type::WithStatus, "status") => {
            (Type::Status, Keys::None)
        }
        (Type::PodSpec, "containers" | "initContainers" | "ephemeralContainers") => {
            (Type::Container, Keys::Named(&["name"]))
        }
        (Type::PodSpec, "imagePullSecrets" | "volumes")
        | (Type::ServiceAccount, "secrets" | "imagePullSecrets")
        | (Type::Container, "env")
        | (Type::Webhooks, "webhooks")
        | (Type::CsiNodeSpec, "drivers") => (Type::Other, Keys::Named(&["name"])),
        (Type::PodSpec, "hostAliases") | (Type::Status, "podIPs") => {
            (Type::Other, Keys::Named(&["ip"]))
        }
        (Type::PodSpec, "topologySpreadConstraints") => (
            Type::Other,
            Keys::Named(&["topologyKey", "whenUnsatisfiable"]),
        ),
        (Type::Container, "volumeMounts") => (Type::Other, Keys::Named(&["mountPath"])),
        (Type::Container, "volumeDevices") => (Type::Other, Keys::Named(&["devicePath"])),
        (Type::Container, "ports") => (Type::Other, Keys::Named(&["containerPort", "protocol"])),
        (Type::ServiceSpec, "ports") => (Type::Other, Keys::Named(&["port", "protocol"])),
        (Type::Status, "conditions" | "addresses") | (Type::ComponentStatus, "conditions") => {
            (Type::Other, Keys::Named(&["type"]))
        }
        _ => (Type::Other, Keys::None),
    }
}
