//! PROP-99, PROP-103 and PROP-105: hub templates.

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use reeve_scenarios::{
    DENIED, Hubs, Site, Via, annotation, label, policy_spec, same, steadily, version, wants, within,
};
use serde_json::{Value, json};

use crate::hub::{TRIGGER, V1, hub};

/// Everything that hub templates are used for, in one object.
fn rich() -> Value {
    let name = hub(".ManagedClusterName");
    let text = |function: &str| {
        let action = hub(&format!(
            r#"fromConfigMap "" "settings" "lines" | {function}"#
        ));
        format!("lines:\n  {action}\n")
    };
    let data = json!({
        "name": name,
        "greeting": hub(r#"printf "%s-greeting" .PolicyMetadata.name | fromConfigMap "" "settings""#),
        "indented": text("indent 6"),
        "autoindented": text("autoindent"),
        "vendor": hub(".ManagedClusterLabels.vendor"),
        "label": hub(r#"(lookup "cluster.open-cluster-management.io/v1" "ManagedCluster" "" .ManagedClusterName).metadata.labels.name"#),
        "team": hub(".PolicyMetadata.labels.team"),
        "note": hub(".PolicyMetadata.annotations.note"),
        "namespace": hub(".PolicyMetadata.namespace"),
        "managed": r#"{{ fromConfigMap "default" "other" "key" }}"#,
        "both": format!("{{{{ printf \"{}\" }}}}", hub(".ManagedClusterName")),
    });
    let mut object = wants("rich", data);
    // Functions that make something else than text of it.
    object["spec"]["pruneObjectBehavior"] = json!("None");
    object["spec"]["replicas"] = json!(hub(r#"fromConfigMap "" "settings" "replicas" | toInt"#));
    object["spec"]["paused"] = json!(hub(r#""true" | toBool"#));
    object
}

/// What comes of it.
fn rendered(site: &Site<'_>, cluster: &str, vendor: &str) -> Value {
    let full = site.cluster(cluster);
    let data = json!({
        "name": full,
        "greeting": "good day",
        "indented": "lines:\n  one\n  two\n",
        "autoindented": "lines:\n  one\n  two\n",
        "vendor": vendor,
        "label": cluster,
        "team": "red",
        "note": "well",
        "namespace": site.name,
        "managed": r#"{{ fromConfigMap "default" "other" "key" }}"#,
        "both": format!("{{{{ printf \"{full}\" }}}}"),
    });
    let mut object = wants("rich", data);
    object["spec"]["pruneObjectBehavior"] = json!("None");
    object["spec"]["replicas"] = json!(3);
    object["spec"]["paused"] = json!(true);
    object
}

pub(crate) async fn rich_templates(world: Arc<Hubs>) -> Result<()> {
    let site = world.site("case-e29", &["m1", "m2"]).await?;
    let settings = |greeting: &str| json!({ "policy-greeting": greeting, "lines": "one\ntwo", "replicas": "3" });
    site.config_map("settings", settings("good day")).await?;
    let root = site.root("policy");
    let plain = wants("untouched", json!({ "key": "{{ .Managed }}" }));
    let (labels, notes) = (json!({ "team": "red" }), json!({ "note": "well" }));
    let spec = policy_spec(&[rich(), plain.clone()]);
    root.apply_with(labels, notes, spec).await?;
    let choice = site
        .placed(Via::Placement, "choice", "policy", &["m1"])
        .await?;
    let on_m1 = rendered(&site, "m1", "auto-detect");
    root.renders("m1", &[on_m1.clone(), plain.clone()]).await?;
    // What a template has read changes: the cluster's labels, a ConfigMap, the policy's own metadata.
    let labels = json!({ "cloud": "auto-detect", "vendor": "other", "name": "m1" });
    site.label("m1", labels).await?;
    let mut want = rendered(&site, "m1", "other");
    root.renders("m1", &[want.clone(), plain.clone()]).await?;
    site.config_map("settings", settings("good night")).await?;
    set(&mut want, "greeting", "good night")?;
    root.renders("m1", &[want.clone(), plain.clone()]).await?;
    root.annotate("note", "ill").await?;
    set(&mut want, "note", "ill")?;
    root.renders("m1", &[want, plain.clone()]).await?;
    // Another cluster.
    root.annotate("note", "well").await?;
    site.config_map("settings", settings("good day")).await?;
    choice.decides(&["m2"]).await?;
    root.replicas_are(&["m2"]).await?;
    let on_m2 = rendered(&site, "m2", "auto-detect");
    root.renders("m2", &[on_m2, plain]).await?;
    root.errors_are("m2", &[None, None]).await
}

fn set(object: &mut Value, key: &str, value: &str) -> Result<()> {
    let data = object.pointer_mut("/spec/object-templates/0/objectDefinition/data");
    data.context("a ConfigMap")?[key] = json!(value);
    Ok(())
}

/// What is read need not be there yet: templates watch it all the same.
pub(crate) async fn missing_at_first(world: Arc<Hubs>) -> Result<()> {
    let site = world.site("case-e29-late", &["m1"]).await?;
    let root = site.root("policy");
    let action = hub(r#"(lookup "v1" "ConfigMap" "" "late").data.key | default "nothing""#);
    root.apply(policy_spec(&[wants("late", json!({ "key": action }))]))
        .await?;
    site.placed(Via::Placement, "choice", "policy", &["m1"])
        .await?;
    let want = |value: &str| [wants("late", json!({ "key": value }))];
    root.renders("m1", &want("nothing")).await?;
    site.config_map("late", json!({ "key": "something" }))
        .await?;
    root.renders("m1", &want("something")).await?;
    site.remove("ConfigMap", "late").await?;
    root.renders("m1", &want("nothing")).await?;
    Ok(())
}

/// The smallest object with a template.
fn small(action: &str) -> Value {
    json!({
        "apiVersion": V1, "kind": "ConfigurationPolicy",
        "metadata": { "name": "small" }, "spec": { "key": action }
    })
}

pub(crate) async fn refused(world: Arc<Hubs>) -> Result<()> {
    let site = world.site("case-e32", &["m1"]).await?;
    let lookups = [
        (
            "namespace",
            r#"(lookup "v1" "Namespace" "" "default").metadata.name"#,
            r#"at <lookup "v1" "Namespace" "" "default">: error calling lookup: lookup of cluster-scoped resource 'Namespace/default' is not allowed"#.to_owned(),
        ),
        (
            "cluster",
            r#"(lookup "cluster.open-cluster-management.io/v1" "ManagedCluster" "" "other").metadata.name"#,
            r#"at <lookup "cluster.open-cluster-management.io/v1" "ManagedCluster" "" "other">: error calling lookup: lookup of cluster-scoped resource 'ManagedCluster/other' is not allowed"#.to_owned(),
        ),
        (
            "elsewhere",
            r#"fromConfigMap "default" "settings" "key""#,
            format!(r#"at <fromConfigMap "default" "settings" "key">: error calling fromConfigMap: failed getting the ConfigMap settings from default: the namespace argument is restricted to {}"#, site.name),
        ),
    ];
    let choice = site.choice(Via::Placement, "choice");
    choice.make().await?;
    choice.decides(&["m1"]).await?;
    let subjects = lookups.each_ref().map(|(name, _, _)| ("Policy", *name));
    choice.bind(&subjects).await?;
    for (name, action, error) in &lookups {
        let root = site.root(name);
        let object = small(&hub(action));
        root.apply(policy_spec(std::slice::from_ref(&object)))
            .await?;
        let observed = root.has_error("m1", "error calling").await?;
        let want = format!(
            ": template: tmpl:6:{}: executing \"tmpl\" {error}",
            column(action)
        );
        ends_with(&observed, &want)?;
        let prefix = "Failed to resolve templates for cluster m1: ";
        within("it is reported", || async {
            let events = site.events("Policy", name).await?;
            let found = events.iter().any(|(kind, reason, message)| {
                kind == "Warning" && reason == "PolicyPropagation" && message.starts_with(prefix)
            });
            ensure!(found, "the events are {events:#?}");
            Ok(())
        })
        .await?;
    }
    Ok(())
}

/// That an error publishes of a template, and ends like this.
fn ends_with(error: &str, want: &str) -> Result<()> {
    ensure!(
        error.starts_with("failed to resolve the template") && error.ends_with(want),
        "it is\n{error}\nand should end with\n{want}"
    );
    Ok(())
}

/// Where the function of an action of [`small`] is called.
fn column(action: &str) -> usize {
    let before = "  key: '{{hub ".len();
    before + action.len() - action.trim_start_matches('(').len()
}

pub(crate) async fn denied(world: Arc<Hubs>) -> Result<()> {
    let site = world.site("case-e37", &["m1"]).await?;
    let root = site.root("policy");
    site.placed(Via::Placement, "choice", "policy", &["m1"])
        .await?;
    for (function, why) in [
        ("env", "is considered a security risk"),
        ("expandenv", "is considered a security risk"),
        (DENIED, "is not allowed"),
    ] {
        let call = format!(r#"{function} "HOME""#);
        let object = small(&hub(&call));
        root.apply(policy_spec(std::slice::from_ref(&object)))
            .await?;
        let want = format!(
            ": template: tmpl:6:14: executing \"tmpl\" at <{call}>: error calling {function}: use of denylisted \
             template function: function '{function}' {why}"
        );
        ends_with(&root.has_error("m1", &want).await?, &want)?;
    }
    root.apply(policy_spec(&[small(&hub(r#"upper "home""#))]))
        .await?;
    root.renders("m1", &[small("HOME")]).await?;
    Ok(())
}

/// A failed template does not keep the others from the cluster.
pub(crate) async fn each_by_itself(world: Arc<Hubs>) -> Result<()> {
    let site = world.site("rough-edge-29", &["m1"]).await?;
    let root = site.root("policy");
    let bad = small(&hub(r#"env "HOME""#));
    let good = wants("good", json!({ "name": hub(".ManagedClusterName") }));
    let broken = small("{{hub broken");
    root.apply(policy_spec(&[bad, good, broken])).await?;
    site.placed(Via::Placement, "choice", "policy", &["m1"])
        .await?;
    let want = wants("good", json!({ "name": site.cluster("m1") }));
    root.until("m1", "each by itself", |replica| {
        let errors = reeve_scenarios::errors(replica);
        let [Some(first), None, Some(third)] = errors.as_slice() else {
            anyhow::bail!("the errors are {errors:#?}");
        };
        ensure!(first.contains("'env'"), "the first error is {first}");
        ensure!(
            third.contains("failed to parse the template JSON string"),
            "the third error is {third}"
        );
        let objects = reeve_scenarios::objects(replica);
        same("the second object", objects.get(1), Some(&want))
    })
    .await?;
    Ok(())
}

/// The labels are those of the root policy, whether they are copied or not.
pub(crate) async fn labels_of_the_root(world: Arc<Hubs>) -> Result<()> {
    let site = world.site("rough-edge-31", &["m1"]).await?;
    let root = site.root("policy");
    let action = hub(".PolicyMetadata.labels.team");
    let mut spec = policy_spec(&[wants("labels", json!({ "team": action }))]);
    spec["copyPolicyMetadata"] = json!(false);
    root.apply_with(json!({ "team": "red" }), json!({}), spec)
        .await?;
    site.placed(Via::Placement, "choice", "policy", &["m1"])
        .await?;
    let want = [wants("labels", json!({ "team": "red" }))];
    let replica = root.renders("m1", &want).await?;
    same("the label on the replica", label(&replica, "team"), None)
}

/// A cluster that is not registered has no labels, and the error is reported.
pub(crate) async fn unregistered(world: Arc<Hubs>) -> Result<()> {
    let site = world.site("rough-edge-32", &[]).await?;
    site.namespace(&site.cluster("m1")).await?;
    let root = site.root("policy");
    let action = hub(".ManagedClusterLabels.vendor");
    root.apply(policy_spec(&[small(&action)])).await?;
    site.placed(Via::Placement, "choice", "policy", &["m1"])
        .await?;
    root.has_error("m1", &site.cluster("m1")).await?;
    site.manage("m1").await?;
    root.renders("m1", &[small("auto-detect")]).await?;
    Ok(())
}

/// A kind that the hub does not serve yet is reported once, and does not delay the rest.
pub(crate) async fn unknown_kind(world: Arc<Hubs>) -> Result<()> {
    let site = world.site("rough-edge-21", &["m1"]).await?;
    let root = site.root("policy");
    let lookup = hub(r#"(lookup "tests.example.com/v1" "Latecomer" "" "late").spec.key"#);
    let spec =
        |other: &str| policy_spec(&[small(&lookup), wants("other", json!({ "key": other }))]);
    root.apply(spec("first")).await?;
    site.placed(Via::Placement, "choice", "policy", &["m1"])
        .await?;
    let observed = |value: &'static str| {
        let root = &root;
        async move {
            root.until("m1", "it reports the error", |replica| {
                let errors = reeve_scenarios::errors(replica);
                let [Some(error), None] = errors.as_slice() else {
                    anyhow::bail!("the errors are {errors:#?}");
                };
                ensure!(error.contains("not installed"), "the error is {error}");
                let objects = reeve_scenarios::objects(replica);
                let want = wants("other", json!({ "key": value }));
                same("the second object", objects.get(1), Some(&want))
            })
            .await
        }
    };
    observed("first").await?;
    root.apply(spec("second")).await?;
    observed("second").await?;
    let reported = root.reported("Failed to resolve templates").await?;
    steadily("the event is not repeated", || async {
        let now = root.reported("Failed to resolve templates").await?;
        ensure!(
            now.len() <= reported.len() + 1,
            "the event was emitted {} times, now {}",
            reported.len(),
            now.len()
        );
        Ok(())
    })
    .await?;
    let kind = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": "latecomers.tests.example.com" },
        "spec": {
            "group": "tests.example.com", "scope": "Namespaced",
            "names": { "kind": "Latecomer", "plural": "latecomers" },
            "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": {
                "type": "object", "x-kubernetes-preserve-unknown-fields": true
            } } }]
        }
    });
    site.apply(&kind.to_string()).await?;
    let late = json!({
        "apiVersion": "tests.example.com/v1", "kind": "Latecomer",
        "metadata": { "name": "late", "namespace": site.name }, "spec": { "key": "value" }
    });
    within("the kind is served", || async {
        site.apply(&late.to_string()).await?;
        Ok(())
    })
    .await?;
    let want = [small("value"), wants("other", json!({ "key": "second" }))];
    root.renders("m1", &want).await?;
    Ok(())
}

/// Both annotations have an effect, whatever else is invalid.
pub(crate) async fn switched_off(world: Arc<Hubs>) -> Result<()> {
    let site = world.site("rough-edge-35", &["m1"]).await?;
    let root = site.root("policy");
    let disable = "policy.open-cluster-management.io/disable-templates";
    let annotations = json!({ disable: "true", TRIGGER: "1" });
    let object = small(&hub(".ManagedClusterName"));
    let mut spec = policy_spec(std::slice::from_ref(&object));
    spec["hubTemplateOptions"] = json!({ "serviceAccountName": "nobody" });
    root.apply_with(json!({}), annotations, spec).await?;
    site.placed(Via::Placement, "choice", "policy", &["m1"])
        .await?;
    root.spec_is_copied("m1").await?;
    let before = root.replica("m1").await?;
    same("the trigger", annotation(&before, TRIGGER), None)?;
    same("the switch", annotation(&before, disable), Some("true"))?;
    root.annotate(TRIGGER, "2").await?;
    steadily("nothing is written", || async {
        same(
            "its version",
            version(&root.replica("m1").await?),
            version(&before),
        )
    })
    .await?;
    // Anything but true does not switch them off.
    let on = json!({ "metadata": { "annotations": { disable: "no" } }, "spec": { "hubTemplateOptions": null } });
    root.patch(on).await?;
    root.renders("m1", &[small(&site.cluster("m1"))]).await?;
    Ok(())
}

/// An equal object is not written again.
pub(crate) async fn equal(world: Arc<Hubs>) -> Result<()> {
    let site = world.site("rough-edge-25", &["m1"]).await?;
    let root = site.root("policy");
    let mut object = wants("equal", json!({ "name": hub(".ManagedClusterName") }));
    object["spec"]["numbers"] = json!([1.0, 1.5, 1e3, 0.1, 9_007_199_254_740_993_i64, -1]);
    object["spec"]["nothing"] = Value::Null;
    object["spec"]["empty"] = json!({ "map": {}, "list": [], "text": "" });
    object["spec"]["markup"] = json!("<a href=\"x\">&</a> \u{2028}");
    let mut raw = object.clone();
    raw["spec"]["object-templates"] = json!([]);
    root.apply(policy_spec(&[object, raw])).await?;
    site.placed(Via::Placement, "choice", "policy", &["m1"])
        .await?;
    root.errors_are("m1", &[None, None]).await?;
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    let before = version(&root.replica("m1").await?);
    for round in 0..3 {
        root.annotate(TRIGGER, &round.to_string()).await?;
        tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    }
    steadily("nothing is written", || async {
        same("its version", &version(&root.replica("m1").await?), &before)
    })
    .await
}

/// The event has the text of the error, up to the limit of an event.
pub(crate) async fn reported_as_it_is(world: Arc<Hubs>) -> Result<()> {
    let site = world.site("rough-edge-39", &["m1"]).await?;
    let root = site.root("policy");
    let long = "x".repeat(1500);
    let object = small(&hub(&format!(r#"fail "at 100%s-%d {long}""#)));
    root.apply(policy_spec(&[object])).await?;
    site.placed(Via::Placement, "choice", "policy", &["m1"])
        .await?;
    let want = format!("error calling fail: at 100%s-%d {long}");
    ends_with(&root.has_error("m1", "100%s").await?, &want)?;
    let reported = within("it is reported", || async {
        let reported = root.reported("Failed to resolve templates").await?;
        reported.into_iter().next().context("nothing is reported")
    })
    .await?;
    ensure!(
        reported.len() <= 1024,
        "{} bytes are reported",
        reported.len()
    );
    ensure!(!reported.contains("MISSING"), "it is formatted: {reported}");
    ensure!(
        reported.starts_with(
            "Failed to resolve templates for cluster m1: failed to resolve the template"
        ),
        "it is {reported}"
    );
    Ok(())
}

/// A watch without readers ends.
pub(crate) async fn watches_end(world: Arc<Hubs>) -> Result<()> {
    const WATCHES: &str = "hub_templates_active_watches";
    let hubs = world.bare().await?;
    let site = hubs.site("rough-edge-16", &["m1", "m2"]).await?;
    let propagator = hubs.propagator();
    let watches = |want: f64| async move {
        within(format!("{want} watches"), || async {
            let now = propagator.metric(WATCHES).await?;
            ensure!((now - want).abs() < 0.5, "there are {now}");
            Ok(())
        })
        .await
    };
    watches(0.0).await?;
    let root = site.root("policy");
    let read = |name: &str| hub(&format!(r#"(lookup "v1" "ConfigMap" "" "{name}").kind"#));
    let data = json!({ "one": read("one"), "two": read("two") });
    root.apply(policy_spec(&[wants("reads", data)])).await?;
    let choice = site
        .placed(Via::Placement, "choice", "policy", &["m1", "m2"])
        .await?;
    root.replicas_are(&["m1", "m2"]).await?;
    watches(2.0).await?;
    // Another process watches the same, and has nothing to write.
    let before = version(&root.replica("m1").await?);
    propagator.while_away(async { Ok(()) }).await?;
    watches(2.0).await?;
    same("the version", &version(&root.replica("m1").await?), &before)?;
    // The replica goes by another hand at the moment in which it is no longer wanted.
    let (gone, decided) = tokio::join!(root.delete_replica("m1"), choice.decides(&["m2"]));
    gone.and(decided)?;
    root.replicas_are(&["m2"]).await?;
    watches(2.0).await?;
    // The labels of a cluster and a lookup of the same cluster are one object.
    let labels = hub(r#"index .ManagedClusterLabels "name""#);
    let cluster = format!(
        r#"(lookup "cluster.open-cluster-management.io/v1" "ManagedCluster" "" "{}").kind"#,
        site.cluster("m2")
    );
    let data = json!({ "one": read("one"), "two": read("two"), "labels": labels, "cluster": hub(&cluster) });
    root.apply(policy_spec(&[wants("reads", data)])).await?;
    watches(3.0).await?;
    let data = json!({ "one": read("one"), "labels": labels });
    root.apply(policy_spec(&[wants("reads", data)])).await?;
    watches(2.0).await?;
    let (gone, decided) = tokio::join!(root.delete_replica("m2"), choice.decides(&[]));
    gone.and(decided)?;
    root.replicas_are(&[]).await?;
    watches(0.0).await
}
