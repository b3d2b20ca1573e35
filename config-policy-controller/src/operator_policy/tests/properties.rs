//! What holds for whatever is on the cluster.

use proptest::prelude::*;
use proptest::sample::{select, subsequence};

use super::super::decide::approvals::{Approver, Grants};
use super::super::decide::object::{Read, annotation, label};
use super::super::decide::observed::CopiedCsv;
use super::super::decide::spec::Versions;
use super::super::decide::{MANAGED, OPERATOR_LABEL};
use super::*;

const OWN: &str = "managed.p";
const LABEL: &str = "quay.operators";

/// A read that may have failed.
fn read<T: std::fmt::Debug + Clone>(
    of: impl Strategy<Value = T>,
) -> impl Strategy<Value = Read<T>> {
    prop_oneof![9 => of.prop_map(Ok), 1 => Just(Err("no".to_owned()))]
}

/// An object of a part, perhaps in another namespace, with the label of another operator, owned, or being deleted.
fn any_object(
    part: Part,
    names: &'static [&'static str],
    status: Value,
) -> impl Strategy<Value = Object> {
    let namespaces = select(vec!["operators", "operators", "operators", "elsewhere"]);
    let labels = select(vec![LABEL, LABEL, "argocd.operators"]);
    let owners = select(vec![None, Some(OWN), Some("managed.other")]);
    let uids = 0..3_u8;
    (
        select(names),
        namespaces,
        labels,
        owners,
        any::<(bool, bool)>(),
        uids,
    )
        .prop_map(
            move |(name, namespace, label, owner, (is_owned, deletes), uid)| {
                let mut metadata = json!({
                    "name": name, "namespace": namespace, "uid": format!("uid {uid}"),
                    "labels": {format!("{OPERATOR_LABEL}{label}"): "", "olm.copiedFrom": ""},
                });
                metadata["labels"]
                    .as_object_mut()
                    .unwrap()
                    .remove("olm.copiedFrom");
                if let Some(owner) = owner {
                    metadata["annotations"] = json!({MANAGED: owner});
                }
                if is_owned && part == Part::OperatorGroup {
                    metadata["ownerReferences"] = json!([{"name": "owner"}]);
                }
                if part == Part::OperatorGroup && name == "operators-x" {
                    metadata["generateName"] = json!("operators-");
                }
                if deletes && uid == 2 {
                    metadata["deletionTimestamp"] = json!(NOW);
                }
                let mut object = json!({
                    "apiVersion": part.api_version(), "kind": part.kind(), "metadata": metadata,
                });
                merge(&mut object, status.clone());
                Arc::new(object)
            },
        )
}

fn any_subscription() -> impl Strategy<Value = Object> {
    let versions = || select(vec!["", "quay.v1", "quay.v2"]);
    let with_versions = |subscription: Object, (current, installed)| {
        let mut object = subscription.as_ref().clone();
        object["status"] = json!({"currentCSV": current, "installedCSV": installed});
        Arc::new(object)
    };
    let any = any_object(Part::Subscription, &["quay"], json!({}));
    (any, (versions(), versions()))
        .prop_map(move |(object, versions)| with_versions(object, versions))
}

fn any_plan() -> impl Strategy<Value = Object> {
    let names = subsequence(vec!["quay.v1", "quay.v2", "argocd.v1"], 0..=3);
    let phases = select(vec![
        "RequiresApproval",
        "RequiresApproval",
        "Installing",
        "Complete",
        "Failed",
    ]);
    let plans = any_object(Part::InstallPlan, &["install-a", "install-b"], json!({}));
    (plans, names, phases, 0..3_i64, any::<bool>()).prop_map(|(object, names, phase, generation, approved)| {
        let mut object = object.as_ref().clone();
        object["spec"] = json!({"clusterServiceVersionNames": names, "generation": generation, "approved": approved});
        object["status"] = json!({"phase": phase});
        Arc::new(object)
    })
}

