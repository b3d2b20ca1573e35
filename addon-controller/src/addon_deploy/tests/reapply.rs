//! Works whose objects were deleted, or have lost the annotation that keeps them, though the work agent has applied
//! them.

use std::time::Duration;

use serde_json::{Value, json};

use super::{Story, framework_work, holds_cluster_namespace, story_with_orphan_policy_set_by_hand};
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
fn applied(inputs: Inputs, report: &Value) -> Story {
    let mut story = Story::new(answering(inputs));
    story.settle();
    story.apply(true);
    story.settle();
    story.report(report);
    story
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

fn label(story: &Story) -> Option<&str> {
    framework_work(story)["metadata"]["labels"][REAPPLIED_AT].as_str()
}

fn crd(story: &Story) -> &Value {
    let manifests = framework_work(story)["spec"]["workload"]["manifests"].as_array();
    let mut manifests = manifests.unwrap().iter();
    manifests
        .find(|object| object["kind"] == "CustomResourceDefinition")
        .unwrap()
}

/// How the CRD is applied.
fn strategy(story: &Story) -> &Value {
    &framework_work(story)["spec"]["manifestConfigs"][0]["updateStrategy"]
}

fn on_hub() -> Inputs {
    annotated(Addon::Framework, &[(ON_HUB, "true")])
}

#[test]
fn addon_129_work_whose_object_is_gone_is_applied_again_every_minute_at_most() {
    let mut story = applied(inputs(Addon::Framework), &absent());
    story.look();
    assert_eq!(label(&story), Some("1000"));
    assert!(story.look().write.is_empty(), "it has been asked for");
    story.now += MINUTE - 1;
    assert!(
        story.look().write.is_empty(),
        "the agent may still be at it"
    );
    let wait = requeue_after(&story.inputs, &story.live(), story.now);
    assert_eq!(wait, Some(Duration::from_secs(1)));
    story.now += 1;
    story.look();
    assert_eq!(label(&story), Some("1060"));
    story.report(&created());
    story.now += 60 * MINUTE;
    assert!(story.look().write.is_empty(), "it is back");
    story.report(&absent());
    for work in story.works.values_mut() {
        work["metadata"]["labels"][REAPPLIED_AT] = json!("9999999999");
    }
    story.look();
    assert_eq!(label(&story), Some("4660"), "that time is yet to come");
    story.report(&created());
    assert_eq!(requeue_after(&story.inputs, &story.live(), story.now), None);
}

#[test]
fn addon_129_work_is_applied_again_though_its_other_objects_fail() {
    let mut story = applied(inputs(Addon::Framework), &json!({}));
    story.apply(false);
    let generation = framework_work(&story)["metadata"]["generation"].clone();
    let mut lost = absent();
    let mut applied = condition("Applied", "True", "AppliedManifestComplete");
    applied["observedGeneration"] = generation;
    lost["conditions"].as_array_mut().unwrap().push(applied);
    story.report(&lost);
    story.look();
    assert_eq!(label(&story), Some("1000"));
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
    for mut story in [newer, silent, leaving] {
        story.settle();
        assert_eq!(label(&story), None);
        assert_eq!(requeue_after(&story.inputs, &story.live(), story.now), None);
    }
}

#[test]
fn addon_129_work_on_hosting_cluster_depends_on_that_cluster() {
    let mut story = Story::new(hosted(Addon::Framework));
    story.settle();
    story.apply(true);
    story.settle();
    story.report(&absent());
    assert!(
        story.look().write.is_empty(),
        "nothing is known of the host"
    );
    let host = story.inputs.hosting.as_mut().unwrap();
    host.facts = host.facts.as_ref().map(|facts| available(facts, true));
    assert_eq!(story.look().write.len(), 1);
}

#[test]
fn addon_126_crd_of_hub_is_only_marked() {
    let mut story = Story::new(answering(on_hub()));
    story.settle();
    let object = crd(&story);
    let keys: Vec<&String> = object.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["apiVersion", "kind", "metadata"]);
    let orphan = "addon.open-cluster-management.io/deletion-orphan";
    assert_eq!(object["metadata"]["annotations"][orphan], "");
    let how = json!({ "force": true, "fieldManager": "work-agent-mark" });
    let expected = json!({ "type": "ServerSideApply", "serverSideApply": how });
    assert_eq!(
        *strategy(&story),
        expected,
        "the agent would skip ignored fields"
    );
    let elsewhere = applied(inputs(Addon::Framework), &json!({}));
    assert!(crd(&elsewhere).get("spec").is_some());
}

