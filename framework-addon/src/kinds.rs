//! Which kinds exist on the managed cluster, and which of them policy templates may be of.

use std::time::Duration;

use kube::core::GroupVersionKind;
use reeve_api::names::{POLICY_TYPE_LABEL, POLICY_TYPE_TEMPLATE};
use reeve_runtime::definitions::{self, Definition};
use reeve_runtime::discovery::{Discovery, DiscoveryError, ServedKind};
use reeve_runtime::object::ObjectKey;
use reeve_runtime::watch::Store;

use crate::gatekeeper::{self, Integration};

/// How soon to look again for a kind that [is coming](Kinds::is_defined).
pub const KIND_IS_COMING: Duration = Duration::from_secs(1);
/// How soon to look again at what may not or cannot be read: nothing tells when it may.
pub const UNREADABLE: Duration = Duration::from_mins(1);

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

    /// Whether discovery, which does not know the kind yet, is about to: it follows the definition
    /// by a moment, and nothing tells when.
    pub fn is_defined(&self, kind: &GroupVersionKind) -> bool {
        definitions::is_defined(&self.crds, kind)
    }

    /// Forgets what was learnt of a group, because one of its definitions changed.
    pub fn forget_group(&self, group: &str) {
        self.discovery.forget_group(group);
    }
}

/// Whether the label of a definition says that its objects are policy templates.
fn is_template(definition: &Definition) -> bool {
    let label = definition.labels.get(POLICY_TYPE_LABEL);
    label.is_some_and(|value| value == POLICY_TYPE_TEMPLATE)
}
