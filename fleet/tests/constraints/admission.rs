//! Admission by the constraints of an API server in memory. `tests/admission` compares its answers with Gatekeeper's.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use reeve_constraint_audit::Mode;
use serde_json::{Value, json};

use crate::world::{Cluster, labels_template, on_config_maps, template, total};

const WEBHOOK: &str = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/\
    gatekeeper-validating-webhook-configuration";

/// A cluster with a constraint that refuses `ConfigMap`s of the namespace `shop` without an owner.
async fn guarded() -> Result<(Cluster, String)> {
    let cluster = Cluster::enforced()?;
    cluster.namespace("shop", &json!({})).await?;
    cluster.template(&labels_template()).await?;
    let constraint = cluster
        .constraint("NeedLabels", "owner", &on_config_maps())
        .await?;
    cluster.refuses("shop", "canary", true).await?;
    Ok((cluster, constraint))
}

#[tokio::test]
async fn gk_141_without_constraints_no_request_is_evaluated() -> Result<()> {
    let cluster = Cluster::enforced()?;
    cluster.namespace("shop", &json!({})).await?;
    cluster.template(&labels_template()).await?;
    cluster
        .eventually(WEBHOOK, |it| it["webhooks"][0]["failurePolicy"] == "Ignore")
        .await?;
    let before = cluster.evaluation.reviews();
    for number in 0..20 {
        cluster
            .config_map("shop", &format!("a{number}"), &json!({}))
            .await?;
    }
    ensure!(
        cluster.evaluation.reviews() == before,
        "requests were evaluated"
    );

    let constraint = cluster
        .constraint("NeedLabels", "owner", &on_config_maps())
        .await?;
    cluster.refuses("shop", "canary", true).await?;
    let before = cluster.evaluation.reviews();
    let good = json!({"owner": "me"});
    for number in 0..20 {
        cluster
            .config_map("shop", &format!("b{number}"), &good)
            .await?;
    }
    ensure!(
        cluster.evaluation.reviews() == before + 20,
        "not each was evaluated"
    );

    cluster.delete(&constraint).await?;
    cluster.refuses("shop", "canary", false).await?;
    let before = cluster.evaluation.reviews();
    cluster.config_map("shop", "c", &json!({})).await?;
    ensure!(
        cluster.evaluation.reviews() == before,
        "it was evaluated after the end"
    );
    Ok(())
}

