//! Stories of one add-on: the plans of successive reconciles.

mod reapply;

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, OwnerReference};
use reeve_api::work::ManifestWork;
use reeve_runtime::object::ObjectKey;
use serde_json::{Value, json};

use super::build::{self, BuildError, Layouts};
use super::decide::{self, Plan, View, decide};
use super::finalizers::{Finalizers, HOSTING_CLEANUP, HOSTING_PRE_DELETE, PRE_DELETE};
use super::observe;
use super::shapes::Shapes;
use crate::addon::Addon;
use crate::facts::{Config, FORCE_ANNOTATION, Inputs};
use crate::messages::conditions as texts;
use crate::testing::{annotated, cluster, hosted, inputs};
use crate::work::Live;
use crate::work_conditions;

/// A hub with one add-on, on which plans are executed.
struct FakeHub {
    inputs: Inputs,
    finalizers: Vec<String>,
    conditions: Vec<Condition>,
    works: BTreeMap<ObjectKey, Value>,
    /// In seconds of the Unix epoch.
    now: i64,
}

impl FakeHub {
    fn new(inputs: Inputs) -> Self {
        Self {
            inputs,
            finalizers: Vec::new(),
            conditions: Vec::new(),
            works: BTreeMap::new(),
            now: 1_000,
        }
    }

    fn live(&self) -> BTreeMap<ObjectKey, Arc<Live>> {
        let read = |work: &Value| -> ManifestWork { serde_json::from_value(work.clone()).unwrap() };
        self.works
            .iter()
            .map(|(key, work)| (key.clone(), Arc::new(Live::of(read(work)))))
            .collect()
    }

    /// Reconciles once, executes the plan, and returns it.
    fn reconcile(&mut self) -> Plan {
        let live = self.live();
        let owner = OwnerReference {
            kind: "ManagedClusterAddOn".to_owned(),
            uid: "1".to_owned(),
            ..OwnerReference::default()
        };
        let owner = (!Finalizers::is_foreground(&self.finalizers)).then_some(&owner);
        let layouts: Layouts = observe::layouts(&self.inputs, &live, self.now);
        let works = build::build(&self.inputs, owner, None, &layouts);
        let shapes: Result<Shapes, &BuildError> = works.as_ref().map(Shapes::of);
        let plan = decide(&View {
            inputs: &self.inputs,
            finalizers: &self.finalizers,
            conditions: &self.conditions,
            live: &live,
            wanted: shapes.as_ref().map_err(|error| *error),
            is_settled: &|_, _, _| false,
        });
        for key in &plan.write {
            let desired = works.as_ref().unwrap().get(key).unwrap();
            let before = self.works.get(key);
            let status = before.map(|work| work["status"].clone());
            let generation = before.and_then(|work| work["metadata"]["generation"].as_i64());
            let mut object = desired.object();
            object["status"] = status.unwrap_or(json!({}));
            let is_changed = before.is_none_or(|work| work["spec"] != object["spec"]);
            object["metadata"]["generation"] =
                json!(generation.unwrap_or(0) + i64::from(is_changed));
            self.works.insert(key.clone(), object);
        }
        for key in &plan.delete {
            self.works.remove(key);
        }
        self.conditions = work_conditions::after(
            &self.conditions,
            &plan.condition_changes,
            jiff::Timestamp::UNIX_EPOCH,
        );
        if let Some(edit) = &plan.finalizers {
            self.finalizers = edit.apply(&self.finalizers);
        }
        plan
    }

    /// Reconciles until nothing changes, and returns how many reconciles it took.
    fn settle(&mut self) -> usize {
        for looks in 0..10 {
            let before = (
                self.finalizers.clone(),
                self.conditions.clone(),
                self.works.clone(),
            );
            self.reconcile();
            let after = (
                self.finalizers.clone(),
                self.conditions.clone(),
                self.works.clone(),
            );
            if before == after {
                return looks;
            }
        }
        panic!(
            "it never settles: {:?} {:?}",
            self.finalizers, self.conditions
        );
    }

    /// The work agent reports that it has applied everything.
    fn apply(&mut self, is_applied: bool) {
        let status = if is_applied { "True" } else { "False" };
        let condition = |kind: &str| {
            json!({
                "type": kind, "status": status, "reason": "x", "message": "",
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            })
        };
        for work in self.works.values_mut() {
            let mut conditions = json!([condition("Applied"), condition("Available")]);
            conditions[0]["observedGeneration"] = work["metadata"]["generation"].clone();
            work["status"]["conditions"] = conditions;
        }
    }

