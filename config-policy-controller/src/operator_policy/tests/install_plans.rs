//! Install plans and their approval.

use std::collections::BTreeSet;

use rstest::rstest;
use serde_json::json;

use super::super::decide::approvals::{Approver, Grants, unapproved};
use super::super::decide::install_plan::choose;
use super::super::decide::spec::Versions;
use super::super::status::add_history;
use super::*;

const PART: Part = Part::InstallPlan;

fn plan(name: &str, versions: &[&str], phase: &str) -> Object {
    let spec = json!({"clusterServiceVersionNames": versions, "generation": 1, "approved": false});
    object(
        PART,
        name,
        json!({"spec": spec, "status": {"phase": phase}}),
    )
}

/// `quay.v1` is to be installed, or upgraded to.
fn waiting(installed: &str, versions: &[&str]) -> Story {
    let status = json!({"currentCSV": "quay.v1", "installedCSV": installed});
    let mut story = Story::subscribed(&status);
    story.observed.install_plans = Ok(vec![plan("install-a", versions, "RequiresApproval")]);
    story
}

fn approver(package: &str, grants: Grants) -> Approver {
    let status = json!({"currentCSV": format!("{package}.v1")});
    Approver {
        grants,
        subscription: object(Part::Subscription, package, json!({"status": status})),
        csvs: Vec::new(),
    }
}

#[tokio::test]
async fn op_11_no_install_plan() {
    let ending = Story::subscribed(&json!({})).run().await;
    let message = "there are no relevant InstallPlans in the namespace";
    assert_eq!(ending.of(PART), ("True", "NoInstallPlansFound", message));
    let none = "There are no relevant InstallPlans in this namespace";
    assert_eq!(ending.related(PART), [("-", "Compliant", none)]);
}

#[rstest]
#[case::installing("Installing", "Compliant",
    ("False", "InstallPlansInstalling", "a relevant InstallPlan is actively installing"), "Compliant")]
#[case::installing_and_counting("Installing", "NonCompliant",
    ("False", "InstallPlansInstalling", "a relevant InstallPlan is actively installing"),
    "NonCompliant")]
#[case::complete("Complete", "NonCompliant",
    ("True", "NoInstallPlansRequiringApproval", "no InstallPlans requiring approval were found"),
    "Compliant")]
#[case::op_24_4_failed("Failed", "Compliant",
    ("False", "InstallPlanFailed", "the current InstallPlan has failed"), "NonCompliant")]
#[case::planning("Planning", "Compliant",
    ("True", "NoInstallPlansRequiringApproval", "no InstallPlans requiring approval were found"),
    "NonCompliant")]
#[tokio::test]
async fn op_11_phases(
    #[case] phase: &str,
    #[case] config: &str,
    #[case] condition: (&str, &str, &str),
    #[case] compliant: &str,
) {
    let config = json!({"upgradesAvailable": config});
    let mut story = waiting("", &["quay.v1"]).spec("complianceConfig", config);
    story.observed.install_plans = Ok(vec![plan("install-a", &["quay.v1"], phase)]);
    let ending = story.run().await;
    assert_eq!(ending.of(PART), condition);
    let reason = format!("The InstallPlan is {phase}");
    assert_eq!(
        ending.related(PART),
        [("install-a", compliant, reason.as_str())]
    );
}

/// OLM plans an upgrade: the compliance and its message are those of before, the install plan is another.
#[tokio::test]
async fn op_4_changed_related_object_is_reported_with_the_message_of_before() {
    let mut story = Story::installed();
    story.observed.install_plans = Ok(vec![plan("install-a", &["quay.v1"], "Complete")]);
    let before = story.run().await;
    story.again(&before);
    add_history(&mut story.status, &before.reports[0], (story.now, 10));
    assert_eq!(story.run().await.reports, [""; 0]);

    story.observed.install_plans = Ok(vec![plan("install-b", &["quay.v1"], "Planning")]);
    let after = story.run().await;
    assert_eq!(after.reports, before.reports);
    let related = [("install-b", "NonCompliant", "The InstallPlan is Planning")];
    assert_eq!(after.related(PART), related);
}

