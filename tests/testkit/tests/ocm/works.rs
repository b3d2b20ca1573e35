//! The work agent.

use anyhow::{Result, ensure};
use reeve_testkit::{Object, SOON};
use serde_json::{Value, json};

use crate::{Site, WORK_API, condition, until};

const WORK: (&str, &str) = (WORK_API, "ManifestWork");
const MAP: (&str, &str) = ("v1", "ConfigMap");
const POD: (&str, &str) = ("v1", "Pod");
const EAST: &str = "east";

/// All at once; each in a namespace of its own.
pub(crate) async fn all(site: &Site) -> Result<()> {
    futures::try_join!(
        lifecycle(site),
        sharing(site),
        strategies(site),
        dropping(site),
        refused(site)
    )?;
    Ok(())
}

fn namespace(name: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } })
}

fn map(namespace: &str, name: &str, tea: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": name, "namespace": namespace, "labels": { "by": "work" } },
        "data": { "tea": tea } })
}

fn work(name: &str, manifests: &[Value], more: Value) -> String {
    let mut spec = more;
    spec["workload"] = json!({ "manifests": manifests });
    json!({ "apiVersion": WORK_API, "kind": "ManifestWork",
        "metadata": { "name": name, "namespace": EAST }, "spec": spec })
    .to_string()
}

fn settled(work: &Object) -> bool {
    ["Applied", "Available"].iter().all(|kind| {
        let condition = condition(work, kind);
        condition["status"] == "True"
            && condition["observedGeneration"].as_i64() == work.metadata.generation
    })
}

fn phase(work: &Object) -> Option<&str> {
    let manifests = work.data["status"]["resourceStatus"]["manifests"].as_array()?;
    let pod = manifests
        .iter()
        .find(|it| it["resourceMeta"]["kind"] == "Pod")?;
    let values = pod["statusFeedback"]["values"].as_array()?;
    let phase = values.iter().find(|value| value["name"] == "PodPhase")?;
    phase["fieldValue"]["string"].as_str()
}

/// Applied whatever the order, reported, kept so, and taken back but for what is to be orphaned.
async fn lifecycle(site: &Site) -> Result<()> {
    let pod = json!({ "apiVersion": "v1", "kind": "Pod",
        "metadata": { "name": "hook", "namespace": "cycle" },
        "spec": { "containers": [{ "name": "hook", "image": "none" }], "restartPolicy": "Never" } });
    // In the wrong order.
    let manifests = [map("cycle", "kept", "2"), pod, namespace("cycle")];
    let more = json!({
        "deleteOption": { "propagationPolicy": "SelectivelyOrphan", "selectivelyOrphans": {
            "orphaningRules": [
                { "resource": "configmaps", "name": "kept", "namespace": "cycle" },
                { "resource": "namespaces", "name": "cycle" },
            ],
        }},
        "manifestConfigs": [{
            "resourceIdentifier": { "resource": "pods", "name": "hook", "namespace": "cycle" },
            "feedbackRules": [{ "type": "WellKnownStatus" }],
        }],
    });
    site.hub.apply(&work("cycle", &manifests, more)).await?;
    until(&site.hub, WORK, EAST, "cycle", |work| {
        settled(work) && phase(work) == Some("Pending")
    })
    .await?;

    let spoilt = json!({ "data": { "tea": "9", "coffee": "1" } });
    site.managed
        .patch(MAP.0, MAP.1, Some("cycle"), "kept", spoilt)
        .await?;
    until(&site.managed, MAP, "cycle", "kept", |map| {
        map.data["data"] == json!({ "tea": "2" })
    })
    .await?;

    let done = json!({ "status": { "phase": "Succeeded" } });
    site.managed
        .patch_status(POD.0, POD.1, Some("cycle"), "hook", done)
        .await?;
    until(&site.hub, WORK, EAST, "cycle", |work| {
        phase(work) == Some("Succeeded")
    })
    .await?;

    site.hub.delete(&work("cycle", &[], json!({}))).await?;
    site.hub
        .gone(WORK.0, WORK.1, Some(EAST), "cycle", SOON)
        .await?;
    let (managed, cycle) = (&site.managed, Some("cycle"));
    ensure!(
        managed.get(POD.0, POD.1, cycle, "hook").await?.is_none(),
        "the pod stays"
    );
    let kept = until(managed, MAP, "cycle", "kept", |_| true).await?;
    ensure!(
        kept.metadata.deletion_timestamp.is_none() && kept.metadata.owner_references.is_none(),
        "the garbage collector will take {kept:?}"
    );
    let records = managed.list(WORK_API, "AppliedManifestWork", None).await?;
    let left = records
        .iter()
        .any(|record| record.data["spec"]["manifestWorkName"] == "cycle");
    ensure!(!left, "a record is left: {records:?}");
    Ok(())
}

