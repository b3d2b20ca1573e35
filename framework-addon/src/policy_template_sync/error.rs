//! The errors of template sync: those of a template, which the policy's status shows, and those of a reconcile, which only log and
//! metrics show.

use kube::core::GroupVersionKind;
use reeve_runtime::dependencies::ReadError;
use reeve_runtime::discovery::DiscoveryError;
use reeve_runtime::object::{StatusReason, error_chain, status_message};

use super::messages;
use crate::gatekeeper::Integration;
use crate::metrics::ErrorClass;

/// The kind of the API server's rejection of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RejectionKind {
    /// The object is invalid: the same write would fail again.
    Invalid,
    /// Any other reason.
    Other,
}

/// An error of one template. Users see the text after `template-error; `.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum TemplateError {
    /// Another template has the same name.
    #[error("{}", messages::DUPLICATE_NAMES)]
    DuplicateNames,
    /// It cannot be decoded.
    #[error("{}", messages::undecodable(.0))]
    Undecodable(String),
    /// Two of its dependencies contradict each other; holds their object's name.
    #[error("{}", messages::undecodable(&messages::conflicting_dependency(.0)))]
    ConflictingDependency(String),
    /// It has no name; holds its index in the list.
    #[error("{}", messages::nameless(*.0))]
    Nameless(usize),
    /// Its kind is not served.
    #[error("{}", messages::not_mapped(kind, found, *integration))]
    NotMapped {
        /// Its kind.
        kind: GroupVersionKind,
        /// Discovery's answer.
        found: String,
        /// Whether it may be one of Gatekeeper's.
        integration: Integration,
    },
    /// Its kind is no kind of templates.
    #[error("{}", messages::unsupported(.0))]
    Unsupported(GroupVersionKind),
    /// The hub could not resolve its templates; holds the hub's error.
    #[error("{0}")]
    HubTemplates(String),
    /// The object could not be read.
    #[error("{}", messages::get_failed(.0))]
    Get(String),
    /// The object belongs to another owner.
    #[error("{}", messages::owned_by_other(kind, name, owner.as_deref()))]
    OwnedByOther {
        /// The object's kind.
        kind: String,
        /// The object's name.
        name: String,
        /// The policy that it belongs to, if any.
        owner: Option<String>,
    },
    /// The API server rejected the new object.
    #[error("{}", messages::create_failed(.0))]
    Create(String, RejectionKind),
    /// The API server rejected the changed object; holds the template's name first.
    #[error("{}", messages::update_failed(.0, .1))]
    Update(String, String, RejectionKind),
    /// The constraint template has no valid `status.created`; holds its name and the reason.
    #[error("{}", messages::no_admission(.0, .1))]
    NoAdmission(String, String),
    /// The constraint template cannot be used; holds its name, and the reasons if they are known here.
    #[error("{}", messages::not_admitted(.0, .1))]
    NotAdmitted(String, Vec<String>),
    /// It cannot be decoded as an object.
    #[error("{}", messages::unmarshal_failed(.0))]
    Unmarshal(String),
}

impl TemplateError {
    /// The class of the error, for the metrics.
    pub fn error_class(&self) -> ErrorClass {
        match self {
            Self::ConflictingDependency(_) => ErrorClass::User("dependency-error"),
            Self::NotMapped { .. } | Self::Unsupported(_) => ErrorClass::User("crd-error"),
            Self::Get(_) | Self::NoAdmission(..) => ErrorClass::System("get-error"),
            Self::Create(_, RejectionKind::Other) => ErrorClass::System("create-error"),
            Self::Update(_, _, RejectionKind::Other) => ErrorClass::System("patch-error"),
            Self::Unmarshal(_) => ErrorClass::System("unmarshal-error"),
            _ => ErrorClass::User("format-error"),
        }
    }

    /// Whether a retry can succeed although no watched object changes. The policy, its template objects and CRDs are watched;
    /// aggregated APIs and admission webhooks are not.
    pub fn is_retriable(&self) -> bool {
        matches!(
            self,
            Self::NotMapped { .. }
                | Self::Get(_)
                | Self::Create(_, RejectionKind::Other)
                | Self::Update(_, _, RejectionKind::Other)
        )
    }
}

