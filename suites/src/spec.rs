//! What a suite and a fleet file say.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::de::value::SeqAccessDeserializer;
use serde::de::{self, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

/// The `apiVersion` of suites and fleet files.
pub const API_VERSION: &str = "reeve/v1alpha1";

/// A test suite of policies.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(title = "Suite of reeve test")]
pub struct Suite {
    /// `reeve/v1alpha1`.
    #[schemars(extend("const" = "reeve/v1alpha1"))]
    pub api_version: String,
    /// `Suite`.
    #[schemars(extend("const" = "Suite"))]
    pub kind: String,
    /// The name of the suite.
    pub metadata: Metadata,
    /// The managed clusters: a number, or a list. One if absent.
    #[serde(default)]
    pub clusters: Clusters,
    /// Files and folders with the CRDs of kinds that are not built in, for the hub and all clusters.
    #[serde(default)]
    pub crds: Vec<String>,
    /// Files and folders with policies and all else that the hub has, relative to the suite's file.
    #[serde(default)]
    pub policies: Vec<String>,
    /// Folders with kustomizations, rendered by the installed kustomize or kubectl.
    #[serde(default)]
    pub kustomize: Vec<String>,
    /// What providers of external data answer the constraints: the value of each key by provider. No provider is asked.
    #[serde(default)]
    pub external_data: BTreeMap<String, BTreeMap<String, Value>>,
    /// Whether policies that nothing binds are bound to all clusters. Yes if absent.
    #[serde(default = "yes")]
    pub bind_unbound: bool,
    /// What happens and what is expected, in this order.
    #[schemars(length(min = 1))]
    pub steps: Vec<Step>,
}

fn yes() -> bool {
    true
}

/// The name of a suite.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Metadata {
    /// The name in all outputs.
    pub name: String,
}

/// The clusters of a fleet, for `reeve up --clusters`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(title = "Fleet of reeve up")]
pub struct FleetFile {
    /// `reeve/v1alpha1`.
    #[schemars(extend("const" = "reeve/v1alpha1"))]
    pub api_version: String,
    /// `Fleet`.
    #[schemars(extend("const" = "Fleet"))]
    pub kind: String,
    /// The managed clusters: a number, or a list.
    pub clusters: Clusters,
}

/// Managed clusters.
#[derive(Clone, Debug, JsonSchema)]
#[serde(untagged)]
pub enum Clusters {
    /// So many: cluster1, cluster2 and so on.
    Count(usize),
    /// These.
    Named(Vec<ClusterSpec>),
}

// Not derived: the error about a cluster in the list would only say that no variant fits.
impl<'de> Deserialize<'de> for Clusters {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NumberOrList;

        impl<'de> Visitor<'de> for NumberOrList {
            type Value = Clusters;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a number or a list of clusters")
            }

            fn visit_u64<E: de::Error>(self, count: u64) -> Result<Clusters, E> {
                let count = usize::try_from(count);
                count.map(Clusters::Count).map_err(E::custom)
            }

            fn visit_i64<E: de::Error>(self, count: i64) -> Result<Clusters, E> {
                let count = usize::try_from(count);
                count.map(Clusters::Count).map_err(E::custom)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, sequence: A) -> Result<Clusters, A::Error> {
                let list = Vec::deserialize(SeqAccessDeserializer::new(sequence));
                list.map(Clusters::Named)
            }
        }
        deserializer.deserialize_any(NumberOrList)
    }
}

impl Default for Clusters {
    fn default() -> Self {
        Self::Count(1)
    }
}

/// A managed cluster.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ClusterSpec {
    /// The name.
    pub name: String,
    /// Labels, besides those that every cluster has.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// Claims, besides those that every cluster has.
    #[serde(default)]
    pub claims: BTreeMap<String, String>,
    /// Taints.
    #[serde(default)]
    pub taints: Vec<TaintSpec>,
    /// Files and folders with the objects that the cluster has at first, relative to this file.
    #[serde(default)]
    pub files: Vec<String>,
    /// The objects that the cluster has at first.
    #[serde(default)]
    pub objects: Vec<Map<String, Value>>,
}

/// A taint of a cluster.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TaintSpec {
    /// The key.
    pub key: String,
    /// The value.
    #[serde(default)]
    pub value: String,
    /// What the taint does.
    #[schemars(extend("enum" = ["NoSelect", "PreferNoSelect", "NoSelectIfNew"]))]
    pub effect: String,
}

/// A step: first everything happens, in the order of these fields, then everything is expected.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Step {
    /// The name of the step.
    pub name: String,
    /// Objects to apply.
    #[serde(default)]
    pub apply: Vec<Apply>,
    /// Objects to change.
    #[serde(default)]
    pub patch: Vec<Patch>,
    /// Objects to delete.
    #[serde(default)]
    pub delete: Vec<Reference>,
    /// Labels of clusters to set, and to remove where the value is null.
    #[serde(default)]
    pub label: Vec<Label>,
    /// How long to wait for what is expected after all controllers are idle, such as `5s`. Not at all if absent: then
    /// nothing changes any more, except for policies that are evaluated at intervals.
    #[serde(default)]
    pub wait: Option<String>,
    /// What is expected then.
    #[serde(default)]
    pub expect: Expect,
}

