//! Operators that must not be there.

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use kube::ResourceExt as _;
use reeve_scenarios::{same, steadily};
use serde_json::{Value, json};

use crate::olm::cluster::{CATALOG, Clusters, Operator, takes};

const GROUP: &str = "scoped-operator-group";
const FOUND: &str = "Resource found but should not exist";
const GONE: &str = "Resource not found as expected";
const IGNORED: &str = "Resource found but will not be handled in mustnothave mode";
/// The kinds that a policy deletes, with their conditions.
const REMOVED: [&str; 4] = [
    "OperatorGroup",
    "Subscription",
    "ClusterServiceVersion",
    "CustomResourceDefinition",
];

fn condition(kind: &str) -> String {
    format!("{kind}Compliant")
}

fn behavior(all: &str) -> Value {
    let group = if all == "Delete" {
        "DeleteIfUnused"
    } else {
        all
    };
    json!({"removalBehavior": {
        "operatorGroups": group, "subscriptions": all, "clusterServiceVersions": all,
        "customResourceDefinitions": all,
    }})
}

/// The name of the operator's object of a kind.
fn object(operator: &Operator<'_>, kind: &str) -> String {
    match kind {
        "OperatorGroup" => GROUP.to_owned(),
        "Subscription" => operator.package.clone(),
        "ClusterServiceVersion" => operator.csv("0.0.3"),
        _ => operator.crd(),
    }
}

/// Cases 41 to 43, and 45 to 49.
pub(crate) async fn finalizers(world: Arc<Clusters>) -> Result<()> {
    let operator = Operator::new(&world, "finalized").await?;
    install(&operator).await?;
    inform_only(&operator).await?;
    kept(&operator).await?;

    for kind in REMOVED {
        operator
            .finalizers(kind, &object(&operator, kind), &["example.com/wait"])
            .await?;
    }
    operator.patch(behavior("Delete")).await?;
    let being_deleted = "The object is being deleted but has not been removed yet";
    for kind in REMOVED {
        let reason = format!("{kind}Deleting");
        operator
            .says([&condition(kind), "False", &reason], "deletion timestamp")
            .await?;
        let name = object(&operator, kind);
        operator
            .relates(kind, &[[&name, "NonCompliant", being_deleted]])
            .await?;
    }
    for message in [
        "the OperatorGroup was deleted",
        "the Subscription was deleted",
        "the ClusterServiceVersion (finalized.v0.0.3) was deleted",
        "the CustomResourceDefinition was deleted",
    ] {
        operator.reports(message).await?;
    }
    // They go with the Subscription, which owns them.
    let plans = operator.names("InstallPlan").await?;
    ensure!(!plans.is_empty(), "the install plans are deleted");
    for kind in REMOVED {
        operator
            .finalizers(kind, &object(&operator, kind), &[])
            .await?;
    }
    nothing_left(&operator).await?;
    operator
        .relates("Deployment", &[["finalized", "Compliant", IGNORED]])
        .await
}

/// Cases 41 to 43.
async fn install(operator: &Operator<'_>) -> Result<()> {
    let mut spec = operator.spec("inform");
    spec["versions"] = json!([
        r#"{{ (lookup "v1" "ConfigMap" "default" "absent").data.version }}"#,
        operator.csv("0.0.3"),
        "",
    ]);
    operator.apply(spec).await?;
    let placeholder = [
        "-",
        "Inapplicable",
        "No relevant CustomResourceDefinitions found",
    ];
    operator
        .relates("CustomResourceDefinition", &[placeholder])
        .await?;
    let type_ = "CustomResourceDefinitionCompliant";
    operator
        .says([type_, "True", "RelevantCRDNotFound"], "no CRDs were found")
        .await?;
    operator
        .patch(json!({"remediationAction": "enforce"}))
        .await?;
    operator
        .says(
            [type_, "True", "RelevantCRDFound"],
            "there are CRDs present",
        )
        .await?;
    let crd = operator.crd();
    let found = [crd.as_str(), "Compliant", "Resource found as expected"];
    operator
        .relates("CustomResourceDefinition", &[found])
        .await?;
    operator.complies().await?;
    let count = || async {
        let events = operator.events().await?;
        anyhow::Ok(
            events
                .iter()
                .filter(|event| event.starts_with("Compliant;"))
                .count(),
        )
    };
    let before = count().await?;
    operator.patch_status(json!({"compliant": null})).await?;
    takes("it is reported again", || async {
        let now = count().await?;
        ensure!(now > before, "{before}, then {now}");
        Ok(())
    })
    .await
}

