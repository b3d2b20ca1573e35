//! Objects as deep as an API server stores them.

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use reeve_runtime::decode;
use reeve_scenarios::Governed;
use reeve_testkit::world::{POLICIES, decide};
use reeve_testkit::{Plane, SOON, World, eventually};
use serde_json::{Value, json};
use tokio::sync::Mutex;

const CLUSTER: &str = "c1";
const POLICIES_PATH: &str = "/apis/policy.open-cluster-management.io/v1/namespaces";
const DEEPS_PATH: &str = "/apis/hostile.reeve.dev/v1/namespaces/default/deeps";

/// A kind that takes whatever is in its spec.
const KIND: &str = "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: deeps.hostile.reeve.dev}
spec:
  group: hostile.reeve.dev
  scope: Namespaced
  names: {kind: Deep, listKind: DeepList, plural: deeps, singular: deep}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, x-kubernetes-preserve-unknown-fields: true}
";

/// A value at the bottom of so many maps.
fn nested(levels: usize, bottom: &str) -> String {
    [
        r#"{"a":"#.repeat(levels),
        format!("{{\"value\":\"{bottom}\"}}"),
        "}".repeat(levels),
    ]
    .concat()
}

/// The JSON pointer to the bottom of [`nested`] in the spec of an object.
fn bottom(levels: usize) -> String {
    format!("/spec/deep{}/value", "/a".repeat(levels))
}

async fn send(plane: &Plane, method: &str, path: &str, content: &str, body: String) -> Result<()> {
    let request = http::Request::builder()
        .method(method)
        .uri(path)
        .header(http::header::CONTENT_TYPE, content)
        .body(body.into_bytes())?;
    let answer = plane.client().request_text(request).await;
    answer.map(drop).with_context(|| format!("{method} {path}"))
}

async fn create(plane: &Plane, path: &str, body: String) -> Result<()> {
    send(plane, "POST", path, "application/json", body).await
}

async fn read(plane: &Plane, path: &str) -> Result<Value> {
    let request = http::Request::get(path).body(Vec::new())?;
    let text = plane.client().request_text(request).await?;
    Ok(decode::from_str(&text)?)
}

/// Waits until a policy has a compliance on the hub.
async fn reports(world: &World, name: &str, compliance: &str) -> Result<()> {
    let path = format!("{POLICIES_PATH}/{POLICIES}/policies/{name}");
    eventually(format!("{name} is {compliance}"), SOON, || async {
        let policy = read(&world.hub, &path).await?;
        let found = policy.pointer("/status/compliant").and_then(Value::as_str);
        ensure!(found == Some(compliance), "it is {found:?}");
        Ok(())
    })
    .await
}

/// Restarts all components; all of them are ready when this returns, and a new policy gets its answer.
async fn restart(world: &mut World, name: &str) -> Result<()> {
    world.propagator.kill().await;
    world.propagator.restart()?;
    for cluster in &mut world.clusters {
        cluster.addon.kill().await;
        cluster.controller.kill().await;
        cluster.addon.restart()?;
        cluster.controller.restart()?;
    }
    let object = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name, "namespace": "default" },
    });
    let template = Governed::template(name, "musthave", &object);
    let policy = Governed::apply(world, name, "enforce", vec![template]).await?;
    policy.place(&[CLUSTER]).await?;
    reports(world, name, "Compliant").await
}

/// The text of a policy with one enforced object that holds `deep`.
fn policy_of(name: &str, deep: &str) -> String {
    let kind = r#""apiVersion":"policy.open-cluster-management.io/v1""#;
    let object = format!(
        r#"{{"apiVersion":"hostile.reeve.dev/v1","kind":"Deep","metadata":{{"name":"{name}","namespace":"default"}},"spec":{{"deep":{deep}}}}}"#
    );
    let template = format!(
        r#"{{{kind},"kind":"ConfigurationPolicy","metadata":{{"name":"{name}"}},"spec":{{"remediationAction":"enforce","severity":"low","object-templates":[{{"complianceType":"musthave","objectDefinition":{object}}}]}}}}"#
    );
    format!(
        r#"{{{kind},"kind":"Policy","metadata":{{"name":"{name}","namespace":"{POLICIES}"}},"spec":{{"disabled":false,"policy-templates":[{{"objectDefinition":{template}}}]}}}}"#
    )
}

async fn place(world: &World, name: &str) -> Result<()> {
    let binding = json!({
        "apiVersion": "policy.open-cluster-management.io/v1", "kind": "PlacementBinding",
        "metadata": { "name": name, "namespace": POLICIES },
        "placementRef": { "apiGroup": "cluster.open-cluster-management.io", "kind": "Placement", "name": name },
        "subjects": [{ "apiGroup": "policy.open-cluster-management.io", "kind": "Policy", "name": name }],
    });
    let placement = json!({
        "apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "Placement",
        "metadata": { "name": name, "namespace": POLICIES }, "spec": {},
    });
    world
        .hub
        .apply(&format!("{placement}\n---\n{binding}"))
        .await?;
    decide(&world.hub, POLICIES, name, &[CLUSTER]).await
}