fn any_grants() -> impl Strategy<Value = Grants> {
    let allowed = subsequence(vec!["quay.v1", "quay.v2", "argocd.v1"], 0..=3);
    (allowed, any::<(bool, bool)>()).prop_map(|(allowed, (unresolved, approves_upgrades))| Grants {
        versions: Versions {
            unresolved: unresolved && allowed.is_empty(),
            allowed: allowed.into_iter().map(str::to_owned).collect(),
        },
        starting_csv: String::new(),
        approves_upgrades,
    })
}

fn any_csvs() -> impl Strategy<Value = Vec<Object>> {
    prop::collection::vec(
        any_object(Part::Csv, &["quay.v1", "quay.v2", "argocd.v1"], json!({})),
        0..3,
    )
}

fn any_approver() -> impl Strategy<Value = Approver> {
    let subscription = any_subscription().prop_map(|subscription| {
        let mut object = subscription.as_ref().clone();
        object["metadata"]["name"] = json!("argocd");
        object["status"]["currentCSV"] = json!("argocd.v1");
        Arc::new(object)
    });
    (any_grants(), subscription, any_csvs()).prop_map(|(grants, subscription, csvs)| Approver {
        grants,
        subscription,
        csvs,
    })
}

prop_compose! {
    fn any_observed()(
        groups in read(prop::collection::vec(any_object(Part::OperatorGroup, &["operators-x", "foreign"], json!({})), 0..3)),
        subscription in read(prop::option::weighted(0.8, any_subscription())),
        others in read(prop::collection::vec(any_object(Part::Subscription, &["quay", "argocd"], json!({})), 0..3)),
        install_plans in read(prop::collection::vec(any_plan(), 0..3)),
        approvers in read(prop::collection::vec(any_approver(), 0..2)),
        csvs in read(any_csvs()),
        crds in read(prop::collection::vec(any_object(Part::Crd, &["quays", "argocds"], json!({})), 0..3)),
        copied in read(prop::option::weighted(0.2, any_object(Part::Csv, &["quay.v1"], json!({})))),
    ) -> Observed {
        let copied = copied.map(|copied| copied.map(|csv| CopiedCsv { csv, namespace: "elsewhere".to_owned() }));
        Observed {
            copied, operator_groups: groups, subscription, subscriptions: others, install_plans, approvers, csvs, crds,
            ..Observed::default()
        }
    }
}

prop_compose! {
    fn any_story()(
        observed in any_observed(),
        grants in any_grants(),
        (enforces, must_have, is_invalid) in any::<(bool, bool, bool)>(),
        removal in prop::collection::vec(select(vec!["Keep", "Delete", "DeleteIfUnused"]), 4),
    ) -> Story {
        let mut story = if enforces { Story::enforce() } else { Story::inform() };
        story.policy["spec"]["complianceType"] = json!(if must_have { "musthave" } else { "mustnothave" });
        story.policy["spec"]["upgradeApproval"] = json!(if grants.approves_upgrades { "Automatic" } else { "None" });
        story.policy["spec"]["removalBehavior"] = json!({
            "operatorGroups": removal[0], "subscriptions": removal[1],
            "clusterServiceVersions": removal[2], "customResourceDefinitions": removal[3],
        });
        story.desired.versions = grants.versions;
        if is_invalid {
            story.desired.invalid = Some("no".to_owned());
        }
        story.observed = observed;
        if !must_have {
            // Copies are not read then.
            story.observed.copied = Ok(None);
        }
        story
    }
}

/// The objects that the decision was shown.
fn shown(observed: &Observed) -> Vec<Object> {
    let lists = [
        &observed.operator_groups,
        &observed.subscriptions,
        &observed.install_plans,
        &observed.csvs,
        &observed.crds,
    ];
    let mut shown: Vec<Object> = lists.into_iter().flatten().flatten().cloned().collect();
    shown.extend(observed.subscription.iter().flatten().cloned());
    shown
}

