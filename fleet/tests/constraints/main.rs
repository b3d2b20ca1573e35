//! The audit of constraints on an API server in memory, one cluster a test.

mod admission;
mod configuration;
mod relay;
mod world;

use anyhow::{Context as _, Result, ensure};
use reeve_apiserver::Identity;
use reeve_constraint_audit::Mode;
use serde_json::{Value, json};

use world::{Cluster, labels_template, on_config_maps, template, total, violators};

async fn shop() -> Result<Cluster> {
    let cluster = Cluster::audited(Mode::Materialised)?;
    cluster.namespace("shop", &json!({})).await?;
    cluster.template(&labels_template()).await?;
    Ok(cluster)
}

#[tokio::test]
async fn gk_129_violations_come_and_go_with_the_objects() -> Result<()> {
    let cluster = shop().await?;
    let path = cluster.config_map("shop", "a", &json!({})).await?;
    let constraint = cluster
        .constraint("NeedLabels", "owner", &on_config_maps())
        .await?;
    // Kubernetes makes one in every namespace.
    let found = cluster
        .eventually(&constraint, |it| !violators(it).is_empty())
        .await?;
    ensure!(violators(&found).contains(&"a"), "{found:#}");
    let entry = found["status"]["violations"]
        .as_array()
        .context("no list")?;
    let entry = entry
        .iter()
        .find(|one| one["name"] == "a")
        .context("no entry")?;
    let expected = json!({
        "group": "", "version": "v1", "kind": "ConfigMap", "namespace": "shop", "name": "a",
        "message": "label owner is missing", "enforcementAction": "deny",
    });
    ensure!(*entry == expected, "{entry:#}");
    let pod = &found["status"]["byPod"][0];
    ensure!(
        pod["id"] == "reeve"
            && pod["constraintUID"] == found["metadata"]["uid"]
            && pod["enforced"] == true,
        "{pod:#}"
    );

    cluster
        .merge(&path, &json!({"metadata": {"labels": {"owner": "me"}}}))
        .await?;
    let found = cluster
        .eventually(&constraint, |it| !violators(it).contains(&"a"))
        .await?;
    for other in violators(&found) {
        let path = format!("/api/v1/namespaces/shop/configmaps/{other}");
        cluster
            .merge(&path, &json!({"metadata": {"labels": {"owner": "me"}}}))
            .await?;
    }
    let found = cluster.eventually(&constraint, total(0)).await?;
    ensure!(found["status"].get("violations").is_none(), "{found:#}");

    // What changes no verdict, writes no status.
    cluster.merge(&path, &json!({"data": {"a": "b"}})).await?;
    cluster.stays(&constraint).await?;

    cluster.config_map("shop", "b", &json!({})).await?;
    cluster.eventually(&constraint, total(1)).await?;
    cluster
        .delete("/api/v1/namespaces/shop/configmaps/b")
        .await?;
    cluster.eventually(&constraint, total(0)).await?;
    Ok(())
}

#[tokio::test]
async fn gk_117_smallest_of_many_violations_are_listed_in_descending_order() -> Result<()> {
    let cluster = shop().await?;
    for number in 0..25 {
        cluster
            .config_map("shop", &format!("a{number:02}"), &json!({}))
            .await?;
    }
    let mut spec = on_config_maps();
    spec["match"]["name"] = json!("a*");
    let constraint = cluster.constraint("NeedLabels", "owner", &spec).await?;
    let found = cluster.eventually(&constraint, total(25)).await?;
    let expected: Vec<String> = (0..20)
        .rev()
        .map(|number| format!("a{number:02}"))
        .collect();
    ensure!(violators(&found) == expected, "{found:#}");
    Ok(())
}

