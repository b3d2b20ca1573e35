//! Stories over one reconcile: policy and cluster as JSON, to status, reports and writes. One module a part.

mod csv;
mod groups;
mod install_plans;
mod installations;
mod packages;
mod properties;
mod removal;
mod rough_edges;
mod spec;
mod statuses;
mod subscriptions;
mod texts;

use std::sync::Arc;

use jiff::Timestamp;
use parking_lot::Mutex;
use reeve_api::operator_policy::{OperatorPolicy, OperatorPolicyStatus};
use reeve_runtime::secrets::Secrets;
use serde_json::{Value, json};

use super::act::{Acted, Writer, act};
use super::decide::object::{Object, name};
use super::decide::observed::Observed;
use super::decide::spec::{Desired, DesiredGroup, DesiredSubscription, Presence};
use super::decide::state::{Part, Write};
use super::decide::{Context, decide};
use super::mode;
use super::status::StatusBuilder;
use crate::evaluate::cluster::WriteError;

/// The time of every story.
const NOW: &str = "2026-01-01T12:00:00Z";

/// A policy and the cluster around it.
#[derive(Debug)]
struct Story {
    policy: Value,
    desired: Desired,
    observed: Observed,
    status: OperatorPolicyStatus,
    now: Timestamp,
    /// Writes of these parts fail.
    refused: Vec<(Part, WriteError)>,
}

/// What came of it.
struct Ending {
    status: OperatorPolicyStatus,
    /// The messages of the reports.
    reports: Vec<String>,
    /// `create Kind name`, and so on.
    writes: Vec<String>,
    written: Vec<Write>,
    acted: Acted,
    intervention: Option<Timestamp>,
}

impl Story {
    /// An enforced musthave policy for `quay` in `operators`, on a cluster without it.
    fn enforce() -> Self {
        let policy = json!({
            "apiVersion": "policy.open-cluster-management.io/v1beta1", "kind": "OperatorPolicy",
            "metadata": {"name": "p", "namespace": "managed", "uid": "policy", "generation": 1},
            "spec": {
                "remediationAction": "enforce", "complianceType": "musthave",
                "upgradeApproval": "Automatic", "subscription": {"name": "quay"},
                "complianceConfig": {}, "removalBehavior": {},
            },
        });
        let spec = json!({
            "name": "quay", "channel": "stable-3.9", "source": "catalog", "sourceNamespace": "olm",
        });
        let subscription = DesiredSubscription {
            name: "quay".to_owned(),
            namespace: "operators".to_owned(),
            spec: spec.as_object().unwrap().clone(),
        };
        Self {
            policy,
            desired: Desired {
                subscription: Some(subscription),
                operator_group: Some(DesiredGroup::inferred("operators")),
                ..Desired::default()
            },
            observed: Observed::default(),
            status: OperatorPolicyStatus::default(),
            now: NOW.parse().unwrap(),
            refused: Vec::new(),
        }
    }

    fn inform() -> Self {
        Self::enforce().spec("remediationAction", json!("inform"))
    }

    /// A story whose Subscription and group exist and match.
    fn subscribed(status: &Value) -> Self {
        let mut story = Self::enforce();
        story.observed.operator_groups = Ok(vec![inferred_group()]);
        story.observed.subscription = Ok(Some(subscription(status)));
        story
    }

    /// A story whose operator is installed as `quay.v1`.
    fn installed() -> Self {
        let versions = json!({"currentCSV": "quay.v1", "installedCSV": "quay.v1"});
        let mut story = Self::subscribed(&versions);
        story.observed.csvs = Ok(vec![csv("quay.v1", "Succeeded")]);
        story.observed.catalog_source = Ok(Some(catalog("READY")));
        story.observed.crds = Ok(vec![object(Part::Crd, "quays", json!({}))]);
        story
    }

    fn spec(mut self, field: &str, value: Value) -> Self {
        self.policy["spec"][field] = value;
        self
    }

    fn mustnothave(self) -> Self {
        self.spec("complianceType", json!("mustnothave"))
    }

    fn refusing(mut self, part: Part, error: WriteError) -> Self {
        self.refused.push((part, error));
        self
    }

    /// The next reconcile of the same policy.
    fn again(&mut self, ending: &Ending) {
        self.status = ending.status.clone();
    }

    async fn run(&self) -> Ending {
        let policy: OperatorPolicy = serde_json::from_value(self.policy.clone()).unwrap();
        let mode = mode(&policy, &self.desired);
        let plan = decide(&Context {
            policy: &policy,
            status: &self.status,
            presence: Presence::of(&policy.spec),
            mode,
            desired: &self.desired,
            observed: &self.observed,
            now: self.now,
        });
        let intervention = plan.intervention;
        let mut status = StatusBuilder::new(&policy, &self.status, self.now);
        let fake = FakeWriter {
            refused: &self.refused,
            writes: Mutex::default(),
        };
        let acted = act(&fake, (mode, &Secrets::default()), plan, &mut status).await;
        let (status, reports) = status.finish();
        let (writes, written) = fake.writes.into_inner().into_iter().unzip();
        Ending {
            status,
            reports: reports.into_iter().map(|report| report.message).collect(),
            writes,
            written,
            acted,
            intervention,
        }
    }
}

