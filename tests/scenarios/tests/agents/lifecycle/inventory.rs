//! Everything that there is on a plane, to see what an installation leaves behind.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use kube::api::{Api, ListParams};
use kube::discovery::Discovery;
use reeve_testkit::{Object, Plane};
use serde_json::{Value, json};

/// What is not compared: what passes by itself.
const PASSING: &[&str] = &[
    "Event",
    "Lease",
    "EndpointSlice",
    "Endpoints",
    "APIService",
    "CertificateSigningRequest",
];

/// Objects by what names them, with what they say.
pub(crate) type Inventory = BTreeMap<String, Value>;

/// Takes stock.
pub(crate) async fn take(plane: &Plane) -> Result<Inventory> {
    let objects = everything(plane).await?.into_iter();
    let reports = objects.map(|(name, object)| {
        let mut data = object.data;
        if let Some(data) = data.as_object_mut() {
            data.remove("status");
        }
        let metadata = &object.metadata;
        let reports = json!({
            "data": data, "labels": metadata.labels, "finalizers": metadata.finalizers,
        });
        (name, reports)
    });
    Ok(reports.collect())
}

/// The UIDs of everything but Pods, which come and go.
pub(crate) async fn uids(plane: &Plane) -> Result<BTreeMap<String, String>> {
    let mut found = everything(plane).await?;
    found.retain(|name, _| {
        !["/Pod/", "/ReplicaSet/", "/PodMetrics/"]
            .iter()
            .any(|kind| name.contains(kind))
    });
    let uid = |object: Object| object.metadata.uid.unwrap_or_default();
    Ok(found
        .into_iter()
        .map(|(name, object)| (name, uid(object)))
        .collect())
}

/// All objects of a plane, by what names them.
pub(crate) async fn everything(plane: &Plane) -> Result<BTreeMap<String, Object>> {
    let client = plane.client();
    let discovery = Discovery::new(client.clone()).run().await?;
    let mut found = BTreeMap::new();
    for group in discovery.groups() {
        for (resource, capabilities) in group.recommended_resources() {
            if !capabilities.supports_operation("list") || PASSING.contains(&resource.kind.as_str())
            {
                continue;
            }
            let api: Api<Object> = Api::all_with(client.clone(), &resource);
            let listed = api.list(&ListParams::default()).await;
            let listed = listed.with_context(|| format!("listing {}", resource.kind))?;
            for object in listed {
                let metadata = &object.metadata;
                let name = [
                    resource.group.as_str(),
                    &resource.kind,
                    metadata.namespace.as_deref().unwrap_or_default(),
                    metadata.name.as_deref().unwrap_or_default(),
                ]
                .join("/");
                found.insert(name, object);
            }
        }
    }
    Ok(found)
}

/// What is there now and was not, what was there and is not, and what is otherwise.
pub(crate) fn difference(before: &Inventory, after: &Inventory) -> Vec<String> {
    let mut lines = Vec::new();
    for (name, reports) in after {
        match before.get(name) {
            None => lines.push(format!("left behind: {name}")),
            Some(observed) if observed != reports => {
                lines.push(format!("changed: {name}: {observed} is {reports}"));
            }
            Some(_) => {}
        }
    }
    let gone = before.keys().filter(|name| !after.contains_key(*name));
    lines.extend(gone.map(|name| format!("gone: {name}")));
    lines
}
