//! The Ansible job that an automation runs.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use kube::{Resource, ResourceExt};
use reeve_api::names::GROUP;
use reeve_api::{Policy, PolicyAutomation};
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use crate::automation_mode::AutomationMode;

/// Seconds for which a finished job is kept, unless the automation sets `jobTtl`.
const DEFAULT_JOB_TTL: i64 = 86_400;
/// Violations passed to a job, unless the automation sets `policyViolationsLimit`.
const DEFAULT_VIOLATIONS_LIMIT: i64 = 1000;
/// The longest value of a label.
const MAX_LABEL_LENGTH: usize = 63;
/// The longest prefix of a job's name: the names that Ansible derives from it have to fit into labels, too.
const MAX_PREFIX_LENGTH: usize = 52;

/// The resource of Ansible jobs.
pub fn resource() -> ApiResource {
    let kind = GroupVersionKind::gvk("tower.ansible.com", "v1alpha1", "AnsibleJob");
    ApiResource::from_gvk_with_plural(&kind, "ansiblejobs")
}

/// The label of a job that names its automation.
pub fn label() -> String {
    format!("{GROUP}/policyautomation-name")
}

/// The generation of the automation that a job was made for.
pub fn generation_annotation() -> String {
    format!("{GROUP}/policyautomation-generation")
}

/// The resource version of the automation that a job was made for.
pub fn version_annotation() -> String {
    format!("{GROUP}/policyautomation-resource-version")
}

/// On a job that is not recorded yet: the mode that it was run in.
pub fn pending_annotation() -> String {
    format!("{GROUP}/policyautomation-pending")
}

/// Whether a job was run in this mode and is not recorded yet. Upstream's controller marks no jobs: one of its jobs counts if
/// it was created for the current version of the automation.
pub fn is_pending_for(
    job: &DynamicObject,
    automation: &PolicyAutomation,
    mode: AutomationMode,
) -> bool {
    let value = |annotation: String| job.annotations().get(&annotation);
    if let Some(pending) = value(pending_annotation()) {
        return pending == mode.as_str();
    }
    match mode {
        AutomationMode::Once => {
            let generation = automation.metadata.generation.unwrap_or_default();
            value(generation_annotation()) == Some(&generation.to_string())
        }
        AutomationMode::Manual => {
            value(version_annotation()) == automation.resource_version().as_ref()
        }
        AutomationMode::EveryEvent | AutomationMode::Disabled => false,
    }
}

/// The clusters that a job was run for.
pub fn targets(job: &DynamicObject) -> Vec<String> {
    let targets = job.data.pointer("/spec/extra_vars/target_clusters");
    let targets = targets.and_then(Value::as_array).into_iter().flatten();
    let names = targets.filter_map(Value::as_str);
    names.map(str::to_owned).collect()
}

/// The value of the label for an automation. A name that is too long for a label is cut, with a hash for the rest.
pub fn label_value(automation: &str) -> String {
    if automation.len() <= MAX_LABEL_LENGTH {
        return automation.to_owned();
    }
    let hash = short_hash([automation.as_bytes()]);
    let start: String = automation
        .chars()
        .take(MAX_LABEL_LENGTH - hash.len() - 1)
        .collect();
    format!("{start}-{hash}")
}

/// The input of a job.
pub struct JobContext<'a> {
    /// The automation, as it is now.
    pub automation: &'a PolicyAutomation,
    /// Its policy.
    pub policy: &'a Policy,
    /// The mode in which it runs.
    pub mode: AutomationMode,
    /// The clusters to run for.
    pub targets: &'a [String],
    /// The base domain of the hub; empty if it has none.
    pub hub_cluster: &'a str,
    /// The replicas of target clusters, by cluster.
    pub replicas: &'a BTreeMap<String, Policy>,
}

/// The limit of violations passed to a job; `None` for all.
pub fn violations_limit(automation: &PolicyAutomation) -> Option<usize> {
    let limit = automation.spec.automation_def.policy_violations_limit;
    match limit.unwrap_or(DEFAULT_VIOLATIONS_LIMIT) {
        0 => None,
        limit => Some(usize::try_from(limit).unwrap_or(usize::MAX)),
    }
}

/// Builds the job. Its name is derived from its input, so that a repeated creation makes no second job.
pub fn job(context: &JobContext<'_>) -> DynamicObject {
    let automation = context.automation;
    let definition = &automation.spec.automation_def;
    let prefix = prefix(&automation.name_any(), context.mode);
    let version = automation.resource_version().unwrap_or_default();
    let generation = automation.metadata.generation.unwrap_or_default();
    let mut job = DynamicObject::new(&name(context, &prefix, &version), &resource())
        .within(&automation.namespace().unwrap_or_default())
        .data(json!({ "spec": {
            "job_template_name": definition.name,
            "tower_auth_secret": definition.secret,
            "job_ttl": definition.job_ttl.unwrap_or(DEFAULT_JOB_TTL),
            "extra_vars": extra_vars(context),
        } }));
    let metadata = &mut job.metadata;
    metadata.generate_name = Some(prefix);
    metadata.labels = Some([(label(), label_value(&automation.name_any()))].into());
    metadata.annotations = Some(
        [
            (generation_annotation(), generation.to_string()),
            (version_annotation(), version),
            (pending_annotation(), context.mode.as_str().to_owned()),
        ]
        .into(),
    );
    metadata.owner_references = automation
        .controller_owner_ref(&())
        .map(|owner| vec![blocking(owner)]);
    job
}