#[tokio::test]
async fn gk_131_changed_constraint_is_evaluated_anew() -> Result<()> {
    let cluster = shop().await?;
    cluster
        .config_map("shop", "a", &json!({"team": "x", "owner": "y"}))
        .await?;
    let mut spec = on_config_maps();
    spec["match"]["name"] = json!("a");
    let constraint = cluster.constraint("NeedLabels", "owner", &spec).await?;
    cluster.eventually(&constraint, total(0)).await?;
    cluster
        .merge(
            &constraint,
            &json!({"spec": {"parameters": {"labels": ["owner", "cost"]}}}),
        )
        .await?;
    let found = cluster.eventually(&constraint, total(1)).await?;
    ensure!(
        found["status"]["byPod"][0]["observedGeneration"] == 2,
        "{found:#}"
    );
    cluster
        .merge(&constraint, &json!({"spec": {"enforcementAction": "warn"}}))
        .await?;
    let warns = |it: &Value| it["status"]["violations"][0]["enforcementAction"] == "warn";
    cluster.eventually(&constraint, warns).await?;
    // A constraint for another kind has none of these violations.
    cluster.merge(&constraint, &json!({"spec": {"match": {"kinds": [{"apiGroups": ["apps"], "kinds": ["Deployment"]}]}}})).await?;
    cluster.eventually(&constraint, total(0)).await?;
    Ok(())
}

#[tokio::test]
async fn gk_128_template_that_does_not_compile_leaves_the_others_alone() -> Result<()> {
    let cluster = shop().await?;
    let recursive = "package endless\nviolation[{\"msg\": \"x\"}] { f(1) }\nf(x) { f(x) }";
    cluster.template(&template("Endless", recursive)).await?;
    let path = "/apis/templates.gatekeeper.sh/v1/constrainttemplates/endless";
    let refused = cluster
        .eventually(path, |it| it["status"]["created"] == false)
        .await?;
    let error = &refused["status"]["byPod"][0]["errors"][0];
    ensure!(
        error["message"]
            .as_str()
            .is_some_and(|text| text.contains("recursive")),
        "{refused:#}"
    );
    cluster.config_map("shop", "a", &json!({})).await?;
    let mut spec = on_config_maps();
    spec["match"]["name"] = json!("a");
    let constraint = cluster.constraint("NeedLabels", "owner", &spec).await?;
    cluster.eventually(&constraint, total(1)).await?;

    // Corrected, it is used.
    let source = "package endless\nviolation[{\"msg\": \"always\"}] { true }";
    cluster
        .merge(path, &json!({"spec": template("Endless", source)["spec"]}))
        .await?;
    let constraint = cluster.constraint("Endless", "all", &spec).await?;
    let found = cluster.eventually(&constraint, total(1)).await?;
    ensure!(
        found["status"]["violations"][0]["message"] == "always",
        "{found:#}"
    );
    Ok(())
}

#[tokio::test]
async fn gk_129_constraint_that_is_not_valid_has_the_reason_and_no_count() -> Result<()> {
    let cluster = shop().await?;
    let mut spec = on_config_maps();
    spec["match"]["labelSelector"] = json!({"matchExpressions": [{"key": "a", "operator": "Foo"}]});
    let constraint = cluster.constraint("NeedLabels", "odd", &spec).await?;
    let found = cluster
        .eventually(&constraint, |it| it["status"]["byPod"].is_array())
        .await?;
    let message = found["status"]["byPod"][0]["errors"][0]["message"].as_str();
    ensure!(
        message.is_some_and(|text| text.contains("not a valid selector operator")),
        "{found:#}"
    );
    ensure!(
        found["status"].get("totalViolations").is_none(),
        "{found:#}"
    );
    Ok(())
}