fn check_delete(story: &Story, object: &Object) -> Result<(), TestCaseError> {
    prop_assert!(
        shown(&story.observed).contains(object),
        "it was not shown {object}"
    );
    let at = |pointer: &str| {
        object
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let kind = at("/kind");
    let has_label = label(object, &format!("{OPERATOR_LABEL}{LABEL}")).is_some();
    if kind != Part::Crd.kind() {
        prop_assert_eq!(at("/metadata/namespace"), "operators");
    }
    let removal = &story.policy["spec"]["removalBehavior"];
    let may_remove = story.policy["spec"]["complianceType"] == "mustnothave";
    match kind {
        "Subscription" if !may_remove => {
            prop_assert!(matches!(story.observed.copied, Ok(Some(_))));
            prop_assert_eq!(annotation(object, MANAGED), Some(OWN));
        }
        "Subscription" => {
            prop_assert_eq!(name(object), "quay");
            prop_assert_ne!(&removal["subscriptions"], "Keep");
        }
        "OperatorGroup" => {
            prop_assert!(may_remove);
            prop_assert_ne!(&removal["operatorGroups"], "Keep");
            prop_assert_eq!(at("/metadata/generateName"), "operators-");
            prop_assert!(object.pointer("/metadata/ownerReferences").is_none());
            let others = story
                .observed
                .subscriptions
                .as_ref()
                .map_err(|error| TestCaseError::fail(error.clone()))?;
            prop_assert!(others.iter().all(|other| name(other) == "quay"));
        }
        "ClusterServiceVersion" => {
            prop_assert!(may_remove && has_label && removal["clusterServiceVersions"] != "Keep");
        }
        "CustomResourceDefinition" => {
            prop_assert!(may_remove && has_label && removal["customResourceDefinitions"] != "Keep");
        }
        _ => prop_assert!(false, "a {kind} is deleted"),
    }
    Ok(())
}

fn check_approval(story: &Story, plan: &Value) -> Result<(), TestCaseError> {
    let mut before = plan.clone();
    before["spec"]["approved"] = json!(false);
    prop_assert!(
        shown(&story.observed).contains(&Arc::new(before)),
        "it was not shown, or was approved"
    );
    prop_assert_eq!(&plan["metadata"]["namespace"], "operators");
    prop_assert_eq!(&story.policy["spec"]["complianceType"], "musthave");
    let own = Grants {
        versions: story.desired.versions.clone(),
        approves_upgrades: story.policy["spec"]["upgradeApproval"] == "Automatic",
        ..Grants::default()
    };
    let subscription = story.observed.subscription.as_ref().ok().cloned().flatten();
    let own = subscription.map(|subscription| (own, subscription));
    let others = story.observed.approvers.iter().flatten();
    let others = others.map(|other| (other.grants.clone(), Arc::clone(&other.subscription)));
    let approvers: Vec<_> = own.into_iter().chain(others).collect();
    for csv in plan["spec"]["clusterServiceVersionNames"]
        .as_array()
        .unwrap()
    {
        // The bundles have no dependencies: each version has a Subscription whose policy allows it.
        let is_approved = approvers.iter().any(|(grants, subscription)| {
            let is_upgrade = subscription["status"]["installedCSV"] != "";
            let allowed = &grants.versions.allowed;
            let is_listed = allowed.iter().any(|allowed| csv == allowed);
            subscription["status"]["currentCSV"] == *csv
                && (grants.approves_upgrades || !is_upgrade)
                && (is_listed || (allowed.is_empty() && !grants.versions.unresolved))
        });
        prop_assert!(is_approved, "nobody approves {csv}");
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn op_24_41_only_own_objects_are_deleted_or_approved(story in any_story()) {
        let ending = futures::executor::block_on(story.run());
        let is_enforced = story.policy["spec"]["remediationAction"] == "enforce" && story.desired.invalid.is_none();
        prop_assert!(is_enforced || ending.written.is_empty());
        for write in &ending.written {
            match write {
                Write::Delete(object) => check_delete(&story, object)?,
                Write::Replace(object) if object["kind"] == Part::InstallPlan.kind() => check_approval(&story, object)?,
                _ => {}
            }
        }
    }
}
