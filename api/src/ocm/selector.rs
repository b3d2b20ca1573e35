//! Selectors of clusters, as decoded.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::or_default;

/// A label selector. An empty one matches everything.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub struct LabelSelector {
    /// Labels that must have these values.
    #[serde(
        deserialize_with = "or_default",
        skip_serializing_if = "BTreeMap::is_empty"
    )]
    pub match_labels: BTreeMap<String, String>,
    /// Requirements that must all hold.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub match_expressions: Vec<Requirement>,
}

/// A selector over cluster claims.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub struct ClaimSelector {
    /// Requirements that must all hold.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub match_expressions: Vec<Requirement>,
}

/// One requirement of a selector.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(default)]
pub struct Requirement {
    /// The name of a label or a claim.
    pub key: String,
    /// `In`, `NotIn`, `Exists` or `DoesNotExist`; not checked on decoding.
    pub operator: String,
    /// The values for `In` and `NotIn`.
    #[serde(deserialize_with = "or_default", skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<String>,
}