    /// The work agent reports this status of the CRD.
    fn report(&mut self, report: &Value) {
        let mut report = report.clone();
        let name = "policies.policy.open-cluster-management.io";
        report["resourceMeta"] = json!({ "kind": "CustomResourceDefinition", "name": name });
        for work in self.works.values_mut() {
            work["status"]["resourceStatus"] = json!({ "manifests": [report] });
        }
    }

    /// The Pods of the hook have ended.
    fn clean_up(&mut self, phase: &str) {
        self.apply(true);
        for work in self.works.values_mut() {
            let pod = work["spec"]["workload"]["manifests"][0].clone();
            if pod["kind"] == "Pod" {
                let metadata = &pod["metadata"];
                let value = json!({ "name": "PodPhase", "fieldValue": { "type": "String", "string": phase } });
                work["status"]["resourceStatus"] = json!({ "manifests": [{
                    "resourceMeta": {
                        "resource": "pods", "namespace": metadata["namespace"], "name": metadata["name"],
                    },
                    "statusFeedback": { "values": [value] },
                }]});
            }
        }
    }

    fn names(&self) -> Vec<String> {
        self.works.keys().map(ToString::to_string).collect()
    }

    fn condition(&self, kind: &str) -> Option<(&str, &str, &str)> {
        let found = self.conditions.iter().find(|found| found.type_ == kind)?;
        Some((&found.status, &found.reason, &found.message))
    }
}

const APPLIED: (&str, &str, &str) = (
    "True",
    "AddonManifestApplied",
    "manifests of addon are applied successfully",
);