/// An owner whose deletion waits for what it owns.
pub fn blocking(owner: OwnerReference) -> OwnerReference {
    OwnerReference {
        block_owner_deletion: Some(true),
        ..owner
    }
}

fn prefix(automation: &str, mode: AutomationMode) -> String {
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() {
            c.to_ascii_lowercase()
        } else {
            '-'
        }
    };
    let suffix = format!("-{}-", mode.as_str().to_lowercase());
    let start: String = automation
        .chars()
        .map(plain)
        .take(MAX_PREFIX_LENGTH - suffix.len())
        .collect();
    format!("{start}{suffix}")
}

/// The name is derived from the version of the automation and the clusters: a lost answer of the API server must not lead to
/// another job.
fn name(context: &JobContext<'_>, prefix: &str, version: &str) -> String {
    let uid = context.automation.uid().unwrap_or_default();
    let targets = context.targets.join(",");
    let hash = short_hash([uid.as_bytes(), version.as_bytes(), targets.as_bytes()]);
    format!("{prefix}{hash}")
}

fn short_hash<const N: usize>(parts: [&[u8]; N]) -> String {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update(part);
        hasher.update([0]);
    }
    let digest: [u8; 32] = hasher.finalize().into();
    digest.iter().take(5).fold(String::new(), |mut hash, byte| {
        // Writing to a String does not fail.
        let _ = write!(hash, "{byte:02x}");
        hash
    })
}

/// The user's variables, overridden by those of the propagator.
fn extra_vars(context: &JobContext<'_>) -> Value {
    let vars = &context.automation.spec.automation_def.extra_vars;
    let mut vars = match vars {
        Some(Value::Object(vars)) => vars.clone(),
        _ => Map::new(),
    };
    let status = context.policy.status.iter();
    let placements = status.flat_map(|status| status.placement.iter().flatten());
    let sets: Vec<_> = placements
        .filter_map(|placement| placement.policy_set.clone())
        .collect();
    let ours = [
        ("target_clusters", json!(context.targets)),
        ("policy_name", json!(context.policy.name_any())),
        ("policy_namespace", json!(context.policy.namespace())),
        ("hub_cluster", json!(context.hub_cluster)),
        ("policy_sets", json!(sets)),
        ("policy_violations", violations(context)),
    ];
    vars.extend(ours.map(|(name, value)| (name.to_owned(), value)));
    Value::Object(vars)
}

fn violations(context: &JobContext<'_>) -> Value {
    let limit = violations_limit(context.automation).unwrap_or(usize::MAX);
    let violations = context.replicas.iter().take(limit);
    let violations: Map<String, Value> = violations
        .map(|(cluster, replica)| (cluster.clone(), violation(replica)))
        .collect();
    if violations.is_empty() {
        return Value::Null;
    }
    Value::Object(violations)
}

