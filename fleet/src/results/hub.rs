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
pub(crate) struct HubView {
    /// The policies of users.
    pub(crate) roots: Vec<PolicyView>,
    /// The replicated policies, by namespace and name.
    pub(crate) replicas: BTreeMap<(String, String), PolicyView>,
    pub(crate) bindings: Vec<PlacementBinding>,
    pub(crate) sets: Vec<PolicySet>,
    pub(crate) placements: Vec<Placement>,
    pub(crate) rules: Vec<PlacementRule>,
    /// Objects that belong into a policy: kind, namespace and name.
    pub(crate) misplaced: Vec<(&'static str, String, String)>,
}

/// The shown fields of a policy.
#[derive(Debug, Deserialize)]
pub(crate) struct PolicyView {
    pub(crate) metadata: Metadata,
    pub(crate) spec: Spec,
    #[serde(default)]
    pub(crate) status: Status,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Metadata {
    pub(crate) name: String,
    pub(crate) namespace: String,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) annotations: BTreeMap<String, String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Status {
    pub(crate) status: Option<Vec<CompliancePerCluster>>,
    pub(crate) details: Option<Vec<DetailsPerTemplate>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Spec {
    pub(crate) disabled: bool,
    #[serde(rename = "policy-templates")]
    pub(crate) templates: Vec<Template>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Template {
    pub(crate) object_definition: Definition,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Definition {
    pub(crate) kind: String,
    pub(crate) metadata: Named,
    pub(crate) spec: Severity,
}

/// Only the names: other metadata may be nested at any depth.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Named {
    pub(crate) name: String,
    pub(crate) namespace: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Severity {
    pub(crate) severity: Option<serde_json::Value>,
}

#[derive(Deserialize)]
struct List<T> {
    items: Vec<T>,
}

#[derive(Deserialize)]
struct Misplaced {
    metadata: Named,
}

pub(crate) async fn list<T: DeserializeOwned>(
    client: &Client,
    path: &str,
) -> Result<Vec<T>, kube::Error> {
    let request = Request::new(path).list(&ListParams::default());
    let request = request.map_err(kube::Error::BuildRequest)?;
    Ok(client.request::<List<T>>(request).await?.items)
}

pub(super) async fn read(fleet: &Fleet) -> Result<HubView, kube::Error> {
    let hub = fleet.hub.client();
    let mut view = view(&hub).await?;
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

/// Reads the policies of a hub, and what places them.
pub(crate) async fn view(hub: &Client) -> Result<HubView, kube::Error> {
    let policies: Vec<PolicyView> = list(hub, &Policy::url_path(&(), None)).await?;
    let mut view = HubView {
        bindings: list(hub, &PlacementBinding::url_path(&(), None)).await?,
        sets: list(hub, &PolicySet::url_path(&(), None)).await?,
        placements: list_served(hub, &Placement::url_path(&(), None)).await?,
        rules: list_served(hub, &PlacementRule::url_path(&(), None)).await?,
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
    Ok(view)
}

/// The objects of a kind; none if the server does not serve it.
pub(crate) async fn list_served<T: DeserializeOwned>(
    client: &Client,
    path: &str,
) -> Result<Vec<T>, kube::Error> {
    match list(client, path).await {
        // Of a group that it does not know, the server says so without a status object.
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(Vec::new()),
        listed => listed,
    }
}
