//! PROP-104 and PROP-111: hub templates that read with a service account's rights.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, ensure};
use reeve_scenarios::{Hubs, Root, Site, Via, policy_spec, same, steadily, wants, within};
use reeve_testkit::{AuditEvent, AuditLog, Mark};
use serde_json::{Value, json};

use crate::hub::hub;

/// A spec whose templates read with an account's rights.
fn spec(account: &str, objects: &[Value]) -> Value {
    let mut spec = policy_spec(objects);
    spec["hubTemplateOptions"] = json!({ "serviceAccountName": account });
    spec
}

async fn account(site: &Site<'_>, name: &str) -> Result<()> {
    let account = json!({
        "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": name, "namespace": site.name }
    });
    site.apply(&account.to_string()).await?;
    Ok(())
}

/// Lets an account list and watch one object, in a namespace or without any, and nothing else.
async fn allow(
    site: &Site<'_>,
    account: &str,
    resource: &str,
    namespace: Option<&str>,
    name: &str,
) -> Result<()> {
    site.apply(&rights(site, account, resource, namespace, name))
        .await?;
    Ok(())
}

fn rights(
    site: &Site<'_>,
    account: &str,
    resource: &str,
    namespace: Option<&str>,
    name: &str,
) -> String {
    const API: &str = "rbac.authorization.k8s.io/v1";
    let prefix = if namespace.is_some() { "" } else { "Cluster" };
    let role = format!("{prefix}Role");
    let metadata =
        json!({ "name": format!("{}-{account}-{resource}", site.name), "namespace": namespace });
    let verbs = json!({ "apiGroups": [""], "resources": [resource], "verbs": ["list", "watch"], "resourceNames": [name] });
    let rights = json!({ "apiVersion": API, "kind": role, "metadata": metadata, "rules": [verbs] });
    let binding = json!({
        "apiVersion": API, "kind": format!("{role}Binding"), "metadata": metadata,
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": role, "name": metadata["name"] },
        "subjects": [{ "kind": "ServiceAccount", "name": account, "namespace": site.name }]
    });
    format!("{rights}\n---\n{binding}")
}

pub(crate) async fn own_rights(world: Arc<Hubs>) -> Result<()> {
    let site = world.site("case-e33", &["m1", "m2", "m3"]).await?;
    let other = world.site("case-e33-other", &[]).await?;
    other
        .config_map("settings", json!({ "key": "value" }))
        .await?;
    account(&site, "reader").await?;
    allow(&site, "reader", "configmaps", Some(&other.name), "settings").await?;
    allow(&site, "reader", "namespaces", None, &other.name).await?;
    let data = |value: &str, namespace: &str| json!({ "key": value, "namespace": namespace });
    let read = hub(&format!(
        r#"fromConfigMap "{}" "settings" "key""#,
        other.name
    ));
    let found = hub(&format!(
        r#"(lookup "v1" "Namespace" "" "{}").metadata.name"#,
        other.name
    ));
    let root = site.root("policy");
    root.apply(spec("reader", &[wants("read", data(&read, &found))]))
        .await?;
    site.placed(Via::Placement, "choice", "policy", &["m1", "m2", "m3"])
        .await?;
    for cluster in ["m1", "m2", "m3"] {
        let want = wants("read", data("value", &other.name));
        root.renders(cluster, &[want]).await?;
    }
    other
        .config_map("settings", json!({ "key": "changed" }))
        .await?;
    for cluster in ["m1", "m2", "m3"] {
        let want = wants("read", data("changed", &other.name));
        root.renders(cluster, &[want]).await?;
    }
    // Without the account the same template reaches no further than its namespace.
    root.patch(json!({ "spec": { "hubTemplateOptions": null } }))
        .await?;
    root.has_error("m1", "the namespace argument is restricted to case-e33")
        .await?;
    root.patch(json!({ "spec": { "hubTemplateOptions": { "serviceAccountName": "reader" } } }))
        .await?;
    let want = wants("read", data("changed", &other.name));
    root.renders("m1", &[want]).await?;
    Ok(())
}

