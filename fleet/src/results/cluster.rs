//! Reads the configuration policies of a managed cluster: which objects and fields are behind their verdicts.

use std::collections::HashMap;

use kube::{Client, Resource as _};
use reeve_api::ConfigurationPolicy;
use reeve_api::configuration_policy::ObjectProperties;
use serde::Deserialize;

use super::hub::list;
use crate::start::Member;

/// The configuration policies of a cluster by name.
pub(crate) type Evaluations = HashMap<String, Evaluation>;

/// The shown fields of a configuration policy's status.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Evaluation {
    pub(crate) compliancy_details: Option<Vec<TemplateDetails>>,
    pub(crate) related_objects: Option<Vec<Related>>,
}

/// The verdict of an object template.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct TemplateDetails {
    #[serde(rename = "Compliant")]
    pub(crate) compliant: Option<String>,
    pub(crate) conditions: Option<Vec<Condition>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Condition {
    pub(crate) reason: Option<String>,
    pub(crate) message: Option<String>,
}

/// An object that a template is about.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Related {
    pub(crate) compliant: Option<String>,
    pub(crate) object: RelatedObject,
    pub(crate) reason: Option<String>,
    pub(crate) properties: Option<ObjectProperties>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct RelatedObject {
    pub(crate) kind: Option<String>,
    pub(crate) metadata: RelatedMetadata,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct RelatedMetadata {
    pub(crate) name: Option<String>,
    pub(crate) namespace: Option<String>,
}

#[derive(Deserialize)]
struct Policy {
    metadata: super::hub::Named,
    #[serde(default)]
    status: Option<Evaluation>,
}

pub(super) async fn read(member: &Member) -> Result<Evaluations, kube::Error> {
    of_cluster(&member.client(), &member.name).await
}

/// The configuration policies in the namespace that a managed cluster has of its own name.
pub(crate) async fn of_cluster(client: &Client, name: &str) -> Result<Evaluations, kube::Error> {
    let path = ConfigurationPolicy::url_path(&(), Some(name));
    let policies: Vec<Policy> = list(client, &path).await?;
    let named = policies
        .into_iter()
        .map(|policy| (policy.metadata.name, policy.status.unwrap_or_default()));
    Ok(named.collect())
}