#[tokio::test]
async fn gk_131_labels_of_namespaces_choose_what_is_audited() -> Result<()> {
    let cluster = shop().await?;
    cluster.config_map("shop", "a", &json!({})).await?;
    let mut spec = on_config_maps();
    spec["match"] = json!({
        "kinds": [{"apiGroups": [""], "kinds": ["ConfigMap"]}], "name": "a",
        "namespaceSelector": {"matchLabels": {"audited": "yes"}},
    });
    let constraint = cluster.constraint("NeedLabels", "owner", &spec).await?;
    cluster.eventually(&constraint, total(0)).await?;
    cluster
        .merge(
            "/api/v1/namespaces/shop",
            &json!({"metadata": {"labels": {"audited": "yes"}}}),
        )
        .await?;
    cluster.eventually(&constraint, total(1)).await?;
    cluster
        .namespace("late", &json!({"audited": "yes"}))
        .await?;
    cluster.config_map("late", "a", &json!({})).await?;
    cluster.eventually(&constraint, total(2)).await?;
    cluster
        .merge(
            "/api/v1/namespaces/shop",
            &json!({"metadata": {"labels": {"audited": null}}}),
        )
        .await?;
    cluster.eventually(&constraint, total(1)).await?;
    Ok(())
}

#[tokio::test]
async fn gk_132_referential_constraint_follows_the_objects_that_it_reads() -> Result<()> {
    let cluster = shop().await?;
    let source = r#"package uniqueowner
        violation[{"msg": msg}] {
          owner := input.review.object.metadata.labels.owner
          other := data.inventory.namespace[_]["v1"]["ConfigMap"][name]
          other.metadata.labels.owner == owner
          name != input.review.object.metadata.name
          msg := sprintf("%v has the same owner", [name])
        }"#;
    cluster.template(&template("UniqueOwner", source)).await?;
    cluster
        .config_map("shop", "a", &json!({"owner": "x"}))
        .await?;
    let constraint = cluster
        .constraint("UniqueOwner", "owner", &on_config_maps())
        .await?;
    cluster.eventually(&constraint, total(0)).await?;
    cluster
        .config_map("shop", "b", &json!({"owner": "x"}))
        .await?;
    let found = cluster.eventually(&constraint, total(2)).await?;
    ensure!(violators(&found) == ["b", "a"], "{found:#}");
    cluster
        .delete("/api/v1/namespaces/shop/configmaps/b")
        .await?;
    cluster.eventually(&constraint, total(0)).await?;
    Ok(())
}

#[tokio::test]
async fn gk_130_kind_that_is_defined_later_is_audited() -> Result<()> {
    let cluster = shop().await?;
    let spec = json!({"match": {"kinds": [{"apiGroups": ["example.com"], "kinds": ["Tea"]}]}, "parameters": {"labels": ["owner"]}});
    let constraint = cluster.constraint("NeedLabels", "teas", &spec).await?;
    cluster.eventually(&constraint, total(0)).await?;
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "teas.example.com"},
        "spec": {
            "group": "example.com", "scope": "Cluster", "names": {"kind": "Tea", "plural": "teas"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}],
        },
    });
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    cluster.create(definitions, &definition).await?;
    let path = format!("{definitions}/teas.example.com");
    let is_established = |it: &Value| {
        it["status"]["conditions"]
            .to_string()
            .contains("Established")
    };
    cluster.eventually(&path, is_established).await?;
    let tea = json!({"apiVersion": "example.com/v1", "kind": "Tea", "metadata": {"name": "green"}});
    cluster.create("/apis/example.com/v1/teas", &tea).await?;
    cluster.eventually(&constraint, total(1)).await?;
    Ok(())
}

#[tokio::test]
async fn gk_133_kind_that_may_not_be_listed_is_an_error_of_the_audit() -> Result<()> {
    let mut cluster = Cluster::new()?;
    let allow = |groups: &[&str], resources: &[&str]| json!({"apiGroups": groups, "resources": resources, "verbs": ["*"]});
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "auditor"},
        "rules": [
            allow(&["apiextensions.k8s.io"], &["*"]), allow(&["templates.gatekeeper.sh", "constraints.gatekeeper.sh"], &["*"]),
            allow(&[""], &["namespaces"]),
        ],
    });
    let rbac = "/apis/rbac.authorization.k8s.io/v1";
    cluster
        .create(&format!("{rbac}/clusterroles"), &role)
        .await?;
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "auditor"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "auditor"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "auditor"}],
    });
    cluster
        .create(&format!("{rbac}/clusterrolebindings"), &binding)
        .await?;
    cluster.audit(
        Mode::Materialised,
        &Identity::new("auditor", &["system:authenticated"]),
    );
    cluster.namespace("shop", &json!({})).await?;
    cluster.template(&labels_template()).await?;
    let constraint = cluster
        .constraint("NeedLabels", "owner", &on_config_maps())
        .await?;
    let found = cluster.eventually(&constraint, total(0)).await?;
    let errors = found["status"]["byPod"][0]["errors"].to_string();
    ensure!(
        errors.contains("could not list ConfigMap") && errors.contains("forbidden"),
        "{found:#}"
    );
    Ok(())
}

