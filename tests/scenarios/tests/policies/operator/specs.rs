//! Specs that depend on the cluster: templates, defaults, namespaces.

use std::sync::Arc;

use anyhow::{Result, ensure};
use reeve_scenarios::{apply_json, namespace, same, steadily, within};
use serde_json::json;

use crate::operator::cluster::{Cluster, Operator};

/// A Subscription and a group from templates follow what these read.
pub(crate) async fn templates(world: Arc<Cluster>) -> Result<()> {
    let operator = Operator::new(&world, "templated").await?;
    let config = |channel: &str| {
        json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "config", "namespace": operator.namespace},
            "data": {"channel": channel, "namespaces": r#"["b", "a"]"#},
        })
    };
    apply_json(&world, config("one")).await?;
    let mut spec = operator.enforced();
    let read = |key: &str| {
        format!(
            "fromConfigMap \"{}\" \"config\" \"{key}\"",
            operator.namespace
        )
    };
    spec["subscription"]["channel"] = json!(format!("{{{{ {} }}}}", read("channel")));
    let namespaces = format!("{{{{ {} | toLiteral }}}}", read("namespaces"));
    spec["operatorGroup"] = json!({"name": "group", "targetNamespaces": namespaces});
    // The manifest has no such channel, and so suggests no namespace for it.
    spec["subscription"]["namespace"] = json!(operator.namespace);
    operator.apply(spec).await?;
    let subscription = operator.subscribed().await?;
    same(
        "the channel",
        &subscription.data["spec"]["channel"],
        &json!("one"),
    )?;
    let groups = operator.groups().await?;
    same(
        "the namespaces",
        &groups[0].data["spec"]["targetNamespaces"],
        &json!(["b", "a"]),
    )?;
    apply_json(&world, config("two")).await?;
    within("the Subscription follows", || async {
        let subscription = operator.subscribed().await?;
        same(
            "the channel",
            &subscription.data["spec"]["channel"],
            &json!("two"),
        )
    })
    .await
}

/// Encrypted values of a Subscription are decrypted with the key of the policy's namespace.
pub(crate) async fn encrypted(world: Arc<Cluster>) -> Result<()> {
    let operator = Operator::new(&world, "encrypted").await?;
    let key = json!({
        "apiVersion": "v1", "kind": "Secret",
        "metadata": {"name": "policy-encryption-key", "namespace": operator.policies},
        // `reeve-tests-first-key-0123456789`.
        "data": {"key": "cmVldmUtdGVzdHMtZmlyc3Qta2V5LTAxMjM0NTY3ODk="},
    });
    apply_json(&world, key).await?;
    let mut spec = operator.enforced();
    // `Raleigh`, by that key and the initialization vector below.
    spec["subscription"]["channel"] = json!("$ocm_encrypted:sccn7GCvPFMYYCtjZGUrcA==");
    spec["subscription"]["namespace"] = json!(operator.namespace);
    operator.apply(spec).await?;
    let name = "policy.open-cluster-management.io/encryption-iv";
    operator
        .annotate(json!({name: "YW4taXYtb2YtMTZieXRlcw=="}))
        .await?;
    within("the channel is decrypted", || async {
        let subscription = operator.subscribed().await?;
        let channel = subscription.data["spec"]["channel"].clone();
        same("the channel", channel, json!("Raleigh"))
    })
    .await?;
    // The status comes after the Subscription.
    within("the policy has a status", || async {
        operator.status().await.map(|_| ())
    })
    .await?;
    let status = operator.status().await?.to_string();
    let events = operator.events().await?.join("\n");
    ensure!(
        !status.contains("Raleigh") && !events.contains("Raleigh"),
        "the decrypted value is shown: {status}\n{events}"
    );
    Ok(())
}

/// A function that the flags deny fails, and nothing is subscribed.
pub(crate) async fn denied_function(world: Arc<Cluster>) -> Result<()> {
    let operator = Operator::new(&world, "denied").await?;
    let mut spec = operator.enforced();
    spec["subscription"]["channel"] = json!("{{ \"a\" | sha512sum }}");
    operator.apply(spec).await?;
    let reason = "InvalidPolicySpec";
    let message = operator
        .condition("ValidPolicySpec", "False", reason)
        .await?;
    ensure!(
        message.starts_with("could not build subscription: ")
            && message.contains("use of denylisted template function: function 'sha512sum'"),
        "the message is {message}"
    );
    steadily("nothing is subscribed", || async {
        let found = operator.get("Subscription", "denied").await?;
        ensure!(found.is_none(), "{found:?}");
        Ok(())
    })
    .await
}

