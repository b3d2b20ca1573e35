//! The real Gatekeeper.

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use kube::ResourceExt as _;
use reeve_scenarios::guarded::{Guarded, Real, constraint, template};
use reeve_scenarios::script::{CONSTRAINTS, TEMPLATES};
use reeve_scenarios::{Governed, same, within};
use reeve_testkit::{Plane, SOON};
use serde_json::{Value, json};

use crate::gatekeeper::flows::{CLEAN, made};

const CLUSTER: &str = "c1";

fn cups(namespace: &str, name: &str, key: &str) -> String {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": name, "namespace": namespace }, "data": { key: "x" }
    })
    .to_string()
}

/// Waits until nothing of these is left on the cluster.
async fn gone(cluster: &Plane, policy: &Governed<'_>, kind: &str, name: &str) -> Result<()> {
    policy.gone_from(CLUSTER, &[]).await?;
    let template = kind.to_lowercase();
    cluster
        .gone(TEMPLATES, "ConstraintTemplate", None, &template, SOON)
        .await?;
    cluster.gone(CONSTRAINTS, kind, None, name, SOON).await
}

async fn governed<'a>(real: &'a Real, name: &str, templates: Vec<Value>) -> Result<Governed<'a>> {
    let policy = Governed::apply(&real.world, name, "inform", templates).await?;
    policy.place(&[CLUSTER]).await?;
    Ok(policy)
}

pub(crate) async fn audits(world: Arc<Guarded>) -> Result<()> {
    let real = world.real().await?;
    let cluster = &real.world.cluster(CLUSTER)?.plane;
    let (kind, name) = ("CaseC17k", "case-c17k");
    // With the label of the guide's policy, which may be looking.
    let home = json!({
        "apiVersion": "v1", "kind": "Namespace",
        "metadata": { "name": name, "labels": { "gatekeeper": "yes" } }
    });
    cluster.apply(&home.to_string()).await?;
    let policy = governed(real, name, vec![template(kind), constraint(kind, name)]).await?;
    policy.reports(CLUSTER, "casec17k", &made(kind)).await?;
    policy.reports(CLUSTER, name, CLEAN).await?;
    cluster.apply(&cups(name, "one", "tea")).await?;
    cluster.apply(&cups(name, "two", "tea")).await?;
    cluster.apply(&cups(name, "three", "milk")).await?;
    let message = |action: &str, cup: &str| {
        format!("{action} - the key tea is forbidden (on ConfigMap {name}/{cup})")
    };
    // Gatekeeper lists them in descending order.
    let both = format!(
        "NonCompliant; {}; {}",
        message("warn", "two"),
        message("warn", "one")
    );
    policy.reports(CLUSTER, name, &both).await?;
    policy.root_is("NonCompliant").await?;

    policy.remediate("enforce").await?;
    let both = format!(
        "NonCompliant; {}; {}",
        message("deny", "two"),
        message("deny", "one")
    );
    policy.reports(CLUSTER, name, &both).await?;
    within("another one is denied", || async {
        let denial = cluster.apply(&cups(name, "four", "tea")).await;
        let Err(denial) = denial else {
            cluster.delete(&cups(name, "four", "tea")).await?;
            anyhow::bail!("it was admitted");
        };
        let text = format!("{denial:#}");
        ensure!(
            text.contains("admission webhook \"validation.gatekeeper.sh\" denied the request"),
            "{text}"
        );
        ensure!(text.contains("the key tea is forbidden"), "{text}");
        Ok(())
    })
    .await?;

    cluster
        .delete(&format!(
            "{}\n---\n{}",
            cups(name, "one", "tea"),
            cups(name, "two", "tea")
        ))
        .await?;
    policy.reports(CLUSTER, name, CLEAN).await?;
    policy.root_is("Compliant").await?;
    let history = policy.history(CLUSTER, name).await?;
    let twice = history.windows(2).find(|pair| pair[0] == pair[1]);
    ensure!(twice.is_none(), "reported twice: {history:#?}");
    same(
        "the reports of the template",
        policy.history(CLUSTER, "casec17k").await?,
        vec![made(kind)],
    )?;
    policy.remove().await?;
    gone(cluster, &policy, kind, name).await
}