#[test]
fn default_mode_from_installation_to_removal() {
    let mut fake = FakeHub::new(inputs(Addon::ConfigPolicy));
    fake.settle();
    assert_eq!(fake.names(), ["c1/addon-config-policy-controller-deploy-0"]);
    assert_eq!(fake.finalizers, [PRE_DELETE]);
    assert_eq!(
        fake.condition(texts::MANIFEST_APPLIED),
        None,
        "no work has a status"
    );
    fake.apply(true);
    fake.settle();
    assert_eq!(fake.condition(texts::MANIFEST_APPLIED), Some(APPLIED));
    fake.inputs.addon.is_deleting = true;
    fake.settle();
    let deployment =
        fake.works[&ObjectKey::new("c1", "addon-config-policy-controller-deploy-0")].to_string();
    assert!(deployment.contains(r#""policy.open-cluster-management.io/uninstalling":"true""#));
    let hook = "addon-config-policy-controller-pre-delete";
    assert_eq!(fake.names()[1], format!("c1/{hook}"));
    let waiting = "hook manifestWork addon-config-policy-controller-pre-delete is not completed.";
    let expected = ("False", "HookManifestIsNotCompleted", waiting);
    assert_eq!(fake.condition(texts::HOOK_COMPLETED), Some(expected));
    fake.clean_up("Running");
    fake.settle();
    assert_eq!(fake.finalizers, [PRE_DELETE]);
    fake.clean_up("Succeeded");
    fake.settle();
    assert!(fake.finalizers.is_empty());
    let done = "hook manifestWork addon-config-policy-controller-pre-delete is completed.";
    let expected = ("True", "HookManifestIsCompleted", done);
    assert_eq!(fake.condition(texts::HOOK_COMPLETED), Some(expected));
}

#[test]
fn hosted_mode_from_installation_to_removal() {
    let mut fake = FakeHub::new(hosted(Addon::Framework));
    let plan = fake.reconcile();
    assert!(
        plan.write.is_empty(),
        "works there have no owner: the finalizer comes first"
    );
    fake.settle();
    let deploy = "host/addon-governance-policy-framework-deploy-hosting-c1-0";
    assert_eq!(fake.names(), [deploy]);
    assert_eq!(fake.finalizers.len(), 2);
    let valid = "hosting cluster host is a managed cluster of the hub";
    assert_eq!(
        fake.condition(texts::HOSTING_VALID),
        Some(("True", "HostingClusterValid", valid))
    );
    fake.apply(true);
    fake.settle();
    assert_eq!(
        fake.condition(texts::HOSTING_MANIFEST_APPLIED),
        Some(APPLIED)
    );
    let nothing = ("True", "AddonManifestApplied", "no manifest need to apply");
    assert_eq!(fake.condition(texts::MANIFEST_APPLIED), Some(nothing));
    fake.inputs.addon.is_deleting = true;
    fake.settle();
    let hook = "host/addon-governance-policy-framework-pre-delete-hosting-c1";
    assert_eq!(fake.names(), [deploy, hook]);
    fake.clean_up("Succeeded");
    fake.settle();
    assert_eq!(fake.names(), Vec::<String>::new());
    assert!(fake.finalizers.is_empty());
}

#[test]
fn hosting_cluster_unknown_to_hub_is_invalid() {
    let mut fake = FakeHub::new(hosted(Addon::Framework));
    fake.settle();
    fake.inputs.hosting.as_mut().unwrap().facts = None;
    fake.settle();
    assert_eq!(fake.names(), Vec::<String>::new());
    let invalid = "hosting cluster host is not a managed cluster of the hub";
    assert_eq!(
        fake.condition(texts::HOSTING_VALID),
        Some(("False", "HostingClusterInvalid", invalid))
    );
    assert!(!fake.finalizers.contains(&HOSTING_CLEANUP.to_owned()));
}

#[test]
fn addon_137_change_from_hosted_to_default_deletes_hosted_works() {
    let mut fake = FakeHub::new(hosted(Addon::ConfigPolicy));
    fake.settle();
    let default = inputs(Addon::ConfigPolicy);
    (fake.inputs.addon, fake.inputs.hosting) = (default.addon, None);
    fake.settle();
    assert_eq!(fake.names(), ["c1/addon-config-policy-controller-deploy-0"]);
    assert_eq!(fake.finalizers, [PRE_DELETE]);
    assert_eq!(fake.condition(texts::HOSTING_VALID), None);
}

#[test]
fn change_of_hosting_cluster_moves_works() {
    let mut fake = FakeHub::new(hosted(Addon::ConfigPolicy));
    fake.settle();
    fake.inputs.hosting.as_mut().unwrap().name = "second".to_owned();
    fake.settle();
    assert_eq!(
        fake.names(),
        ["second/addon-config-policy-controller-deploy-hosting-c1-0"]
    );
    assert!(fake.finalizers.contains(&HOSTING_PRE_DELETE.to_owned()));
}

#[test]
fn addon_on_hub_without_hook_is_removed_at_once() {
    let pairs = [(
        "addon.open-cluster-management.io/on-multicluster-hub",
        "true",
    )];
    let mut fake = FakeHub::new(annotated(Addon::Framework, &pairs));
    fake.settle();
    assert!(fake.finalizers.is_empty(), "there is no hook");
    // An add-on that had a hook before its cluster was recognized as the hub must not keep its finalizer.
    fake.finalizers.push(PRE_DELETE.to_owned());
    fake.settle();
    assert!(fake.finalizers.is_empty());
}

#[test]
fn condition_follows_work_that_fails_and_then_applies() {
    let mut fake = FakeHub::new(inputs(Addon::Framework));
    fake.settle();
    fake.apply(false);
    fake.settle();
    let failed = (
        "False",
        "AddonManifestAppliedFailed",
        "failed to apply the manifests of addon",
    );
    assert_eq!(fake.condition(texts::MANIFEST_APPLIED), Some(failed));
    for work in fake.works.values_mut() {
        work["status"] = json!({});
    }
    fake.settle();
    assert_eq!(
        fake.condition(texts::MANIFEST_APPLIED),
        None,
        "a failure of the past is not kept"
    );
    fake.apply(true);
    fake.settle();
    for work in fake.works.values_mut() {
        work["status"] = json!({});
    }
    fake.settle();
    assert_eq!(
        fake.condition(texts::MANIFEST_APPLIED),
        Some(APPLIED),
        "a success is"
    );
}

#[test]
fn paused_addon_is_not_changed_and_has_condition() {
    let mut fake = FakeHub::new(inputs(Addon::Framework));
    fake.settle();
    let annotations = &mut fake.inputs.addon.annotations;
    annotations.insert("policy-addon-pause".to_owned(), "true".to_owned());
    for work in fake.works.values_mut() {
        work["spec"]["deleteOption"] = json!({ "propagationPolicy": "Orphan" });
    }
    let plan = fake.reconcile();
    assert!(plan.write.is_empty() && plan.delete.is_empty());
    let message = "failed to get manifest from agent interface: the Policy Addon controller is paused due to the \
                   policy-addon-pause annotation";
    let expected = ("False", "ManifestWorkApplyFailed", message);
    assert_eq!(fake.condition(texts::MANIFEST_APPLIED), Some(expected));
    fake.inputs.addon.is_deleting = true;
    fake.settle();
    assert_eq!(fake.finalizers, [PRE_DELETE]);
    assert_eq!(
        fake.condition(texts::UNINSTALL_BLOCKED).unwrap().1,
        "Paused"
    );
    fake.inputs.addon.annotations.clear();
    let plan = fake.reconcile();
    assert_eq!(
        plan.write.len(),
        2,
        "the edit is undone, and the cleaning up begins"
    );
}

#[test]
fn addon_140_waiting_deletion_has_reason_and_can_be_forced() {
    let mut fake = FakeHub::new(hosted(Addon::ConfigPolicy));
    fake.settle();
    fake.inputs.addon.is_deleting = true;
    fake.settle();
    assert_eq!(
        fake.condition(texts::UNINSTALL_BLOCKED).unwrap().1,
        "CleanupRunning"
    );
    let mut silent = (*cluster(&json!({}))).clone();
    silent.is_available = Some(false);
    fake.inputs.hosting.as_mut().unwrap().facts = Some(Arc::new(silent));
    fake.settle();
    let (_, reason, message) = fake.condition(texts::UNINSTALL_BLOCKED).unwrap();
    assert!(
        reason == "ClusterUnavailable" && message.contains(FORCE_ANNOTATION),
        "{message}"
    );
    fake.inputs
        .addon
        .annotations
        .insert(FORCE_ANNOTATION.to_owned(), "true".to_owned());
    fake.settle();
    assert!(fake.finalizers.is_empty());
    assert_eq!(fake.names(), Vec::<String>::new());
}

#[test]
fn addon_121_edited_work_is_restored() {
    let mut fake = FakeHub::new(inputs(Addon::Framework));
    fake.settle();
    let key = ObjectKey::new("c1", "addon-governance-policy-framework-deploy-0");
    let whole = fake.works[&key].clone();
    let work = fake.works.get_mut(&key).unwrap();
    let manifests = work["spec"]["workload"]["manifests"]
        .as_array_mut()
        .unwrap();
    manifests
        .push(json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "extra" } }));
    work["metadata"]["labels"]["foreign"] = json!("label");
    fake.settle();
    let mut settled = fake.works[&key].clone();
    settled["metadata"]["generation"] = whole["metadata"]["generation"].clone();
    assert_eq!(settled, whole);
}

