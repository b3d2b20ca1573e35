//! Policies on the hub, and reports about them on the cluster.

use anyhow::{Context, Result};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use k8s_openapi::api::core::v1::{Event, ObjectReference};
use kube::api::{Api, ApiResource, DynamicObject, ListParams, PostParams};
use kube::core::{GroupVersionKind, ObjectMeta};
use kube::{Client, ResourceExt as _};
use reeve_runtime::events::{event_name, unique_now};
use reeve_testkit::Plane;
use serde_json::{Value, json};

/// The namespace of the policies on both clusters.
pub(crate) const NAMESPACE: &str = "c1";
const GROUP: &str = "policy.open-cluster-management.io";
/// Requests of this program at once.
const AT_ONCE: usize = 16;

fn api(plane: &Plane, kind: &str) -> Api<DynamicObject> {
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(GROUP, "v1", kind));
    let plural = match kind {
        "Policy" => "policies",
        _ => "configurationpolicies",
    };
    let resource = ApiResource {
        plural: plural.to_owned(),
        ..resource
    };
    Api::namespaced_with(plane.client(), NAMESPACE, &resource)
}

/// Policies of a cluster.
pub(crate) fn policies(plane: &Plane) -> Api<DynamicObject> {
    api(plane, "Policy")
}

/// Template objects of a cluster.
pub(crate) fn templates(plane: &Plane) -> Api<DynamicObject> {
    api(plane, "ConfigurationPolicy")
}

/// Creates the namespace of the policies.
pub(crate) async fn namespace(plane: &Plane) -> Result<()> {
    let namespace =
        json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": NAMESPACE } });
    plane.apply(&namespace.to_string()).await?;
    Ok(())
}

/// The name of a policy.
pub(crate) fn name(policy: usize) -> String {
    format!("policies.p{policy:04}")
}

/// The name of one of its templates.
pub(crate) fn template_name(policy: usize, template: usize) -> String {
    format!("p{policy:04}-t{template}")
}

fn template(policy: usize, number: usize) -> Value {
    let name = template_name(policy, number);
    json!({ "objectDefinition": {
        "apiVersion": format!("{GROUP}/v1"), "kind": "ConfigurationPolicy",
        "metadata": { "name": name },
        "spec": {
            "remediationAction": "inform", "severity": "low",
            "object-templates": [{ "complianceType": "musthave", "objectDefinition": {
                "apiVersion": "v1", "kind": "ConfigMap",
                "metadata": { "name": name, "namespace": "default" },
                "data": { "key": "value", "other": "value" }
            }}]
        }
    }})
}

/// Creates policies on the hub, as the propagator would.
pub(crate) async fn create(hub: &Plane, policies: usize, templates: usize) -> Result<()> {
    let client = hub.client();
    let created = stream::iter(0..policies).map(|number| create_one(&client, number, templates));
    created.buffer_unordered(AT_ONCE).try_collect().await
}

async fn create_one(client: &Client, number: usize, templates: usize) -> Result<()> {
    let templates: Vec<Value> = (0..templates).map(|it| template(number, it)).collect();
    let resource = ApiResource {
        plural: "policies".to_owned(),
        ..ApiResource::from_gvk(&GroupVersionKind::gvk(GROUP, "v1", "Policy"))
    };
    let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), NAMESPACE, &resource);
    let policy: DynamicObject = serde_json::from_value(json!({
        "apiVersion": format!("{GROUP}/v1"), "kind": "Policy",
        "metadata": { "name": name(number), "labels": {
            format!("{GROUP}/cluster-name"): NAMESPACE,
            format!("{GROUP}/cluster-namespace"): NAMESPACE,
            format!("{GROUP}/root-policy"): name(number),
        }},
        "spec": { "disabled": false, "policy-templates": templates }
    }))?;
    let created = api.create(&PostParams::default(), &policy).await;
    created.with_context(|| format!("creating {}", name(number)))?;
    Ok(())
}

/// The uids of the copies, by which reports name them.
pub(crate) async fn uids(managed: &Plane, count: usize) -> Result<Vec<String>> {
    let list = policies(managed).list(&ListParams::default()).await?;
    let mut uids = vec![String::new(); count];
    for policy in list {
        let number = policy.name_any();
        let number = number.trim_start_matches("policies.p").parse::<usize>()?;
        let place = uids.get_mut(number).context("an unknown policy")?;
        *place = policy.uid().unwrap_or_default();
    }
    Ok(uids)
}

/// Reports about one template.
pub(crate) async fn report(
    client: &Client,
    (policy, uid): (usize, &str),
    template: usize,
    message: &str,
) -> Result<()> {
    let now = unique_now();
    let event = Event {
        involved_object: ObjectReference {
            api_version: Some(format!("{GROUP}/v1")),
            kind: Some("Policy".to_owned()),
            name: Some(name(policy)),
            namespace: Some(NAMESPACE.to_owned()),
            uid: Some(uid.to_owned()),
            ..ObjectReference::default()
        },
        reason: Some(format!(
            "policy: {NAMESPACE}/{}",
            template_name(policy, template)
        )),
        message: Some(message.to_owned()),
        metadata: ObjectMeta {
            name: Some(event_name(&name(policy), now)),
            namespace: Some(NAMESPACE.to_owned()),
            ..ObjectMeta::default()
        },
        ..Event::default()
    };
    let events: Api<Event> = Api::namespaced(client.clone(), NAMESPACE);
    events.create(&PostParams::default(), &event).await?;
    Ok(())
}

/// Reports that all templates of all policies are as they should be.
pub(crate) async fn report_all(client: &Client, uids: &[String], templates: usize) -> Result<()> {
    let all = uids.iter().enumerate();
    let all = all.flat_map(|policy| (0..templates).map(move |template| (policy, template)));
    let reports = stream::iter(all).map(|((policy, uid), template)| {
        report(
            client,
            (policy, uid),
            template,
            "Compliant; as it should be",
        )
    });
    reports.buffer_unordered(AT_ONCE).try_collect().await
}
