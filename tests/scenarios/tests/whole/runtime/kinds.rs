//! Kinds that come and go.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, ensure};
use kube::core::GroupVersionKind;
use parking_lot::Mutex;
use reeve_runtime::CancellationToken;
use reeve_runtime::client::{ClientOptions, InProcessServers, connect};
use reeve_runtime::discovery::DiscoveryError;
use reeve_runtime::kinds::Kinds;
use reeve_runtime::supervisor::Supervisor;
use reeve_testkit::{Plane, SOON, eventually};
use serde_json::json;
use tokio::time::Instant;

fn definition(kind: &str) -> String {
    let plural = format!("{}s", kind.to_lowercase());
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("{plural}.kinds.example.com") },
        "spec": {
            "group": "kinds.example.com", "scope": "Cluster",
            "names": { "kind": kind, "plural": plural, "singular": kind.to_lowercase(), "listKind": format!("{kind}List") },
            "versions": [{ "name": "v1", "served": true, "storage": true, "schema": {
                "openAPIV3Schema": { "type": "object", "x-kubernetes-preserve-unknown-fields": true }
            } }]
        }
    })
    .to_string()
}

fn kind(kind: &str) -> GroupVersionKind {
    GroupVersionKind::gvk("kinds.example.com", "v1", kind)
}

pub(crate) async fn come_and_go(plane: Arc<Plane>) -> Result<()> {
    let enqueued = Arc::new(Mutex::new(Vec::new()));
    let wake = Arc::clone(&enqueued);
    // A hundred requests would take a quarter of a minute.
    let options = ClientOptions {
        kubeconfig: Some(plane.kubeconfig().to_owned()),
        qps: 5.0,
        burst: 30,
        user_agent: "reeve-tests",
        in_process: InProcessServers::default(),
    };
    let client = connect(&options).await?;
    let (kinds, watches) = Kinds::new(client, move |reader: &u32| wake.lock().push(*reader));
    let stop = CancellationToken::new();
    let mut tasks = Supervisor::new(stop.clone());
    watches.start(&mut tasks);

    let tea = kind("Tea");
    let absent = |found: Result<_, DiscoveryError>| {
        ensure!(
            found.as_ref().is_err_and(DiscoveryError::is_absent),
            "{found:?}"
        );
        Ok(())
    };
    eventually("the watches have listed", SOON, || async {
        ensure!(kinds.is_healthy(), "not yet");
        Ok(())
    })
    .await?;
    let start = Instant::now();
    for _ in 0..100 {
        absent(kinds.find(&tea, &1).await)?;
    }
    ensure!(
        start.elapsed() < Duration::from_secs(5),
        "who waits costs requests"
    );
    absent(kinds.find(&kind("Cup"), &2).await)?;
    kinds.unwatch(&2);

    plane.apply(&definition("Tea")).await?;
    eventually(
        "who waits is woken until the kind is there",
        SOON,
        || async {
            ensure!(
                !std::mem::take(&mut *enqueued.lock()).is_empty(),
                "not woken"
            );
            Ok(kinds.find(&tea, &1).await?)
        },
    )
    .await?;
    ensure!(
        !enqueued.lock().contains(&2),
        "a forgotten reader was woken"
    );

    plane.delete(&definition("Tea")).await?;
    // How long the API server takes to end a definition is its own affair.
    eventually("the definition is gone", Duration::from_mins(1), || async {
        let definition = plane
            .get(
                "apiextensions.k8s.io/v1",
                "CustomResourceDefinition",
                None,
                "teas.kinds.example.com",
            )
            .await?;
        ensure!(
            definition.is_none(),
            "it is {}",
            serde_json::to_string(&definition)?
        );
        Ok(())
    })
    .await?;
    eventually("the kind is gone", SOON, || async {
        absent(kinds.find(&tea, &1).await)
    })
    .await?;
    enqueued.lock().clear();
    plane.apply(&definition("Tea")).await?;
    eventually("who waits is woken again", SOON, || async {
        ensure!(
            !std::mem::take(&mut *enqueued.lock()).is_empty(),
            "not woken"
        );
        Ok(kinds.find(&tea, &1).await?)
    })
    .await?;
    stop.cancel();
    Ok(tasks.run().await?)
}
