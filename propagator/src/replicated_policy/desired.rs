//! The replica that a cluster should hold, before its hub templates are resolved.

use std::collections::BTreeMap;

use kube::ResourceExt;
use kube::api::ObjectMeta;
use reeve_api::names::{
    ARGOCD_COMPARE_OPTIONS_ANNOTATION, ARGOCD_IGNORE_EXTRANEOUS, CLUSTER_NAME_LABEL,
    CLUSTER_NAMESPACE_LABEL, ENCRYPTION_IV_ANNOTATION, GROUP, LAST_APPLIED_ANNOTATION,
    POLICY_API_VERSION, ROOT_POLICY_LABEL, TRIGGER_UPDATE_ANNOTATION,
};
use reeve_api::policy::{PolicyDependency, PolicySpec};
use reeve_api::{Policy, RemediationAction};
use reeve_runtime::object::ObjectKey;

use crate::index::{Pair, Placed, dependency_set};

/// The policies that a set lists; `None` if there is no such set.
pub type Members<'a> = &'a dyn Fn(&ObjectKey) -> Option<Vec<String>>;

/// The desired replica. The initialization vector of the live one is kept, that of the root policy is never used: with a vector that
/// the author of a policy chooses, equal values of several clusters or times could be recognized. A live vector that equals the
/// root's has been copied from it.
pub fn desired(
    root: &Policy,
    pair: &Pair,
    placed: &Placed,
    vector: Option<&str>,
    members: Members<'_>,
) -> Policy {
    let mut labels = copied_metadata(root, root.labels());
    labels.insert(ROOT_POLICY_LABEL.to_owned(), pair.root.to_string());
    labels.insert(CLUSTER_NAME_LABEL.to_owned(), pair.cluster.clone());
    labels.insert(CLUSTER_NAMESPACE_LABEL.to_owned(), pair.cluster.clone());
    let mut annotations = copied_metadata(root, root.annotations());
    annotations.remove(LAST_APPLIED_ANNOTATION);
    annotations.remove(TRIGGER_UPDATE_ANNOTATION);
    let chosen = annotations.remove(ENCRYPTION_IV_ANNOTATION);
    let vector = vector.filter(|vector| chosen.as_deref() != Some(vector));
    let mut set = |name: &str, value: &str| annotations.insert(name.to_owned(), value.to_owned());
    set(ARGOCD_COMPARE_OPTIONS_ANNOTATION, ARGOCD_IGNORE_EXTRANEOUS);
    if let Some(vector) = vector {
        set(ENCRYPTION_IV_ANNOTATION, vector);
    }
    Policy {
        metadata: ObjectMeta {
            name: Some(pair.root.to_string()),
            namespace: Some(pair.cluster.clone()),
            labels: Some(labels),
            annotations: Some(annotations),
            ..ObjectMeta::default()
        },
        spec: spec(root, placed, members),
        status: None,
    }
}

fn copied_metadata(root: &Policy, map: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let ours = |key: &str| {
        let rest = key.strip_prefix(GROUP);
        rest.is_some_and(|rest| rest.starts_with('/'))
    };
    let kept = map
        .iter()
        .filter(|(key, _)| root.spec.copies_metadata() || ours(key));
    kept.map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

fn spec(root: &Policy, placed: &Placed, members: Members<'_>) -> PolicySpec {
    let mut spec = root.spec.clone();
    if spec.remediation() != Some(RemediationAction::Enforce)
        && let Some(enforce) = &placed.enforce
    {
        spec.remediation_action = Some(enforce.clone());
    }
    let namespace = root.namespace().unwrap_or_default();
    rewrite_dependencies(&mut spec.dependencies, &namespace, members);
    for template in &mut spec.policy_templates {
        rewrite_dependencies(&mut template.extra_dependencies, &namespace, members);
    }
    spec
}

/// Rewrites dependencies for the cluster, where a policy is named `<root namespace>.<name>`, and where policy sets do not exist,
/// only their members.
fn rewrite_dependencies(
    list: &mut Option<Vec<PolicyDependency>>,
    root_namespace: &str,
    members: Members<'_>,
) {
    let Some(items) = list else { return };
    let rewritten = std::mem::take(items).into_iter();
    *items = rewritten
        .flat_map(|item| rewrite_dependency(item, root_namespace, members))
        .collect();
}

fn rewrite_dependency(
    mut item: PolicyDependency,
    root_namespace: &str,
    members: Members<'_>,
) -> Vec<PolicyDependency> {
    if let Some(set) = dependency_set(&item, root_namespace) {
        let Some(names) = members(&set) else {
            item.namespace = Some(set.namespace);
            return vec![item];
        };
        let member = |name: String| PolicyDependency {
            api_version: POLICY_API_VERSION.to_owned(),
            kind: "Policy".to_owned(),
            name: format!("{}.{name}", set.namespace),
            namespace: None,
            compliance: item.compliance.clone(),
        };
        return names.into_iter().map(member).collect();
    }
    if item.api_version != POLICY_API_VERSION || item.kind != "Policy" {
        return vec![item];
    }
    let namespace = item.namespace.take().filter(|own| !own.is_empty());
    // A name with a dot and no namespace is a full name already.
    if namespace.is_some() || !item.name.contains('.') {
        let namespace = namespace.as_deref().unwrap_or(root_namespace);
        item.name = format!("{namespace}.{}", item.name);
    }
    vec![item]
}