#[rstest]
#[case::own_step_is_done("Created", "NoInstallPlansRequiringApproval")]
#[case::own_step_is_not_done("Unknown", "InstallPlanFailed")]
#[tokio::test]
async fn op_24_4_shared_install_plan_failed(#[case] step: &str, #[case] reason: &str) {
    let mut story = waiting("", &["quay.v1"]);
    let failed = json!({
        "spec": {"clusterServiceVersionNames": ["quay.v1", "other.v1"], "generation": 1},
        "status": {"phase": "Failed", "plan": [
            {"resolving": "quay.v1", "status": step}, {"resolving": "other.v1", "status": "Unknown"},
        ]},
    });
    story.observed.install_plans = Ok(vec![object(PART, "install-a", failed)]);
    assert_eq!(story.run().await.of(PART).1, reason);
}

#[tokio::test]
async fn op_11_first_installation_is_approved() {
    let story = waiting("", &["quay.v1"]).spec("upgradeApproval", json!("None"));
    let ending = story.run().await;
    let [Write::Replace(approved)] = ending.written.as_slice() else {
        panic!("{:?}", ending.writes);
    };
    assert_eq!(approved["spec"]["approved"], true);
    let message = "the InstallPlan for quay.v1 was approved";
    assert_eq!(ending.of(PART), ("True", "InstallPlanApproved", message));
    // Nothing is reported before the approval.
    assert_eq!(ending.reports.len(), 1);
}

#[tokio::test]
async fn op_11_failed_approval_is_reported_as_waiting() {
    let refused = WriteError::Forbidden("no".to_owned());
    let ending = waiting("", &["quay.v1"])
        .refusing(PART, refused)
        .run()
        .await;
    assert_eq!(ending.of(PART).1, "InstallPlanRequiresApproval");
    assert_eq!(
        ending.acted.errors,
        ["error updating approved InstallPlan: no"]
    );
}

#[tokio::test]
async fn op_24_13_subscription_made_anew_beside_an_installed_version_is_no_first_installation() {
    let mut story = waiting("", &["quay.v1"]).spec("upgradeApproval", json!("None"));
    story.observed.csvs = Ok(vec![csv("quay.v0", "Succeeded")]);
    let ending = story.run().await;
    assert!(ending.writes.is_empty());
    let message = "an InstallPlan to update to [quay.v1] is available for approval but approval for [quay.v1] is required";
    assert_eq!(ending.of(PART).2, message);
}

#[rstest]
#[case::informing(json!("inform"), json!("Automatic"))]
#[case::upgrades_are_not_approved(json!("enforce"), json!("None"))]
#[tokio::test]
async fn op_11_upgrade_waits(#[case] action: Value, #[case] approval: Value) {
    let story = waiting("quay.v0", &["quay.v1"])
        .spec("remediationAction", action)
        .spec("upgradeApproval", approval)
        .spec(
            "complianceConfig",
            json!({"upgradesAvailable": "Compliant"}),
        );
    let ending = story.run().await;
    assert!(ending.writes.is_empty());
    let message = "an InstallPlan to update to [quay.v1] is available for approval";
    assert_eq!(
        ending.of(PART),
        ("True", "InstallPlanRequiresApproval", message)
    );
}

#[tokio::test]
async fn op_11_version_that_is_not_listed_is_not_approved() {
    let config = json!({"upgradesAvailable": "NonCompliant"});
    let mut story = waiting("quay.v0", &["quay.v1"]).spec("complianceConfig", config);
    story.desired.versions.allowed = vec!["quay.v0".to_owned()];
    let ending = story.run().await;
    assert!(ending.writes.is_empty());
    let message = "an InstallPlan to update to [quay.v1] is available for approval but approval for [quay.v1] is required";
    assert_eq!(
        ending.of(PART),
        ("False", "InstallPlanRequiresApproval", message)
    );
}

#[tokio::test]
async fn op_24_11_versions_that_came_to_nothing_approve_nothing() {
    let mut story = waiting("quay.v0", &["quay.v1"]);
    story.desired.versions.unresolved = true;
    let ending = story.run().await;
    assert!(ending.writes.is_empty());
    assert_eq!(ending.of(PART).1, "InstallPlanRequiresApproval");
}

#[tokio::test]
async fn op_24_42_invalid_policy_approves_nothing() {
    let mut story = waiting("", &["quay.v1"]);
    story.desired.invalid = Some("the policy spec.operatorGroup is invalid: x".to_owned());
    story.desired.operator_group = None;
    let ending = story.run().await;
    assert!(ending.writes.is_empty());
    assert_eq!(ending.of(Part::OperatorGroup).1, "InvalidPolicySpec");
    assert_eq!(ending.of(Part::Subscription).1, "SubscriptionMatches");
}

