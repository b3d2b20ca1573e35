//! Writes the decisions and the status of a placement.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::ResourceExt as _;
use kube::api::{Api, DeleteParams, Patch as Body, PatchParams, PostParams, Preconditions};
use reeve_api::ocm::{
    ClusterDecision, Placement, PlacementDecision, PlacementDecisionFields,
    PlacementDecisionStatus, PlacementStatus,
};
use reeve_runtime::object::{ObjectKey, StatusReason};
use reeve_runtime::watch::Cached;
use serde_json::{Map, Value, json};

use super::super::events::{DecisionChange, reference};
use super::super::groups::Desired;
use super::super::plan::{Patch, Write, owner};
use super::Controller;
use super::error::Failure;

/// The results of the writes.
#[derive(Default)]
pub(super) struct Acted {
    pub(super) decision_changes: Vec<(DecisionChange, ObjectReference)>,
    pub(super) failures: Vec<Failure>,
}

impl Controller {
    /// Executes all writes, also after one has failed.
    pub(super) async fn act(&self, placement: &Placement, writes: Vec<Write>) -> Acted {
        let namespace = placement.namespace().unwrap_or_default();
        let api: Api<PlacementDecision> = Api::namespaced(self.client.clone(), &namespace);
        let mut acted = Acted::default();
        for write in writes {
            let decision_changes = &mut acted.decision_changes;
            let done = match write {
                Write::Create(desired) => {
                    self.create(&api, placement, desired, decision_changes)
                        .await
                }
                Write::Patch(patch) => self.patch(&api, patch, decision_changes).await,
                Write::Delete(current) => self.delete(&api, &current, decision_changes).await,
            };
            acted.failures.extend(done.err());
        }
        acted
    }

    async fn create(
        &self,
        api: &Api<PlacementDecision>,
        placement: &Placement,
        desired: Desired,
        decision_changes: &mut Vec<(DecisionChange, ObjectReference)>,
    ) -> Result<(), Failure> {
        let mut body = PlacementDecision::new(&desired.name, PlacementDecisionFields {});
        body.metadata.namespace = placement.namespace();
        body.metadata.labels = Some(desired.labels.clone());
        body.metadata.owner_references = Some(vec![owner(placement)]);
        let created = api.create(&PostParams::default(), &body).await;
        let created =
            created.map_err(|source| failure("create decision", &desired.name, source))?;
        let created = self.note(created, Some(Timestamp::now()));
        decision_changes.push((DecisionChange::Created, reference(&created)));
        if created
            .clusters()
            .eq(desired.clusters.iter().map(String::as_str))
        {
            return Ok(());
        }
        self.write_clusters(api, &created, &desired, decision_changes)
            .await
    }

    async fn patch(
        &self,
        api: &Api<PlacementDecision>,
        patch: Patch,
        decision_changes: &mut Vec<(DecisionChange, ObjectReference)>,
    ) -> Result<(), Failure> {
        let mut current = patch.current;
        if patch.labels || patch.owners.is_some() {
            let mut metadata = identity(&current.metadata);
            if patch.labels {
                let wanted = &patch.desired.labels;
                metadata.insert("labels".to_owned(), labels(&current, wanted));
            }
            if let Some(owners) = patch.owners {
                metadata.insert("ownerReferences".to_owned(), json!(owners));
            }
            let body = Body::Merge(json!({ "metadata": metadata }));
            let name = current.name_any();
            let patched = api.patch(&name, &PatchParams::default(), &body).await;
            let patched = patched.map_err(|source| failure("label decision", &name, source))?;
            current = self.note(patched, None);
        }
        if patch.clusters {
            self.write_clusters(api, &current, &patch.desired, decision_changes)
                .await?;
        }
        Ok(())
    }

    async fn write_clusters(
        &self,
        api: &Api<PlacementDecision>,
        current: &PlacementDecision,
        desired: &Desired,
        decision_changes: &mut Vec<(DecisionChange, ObjectReference)>,
    ) -> Result<(), Failure> {
        let decisions = desired.clusters.iter().map(|name| ClusterDecision {
            cluster_name: name.clone(),
            reason: String::new(),
        });
        let status = PlacementDecisionStatus {
            decisions: decisions.collect(),
        };
        let body = json!({ "metadata": identity(&current.metadata), "status": status });
        let name = &desired.name;
        let params = PatchParams::default();
        let patched = api.patch_status(name, &params, &Body::Merge(body)).await;
        let patched = patched.map_err(|source| failure("update decision", name, source))?;
        let patched = self.note(patched, None);
        decision_changes.push((DecisionChange::Updated, reference(&patched)));
        Ok(())
    }