pub(crate) async fn policy(world: Arc<Mutex<World>>) -> Result<()> {
    let mut world = world.lock().await;
    world.cluster(CLUSTER)?.plane.apply(KIND).await?;
    for levels in [130, 200, 2_000] {
        let name = format!("deep-{levels}");
        let collection = format!("{POLICIES_PATH}/{POLICIES}/policies");
        create(
            &world.hub,
            &collection,
            policy_of(&name, &nested(levels, "wanted")),
        )
        .await?;
        place(&world, &name).await?;
        reports(&world, &name, "Compliant").await?;

        // Somebody changes the bottom of it.
        let cluster = &world.cluster(CLUSTER)?.plane;
        let path = format!("{DEEPS_PATH}/{name}");
        let drift = json!([{ "op": "replace", "path": bottom(levels), "value": "drifted" }]);
        send(
            cluster,
            "PATCH",
            &path,
            "application/json-patch+json",
            drift.to_string(),
        )
        .await?;
        eventually(format!("the drift of {name} is undone"), SOON, || async {
            let object = read(cluster, &path).await?;
            let found = object.pointer(&bottom(levels)).and_then(Value::as_str);
            ensure!(found == Some("wanted"), "it is {found:?}");
            Ok(())
        })
        .await?;
    }
    restart(&mut world, "beside-deep-policies").await?;
    for levels in [130, 200, 2_000] {
        let name = format!("deep-{levels}");
        let path = format!("{POLICIES_PATH}/{POLICIES}/policies/{name}");
        send(
            &world.hub,
            "DELETE",
            &path,
            "application/json",
            String::new(),
        )
        .await?;
        let replica = format!("{POLICIES_PATH}/{CLUSTER}/policies/{POLICIES}.{name}");
        for plane in [&world.hub, &world.cluster(CLUSTER)?.plane] {
            eventually(format!("{replica} is removed"), SOON, || async {
                ensure!(read(plane, &replica).await.is_err(), "it is there");
                Ok(())
            })
            .await?;
        }
    }
    Ok(())
}

pub(crate) async fn status(world: Arc<Mutex<World>>) -> Result<()> {
    let mut world = world.lock().await;
    let object = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "reports-deeply", "namespace": "default" },
    });
    let template = Governed::template("reports-deeply", "musthave", &object);
    let policy = Governed::apply(&world, "reports-deeply", "inform", vec![template]).await?;
    policy.place(&[CLUSTER]).await?;
    reports(&world, "reports-deeply", "NonCompliant").await?;
    let replica = policy.replica();
    // The agent of the cluster would write its own status over it.
    world
        .clusters
        .iter_mut()
        .for_each(|cluster| drop(cluster.addon.pause()));
    let path = format!("{POLICIES_PATH}/{CLUSTER}/policies/{replica}/status");
    let details = format!(
        r#"{{"status":{{"compliant":"Compliant","details":[{{"compliant":"Compliant","templateMeta":{}}}]}}}}"#,
        nested(300, "deep")
    );
    let sent = send(
        &world.hub,
        "PATCH",
        &path,
        "application/merge-patch+json",
        details,
    )
    .await;
    sent?;
    reports(&world, "reports-deeply", "Compliant").await?;
    world
        .clusters
        .iter_mut()
        .for_each(|cluster| drop(cluster.addon.resume()));
    restart(&mut world, "beside-deep-status").await
}

pub(crate) async fn evasion(world: Arc<Mutex<World>>) -> Result<()> {
    let world = world.lock().await;
    let cluster = &world.cluster(CLUSTER)?.plane;
    cluster.apply(KIND).await?;
    let object = |value: &str| {
        json!({
            "apiVersion": "hostile.reeve.dev/v1", "kind": "Deep",
            "metadata": { "name": "evades", "namespace": "default" }, "spec": { "value": value },
        })
    };
    cluster.apply(&object("wanted").to_string()).await?;
    let template = Governed::template("evades", "musthave", &object("wanted"));
    let policy = Governed::apply(&world, "evades", "inform", vec![template]).await?;
    policy.place(&[CLUSTER]).await?;
    reports(&world, "evades", "Compliant").await?;

    // The tenant breaks the policy in the same write that makes the object deep.
    let path = format!("{DEEPS_PATH}/evades");
    let change = format!(
        r#"{{"spec":{{"value":"broken","deep":{}}}}}"#,
        nested(130, "deep")
    );
    send(
        cluster,
        "PATCH",
        &path,
        "application/merge-patch+json",
        change,
    )
    .await?;
    reports(&world, "evades", "NonCompliant").await?;
    let change = json!({ "spec": { "value": "wanted" } });
    send(
        cluster,
        "PATCH",
        &path,
        "application/merge-patch+json",
        change.to_string(),
    )
    .await?;
    reports(&world, "evades", "Compliant").await
}
