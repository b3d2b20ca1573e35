//! Two clusters, policies on the hub, and evaluators on the managed cluster.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use futures::future::try_join;
use k8s_openapi::api::core::v1::{Event, ObjectReference};
use kube::api::{Api, ListParams, PostParams};
use kube::{Client, ResourceExt as _};
use reeve_runtime::events::{event_name, unique_now};
use reeve_scenarios::{Addon, POLICY, ReportedStatus, make_namespace};
use reeve_testkit::{Object, Plane, PlaneOptions, SOON, eventually};
use serde_json::{Value, json};

/// The namespace of the policies on both clusters.
pub(crate) const NAMESPACE: &str = "c1";

/// A hub and a managed cluster with the CRDs.
pub(crate) async fn clusters() -> Result<(Plane, Plane)> {
    Box::pin(try_join(plane("hub"), plane("managed"))).await
}

async fn plane(name: &'static str) -> Result<Plane> {
    let plane = Plane::start(PlaneOptions {
        name,
        audit: true,
        ..PlaneOptions::default()
    })
    .await?;
    plane.install_crds().await?;
    make_namespace(plane.objects(), NAMESPACE).await?;
    Ok(plane)
}

/// Starts an add-on that reaches the two clusters by these kubeconfigs; it is ready when this returns.
pub(crate) async fn start(hub: &Path, managed: &Path) -> Result<Addon> {
    let flags = [
        format!("--cluster-namespace={NAMESPACE}"),
        format!("--hub-cluster-configfile={}", hub.display()),
        format!("--managed-cluster-configfile={}", managed.display()),
    ];
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    Addon::start(&flags, &[])?.ready().await
}

/// Puts a policy with these templates on the hub.
pub(crate) async fn put(
    hub: &Plane,
    name: &str,
    remediation: &str,
    templates: &[Value],
) -> Result<()> {
    let templates: Vec<Value> = templates
        .iter()
        .map(|template| json!({ "objectDefinition": template }))
        .collect();
    let policy = json!({
        "apiVersion": POLICY.0, "kind": POLICY.1,
        "metadata": { "name": name, "namespace": NAMESPACE, "labels": {
            "policy.open-cluster-management.io/cluster-name": NAMESPACE,
            "policy.open-cluster-management.io/cluster-namespace": NAMESPACE,
        }},
        "spec": { "disabled": false, "remediationAction": remediation, "policy-templates": templates }
    });
    hub.apply(&policy.to_string()).await?;
    Ok(())
}

/// Deletes a policy on the hub.
pub(crate) async fn delete(hub: &Plane, name: &str) -> Result<()> {
    let policy = json!({
        "apiVersion": POLICY.0, "kind": POLICY.1,
        "metadata": { "name": name, "namespace": NAMESPACE },
    });
    hub.delete(&policy.to_string()).await
}

/// A policy on one of the clusters.
pub(crate) async fn policy(plane: &Plane, name: &str) -> Result<Object> {
    let found = plane.get(POLICY.0, POLICY.1, Some(NAMESPACE), name).await?;
    found.with_context(|| format!("{name} is not there"))
}

/// What a policy's status publishes on one of the clusters.
pub(crate) async fn reported(plane: &Plane, name: &str) -> Result<ReportedStatus> {
    let policy = policy(plane, name).await?;
    Ok(ReportedStatus(policy.data["status"].clone()))
}

/// Reports as an evaluator does.
pub(crate) async fn report(
    managed: &Plane,
    name: &str,
    template: &str,
    message: &str,
) -> Result<()> {
    let policy = policy(managed, name).await?;
    let now = unique_now();
    let event = Event {
        involved_object: ObjectReference {
            api_version: Some(POLICY.0.to_owned()),
            kind: Some(POLICY.1.to_owned()),
            name: Some(name.to_owned()),
            namespace: Some(NAMESPACE.to_owned()),
            uid: policy.uid(),
            ..ObjectReference::default()
        },
        reason: Some(format!("policy: {NAMESPACE}/{template}")),
        message: Some(message.to_owned()),
        metadata: kube::core::ObjectMeta {
            name: Some(event_name(name, now)),
            namespace: Some(NAMESPACE.to_owned()),
            ..kube::core::ObjectMeta::default()
        },
        ..Event::default()
    };
    let events: Api<Event> = Api::namespaced(managed.client(), NAMESPACE);
    let created = events.create(&PostParams::default(), &event).await;
    created.with_context(|| format!("reporting about {name}"))?;
    Ok(())
}

/// Lets all events of a cluster expire.
pub(crate) async fn expire(client: Client) -> Result<()> {
    let events: Api<Event> = Api::namespaced(client, NAMESPACE);
    let all = ListParams::default();
    let deleted = events
        .delete_collection(&kube::api::DeleteParams::default(), &all)
        .await;
    deleted.context("deleting the events")?;
    Ok(())
}

/// Waits until a template's history on a cluster begins with these messages, newest first.
pub(crate) async fn history_is(
    plane: &Plane,
    (name, template): (&str, &str),
    messages: &[String],
) -> Result<()> {
    eventually(
        format!("the history of {name} is {messages:?}"),
        SOON,
        || async {
            let seen = reported(plane, name).await?.messages(template);
            ensure!(seen == messages, "it is {seen:?}");
            Ok(())
        },
    )
    .await
}
