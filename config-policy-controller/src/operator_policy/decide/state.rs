//! The state of one part of an operator, and the steps that lead to it. Pure.

use kube::core::GroupVersionKind;
use reeve_api::configuration_policy::{ObjectReference, ObjectReferenceMetadata};
use reeve_api::operator_policy::{OperatorObjectProperties, RelatedOperatorObject};
use serde_json::Value;

use super::object::{Object, location};
use crate::evaluate::cluster::text;
use crate::messages::operator as messages;
use crate::messages::operator::Named;

/// A part of the operator, or of the policy, that has a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    Spec,
    OperatorGroup,
    Subscription,
    InstallPlan,
    Csv,
    Crd,
    Deployment,
    CatalogSource,
    Deprecations,
    MinorChannel,
}

impl Part {
    /// The type of its condition.
    pub fn condition_type(self) -> &'static str {
        match self {
            Self::Spec => "ValidPolicySpec",
            Self::OperatorGroup => "OperatorGroupCompliant",
            Self::Subscription => "SubscriptionCompliant",
            Self::InstallPlan => "InstallPlanCompliant",
            Self::Csv => "ClusterServiceVersionCompliant",
            Self::Crd => "CustomResourceDefinitionCompliant",
            Self::Deployment => "DeploymentCompliant",
            Self::CatalogSource => "CatalogSourcesUnhealthy",
            Self::Deprecations => "NoDeprecations",
            Self::MinorChannel => "MinorChannelUpgradeAvailable",
        }
    }

    /// The kind of its objects, in messages and related objects; empty for parts without objects.
    pub fn kind(self) -> &'static str {
        match self {
            Self::OperatorGroup => "OperatorGroup",
            Self::Subscription => "Subscription",
            Self::InstallPlan => "InstallPlan",
            Self::Csv => "ClusterServiceVersion",
            Self::Crd => "CustomResourceDefinition",
            Self::Deployment => "Deployment",
            Self::CatalogSource => "CatalogSource",
            Self::Spec | Self::Deprecations | Self::MinorChannel => "",
        }
    }

    /// The kind of its objects on the cluster.
    pub fn gvk(self) -> GroupVersionKind {
        let (group, version) = match self {
            Self::OperatorGroup => ("operators.coreos.com", "v1"),
            Self::Crd => ("apiextensions.k8s.io", "v1"),
            Self::Deployment => ("apps", "v1"),
            _ => ("operators.coreos.com", "v1alpha1"),
        };
        GroupVersionKind::gvk(group, version, self.kind())
    }

    /// The `apiVersion` of its objects.
    pub fn api_version(self) -> String {
        self.gvk().api_version()
    }

    /// The condition with a generic reason, `<kind><suffix>`.
    fn generic(self, status: Truth, suffix: &str, message: String) -> Condition {
        Condition::new(self, status, &format!("{}{suffix}", self.kind()), message)
    }

    pub fn undetermined(self) -> Condition {
        let message = messages::undetermined(self.kind());
        Condition::new(self, Truth::Unknown, messages::INVALID_POLICY_SPEC, message)
    }

    pub fn missing(self) -> Condition {
        let message = messages::missing(self.kind());
        self.generic(Truth::False, messages::MISSING, message)
    }

    pub fn not_present(self) -> Condition {
        let message = messages::not_present(self.kind());
        self.generic(Truth::True, messages::NOT_PRESENT, message)
    }

    pub fn created(self) -> Condition {
        let message = messages::created(self.kind());
        self.generic(Truth::True, messages::CREATED, message)
    }

    pub fn kept(self) -> Condition {
        let message = messages::kept(self.kind());
        self.generic(Truth::True, messages::KEPT, message)
    }

    pub fn matches(self) -> Condition {
        let message = messages::matches(self.kind());
        self.generic(Truth::True, messages::MATCHES, message)
    }

    pub fn mismatch(self) -> Condition {
        let message = messages::mismatch(self.kind());
        self.generic(Truth::False, messages::MISMATCH, message)
    }

    /// The update is refused by the cluster's access rules.
    pub fn mismatch_forbidden(self) -> Condition {
        let message = messages::mismatch_forbidden(self.kind());
        self.generic(Truth::False, messages::MISMATCH, message)
    }

    pub fn updated(self) -> Condition {
        let message = messages::updated(self.kind());
        self.generic(Truth::True, messages::UPDATED, message)
    }

    pub fn present(self, names: &[&str]) -> Condition {
        let message = messages::present(&self.named(names));
        self.generic(Truth::False, messages::PRESENT, message)
    }

    pub fn deleted(self, names: &[&str]) -> Condition {
        let message = messages::deleted(&self.named(names));
        self.generic(Truth::True, messages::DELETED, message)
    }

    pub fn deleting(self, names: &[&str]) -> Condition {
        let message = messages::deleting(&self.named(names));
        self.generic(Truth::False, messages::DELETING, message)
    }

    pub fn not_applicable(self) -> Condition {
        let message = messages::not_applicable(self.kind());
        self.generic(self.good(), messages::NOT_APPLICABLE, message)
    }

    pub fn installed_elsewhere(self, namespace: &str) -> Condition {
        let message = messages::installed_elsewhere(namespace);
        Condition::new(self, self.good(), messages::EXISTING_INSTALLATION, message)
    }

    /// The status of its condition when all is well.
    pub fn good(self) -> Truth {
        match self {
            Self::CatalogSource => Truth::False,
            _ => Truth::True,
        }
    }

    /// Only messages about `ClusterServiceVersions` have names.
    fn named<'a>(self, names: &[&'a str]) -> Named<'a> {
        Named {
            kind: self.kind(),
            names: (self == Self::Csv).then(|| names.to_vec()),
        }
    }
}