#[test]
fn work_of_go_controller_is_patched_in_place_and_keeps_its_order() {
    let mut fake = FakeHub::new(inputs(Addon::Framework));
    fake.settle();
    let key = ObjectKey::new("c1", "addon-governance-policy-framework-deploy-0");
    let work = fake.works.get_mut(&key).unwrap();
    let manifests = work["spec"]["workload"]["manifests"]
        .as_array_mut()
        .unwrap();
    manifests.reverse();
    for manifest in manifests.iter_mut() {
        manifest["metadata"]["creationTimestamp"] = Value::Null;
    }
    assert!(
        fake.reconcile().write.is_empty(),
        "order and empty times make no difference"
    );
}

#[test]
fn terminating_addon_does_not_wait_for_its_configuration() {
    let mut fake = FakeHub::new(inputs(Addon::ConfigPolicy));
    fake.inputs.addon.status_namespace = Some("agents".to_owned());
    fake.settle();
    for config in [
        Config::Unhashed,
        Config::Missing {
            name: "a/b".to_owned(),
        },
    ] {
        fake.inputs.config = config;
        fake.inputs.addon.is_deleting = false;
        fake.settle();
        let (status, reason, _) = fake.condition(texts::MANIFEST_APPLIED).unwrap();
        assert_eq!((status, reason), ("False", "ManifestWorkApplyFailed"));
        fake.inputs.addon.is_deleting = true;
        fake.settle();
        let key = ObjectKey::new("c1", "addon-config-policy-controller-pre-delete");
        let pod = &fake.works[&key]["spec"]["workload"]["manifests"][0];
        assert_eq!(
            pod["metadata"]["namespace"], "agents",
            "where it was installed"
        );
    }
}

