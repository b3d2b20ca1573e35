//! Gatekeeper's own configuration.

use anyhow::{Result, ensure};
use reeve_constraint_audit::Mode;
use serde_json::{Value, json};

use crate::world::{Cluster, labels_template, on_config_maps, template, total};

const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// Defines a kind of Gatekeeper's, and returns the path of its objects.
async fn define(cluster: &Cluster, group: &str, kind: &str, scope: &str) -> Result<String> {
    let plural = format!("{}s", kind.to_lowercase());
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{group}")},
        "spec": {
            "group": group, "scope": scope,
            "names": {"kind": kind, "plural": plural, "singular": kind.to_lowercase(), "listKind": format!("{kind}List")},
            "versions": [{
                "name": "v1alpha1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
            }],
        },
    });
    cluster.create(CRDS, &crd).await?;
    let served = |it: &Value| {
        let conditions = it["status"]["conditions"].as_array();
        conditions.is_some_and(|all| {
            all.iter()
                .any(|one| one["type"] == "Established" && one["status"] == "True")
        })
    };
    cluster
        .eventually(&format!("{CRDS}/{plural}.{group}"), served)
        .await?;
    let namespace = if scope == "Namespaced" {
        "/namespaces/gatekeeper-system"
    } else {
        ""
    };
    Ok(format!("/apis/{group}/v1alpha1{namespace}/{plural}"))
}

#[tokio::test]
async fn gk_162_config_leaves_namespaces_out() -> Result<()> {
    let cluster = Cluster::audited(Mode::Materialised)?;
    for name in ["shop", "gatekeeper-system"] {
        cluster.namespace(name, &json!({})).await?;
    }
    cluster.template(&labels_template()).await?;
    cluster.config_map("shop", "a", &json!({})).await?;
    let mut spec = on_config_maps();
    spec["match"]["name"] = json!("a");
    let constraint = cluster.constraint("NeedLabels", "owner", &spec).await?;
    cluster.eventually(&constraint, total(1)).await?;

    let configs = define(&cluster, "config.gatekeeper.sh", "Config", "Namespaced").await?;
    let config = |name: &str, process: &str| {
        json!({
            "apiVersion": "config.gatekeeper.sh/v1alpha1", "kind": "Config", "metadata": {"name": name},
            "spec": {"match": [{"processes": [process], "excludedNamespaces": ["sh*"]}]},
        })
    };
    // Another name, and another process.
    cluster.create(&configs, &config("other", "*")).await?;
    cluster
        .create(&configs, &config("config", "webhook"))
        .await?;
    cluster.stays(&constraint).await?;
    let path = format!("{configs}/config");
    cluster
        .merge(&path, &json!({"spec": config("config", "audit")["spec"]}))
        .await?;
    cluster.eventually(&constraint, total(0)).await?;
    cluster.delete(&path).await?;
    cluster.eventually(&constraint, total(1)).await?;
    Ok(())
}

#[tokio::test]
async fn gk_161_sync_set_puts_kinds_into_the_inventory() -> Result<()> {
    let cluster = Cluster::audited(Mode::Materialised)?;
    for name in ["shop", "gatekeeper-system"] {
        cluster.namespace(name, &json!({})).await?;
    }
    let mut reading = template(
        "SeesSecrets",
        r#"package seessecrets
        violation[{"msg": name}] { data.inventory.namespace["shop"]["v1"]["Secret"][name] }"#,
    );
    // A template itself cannot ask for Secrets.
    reading["metadata"]["annotations"] = json!({
        "metadata.gatekeeper.sh/requires-sync-data": "[[{\"groups\": [\"\"], \"versions\": [\"v1\"], \"kinds\": [\"ConfigMap\", \"Secret\"]}]]"
    });
    cluster.template(&reading).await?;
    cluster.config_map("shop", "a", &json!({})).await?;
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "hidden"}});
    let secrets = "/api/v1/namespaces/shop/secrets";
    cluster.create(secrets, &secret).await?;
    let mut spec = on_config_maps();
    spec["match"]["name"] = json!("a");
    let constraint = cluster.constraint("SeesSecrets", "one", &spec).await?;
    cluster.eventually(&constraint, total(0)).await?;

    let sets = define(&cluster, "syncset.gatekeeper.sh", "SyncSet", "Cluster").await?;
    let set = json!({
        "apiVersion": "syncset.gatekeeper.sh/v1alpha1", "kind": "SyncSet", "metadata": {"name": "secrets"},
        "spec": {"gvks": [{"group": "", "version": "v1", "kind": "Secret"}]},
    });
    cluster.create(&sets, &set).await?;
    cluster.eventually(&constraint, total(1)).await?;

    // What is left out of the inventory, is audited.
    let configs = define(&cluster, "config.gatekeeper.sh", "Config", "Namespaced").await?;
    let config = json!({
        "apiVersion": "config.gatekeeper.sh/v1alpha1", "kind": "Config", "metadata": {"name": "config"},
        "spec": {"match": [{"processes": ["sync"], "excludedNamespaces": ["shop"]}]},
    });
    cluster.create(&configs, &config).await?;
    cluster.eventually(&constraint, total(0)).await?;
    cluster.delete(&format!("{configs}/config")).await?;
    cluster.eventually(&constraint, total(1)).await?;
    cluster.delete(&format!("{sets}/secrets")).await?;
    cluster.eventually(&constraint, total(0)).await?;
    Ok(())
}

