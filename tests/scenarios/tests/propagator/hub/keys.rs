//! PROP-139: keys are changed, and what they encrypt follows.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use reeve_scenarios::{
    Hubs, Root, Site, Via, annotation, plain, policy_spec, same, steadily, version, wants, within,
};
use reeve_testkit::Object;
use serde_json::{Value, json};

use crate::hub::secrets::{KEY, encrypted, kept, key};
use crate::hub::{IV, TRIGGER, hub};

const ROTATED: &str = "policy.open-cluster-management.io/last-rotated";
const NAME: &str = "policy-encryption-key";
/// Another key than [`KEY`].
const OTHER: &str = "cmVldmUtdGVzdHMtZmlyc3Qta2V5LTAxMjM0NTY3ODk=";

async fn secret(site: &Site<'_>, cluster: &str) -> Result<Object> {
    let namespace = site.cluster(cluster);
    let found = site.get("v1", "Secret", Some(&namespace), NAME).await?;
    found.with_context(|| format!("{cluster} has no key"))
}

fn datum<'o>(secret: &'o Object, name: &str) -> &'o str {
    secret.data["data"][name].as_str().unwrap_or_default()
}

/// Waits until a cluster has a whole key that is not this one, since a short while.
async fn rotated(site: &Site<'_>, cluster: &str, old: &str) -> Result<Object> {
    within(format!("{cluster} has another key"), || async {
        let secret = secret(site, cluster).await?;
        let key = datum(&secret, "key");
        // 32 bytes in Base64.
        ensure!(key.len() == 44 && key.ends_with('='), "the key is {key}");
        ensure!(key != old, "it is the old one");
        let at = annotation(&secret, ROTATED).context("it was never rotated")?;
        let at: jiff::Timestamp = at.parse().with_context(|| format!("{at} is no time"))?;
        let age = jiff::Timestamp::now().duration_since(at);
        ensure!(age.as_secs() < 600, "it was rotated at {at}");
        Ok(secret)
    })
    .await
}

/// The trigger on a root.
async fn trigger(root: &Root<'_>) -> Result<Option<String>> {
    let root = root.read().await?;
    Ok(annotation(&root, TRIGGER).map(str::to_owned))
}

pub(crate) async fn rotation(world: Arc<Hubs>) -> Result<()> {
    let site = world.site("case-e49", &["m1", "m2"]).await?;
    let (with, without) = (site.root("with"), site.root("without"));
    // Its template reports nothing of a kind; it is propagated all the same.
    let kindless = policy_spec(&[json!({ "metadata": { "name": "kindless" } })]);
    for root in [&with, &without] {
        root.apply(kindless.clone()).await?;
        site.placed(Via::Placement, &root.name, &root.name, &["m1"])
            .await?;
        root.spec_is("m1", &kindless).await?;
    }
    let vector = "7cznVUq5SXEE4RMZNkGOrQ==";
    let annotations = json!({ "annotations": { IV: vector } });
    with.patch_replica("m1", json!({ "metadata": annotations }))
        .await?;
    let vector_stays = || async {
        let replica = with.replica("m1").await?;
        same("the vector", annotation(&replica, IV), Some(vector))
    };
    steadily("the vector is kept", vector_stays).await?;
    key(
        &site,
        "m1",
        Some(KEY),
        json!({ ROTATED: "2020-04-15T01:02:03Z" }),
    )
    .await?;
    let new = rotated(&site, "m1", KEY).await?;
    same("the previous key", datum(&new, "previousKey"), KEY)?;
    let prefix = format!(
        "rotate-key-{}-{}",
        site.cluster("m1"),
        annotation(&new, ROTATED).unwrap_or_default()
    );
    within("the policy is triggered", || async {
        let value = trigger(&with).await?.context("no trigger")?;
        ensure!(value.starts_with(&prefix), "the trigger is {value}");
        Ok(())
    })
    .await?;
    steadily("the other is not", || async {
        same("its trigger", trigger(&without).await?, None)?;
        let replica = with.replica("m1").await?;
        same("the replica's trigger", annotation(&replica, TRIGGER), None)?;
        same(
            "the key",
            datum(&secret(&site, "m1").await?, "key"),
            datum(&new, "key"),
        )
    })
    .await
}

