//! What a template may read: the caller's policy.

use super::{LookupError, Read, Resource};

/// Limits on lookups.
#[derive(Clone, Debug, Default)]
pub struct Restrictions {
    /// Namespaced lookups are limited to this namespace; empty for no limit.
    pub namespace: String,
    /// The cluster-scoped objects that may be read all the same. Only used when `namespace`
    /// is set; empty then means none.
    pub cluster_scoped: Vec<ClusterScopedRule>,
}

/// Cluster-scoped objects; `*` stands for any.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterScopedRule {
    /// The API group; empty for the core group.
    pub group: String,
    /// The kind.
    pub kind: String,
    /// The object's name; an empty one allows lists.
    pub name: String,
}

impl ClusterScopedRule {
    fn allows(&self, group: &str, kind: &str, name: &str) -> bool {
        let matches = |rule: &str, value: &str| rule == "*" || rule == value;
        matches(&self.group, group) && matches(&self.kind, kind) && matches(&self.name, name)
    }
}

impl Restrictions {
    pub(crate) fn namespace(&self, wanted: &str) -> Result<String, LookupError> {
        if self.namespace.is_empty() || wanted == self.namespace {
            return Ok(wanted.to_owned());
        }
        if wanted.is_empty() {
            return Ok(self.namespace.clone());
        }
        Err(LookupError::RestrictedNamespace(self.namespace.clone()))
    }

    /// The read as it is made: cluster-scoped ones have no namespace.
    pub(super) fn admit(&self, mut read: Read, resource: &Resource) -> Result<Read, LookupError> {
        if resource.namespaced {
            return Ok(read);
        }
        let group = read
            .api_version
            .split_once('/')
            .map_or("", |(group, _)| group);
        let allowed = self.namespace.is_empty()
            || self
                .cluster_scoped
                .iter()
                .any(|rule| rule.allows(group, &read.kind, &read.name));
        if !allowed {
            return Err(LookupError::RestrictedClusterScoped {
                kind: read.kind,
                name: read.name,
            });
        }
        read.namespace.clear();
        Ok(read)
    }
}