#[tokio::test]
async fn gk_163_what_is_made_of_an_object_is_reviewed_with_it() -> Result<()> {
    let cluster = Cluster::audited(Mode::Materialised)?;
    cluster.namespace("shop", &json!({})).await?;
    cluster.template(&labels_template()).await?;
    let deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
        "spec": {
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "c", "image": "c"}]},
            },
        },
    });
    cluster
        .create("/apis/apps/v1/namespaces/shop/deployments", &deployment)
        .await?;
    let spec = json!({
        "match": {"kinds": [{"apiGroups": [""], "kinds": ["Pod"]}], "source": "Generated"},
        "parameters": {"labels": ["owner"]},
    });
    let constraint = cluster.constraint("NeedLabels", "pods", &spec).await?;
    cluster.eventually(&constraint, total(0)).await?;

    let templates = define(
        &cluster,
        "expansion.gatekeeper.sh",
        "ExpansionTemplate",
        "Cluster",
    )
    .await?;
    let expansion = json!({
        "apiVersion": "expansion.gatekeeper.sh/v1alpha1", "kind": "ExpansionTemplate",
        "metadata": {"name": "pods"},
        "spec": {
            "applyTo": [{"groups": ["apps"], "versions": ["v1"], "kinds": ["Deployment"]}],
            "templateSource": "spec.template",
            "generatedGVK": {"group": "", "version": "v1", "kind": "Pod"},
            "enforcementAction": "warn",
        },
    });
    cluster.create(&templates, &expansion).await?;
    let found = cluster.eventually(&constraint, total(1)).await?;
    let expected = json!({
        "group": "apps", "version": "v1", "kind": "Deployment", "namespace": "shop", "name": "web",
        "message": "[Implied by pods] label owner is missing", "enforcementAction": "warn",
    });
    let entry = &found["status"]["violations"][0];
    ensure!(*entry == expected, "{entry:#}");

    let path = "/apis/apps/v1/namespaces/shop/deployments/web";
    let label = json!({"spec": {"template": {"metadata": {"labels": {"owner": "me"}}}}});
    cluster.merge(path, &label).await?;
    cluster.eventually(&constraint, total(0)).await?;
    Ok(())
}

#[tokio::test]
async fn gk_165_constraint_that_nobody_enforces_is_not_audited() -> Result<()> {
    let cluster = Cluster::audited(Mode::Materialised)?;
    cluster.namespace("shop", &json!({})).await?;
    cluster.template(&labels_template()).await?;
    cluster.config_map("shop", "a", &json!({})).await?;
    let mut spec = on_config_maps();
    spec["match"]["name"] = json!("a");
    spec["enforcementAction"] = json!("DENY");
    let constraint = cluster.constraint("NeedLabels", "owner", &spec).await?;
    let refused = cluster
        .eventually(&constraint, |it| {
            it["status"]["byPod"][0]["errors"][0]["message"].is_string()
        })
        .await?;
    let text = &refused["status"]["byPod"][0]["errors"][0]["message"];
    ensure!(
        text == "could not validate enforcement actions: unrecognized enforcementAction: \"unrecognized\" is not within \
            the supported list [deny dryrun warn scoped]",
        "{text}"
    );
    ensure!(
        refused["status"].get("totalViolations").is_none(),
        "{refused:#}"
    );
    let corrected = json!({"spec": {"enforcementAction": "deny"}});
    cluster.merge(&constraint, &corrected).await?;
    cluster.eventually(&constraint, total(1)).await?;
    Ok(())
}
