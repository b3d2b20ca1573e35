//! Reads the policies of the hub and what places them. Only the shown fields are decoded: the content of a policy may
//! be nested more deeply than a decoder accepts, and is skipped.

use std::collections::BTreeMap;

use kube::api::ListParams;
use kube::core::Request;
use kube::{Client, Resource as _};
use reeve_api::names;
use reeve_api::ocm::{Placement, PlacementRule};
use reeve_api::policy::{CompliancePerCluster, DetailsPerTemplate};
use reeve_api::{Compliance, PlacementBinding, Policy, PolicySet};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

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
    /// What the replicated policies say of each template, by namespace and name. Of a fleet these are most of the view: nothing else of
    /// them is kept.
    pub(crate) replicas: BTreeMap<(String, String), Box<[Reported]>>,
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

/// What a cluster has reported about a template last.
#[derive(Debug, Default)]
pub(crate) struct Reported {
    pub(crate) compliance: Option<Compliance>,
    pub(crate) message: String,
}

impl Reported {
    fn of(details: DetailsPerTemplate) -> Self {
        let newest = details.history.into_iter().flatten().next();
        Self {
            compliance: details.compliant.as_deref().and_then(Compliance::parse),
            message: newest.and_then(|newest| newest.message).unwrap_or_default(),
        }
    }
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

/// An object definition, whose fields no API server checks.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Definition {
    #[serde(deserialize_with = "lenient")]
    pub(crate) kind: String,
    #[serde(deserialize_with = "lenient")]
    pub(crate) metadata: Named,
    #[serde(deserialize_with = "lenient")]
    pub(crate) spec: Severity,
}

/// Only the names: other metadata may be nested at any depth.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Named {
    #[serde(deserialize_with = "lenient")]
    pub(crate) name: String,
    #[serde(deserialize_with = "lenient")]
    pub(crate) namespace: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Severity {
    #[serde(deserialize_with = "lenient")]
    pub(crate) severity: Option<String>,
}

/// A field that may be of any type: one of another type is read as if it were absent. The controllers report what is wrong with it.
fn lenient<'de, D: Deserializer<'de>, T: Default + DeserializeOwned>(
    deserializer: D,
) -> Result<T, D::Error> {
    let text = Box::<RawValue>::deserialize(deserializer)?;
    Ok(serde_json::from_str(text.get()).unwrap_or_default())
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
            let reported = policy.status.details.into_iter().flatten();
            view.replicas
                .insert(key, reported.map(Reported::of).collect());
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn template_of_any_types_is_read() {
        for definition in [
            "{}",
            r#"{"kind": 5, "metadata": {"name": 7, "namespace": null}, "spec": null}"#,
            r#"{"kind": null, "metadata": null, "spec": "x"}"#,
            r#"{"kind": ["a"], "metadata": "m", "spec": [1]}"#,
            r#"{"metadata": {"name": {}}, "spec": {"severity": 5}}"#,
        ] {
            let text = format!(r#"{{"objectDefinition": {definition}}}"#);
            let template = serde_json::from_str::<Template>(&text).unwrap();
            let read = template.object_definition;
            assert_eq!(read.metadata.name, "", "{definition}");
            assert_eq!(read.spec.severity, None, "{definition}");
        }
        let deep = format!(
            r#"{{"objectDefinition": {{"kind": "K", "metadata": {{"name": "n"}}, "spec": {{"severity": "low", "deep": {}{}}}}}}}"#,
            "[".repeat(500),
            "]".repeat(500)
        );
        let read = serde_json::from_str::<Template>(&deep).unwrap();
        let read = read.object_definition;
        let shown = (read.kind, read.metadata.name, read.spec.severity);
        assert_eq!(
            shown,
            ("K".to_owned(), "n".to_owned(), Some("low".to_owned()))
        );
    }
}