#[tokio::test]
async fn op_11_install_plan_of_two_operators_needs_both_approvals() {
    let mut story = waiting("quay.v0", &["quay.v1", "argocd.v1"]);
    let ending = story.run().await;
    assert!(ending.writes.is_empty());
    let message = "an InstallPlan to update to [argocd.v1, quay.v1] is available for approval but approval for [argocd.v1] is required";
    assert_eq!(ending.of(PART).2, message);
    story.observed.approvers = Ok(vec![approver("argocd", Grants::default())]);
    assert_eq!(story.run().await.writes, ["replace InstallPlan install-a"]);
}

#[tokio::test]
async fn op_11_unreadable_approvals_approve_nothing() {
    let mut story = waiting("quay.v0", &["quay.v1", "argocd.v1"]);
    story.observed.approvers = Err("error listing Subscriptions: no".to_owned());
    let ending = story.run().await;
    assert!(ending.writes.is_empty());
    assert_eq!(ending.acted.errors, ["error listing Subscriptions: no"]);
}

#[tokio::test]
async fn op_11_approved_install_plan_is_not_approved_again() {
    let mut story = waiting("quay.v0", &["quay.v1"]);
    let approved = json!({
        "spec": {"clusterServiceVersionNames": ["quay.v1"], "generation": 1, "approved": true},
        "status": {"phase": "RequiresApproval"},
    });
    story.observed.install_plans = Ok(vec![object(PART, "install-a", approved)]);
    let ending = story.run().await;
    assert!(ending.writes.is_empty());
    assert_eq!(ending.of(PART).1, "InstallPlanApproved");
}

/// Each a version, its package, and the package that it requires.
fn bundles(bundles: &[(&str, &str, &str)]) -> Value {
    let bundles = bundles.iter().map(|(csv, package, required)| {
        let mut properties = vec![
            json!({"type": "olm.maxOpenShiftVersion", "value": "4.17"}),
            json!({"type": "olm.package", "value": {"packageName": package, "version": "1"}}),
        ];
        if !required.is_empty() {
            let required = json!({"packageName": required});
            properties.push(json!({"type": "olm.package.required", "value": required}));
        }
        let properties = json!({"properties": properties}).to_string();
        json!({"identifier": csv, "properties": properties})
    });
    let bundles: Vec<Value> = bundles.collect();
    json!({"status": {"bundleLookups": bundles}})
}

#[rstest]
#[case::none(&[("quay.v1", "quay", "")], &["quay.v1"])]
#[case::one(&[("quay.v1", "quay", "db"), ("pg.v1", "db", "")], &["pg.v1", "quay.v1"])]
#[case::two_levels(
    &[("quay.v1", "quay", "db"), ("pg.v1", "db", "fs"), ("fs.v1", "fs", "")],
    &["fs.v1", "pg.v1", "quay.v1"]
)]
#[case::installed_already(&[("quay.v1", "quay", "db")], &["quay.v1"])]
#[case::op_24_14_each_other(
    &[("quay.v1", "quay", "db"), ("pg.v1", "db", "quay")], &["pg.v1", "quay.v1"]
)]
#[case::not_required(&[("quay.v1", "quay", ""), ("x.v1", "x", "")], &["quay.v1"])]
fn op_11_dependencies_are_approved(#[case] of: &[(&str, &str, &str)], #[case] expected: &[&str]) {
    let approved = approver("quay", Grants::default()).approved(&bundles(of));
    assert_eq!(approved.into_iter().collect::<Vec<_>>(), expected);
}

/// An operator with seven packages that it requires, some of them through another one, and one whose versions are not
/// named after its package.
const SUITE: &[(&str, &str, &str)] = &[
    ("odf-operator.v4.16.0", "odf-operator", "odf-dependencies"),
    (
        "odf-dependencies.v4.16.0",
        "odf-dependencies",
        "ocs-operator",
    ),
    (
        "odf-dependencies.v4.16.0",
        "odf-dependencies",
        "mcg-operator",
    ),
    (
        "odf-dependencies.v4.16.0",
        "odf-dependencies",
        "rook-ceph-operator",
    ),
    (
        "odf-dependencies.v4.16.0",
        "odf-dependencies",
        "odf-csi-addons-operator",
    ),
    (
        "ocs-operator.v4.16.0",
        "ocs-operator",
        "ocs-client-operator",
    ),
    (
        "ocs-client-operator.v4.16.0",
        "ocs-client-operator",
        "odf-prometheus-operator",
    ),
    ("mcg-operator.v4.16.0", "mcg-operator", ""),
    ("rook-ceph-operator.v4.16.0", "rook-ceph-operator", ""),
    ("csi-addons.v4.16.0", "odf-csi-addons-operator", ""),
    (
        "odf-prometheus-operator.v4.16.0",
        "odf-prometheus-operator",
        "",
    ),
];

