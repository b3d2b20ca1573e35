//! Works whose objects were deleted, or have lost the annotation that keeps them, though the work agent has applied
//! them.

use std::time::Duration;

use serde_json::{Value, json};

use super::{
    FakeHub, fake_with_orphan_policy_set_by_hand, framework_work, holds_cluster_namespace,
};
use crate::addon::Addon;
use crate::addon_deploy::reapply::requeue_after;
use crate::facts::Inputs;
use crate::testing::{annotated, available, hosted, inputs};
use crate::work_report::REAPPLIED_AT;

const MINUTE: i64 = 60;
const ON_HUB: &str = "addon.open-cluster-management.io/on-multicluster-hub";

/// An add-on on an available cluster.
fn answering(mut inputs: Inputs) -> Inputs {
    inputs.cluster = available(&inputs.cluster, true);
    inputs
}

/// A story with an applied work, and the agent's report of the CRD in it.
fn applied(inputs: Inputs, report: &Value) -> FakeHub {
    let mut fake = FakeHub::new(answering(inputs));
    fake.settle();
    fake.apply(true);
    fake.settle();
    fake.report(report);
    fake
}

fn absent() -> Value {
    json!({ "conditions": [condition("Available", "False", "ResourceNotAvailable")] })
}

fn created() -> Value {
    json!({ "conditions": [
        condition("Applied", "True", "AppliedManifestComplete"),
        condition("Available", "True", "ResourceAvailable"),
    ]})
}