/// Case 45.
async fn inform_only(operator: &Operator<'_>) -> Result<()> {
    operator
        .patch(json!({"complianceType": "mustnothave", "remediationAction": "inform"}))
        .await?;
    operator.patch(behavior("Delete")).await?;
    for kind in REMOVED {
        let reason = format!("{kind}Present");
        operator
            .says([&condition(kind), "False", &reason], "present")
            .await?;
        let name = object(operator, kind);
        operator
            .relates(kind, &[[&name, "NonCompliant", FOUND]])
            .await?;
    }
    for kind in ["InstallPlan", "Deployment"] {
        let reason = format!("{kind}NotApplicable");
        operator
            .says([&condition(kind), "True", &reason], "ignore")
            .await?;
    }
    let ignored = "CatalogSourceNotApplicable";
    operator
        .says(["CatalogSourcesUnhealthy", "False", ignored], "ignore")
        .await?;
    operator
        .relates("CatalogSource", &[[CATALOG, "Compliant", IGNORED]])
        .await
}

/// Cases 46 and 47.
async fn kept(operator: &Operator<'_>) -> Result<()> {
    operator.patch(behavior("Keep")).await?;
    for action in ["inform", "enforce"] {
        operator.patch(json!({"remediationAction": action})).await?;
        for kind in REMOVED {
            let reason = format!("{kind}Kept");
            operator
                .says([&condition(kind), "True", &reason], "keep")
                .await?;
            let leftover = format!(
                "The {kind} is attached to a mustnothave policy, but does not need to be removed"
            );
            operator
                .relates(kind, &[[&object(operator, kind), "", &leftover]])
                .await?;
        }
        steadily("everything is kept", || all_there(operator)).await?;
    }
    Ok(())
}

async fn all_there(operator: &Operator<'_>) -> Result<()> {
    for kind in REMOVED {
        let name = object(operator, kind);
        let found = find(operator, kind, &name).await?;
        ensure!(found, "the {kind} {name} is gone");
    }
    Ok(())
}

/// Whether there is an object that is not being deleted.
async fn find(operator: &Operator<'_>, kind: &str, name: &str) -> Result<bool> {
    let found = if kind == "CustomResourceDefinition" {
        operator
            .cluster
            .get("apiextensions.k8s.io/v1", kind, None, name)
            .await?
    } else {
        operator.get(kind, name).await?
    };
    Ok(found.is_some_and(|found| found.metadata.deletion_timestamp.is_none()))
}

/// Waits until the policy reports that everything is gone, and it is.
pub(crate) async fn nothing_left(operator: &Operator<'_>) -> Result<()> {
    for kind in ["OperatorGroup", "Subscription", "ClusterServiceVersion"] {
        let reason = format!("{kind}NotPresent");
        operator
            .says([&condition(kind), "True", &reason], "is not present")
            .await?;
    }
    let none = [
        "CustomResourceDefinitionCompliant",
        "True",
        "RelevantCRDNotFound",
    ];
    operator.says(none, "no CRDs").await?;
    operator.complies().await?;
    for kind in REMOVED {
        let name = object(operator, kind);
        ensure!(
            !find(operator, kind, &name).await?,
            "the {kind} {name} is there"
        );
    }
    takes("the Deployment is gone", || async {
        let found = operator.names("Deployment").await?;
        ensure!(found.is_empty(), "{found:?}");
        Ok(())
    })
    .await
}

/// Case 44: nothing is installed.
pub(crate) async fn absent(world: Arc<Clusters>) -> Result<()> {
    let operator = Operator::new(&world, "empty").await?;
    let mut spec = operator.without_group("inform");
    spec["complianceType"] = json!("mustnothave");
    operator.apply(spec).await?;
    operator.complies().await?;
    let none = "There are no relevant InstallPlans in this namespace";
    let no_crd = "No relevant CustomResourceDefinitions found";
    for (kind, want) in [
        ("OperatorGroup", ["-", "Compliant", GONE]),
        ("Subscription", ["empty", "Compliant", GONE]),
        ("InstallPlan", ["-", "Compliant", none]),
        ("ClusterServiceVersion", ["-", "Compliant", GONE]),
        ("CustomResourceDefinition", ["-", "Inapplicable", no_crd]),
    ] {
        operator.relates(kind, &[want]).await?;
    }
    Ok(())
}