#[rstest]
#[case::by_its_version(&["odf-operator.v4.16.0"], true)]
#[case::by_any_version(&[], true)]
#[case::not_by_an_older_one(&["odf-operator.v4.15.0"], false)]
fn op_11_suite_of_eight_versions_is_approved_by_one(
    #[case] versions: &[&str],
    #[case] is_approved: bool,
) {
    let mut plan = bundles(SUITE);
    let names: BTreeSet<&str> = SUITE.iter().map(|(csv, _, _)| *csv).collect();
    assert_eq!(names.len(), 8);
    plan["spec"] = json!({"clusterServiceVersionNames": names});
    let mut approver = approver(
        "odf-operator",
        Grants {
            versions: allowed(versions),
            ..Grants::default()
        },
    );
    let current = json!({"status": {"currentCSV": "odf-operator.v4.16.0"}});
    approver.subscription = object(Part::Subscription, "odf-operator", current);
    let unapproved = unapproved(&plan, [approver]);
    assert_eq!(unapproved.is_empty(), is_approved, "{unapproved:?}");
}

#[test]
fn op_24_14_unreadable_bundle_is_skipped() {
    let mut plan = bundles(&[("quay.v1", "quay", "db"), ("pg.v1", "db", "")]);
    let lookups = plan["status"]["bundleLookups"].as_array_mut().unwrap();
    lookups.insert(0, json!({"identifier": "x.v1", "properties": "{"}));
    let approved = approver("quay", Grants::default()).approved(&plan);
    assert_eq!(
        approved.into_iter().collect::<Vec<_>>(),
        ["pg.v1", "quay.v1"]
    );
}

#[rstest]
#[case::open(Grants::default(), true)]
#[case::listed(Grants { versions: allowed(&["quay.v1"]), ..Grants::default() }, true)]
#[case::not_listed(Grants { versions: allowed(&["quay.v0"]), ..Grants::default() }, false)]
#[case::starting(
    Grants { versions: allowed(&["quay.v0"]), starting_csv: "quay.v1".to_owned(), ..Grants::default() },
    true
)]
fn op_11_grants(#[case] grants: Grants, #[case] is_approved: bool) {
    assert_eq!(
        !approver("quay", grants).approved(&json!({})).is_empty(),
        is_approved
    );
}

#[test]
fn op_11_starting_version_that_only_the_cluster_has_grants_nothing() {
    let mut approver = approver(
        "quay",
        Grants {
            versions: allowed(&["quay.v0"]),
            ..Grants::default()
        },
    );
    let adopted = json!({"spec": {"startingCSV": "quay.v1"}, "status": {"currentCSV": "quay.v1"}});
    approver.subscription = object(Part::Subscription, "quay", adopted);
    assert!(approver.approved(&json!({})).is_empty());
}

fn allowed(versions: &[&str]) -> Versions {
    Versions {
        allowed: versions
            .iter()
            .map(|version| (*version).to_owned())
            .collect(),
        unresolved: false,
    }
}

#[test]
fn op_11_newest_install_plan_or_the_one_at_work_is_chosen() {
    let of = |name: &str, csv: &str, generation: i64, phase: &str| {
        let spec = json!({"clusterServiceVersionNames": [csv], "generation": generation});
        object(
            PART,
            name,
            json!({"spec": spec, "status": {"phase": phase}}),
        )
    };
    let subscription = subscription(&json!({"currentCSV": "quay.v2", "installedCSV": "quay.v1"}));
    let chosen = |plans: &[Object]| {
        let chosen = choose(plans, &subscription);
        chosen.map(|plan| name(plan).to_owned())
    };
    let old = of("old", "quay.v1", 1, "Complete");
    let new = of("new", "quay.v2", 2, "RequiresApproval");
    let working = of("working", "quay.v2", 1, "Installing");
    let other = of("other", "argocd.v1", 9, "RequiresApproval");
    assert_eq!(
        chosen(&[old.clone(), new.clone(), other.clone()]).as_deref(),
        Some("new")
    );
    assert_eq!(chosen(&[new, working, old]).as_deref(), Some("working"));
    assert_eq!(chosen(&[other]), None);
}
