//! What a replica must look like and what the status of a root must say. Pure.

use std::collections::BTreeMap;

use kube::ResourceExt;
use kube::api::ObjectMeta;
use reeve_api::names::{
    ARGOCD_COMPARE_OPTIONS_ANNOTATION, ARGOCD_IGNORE_EXTRANEOUS, CLUSTER_NAME_LABEL,
    CLUSTER_NAMESPACE_LABEL, DISABLE_TEMPLATES_ANNOTATION, GROUP, HUB_TEMPLATES_ERROR_ANNOTATION,
    LAST_APPLIED_ANNOTATION, POLICY_API_VERSION, ROOT_POLICY_LABEL, RootPolicyName,
    TRIGGER_UPDATE_ANNOTATION, parse_go_bool,
};
use reeve_api::policy::{
    CompliancePerCluster, PolicyDependency, PolicySpec, PolicyStatus, PolicyTemplate,
};
use reeve_api::{Compliance, Policy, RemediationAction};
use reeve_runtime::object::ObjectKey;
use reeve_runtime::watch::Known;
use serde_json::json;

use crate::index::{Pair, Placed, Reach};
use crate::messages;
use crate::replica::{Digest, ReplicaFacts};

/// What to do with one replica.
#[derive(Clone, Debug, PartialEq)]
pub enum ReplicaAction {
    /// It is as it should be.
    Nothing,
    /// It must exist.
    Create(Box<Policy>),
    /// It must change.
    Update(Box<Policy>),
    /// It must go: the object with this UID.
    Delete(String),
    /// It is not ours to touch, or cannot be judged.
    Leave(&'static str),
}

/// What is known when one replica is decided about.
pub struct Observed {
    /// The replica there is.
    pub replica: Option<Known<ReplicaFacts>>,
    /// The root policy that its name points to.
    pub root: Option<Known<Policy>>,
    /// Whether the root should be on this cluster.
    pub placed: Option<Placed>,
    /// Whether everything that could place it was readable.
    pub placement_known: bool,
    /// Whether the replica's namespace belongs to a managed cluster of this hub.
    pub in_cluster_namespace: bool,
}

/// Decides about the replica named by `key`.
pub fn replica(key: &ObjectKey, observed: &Observed) -> ReplicaAction {
    let Some(root_name) = RootPolicyName::parse(&key.name) else {
        return remove(observed);
    };
    let root = match &observed.root {
        None => return remove(observed),
        Some(Known::Invalid(_)) => {
            return ReplicaAction::Leave("the root policy cannot be decoded");
        }
        Some(Known::Valid(root)) => root,
    };
    if root.spec.disabled {
        return remove(observed);
    }
    let Some(placed) = &observed.placed else {
        return if observed.placement_known {
            remove(observed)
        } else {
            ReplicaAction::Leave("a binding or decision that may place it cannot be decoded")
        };
    };
    if root_name.fits().is_err() {
        return ReplicaAction::Leave("the name of the root policy is too long for a label");
    }
    let pair = Pair {
        root: root_name,
        cluster: key.namespace.clone(),
    };
    let desired = desired(root, &pair, placed);
    match &observed.replica {
        None => ReplicaAction::Create(Box::new(desired)),
        Some(Known::Valid(live)) if live.digest == Digest::of(&desired) => ReplicaAction::Nothing,
        // An unreadable replica is replaced by a readable one.
        Some(_) => ReplicaAction::Update(Box::new(desired)),
    }
}

fn remove(observed: &Observed) -> ReplicaAction {
    match &observed.replica {
        None => ReplicaAction::Nothing,
        Some(_) if !observed.in_cluster_namespace => {
            ReplicaAction::Leave("its namespace belongs to no managed cluster of this hub")
        }
        Some(Known::Valid(live)) => ReplicaAction::Delete(live.uid.clone()),
        Some(Known::Invalid(_)) => ReplicaAction::Leave("the replicated policy cannot be decoded"),
    }
}

/// The replica that a cluster should hold.
pub fn desired(root: &Policy, pair: &Pair, placed: &Placed) -> Policy {
    let copied = |map: &BTreeMap<String, String>| -> BTreeMap<String, String> {
        let ours = |key: &str| {
            key.strip_prefix(GROUP)
                .is_some_and(|rest| rest.starts_with('/'))
        };
        let kept = map
            .iter()
            .filter(|(key, _)| root.spec.copies_metadata() || ours(key));
        kept.map(|(key, value)| (key.clone(), value.clone()))
            .collect()
    };
    let mut labels = copied(root.labels());
    labels.insert(ROOT_POLICY_LABEL.to_owned(), pair.root.to_string());
    labels.insert(CLUSTER_NAME_LABEL.to_owned(), pair.cluster.clone());
    labels.insert(CLUSTER_NAMESPACE_LABEL.to_owned(), pair.cluster.clone());
    let mut annotations = copied(root.annotations());
    annotations.remove(LAST_APPLIED_ANNOTATION);
    annotations.remove(TRIGGER_UPDATE_ANNOTATION);
    annotations.insert(
        ARGOCD_COMPARE_OPTIONS_ANNOTATION.to_owned(),
        ARGOCD_IGNORE_EXTRANEOUS.to_owned(),
    );
    Policy {
        metadata: ObjectMeta {
            name: Some(pair.root.to_string()),
            namespace: Some(pair.cluster.clone()),
            labels: Some(labels),
            annotations: Some(annotations),
            ..ObjectMeta::default()
        },
        spec: desired_spec(root, placed),
        status: None,
    }
}

fn desired_spec(root: &Policy, placed: &Placed) -> PolicySpec {
    let mut spec = root.spec.clone();
    if spec.remediation() != Some(RemediationAction::Enforce)
        && let Some(enforce) = &placed.enforce
    {
        spec.remediation_action = Some(enforce.clone());
    }
    let namespace = root.namespace().unwrap_or_default();
    let untouched = root
        .annotations()
        .get(DISABLE_TEMPLATES_ANNOTATION)
        .and_then(|value| parse_go_bool(value))
        .unwrap_or(false);
    rewrite_dependencies(&mut spec.dependencies, &namespace);
    for template in &mut spec.policy_templates {
        rewrite_dependencies(&mut template.extra_dependencies, &namespace);
        if !untouched && has_hub_template(template) {
            withhold(template);
        }
    }
    spec
}

/// On the cluster a policy is called `<root namespace>.<name>`, and so must those who wait for it.
fn rewrite_dependencies(list: &mut Option<Vec<PolicyDependency>>, root_namespace: &str) {
    for item in list.iter_mut().flatten() {
        if item.api_version != POLICY_API_VERSION || item.kind != "Policy" {
            continue;
        }
        let namespace = item
            .namespace
            .take()
            .filter(|namespace| !namespace.is_empty());
        if namespace.is_none() && item.name.contains('.') {
            continue;
        }
        item.name = format!(
            "{}.{}",
            namespace.as_deref().unwrap_or(root_namespace),
            item.name
        );
    }
}

fn has_hub_template(template: &PolicyTemplate) -> bool {
    template.object_definition.to_string().contains("{{hub")
}

/// Raw hub templates never leave the hub: of such a template only its name goes out, with the
/// reason why the rest does not.
fn withhold(template: &mut PolicyTemplate) {
    let kept = |pointer| {
        template
            .text(pointer)
            .filter(|text| !text.contains("{{hub"))
    };
    let mut shell = json!({
        "metadata": { "annotations": {
            HUB_TEMPLATES_ERROR_ANNOTATION: messages::HUB_TEMPLATES_UNSUPPORTED,
        } },
    });
    if let Some(name) = kept("/metadata/name") {
        shell["metadata"]["name"] = json!(name);
    }
    for (pointer, field) in [("/apiVersion", "apiVersion"), ("/kind", "kind")] {
        if let Some(text) = kept(pointer) {
            shell[field] = json!(text);
        }
    }
    template.object_definition = shell;
}

/// What to do about one root policy.
#[derive(Clone, Debug, PartialEq)]
pub enum RootAction {
    /// Its status is as it should be.
    Nothing,
    /// Its status must change.
    Write(Box<PolicyStatus>),
    /// It lies where only replicas belong, and nothing binds it: it must go.
    RemoveStray,
    /// It lies where only replicas belong, but somebody means it: it is left, and not propagated.
    LeaveStray,
}

/// Decides about a root policy, given whether its namespace belongs to a managed cluster.
pub fn root(policy: &Policy, in_cluster_namespace: bool, reach: &Reach) -> RootAction {
    if in_cluster_namespace {
        // A cluster may have been given the name of a namespace that was there before it, with
        // policies in use: a binding is the sign.
        return if reach.placements.is_empty() {
            RootAction::RemoveStray
        } else {
            RootAction::LeaveStray
        };
    }
    match root_status(policy, reach) {
        Some(status) => RootAction::Write(Box::new(status)),
        None => RootAction::Nothing,
    }
}

/// The status a root policy should have; `None` if it has it.
pub fn root_status(policy: &Policy, reach: &Reach) -> Option<PolicyStatus> {
    let clusters = if policy.spec.disabled {
        BTreeMap::new()
    } else {
        reach.clusters.clone()
    };
    let compliant = sum(clusters.values().copied()).map(|sum| sum.to_string());
    let per_cluster = clusters
        .into_iter()
        .map(|(cluster, says)| CompliancePerCluster {
            clustername: Some(cluster.clone()),
            clusternamespace: Some(cluster),
            compliant: says.map(|says| says.to_string()),
            remaining_bindings: None,
        });
    let desired = PolicyStatus {
        compliant,
        status: Some(per_cluster.collect()),
        placement: Some(reach.placements.clone()),
        details: policy
            .status
            .as_ref()
            .and_then(|status| status.details.clone()),
    };
    let desired = normal(desired);
    let current = normal(policy.status.clone().unwrap_or_default());
    (current != desired).then_some(desired)
}

/// Empty lists and absent ones say the same.
fn normal(mut status: PolicyStatus) -> PolicyStatus {
    status.status = status.status.filter(|list| !list.is_empty());
    status.placement = status.placement.filter(|list| !list.is_empty());
    status
}

/// The compliance of a root policy: the worst answer, if every cluster has answered.
fn sum(answers: impl Iterator<Item = Option<Compliance>>) -> Option<Compliance> {
    let answers: Vec<_> = answers.collect();
    let any = |wanted: Compliance| answers.contains(&Some(wanted));
    if any(Compliance::NonCompliant) {
        Some(Compliance::NonCompliant)
    } else if any(Compliance::Pending) {
        Some(Compliance::Pending)
    } else if answers.is_empty()
        || answers
            .iter()
            .any(|says| *says != Some(Compliance::Compliant))
    {
        None
    } else {
        Some(Compliance::Compliant)
    }
}
