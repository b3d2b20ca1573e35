//! Letting go of a cluster. That a Deployment is one's own is known in a Pod only, so the controller's part runs
//! here as a library; `trigger-uninstall` is the program.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use kube::Client;
use reeve_api::names::UNINSTALLING_ANNOTATION;
use reeve_config_policy_controller::{
    ClusterClients, FINALIZER, PolicyMetrics, ReconcilerDeps, TerminatingInclusion, UninstallWatch,
    start_reconcilers,
};
use reeve_runtime::CancellationToken;
use reeve_runtime::client;
use reeve_runtime::dependencies::DependencyGauges;
use reeve_runtime::events::EventRecorder;
use reeve_runtime::events::{EventBroadcaster, EventBroadcasterMetrics};
use reeve_runtime::metrics::{ControllerMetrics, Metrics};
use reeve_runtime::object::ObjectKey;
use reeve_runtime::queue::Queue;
use reeve_runtime::supervisor::Supervisor;
use reeve_testkit::{Component, Object, Plane, SOON, eventually};

use crate::process::{NAME, Planes};

const API: &str = "policy.open-cluster-management.io/v1";
const KIND: &str = "ConfigurationPolicy";
const FOREIGN: &str = "example.com/keep";

/// A namespace with a Deployment of the controller, and policies with these finalizers.
fn prepared(namespace: &str, policies: &[(&str, &[&str])]) -> String {
    let mut text = format!(
        r"
{{apiVersion: v1, kind: Namespace, metadata: {{name: {namespace}}}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {{name: {NAME}, namespace: {namespace}}}
spec:
  replicas: 0
  selector: {{matchLabels: {{a: b}}}}
  template:
    metadata: {{labels: {{a: b}}}}
    spec: {{containers: [{{name: c, image: none}}]}}
"
    );
    for (name, finalizers) in policies {
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            r"
---
apiVersion: {API}
kind: {KIND}
metadata: {{name: {name}, namespace: {namespace}, finalizers: {finalizers:?}}}
spec:
  remediationAction: enforce
  pruneObjectBehavior: DeleteAll
  object-templates:
  - complianceType: musthave
    objectDefinition:
      {{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}, namespace: {namespace}}}}}
"
        );
    }
    text
}

async fn policy(plane: &Plane, namespace: &str, name: &str) -> Result<Object> {
    let found = plane.get(API, KIND, Some(namespace), name).await?;
    found.with_context(|| format!("no policy {name}"))
}

fn is_annotated(object: &Object) -> bool {
    let annotations = object.metadata.annotations.as_ref();
    annotations.is_some_and(|annotations| annotations.contains_key(UNINSTALLING_ANNOTATION))
}

/// A connection that reads, writes and watches by one client.
fn both(client: &Client) -> ClusterClients {
    ClusterClients {
        calls: client.clone(),
        watches: client.clone(),
    }
}

/// The controller as it runs in a Pod of the Deployment.
async fn controller(plane: &Plane, namespace: &str) -> Result<Supervisor> {
    let mut tasks = Supervisor::new(CancellationToken::new());
    let metrics = Metrics::default();
    let queue = Queue::new("uninstalled", &ControllerMetrics::new(&metrics));
    let counted = EventBroadcasterMetrics::new(&metrics);
    let broadcaster = EventBroadcaster::start(plane.client(), counted, &mut tasks);
    let own = ObjectKey::new(namespace, NAME);
    let deps = ReconcilerDeps {
        hosting: both(&plane.client()),
        // As if the cluster that the policies speak about were gone.
        target: both(&client::unavailable("it is gone")),
        hub: None,
        namespaces: vec![namespace.to_owned()],
        terminating: TerminatingInclusion::IfMatch,
        denied_functions: Vec::new(),
        backoff: Duration::from_secs(1),
        workers: 2,
        uninstall_watch: UninstallWatch::start(&plane.client(), Some(own), &mut tasks).await,
        events: EventRecorder::new(plane.client(), "uninstalled", broadcaster),
        metrics: PolicyMetrics::new(&metrics),
        gauges: DependencyGauges::register(&metrics),
    };
    start_reconcilers(deps, &queue, None, &mut tasks)?;
    Ok(tasks)
}

