//! Operators that must not be there.

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use reeve_scenarios::{Controller, apply_json, namespace, same, steadily, within};
use reeve_testkit::SOON;
use serde_json::{Value, json};

use crate::operator::cluster::{Cluster, OLM, Operator, with_olm};

const KINDS: [&str; 3] = ["Subscription", "ClusterServiceVersion", "OperatorGroup"];

async fn installed<'c>(world: &'c Cluster, name: &str) -> Result<Operator<'c>> {
    let operator = Operator::new(world, name).await?;
    operator.apply(operator.enforced()).await?;
    operator.install().await?;
    operator.is("Compliant").await?;
    Ok(operator)
}

/// All deleted, and the definitions kept.
pub(crate) async fn everything(world: Arc<Cluster>) -> Result<()> {
    let operator = installed(&world, "removed").await?;
    let definition = labelled_definition(&operator, "removeds").await?;
    operator
        .patch(json!({"complianceType": "mustnothave"}))
        .await?;
    operator.is("Compliant").await?;
    for kind in ["Subscription", "ClusterServiceVersion"] {
        let name = if kind == "Subscription" {
            "removed"
        } else {
            "removed.v1"
        };
        ensure!(operator.get(kind, name).await?.is_none(), "{kind} is there");
        let condition = format!("{kind}Compliant");
        operator
            .condition(&condition, "True", &format!("{kind}NotPresent"))
            .await?;
    }
    same("the groups", operator.groups().await?.len(), 0)?;
    let kept = world.get(
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
        None,
        &definition,
    );
    ensure!(kept.await?.is_some(), "the definition is gone");
    operator
        .condition(
            "CustomResourceDefinitionCompliant",
            "True",
            "CustomResourceDefinitionKept",
        )
        .await?;
    let events = operator.events().await?;
    for kind in ["Subscription", "OperatorGroup"] {
        let deleted = format!("the {kind} was deleted");
        let is_told = events.iter().any(|event| event.contains(&deleted));
        ensure!(is_told, "no event has {deleted:?}: {events:#?}");
    }
    operator
        .patch(json!({"removalBehavior": {"customResourceDefinitions": "Delete"}}))
        .await?;
    operator
        .condition(
            "CustomResourceDefinitionCompliant",
            "True",
            "RelevantCRDNotFound",
        )
        .await?;
    Ok(())
}

async fn labelled_definition(operator: &Operator<'_>, plural: &str) -> Result<String> {
    let name = format!("{plural}.operators.example.com");
    let label = format!(
        "operators.coreos.com/{}.{}",
        operator.name, operator.namespace
    );
    let any = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    apply_json(
        operator.cluster,
        json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": name, "labels": {label: ""}},
            "spec": {
                "group": "operators.example.com", "scope": "Namespaced",
                "names": {"kind": "Removed", "plural": plural},
                "versions": [{
                    "name": "v1", "served": true, "storage": true,
                    "schema": {"openAPIV3Schema": any},
                }],
            },
        }),
    )
    .await?;
    operator
        .condition(
            "CustomResourceDefinitionCompliant",
            "True",
            "RelevantCRDFound",
        )
        .await?;
    Ok(name)
}

/// Objects that others hold are reported until they are gone.
pub(crate) async fn finalizers(world: Arc<Cluster>) -> Result<()> {
    let operator = installed(&world, "held").await?;
    let group = operator.groups().await?.remove(0);
    let group = group.metadata.name.unwrap_or_default();
    let names = ["held", "held.v1", group.as_str()];
    let hold = |finalizers: Value| {
        let patch = json!({"metadata": {"finalizers": finalizers}});
        let (world, operator) = (&world, &operator);
        async move {
            for (kind, name) in KINDS.iter().zip(names) {
                let version = if *kind == "OperatorGroup" {
                    "operators.coreos.com/v1"
                } else {
                    OLM
                };
                let namespace = Some(operator.namespace.as_str());
                world
                    .patch(version, kind, namespace, name, patch.clone())
                    .await?;
            }
            anyhow::Ok(())
        }
    };
    hold(json!(["example.com/hold"])).await?;
    operator
        .patch(json!({"complianceType": "mustnothave"}))
        .await?;
    for kind in KINDS {
        let condition = format!("{kind}Compliant");
        operator
            .condition(&condition, "False", &format!("{kind}Deleting"))
            .await?;
    }
    let related = operator.related("Subscription").await?;
    let waits = "The object is being deleted but has not been removed yet";
    let expected = (
        "held".to_owned(),
        "NonCompliant".to_owned(),
        waits.to_owned(),
    );
    same("the related Subscription", related, vec![expected])?;
    let events = operator.events().await?.len();
    steadily("no event is repeated", || async {
        same("the events", operator.events().await?.len(), events)
    })
    .await?;
    hold(json!(null)).await?;
    operator.is("Compliant").await?;
    Ok(())
}