#[test]
fn addon_52_namespace_of_late_recognized_hub_is_orphaned_before_it_is_dropped() {
    let mut fake = FakeHub::new(inputs(Addon::Framework));
    fake.settle();
    fake.apply(true);
    fake.settle();
    let key = ObjectKey::new("c1", "addon-governance-policy-framework-deploy-0");
    let has_namespace = |fake: &FakeHub| {
        let manifests = fake.works[&key]["spec"]["workload"]["manifests"].clone();
        let manifests = manifests.as_array().unwrap().clone();
        manifests
            .iter()
            .any(|object| object["kind"] == "Namespace" && object["metadata"]["name"] == "c1")
    };
    assert!(has_namespace(&fake));
    fake.inputs.cluster = cluster(&json!({ "claims": { "id.k8s.io": "1234" } }));
    fake.inputs.hub_id = Some("1234".to_owned());
    fake.settle();
    let option = fake.works[&key]["spec"]["deleteOption"].to_string();
    assert!(
        option.contains(r#""name":"c1","resource":"namespaces""#),
        "{option}"
    );
    assert!(has_namespace(&fake), "the work agent would delete it");
    fake.apply(true);
    fake.settle();
    assert!(!has_namespace(&fake), "the namespace has no owner now");
}

/// A hub that stops syncing policies, while a user has set its work to orphan everything.
fn fake_with_orphan_policy_set_by_hand(is_applied: bool) -> FakeHub {
    let sync = "policy.open-cluster-management.io/sync-policies-on-multicluster-hub";
    let on_hub = "addon.open-cluster-management.io/on-multicluster-hub";
    let mut fake = FakeHub::new(annotated(
        Addon::Framework,
        &[(on_hub, "true"), (sync, "true")],
    ));
    fake.settle();
    fake.apply(true);
    fake.settle();
    assert!(holds_cluster_namespace(&fake), "policies are synced");
    for work in fake.works.values_mut() {
        let generation = work["metadata"]["generation"].as_i64().unwrap();
        work["metadata"]["generation"] = json!(generation + 1);
        work["spec"]["deleteOption"]["propagationPolicy"] = json!("Orphan");
    }
    if is_applied {
        fake.apply(true);
    }
    fake.inputs.addon.annotations.remove(sync);
    fake
}

fn framework_work(fake: &FakeHub) -> &Value {
    &fake.works[&ObjectKey::new("c1", "addon-governance-policy-framework-deploy-0")]
}

fn holds_cluster_namespace(fake: &FakeHub) -> bool {
    let manifests = framework_work(fake)["spec"]["workload"]["manifests"].as_array();
    manifests
        .unwrap()
        .iter()
        .any(|object| object["kind"] == "Namespace" && object["metadata"]["name"] == "c1")
}

#[test]
fn addon_52_namespace_is_dropped_at_once_when_orphan_policy_is_applied() {
    let mut fake = fake_with_orphan_policy_set_by_hand(true);
    fake.reconcile();
    assert!(!holds_cluster_namespace(&fake));
    let option = &framework_work(&fake)["spec"]["deleteOption"];
    assert_eq!(option["propagationPolicy"], "SelectivelyOrphan");
}

#[test]
fn addon_52_namespace_is_dropped_after_its_rule_is_applied_when_orphan_policy_was_not() {
    let rule = r#""name":"c1","resource":"namespaces""#;
    let mut fake = fake_with_orphan_policy_set_by_hand(false);
    fake.settle();
    let option = &framework_work(&fake)["spec"]["deleteOption"];
    assert_eq!(option["propagationPolicy"], "SelectivelyOrphan");
    assert!(option.to_string().contains(rule), "{option}");
    assert!(
        holds_cluster_namespace(&fake),
        "what is applied is older than the rule"
    );
    fake.apply(true);
    fake.settle();
    assert!(!holds_cluster_namespace(&fake));
    let option = framework_work(&fake)["spec"]["deleteOption"].to_string();
    assert!(!option.contains(rule), "{option}");
}

#[test]
fn addon_133_hook_runs_in_foreground_deletion() {
    let mut fake = FakeHub::new(inputs(Addon::ConfigPolicy));
    fake.settle();
    fake.inputs.addon.is_deleting = true;
    fake.finalizers.push("foregroundDeletion".to_owned());
    // The garbage collector has deleted the add-on's dependents.
    fake.works.clear();
    fake.settle();
    assert_eq!(fake.names().len(), 2, "the agent, and what has it clean up");
    for work in fake.works.values() {
        assert_eq!(
            work["metadata"]["ownerReferences"],
            json!([]),
            "or it would go again at once"
        );
    }
    fake.clean_up("Succeeded");
    fake.settle();
    assert_eq!(fake.finalizers, ["foregroundDeletion"]);
    let left = decide::leftovers(&fake.inputs.installation, &fake.live());
    assert_eq!(left.len(), 2, "when the add-on is gone they are deleted");
}

#[test]
fn nothing_is_installed_before_finalizer_is_stored() {
    let mut fake = FakeHub::new(inputs(Addon::Framework));
    assert!(fake.reconcile().write.is_empty());
    assert_eq!(fake.finalizers, [PRE_DELETE]);
    assert_eq!(fake.reconcile().write.len(), 1);
    // An add-on without a hook needs no finalizer.
    let mut fake = FakeHub::new(inputs(Addon::Standalone));
    assert_eq!(fake.reconcile().write.len(), 1);
}