fn violation(replica: &Policy) -> Value {
    let status = replica.status.as_ref();
    let details = status.and_then(|status| status.details.as_deref());
    let details = details.unwrap_or_default();
    let latest = details.first().and_then(|details| {
        let entry = details.history.as_deref().unwrap_or_default().first()?;
        entry.message.clone()
    });
    let details = details.iter().map(|details| {
        let history = details.history.as_deref().unwrap_or_default().iter();
        let history: Vec<_> = history
            .map(|entry| json!({ "lastTimestamp": entry.last_timestamp, "message": entry.message }))
            .collect();
        json!({ "compliant": details.compliant, "history": history })
    });
    json!({
        "compliant": status.and_then(|status| status.compliant.clone()),
        "violation_message": latest.unwrap_or_default(),
        "details": details.collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn automation(name: &str) -> PolicyAutomation {
        serde_json::from_value(json!({
            "metadata": {
                "name": name, "namespace": "n", "uid": "u", "resourceVersion": "7", "generation": 2,
            },
            "spec": {
                "mode": "once", "policyRef": "p",
                "automationDef": {
                    "name": "template", "secret": "token",
                    "extra_vars": { "mine": 1, "policy_name": "not mine" },
                },
            },
        }))
        .unwrap()
    }

    fn policy() -> Policy {
        serde_json::from_value(json!({
            "metadata": { "name": "p", "namespace": "n" },
            "spec": { "disabled": false, "policy-templates": [] },
            "status": { "placement": [{ "policySet": "s" }, { "placementBinding": "b" }] },
        }))
        .unwrap()
    }

    fn replica() -> Policy {
        let history = json!([
            { "lastTimestamp": "2026-11-21T10:00:00Z", "message": "NonCompliant; x", "eventName": "e" },
            { "message": "Compliant; y" },
        ]);
        serde_json::from_value(json!({
            "metadata": { "name": "n.p", "namespace": "c1" },
            "spec": { "disabled": false, "policy-templates": [] },
            "status": {
                "compliant": "NonCompliant",
                "details": [{ "compliant": "NonCompliant", "templateMeta": { "name": "t" }, "history": history }],
            },
        }))
        .unwrap()
    }

    fn made(
        name: &str,
        mode: AutomationMode,
        replicas: &BTreeMap<String, Policy>,
    ) -> DynamicObject {
        let targets: Vec<_> = replicas.keys().cloned().collect();
        job(&JobContext {
            automation: &automation(name),
            policy: &policy(),
            mode,
            targets: &targets,
            hub_cluster: "hub.local",
            replicas,
        })
    }

    #[test]
    fn job_has_all_variables() {
        let replicas: BTreeMap<_, _> = [("c1".to_owned(), replica())].into();
        let job = made("my.Automation", AutomationMode::Once, &replicas);
        assert_eq!(
            job.metadata.generate_name.as_deref(),
            Some("my-automation-once-")
        );
        insta::assert_json_snapshot!(job.data, @r#"
        {
          "spec": {
            "extra_vars": {
              "hub_cluster": "hub.local",
              "mine": 1,
              "policy_name": "p",
              "policy_namespace": "n",
              "policy_sets": [
                "s"
              ],
              "policy_violations": {
                "c1": {
                  "compliant": "NonCompliant",
                  "details": [
                    {
                      "compliant": "NonCompliant",
                      "history": [
                        {
                          "lastTimestamp": "2026-11-21T10:00:00Z",
                          "message": "NonCompliant; x"
                        },
                        {
                          "lastTimestamp": null,
                          "message": "Compliant; y"
                        }
                      ]
                    }
                  ],
                  "violation_message": "NonCompliant; x"
                }
              },
              "target_clusters": [
                "c1"
              ]
            },
            "job_template_name": "template",
            "job_ttl": 86400,
            "tower_auth_secret": "token"
          }
        }
        "#);
    }

    #[test]
    fn job_without_targets_has_no_violations() {
        let job = made("a", AutomationMode::Manual, &BTreeMap::new());
        let vars = &job.data["spec"]["extra_vars"];
        assert_eq!(vars["target_clusters"], json!([]));
        assert_eq!(vars["policy_violations"], Value::Null);
    }

    #[test]
    fn prop_173_same_input_has_the_same_job_name() {
        let some: BTreeMap<_, _> = [("c1".to_owned(), replica())].into();
        let name = |mode, on: &BTreeMap<_, _>| made("a", mode, on).metadata.name;
        assert_eq!(
            name(AutomationMode::Once, &some),
            name(AutomationMode::Once, &some)
        );
        assert_ne!(
            name(AutomationMode::Once, &some),
            name(AutomationMode::Once, &BTreeMap::new())
        );
        assert_ne!(
            name(AutomationMode::Once, &some),
            name(AutomationMode::EveryEvent, &some)
        );
    }

    #[test]
    fn job_is_pending_until_it_is_recorded() {
        let is_pending_for =
            |job: &DynamicObject, mode| super::is_pending_for(job, &automation("a"), mode);
        let mut job = made("a", AutomationMode::EveryEvent, &BTreeMap::new());
        assert!(is_pending_for(&job, AutomationMode::EveryEvent));
        assert!(
            !is_pending_for(&job, AutomationMode::Manual),
            "another mode"
        );
        job.annotations_mut().remove(&pending_annotation());
        assert!(!is_pending_for(&job, AutomationMode::EveryEvent));
        assert!(
            is_pending_for(&job, AutomationMode::Once),
            "as upstream marks what was run once"
        );
    }

    #[test]
    fn prop_48_any_limit_of_violations_is_accepted() {
        let mut automation = automation("a");
        for (limit, expected) in [
            (None, Some(1000)),
            (Some(0), None),
            (Some(3), Some(3)),
            (Some(1_000_000), Some(1_000_000)),
            (Some(i64::MAX), Some(usize::MAX >> 1)),
        ] {
            automation.spec.automation_def.policy_violations_limit = limit;
            assert_eq!(violations_limit(&automation), expected);
        }
    }

    #[test]
    fn prop_175_long_name_is_cut_to_fit_into_a_label() {
        let long = "a".repeat(200);
        let other = format!("{}b", "a".repeat(199));
        assert_eq!(label_value(&long).len(), 63);
        assert_ne!(label_value(&long), label_value(&other));
        assert_eq!(label_value("short"), "short");
        let name = made(&long, AutomationMode::EveryEvent, &BTreeMap::new())
            .metadata
            .name;
        assert!(name.is_some_and(|name| name.len() <= 63));
    }
}
