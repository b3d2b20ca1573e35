//! Dependency watches and typed watches.

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use kube::Api;
use kube::core::{DynamicObject, GroupVersionKind};
use parking_lot::Mutex;
use reeve_api::Policy;
use reeve_runtime::CancellationToken;
use reeve_runtime::client::{ClientOptions, InProcessServers, connect};
use reeve_runtime::dependencies::{DependencyWatches, ReadError};
use reeve_runtime::discovery::{Discovery, DiscoveryError};
use reeve_runtime::object::ObjectKey;
use reeve_runtime::watch::{Cached, Watch};
use reeve_testkit::{Plane, SOON, eventually};
use serde_json::json;

fn kind(group: &str, version: &str, kind: &str) -> GroupVersionKind {
    GroupVersionKind::gvk(group, version, kind)
}

fn config_map(namespace: &str, name: &str, value: &str) -> String {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": name, "namespace": namespace }, "data": { "k": value }
    })
    .to_string()
}

type Enqueued = Arc<Mutex<Vec<u32>>>;

fn watches(plane: &Plane) -> (DependencyWatches<u32>, Enqueued) {
    let enqueued = Enqueued::default();
    let wake = Arc::clone(&enqueued);
    let watches = DependencyWatches::new(plane.client(), move |reader| wake.lock().push(*reader));
    (watches, enqueued)
}

async fn wait_for_enqueued(enqueued: &Enqueued, want: &[u32]) -> Result<()> {
    eventually(format!("exactly {want:?} are woken"), SOON, || async {
        let found = enqueued.lock().clone();
        ensure!(found == want, "woken: {found:?}");
        Ok(())
    })
    .await
}

pub(crate) async fn enqueued(plane: Arc<Plane>) -> Result<()> {
    let namespace =
        json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "reading" } });
    plane.apply(&namespace.to_string()).await?;
    let (watches, enqueued) = watches(&plane);
    let config_maps = Discovery::new(plane.client())
        .find(&kind("", "v1", "ConfigMap"))
        .await?;

    let one = watches.begin(&1);
    ensure!(one.get(&config_maps, "reading", "absent").await?.is_none());
    one.end();
    let two = watches.begin(&2);
    ensure!(
        two.list(&config_maps, "reading", "team=a")
            .await?
            .is_empty()
    );
    two.end();
    plane.apply(&config_map("reading", "other", "1")).await?;
    plane.apply(&config_map("reading", "absent", "1")).await?;
    wait_for_enqueued(&enqueued, &[1]).await?;

    let one = watches.begin(&1);
    let found = one.get(&config_maps, "reading", "absent").await?;
    let found = found.context("the new object is not read")?;
    ensure!(found["data"]["k"] == "1" && found["kind"] == "ConfigMap");
    ensure!(
        found["metadata"].get("managedFields").is_none(),
        "{found:#}"
    );
    one.end();
    plane.apply(&config_map("reading", "absent", "2")).await?;
    wait_for_enqueued(&enqueued, &[1, 1]).await?;
    plane.delete(&config_map("reading", "absent", "2")).await?;
    wait_for_enqueued(&enqueued, &[1, 1, 1]).await?;

    let label = json!({ "metadata": { "labels": { "team": "a" } } });
    plane
        .patch("v1", "ConfigMap", Some("reading"), "other", label)
        .await?;
    wait_for_enqueued(&enqueued, &[1, 1, 1, 2]).await?;
    watches.unwatch(&1);
    watches.unwatch(&2);
    ensure!(watches.active() == 0, "watches of nobody are still open");
    Ok(())
}

/// Readers that wait for a first list must leave the threads to the watches that bring it.
pub(crate) async fn crowd(plane: Arc<Plane>) -> Result<()> {
    let (watches, _) = watches(&plane);
    let secrets = Discovery::new(plane.client())
        .find(&kind("", "v1", "Secret"))
        .await?;
    let read = |reader: u32| {
        let (watches, secrets) = (watches.clone(), secrets.clone());
        tokio::spawn(async move {
            let batch = watches.begin(&reader);
            for number in 0..4 {
                let name = format!("crowd-{}", reader + number);
                ensure!(batch.get(&secrets, "default", &name).await?.is_none());
            }
            batch.end();
            Ok(())
        })
    };
    let all = futures::future::join_all((0..64).map(read));
    let all = tokio::time::timeout(SOON, all).await;
    for one in all.map_err(|_| anyhow::anyhow!("the readers keep the watches from working"))? {
        one??;
    }
    ensure!(
        watches.active() == 1,
        "{} watches for one kind in one namespace",
        watches.active()
    );
    Ok(())
}