/// A name without a namespace, where the account may read it in all of them.
pub(crate) async fn any_namespace(world: Arc<Hubs>) -> Result<()> {
    let site = world.site("tmpl-12", &["m1"]).await?;
    let last = world.site("tmpl-12-z", &[]).await?;
    let first = world.site("tmpl-12-a", &[]).await?;
    last.config_map("tmpl-12-shared", json!({ "from": "z" }))
        .await?;
    account(&site, "reader").await?;
    allow(&site, "reader", "configmaps", None, "tmpl-12-shared").await?;
    let read = hub(r#"(lookup "v1" "ConfigMap" "" "tmpl-12-shared").data.from | default "none""#);
    let root = site.root("policy");
    root.apply(spec("reader", &[wants("read", json!({ "from": read }))]))
        .await?;
    site.placed(Via::Placement, "choice", "policy", &["m1"])
        .await?;
    let is = async |from: &str| {
        let want = wants("read", json!({ "from": from }));
        root.renders("m1", &[want]).await.map(drop)
    };
    is("z").await?;
    first
        .config_map("tmpl-12-shared", json!({ "from": "a" }))
        .await?;
    is("a").await?;
    let gone = |namespace: &str| {
        json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": { "name": "tmpl-12-shared", "namespace": namespace }
        })
    };
    site.delete(&gone(&first.name).to_string()).await?;
    is("z").await?;
    site.delete(&gone(&last.name).to_string()).await?;
    is("none").await
}

