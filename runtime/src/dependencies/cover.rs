//! The targets of readers, the watches, and which watch answers which target. Pure.

use std::sync::Arc;

use kube::core::ApiResource;

use super::selector;
use crate::object::{ObjectKey, StatusReason};

/// What a reader reads.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// One object.
    Object {
        /// Its kind.
        kind: Arc<ApiResource>,
        /// Its name.
        key: ObjectKey,
    },
    /// The objects of a name, in all namespaces.
    Named {
        /// Their kind.
        kind: Arc<ApiResource>,
        /// Their name.
        name: String,
    },
    /// All objects of a kind in a namespace that match a selector.
    Selection {
        /// Their kind.
        kind: Arc<ApiResource>,
        /// Their namespace; empty is everywhere.
        namespace: String,
        /// A label selector; empty is all.
        selector: String,
    },
}

/// One watch.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Source {
    /// The kind.
    pub kind: Arc<ApiResource>,
    /// The namespace; empty is everywhere.
    pub namespace: String,
    /// The objects that it selects.
    pub filter: Filter,
}

/// Which objects a watch asks the API server for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Filter {
    /// Those of this name: several only in all namespaces.
    Name(String),
    /// Those that match this label selector.
    Labels(String),
    /// All objects of the kind.
    All,
}

/// Why a source cannot answer.
#[derive(Clone, Debug)]
pub enum Lost {
    /// The API server rejected the watch or did not answer.
    Refused(Arc<kube::Error>),
    /// The watch ended without a reason.
    Ended,
}

impl Lost {
    /// Whether the watch is forbidden, which the API server answers with 403; an invalid credential (401) is replaced
    /// soon.
    pub(super) fn is_forbidden(&self) -> bool {
        let Self::Refused(error) = self else {
            return false;
        };
        matches!(&**error, kube::Error::Api(status) if status.code == 403)
    }

    /// Whether the kind itself does not exist, which narrower watches would find as well.
    pub(super) fn is_of_the_kind(&self) -> bool {
        matches!(self, Self::Refused(error) if StatusReason::of(error) == StatusReason::NotFound)
    }
}

impl Target {
    /// The watch of exactly this target.
    pub(super) fn own_source(&self) -> Source {
        match self {
            Self::Object { kind, key } => Source {
                kind: kind.clone(),
                namespace: key.namespace.clone(),
                filter: Filter::Name(key.name.clone()),
            },
            Self::Named { kind, name } => Source {
                kind: kind.clone(),
                namespace: String::new(),
                filter: Filter::Name(name.clone()),
            },
            Self::Selection {
                kind,
                namespace,
                selector,
            } => Source {
                kind: kind.clone(),
                namespace: namespace.clone(),
                filter: Filter::labels(selector),
            },
        }
    }

    /// All watches that could answer, the widest first.
    pub(super) fn answered_by(&self) -> Vec<Source> {
        let own = self.own_source();
        let mut sources = Vec::new();
        if own.filter.is_within_all() {
            sources.extend([own.all_everywhere(), own.all_there()]);
        }
        sources.extend([own.everywhere(), own]);
        sources.dedup();
        sources
    }
}

impl Source {
    /// The same objects in all namespaces.
    pub(super) fn everywhere(&self) -> Self {
        Self {
            namespace: String::new(),
            ..self.clone()
        }
    }

    /// All objects of the kind in the same namespace.
    pub(super) fn all_there(&self) -> Self {
        Self {
            filter: Filter::All,
            ..self.clone()
        }
    }

    /// All objects of the kind.
    pub(super) fn all_everywhere(&self) -> Self {
        self.everywhere().all_there()
    }

    /// Whether this watch is another one, and sees everything that `narrow` sees in a way that lets it answer the
    /// same targets.
    pub(super) fn contains(&self, narrow: &Self) -> bool {
        let is_wide_enough = self.filter == narrow.filter
            || (self.filter == Filter::All && narrow.filter.is_within_all());
        let has_namespace = self.namespace.is_empty() || self.namespace == narrow.namespace;
        self.kind == narrow.kind && is_wide_enough && has_namespace && self != narrow
    }
}

impl Filter {
    /// The filter of a label selector.
    pub(super) fn labels(selector: &str) -> Self {
        if selector.is_empty() {
            Self::All
        } else {
            Self::Labels(selector.to_owned())
        }
    }

    /// Whether a watch of all objects can be filtered to this one here.
    pub(super) fn is_within_all(&self) -> bool {
        match self {
            Self::Name(_) | Self::All => true,
            Self::Labels(selector) => selector::parse(selector).is_some(),
        }
    }
}
