//! Many namespaces read by few watches.

use std::fmt::Write as _;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use kube::core::GroupVersionKind;
use parking_lot::Mutex;
use reeve_runtime::client::{ClientOptions, InProcessServers, connect};
use reeve_runtime::dependencies::{Batch, DependencyGauges, DependencyWatches};
use reeve_runtime::discovery::{Discovery, ServedKind};
use reeve_runtime::metrics::Metrics;
use reeve_testkit::{Plane, SOON, eventually};
use serde_json::json;

const NAMESPACES: usize = 50;

fn name(prefix: &str, number: usize) -> String {
    format!("{prefix}-{number}")
}

/// Namespaces, each with a `ConfigMap` that is called and labelled `prefix`, and a binding that lets `user` read it.
async fn prepare(plane: &Plane, prefix: &str, user: &str) -> Result<()> {
    let mut text = format!(
        "{{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {{name: {prefix}}}, \
         rules: [{{apiGroups: [''], resources: [configmaps], verbs: [get, list, watch]}}]}}\n"
    );
    for number in 0..NAMESPACES {
        let namespace = name(prefix, number);
        write!(
            text,
            "---\n{{apiVersion: v1, kind: Namespace, metadata: {{name: {namespace}}}}}\n\
             ---\n{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {prefix}, namespace: {namespace}, \
             labels: {{team: {prefix}}}}}, data: {{at: {namespace}}}}}\n\
             ---\n{{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, \
             metadata: {{name: reader, namespace: {namespace}}}, \
             roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: {prefix}}}, \
             subjects: [{{apiGroup: rbac.authorization.k8s.io, kind: User, name: {user}}}]}}\n"
        )?;
    }
    plane.apply(&text).await?;
    Ok(())
}

async fn config_maps(plane: &Plane) -> Result<ServedKind> {
    let kind = GroupVersionKind::gvk("", "v1", "ConfigMap");
    Ok(Discovery::new(plane.client()).find(&kind).await?)
}

/// Reads the same object and the same selection in every namespace.
async fn read_all(batch: &Batch<u32>, kind: &ServedKind, prefix: &str) -> Result<()> {
    let selector = format!("team in ({prefix}, other)");
    for number in 0..NAMESPACES {
        let namespace = name(prefix, number);
        let found = batch.get(kind, &namespace, prefix).await?;
        let found = found.with_context(|| format!("no object in {namespace}"))?;
        ensure!(found["data"]["at"] == namespace.as_str(), "{found}");
        let listed = batch.list(kind, &namespace, &selector).await?;
        ensure!(listed.len() == 1, "{} objects in {namespace}", listed.len());
    }
    Ok(())
}

pub(crate) async fn many_namespaces(plane: Arc<Plane>) -> Result<()> {
    prepare(&plane, "shared", "nobody-yet").await?;
    let enqueued = Arc::new(Mutex::new(Vec::new()));
    let wake = Arc::clone(&enqueued);
    let watches = DependencyWatches::new(plane.client(), move |reader: &u32| {
        wake.lock().push(*reader);
    });
    let metrics = Metrics::default();
    watches.count_in(&DependencyGauges::register(&metrics));
    let kind = config_maps(&plane).await?;
    let batch = watches.begin(&1);
    read_all(&batch, &kind, "shared").await?;
    ensure!(
        watches.active() == 2,
        "{} watches for one name and one selector",
        watches.active()
    );
    let page = metrics.text();
    ensure!(page.contains("\nreeve_dependency_watches 2\n"), "{page}");
    let objects = format!("\nreeve_dependency_objects {}\n", 2 * NAMESPACES);
    ensure!(page.contains(&objects), "{page}");
    batch.end();

    // Another reader takes other names, until one watch serves all.
    let batch = watches.begin(&2);
    for number in 0..NAMESPACES {
        let (namespace, name) = (name("shared", number), name("y", number));
        ensure!(batch.get(&kind, &namespace, &name).await?.is_none());
    }
    batch.end();
    ensure!(
        watches.active() == 1,
        "{} watches of one kind",
        watches.active()
    );
    enqueued.lock().clear();
    let unlabelled = json!({ "metadata": { "labels": { "team": null } } });
    plane
        .patch("v1", "ConfigMap", Some("shared-37"), "shared", unlabelled)
        .await?;
    eventually("the reader of that object is woken", SOON, || async {
        ensure!(*enqueued.lock() == [1], "woken: {:?}", enqueued.lock());
        Ok(())
    })
    .await?;
    let batch = watches.begin(&1);
    let listed = batch
        .list(&kind, "shared-37", "team in (shared, other)")
        .await?;
    ensure!(listed.is_empty(), "{listed:?}");
    watches.unwatch(&1);
    watches.unwatch(&2);
    ensure!(watches.active() == 0, "watches of nobody are still open");
    Ok(())
}

pub(crate) async fn refused_everywhere(plane: Arc<Plane>) -> Result<()> {
    prepare(&plane, "single", "modest").await?;
    let options = ClientOptions {
        kubeconfig: Some(plane.kubeconfig_for("modest", None)?),
        qps: 500.0,
        burst: 500,
        user_agent: "reeve-tests",
        in_process: InProcessServers::default(),
    };
    let watches = DependencyWatches::new(connect(&options).await?, |_: &u32| {});
    let kind = config_maps(&plane).await?;
    let batch = watches.begin(&1);
    // The rights were granted a moment ago, and the authorizer follows by watching.
    eventually("the rights are in force", SOON, || async {
        let last = name("single", NAMESPACES - 1);
        Ok::<_, anyhow::Error>(batch.get(&kind, &last, "single").await?)
    })
    .await?;
    read_all(&batch, &kind, "single").await?;
    ensure!(
        watches.active() == 2 * NAMESPACES,
        "{} watches, two for each namespace that may be read",
        watches.active()
    );
    Ok(())
}
