//! `OperatorPolicy`: what is accepted, what is refused, and what the API server fills in.

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use reeve_testkit::Plane;
use serde_json::{Value, json};

use super::{Case, V1BETA1, try_all};

const KIND: &str = "OperatorPolicy";

fn spec() -> Value {
    json!({
        "complianceType": "musthave", "remediationAction": "inform", "upgradeApproval": "None",
        "subscription": { "name": "argocd-operator", "config": { "any": [1] } }
    })
}

fn with(field: &str, value: Value) -> Value {
    let mut spec = spec();
    spec[field] = value;
    json!({ "spec": spec })
}

fn without(field: &str) -> Value {
    let mut spec = spec();
    if let Some(fields) = spec.as_object_mut() {
        fields.remove(field);
    }
    json!({ "spec": spec })
}

pub(crate) async fn accepted_and_refused(plane: Arc<Plane>) -> Result<()> {
    let cases: Vec<Case<'_>> = vec![
        ("op-plain", json!({ "spec": spec() }), None),
        ("op-no-spec", json!({}), None),
        ("op-no-remediation", without("remediationAction"), None),
        (
            "op-no-type",
            without("complianceType"),
            Some("spec.complianceType: Required value"),
        ),
        (
            "op-no-subscription",
            without("subscription"),
            Some("spec.subscription: Required value"),
        ),
        (
            "op-no-approval",
            without("upgradeApproval"),
            Some("spec.upgradeApproval: Required value"),
        ),
        ("op-not", with("complianceType", json!("mustnothave")), None),
        (
            "op-case",
            with("complianceType", json!("MustHave")),
            Some("Unsupported value: \"MustHave\""),
        ),
        (
            "op-only",
            with("complianceType", json!("mustonlyhave")),
            Some("Unsupported value"),
        ),
        (
            "op-enforce",
            with("remediationAction", json!("Enforce")),
            None,
        ),
        (
            "op-shout",
            with("remediationAction", json!("ENFORCE")),
            Some("Unsupported value: \"ENFORCE\""),
        ),
        (
            "op-automatic",
            with("upgradeApproval", json!("Automatic")),
            None,
        ),
        (
            "op-manual",
            with("upgradeApproval", json!("Manual")),
            Some("Unsupported value: \"Manual\""),
        ),
        ("op-severity", with("severity", json!("Critical")), None),
        (
            "op-severe",
            with("severity", json!("severe")),
            Some("Unsupported value: \"severe\""),
        ),
        (
            "op-versions",
            with("versions", json!(["a.v1", "{{ \"b,c\" }}"])),
            None,
        ),
        (
            "op-version",
            with("versions", json!("a.v1")),
            Some("spec.versions"),
        ),
        (
            "op-group",
            with(
                "operatorGroup",
                json!({ "name": "g", "targetNamespaces": ["a"] }),
            ),
            None,
        ),
        (
            "op-group-list",
            with("operatorGroup", json!([])),
            Some("spec.operatorGroup"),
        ),
    ];
    try_all(&plane, V1BETA1, KIND, cases).await
}

/// What happens to the operator's parts, and what their states mean.
pub(crate) async fn parts(plane: Arc<Plane>) -> Result<()> {
    let removal = |field: &str, word: &str| with("removalBehavior", json!({ field: word }));
    let config = |field: &str, word: &str| with("complianceConfig", json!({ field: word }));
    let cases: Vec<Case<'_>> = vec![
        ("op-keep-group", removal("operatorGroups", "Keep"), None),
        (
            "op-drop-group",
            removal("operatorGroups", "Delete"),
            Some("Unsupported value: \"Delete\""),
        ),
        (
            "op-drop-crds",
            removal("customResourceDefinitions", "Delete"),
            None,
        ),
        (
            "op-unused-sub",
            removal("subscriptions", "DeleteIfUnused"),
            Some("Unsupported value"),
        ),
        (
            "op-keep-csv",
            removal("clusterServiceVersions", "Keep"),
            None,
        ),
        (
            "op-config",
            config("deprecationsPresent", "NonCompliant"),
            None,
        ),
        (
            "op-config-word",
            config("upgradesAvailable", "Maybe"),
            Some("Unsupported value: \"Maybe\""),
        ),
    ];
    try_all(&plane, V1BETA1, KIND, cases).await
}

