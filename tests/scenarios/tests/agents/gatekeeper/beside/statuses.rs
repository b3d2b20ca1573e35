//! What an auditor leaves on a cluster, without what must differ.

use std::collections::BTreeMap;

use anyhow::{Result, ensure};
use kube::ResourceExt as _;
use reeve_scenarios::script::{CONSTRAINTS, TEMPLATES};
use reeve_testkit::{Object, Plane};
use serde_json::{Value, json};

/// Differences that are on purpose: the begin of the path, and the rule. One that is no more must be taken from the list.
const KNOWN: &[(&str, &str)] = &[
    // 253 bytes end within a character.
    ("Long results-long.one.violations[0].message", "GK-117"),
    ("Long results-long.one.violations[1].message", "GK-117"),
    ("Long results-long.one.violations[8].message", "GK-117"),
    ("Long results-long.one.violations[19].message", "GK-117"),
];

/// The status of each constraint and template, and each generated CRD, by kind and name.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Statuses {
    documents: BTreeMap<String, Value>,
    /// When each constraint was audited.
    times: BTreeMap<String, String>,
}

impl Statuses {
    /// Reads all of a cluster.
    pub(crate) async fn read(plane: &Plane) -> Result<Self> {
        let mut all = Self {
            documents: BTreeMap::new(),
            times: BTreeMap::new(),
        };
        for template in plane.list(TEMPLATES, "ConstraintTemplate", None).await? {
            let name = format!("ConstraintTemplate {}", template.name_any());
            all.documents.insert(name, status(&template, "templateUID"));
            let kind = &template.data["spec"]["crd"]["spec"]["names"]["kind"];
            let kind = kind.as_str().unwrap_or_default();
            let crd = format!("{}.constraints.gatekeeper.sh", kind.to_lowercase());
            let api = ("apiextensions.k8s.io/v1", "CustomResourceDefinition");
            let Some(crd) = plane.get(api.0, api.1, None, &crd).await? else {
                continue;
            };
            let (crd_name, crd) = (crd.name_any(), definition(&crd, &template));
            all.documents.insert(format!("CRD {crd_name}"), crd);
            for constraint in plane.list(CONSTRAINTS, kind, None).await? {
                let name = format!("{kind} {}", constraint.name_any());
                if let Some(time) = constraint.data["status"]["auditTimestamp"].as_str() {
                    all.times.insert(name.clone(), time.to_owned());
                }
                all.documents
                    .insert(name, status(&constraint, "constraintUID"));
            }
        }
        Ok(all)
    }

    /// Checks that every audit was later than a time in seconds.
    pub(crate) fn are_newer_than(&self, mark: &str) -> Result<()> {
        for (name, time) in &self.times {
            ensure!(
                time.as_str() > mark,
                "{name} was audited at {time}, not after {mark}"
            );
        }
        Ok(())
    }

    /// `totalViolations` of a constraint, by kind and name.
    pub(crate) fn total(&self, name: &str) -> Option<u64> {
        self.documents.get(name)?["totalViolations"].as_u64()
    }

    /// How many templates and constraints there are.
    pub(crate) fn counts(&self) -> (usize, usize) {
        let of = |prefix: &str| {
            let names = self.documents.keys();
            names.filter(|name| name.starts_with(prefix)).count()
        };
        let (templates, crds) = (of("ConstraintTemplate "), of("CRD "));
        (templates, self.documents.len() - templates - crds)
    }
}

