//! An object that no JSON decoder but Go's takes.

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use reeve_scenarios::Governed;
use reeve_testkit::{Plane, SOON, World, eventually};
use serde_json::json;
use tokio::sync::Mutex;

const CLUSTER: &str = "c1";
const SECRET: &str = "hunter2-of-a-revision";

/// The API server keeps the data of a revision as they came, so half of a surrogate pair stays in it.
async fn create(plane: &Plane, name: &str, data: &str) -> Result<()> {
    let body = format!(
        r#"{{"apiVersion":"apps/v1","kind":"ControllerRevision","metadata":{{"name":"{name}","namespace":"default"}},"revision":1,"data":{data}}}"#
    );
    let request = http::Request::post("/apis/apps/v1/namespaces/default/controllerrevisions")
        .header(http::header::CONTENT_TYPE, "application/json")
        .body(body.into_bytes())?;
    let created = plane.client().request_text(request).await;
    created
        .map(drop)
        .with_context(|| format!("creating {name}"))
}

pub(crate) async fn named(world: Arc<Mutex<World>>) -> Result<()> {
    let world = world.lock().await;
    let cluster = world.cluster(CLUSTER)?;
    let broken = format!(r#"{{"half":"\ud800","password":"{SECRET}"}}"#);
    create(&cluster.plane, "broken-revision", &broken).await?;
    create(&cluster.plane, "whole-revision", r#"{"password":"none"}"#).await?;
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "beside", "namespace": "default" },
        "stringData": { "password": SECRET },
    });
    cluster.plane.apply(&secret.to_string()).await?;
    let wanted = |name: &str| {
        json!({
            "apiVersion": "apps/v1", "kind": "ControllerRevision",
            "metadata": { "name": name, "namespace": "default" }, "revision": 1,
        })
    };
    for name in ["broken-revision", "whole-revision"] {
        let template = Governed::template(name, "musthave", &wanted(name));
        let policy = Governed::apply(&world, name, "inform", vec![template]).await?;
        policy.place(&[CLUSTER]).await?;
    }
    Governed::known(&world, "whole-revision")
        .root_is("Compliant")
        .await?;

    let (api, kind) = (
        "policy.open-cluster-management.io/v1",
        "ConfigurationPolicy",
    );
    let why = "cannot decode ControllerRevision default/broken-revision: invalid JSON";
    let status = eventually(
        "the policy reports that the object cannot be read",
        SOON,
        || async {
            let found = cluster
                .plane
                .get(api, kind, Some(CLUSTER), "broken-revision")
                .await?;
            let status = found.context("no policy")?.data["status"].to_string();
            ensure!(status.contains(why), "the status is {status}");
            Ok(status)
        },
    )
    .await?;
    ensure!(
        status.contains(r#""compliant":"NonCompliant""#),
        "what cannot be read complies: {status}"
    );
    let log = cluster.controller.log();
    ensure!(log.contains(why), "the log does not name the object");
    for (place, text) in [
        ("status", status),
        ("log of the controller", log),
        ("log of the addon", cluster.addon.log()),
        ("log of the propagator", world.propagator.log()),
    ] {
        ensure!(
            !text.contains(SECRET),
            "the {place} quotes the object: {text}"
        );
    }
    Ok(())
}