pub(crate) async fn finalizers_are_removed(planes: Arc<Planes>) -> Result<()> {
    let plane = &planes.hosting;
    let namespace = "uninstalled";
    let policies: [(&str, &[&str]); 3] = [
        ("ours", &[FINALIZER]),
        ("both", &[FOREIGN, FINALIZER]),
        ("theirs", &[FOREIGN]),
    ];
    plane.apply(&prepared(namespace, &policies)).await?;
    let tasks = controller(plane, namespace).await?;
    let stop = tasks.stop();
    let tasks = tokio::spawn(tasks.run());
    let args = [
        "trigger-uninstall",
        "--policy-namespace=uninstalled",
        "--deployment-namespace=uninstalled",
        "--additional-namespace=open-cluster-management-policies",
        "--timeout-seconds=30",
    ];
    let mut trigger = Component::spawn(NAME, &args, &[plane.kubeconfig_env()])?;
    let status = trigger.wait(Duration::from_secs(45)).await?;
    ensure!(status.success(), "{status}: {}", trigger.log());

    let deployment = plane
        .get("apps/v1", "Deployment", Some(namespace), NAME)
        .await?;
    ensure!(
        deployment.as_ref().is_some_and(is_annotated),
        "{deployment:?}"
    );
    for (name, want) in [
        ("ours", vec![]),
        ("both", vec![FOREIGN]),
        ("theirs", vec![FOREIGN]),
    ] {
        let policy = policy(plane, namespace, name).await?;
        let found = policy.metadata.finalizers.clone().unwrap_or_default();
        ensure!(found == want, "{name}: {found:?}");
    }
    let theirs = policy(plane, namespace, "theirs").await?;
    ensure!(!is_annotated(&theirs), "there is nothing to wait for");
    stop.cancel();
    Ok(tasks.await??)
}

pub(crate) async fn gives_up(planes: Arc<Planes>) -> Result<()> {
    let plane = &planes.hosting;
    let policies: [(&str, &[&str]); 1] = [("stuck", &[FINALIZER])];
    plane.apply(&prepared("stuck", &policies)).await?;
    let args = [
        "trigger-uninstall",
        "--policy-namespace=stuck",
        "--deployment-namespace=stuck",
        "--timeout-seconds=30",
    ];
    let mut trigger = Component::spawn(NAME, &args, &[plane.kubeconfig_env()])?;
    eventually("the policy is annotated", SOON, || async {
        ensure!(
            is_annotated(&policy(plane, "stuck", "stuck").await?),
            "not yet"
        );
        Ok(())
    })
    .await?;
    let status = trigger.wait(Duration::from_secs(45)).await?;
    let log = trigger.log();
    ensure!(status.code() == Some(1), "{status}: {log}");
    let want = "context canceled before the uninstallation preparation was complete";
    ensure!(log.contains(want), "{log}");

    let absent = [
        &args[..2],
        &["--deployment-namespace=stuck", "--deployment-name=absent"],
    ]
    .concat();
    let mut trigger = Component::spawn(NAME, &absent, &[plane.kubeconfig_env()])?;
    let status = trigger.wait(SOON).await?;
    ensure!(status.code() == Some(1), "{status}");
    let log = trigger.log();
    ensure!(
        log.contains("cannot annotate the Deployment stuck/absent"),
        "{log}"
    );
    let none = serde_json::json!({ "metadata": { "finalizers": null } });
    plane.patch(API, KIND, Some("stuck"), "stuck", none).await?;
    Ok(())
}

pub(crate) async fn kind_is_deleted(planes: Arc<Planes>) -> Result<()> {
    // On the other cluster, which has no policies of its own.
    let plane = &planes.target;
    let mut tasks = Supervisor::new(CancellationToken::new());
    let uninstall_watch = UninstallWatch::start(&plane.client(), None, &mut tasks).await;
    ensure!(uninstall_watch.is_uninstalling(), "there is no such kind");
    let stop = tasks.stop();
    let tasks = tokio::spawn(tasks.run());
    let crd = r"
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: configurationpolicies.policy.open-cluster-management.io
  finalizers: [example.com/keep]
spec:
  group: policy.open-cluster-management.io
  scope: Namespaced
  names: {kind: ConfigurationPolicy, plural: configurationpolicies}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
";
    let (reported, mut changes) = tokio::sync::mpsc::unbounded_channel();
    uninstall_watch.on_change(move || {
        let _ = reported.send(());
    });
    plane.apply(crd).await?;
    tokio::time::timeout(SOON, uninstall_watch.wait_until_not_uninstalling()).await?;
    plane.delete(crd).await?;
    tokio::time::timeout(SOON, uninstall_watch.wait_until_uninstalling()).await?;
    ensure!(changes.recv().await.is_some() && changes.recv().await.is_some());
    let none = serde_json::json!({ "metadata": { "finalizers": null } });
    let name = "configurationpolicies.policy.open-cluster-management.io";
    let kind = "CustomResourceDefinition";
    plane
        .patch("apiextensions.k8s.io/v1", kind, None, name, none)
        .await?;
    stop.cancel();
    Ok(tasks.await??)
}
