//! Writing the objects of a work to the cluster.

use std::collections::HashMap;

use anyhow::{Context, Result};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::api::{DynamicObject, Patch, PatchParams, PostParams};
use kube::discovery::Scope;
use kube::{Api, ResourceExt};
use serde_json::Value;

use super::super::spec_hash::hex_digest;
use super::manifest::{Resource, Settings, Strategy, rank};
use crate::Objects;

/// What became of a manifest.
#[derive(Debug)]
pub(super) struct Outcome {
    /// `None` when the cluster does not know the kind.
    pub(super) resource: Option<Resource>,
    /// The error, as a user would read it.
    pub(super) applied: Result<(), String>,
    /// The object as it was last seen.
    pub(super) live: Option<DynamicObject>,
}

impl Outcome {
    /// Whether the next attempt should come soon.
    pub(super) fn unfinished(&self) -> bool {
        let ending = |live: &DynamicObject| live.metadata.deletion_timestamp.is_some();
        self.applied.is_err() || self.live.as_ref().is_some_and(ending)
    }

    /// The object and its uid, if it was applied.
    pub(super) fn made(&self) -> Option<(Resource, String)> {
        let uid = self.live.as_ref()?.metadata.uid.clone()?;
        Some((self.resource.clone()?, uid))
    }
}

/// What was written last, and which version came of it: as long as both are the same, nothing is
/// written again.
pub(super) type Memo = HashMap<usize, (String, Option<String>)>;

/// Applies the manifests of one work.
pub(super) struct Applier<'a> {
    pub(super) objects: &'a Objects,
    pub(super) settings: &'a Settings,
    /// The record of the work, as owner of its objects.
    pub(super) owner: OwnerReference,
    pub(super) memo: &'a mut Memo,
}

impl Applier<'_> {
    /// All of them, in the order of kinds; the outcomes are in the order of the manifests.
    pub(super) async fn all(&mut self, manifests: &[Value]) -> Vec<Outcome> {
        let mut order: Vec<usize> = (0..manifests.len()).collect();
        order.sort_by_key(|index| rank(&manifests[*index]));
        let mut outcomes = Vec::new();
        for index in order {
            outcomes.push((index, self.one(index, &manifests[index]).await));
        }
        outcomes.sort_by_key(|(index, _)| *index);
        outcomes.into_iter().map(|(_, outcome)| outcome).collect()
    }

    async fn one(&mut self, index: usize, manifest: &Value) -> Outcome {
        let located = self.locate(manifest).await;
        let (wanted, resource, api) = match located {
            Ok(located) => located,
            Err(error) => {
                return Outcome {
                    resource: None,
                    applied: Err(format!("{error:#}")),
                    live: None,
                };
            }
        };
        let applied = self.write(index, wanted, &resource, &api).await;
        let (applied, live) = match applied {
            Ok(live) => (Ok(()), live),
            Err(error) => (Err(format!("{error:#}")), None),
        };
        Outcome {
            resource: Some(resource),
            applied,
            live,
        }
    }

    async fn locate(
        &self,
        manifest: &Value,
    ) -> Result<(DynamicObject, Resource, Api<DynamicObject>)> {
        let wanted: DynamicObject =
            serde_json::from_value(manifest.clone()).context("reading a manifest")?;
        let types = wanted.types.clone().context("a manifest without kind")?;
        let (kind, capabilities) = self.objects.kind(&types.api_version, &types.kind).await?;
        let namespace = wanted.metadata.namespace.clone();
        let namespaced = capabilities.scope == Scope::Namespaced;
        let (api, _) = self
            .objects
            .api(&types.api_version, &types.kind, namespace.as_deref())
            .await?;
        let resource = Resource {
            group: kind.group,
            version: kind.version,
            kind: kind.kind,
            plural: kind.plural,
            namespace: namespace.filter(|_| namespaced).unwrap_or_default(),
            name: wanted.name_any(),
        };
        Ok((wanted, resource, api))
    }

    /// Returns the object as it is then.
    async fn write(
        &mut self,
        index: usize,
        wanted: DynamicObject,
        resource: &Resource,
        api: &Api<DynamicObject>,
    ) -> Result<Option<DynamicObject>> {
        let strategy = self.settings.strategy(resource);
        let owned = !self.settings.orphans(resource);
        let what = format!("{strategy:?} {owned} {}", serde_json::to_string(&wanted)?);
        let digest = hex_digest(what.as_bytes());
        let live = api.get_opt(&resource.name).await;
        let live = live.with_context(|| format!("reading {} {}", resource.kind, resource.name))?;
        let current = (
            digest,
            live.as_ref().and_then(ResourceExt::resource_version),
        );
        if live.is_some() && self.memo.get(&index) == Some(&current) {
            return Ok(live);
        }
        let written = match (strategy, live) {
            (Strategy::ReadOnly, live) => return Ok(live),
            (
                Strategy::ServerSide {
                    manager,
                    force,
                    is_ignored,
                },
                live,
            ) => {
                let mut params = PatchParams::apply(&manager);
                params.force = force;
                let mut wanted = wanted;
                let fields = wanted.data.as_object_mut().filter(|_| live.is_some());
                if let Some(fields) = fields {
                    fields.retain(|name, _| !is_ignored.contains(name));
                }
                self.own(&mut wanted, owned);
                let patch = Patch::Apply(&wanted);
                api.patch(&resource.name, &params, &patch).await
            }
            (_, None) => {
                let mut wanted = wanted;
                self.own(&mut wanted, owned);
                api.create(&PostParams::default(), &wanted).await
            }
            (strategy, Some(live)) => {
                let mut merged = live.clone();
                if strategy == Strategy::Update {
                    merge(&mut merged, &wanted, resource);
                }
                self.own(&mut merged, owned);
                if merged == live {
                    Ok(live)
                } else {
                    merged.metadata.managed_fields = None;
                    let params = PostParams::default();
                    api.replace(&resource.name, &params, &merged).await
                }
            }
        };
        let written =
            written.with_context(|| format!("writing {} {}", resource.kind, resource.name))?;
        self.memo
            .insert(index, (current.0, written.resource_version()));
        Ok(Some(written))
    }

    /// With the record among the owners, or without it.
    fn own(&self, object: &mut DynamicObject, owned: bool) {
        let owners = object.metadata.owner_references.get_or_insert_default();
        let there = owners.iter().any(|owner| owner.uid == self.owner.uid);
        if owned && !there {
            owners.push(self.owner.clone());
        } else if !owned && there {
            owners.retain(|owner| owner.uid != self.owner.uid);
        }
        if owners.is_empty() {
            object.metadata.owner_references = None;
        }
    }
}

/// Merges the manifest into the object. Fields that the manifest lacks stay; labels
/// and annotations are merged.
fn merge(live: &mut DynamicObject, wanted: &DynamicObject, resource: &Resource) {
    live.labels_mut().extend(wanted.labels().clone());
    live.annotations_mut().extend(wanted.annotations().clone());
    // Their specs cannot be changed, and the server has completed them.
    if ["pods", "jobs"].contains(&resource.plural.as_str()) {
        return;
    }
    let fields = wanted.data.as_object().into_iter().flatten();
    for (key, value) in fields.filter(|(key, _)| *key != "status") {
        live.data[key] = value.clone();
    }
}