/// A status without what no two auditors share: the time of the audit, and the UID, which must be that of the object. `operations`
/// says what the process does besides.
fn status(object: &Object, uid: &str) -> Value {
    let mut status = object.data["status"].clone();
    if let Some(status) = status.as_object_mut() {
        status.remove("auditTimestamp");
    }
    let pods = status.get_mut("byPod").and_then(Value::as_array_mut);
    for pod in pods.into_iter().flatten() {
        let own = json!(object.metadata.uid);
        if pod[uid] == own {
            pod[uid] = json!("its own");
        }
        if let Some(pod) = pod.as_object_mut() {
            pod.remove("operations");
            // It is about admission policies (GK-166).
            pod.remove("enforcementPointsStatus");
        }
    }
    if is_not_evaluated(&status)
        && let Some(status) = status.as_object_mut()
    {
        // Gatekeeper counts no violations where it has evaluated nothing (GK-129).
        status.remove("totalViolations");
    }
    let violations = status.get_mut("violations").and_then(Value::as_array_mut);
    for violation in violations.into_iter().flatten() {
        let actions = violation.get_mut("enforcementActions");
        if let Some(actions) = actions.and_then(Value::as_array_mut) {
            // Their order is not compared in the recorded answers of the libraries either.
            actions.sort_by_key(Value::to_string);
        }
    }
    status
}

/// Whether a constraint is not valid.
fn is_not_evaluated(status: &Value) -> bool {
    let pods = status["byPod"].as_array().into_iter().flatten();
    let mut errors = pods.filter_map(|pod| pod["errors"].as_array()).flatten();
    errors.any(|error| error["code"] == "")
}

/// What a template makes of its constraints' kind: prose is not compared (GK-106), and the UID of the owner must be the template's.
fn definition(crd: &Object, template: &Object) -> Value {
    let mut owners = json!(crd.metadata.owner_references);
    for owner in owners.as_array_mut().into_iter().flatten() {
        if owner["uid"] == json!(template.metadata.uid) {
            owner["uid"] = json!("the template's");
        }
    }
    let mut labels = crd.labels().clone();
    // Whose it is (GK-127).
    labels.remove("app.kubernetes.io/managed-by");
    let mut spec = crd.data["spec"].clone();
    without_prose(&mut spec);
    json!({
        "spec": spec, "labels": labels, "ownerReferences": owners,
        "annotations": crd.annotations(),
    })
}

fn without_prose(node: &mut Value) {
    match node {
        Value::Object(members) => {
            if members.get("description").is_some_and(Value::is_string) {
                members.remove("description");
            }
            members.values_mut().for_each(without_prose);
        }
        Value::Array(items) => items.iter_mut().for_each(without_prose),
        _ => {}
    }
}

/// The paths at which two clusters differ, without those that are known to.
pub(crate) fn differences(ours: &Statuses, theirs: &Statuses) -> Vec<String> {
    let mut found = Vec::new();
    let none = Value::Null;
    let names = ours.documents.keys().chain(theirs.documents.keys());
    let names: std::collections::BTreeSet<&String> = names.collect();
    for name in names {
        let of = |all: &Statuses| all.documents.get(name).unwrap_or(&none).clone();
        differing(name, &of(ours), &of(theirs), &mut found);
    }
    let mut unused: Vec<&str> = KNOWN.iter().map(|(path, _)| *path).collect();
    found.retain(|one| {
        let known = KNOWN.iter().find(|(path, _)| one.starts_with(path));
        unused.retain(|path| known.is_none_or(|(used, _)| used != path));
        known.is_none()
    });
    let unused = unused.iter();
    found.extend(unused.map(|path| format!("{path} differs no more")));
    found
}

fn differing(at: &str, ours: &Value, theirs: &Value, found: &mut Vec<String>) {
    match (ours, theirs) {
        (Value::Array(mine), Value::Array(other)) if mine.len() == other.len() => {
            for (index, (mine, other)) in mine.iter().zip(other).enumerate() {
                differing(&format!("{at}[{index}]"), mine, other, found);
            }
        }
        (Value::Object(mine), Value::Object(other)) => {
            let names: std::collections::BTreeSet<&String> =
                mine.keys().chain(other.keys()).collect();
            let none = Value::Null;
            for name in names {
                let (mine, other) = (mine.get(name), other.get(name));
                let at = format!("{at}.{name}");
                differing(&at, mine.unwrap_or(&none), other.unwrap_or(&none), found);
            }
        }
        _ if ours == theirs => {}
        _ => found.push(format!("{at}: {ours}, Gatekeeper has {theirs}")),
    }
}