impl Step {
    /// Whether something happens in the step.
    pub(crate) fn acts(&self) -> bool {
        !(self.apply.is_empty()
            && self.patch.is_empty()
            && self.delete.is_empty()
            && self.label.is_empty())
    }
}

/// Objects to apply.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Apply {
    /// The cluster; the hub if absent.
    #[serde(default)]
    pub cluster: Option<String>,
    /// Files and folders.
    #[serde(default)]
    pub files: Vec<String>,
    /// Objects.
    #[serde(default)]
    pub objects: Vec<Map<String, Value>>,
}

/// A JSON merge patch of an object; `status` goes to the status subresource, where the kind has one.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Patch {
    /// The cluster; the hub if absent.
    #[serde(default)]
    pub cluster: Option<String>,
    /// The `apiVersion` of the object.
    pub api_version: String,
    /// Its kind.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// Its namespace.
    #[serde(default)]
    pub namespace: Option<String>,
    /// What is merged into it.
    #[serde(rename = "patch")]
    pub change: Map<String, Value>,
}

/// An object by its name.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Reference {
    /// The cluster; the hub if absent.
    #[serde(default)]
    pub cluster: Option<String>,
    /// The `apiVersion` of the object.
    pub api_version: String,
    /// Its kind.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// Its namespace.
    #[serde(default)]
    pub namespace: Option<String>,
}

/// Labels of a cluster.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Label {
    /// The cluster.
    pub cluster: String,
    /// The labels; null removes one.
    pub labels: BTreeMap<String, Option<String>>,
}

/// What is expected after a step.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Expect {
    /// The states of policies.
    #[serde(default)]
    pub compliance: Vec<Compliance>,
    /// Objects that have these fields, and maybe more.
    #[serde(default)]
    pub objects: Vec<Present>,
    /// Objects that do not exist.
    #[serde(default)]
    pub absent: Vec<Reference>,
    /// Events.
    #[serde(default)]
    pub events: Vec<Event>,
    /// The clusters that placements choose.
    #[serde(default)]
    pub decisions: Vec<Decision>,
}

impl Expect {
    /// Whether nothing is expected.
    pub(crate) fn is_empty(&self) -> bool {
        self.compliance.is_empty()
            && self.objects.is_empty()
            && self.absent.is_empty()
            && self.events.is_empty()
            && self.decisions.is_empty()
    }
}

/// The state of a policy.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Compliance {
    /// The policy, as `name` or `namespace/name`. All policies if absent.
    #[serde(default)]
    pub policy: Option<String>,
    /// The clusters. All that the policy is on if absent.
    #[serde(default)]
    pub clusters: Option<Vec<String>>,
    /// The state.
    pub is: Expected,
    /// A text that a message of the policy has.
    #[serde(default)]
    pub message: Option<String>,
    /// A regular expression that a message of the policy matches.
    #[serde(default)]
    pub matches: Option<String>,
}

/// An expected state.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq)]
pub enum Expected {
    /// The cluster complies.
    #[default]
    Compliant,
    /// The cluster does not comply, or the policy could not be evaluated.
    NonCompliant,
    /// The cluster does not comply.
    Violation,
    /// The policy could not be evaluated.
    Error,
    /// A dependency is not fulfilled.
    Pending,
    /// The policy is on no cluster.
    Unplaced,
    /// The policy is disabled.
    Disabled,
    /// There is no answer yet.
    Unknown,
}

/// An object that has some fields.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Present {
    /// The cluster; the hub if absent.
    #[serde(default)]
    pub cluster: Option<String>,
    /// The object: apiVersion, kind, metadata.name, and the fields it has. Of a list the items in any order.
    pub object: Map<String, Value>,
}

/// An event.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Event {
    /// The cluster; the hub if absent.
    #[serde(default)]
    pub cluster: Option<String>,
    /// The kind of the object that it is about. Any if absent.
    #[serde(default)]
    pub kind: Option<String>,
    /// The name of that object. Any if absent.
    #[serde(default)]
    pub name: Option<String>,
    /// Its reason. Any if absent.
    #[serde(default)]
    pub reason: Option<String>,
    /// A text that its message has.
    #[serde(default)]
    pub message: Option<String>,
    /// A regular expression that its message matches.
    #[serde(default)]
    pub matches: Option<String>,
}

/// The clusters that a placement chooses.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Decision {
    /// The placement, as `name` or `namespace/name`.
    pub placement: String,
    /// The clusters, in any order.
    pub clusters: Vec<String>,
}

/// The JSON schema of suites and of fleet files, by file name.
pub fn schema() -> [(&'static str, Value); 2] {
    [
        ("suite.schema.json", schemars::schema_for!(Suite).to_value()),
        (
            "fleet.schema.json",
            schemars::schema_for!(FleetFile).to_value(),
        ),
    ]
}