pub(crate) async fn mistake(world: Arc<Guarded>) -> Result<()> {
    let real = world.real().await?;
    let cluster = &real.world.cluster(CLUSTER)?.plane;
    let mut broken = template("Case17Error");
    broken["spec"]["targets"][0]["rego"] =
        json!("package case17error\nviolation[{\"msg\": msg}] {\n  msg := (\n}\n");
    let policy = governed(real, "case-c17l", vec![broken]).await?;
    let want = "NonCompliant; template-error; Failed to create Gatekeeper ConstraintTemplate. \
        Check the status of case17error.";
    policy.reports(CLUSTER, "case17error", want).await?;
    policy.root_is("NonCompliant").await?;
    let corrected = json!({ "spec": { "policy-templates": [{ "objectDefinition": template("Case17Error") }] } });
    policy.patch(corrected).await?;
    policy.root_is("Compliant").await?;
    policy.remove().await?;
    policy.gone_from(CLUSTER, &[]).await?;
    within("the template is gone", || async {
        let found = cluster
            .get(TEMPLATES, "ConstraintTemplate", None, "case17error")
            .await?;
        ensure!(found.is_none(), "{found:?}");
        Ok(())
    })
    .await
}

pub(crate) async fn guide(world: Arc<Guarded>) -> Result<()> {
    let real = world.real().await?;
    let cluster = &real.world.cluster(CLUSTER)?.plane;
    // All namespaces but these two have the label.
    for namespace in cluster.list("v1", "Namespace", None).await? {
        let name = namespace.name_any();
        if !["default", "gatekeeper-system"].contains(&name.as_str()) {
            let label = json!({ "metadata": { "labels": { "gatekeeper": "yes" } } });
            cluster.patch("v1", "Namespace", None, &name, label).await?;
        }
    }
    let name = "require-gatekeeper-labels-on-ns";
    let policy = Governed::ready_made(&real.world, "gatekeeper.yaml", name).await?;
    let placement = "placement-require-gatekeeper-labels-on-ns";
    reeve_testkit::world::decide(&real.world.hub, "policies", placement, &[CLUSTER]).await?;
    let on = |name: &str| {
        format!("warn - you must provide labels: {{\"gatekeeper\"}} (on Namespace {name})")
    };
    // As Gatekeeper lists them; the guide has them the other way round.
    let want = format!(
        "NonCompliant; {}; {}",
        on("gatekeeper-system"),
        on("default")
    );
    policy.reports(CLUSTER, "ns-must-have-gk", &want).await?;
    policy
        .reports(CLUSTER, "k8srequiredlabels", &made("K8sRequiredLabels"))
        .await?;
    policy.root_is("NonCompliant").await?;
    let label = json!({ "metadata": { "labels": { "gatekeeper": "yes" } } });
    for namespace in ["default", "gatekeeper-system"] {
        cluster
            .patch("v1", "Namespace", None, namespace, label.clone())
            .await?;
    }
    policy.reports(CLUSTER, "ns-must-have-gk", CLEAN).await?;
    policy.root_is("Compliant").await?;
    let found = cluster
        .get(CONSTRAINTS, "K8sRequiredLabels", None, "ns-must-have-gk")
        .await?;
    let action = found.context("no constraint")?.data["spec"]["enforcementAction"].clone();
    ensure!(action == "warn", "the constraint does {action}");
    real.world
        .hub
        .delete(&format!(
            r#"{{"apiVersion": "policy.open-cluster-management.io/v1", "kind": "Policy",
                "metadata": {{"name": "{name}", "namespace": "policies"}}}}"#
        ))
        .await?;
    gone(cluster, &policy, "K8sRequiredLabels", "ns-must-have-gk").await
}