/// An error of a reconcile. All of these are retried.
#[derive(Debug, thiserror::Error)]
pub enum TemplateSyncError {
    /// The error was reported, and a retry can succeed.
    #[error("template {template}: {error}")]
    Reported {
        /// The template's name.
        template: String,
        /// What was reported.
        error: TemplateError,
    },
    /// The policy cannot be decoded.
    #[error("cannot decode the policy: {0}")]
    Policy(#[source] serde_json::Error),
    /// It is not known whether a kind exists.
    #[error("template {template}: {}", error_chain(source))]
    Discover {
        /// The template's name.
        template: String,
        /// The error of the discovery.
        source: DiscoveryError,
    },
    /// It is not known whether there can be objects to clean up.
    #[error("cannot clean up the objects that belong to the policy: {}", error_chain(.0))]
    DiscoverForCleanup(#[source] DiscoveryError),
    /// A dependency could not be read, and the template's object was left as it is.
    #[error("template {template}: cannot tell whether its dependencies are satisfied: {reason}")]
    Unclear {
        /// The template's name.
        template: String,
        /// The dependency and the reason.
        reason: String,
    },
    /// The object was changed since it was read.
    #[error("template {template}: the object was changed since it was read")]
    Outdated {
        /// The template's name.
        template: String,
    },
    /// Pruning could not be switched off before a delete.
    #[error(
        "template {template}: cannot set pruneObjectBehavior to None before its deletion: {}",
        status_message(source)
    )]
    DisablePruning {
        /// The template's name.
        template: String,
        /// The error of the client: the API server's answer, or that there was none.
        source: kube::Error,
    },
    /// An object could not be deleted.
    #[error("cannot delete {object}: {}", status_message(source))]
    Delete {
        /// Kind and name.
        object: String,
        /// The error of the client: the API server's answer, or that there was none.
        source: kube::Error,
    },
    /// The stale compliance of an object could not be cleared.
    #[error(
        "template {template}: cannot clear its compliance: {}",
        status_message(source)
    )]
    ClearCompliance {
        /// The template's name.
        template: String,
        /// The error of the client: the API server's answer, or that there was none.
        source: kube::Error,
    },
    /// A report could not be stored.
    #[error(
        "template {template}: cannot create the compliance event: {}",
        status_message(source)
    )]
    Report {
        /// The template's name.
        template: String,
        /// The error of the client: the API server's answer, or that there was none.
        source: kube::Error,
    },
    /// Objects of a kind could not be listed for cleanup.
    #[error("cannot list the objects of {kind} that belong to the policy: {source}")]
    List {
        /// The kind.
        kind: String,
        /// The error of the read.
        source: ReadError,
    },
    /// The policy was deleted since it was read.
    #[error("the policy was deleted since it was read")]
    Deleted,
    /// The finalizer could not be added or removed.
    #[error("cannot write the policy's finalizer: {}", status_message(.0))]
    Finalizer(#[source] kube::Error),
}

impl TemplateSyncError {
    /// Whether it is a conflict with another writer, whose change the watch delivers.
    pub fn is_outdated(&self) -> bool {
        match self {
            Self::Outdated { .. } | Self::Deleted => true,
            Self::Finalizer(error) => StatusReason::of(error) == StatusReason::Conflict,
            _ => false,
        }
    }

    /// Whether it means only that objects of a kind may not be listed.
    pub fn is_hidden(&self) -> bool {
        match self {
            Self::List {
                source: ReadError::Refused(error),
                ..
            } => StatusReason::of(error) == StatusReason::Forbidden,
            _ => false,
        }
    }

    /// The template and the class of the error; `None` if it was counted already or is a conflict.
    pub fn error_class(&self) -> Option<(&str, ErrorClass)> {
        let system = |template, kind| Some((template, ErrorClass::System(kind)));
        match self {
            Self::Reported { .. } => None,
            outdated if outdated.is_outdated() => None,
            Self::Policy(_) => system("", "unmarshal-error"),
            Self::Discover { template, .. } | Self::Unclear { template, .. } => {
                system(template, "get-error")
            }
            Self::DiscoverForCleanup(_) => system("", "get-error"),
            Self::List { .. } => system("", "client-error"),
            Self::DisablePruning { template, .. } | Self::ClearCompliance { template, .. } => {
                system(template, "patch-error")
            }
            Self::Report { template, .. } => system(template, "client-error"),
            Self::Delete { .. } => system("", "delete-error"),
            Self::Outdated { .. } | Self::Deleted | Self::Finalizer(_) => system("", "patch-error"),
        }
    }
}

/// The errors of one reconcile.
#[derive(Debug)]
pub struct TemplateSyncErrors(pub Vec<TemplateSyncError>);

impl std::fmt::Display for TemplateSyncErrors {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let texts: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(&texts.join("; "))
    }
}

impl std::error::Error for TemplateSyncErrors {}
