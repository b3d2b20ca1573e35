//! The record of a work on its cluster: which objects came of it.

use anyhow::{Context, Result};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::ResourceExt as _;
use kube::api::DynamicObject;
use serde_json::{Value, json};

use super::super::agents::Agents;
use super::super::names::APPLIED_WORK;
use super::super::spec_hash::hex_digest;
use super::super::write;
use super::apply::Outcome;
use super::manifest::{Resource, Settings};
use super::release::{Released, release};
use crate::Objects;

/// The `AppliedManifestWork` of a work.
pub(super) struct Record(DynamicObject);

impl Record {
    /// The one of this work, made if it is not there.
    pub(super) async fn make(agents: &Agents, work: &str) -> Result<Self> {
        if let Some(record) = Self::find(agents, work).await? {
            return Ok(record);
        }
        let hash = hex_digest(agents.server.as_bytes());
        let object = json!({
            "apiVersion": APPLIED_WORK.api_version,
            "kind": APPLIED_WORK.kind,
            "metadata": { "name": name(agents, work) },
            "spec": { "hubHash": hash, "manifestWorkName": work, "agentID": "stand-in" },
        });
        let applied = agents.managed.apply(&object.to_string()).await?;
        let record = applied.into_iter().next();
        Ok(Self(record.context("nothing applied")?))
    }

    /// The one of this work, if it is there.
    pub(super) async fn find(agents: &Agents, work: &str) -> Result<Option<Self>> {
        let (version, kind) = (APPLIED_WORK.api_version, APPLIED_WORK.kind);
        let name = name(agents, work);
        let found = agents.managed.get(version, kind, None, &name).await?;
        Ok(found.map(Self))
    }

    /// As the owner of an object.
    pub(super) fn as_owner(&self) -> OwnerReference {
        OwnerReference {
            api_version: APPLIED_WORK.api_version.to_owned(),
            kind: APPLIED_WORK.kind.to_owned(),
            name: self.0.name_any(),
            uid: self.uid().to_owned(),
            ..OwnerReference::default()
        }
    }

    fn uid(&self) -> &str {
        self.0.metadata.uid.as_deref().unwrap_or_default()
    }

    /// Records the objects of the manifests and deletes those that no manifest names any more. One that could not be
    /// written stays recorded. Returns whether some of the deleted ones still exist.
    pub(super) async fn replace(
        &mut self,
        objects: &Objects,
        outcomes: &[Outcome],
    ) -> Result<bool> {
        let mut kept: Vec<_> = outcomes.iter().filter_map(Outcome::made).collect();
        let mut pending = false;
        for (resource, uid) in self.resources() {
            if kept.iter().any(|(made, _)| made.is_same_object(&resource)) {
                continue;
            }
            let mut named = outcomes
                .iter()
                .filter_map(|outcome| outcome.resource.as_ref());
            if named.any(|named| named.is_same_object(&resource)) {
                kept.push((resource, uid));
            } else if release(objects, &resource, &uid, self.uid()).await? == Released::Pending {
                kept.push((resource, uid));
                pending = true;
            }
        }
        let kept: Vec<Value> = kept.iter().map(to_json).collect();
        let patch = json!({ "appliedResources": kept });
        write::status(objects, APPLIED_WORK, &self.0, &patch).await?;
        Ok(pending)
    }

    /// Deletes all objects but those to be orphaned. Returns whether all are gone.
    pub(super) async fn release_all(&self, objects: &Objects, settings: &Settings) -> Result<bool> {
        let mut gone = true;
        for (resource, uid) in self.resources() {
            if settings.orphans(&resource) {
                super::release::remove_owner(objects, &resource, self.uid()).await?;
            } else {
                let released = release(objects, &resource, &uid, self.uid()).await?;
                gone &= released == Released::Done;
            }
        }
        Ok(gone)
    }

    /// Removes the record itself.
    pub(super) async fn delete(&self, objects: &Objects) -> Result<()> {
        let object = json!({
            "apiVersion": APPLIED_WORK.api_version,
            "kind": APPLIED_WORK.kind,
            "metadata": { "name": self.0.name_any() },
        });
        objects.delete(&object.to_string()).await
    }

    fn resources(&self) -> Vec<(Resource, String)> {
        let entries = self.0.data["status"]["appliedResources"].as_array();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let entries = entries.into_iter().flatten().map(|entry| {
            let resource = Resource {
                group: text(&entry["group"]),
                version: text(&entry["version"]),
                kind: String::new(),
                plural: text(&entry["resource"]),
                namespace: text(&entry["namespace"]),
                name: text(&entry["name"]),
            };
            (resource, text(&entry["uid"]))
        });
        entries.collect()
    }
}

fn name(agents: &Agents, work: &str) -> String {
    format!("{}-{work}", hex_digest(agents.server.as_bytes()))
}

fn to_json((resource, uid): &(Resource, String)) -> Value {
    json!({
        "group": resource.group,
        "version": resource.version,
        "resource": resource.plural,
        "namespace": resource.namespace,
        "name": resource.name,
        "uid": uid,
    })
}