#[test]
fn addon_126_missing_crd_of_hub_is_sent_whole_and_marked_from_then_on() {
    let mut story = applied(on_hub(), &absent());
    story.apply(false);
    story.settle();
    assert!(crd(&story).get("spec").is_some());
    assert_eq!(*strategy(&story), json!({ "type": "CreateOnly" }));

    story.apply(true);
    story.settle();
    assert!(crd(&story).get("spec").is_some(), "it is reported absent");
    story.report(&created());
    story.settle();
    assert!(crd(&story).get("spec").is_none());

    story.apply(true);
    story.report(&absent());
    story.settle();
    assert!(crd(&story).get("spec").is_none(), "that was just tried");
    story.now += MINUTE;
    story.settle();
    assert!(crd(&story).get("spec").is_some());
}

#[test]
fn addon_126_crd_of_hub_that_cannot_be_marked_is_not_sent_whole() {
    let refused = json!({ "conditions": [
        condition("Applied", "False", "AppliedManifestFailed"),
        condition("Available", "True", "ResourceAvailable"),
    ]});
    let mut story = applied(on_hub(), &refused);
    story.apply(false);
    story.settle();
    assert!(crd(&story).get("spec").is_none());
    assert_eq!(label(&story), None);
}

#[test]
fn addon_125_namespace_is_dropped_though_other_objects_fail() {
    let mut story = story_with_orphan_policy_set_by_hand(false);
    story.settle();
    story.apply(false);
    story.settle();
    assert!(holds_cluster_namespace(&story));
    let generation = framework_work(&story)["metadata"]["generation"].clone();
    let mut applied = condition("Applied", "True", "AppliedManifestComplete");
    let mut report = |generation: Value| {
        applied["observedGeneration"] = generation;
        for work in story.works.values_mut() {
            work["status"]["resourceStatus"] = json!({ "manifests": [{
                "resourceMeta": { "resource": "namespaces", "name": "c1" },
                "conditions": [applied],
            }]});
        }
        story.settle();
        holds_cluster_namespace(&story)
    };
    let earlier = json!(generation.as_i64().unwrap() - 1);
    assert!(report(earlier), "it was applied before there was a rule");
    assert!(!report(generation));
}

#[test]
fn addon_125_namespace_stays_in_work_under_options_that_do_not_orphan_it() {
    let mut story = story_with_orphan_policy_set_by_hand(false);
    story.settle();
    assert!(holds_cluster_namespace(&story));
    let rule = |field: &str, value: &str| {
        let mut rule = json!({ "resource": "namespaces", "name": "c1" });
        rule[field] = json!(value);
        json!({ "propagationPolicy": "SelectivelyOrphan", "selectivelyOrphans": { "orphaningRules": [rule] } })
    };
    let mut foreground = rule("group", "");
    foreground["propagationPolicy"] = json!("Foreground");
    for option in [foreground, rule("group", "core"), rule("namespace", "c1")] {
        for work in story.works.values_mut() {
            work["spec"]["deleteOption"] = option.clone();
        }
        story.apply(true);
        story.look();
        assert!(
            holds_cluster_namespace(&story),
            "the agent owns it: {option}"
        );
    }
    story.apply(true);
    story.look();
    assert!(!holds_cluster_namespace(&story));
}