impl Ending {
    /// Status, reason and message of a condition.
    fn condition(&self, type_: &str) -> (&str, &str, &str) {
        let mut conditions = self.status.conditions.iter().flatten();
        let found = conditions.find(|condition| condition.type_ == type_);
        let found = found.unwrap_or_else(|| panic!("no {type_} in {:#?}", self.status.conditions));
        (&found.status, &found.reason, &found.message)
    }

    fn of(&self, part: Part) -> (&str, &str, &str) {
        self.condition(part.condition_type())
    }

    fn has(&self, part: Part) -> bool {
        let mut conditions = self.status.conditions.iter().flatten();
        conditions.any(|condition| condition.type_ == part.condition_type())
    }

    /// Name, compliance and reason of the related objects of a part.
    fn related(&self, part: Part) -> Vec<(&str, &str, &str)> {
        let objects = self.status.related_objects.iter();
        let of_part = objects.filter_map(|related| {
            let object = related.object.as_ref()?;
            (object.kind.as_deref() == Some(part.kind())).then(|| {
                let metadata = object.metadata.as_ref().unwrap();
                (
                    metadata.name.as_deref().unwrap(),
                    related.compliant.as_deref().unwrap_or_default(),
                    related.reason.as_deref().unwrap(),
                )
            })
        });
        of_part.collect()
    }
}

struct FakeWriter<'s> {
    refused: &'s [(Part, WriteError)],
    writes: Mutex<Vec<(String, Write)>>,
}

impl Writer for FakeWriter<'_> {
    async fn write(&self, part: Part, write: &Write) -> Result<Option<Value>, WriteError> {
        let mut refused = self.refused.iter();
        if let Some((_, error)) = refused.find(|(refused, _)| *refused == part) {
            return Err(error.clone());
        }
        let kind = part.kind();
        let (done, answer) = match write {
            Write::Create(object) => {
                let mut object = object.clone();
                object["metadata"]["uid"] = json!("created");
                if name(&object).is_empty() {
                    object["metadata"]["name"] = json!("generated");
                }
                (format!("create {kind} {}", name(&object)), Some(object))
            }
            Write::Replace(object) => (
                format!("replace {kind} {}", name(object)),
                Some(object.clone()),
            ),
            Write::ReplaceStatus(object) => (
                format!("replace status {kind} {}", name(object)),
                Some(object.clone()),
            ),
            Write::Delete(object) => (format!("delete {kind} {}", name(object)), None),
        };
        self.writes.lock().push((done, write.clone()));
        Ok(answer)
    }

    async fn create_namespace(&self, name: &str) -> Result<(), WriteError> {
        let write = Write::Create(json!({"kind": "Namespace"}));
        self.writes
            .lock()
            .push((format!("create Namespace {name}"), write));
        Ok(())
    }
}

/// An object in `operators`.
fn object(part: Part, name: &str, more: Value) -> Object {
    let mut object = json!({
        "apiVersion": part.api_version(), "kind": part.kind(),
        "metadata": {"name": name, "namespace": "operators", "uid": format!("uid of {name}")},
    });
    if matches!(part, Part::Csv | Part::Crd) {
        object["metadata"]["labels"] = json!({"operators.coreos.com/quay.operators": ""});
    }
    if part == Part::Crd {
        object["metadata"]
            .as_object_mut()
            .unwrap()
            .remove("namespace");
    }
    merge(&mut object, more);
    Arc::new(object)
}

fn merge(into: &mut Value, from: Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (key, value) in from {
                merge(into.entry(key).or_insert(Value::Null), value);
            }
        }
        (into, from) => *into = from,
    }
}

fn group(name: &str) -> Object {
    object(Part::OperatorGroup, name, json!({}))
}

/// The group that a policy without one creates.
fn inferred_group() -> Object {
    let generated = json!({"metadata": {"generateName": "operators-"}});
    object(Part::OperatorGroup, "operators-x", generated)
}

fn subscription(status: &Value) -> Object {
    object(Part::Subscription, "quay", json!({"status": status}))
}

fn csv(name: &str, phase: &str) -> Object {
    let reason = if phase == "Succeeded" {
        "InstallSucceeded"
    } else {
        ""
    };
    let status = json!({"phase": phase, "reason": reason, "message": "install strategy completed"});
    object(Part::Csv, name, json!({"status": status}))
}

fn catalog(state: &str) -> Object {
    let status = json!({"connectionState": {"lastObservedState": state}});
    object(Part::CatalogSource, "catalog", json!({"status": status}))
}

fn deleting() -> Value {
    json!({"metadata": {"deletionTimestamp": NOW}})
}