    async fn delete(
        &self,
        api: &Api<PlacementDecision>,
        current: &PlacementDecision,
        decision_changes: &mut Vec<(DecisionChange, ObjectReference)>,
    ) -> Result<(), Failure> {
        let name = current.name_any();
        let params = DeleteParams::default().preconditions(Preconditions {
            uid: current.uid(),
            resource_version: None,
        });
        match api.delete(&name, &params).await {
            Ok(_) => decision_changes.push((DecisionChange::Deleted, reference(current))),
            Err(error) if StatusReason::of(&error) == StatusReason::NotFound => {}
            Err(source) => return Err(failure("delete decision", &name, source)),
        }
        self.index.write().decision(&ObjectKey::of(current), None);
        Ok(())
    }

    /// Records a write in the index, which the watch delivers only later.
    fn note(
        &self,
        decision: PlacementDecision,
        created: Option<Timestamp>,
    ) -> Arc<PlacementDecision> {
        let decision = Arc::new(decision);
        self.index.write().wrote(Arc::clone(&decision), created);
        decision
    }

    /// Writes the status of a placement, if it differs.
    pub(super) async fn publish(
        &self,
        placement: &Placement,
        status: PlacementStatus,
    ) -> Result<(), Failure> {
        let changes = changes(placement.status.as_ref(), &status);
        if changes.is_empty() {
            return Ok(());
        }
        let namespace = placement.namespace().unwrap_or_default();
        let name = placement.name_any();
        let api: Api<Placement> = Api::namespaced(self.client.clone(), &namespace);
        let body = json!({ "metadata": identity(&placement.metadata), "status": changes });
        let params = PatchParams::default();
        let patched = api.patch_status(&name, &params, &Body::Merge(body)).await;
        match patched {
            Ok(patched) => {
                let key = ObjectKey::of(&patched);
                let known = Cached::Valid(Arc::new(patched));
                self.index.write().placement(&key, Some(known));
                Ok(())
            }
            // The placement was deleted in the meantime.
            Err(error) if StatusReason::of(&error) == StatusReason::NotFound => Ok(()),
            Err(source) => Err(failure("update the status of placement", &name, source)),
        }
    }
}

/// The fields of a status that changed.
fn changes(old: Option<&PlacementStatus>, new: &PlacementStatus) -> Map<String, Value> {
    let none = PlacementStatus::default();
    let old = old.unwrap_or(&none);
    let mut changes = Map::new();
    if old.number_of_selected_clusters != new.number_of_selected_clusters {
        let count = new.number_of_selected_clusters;
        changes.insert("numberOfSelectedClusters".to_owned(), count.into());
    }
    if old.decision_groups != new.decision_groups {
        changes.insert("decisionGroups".to_owned(), json!(new.decision_groups));
    }
    if old.conditions != new.conditions {
        changes.insert("conditions".to_owned(), json!(new.conditions));
    }
    changes
}

/// The identity and version of the object that a patch applies to.
fn identity(metadata: &ObjectMeta) -> Map<String, Value> {
    let mut identity = Map::new();
    if let Some(uid) = &metadata.uid {
        identity.insert("uid".to_owned(), uid.as_str().into());
    }
    if let Some(version) = &metadata.resource_version {
        identity.insert("resourceVersion".to_owned(), version.as_str().into());
    }
    identity
}

/// The labels as a merge patch: labels to remove are null.
fn labels(current: &PlacementDecision, wanted: &BTreeMap<String, String>) -> Value {
    let foreign = current
        .labels()
        .keys()
        .filter(|key| !wanted.contains_key(*key));
    let mut labels: Map<String, Value> = foreign.map(|key| (key.clone(), Value::Null)).collect();
    labels.extend(
        wanted
            .iter()
            .map(|(key, value)| (key.clone(), value.as_str().into())),
    );
    Value::Object(labels)
}

fn failure(operation: &'static str, object: &str, source: kube::Error) -> Failure {
    Failure {
        operation,
        object: object.to_owned(),
        source,
    }
}