#[tokio::test]
async fn gk_135_constraints_are_handed_over_to_a_gatekeeper_and_back() -> Result<()> {
    let cluster = Cluster::audited(Mode::Auto)?;
    cluster.namespace("shop", &json!({})).await?;
    cluster.template(&labels_template()).await?;
    let mut spec = on_config_maps();
    spec["match"]["name"] = json!("a*");
    let constraint = cluster.constraint("NeedLabels", "owner", &spec).await?;
    cluster.eventually(&constraint, total(0)).await?;
    let definition = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/needlabels.constraints.gatekeeper.sh";
    let label = |it: &Value| it["metadata"]["labels"]["app.kubernetes.io/managed-by"].clone();
    cluster
        .eventually(definition, |it| label(it) == "reeve")
        .await?;

    let webhooks = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
    let webhook = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "gatekeeper-validating-webhook-configuration"},
    });
    cluster.create(webhooks, &webhook).await?;
    cluster
        .eventually(definition, |it| label(it).is_null())
        .await?;
    cluster.config_map("shop", "a1", &json!({})).await?;
    cluster.stays(&constraint).await?;

    cluster
        .delete(&format!(
            "{webhooks}/gatekeeper-validating-webhook-configuration"
        ))
        .await?;
    cluster.eventually(&constraint, total(1)).await?;
    Ok(())
}

#[tokio::test]
async fn gk_127_deleted_template_takes_its_kind_and_its_constraints_along() -> Result<()> {
    let cluster = shop().await?;
    let constraint = cluster
        .constraint("NeedLabels", "owner", &on_config_maps())
        .await?;
    cluster
        .eventually(&constraint, |it| it["status"]["totalViolations"].is_u64())
        .await?;
    cluster
        .delete("/apis/templates.gatekeeper.sh/v1/constrainttemplates/needlabels")
        .await?;
    cluster.gone("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/needlabels.constraints.gatekeeper.sh").await?;
    // The same kind may come again.
    cluster.template(&labels_template()).await?;
    let constraint = cluster
        .constraint("NeedLabels", "owner", &on_config_maps())
        .await?;
    cluster
        .eventually(&constraint, |it| it["status"]["totalViolations"].is_u64())
        .await?;
    Ok(())
}

#[tokio::test]
async fn gk_134_constraint_that_takes_too_long_does_not_keep_the_others_waiting() -> Result<()> {
    let cluster = shop().await?;
    let source = r#"package endless
        violation[{"msg": "x"}] {
          some a, b, c, d
          numbers.range(1, 3000)[a] == 0
          numbers.range(1, 3000)[b] == a
          numbers.range(1, 3000)[c] == b
          numbers.range(1, 3000)[d] == c
        }
        violation[{"msg": "y"}] {
          x := numbers.range(1, 3000)[_]
          y := numbers.range(1, 3000)[_]
          z := numbers.range(1, 3000)[_]
          x + y + z == 1
        }"#;
    cluster.template(&template("Endless", source)).await?;
    for number in 0..20 {
        cluster
            .config_map("shop", &format!("a{number:02}"), &json!({}))
            .await?;
    }
    let mut spec = on_config_maps();
    spec["match"]["name"] = json!("a*");
    let slow = cluster.constraint("Endless", "slow", &spec).await?;
    let fast = cluster.constraint("NeedLabels", "owner", &spec).await?;
    cluster.eventually(&fast, total(20)).await?;
    let found = cluster
        .eventually(&slow, |it| it["status"]["totalViolations"].is_u64())
        .await?;
    let errors = found["status"]["byPod"][0]["errors"].to_string();
    ensure!(errors.contains("took too long several times"), "{found:#}");
    ensure!(found["status"]["totalViolations"] == 3, "{found:#}");
    Ok(())
}