/// What two works list goes with the second of them.
async fn sharing(site: &Site) -> Result<()> {
    let (first, second) = (map("default", "shared", "1"), map("default", "shared", "1"));
    site.hub.apply(&work("first", &[first], json!({}))).await?;
    until(&site.hub, WORK, EAST, "first", settled).await?;
    site.hub
        .apply(&work("second", &[second], json!({})))
        .await?;
    until(&site.hub, WORK, EAST, "second", settled).await?;
    let before = until(&site.managed, MAP, "default", "shared", |_| true).await?;
    site.hub.delete(&work("first", &[], json!({}))).await?;
    site.hub
        .gone(WORK.0, WORK.1, Some(EAST), "first", SOON)
        .await?;
    let shared = until(&site.managed, MAP, "default", "shared", |_| true).await?;
    ensure!(
        shared.metadata.deletion_timestamp.is_none() && shared.metadata.uid == before.metadata.uid,
        "{shared:?}"
    );
    site.hub.delete(&work("second", &[], json!({}))).await?;
    site.managed
        .gone(MAP.0, MAP.1, Some("default"), "shared", SOON)
        .await
}

/// `CreateOnly` leaves changes alone; server-side apply leaves foreign fields alone.
async fn strategies(site: &Site) -> Result<()> {
    let config = |name: &str, how: Value| {
        json!({ "resourceIdentifier": { "resource": "configmaps", "name": name, "namespace": "default" },
            "updateStrategy": how })
    };
    let more = json!({ "manifestConfigs": [
        config("once", json!({ "type": "CreateOnly" })),
        config("ours", json!({ "type": "ServerSideApply", "serverSideApply": { "force": true } })),
    ]});
    let manifests = [map("default", "once", "1"), map("default", "ours", "1")];
    site.hub
        .apply(&work("strategies", &manifests, more))
        .await?;
    until(&site.hub, WORK, EAST, "strategies", settled).await?;
    let change = json!({ "data": { "tea": "9", "coffee": "1" } });
    for name in ["once", "ours"] {
        site.managed
            .patch(MAP.0, MAP.1, Some("default"), name, change.clone())
            .await?;
    }
    // By the time this one is put right, the other has been looked at too.
    until(&site.managed, MAP, "default", "ours", |map| {
        map.data["data"] == json!({ "tea": "1", "coffee": "1" })
    })
    .await?;
    let once = until(&site.managed, MAP, "default", "once", |_| true).await?;
    ensure!(once.data["data"] == change["data"], "{once:?}");
    Ok(())
}

/// An object that is no longer in a work is deleted; one that cannot be applied is reported.
async fn dropping(site: &Site) -> Result<()> {
    let manifests = [map("default", "stays", "1"), map("default", "goes", "1")];
    site.hub
        .apply(&work("dropping", &manifests, json!({})))
        .await?;
    until(&site.hub, WORK, EAST, "dropping", settled).await?;
    let nowhere = map("nowhere", "never", "1");
    let manifests = [map("default", "stays", "2"), nowhere];
    site.hub
        .apply(&work("dropping", &manifests, json!({})))
        .await?;
    site.managed
        .gone(MAP.0, MAP.1, Some("default"), "goes", SOON)
        .await?;
    until(&site.managed, MAP, "default", "stays", |map| {
        map.data["data"]["tea"] == "2"
    })
    .await?;
    let failed = until(&site.hub, WORK, EAST, "dropping", |work| {
        condition(work, "Applied")["reason"] == "AppliedManifestWorkFailed"
    })
    .await?;
    let why = failed.data["status"]["resourceStatus"]["manifests"][1]["conditions"].to_string();
    ensure!(
        why.contains("nowhere") && why.contains("not found"),
        "{why}"
    );
    Ok(())
}

/// An object that cannot be written stays: only what no manifest names is deleted.
async fn refused(site: &Site) -> Result<()> {
    let immutable = |tea: &str| {
        let mut map = map("default", "fixed", tea);
        map["immutable"] = json!(true);
        map
    };
    let apply = async |tea: &str| {
        let work = work("refused", &[immutable(tea)], json!({}));
        site.hub.apply(&work).await
    };
    apply("1").await?;
    until(&site.hub, WORK, EAST, "refused", settled).await?;
    let get = async || {
        site.managed
            .get(MAP.0, MAP.1, Some("default"), "fixed")
            .await
    };
    let before = get().await?.and_then(|map| map.metadata.uid);
    apply("2").await?;
    until(&site.hub, WORK, EAST, "refused", |work| {
        condition(work, "Applied")["reason"] == "AppliedManifestWorkFailed"
    })
    .await?;
    let after = get().await?.and_then(|map| map.metadata.uid);
    ensure!(
        before.is_some() && before == after,
        "{before:?} is {after:?}"
    );
    // Deleting and creating it again would have been another way to apply it.
    apply("1").await?;
    until(&site.hub, WORK, EAST, "refused", settled).await?;
    let after = get().await?.and_then(|map| map.metadata.uid);
    ensure!(before == after, "{before:?} is {after:?}");
    Ok(())
}
