//! Reads the policies of the hub and what places them. Only the shown fields are decoded: the content of a policy may
//! be nested more deeply than a decoder accepts, and is skipped.

use std::collections::BTreeMap;

use kube::api::ListParams;
use kube::core::Request;
use kube::{Client, Resource as _};
use reeve_api::names;
use reeve_api::ocm::{Placement, PlacementRule};
use reeve_api::policy::{CompliancePerCluster, DetailsPerTemplate};
use reeve_api::{PlacementBinding, Policy, PolicySet};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::start::Fleet;

/// Kinds that controllers of managed clusters evaluate, by their plurals. No controller on the hub does.
const TEMPLATE_KINDS: [(&str, &str, &str); 3] = [
    ("v1", "configurationpolicies", "ConfigurationPolicy"),
    ("v1", "certificatepolicies", "CertificatePolicy"),
    ("v1beta1", "operatorpolicies", "OperatorPolicy"),
];

/// What the hub has.
#[derive(Default)]
pub(super) struct HubView {
    /// The policies of users.
    pub(super) roots: Vec<PolicyView>,
    /// The replicated policies, by namespace and name.
    pub(super) replicas: BTreeMap<(String, String), PolicyView>,
    pub(super) bindings: Vec<PlacementBinding>,
    pub(super) sets: Vec<PolicySet>,
    pub(super) placements: Vec<Placement>,
    pub(super) rules: Vec<PlacementRule>,
    /// Objects that belong into a policy: kind, namespace and name.
    pub(super) misplaced: Vec<(&'static str, String, String)>,
}

/// The shown fields of a policy.
#[derive(Debug, Deserialize)]
pub(super) struct PolicyView {
    pub(super) metadata: Metadata,
    pub(super) spec: Spec,
    #[serde(default)]
    pub(super) status: Status,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Metadata {
    pub(super) name: String,
    pub(super) namespace: String,
    pub(super) labels: BTreeMap<String, String>,
    pub(super) annotations: BTreeMap<String, String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Status {
    pub(super) status: Option<Vec<CompliancePerCluster>>,
    pub(super) details: Option<Vec<DetailsPerTemplate>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Spec {
    pub(super) disabled: bool,
    #[serde(rename = "policy-templates")]
    pub(super) templates: Vec<Template>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Template {
    pub(super) object_definition: Definition,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Definition {
    pub(super) kind: String,
    pub(super) metadata: Named,
    pub(super) spec: Severity,
}

/// Only the names: other metadata may be nested at any depth.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Named {
    pub(super) name: String,
    pub(super) namespace: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Severity {
    pub(super) severity: Option<serde_json::Value>,
}

#[derive(Deserialize)]
struct List<T> {
    items: Vec<T>,
}

#[derive(Deserialize)]
struct Misplaced {
    metadata: Named,
}

pub(super) async fn list<T: DeserializeOwned>(
    client: &Client,
    path: &str,
) -> Result<Vec<T>, kube::Error> {
    let request = Request::new(path).list(&ListParams::default());
    let request = request.map_err(kube::Error::BuildRequest)?;
    Ok(client.request::<List<T>>(request).await?.items)
}

pub(super) async fn read(fleet: &Fleet) -> Result<HubView, kube::Error> {
    let hub = fleet.hub.client();
    let policies: Vec<PolicyView> = list(&hub, &Policy::url_path(&(), None)).await?;
    let mut view = HubView {
        bindings: list(&hub, &PlacementBinding::url_path(&(), None)).await?,
        sets: list(&hub, &PolicySet::url_path(&(), None)).await?,
        placements: list(&hub, &Placement::url_path(&(), None)).await?,
        rules: list(&hub, &PlacementRule::url_path(&(), None)).await?,
        ..HubView::default()
    };
    for policy in policies {
        if policy
            .metadata
            .labels
            .contains_key(names::ROOT_POLICY_LABEL)
        {
            let key = (
                policy.metadata.namespace.clone(),
                policy.metadata.name.clone(),
            );
            view.replicas.insert(key, policy);
        } else {
            view.roots.push(policy);
        }
    }
    for (version, plural, kind) in TEMPLATE_KINDS {
        if fleet.hub.server.count(names::GROUP, plural) > 0 {
            let path = format!("/apis/{}/{version}/{plural}", names::GROUP);
            let found: Vec<Misplaced> = list(&hub, &path).await?;
            let found = found.into_iter().map(|one| one.metadata);
            view.misplaced
                .extend(found.map(|one| (kind, one.namespace, one.name)));
        }
    }
    Ok(view)
}