/// The status of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Truth {
    True,
    False,
    Unknown,
}

impl Truth {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::True => "True",
            Self::False => "False",
            Self::Unknown => "Unknown",
        }
    }

    pub fn of(is_true: bool) -> Self {
        if is_true { Self::True } else { Self::False }
    }
}

/// A condition to be set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    pub part: Part,
    pub status: Truth,
    pub reason: String,
    pub message: String,
    /// When it became so, as another controller reports it; `None` is now.
    pub since: Option<String>,
}

impl Condition {
    pub fn new(part: Part, status: Truth, reason: &str, message: impl Into<String>) -> Self {
        Self {
            part,
            status,
            reason: reason.to_owned(),
            message: message.into(),
            since: None,
        }
    }

    /// A condition with a fixed reason and message.
    pub fn fixed(part: Part, status: Truth, (reason, message): (&str, &str)) -> Self {
        Self::new(part, status, reason, message)
    }
}

/// The related objects of a part.
#[derive(Clone, Debug, PartialEq)]
pub enum Related {
    /// Those of before are kept.
    Keep,
    /// These take their place.
    Set(Vec<RelatedOperatorObject>),
}

impl From<RelatedOperatorObject> for Related {
    fn from(one: RelatedOperatorObject) -> Self {
        Self::Set(vec![one])
    }
}

impl From<Vec<RelatedOperatorObject>> for Related {
    fn from(objects: Vec<RelatedOperatorObject>) -> Self {
        Self::Set(objects)
    }
}

/// What is known about one part.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    pub condition: Condition,
    pub related: Related,
}

impl State {
    pub fn new(condition: Condition, related: impl Into<Related>) -> Self {
        Self {
            condition,
            related: related.into(),
        }
    }
}

/// A write to the target cluster.
#[derive(Clone, Debug, PartialEq)]
pub enum Write {
    /// Creates the object, and its namespace if that is missing.
    Create(Value),
    /// Replaces the object; it has the resource version that was read.
    Replace(Value),
    /// Replaces the status of the object; it has the resource version that was read.
    ReplaceStatus(Value),
    /// Deletes the object that was read, and no other of its name.
    Delete(Object),
}