fn condition(kind: &str, status: &str, reason: &str) -> Value {
    json!({
        "type": kind, "status": status, "reason": reason, "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    })
}

fn label(fake: &FakeHub) -> Option<&str> {
    framework_work(fake)["metadata"]["labels"][REAPPLIED_AT].as_str()
}

fn crd(fake: &FakeHub) -> &Value {
    let manifests = framework_work(fake)["spec"]["workload"]["manifests"].as_array();
    let mut manifests = manifests.unwrap().iter();
    manifests
        .find(|object| object["kind"] == "CustomResourceDefinition")
        .unwrap()
}

fn on_hub() -> Inputs {
    annotated(Addon::Framework, &[(ON_HUB, "true")])
}

#[test]
fn addon_129_work_whose_object_is_gone_is_applied_again_every_minute_at_most() {
    let mut fake = applied(inputs(Addon::Framework), &absent());
    fake.reconcile();
    assert_eq!(label(&fake), Some("1000"));
    assert!(fake.reconcile().write.is_empty(), "it has been asked for");
    fake.now += MINUTE - 1;
    assert!(
        fake.reconcile().write.is_empty(),
        "the agent may still be at it"
    );
    let wait = requeue_after(&fake.inputs, &fake.live(), fake.now);
    assert_eq!(wait, Some(Duration::from_secs(1)));
    fake.now += 1;
    fake.reconcile();
    assert_eq!(label(&fake), Some("1060"));
    fake.report(&created());
    fake.now += 60 * MINUTE;
    assert!(fake.reconcile().write.is_empty(), "it is back");
    fake.report(&absent());
    for work in fake.works.values_mut() {
        work["metadata"]["labels"][REAPPLIED_AT] = json!("9999999999");
    }
    fake.reconcile();
    assert_eq!(label(&fake), Some("4660"), "that time is yet to come");
    fake.report(&created());
    assert_eq!(requeue_after(&fake.inputs, &fake.live(), fake.now), None);
}

#[test]
fn addon_129_work_is_applied_again_though_its_other_objects_fail() {
    let mut fake = applied(inputs(Addon::Framework), &json!({}));
    fake.apply(false);
    let generation = framework_work(&fake)["metadata"]["generation"].clone();
    let mut lost = absent();
    let mut applied = condition("Applied", "True", "AppliedManifestComplete");
    applied["observedGeneration"] = generation;
    lost["conditions"].as_array_mut().unwrap().push(applied);
    fake.report(&lost);
    fake.reconcile();
    assert_eq!(label(&fake), Some("1000"));
}

#[test]
fn addon_129_work_is_not_applied_again_before_it_is_applied_or_without_agent() {
    let mut newer = applied(inputs(Addon::Framework), &absent());
    for work in newer.works.values_mut() {
        let generation = work["metadata"]["generation"].as_i64().unwrap();
        work["metadata"]["generation"] = json!(generation + 1);
    }
    let mut silent = applied(inputs(Addon::Framework), &absent());
    silent.inputs.cluster = available(&silent.inputs.cluster, false);
    let mut leaving = applied(inputs(Addon::Framework), &absent());
    leaving.inputs.addon.is_deleting = true;
    for mut fake in [newer, silent, leaving] {
        fake.settle();
        assert_eq!(label(&fake), None);
        assert_eq!(requeue_after(&fake.inputs, &fake.live(), fake.now), None);
    }
}

#[test]
fn addon_129_work_on_hosting_cluster_depends_on_that_cluster() {
    let mut fake = FakeHub::new(hosted(Addon::Framework));
    fake.settle();
    fake.apply(true);
    fake.settle();
    fake.report(&absent());
    assert!(
        fake.reconcile().write.is_empty(),
        "nothing is known of the host"
    );
    let host = fake.inputs.hosting.as_mut().unwrap();
    host.facts = host.facts.as_ref().map(|facts| available(facts, true));
    assert_eq!(fake.reconcile().write.len(), 1);
}

#[test]
fn addon_126_crd_of_hub_is_marked_by_an_update() {
    let mut fake = FakeHub::new(answering(on_hub()));
    fake.settle();
    let object = crd(&fake);
    let orphan = "addon.open-cluster-management.io/deletion-orphan";
    assert_eq!(object["metadata"]["annotations"][orphan], "");
    assert!(
        object["spec"]["versions"].is_array(),
        "an update needs the whole object"
    );
    let configs = &framework_work(&fake)["spec"]["manifestConfigs"];
    assert!(
        configs.as_array().is_none_or(Vec::is_empty),
        "the agent may not patch CRDs: {configs}"
    );
    let elsewhere = applied(inputs(Addon::Framework), &json!({}));
    assert_eq!(crd(&elsewhere)["spec"], crd(&fake)["spec"]);
}

#[test]
fn addon_125_namespace_is_dropped_though_other_objects_fail() {
    let mut fake = fake_with_orphan_policy_set_by_hand(false);
    fake.settle();
    fake.apply(false);
    fake.settle();
    assert!(holds_cluster_namespace(&fake));
    let generation = framework_work(&fake)["metadata"]["generation"].clone();
    let mut applied = condition("Applied", "True", "AppliedManifestComplete");
    let mut report = |generation: Value| {
        applied["observedGeneration"] = generation;
        for work in fake.works.values_mut() {
            work["status"]["resourceStatus"] = json!({ "manifests": [{
                "resourceMeta": { "resource": "namespaces", "name": "c1" },
                "conditions": [applied],
            }]});
        }
        fake.settle();
        holds_cluster_namespace(&fake)
    };
    let earlier = json!(generation.as_i64().unwrap() - 1);
    assert!(report(earlier), "it was applied before there was a rule");
    assert!(!report(generation));
}

#[test]
fn addon_125_namespace_stays_in_work_under_options_that_do_not_orphan_it() {
    let mut fake = fake_with_orphan_policy_set_by_hand(false);
    fake.settle();
    assert!(holds_cluster_namespace(&fake));
    let rule = |field: &str, value: &str| {
        let mut rule = json!({ "resource": "namespaces", "name": "c1" });
        rule[field] = json!(value);
        json!({ "propagationPolicy": "SelectivelyOrphan", "selectivelyOrphans": { "orphaningRules": [rule] } })
    };
    let mut foreground = rule("group", "");
    foreground["propagationPolicy"] = json!("Foreground");
    for option in [foreground, rule("group", "core"), rule("namespace", "c1")] {
        for work in fake.works.values_mut() {
            work["spec"]["deleteOption"] = option.clone();
        }
        fake.apply(true);
        fake.reconcile();
        assert!(
            holds_cluster_namespace(&fake),
            "the agent owns it: {option}"
        );
    }
    fake.apply(true);
    fake.reconcile();
    assert!(!holds_cluster_namespace(&fake));
}
