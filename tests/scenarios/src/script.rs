//! Plays Gatekeeper: makes the kinds of templates as they come, and audits when a scenario reports so.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use kube::api::ListParams;
use kube::{Api, ResourceExt as _};
use reeve_testkit::{Object, Objects};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::within;

/// The API of templates.
pub const TEMPLATES: &str = "templates.gatekeeper.sh/v1";
/// The API of constraints.
pub const CONSTRAINTS: &str = "constraints.gatekeeper.sh/v1beta1";

/// An annotation of templates: the script leaves such a template alone.
pub const IGNORED: &str = "tests.reeve/hands-off";
/// An annotation of templates: the script finds a mistake in such a template.
pub const BROKEN: &str = "tests.reeve/broken";

const CRDS: &str = "apiextensions.k8s.io/v1";
const CRD: &str = "CustomResourceDefinition";
const OURS: &str = "gatekeeper.sh/constraint";
/// What Gatekeeper notes on templates that it has read.
const NOTE: &str = "gatekeeper.sh/block-vapb-generation-until";

/// A running script. It ends when it is dropped.
pub struct Script {
    task: JoinHandle<()>,
}

impl Drop for Script {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Script {
    /// Starts playing on a cluster, which may have no templates' CRD yet.
    pub fn start(objects: Objects) -> Self {
        let task = tokio::spawn(async move {
            loop {
                // It fails while the kinds come and go; the next round sees what there is.
                let _ = round(&objects).await;
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        });
        Self { task }
    }
}

async fn round(objects: &Objects) -> Result<()> {
    let templates = objects.list(TEMPLATES, "ConstraintTemplate", None).await;
    // The kind is gone: so are its objects.
    let templates = templates.unwrap_or_default();
    // Only ours: all of them are a lot of text.
    let (resource, _) = objects.kind(CRDS, CRD).await?;
    let crds: Api<Object> = Api::all_with(objects.client(), &resource);
    let made = crds.list(&ListParams::default().labels(OURS)).await?.items;
    for crd in &made {
        let name = crd.name_any();
        let wanted = templates.iter().any(|template| crd_name(template) == name);
        if !wanted && crd.metadata.deletion_timestamp.is_none() {
            let crd = json!({ "apiVersion": CRDS, "kind": CRD, "metadata": { "name": name } });
            objects.delete(&crd.to_string()).await?;
        }
    }
    for template in &templates {
        if template.annotations().contains_key(IGNORED)
            || template.metadata.deletion_timestamp.is_some()
        {
            continue;
        }
        let crd = made.iter().find(|crd| crd.name_any() == crd_name(template));
        take(objects, template, crd).await?;
    }
    Ok(())
}

/// Does one step with a template.
async fn take(objects: &Objects, template: &Object, crd: Option<&Object>) -> Result<()> {
    let name = template.name_any();
    if !template.annotations().contains_key(NOTE) {
        let note = json!({ "metadata": { "annotations": { NOTE: "2026-01-01T00:00:00Z" } } });
        objects
            .patch(TEMPLATES, "ConstraintTemplate", None, &name, note)
            .await?;
    }
    let broken = template.annotations().contains_key(BROKEN);
    let status = &template.data["status"];
    let read = status["byPod"][0]["observedGeneration"].as_i64() == template.metadata.generation;
    if read && status["created"] == !broken {
        return Ok(());
    }
    if !broken {
        match crd {
            None => {
                objects.apply(&constraint_crd(template).to_string()).await?;
                return Ok(());
            }
            Some(crd) if is_established(crd) => {}
            Some(_) => return Ok(()),
        }
    }
    template_status(objects, template, !broken).await
}

/// Writes what Gatekeeper writes into the status of a template that it has read.
pub async fn template_status(objects: &Objects, template: &Object, created: bool) -> Result<()> {
    let errors = if created {
        Value::Null
    } else {
        json!([{ "code": "ingest_error", "message": "Could not ingest Rego: template:1: rego_parse_error" }])
    };
    let status = json!({ "status": {
        "created": created,
        "byPod": [{
            "id": "script", "operations": ["audit", "status"], "errors": errors,
            "templateUID": template.uid(), "observedGeneration": template.metadata.generation
        }]
    } });
    let name = template.name_any();
    objects
        .patch_status(TEMPLATES, "ConstraintTemplate", None, &name, status)
        .await?;
    Ok(())
}

fn kind_of(template: &Object) -> &str {
    let kind = template.data.pointer("/spec/crd/spec/names/kind");
    kind.and_then(Value::as_str).unwrap_or_default()
}

fn crd_name(template: &Object) -> String {
    format!(
        "{}.constraints.gatekeeper.sh",
        kind_of(template).to_lowercase()
    )
}

fn is_established(crd: &Object) -> bool {
    let conditions = crd.data["status"]["conditions"].as_array();
    let mut conditions = conditions.into_iter().flatten();
    conditions.any(|condition| condition["type"] == "Established" && condition["status"] == "True")
}

/// The CRD that Gatekeeper makes of a template.
fn constraint_crd(template: &Object) -> Value {
    let kind = kind_of(template);
    let name = kind.to_lowercase();
    let mut labels = json!(template.labels());
    labels[OURS] = json!("yes");
    let free = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    let schema = json!({ "type": "object", "properties": {
        "metadata": { "type": "object", "properties": { "name": { "type": "string", "maxLength": 63 } } },
        "spec": { "type": "object", "properties": {
            "match": free, "parameters": free,
            "enforcementAction": { "type": "string", "default": "deny" },
            "scopedEnforcementActions": { "type": "array", "items": free }
        } },
        "status": free
    } });
    let version = |version: &str, storage: bool| {
        json!({
            "name": version, "served": true, "storage": storage,
            "schema": { "openAPIV3Schema": schema }, "subresources": { "status": {} }
        })
    };
    json!({
        "apiVersion": CRDS, "kind": CRD,
        "metadata": {
            "name": crd_name(template), "labels": labels,
            "ownerReferences": [{
                "apiVersion": TEMPLATES, "kind": "ConstraintTemplate", "name": template.name_any(),
                "uid": template.uid(), "controller": true, "blockOwnerDeletion": true
            }]
        },
        "spec": {
            "group": "constraints.gatekeeper.sh", "scope": "Cluster",
            "names": {
                "kind": kind, "listKind": format!("{kind}List"), "plural": name, "singular": name,
                "categories": ["constraint", "constraints"]
            },
            "versions": [version("v1beta1", true), version("v1alpha1", false)]
        }
    })
}

/// An object that violates a constraint.
#[derive(Clone, Copy, Debug)]
pub struct Violation<'a> {
    /// Its namespace; empty: it has none.
    pub namespace: &'a str,
    /// Its name. It is a `ConfigMap`, or a `Namespace` when it is in none.
    pub name: &'a str,
    /// What is wrong with it.
    pub message: &'a str,
}

/// What an audit writes into the status of a constraint that has just been made: waits for the constraint.
/// The entries carry the action that the constraint has.
pub async fn audit(
    objects: &Objects,
    kind: &str,
    name: &str,
    found: &[Violation<'_>],
) -> Result<()> {
    let constraint = within(format!("the constraint {kind} {name}"), || async {
        let found = objects
            .get(CONSTRAINTS, kind, None, name)
            .await?
            .context("absent")?;
        ensure!(found.metadata.deletion_timestamp.is_none(), "it is going");
        Ok(found)
    })
    .await?;
    let action = constraint.data["spec"]["enforcementAction"]
        .as_str()
        .unwrap_or("deny");
    let entries = found.iter().map(|violation| {
        let mut entry = json!({
            "group": "", "version": "v1", "kind": "ConfigMap", "name": violation.name,
            "message": violation.message, "enforcementAction": action
        });
        if violation.namespace.is_empty() {
            entry["kind"] = json!("Namespace");
        } else {
            entry["namespace"] = json!(violation.namespace);
        }
        entry
    });
    let entries: Vec<Value> = entries.collect();
    let listed = if entries.is_empty() {
        Value::Null
    } else {
        Value::Array(entries)
    };
    audit_raw(
        objects,
        kind,
        name,
        json!({ "totalViolations": found.len(), "violations": listed }),
    )
    .await
}

/// Writes these fields and the time into the status of a constraint.
pub async fn audit_raw(objects: &Objects, kind: &str, name: &str, fields: Value) -> Result<()> {
    let constraint = objects.get(CONSTRAINTS, kind, None, name).await?;
    let constraint = constraint.with_context(|| format!("no {kind} {name}"))?;
    let mut status = fields;
    status["auditTimestamp"] = json!(jiff::Timestamp::now().to_string());
    status["byPod"] = json!([{
        "id": "script", "operations": ["audit", "status"], "enforced": true,
        "constraintUID": constraint.uid(), "observedGeneration": constraint.metadata.generation
    }]);
    objects
        .patch_status(CONSTRAINTS, kind, None, name, json!({ "status": status }))
        .await?;
    Ok(())
}