/// Case 50: only the CRD waits for a finalizer.
pub(crate) async fn crd_finalizer(world: Arc<Clusters>) -> Result<()> {
    let operator = Operator::new(&world, "removed").await?;
    operator.apply(operator.spec("enforce")).await?;
    operator.complies().await?;
    let (kind, crd) = ("CustomResourceDefinition", operator.crd());
    operator
        .finalizers(kind, &crd, &["example.com/wait"])
        .await?;
    operator.patch(behavior("Delete")).await?;
    operator
        .patch(json!({"complianceType": "mustnothave"}))
        .await?;
    let type_ = "CustomResourceDefinitionCompliant";
    operator
        .says(
            [type_, "False", "CustomResourceDefinitionDeleting"],
            "deletion timestamp",
        )
        .await?;
    operator.finalizers(kind, &crd, &[]).await?;
    operator
        .says([type_, "True", "RelevantCRDNotFound"], "no CRDs")
        .await?;
    operator.complies().await
}

/// Cases 51, 52 and 54: an `OperatorGroup` goes with the last Subscription of its namespace.
pub(crate) async fn unused_groups(world: Arc<Clusters>) -> Result<()> {
    let inferred = Operator::new(&world, "single").await?;
    inferred.apply(inferred.without_group("enforce")).await?;
    inferred.complies().await?;
    inferred
        .patch(json!({"complianceType": "mustnothave"}))
        .await?;
    inferred.complies().await?;
    same(
        "the groups",
        inferred.names("OperatorGroup").await?.len(),
        0,
    )?;

    let specified = Operator::new(&world, "pinned").await?;
    specified.apply(specified.spec("enforce")).await?;
    specified.complies().await?;
    let other = json!({
        "name": "another", "channel": "stable", "source": CATALOG, "sourceNamespace": "olm",
        "installPlanApproval": "Manual",
    });
    specified.put("Subscription", "another", other).await?;
    specified
        .patch(json!({"complianceType": "mustnothave"}))
        .await?;
    specified
        .says(
            ["OperatorGroupCompliant", "True", "OperatorGroupKept"],
            "keep",
        )
        .await?;
    specified.complies().await?;
    same(
        "the groups",
        specified.names("OperatorGroup").await?,
        vec![GROUP],
    )?;
    specified.delete("Subscription", "another").await?;
    specified
        .says(
            ["OperatorGroupCompliant", "True", "OperatorGroupNotPresent"],
            "not present",
        )
        .await?;
    same(
        "the groups",
        specified.names("OperatorGroup").await?.len(),
        0,
    )
}

/// Cases 53 and 55: `OperatorGroups` that are somebody else's.
pub(crate) async fn groups_of_others(world: Arc<Clusters>) -> Result<()> {
    let operator = Operator::new(&world, "owned").await?;
    let owner = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "owner", "namespace": operator.namespace},
    });
    let owner = reeve_scenarios::apply_json(operator.cluster, owner).await?;
    let own = json!({"targetNamespaces": [operator.namespace]});
    operator.put("OperatorGroup", GROUP, own).await?;
    let owners = json!({"metadata": {"ownerReferences": [{
        "apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner.uid().context("no UID")?,
    }]}});
    let place = Some(operator.namespace.as_str());
    operator
        .cluster
        .patch(
            crate::olm::cluster::GROUPS,
            "OperatorGroup",
            place,
            GROUP,
            owners,
        )
        .await?;
    let mut spec = operator.spec("enforce");
    spec["complianceType"] = json!("mustnothave");
    operator.apply(spec).await?;
    operator
        .says(
            ["OperatorGroupCompliant", "True", "OperatorGroupKept"],
            "keep",
        )
        .await?;
    steadily("it is kept", || async {
        same(
            "the groups",
            operator.names("OperatorGroup").await?,
            vec![GROUP],
        )
    })
    .await?;
    let other = json!({"operatorGroup": {"name": "other-name"}, "remediationAction": "inform"});
    operator.patch(other).await?;
    operator
        .says(
            ["OperatorGroupCompliant", "True", "OperatorGroupNotPresent"],
            "not present",
        )
        .await?;
    operator
        .relates("OperatorGroup", &[["other-name", "Compliant", GONE]])
        .await
}
