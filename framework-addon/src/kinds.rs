//! The kinds of the managed cluster, and which of them are kinds of policy templates.

use std::time::Duration;

use kube::core::GroupVersionKind;
use reeve_api::names::{
    CONSTRAINT_TEMPLATES_CRD, MANAGED_BY_LABEL, MANAGED_BY_REEVE, POLICY_TYPE_LABEL,
    POLICY_TYPE_TEMPLATE,
};
use reeve_runtime::definitions::{self, Definition};
use reeve_runtime::discovery::{Discovery, DiscoveryError, ServedKind};
use reeve_runtime::object::ObjectKey;
use reeve_runtime::watch::Store;

use crate::gatekeeper::{self, Integration};

/// The delay before the next lookup of a kind that [is defined](Kinds::is_defined) and not served yet.
pub const KIND_SERVED_SOON_RETRY: Duration = Duration::from_secs(1);
/// The delay before the next read of an object that may not or cannot be read: no watch event follows when it can.
pub const UNREADABLE_RETRY: Duration = Duration::from_mins(1);

/// The kinds of the managed cluster.
#[derive(Clone)]
pub struct Kinds {
    discovery: Discovery,
    crds: Store<Definition>,
    /// Whether policies may have templates of Gatekeeper's kinds.
    pub integration: Integration,
}

impl Kinds {
    /// `crds` is the store of a watch of all definitions.
    pub fn new(discovery: Discovery, crds: Store<Definition>, integration: Integration) -> Self {
        Self {
            discovery,
            crds,
            integration,
        }
    }

    /// The resource that serves a kind.
    pub async fn find(&self, kind: &GroupVersionKind) -> Result<ServedKind, DiscoveryError> {
        // An empty or malformed apiVersion would ask for another page of the API server.
        if kind.version.is_empty() {
            return Err(DiscoveryError::UnknownVersion(kind.clone()));
        }
        self.discovery.find(kind).await
    }

    /// Whether objects of the kind may be policy templates: its definition carries the label, or it is one of
    /// Gatekeeper's.
    pub fn may_be_template(&self, kind: &ServedKind) -> bool {
        let (group, name) = (&kind.resource.group, &kind.resource.kind);
        if gatekeeper::is_policy(&GroupVersionKind::gvk(group, "", name)) {
            return self.integration == Integration::Enabled;
        }
        let name = format!("{}.{}", kind.resource.plural, kind.resource.group);
        let crd = self.crds.get_valid(&ObjectKey::new("", name));
        crd.is_some_and(|crd| is_template(&crd))
    }

    /// All kinds of policy templates, each in one served version.
    pub fn template_kinds(&self) -> Vec<GroupVersionKind> {
        let mut kinds = self.crds.collect(|_, crd| {
            let version = crd.served.first().filter(|_| crd.established)?;
            let kind = GroupVersionKind::gvk(&crd.group, version, &crd.kind);
            let is_gatekeepers = gatekeeper::is_policy(&kind);
            let syncs = is_gatekeepers && self.integration == Integration::Enabled;
            (syncs || is_template(crd)).then_some(kind)
        });
        kinds.sort_by(|one, two| (&one.group, &one.kind).cmp(&(&two.group, &two.kind)));
        kinds
    }

    /// Whether the audit of `config-policy-controller` has installed the kind of constraint templates: then their statuses are
    /// its.
    pub fn audits_constraints(&self) -> bool {
        let crd = self
            .crds
            .get_valid(&ObjectKey::new("", CONSTRAINT_TEMPLATES_CRD));
        let label = crd.and_then(|crd| crd.labels.get(MANAGED_BY_LABEL).cloned());
        label.is_some_and(|value| value == MANAGED_BY_REEVE)
    }

    /// Whether an established CRD defines the kind. Discovery follows the CRD by a moment, without an event.
    pub fn is_defined(&self, kind: &GroupVersionKind) -> bool {
        definitions::is_defined(&self.crds, kind)
    }

    /// Drops the cached discovery of a group, because one of its CRDs changed.
    pub fn forget_group(&self, group: &str) {
        self.discovery.forget_group(group);
    }
}

/// Whether a CRD has the label of policy templates.
fn is_template(definition: &Definition) -> bool {
    let label = definition.labels.get(POLICY_TYPE_LABEL);
    label.is_some_and(|value| value == POLICY_TYPE_TEMPLATE)
}
