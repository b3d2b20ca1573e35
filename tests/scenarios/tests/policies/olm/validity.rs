//! Policies that are not valid, and policies that overlap.

use std::sync::Arc;

use anyhow::Result;
use reeve_scenarios::{Controller, namespace, same};
use serde_json::{Value, json};

use crate::olm::cluster::{Clusters, MANAGED, Operator};

/// The namespace of policies that have a controller of their own, so that its reconciles are theirs.
const OVERLAPPING: &str = "overlapping";
const TYPE: &str = "ValidPolicySpec";
const INVALID: [&str; 3] = [TYPE, "False", "InvalidPolicySpec"];
const VALID: [&str; 3] = [TYPE, "True", "PolicyValidated"];

/// Cases 35 to 40: one mistake after the other is mended.
pub(crate) async fn mended(world: Arc<Clusters>) -> Result<()> {
    let operator = Operator::suggested(&world, "validity");
    let mut spec = operator.spec("inform");
    spec["subscription"]["actually"] = json!("incorrect");
    spec["subscription"]["installPlanApproval"] = json!("Automatic");
    spec["operatorGroup"]["namespace"] = json!("elsewhere");
    spec["operatorGroup"]["foo"] = json!("bar");
    operator.apply(spec).await?;
    operator
        .says(
            INVALID,
            r#"the policy spec.subscription is invalid: json: unknown field "actually""#,
        )
        .await?;
    operator
        .patch(json!({"subscription": {"actually": null}}))
        .await?;
    operator
        .says(
            INVALID,
            "installPlanApproval is prohibited in spec.subscription",
        )
        .await?;
    operator
        .patch(json!({"subscription": {"installPlanApproval": null}}))
        .await?;
    let namespaces = "the namespace specified in spec.operatorGroup ('elsewhere') must match the namespace used for the subscription ('validity-system')";
    operator.says(INVALID, namespaces).await?;
    operator
        .patch(json!({"operatorGroup": {"namespace": operator.namespace}}))
        .await?;
    operator
        .says(
            INVALID,
            r#"the policy spec.operatorGroup is invalid: json: unknown field "foo""#,
        )
        .await?;
    let unknown = ["OperatorGroupCompliant", "Unknown", "InvalidPolicySpec"];
    operator.says(unknown, "could not be determined").await?;
    operator
        .patch(json!({"operatorGroup": {"foo": null}}))
        .await?;
    operator
        .says(
            INVALID,
            "the operator namespace ('validity-system') does not exist",
        )
        .await?;
    let missing = [
        "validity",
        "NonCompliant",
        "Resource not found but should exist",
    ];
    operator.relates("Subscription", &[missing]).await?;
    namespace(&world, &operator.namespace).await?;
    operator.says(VALID, "valid").await
}

/// Cases 59 to 63: overlapping policies.
pub(crate) async fn overlapping(world: Arc<Clusters>) -> Result<()> {
    let plane = &world.world.cluster(MANAGED)?.plane;
    namespace(plane, OVERLAPPING).await?;
    let args = ["--enable-operator-policy=true"];
    let controller = Controller::start(plane, OVERLAPPING, &args).await?;
    controller.with_log(wait_for_each_other(&world, &controller).await)
}

async fn wait_for_each_other(world: &Clusters, controller: &Controller) -> Result<()> {
    let one = Operator::new(world, "overlap")
        .await?
        .governed_in(OVERLAPPING);
    let other = one.beside("overlap-not", "overlap");
    one.apply(one.spec("inform")).await?;
    let mut spec = other.spec("inform");
    spec["complianceType"] = json!("mustnothave");
    other.apply(spec).await?;
    one.says(VALID, "valid").await?;
    other.says(VALID, "valid").await?;
    controller.reconciles_no_operator_policy().await?;
    for operator in [&one, &other] {
        operator
            .patch(json!({"remediationAction": "enforce"}))
            .await?;
    }
    let message = "the specified operator is managed by multiple enforced policies (overlap-not.overlapping, overlap.overlapping)";
    for operator in [&one, &other] {
        operator.says(INVALID, message).await?;
        operator
            .reports(&format!("NonCompliant; {message}"))
            .await?;
    }
    controller.reconciles_no_operator_policy().await?;
    other.delete_policy().await?;
    one.says(VALID, "valid").await?;
    one.complies().await
}

/// Case 56: an operator that must not be in a namespace that does not exist.
pub(crate) async fn no_namespace(world: Arc<Clusters>) -> Result<()> {
    let operator = Operator::of(&world, "nowhere", "empty", "nowhere-system");
    let mut spec = operator.spec("enforce");
    spec["complianceType"] = json!("mustnothave");
    operator.apply(spec).await?;
    operator.says(VALID, "valid").await?;
    operator.complies().await?;
    same(
        "the spec",
        operator.policy().await?.data["spec"]["severity"].clone(),
        Value::Null,
    )
}