/// A policy that needs the key of m1 and m2, there.
async fn needing<'a>(site: &'a Site<'a>, clusters: &[&str]) -> Result<Root<'a>> {
    site.secret("source", json!({ "password": "cGFzc3dvcmQK" }))
        .await?;
    let read = hub(r#"fromSecret "" "source" "password""#);
    let root = site.root("policy");
    root.apply(policy_spec(&[wants("secret", json!({ "password": read }))]))
        .await?;
    site.placed(Via::Placement, "choice", "policy", clusters)
        .await?;
    for cluster in clusters {
        root.until(cluster, "it is encrypted", encrypted).await?;
    }
    Ok(root)
}

fn token(replica: &Object) -> Value {
    let path =
        "/spec/policy-templates/0/objectDefinition/spec/object-templates/0/objectDefinition/data";
    replica.data.pointer(path).cloned().unwrap_or_default()
}

/// Waits until a replica is encrypted otherwise than it was.
async fn encrypted_anew(root: &Root<'_>, cluster: &str, before: &Object) -> Result<Object> {
    root.until(cluster, "it is encrypted anew", |replica| {
        ensure!(token(replica) != token(before), "it is not");
        encrypted(replica)
    })
    .await
}

/// The documented recipe. 34: another key comes with another vector. 42: on its cluster only.
pub(crate) async fn forced(world: Arc<Hubs>) -> Result<()> {
    let site = world.site("rough-edge-34", &["m1", "m2"]).await?;
    let root = needing(&site, &["m1", "m2"]).await?;
    let first = secret(&site, "m1").await?;
    let backup = "cluster.open-cluster-management.io/backup";
    same(
        "the backup label",
        reeve_scenarios::label(&first, backup),
        Some("policy"),
    )?;
    let at = annotation(&first, ROTATED).unwrap_or_default();
    ensure!(at.ends_with('Z'), "rotated at {at}, which is not in UTC");
    let (m1, m2) = (root.replica("m1").await?, root.replica("m2").await?);
    let forget = json!({ "metadata": { "annotations": { ROTATED: null } } });
    site.patch("v1", "Secret", Some(&site.cluster("m1")), NAME, forget)
        .await?;
    let second = rotated(&site, "m1", datum(&first, "key")).await?;
    same(
        "the previous key",
        datum(&second, "previousKey"),
        datum(&first, "key"),
    )?;
    let after = encrypted_anew(&root, "m1", &m1).await?;
    ensure!(
        annotation(&after, IV) != annotation(&m1, IV),
        "the vector is the old one"
    );
    steadily("the other cluster is left alone", || async {
        same(
            "the replica on m2",
            version(&root.replica("m2").await?),
            version(&m2),
        )
    })
    .await
}

/// A key that a user changed.
pub(crate) async fn by_hand(world: Arc<Hubs>) -> Result<()> {
    let site = world.site("rough-edge-43", &["m1"]).await?;
    let mut annotations = kept();
    annotations[ROTATED] = json!("2026-01-02T03:04:05Z");
    key(&site, "m1", Some(KEY), annotations.clone()).await?;
    let root = needing(&site, &["m1"]).await?;
    let before = root.replica("m1").await?;
    let (_, count) = version(&before);
    ensure!(count.is_some(), "no generation");
    let earlier = trigger(&root).await?;
    key(&site, "m1", Some(OTHER), annotations).await?;
    encrypted_anew(&root, "m1", &before).await?;
    let now = trigger(&root).await?;
    ensure!(now != earlier, "the trigger is still {now:?}");
    let prefix = format!("rotate-key-{}-2026-01-02T03:04:05Z", site.cluster("m1"));
    let value = now.unwrap_or_default();
    ensure!(value.starts_with(&prefix), "the trigger is {value}");
    let untouched = secret(&site, "m1").await?;
    same("the key", datum(&untouched, "key"), OTHER)
}

/// An empty key Secret holds an invalid key, and the propagator restores it.
pub(crate) async fn nothing_in_it(world: Arc<Hubs>) -> Result<()> {
    let site = world.site("rough-edge-44", &["m1"]).await?;
    key(&site, "m1", None, json!({})).await?;
    let mended = rotated(&site, "m1", "").await?;
    same("the previous key", datum(&mended, "previousKey"), "")?;
    needing(&site, &["m1"]).await?;
    // Somebody empties it.
    let empty = json!({ "data": null });
    site.patch("v1", "Secret", Some(&site.cluster("m1")), NAME, empty)
        .await?;
    let mended = rotated(&site, "m1", datum(&mended, "key")).await?;
    same("the previous key", datum(&mended, "previousKey"), "")
}

/// U24 and U25: what is no key is replaced at once, and is never the previous one.
pub(crate) async fn invalid(world: Arc<Hubs>) -> Result<()> {
    let site = world.site("case-u24", &["m1", "m2"]).await?;
    let now = jiff::Timestamp::now();
    let recently = json!({ ROTATED: format!("{now:.0}") });
    key(&site, "m1", Some("c2hvcnQ="), recently.clone()).await?;
    let mended = rotated(&site, "m1", "c2hvcnQ=").await?;
    same("the previous key", datum(&mended, "previousKey"), "")?;
    let secret_text = json!({
        "apiVersion": "v1", "kind": "Secret",
        "metadata": { "name": NAME, "namespace": site.cluster("m2"), "annotations": recently },
        "data": { "key": KEY, "previousKey": "c2hvcnQ=" }
    });
    site.apply(&secret_text.to_string()).await?;
    within("the previous key is dropped", || async {
        let secret = secret(&site, "m2").await?;
        same("the key", datum(&secret, "key"), KEY)?;
        same("the previous key", datum(&secret, "previousKey"), "")
    })
    .await?;
    // U23: with rotation switched off an old key stays.
    let mut old = kept();
    old[ROTATED] = json!("2020-04-15T01:02:03Z");
    key(&site, "m2", Some(OTHER), old).await?;
    steadily("the key stays", || async {
        same("the key", datum(&secret(&site, "m2").await?, "key"), OTHER)
    })
    .await
}

/// Deletes a cluster's key, and ends some seconds later. A client that asks once a second must find it absent.
async fn delete_key(site: &Site<'_>, cluster: &str) -> Result<()> {
    let namespace = site.cluster(cluster);
    let text = json!({
        "apiVersion": "v1", "kind": "Secret",
        "metadata": { "name": NAME, "namespace": namespace }
    });
    let before = Instant::now();
    site.delete(&text.to_string()).await?;
    let mut asked = 0;
    loop {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let found = site.get("v1", "Secret", Some(&namespace), NAME).await?;
        // What is found later than this may have been made by right.
        let after = before.elapsed();
        if after >= Duration::from_secs(5) {
            ensure!(asked > 0, "nobody asked in time");
            return Ok(());
        }
        ensure!(found.is_none(), "the key is back after {after:?}");
        asked += 1;
    }
}

/// A deleted key is absent for a while, and then replaced.
pub(crate) async fn deleted(world: Arc<Hubs>) -> Result<()> {
    let site = world.site("rough-edge-46", &["m1"]).await?;
    let root = needing(&site, &["m1"]).await?;
    let (before, old) = (root.replica("m1").await?, secret(&site, "m1").await?);
    delete_key(&site, "m1").await?;
    rotated(&site, "m1", datum(&old, "key")).await?;
    encrypted_anew(&root, "m1", &before).await?;
    Ok(())
}

/// A deleted key that no replica needs is not created again.
pub(crate) async fn deleted_unneeded(world: Arc<Hubs>) -> Result<()> {
    let site = world.site("rough-edge-46-unneeded", &["m1"]).await?;
    let root = needing(&site, &["m1"]).await?;
    let plain = policy_spec(&[wants("plain", json!({ "a": "b" }))]);
    root.apply(plain.clone()).await?;
    root.spec_is("m1", &plain).await?;
    delete_key(&site, "m1").await?;
    steadily("the key stays away", || async {
        let namespace = site.cluster("m1");
        let found = site.get("v1", "Secret", Some(&namespace), NAME).await?;
        ensure!(found.is_none(), "it is back");
        Ok(())
    })
    .await
}

/// Every cluster has its own event.
pub(crate) async fn reported_of_each(world: Arc<Hubs>) -> Result<()> {
    let site = world.site("rough-edge-40", &["m1", "m2", "m3"]).await?;
    let root = site.root("policy");
    root.apply(plain()).await?;
    let clusters = ["m1", "m2", "m3"];
    site.placed(Via::Placement, "choice", "policy", &clusters)
        .await?;
    let reported = |what: &'static str| {
        let want = clusters
            .map(|cluster| format!("Policy {}/policy was {what} cluster {cluster}", site.name));
        let root = &root;
        async move {
            within(format!("{what} is reported"), || async {
                let mut reported = root.reported(what).await?;
                reported.sort();
                same("the events", reported, want.to_vec())
            })
            .await
        }
    };
    reported("propagated to").await?;
    tokio::time::sleep(Duration::from_millis(500)).await;
    root.patch(json!({ "spec": { "remediationAction": "enforce" } }))
        .await?;
    reported("updated for").await
}