pub(crate) async fn defaults(plane: Arc<Plane>) -> Result<()> {
    let mut spec = spec();
    if let Some(fields) = spec.as_object_mut() {
        fields.remove("remediationAction");
    }
    let policy = json!({
        "apiVersion": V1BETA1, "kind": KIND,
        "metadata": { "name": "op-defaults", "namespace": "default" },
        "spec": spec,
        "status": { "relatedObjects": [], "conditions": [] }
    });
    let stored = plane.apply(&policy.to_string()).await?;
    let stored = &stored.first().context("nothing was applied")?.data;
    let want = json!({
        "complianceConfig": {
            "catalogSourceUnhealthy": "Compliant", "deploymentsUnavailable": "NonCompliant",
            "deprecationsPresent": "Compliant", "minorChannelUpgradeAvailable": "Compliant",
            "upgradesAvailable": "Compliant"
        },
        "complianceType": "musthave",
        "remediationAction": "inform",
        "removalBehavior": {
            "clusterServiceVersions": "Delete", "customResourceDefinitions": "Keep",
            "operatorGroups": "DeleteIfUnused", "subscriptions": "Delete"
        },
        "subscription": { "name": "argocd-operator", "config": { "any": [1] } },
        "upgradeApproval": "None"
    });
    ensure!(
        stored["spec"] == want,
        "the stored spec is {}",
        stored["spec"]
    );
    // Empty lists are stored as such: a status without related objects reports that there are none.
    ensure!(
        stored["status"] == json!({ "relatedObjects": [], "conditions": [] }),
        "the stored status is {}",
        stored["status"]
    );
    Ok(())
}

/// What the API server's conditions must look like, and that others' fields are dropped.
pub(crate) async fn statuses(plane: Arc<Plane>) -> Result<()> {
    let policy = json!({
        "apiVersion": V1BETA1, "kind": KIND,
        "metadata": { "name": "op-status", "namespace": "default" }, "spec": spec()
    });
    plane.apply(&policy.to_string()).await?;
    let condition = |reason: &str| {
        json!({ "status": {
            "compliant": "NonCompliant", "observedGeneration": 1,
            "conditions": [{
                "type": "SubscriptionCompliant", "status": "False", "reason": reason,
                "message": "m", "lastTransitionTime": "2024-01-01T00:00:00Z"
            }],
            "history": [{ "lastTimestamp": "2024-01-01T00:00:00.000001Z", "message": "m" }],
            "relatedObjects": [{
                "object": { "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "-" } },
                "compliant": "Inapplicable", "reason": "r",
                "properties": { "createdByPolicy": true, "uid": "u", "diff": "none here" }
            }],
            "resolvedSubscriptionLabel": "a.b", "overlappingPolicies": ["a.b"],
            "subscriptionInterventionTime": "2024-01-01T00:00:00Z"
        } })
    };
    let write = async |reason: &str| {
        let patch = condition(reason);
        plane
            .patch_status(V1BETA1, KIND, Some("default"), "op-status", patch)
            .await
    };
    let refused = write("").await.err().map(|error| format!("{error:#}"));
    ensure!(
        refused
            .as_deref()
            .is_some_and(|text| text.contains("status.conditions[0].reason")),
        "a condition without a reason: {refused:?}"
    );
    let stored = write("SubscriptionMissing").await?;
    let properties = &stored.data["status"]["relatedObjects"][0]["properties"];
    ensure!(
        *properties == json!({ "createdByPolicy": true, "uid": "u" }),
        "the stored properties are {properties}"
    );
    Ok(())
}