/// What the template engine says of a template is in the status, and the next spec is taken.
pub(crate) async fn broken_template(world: Arc<Cluster>) -> Result<()> {
    let operator = Operator::new(&world, "malformed").await?;
    let mut spec = operator.enforced();
    spec["versions"] = json!(["{{ .badTemplate "]);
    operator.apply(spec).await?;
    let reason = "InvalidPolicySpec";
    let message = operator
        .condition("ValidPolicySpec", "False", reason)
        .await?;
    let expected = r#"unable to create template resolver: could not resolve the version template: failed to parse the template JSON string ["{{ .badTemplate "]: template: tmpl:1: unterminated character constant"#;
    same("the message", message.as_str(), expected)?;
    ensure!(
        operator.get("Subscription", "malformed").await?.is_none(),
        "it is subscribed"
    );
    operator
        .patch(json!({"versions": ["malformed.v1", " , "]}))
        .await?;
    operator
        .condition("ValidPolicySpec", "True", "PolicyValidated")
        .await?;
    operator.subscribed().await?;
    Ok(())
}

/// A key that is missing in a `ConfigMap` does not unpin an operator.
pub(crate) async fn missing_versions(world: Arc<Cluster>) -> Result<()> {
    let operator = Operator::new(&world, "pinned").await?;
    let mut spec = operator.enforced();
    let config = format!(
        "(lookup \"v1\" \"ConfigMap\" \"{}\" \"versions\")",
        operator.namespace
    );
    let versions = format!("{{{{ range {config}.data }}}}{{{{ . }}}}{{{{ end }}}}");
    spec["versions"] = json!([versions]);
    operator.apply(spec).await?;
    let subscription = operator.subscribed().await?;
    let approval = &subscription.data["spec"]["installPlanApproval"];
    same("the approval", approval, &json!("Manual"))?;
    operator.versions(&operator.csv(), "").await?;
    operator
        .plan("install-pinned", &[&operator.csv()], "RequiresApproval")
        .await?;
    let reason = "InstallPlanRequiresApproval";
    operator
        .condition("InstallPlanCompliant", "True", reason)
        .await?;
    steadily("the install plan waits", || async {
        let plan = operator.get("InstallPlan", "install-pinned").await?;
        let approved = plan.is_some_and(|plan| plan.data["spec"]["approved"] == true);
        ensure!(!approved, "it is approved");
        Ok(())
    })
    .await
}

/// An informing policy reports that the namespace is missing, and goes on when it appears.
pub(crate) async fn namespace_awaited(world: Arc<Cluster>) -> Result<()> {
    let operator = Operator::without_namespace(&world, "awaited").await?;
    let mut spec = operator.enforced();
    spec["remediationAction"] = json!("inform");
    operator.apply(spec).await?;
    let message = operator
        .condition("ValidPolicySpec", "False", "InvalidPolicySpec")
        .await?;
    let expected = "the operator namespace ('awaited-system') does not exist";
    same("the message", message.as_str(), expected)?;
    let reason = "Resource not found but should exist";
    let missing = (
        "awaited".to_owned(),
        "NonCompliant".to_owned(),
        reason.to_owned(),
    );
    same(
        "the Subscription",
        operator.related("Subscription").await?,
        vec![missing],
    )?;
    namespace(&world, &operator.namespace).await?;
    operator
        .condition("ValidPolicySpec", "True", "PolicyValidated")
        .await?;
    operator
        .condition("SubscriptionCompliant", "False", "SubscriptionMissing")
        .await?;
    Ok(())
}

/// Without a package manifest the defaults are unknown, until somebody makes it.
pub(crate) async fn no_package(world: Arc<Cluster>) -> Result<()> {
    let operator = Operator::new(&world, "unpackaged").await?;
    let package = json!({
        "apiVersion": "packages.operators.coreos.com/v1", "kind": "PackageManifest",
        "metadata": {"name": "unpackaged", "namespace": "default"},
    });
    world.delete(&package.to_string()).await?;
    operator.apply(operator.enforced()).await?;
    let message = operator
        .condition("ValidPolicySpec", "False", "InvalidPolicySpec")
        .await?;
    let expected = "the subscription defaults could not be determined because the PackageManifest was not found";
    same("the message", message.as_str(), expected)?;
    let events = operator.events().await?;
    let expected = format!("NonCompliant; {expected}");
    ensure!(events.contains(&expected), "the events are {events:#?}");
    Ok(())
}