#[tokio::test]
async fn gk_132_kind_that_is_audited_already_fills_the_inventory() -> Result<()> {
    let cluster = shop().await?;
    cluster
        .config_map("shop", "a", &json!({"owner": "x"}))
        .await?;
    let mut spec = on_config_maps();
    spec["match"]["name"] = json!("a");
    let constraint = cluster.constraint("NeedLabels", "owner", &spec).await?;
    cluster.eventually(&constraint, total(0)).await?;
    let source = r#"package noconfig
        violation[{"msg": msg}] {
          data.inventory.namespace["shop"]["v1"]["ConfigMap"][name].metadata.labels.owner
          msg := sprintf("%v has an owner", [name])
        }"#;
    cluster.template(&template("NoConfig", source)).await?;
    let spec =
        json!({"match": {"kinds": [{"apiGroups": [""], "kinds": ["Namespace"]}], "name": "shop"}});
    let constraint = cluster.constraint("NoConfig", "all", &spec).await?;
    let found = cluster.eventually(&constraint, total(1)).await?;
    ensure!(
        found["status"]["violations"][0]["message"] == "a has an owner",
        "{found:#}"
    );
    Ok(())
}

#[tokio::test]
async fn gk_132_end_of_an_inventory_of_namespaces_leaves_selectors_alone() -> Result<()> {
    let cluster = shop().await?;
    let labels = json!({"metadata": {"labels": {"audited": "yes"}}});
    cluster.merge("/api/v1/namespaces/shop", &labels).await?;
    let mut spec = on_config_maps();
    spec["match"] = json!({
        "kinds": [{"apiGroups": [""], "kinds": ["ConfigMap"]}], "name": "a*",
        "namespaceSelector": {"matchLabels": {"audited": "yes"}},
    });
    let selecting = cluster.constraint("NeedLabels", "owner", &spec).await?;
    cluster.eventually(&selecting, total(0)).await?;
    let source = r#"package fewnamespaces
        violation[{"msg": "many"}] { count(data.inventory.cluster["v1"]["Namespace"]) > 1 }"#;
    cluster.template(&template("FewNamespaces", source)).await?;
    let spec =
        json!({"match": {"kinds": [{"apiGroups": [""], "kinds": ["Namespace"]}], "name": "shop"}});
    let referential = cluster.constraint("FewNamespaces", "all", &spec).await?;
    cluster.eventually(&referential, total(1)).await?;
    cluster
        .merge(
            "/api/v1/namespaces/shop",
            &json!({"metadata": {"labels": {"audited": null}}}),
        )
        .await?;
    cluster.config_map("shop", "a1", &json!({})).await?;
    cluster.merge("/api/v1/namespaces/shop", &labels).await?;
    cluster.eventually(&selecting, total(1)).await?;
    cluster.delete(&referential).await?;
    cluster.gone(&referential).await?;
    // Another constraint plans anew, after the inventory has ended.
    let spec = json!({"match": {"kinds": [{"apiGroups": [""], "kinds": ["Secret"]}]}, "parameters": {"labels": []}});
    let other = cluster.constraint("NeedLabels", "other", &spec).await?;
    cluster.eventually(&other, total(0)).await?;
    cluster.config_map("shop", "a2", &json!({})).await?;
    let found = cluster.eventually(&selecting, total(2)).await?;
    let messages = found["status"]["violations"].to_string();
    ensure!(!messages.contains("unable to match"), "{found:#}");
    Ok(())
}