/// A policy that wants a Secret of another namespace, and what it gets without any right to it.
async fn forbidden(site: &Site<'_>, root: &Root<'_>, vault: &str) -> Result<()> {
    let read = hub(&format!(r#"fromSecret "{vault}" "postgres-cert" "key""#));
    root.apply(spec("reader", &[wants("read", json!({ "key": read }))]))
        .await?;
    site.placed(Via::Placement, "choice", "policy", &["m1"])
        .await?;
    let want = format!(
        "User \"system:serviceaccount:{}:reader\" cannot list resource \"secrets\" in API group \"\" in the \
         namespace \"{vault}\": ensure the client has the list and watch permissions for the query: \
         GroupVersion=v1, Kind=Secret, Namespace={vault}, Name=postgres-cert",
        site.name
    );
    let error = root.has_error("m1", "ensure the client").await?;
    ensure!(
        error.ends_with(&want),
        "it is\n{error}\nand should end with\n{want}"
    );
    Ok(())
}

/// How often Secrets of a namespace were asked for in vain since then: at least once.
fn refused_reads(audit: &AuditLog, mark: Mark, namespace: &str) -> Result<usize> {
    let mut asked = audit.since(mark)?;
    asked.retain(|event| {
        event.resource == "secrets" && event.namespace == namespace && event.code == 403
    });
    ensure!(!asked.is_empty(), "the audit log has no refusal");
    Ok(asked.len())
}

/// A read that is refused is tried again later and later: its refusal alone is no reason to try at once.
pub(crate) async fn refusals_are_not_repeated_at_once(world: Arc<Hubs>) -> Result<()> {
    const WHILE: Duration = Duration::from_secs(3);
    const MOST: usize = 20;
    let site = world.site("own-case-refusals", &["m1"]).await?;
    account(&site, "reader").await?;
    let vault = world.site("own-case-refusals-vault", &[]).await?;
    let audit = world.hub.plane().audit()?;
    let mark = audit.mark()?;
    forbidden(&site, &site.root("policy"), &vault.name).await?;
    tokio::time::sleep(WHILE).await;
    let count = refused_reads(audit, mark, &vault.name)?;
    ensure!(count <= MOST, "it was asked {count} times within {WHILE:?}");
    Ok(())
}

/// A refusal of an account answers all replicas that read the same: the API server is asked for the account, not for each.
pub(crate) async fn refusals_are_shared_by_replicas(world: Arc<Hubs>) -> Result<()> {
    const WHILE: Duration = Duration::from_secs(12);
    // Once in ten seconds, with a few workers that ask at the same moment.
    const MOST: usize = 12;
    let clusters: Vec<String> = (1..=40).map(|number| format!("m{number}")).collect();
    let clusters: Vec<&str> = clusters.iter().map(String::as_str).collect();
    let site = world.site("own-case-shared-refusals", &clusters).await?;
    account(&site, "reader").await?;
    let vault = world.site("own-case-shared-refusals-vault", &[]).await?;
    let audit = world.hub.plane().audit()?;
    let mark = audit.mark()?;
    let root = site.root("policy");
    forbidden(&site, &root, &vault.name).await?;
    site.placed(Via::Placement, "choice", "policy", &clusters)
        .await?;
    for cluster in &clusters {
        root.has_error(cluster, "ensure the client").await?;
    }
    tokio::time::sleep(WHILE).await;
    let count = refused_reads(audit, mark, &vault.name)?;
    ensure!(count <= MOST, "it was asked {count} times for 40 replicas");
    Ok(())
}

pub(crate) async fn without_rights(world: Arc<Hubs>) -> Result<()> {
    let site = world.site("case-e34", &["m1"]).await?;
    account(&site, "reader").await?;
    let vault = world.site("case-e34-vault", &[]).await?;
    let root = site.root("policy");
    forbidden(&site, &root, &vault.name).await?;
    // The template is changed back to one that needs no rights.
    let fine = wants("read", json!({ "name": hub(".ManagedClusterName") }));
    root.apply(spec("reader", &[fine])).await?;
    let want = wants("read", json!({ "name": site.cluster("m1") }));
    root.renders("m1", &[want]).await?;
    root.errors_are("m1", &[None]).await
}

/// A replica that was written without rights is rendered again once they are granted.
pub(crate) async fn rights_come_later(world: Arc<Hubs>) -> Result<()> {
    let site = world.site("rough-edge-20", &["m1"]).await?;
    account(&site, "reader").await?;
    let vault = world.site("rough-edge-20-vault", &[]).await?;
    vault
        .secret("postgres-cert", json!({ "key": "QUFB" }))
        .await?;
    let root = site.root("policy");
    forbidden(&site, &root, &vault.name).await?;
    let (resource, name) = ("secrets", "postgres-cert");
    allow(&site, "reader", resource, Some(&vault.name), name).await?;
    root.errors_are("m1", &[None]).await
}

pub(crate) async fn missing(world: Arc<Hubs>) -> Result<()> {
    let site = world.site("case-e35", &["m1"]).await?;
    let root = site.root("policy");
    let object = |value: &str| wants("read", json!({ "name": value }));
    let template = object(&hub(".ManagedClusterName"));
    let other = wants("other", json!({ "key": "value" }));
    root.apply(spec("late", &[template, other.clone()])).await?;
    site.placed(Via::Placement, "choice", "policy", &["m1"])
        .await?;
    let error = format!(
        "the service account in hubTemplateOptions.serviceAccountName ({}/late) does not exist",
        site.name
    );
    root.errors_are("m1", &[Some(&error), None]).await?;
    account(&site, "late").await?;
    root.renders("m1", &[object(&site.cluster("m1")), other])
        .await?;
    Ok(())
}

/// An account that is made anew has other tokens; those of the old one are worth nothing.
pub(crate) async fn made_anew(world: Arc<Hubs>) -> Result<()> {
    let site = world.site("case-e35-anew", &["m1"]).await?;
    for name in ["one", "two"] {
        site.config_map(name, json!({ "key": name })).await?;
        let user = format!("{name}-reader");
        account(&site, &user).await?;
        allow(&site, &user, "configmaps", Some(&site.name), name).await?;
    }
    let object = |value: &str| wants("read", json!({ "key": value }));
    let read = |name: &str| hub(&format!(r#"fromConfigMap "{}" "{name}" "key""#, site.name));
    let root = site.root("policy");
    root.apply(spec("one-reader", &[object(&read("one"))]))
        .await?;
    site.placed(Via::Placement, "choice", "policy", &["m1"])
        .await?;
    root.renders("m1", &[object("one")]).await?;
    // Another account has other rights.
    root.apply(spec("two-reader", &[object(&read("one"))]))
        .await?;
    let error = root.has_error("m1", "ensure the client").await?;
    ensure!(error.contains("two-reader"), "it is {error}");
    root.apply(spec("two-reader", &[object(&read("two"))]))
        .await?;
    root.renders("m1", &[object("two")]).await?;
    site.remove("ServiceAccount", "one-reader").await?;
    account(&site, "one-reader").await?;
    root.apply(spec("one-reader", &[object(&read("one"))]))
        .await?;
    root.renders("m1", &[object("one")]).await?;
    // The same while it is in use: what is read from now on is read with another token.
    site.remove("ServiceAccount", "one-reader").await?;
    account(&site, "one-reader").await?;
    site.config_map("three", json!({ "key": "three" })).await?;
    let namespace = Some(site.name.as_str());
    allow(&site, "one-reader", "configmaps", namespace, "three").await?;
    root.apply(spec("one-reader", &[object(&read("three"))]))
        .await?;
    root.renders("m1", &[object("three")]).await?;
    // The API server remembers for ten seconds that a token was good. Then it is no more, long before its end.
    tokio::time::sleep(Duration::from_secs(11)).await;
    site.config_map("four", json!({ "key": "four" })).await?;
    allow(&site, "one-reader", "configmaps", namespace, "four").await?;
    root.apply(spec("one-reader", &[object(&read("four"))]))
        .await?;
    root.renders("m1", &[object("four")]).await?;
    Ok(())
}

/// No token is requested for an account that no template needs.
pub(crate) async fn unneeded(world: Arc<Hubs>) -> Result<()> {
    let site = world.site("rough-edge-36", &["m1"]).await?;
    let root = site.root("policy");
    account(&site, "idle").await?;
    let audit = world.hub.plane().audit()?;
    let mark = audit.mark()?;
    let object = wants("plain", json!({ "key": "value" }));
    root.apply(spec("idle", std::slice::from_ref(&object)))
        .await?;
    site.placed(Via::Placement, "choice", "policy", &["m1"])
        .await?;
    root.renders("m1", std::slice::from_ref(&object)).await?;
    steadily("no token is asked for", || async {
        same("tokens", tokens(audit, mark, &site)?.len(), 0)
    })
    .await?;
    // One that is needed is; one that is not there does no harm while it is not needed.
    let needing = wants("plain", json!({ "key": hub(".ManagedClusterName") }));
    root.apply(spec("idle", &[needing])).await?;
    let want = wants("plain", json!({ "key": site.cluster("m1") }));
    root.renders("m1", &[want]).await?;
    // What was asked for is answered a moment before it is in the log.
    within("a token was asked for", || async {
        let tokens = tokens(audit, mark, &site)?;
        ensure!(!tokens.is_empty(), "the audit log has no token request");
        Ok(())
    })
    .await?;
    root.apply(spec("nobody", std::slice::from_ref(&object)))
        .await?;
    root.renders("m1", &[object]).await?;
    Ok(())
}

/// The tokens that were asked for in the namespace of a site.
fn tokens(audit: &AuditLog, since: Mark, site: &Site<'_>) -> Result<Vec<AuditEvent>> {
    let mut events = audit.since(since)?;
    events
        .retain(|event| event.resource == "serviceaccounts/token" && event.namespace == site.name);
    Ok(events)
}
