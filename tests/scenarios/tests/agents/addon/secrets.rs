//! The key that hub templates are encrypted with.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use kube::ResourceExt as _;
use reeve_scenarios::{Agents, Mode, Place, holds, within};
use reeve_testkit::{Object, Objects};
use serde_json::{Value, json};

const KEY: &str = "policy-encryption-key";

fn secret(namespace: &str, name: &str, data: &Value) -> String {
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "type": "Opaque",
        "metadata": {
            "name": name, "namespace": namespace,
            "labels": { "mine": "1" }, "annotations": { "mine": "1" }
        },
        "data": data
    });
    secret.to_string()
}

async fn read(plane: &Objects, namespace: &str, name: &str) -> Result<Option<Object>> {
    plane.get("v1", "Secret", Some(namespace), name).await
}

async fn copied(place: Place<'_>, data: &Value) -> Result<Object> {
    within("the key is copied", || async {
        let copy = read(place.managed, place.namespace, KEY).await?;
        let copy = copy.context("no key")?;
        ensure!(copy.data["data"] == *data, "it is another one");
        Ok(copy)
    })
    .await
}

pub(crate) async fn follows(world: Arc<Agents>, mode: Mode) -> Result<()> {
    let place = world.place(mode)?;
    let (hub, managed) = (place.hub, place.managed);
    let first = json!({ "key": "MTIzNDU2Nzg5MDEyMzQ1Ng==" });
    let second = json!({ "key": "MjM0NTY3ODkwMTIzNDU2MQ==", "previousKey": first["key"] });
    let other = secret(place.hub_namespace, "another-secret", &first);
    hub.apply(&other).await?;
    hub.apply(&secret(place.hub_namespace, KEY, &first)).await?;
    let copy = copied(place, &first).await?;
    let nothing = BTreeMap::new();
    ensure!(*copy.labels() == nothing && *copy.annotations() == nothing);

    // What differs in nothing but metadata is the same.
    let touched = json!({ "metadata": { "labels": { "touched": "1" } } });
    hub.patch("v1", "Secret", Some(place.hub_namespace), KEY, touched)
        .await?;
    holds("nothing is written, and nothing else copied", || async {
        let now = read(managed, place.namespace, KEY).await?;
        let now = now.context("no key")?;
        ensure!(now.resource_version() == copy.resource_version());
        let other = read(managed, place.namespace, "another-secret").await?;
        ensure!(other.is_none(), "another secret was copied");
        Ok(())
    })
    .await?;

    hub.apply(&secret(place.hub_namespace, KEY, &second))
        .await?;
    copied(place, &second).await?;

    // FWK-50: what others do to the copy does not last.
    let drift = json!({ "data": { "key": "AAAA" } });
    managed
        .patch("v1", "Secret", Some(place.namespace), KEY, drift)
        .await?;
    copied(place, &second).await?;
    managed
        .delete(&secret(place.namespace, KEY, &second))
        .await?;
    copied(place, &second).await?;

    hub.delete(&secret(place.hub_namespace, KEY, &second))
        .await?;
    within("the copy is deleted", || async {
        let copy = read(managed, place.namespace, KEY).await?;
        ensure!(copy.is_none(), "it is still there");
        Ok(())
    })
    .await
}

/// Nobody copies over or deletes the key of a hub that manages itself.
pub(crate) async fn own_is_left_alone(world: Arc<Agents>) -> Result<()> {
    let place = world.place(Mode::OnHub)?;
    let data = json!({ "key": "MTIzNDU2Nzg5MDEyMzQ1Ng==" });
    place
        .managed
        .apply(&secret(place.namespace, KEY, &data))
        .await?;
    let before = copied(place, &data).await?;
    holds("it stays", || async {
        let now = read(place.managed, place.namespace, KEY).await?;
        ensure!(now.is_some_and(|now| now.resource_version() == before.resource_version()));
        Ok(())
    })
    .await
}
