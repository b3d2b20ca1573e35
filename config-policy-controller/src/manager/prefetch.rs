//! Opens shared watches before the first evaluations.
//!
//! A process that starts with many policies would learn one by one how many objects of a kind they name, and begin
//! with one watch for each object. The specs are known before: where they name many objects, one watch of the kind
//! is opened first, and single watches are not needed (CFG-169).

use std::collections::HashMap;
use std::time::Duration;

use futures::future::join_all;
use kube::core::GroupVersionKind;
use reeve_api::configuration_policy::{ConfigurationPolicy, ConfigurationPolicyStatus};
use reeve_runtime::dependencies::{DependencyWatches, SHARED_WATCH_THRESHOLD};
use reeve_runtime::kinds::Kinds;
use reeve_runtime::object::ObjectKey;
use reeve_runtime::watch::Store;

use crate::evaluate::desired::{ObjectIdentity, is_templated};
use crate::evaluate::spec::selector;
use crate::metrics::{PolicyKind, PolicyRef};
use crate::status::interval::Interval;

/// How long the watches are kept for policies that were not evaluated yet.
const HOLD: Duration = Duration::from_mins(1);

/// The owner of the shared watches: a key that no policy has.
pub fn watch_owner() -> ObjectKey {
    ObjectKey::new("", "")
}

/// Opens the watches that the policies will need together.
pub async fn open_shared_watches(
    policies: &[Store<ConfigurationPolicy>],
    watches: &DependencyWatches<ObjectKey>,
    kinds: &Kinds<PolicyRef>,
) {
    let named = policies.iter().flat_map(|store| {
        store
            .collect(|_, policy| Some(named(policy)))
            .into_iter()
            .flatten()
    });
    let mut counts: HashMap<(GroupVersionKind, String), usize> = HashMap::new();
    for object in named {
        *counts.entry(object).or_default() += 1;
    }
    counts.retain(|_, count| *count >= SHARED_WATCH_THRESHOLD);
    if counts.is_empty() {
        return;
    }
    let owner = watch_owner();
    let batch = watches.begin(&owner);
    let reader = (PolicyKind::Configuration, owner.clone());
    join_all(counts.keys().map(|(kind, namespace)| async {
        // The policies that need the kind report the error.
        if let Ok(served) = kinds.find(kind, &reader).await {
            let namespace = if served.namespaced {
                namespace.as_str()
            } else {
                ""
            };
            let _ = batch.list(&served, namespace, "").await;
        }
    }))
    .await;
    batch.end();
    kinds.unwatch(&reader);
    let watches = watches.clone();
    tokio::spawn(async move {
        tokio::time::sleep(HOLD).await;
        watches.unwatch(&owner);
    });
}

/// Kind and namespace of each object that the policy names and will watch.
fn named(policy: &ConfigurationPolicy) -> Vec<(GroupVersionKind, String)> {
    let state = policy
        .status
        .as_ref()
        .and_then(ConfigurationPolicyStatus::compliance);
    let interval = Interval::of(policy.spec.evaluation_interval.as_ref(), state);
    if interval != Interval::Watch || policy.metadata.deletion_timestamp.is_some() {
        return Vec::new();
    }
    let templates = policy.spec.object_templates.iter().flatten();
    let identities = templates
        .filter_map(|template| ObjectIdentity::of(template.object_definition.as_object()?));
    // Which namespaces a selector chooses is not known yet. They may be few, and a watch of all of them would keep what
    // nobody reads.
    let chooses = selector(policy).is_some();
    let known = identities.filter(|identity| !(chooses && identity.namespace.is_empty()));
    let literal = known.filter(|identity| {
        let texts = [&identity.name, &identity.namespace, &identity.kind.kind];
        !identity.name.is_empty() && !texts.into_iter().any(|text| is_templated(text))
    });
    literal
        .map(|identity| (identity.kind, identity.namespace))
        .collect()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case::in_a_namespace(json!({"name": "s", "namespace": "shop"}), json!(null), Some("shop"))]
    #[case::without_namespaces(json!({"name": "s"}), json!(null), Some(""))]
    #[case::where_a_selector_says(json!({"name": "s"}), json!({"include": ["a"]}), None)]
    #[case::in_a_namespace_all_the_same(
        json!({"name": "s", "namespace": "shop"}),
        json!({"include": ["a"]}),
        Some("shop")
    )]
    #[case::a_template_says(json!({"name": "{{ print }}", "namespace": "shop"}), json!(null), None)]
    #[case::any(json!({"namespace": "shop"}), json!(null), None)]
    fn only_what_is_known_is_counted(
        #[case] metadata: serde_json::Value,
        #[case] selector: serde_json::Value,
        #[case] expected: Option<&str>,
    ) {
        let definition = json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata});
        let template = json!({"complianceType": "musthave", "objectDefinition": definition});
        let mut policy = json!({
            "apiVersion": "policy.open-cluster-management.io/v1", "kind": "ConfigurationPolicy",
            "metadata": {"name": "p", "namespace": "managed"},
            "spec": {"remediationAction": "inform", "object-templates": [template]},
        });
        if !selector.is_null() {
            policy["spec"]["namespaceSelector"] = selector;
        }
        let policy: ConfigurationPolicy = serde_json::from_value(policy).unwrap();
        let namespaces = named(&policy).into_iter().map(|(_, namespace)| namespace);
        assert_eq!(namespaces.collect::<Vec<_>>(), Vec::from_iter(expected));
    }
}
