//! Reads the configuration policies of a managed cluster: which objects and fields are behind their verdicts.

use std::collections::HashMap;

use kube::Resource as _;
use reeve_api::ConfigurationPolicy;
use reeve_api::configuration_policy::ObjectProperties;
use serde::Deserialize;

use super::hub::list;
use crate::start::Member;

/// The configuration policies of a cluster by name.
pub(super) type Evaluations = HashMap<String, Evaluation>;

/// The shown fields of a configuration policy's status.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Evaluation {
    pub(super) compliancy_details: Option<Vec<TemplateDetails>>,
    pub(super) related_objects: Option<Vec<Related>>,
}

/// The verdict of an object template.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct TemplateDetails {
    #[serde(rename = "Compliant")]
    pub(super) compliant: Option<String>,
    pub(super) conditions: Option<Vec<Condition>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Condition {
    pub(super) reason: Option<String>,
    pub(super) message: Option<String>,
}

/// An object that a template is about.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Related {
    pub(super) compliant: Option<String>,
    pub(super) object: RelatedObject,
    pub(super) reason: Option<String>,
    pub(super) properties: Option<ObjectProperties>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct RelatedObject {
    pub(super) kind: Option<String>,
    pub(super) metadata: RelatedMetadata,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct RelatedMetadata {
    pub(super) name: Option<String>,
    pub(super) namespace: Option<String>,
}

#[derive(Deserialize)]
struct Policy {
    metadata: super::hub::Named,
    #[serde(default)]
    status: Option<Evaluation>,
}

pub(super) async fn read(member: &Member) -> Result<Evaluations, kube::Error> {
    let path = ConfigurationPolicy::url_path(&(), Some(&member.name));
    let policies: Vec<Policy> = list(&member.client(), &path).await?;
    let named = policies
        .into_iter()
        .map(|policy| (policy.metadata.name, policy.status.unwrap_or_default()));
    Ok(named.collect())
}