#[tokio::test]
async fn gk_142_audit_goes_on_where_constraints_refuse_everything() -> Result<()> {
    let cluster = Cluster::enforced()?;
    cluster.namespace("shop", &json!({})).await?;
    cluster.config_map("shop", "old", &json!({})).await?;
    let always = "package always\nviolation[{\"msg\": \"never\"}] { input.review.kind.kind != \"ConstraintTemplate\" }";
    cluster.template(&template("Always", always)).await?;
    let constraint = cluster.constraint("Always", "all", &json!({})).await?;
    cluster.refuses("shop", "canary", true).await?;
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let refused = cluster.create(definitions, &json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "teas.example.com"},
        "spec": {
            "group": "example.com", "scope": "Cluster", "names": {"kind": "Tea", "plural": "teas"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object"}}}],
        },
    })).await;
    let refused = format!("{:?}", refused.err().context("a CRD was admitted")?);
    ensure!(refused.contains("[all] never"), "{refused}");
    // The audit creates the kind of the next template, and writes the statuses of both and of the constraint.
    cluster.template(&labels_template()).await?;
    let template = "/apis/templates.gatekeeper.sh/v1/constrainttemplates/needlabels";
    let found = cluster
        .eventually(template, |it| it["status"]["created"] == true)
        .await?;
    let operations = json!(["audit", "status", "webhook"]);
    ensure!(
        found["status"]["byPod"][0]["operations"] == operations,
        "{found:#}"
    );
    let found = cluster
        .eventually(&constraint, |it| {
            it["status"]["totalViolations"].as_u64() > Some(0)
        })
        .await?;
    ensure!(
        found["status"]["byPod"][0]["operations"] == operations,
        "{found:#}"
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn gk_143_request_that_takes_too_long_is_admitted_and_delays_no_other() -> Result<()> {
    let (cluster, _) = guarded().await?;
    let source = r#"package endless
        violation[{"msg": "x"}] {
          x := numbers.range(1, 3000)[_]
          y := numbers.range(1, 3000)[_]
          z := numbers.range(1, 3000)[_]
          x + y + z == 1
        }"#;
    cluster.template(&template("Endless", source)).await?;
    let mut spec = on_config_maps();
    spec["match"]["name"] = json!("slow*");
    // Four seconds of evaluations: more than the three of the webhook.
    for name in ["one", "two", "three", "four"] {
        cluster.constraint("Endless", name, &spec).await?;
    }
    let owned = json!({"owner": "me"});
    let begun = Instant::now();
    loop {
        let begun_one = Instant::now();
        let slow = cluster.config_map("shop", "slow", &owned).await;
        slow.context("a slow request was refused")?;
        if begun_one.elapsed() > Duration::from_millis(2500) {
            break;
        }
        ensure!(
            begun.elapsed() < Duration::from_mins(5),
            "all are loaded long ago"
        );
        cluster
            .delete("/api/v1/namespaces/shop/configmaps/slow")
            .await?;
    }
    let begun = Instant::now();
    let slow = async {
        cluster.config_map("shop", "slow-2", &owned).await?;
        anyhow::Ok(begun.elapsed())
    };
    let others = async {
        tokio::time::sleep(Duration::from_millis(200)).await;
        cluster
            .get("/api/v1/namespaces/shop/configmaps/slow")
            .await?;
        anyhow::Ok(begun.elapsed())
    };
    let (slow, others) = tokio::join!(slow, others);
    let (slow, others) = (slow?, others?);
    ensure!(
        others + Duration::from_secs(1) < slow,
        "others waited {others:?}, the slow one {slow:?}"
    );
    ensure!(slow < Duration::from_secs(10), "it took {slow:?}");
    // What another constraint refuses, is refused although one takes too long.
    let spec =
        json!({"match": {"kinds": [{"apiGroups": [""], "kinds": ["ConfigMap"]}], "name": "late"}});
    let late = cluster.constraint("Endless", "late", &spec).await?;
    cluster
        .eventually(&late, |it| it["status"]["byPod"].is_array())
        .await?;
    cluster.refuses("shop", "late", true).await?;
    Ok(())
}

#[tokio::test]
async fn gk_145_webhook_is_configured_and_can_be_changed() -> Result<()> {
    let (cluster, constraint) = guarded().await?;
    cluster
        .config_map("shop", "good", &json!({"owner": "me"}))
        .await?;
    let found = cluster.get(WEBHOOK).await?.context("no configuration")?;
    ensure!(
        found["metadata"]["labels"]["app.kubernetes.io/managed-by"] == "reeve"
            && found["webhooks"][0]["name"] == "validation.gatekeeper.sh",
        "{found:#}"
    );
    // Without it nothing is refused, and the audit goes on.
    cluster.delete(WEBHOOK).await?;
    cluster.refuses("shop", "canary", false).await?;
    let found = cluster
        .eventually(&constraint, |it| it["status"]["totalViolations"].is_u64())
        .await?;
    let count = found["status"]["totalViolations"]
        .as_u64()
        .context("no count")?;
    cluster.config_map("shop", "bad", &json!({})).await?;
    cluster.eventually(&constraint, total(count + 1)).await?;
    Ok(())
}

#[tokio::test]
async fn gk_126_audited_cluster_refuses_nothing() -> Result<()> {
    let cluster = Cluster::audited(Mode::Materialised)?;
    cluster.namespace("shop", &json!({})).await?;
    cluster.template(&labels_template()).await?;
    let mut spec = on_config_maps();
    spec["match"]["name"] = json!("a");
    let constraint = cluster.constraint("NeedLabels", "owner", &spec).await?;
    cluster.eventually(&constraint, total(0)).await?;
    cluster.config_map("shop", "a", &json!({})).await?;
    let found = cluster.eventually(&constraint, total(1)).await?;
    let operations: &Value = &found["status"]["byPod"][0]["operations"];
    ensure!(*operations == json!(["audit", "status"]), "{found:#}");
    ensure!(cluster.get(WEBHOOK).await?.is_none(), "there is a webhook");
    Ok(())
}

#[tokio::test]
async fn gk_143_object_that_is_too_deep_is_left_to_the_failure_policy() -> Result<()> {
    let cluster = Cluster::enforced()?;
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "teas.example.com"},
        "spec": {
            "group": "example.com", "scope": "Cluster", "names": {"kind": "Tea", "plural": "teas"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}],
        },
    });
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    cluster.create(definitions, &definition).await?;
    let always = "package always\nviolation[{\"msg\": \"never\"}] { true }";
    cluster.template(&template("Always", always)).await?;
    let spec = json!({"match": {"kinds": [{"apiGroups": ["example.com", ""], "kinds": ["Tea", "ConfigMap"]}]}});
    cluster.constraint("Always", "all", &spec).await?;
    cluster.refuses("default", "canary", true).await?;
    let create = |levels: usize| {
        let (open, close) = ("[".repeat(levels), "]".repeat(levels));
        let tea = format!(
            r#"{{"apiVersion":"example.com/v1","kind":"Tea","metadata":{{"name":"deep"}},"spec":{open}{close}}}"#
        );
        let request = http::Request::post("/apis/example.com/v1/teas?dryRun=All")
            .header("content-type", "application/json")
            .body(tea.into_bytes());
        async { anyhow::Ok(cluster.client.request_text(request?).await) }
    };
    let refused = create(100).await?.err().context("it was admitted")?;
    ensure!(refused.to_string().contains("[all] never"), "{refused}");
    create(9000).await??;
    Ok(())
}