pub(crate) async fn installed_later(plane: Arc<Plane>) -> Result<()> {
    let discovery = Discovery::new(plane.client());
    let late = kind("reading.example.com", "v1", "Late");
    let error = discovery.find(&late).await.err();
    ensure!(
        matches!(error, Some(DiscoveryError::UnknownVersion(_))),
        "{error:?}"
    );
    let text = error.map(|error| error.to_string()).unwrap_or_default();
    ensure!(
        text == "the resource version was not found: reading.example.com/v1, Kind=Late",
        "{text}"
    );
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": "lates.reading.example.com" },
        "spec": {
            "group": "reading.example.com", "scope": "Cluster",
            "names": { "kind": "Late", "plural": "lates", "singular": "late", "listKind": "LateList" },
            "versions": [{ "name": "v1", "served": true, "storage": true, "schema": {
                "openAPIV3Schema": { "type": "object", "x-kubernetes-preserve-unknown-fields": true }
            } }]
        }
    });
    plane.apply(&crd.to_string()).await?;
    let served = eventually("the kind is discovered", SOON, || discovery.find(&late)).await?;
    ensure!(!served.namespaced && served.resource.plural == "lates" && served.watchable);
    let (watches, enqueued) = watches(&plane);
    let batch = watches.begin(&7);
    eventually("the kind is served", SOON, || batch.get(&served, "", "x")).await?;
    let object = json!({
        "apiVersion": "reading.example.com/v1", "kind": "Late", "metadata": { "name": "x" }
    });
    plane.apply(&object.to_string()).await?;
    eventually("its reader is woken", SOON, || async {
        ensure!(enqueued.lock().contains(&7), "not yet");
        Ok(())
    })
    .await
}

pub(crate) async fn forbidden(plane: Arc<Plane>) -> Result<()> {
    let options = ClientOptions {
        kubeconfig: Some(plane.kubeconfig_for("nobody", None)?),
        qps: 50.0,
        burst: 50,
        user_agent: "reeve-tests",
        in_process: InProcessServers::default(),
    };
    let config_maps = Discovery::new(plane.client())
        .find(&kind("", "v1", "ConfigMap"))
        .await?;
    let watches = DependencyWatches::new(connect(&options).await?, |_: &u32| {});
    let batch = watches.begin(&1);
    let read = batch.get(&config_maps, "default", "x").await;
    let Err(ReadError::Refused(error)) = read else {
        anyhow::bail!("not refused: {read:?}")
    };
    ensure!(error.to_string().contains("nobody"), "{error}");
    Ok(())
}

pub(crate) async fn undecodable(plane: Arc<Plane>) -> Result<()> {
    // A CRD that reports less than ours lets objects in that our types cannot hold.
    let policy = |name: &str, spec: serde_json::Value| {
        json!({
            "apiVersion": "policy.open-cluster-management.io/v1", "kind": "Policy",
            "metadata": { "name": name, "namespace": "default", "labels": { "watched": "yes" } },
            "spec": spec
        })
        .to_string()
    };
    let crd = "policies.policy.open-cluster-management.io";
    let api: Api<DynamicObject> = Api::all_with(
        plane.client(),
        &kube::core::ApiResource::erase::<
            k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
        >(&()),
    );
    let before = api.get(crd).await?;
    let loose = json!([{ "op": "replace", "path": "/spec/versions/0/schema/openAPIV3Schema", "value": {
        "type": "object", "x-kubernetes-preserve-unknown-fields": true
    } }]);
    let patch = kube::api::Patch::<()>::Json(serde_json::from_value(loose)?);
    api.patch(crd, &kube::api::PatchParams::default(), &patch)
        .await?;
    let bad = policy(
        "bad",
        json!({ "disabled": "perhaps", "policy-templates": 7 }),
    );
    eventually("the loose schema is in force", SOON, || plane.apply(&bad)).await?;

    let watch: Watch<Policy> = Watch::new(Api::all(plane.client())).labels("watched=yes");
    let store = watch.store();
    let stop = CancellationToken::new();
    let task = tokio::spawn(watch.run(stop.clone(), |_| {}));
    store.wait_for_cache_sync().await;
    let known = store.get(&ObjectKey::new("default", "bad"));
    ensure!(
        matches!(known, Some(Cached::Invalid(_))),
        "it exists and cannot be read: {known:?}"
    );
    plane
        .apply(&policy(
            "good",
            json!({ "disabled": false, "policy-templates": [] }),
        ))
        .await?;
    eventually("the next object arrives", SOON, || async {
        ensure!(
            store
                .get_valid(&ObjectKey::new("default", "good"))
                .is_some(),
            "not yet"
        );
        Ok(())
    })
    .await?;
    stop.cancel();
    task.await?;
    plane.delete(&bad).await?;
    let schema = before.data["spec"]["versions"][0]["schema"]["openAPIV3Schema"].clone();
    let strict = json!([{
        "op": "replace", "path": "/spec/versions/0/schema/openAPIV3Schema", "value": schema
    }]);
    let patch = kube::api::Patch::<()>::Json(serde_json::from_value(strict)?);
    api.patch(crd, &kube::api::PatchParams::default(), &patch)
        .await?;
    Ok(())
}