/// One step of a reconcile: a state, and the writes that lead from it to another.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    pub part: Part,
    /// The state before the writes; the final state if there are none, or if the policy only informs.
    pub before: Option<State>,
    pub writes: Vec<Write>,
    /// The state once all writes have succeeded.
    pub after: Option<State>,
    /// The parts whose writes must not have failed. Otherwise this step does not write.
    pub needs: Vec<Part>,
    pub interim: Interim,
}

/// Whether the state before the writes of a step is reported when it is new.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interim {
    /// By an event and in the history.
    Reported,
    /// Only if a write fails.
    Silent,
}

impl Step {
    /// A state without writes.
    pub fn settled(state: State) -> Self {
        Self {
            part: state.condition.part,
            before: Some(state),
            writes: Vec::new(),
            after: None,
            needs: Vec::new(),
            interim: Interim::Reported,
        }
    }

    /// A state that writes change.
    pub fn change(before: State, writes: Vec<Write>, after: State) -> Self {
        Self {
            part: before.condition.part,
            before: Some(before),
            writes,
            after: Some(after),
            needs: Vec::new(),
            interim: Interim::Reported,
        }
    }

    /// The same step, without a report of the state before.
    #[must_use]
    pub fn silent(self) -> Self {
        Self {
            interim: Interim::Silent,
            ..self
        }
    }

    /// The same step, only if the writes of these parts did not fail.
    #[must_use]
    pub fn needs(mut self, parts: &[Part]) -> Self {
        self.needs.extend_from_slice(parts);
        self
    }
}

/// A related object of a part.
pub fn related(
    part: Part,
    (name, namespace): (&str, &str),
    compliant: Option<&str>,
    reason: impl Into<String>,
) -> RelatedOperatorObject {
    let name = if name.is_empty() { "-" } else { name };
    RelatedOperatorObject {
        compliant: compliant.map(str::to_owned),
        object: Some(ObjectReference {
            api_version: Some(part.api_version()),
            kind: Some(part.kind().to_owned()),
            metadata: Some(ObjectReferenceMetadata {
                name: Some(name.to_owned()),
                namespace: Some(namespace.to_owned()).filter(|namespace| !namespace.is_empty()),
            }),
        }),
        properties: None,
        reason: Some(reason.into()),
    }
}

pub const COMPLIANT: Option<&str> = Some("Compliant");
pub const NON_COMPLIANT: Option<&str> = Some("NonCompliant");
pub const INAPPLICABLE: Option<&str> = Some("Inapplicable");

/// `Compliant` or `NonCompliant`.
pub fn compliance(compliant: bool) -> Option<&'static str> {
    if compliant { COMPLIANT } else { NON_COMPLIANT }
}

/// An object on the cluster as a related object, with its UID.
pub fn found(
    part: Part,
    object: &Value,
    compliant: Option<&str>,
    reason: impl Into<String>,
) -> RelatedOperatorObject {
    let properties = OperatorObjectProperties {
        uid: Some(text(object, "/metadata/uid").to_owned()).filter(|uid| !uid.is_empty()),
        created_by_policy: None,
    };
    RelatedOperatorObject {
        properties: Some(properties),
        ..listed(part, object, compliant, reason)
    }
}

/// An object on the cluster as a related object, without its UID.
pub fn listed(
    part: Part,
    object: &Value,
    compliant: Option<&str>,
    reason: impl Into<String>,
) -> RelatedOperatorObject {
    related(part, location(object), compliant, reason)
}

/// An object that the policy creates. Its UID is known once it is there.
pub fn to_be_created(part: Part, location: (&str, &str)) -> RelatedOperatorObject {
    let properties = OperatorObjectProperties {
        created_by_policy: Some(true),
        uid: None,
    };
    RelatedOperatorObject {
        properties: Some(properties),
        ..related(part, location, COMPLIANT, messages::CREATION_SUCCESS)
    }
}
