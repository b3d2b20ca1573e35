//! The recorded answers.

use serde::Deserialize;
use serde_json::Value as Json;

/// With CEL enabled, and with Rego alone where that differs.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Answer {
    pub cel_enabled: Outcome,
    pub cel_disabled: Option<Outcome>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Outcome {
    /// The errors of loading; empty where there is none.
    pub templates: Vec<String>,
    pub constraints: Vec<String>,
    #[serde(default)]
    #[expect(
        dead_code,
        reason = "an inventory refuses nothing here: objects come from a decoder of objects"
    )]
    pub inventory: Vec<String>,
    #[serde(default)]
    pub crds: Vec<Json>,
    pub reviews: Vec<Reviewed>,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Reviewed {
    #[serde(default)]
    pub error: String,
    #[serde(default)]
    pub results: Vec<Finding>,
}

#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Finding {
    /// Kind and name.
    pub constraint: String,
    pub msg: String,
    pub details: Json,
    pub enforcement_action: String,
    #[serde(default)]
    pub scoped_actions: Vec<String>,
}