/// A policy that cannot tell the namespace must not touch the operator of that name in another one.
pub(crate) async fn unknown_namespace(world: Arc<Cluster>) -> Result<()> {
    let operator = installed(&world, "arbitrary").await?;
    let other = operator.beside("arbitrary-other");
    // Its channel has no entry in the manifest, so no namespace is suggested.
    let spec = json!({
        "remediationAction": "enforce", "complianceType": "mustnothave", "upgradeApproval": "None",
        "subscription": {"name": "arbitrary", "channel": "none"},
    });
    other.apply(spec).await?;
    let message = other
        .condition("ValidPolicySpec", "False", "InvalidPolicySpec")
        .await?;
    same(
        "the message",
        message.as_str(),
        "namespace is required in spec.subscription",
    )?;
    stays(&operator).await
}

/// An enforced policy whose group is invalid removes nothing, and reports what is there.
pub(crate) async fn invalid(world: Arc<Cluster>) -> Result<()> {
    let operator = installed(&world, "broken").await?;
    let group = json!({"name": "group", "foo": "bar"});
    operator
        .patch(json!({"complianceType": "mustnothave", "operatorGroup": group}))
        .await?;
    let message = operator
        .condition("ValidPolicySpec", "False", "InvalidPolicySpec")
        .await?;
    let expected = "the policy spec.operatorGroup is invalid: json: unknown field \"foo\"";
    same("the message", message.as_str(), expected)?;
    operator
        .condition("SubscriptionCompliant", "False", "SubscriptionPresent")
        .await?;
    stays(&operator).await
}

async fn stays(operator: &Operator<'_>) -> Result<()> {
    within("the Subscription is there", || async {
        operator.subscribed().await?;
        Ok(())
    })
    .await?;
    steadily("the operator stays", || async {
        let subscription = operator.get("Subscription", &operator.name).await?;
        ensure!(subscription.is_some(), "the Subscription is gone");
        let csv = operator
            .get("ClusterServiceVersion", &operator.csv())
            .await?;
        ensure!(csv.is_some(), "the version is gone");
        same("the groups", operator.groups().await?.len(), 1)
    })
    .await
}

/// While the kind `ConfigurationPolicy` is gone the controller is being uninstalled: operators are left as they are until
/// it is back.
pub(crate) async fn uninstallation(_: Arc<Cluster>) -> Result<()> {
    let plane = with_olm("uninstalled").await?;
    namespace(&plane, "managed").await?;
    let crd = "configurationpolicies.policy.open-cluster-management.io";
    let kind = "CustomResourceDefinition";
    let api = "apiextensions.k8s.io/v1";
    let found = plane.get(api, kind, None, crd).await?;
    let mut found = found.context("no CRD")?;
    let named = json!({"apiVersion": api, "kind": kind, "metadata": {"name": crd}});
    plane.delete(&named.to_string()).await?;
    plane.gone(api, kind, None, crd, SOON).await?;

    let operator = Operator::new(&plane, "kept").await?;
    let mut spec = operator.enforced();
    spec["complianceType"] = json!("mustnothave");
    let wanted = json!({"spec": {
        "name": "kept", "channel": "stable", "source": "kept-catalog", "sourceNamespace": "olm",
    }});
    operator.create("Subscription", "kept", wanted).await?;
    operator.apply(spec).await?;
    let args = ["--enable-operator-policy=true"];
    let controller = Controller::start(&plane, "managed", &args).await?;
    let stays = steadily("the operator is left alone", || async {
        let subscription = operator.get("Subscription", "kept").await?;
        ensure!(subscription.is_some(), "the Subscription is gone");
        let status = operator.policy().await?.data["status"].clone();
        ensure!(status["compliant"].is_null(), "it is reported: {status:#}");
        Ok(())
    })
    .await;
    controller.with_log(stays)?;
    found.metadata.resource_version = None;
    found.metadata.uid = None;
    found.metadata.managed_fields = None;
    plane.apply_object(&found).await?;
    let removed = within("the operator is removed", || async {
        let subscription = operator.get("Subscription", "kept").await?;
        ensure!(subscription.is_none(), "it is there");
        Ok(())
    })
    .await;
    controller.with_log(removed)
}
