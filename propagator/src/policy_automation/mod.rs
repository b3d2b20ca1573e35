//! Runs Ansible jobs for violated policies.
//!
//! [`decide`] decides without I/O whether a job has to run and for which clusters; [`job`] builds it. Every step can be
//! repeated: a job is marked as pending until its run is recorded on the automation, and while a pending job exists, no other
//! is created for the same clusters. The record is written against the resource version that was decided about.

pub mod decide;
pub mod job;

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::{StreamExt as _, TryStreamExt as _, stream};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::api::{Api, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Client, Resource, ResourceExt};
use reeve_api::names::RootPolicyName;
use reeve_api::policy_automation::ClusterEvent;
use reeve_api::{Policy, PolicyAutomation};
use reeve_runtime::decode::AnyDepth;
use reeve_runtime::object::{ObjectKey, StatusReason, not_found_as_none};
use reeve_runtime::path::segment;
use reeve_runtime::queue::Action;
use reeve_runtime::watch::Cached;
use reeve_runtime::writes;
use serde_json::{Value, json};

use self::decide::{AutomationDecision, ClusterEvents, decide};
use crate::automation_mode::{AutomationMode, RERUN_ANNOTATION};
use crate::cache::HubCache;
use crate::error::AutomationError;
use crate::index::Pair;
use crate::shards::{ShardedReconciler, object_shard_key};

/// Replicas read at once for a job.
const CONCURRENT_READS: usize = 8;

/// The reconciler of automations.
#[derive(Clone)]
pub struct PolicyAutomationReconciler {
    client: Client,
    hub: Arc<HubCache>,
}

/// An automation and its policy, read from the API server.
struct ObservedAutomation {
    key: ObjectKey,
    automation: PolicyAutomation,
    policy: Policy,
}

impl ObservedAutomation {
    /// An error about an operation on the automation.
    fn failed(
        &self,
        operation: &'static str,
    ) -> impl FnOnce(kube::Error) -> AutomationError + use<> {
        let automation = self.key.clone();
        move |source| AutomationError {
            automation,
            operation,
            source: Box::new(source),
        }
    }
}

impl PolicyAutomationReconciler {
    /// Reads from `hub`, and writes through `client`.
    pub fn new(client: Client, hub: Arc<HubCache>) -> Self {
        Self { client, hub }
    }
}

impl ShardedReconciler for PolicyAutomationReconciler {
    type Key = ObjectKey;
    type Error = AutomationError;

    async fn reconcile(self, key: ObjectKey) -> Result<Action, AutomationError> {
        let Some(Cached::Valid(known)) = self.hub.automation(&key) else {
            return Ok(Action::AwaitChange);
        };
        let root = RootPolicyName::new(key.namespace.clone(), known.spec.policy_ref.clone());
        let Some(Cached::Valid(policy)) = self.hub.root(&root) else {
            return Ok(Action::AwaitChange);
        };
        let nothing = decide(&known, &policy, Timestamp::now()) == AutomationDecision::Nothing;
        if nothing && owners(&known, &policy).is_none() {
            return Ok(Action::AwaitChange);
        }
        // The watches may lag behind what this process, or the previous leader, has just recorded.
        let unread = |source| AutomationError {
            automation: key.clone(),
            operation: "read",
            source: Box::new(source),
        };
        let read = not_found_as_none(self.automations(&key).get(&key.name).await);
        let Some(AnyDepth(automation)) = read.map_err(unread)? else {
            return Ok(Action::AwaitChange);
        };
        let policies: Api<AnyDepth<Policy>> = Api::namespaced(self.client.clone(), &key.namespace);
        let read = not_found_as_none(policies.get(&segment(&automation.spec.policy_ref)).await);
        let Some(AnyDepth(policy)) = read.map_err(unread)? else {
            return Ok(Action::AwaitChange);
        };
        let mut observed = ObservedAutomation {
            key,
            automation,
            policy,
        };
        self.set_owner(&mut observed).await?;
        self.run_jobs(&observed).await
    }

    fn shard_key(key: &ObjectKey) -> String {
        object_shard_key(key)
    }
}

impl PolicyAutomationReconciler {
    fn automations(&self, key: &ObjectKey) -> Api<AnyDepth<PolicyAutomation>> {
        Api::namespaced(self.client.clone(), &key.namespace)
    }

    /// Makes the policy an owner of the automation, so that automation and jobs are deleted with it.
    async fn set_owner(&self, observed: &mut ObservedAutomation) -> Result<(), AutomationError> {
        let Some(owners) = owners(&observed.automation, &observed.policy) else {
            return Ok(());
        };
        let patch = json!({ "metadata": {
            "resourceVersion": observed.automation.resource_version(),
            "ownerReferences": owners,
        } });
        let automations = self.automations(&observed.key);
        let patched = automations
            .patch(
                &observed.key.name,
                &PatchParams::default(),
                &Patch::Merge(patch),
            )
            .await;
        observed.automation = patched.map_err(observed.failed("set the owner of"))?.0;
        Ok(())
    }

    async fn run_jobs(&self, observed: &ObservedAutomation) -> Result<Action, AutomationError> {
        let now = Timestamp::now();
        match decide(&observed.automation, &observed.policy, now) {
            AutomationDecision::Nothing => Ok(Action::AwaitChange),
            AutomationDecision::Manual(targets) => {
                let pending = self.pending(observed, AutomationMode::Manual).await?;
                let jobs = self
                    .create_job(observed, (AutomationMode::Manual, targets), pending)
                    .await?;
                let done = json!({ "metadata": { "annotations": { RERUN_ANNOTATION: null } } });
                self.record_run(observed, done).await?;
                self.clear_pending(observed, jobs).await?;
                Ok(Action::AwaitChange)
            }
            AutomationDecision::Once(targets) => {
                let pending = self.pending(observed, AutomationMode::Once).await?;
                let jobs = self
                    .create_job(observed, (AutomationMode::Once, targets), pending)
                    .await?;
                let off = json!({ "spec": { "mode": "disabled" } });
                self.record_run(observed, off).await?;
                self.clear_pending(observed, jobs).await?;
                Ok(Action::AwaitChange)
            }
            AutomationDecision::EveryEvent {
                targets,
                events,
                requeue_after,
            } => {
                self.run_for_events(observed, targets, events).await?;
                Ok(requeue_after.map_or(Action::AwaitChange, Action::RequeueAfter))
            }
        }
    }

    async fn run_for_events(
        &self,
        observed: &ObservedAutomation,
        mut targets: Vec<String>,
        mut events: ClusterEvents,
    ) -> Result<(), AutomationError> {
        let mut jobs = Vec::new();
        if !targets.is_empty() {
            let pending = self.pending(observed, AutomationMode::EveryEvent).await?;
            let started = decide::event_of_started_job(Timestamp::now());
            events.extend(
                targets
                    .iter()
                    .map(|target| (target.clone(), started.clone())),
            );
            // Their job was created already, and is not recorded yet.
            targets.retain(|target| !pending.iter().any(|job| job.targets.contains(target)));
            jobs = pending;
        }
        if !targets.is_empty() {
            let new = self
                .create_job(observed, (AutomationMode::EveryEvent, targets), Vec::new())
                .await?;
            jobs.extend(new);
        }
        self.write_events(observed, &events).await?;
        self.clear_pending(observed, jobs).await
    }

    fn jobs(&self, observed: &ObservedAutomation) -> Api<AnyDepth<DynamicObject>> {
        let namespace = &observed.key.namespace;
        Api::namespaced_with(self.client.clone(), namespace, &job::resource())
    }

    /// The jobs of an automation that were run in this mode and are not recorded yet, those of upstream's controller included.
    async fn pending(
        &self,
        observed: &ObservedAutomation,
        mode: AutomationMode,
    ) -> Result<Vec<CreatedJob>, AutomationError> {
        let name = job::label_value(&observed.automation.name_any());
        let ours = ListParams::default().labels(&format!("{}={name}", job::label()));
        let listed = self.jobs(observed).list(&ours).await;
        let listed = listed.map_err(observed.failed("list the AnsibleJobs of"))?;
        let jobs = listed.items.into_iter().map(|AnyDepth(job)| job);
        let pending = jobs.filter(|job| job::is_pending_for(job, &observed.automation, mode));
        Ok(pending.map(|job| CreatedJob::of(&job)).collect())
    }

    /// Creates a job for these clusters, unless one is pending. Returns the pending jobs.
    async fn create_job(
        &self,
        observed: &ObservedAutomation,
        (mode, targets): (AutomationMode, Vec<String>),
        pending: Vec<CreatedJob>,
    ) -> Result<Vec<CreatedJob>, AutomationError> {
        if !pending.is_empty() {
            return Ok(pending);
        }
        let hub_cluster = self.base_domain(observed).await?;
        let replicas = self.replicas(observed, &targets).await?;
        let job = AnyDepth(job::job(&job::JobContext {
            automation: &observed.automation,
            policy: &observed.policy,
            mode,
            targets: &targets,
            hub_cluster: &hub_cluster,
            replicas: &replicas,
        }));
        match self
            .jobs(observed)
            .create(&PostParams::default(), &job)
            .await
        {
            Ok(job) => {
                let (name, clusters) = (job.name_any(), targets.len());
                tracing::info!(automation = %observed.key, job = name, clusters, "an Ansible job was created");
                Ok(vec![CreatedJob::of(&job.0)])
            }
            // An earlier attempt created it, and its answer was lost.
            Err(error) if StatusReason::of(&error) == StatusReason::AlreadyExists => {
                Ok(vec![CreatedJob::of(&job.0)])
            }
            Err(error) => Err(observed.failed("create the AnsibleJob of")(error)),
        }
    }

    /// Removes the pending annotation of jobs whose run is recorded.
    async fn clear_pending(
        &self,
        observed: &ObservedAutomation,
        jobs: Vec<CreatedJob>,
    ) -> Result<(), AutomationError> {
        for pending in jobs.into_iter().filter(|job| job.is_pending) {
            let done =
                json!({ "metadata": { "annotations": { job::pending_annotation(): null } } });
            let api = self.jobs(observed);
            let patched = writes::patch_with(&api, &pending.name, &Patch::Merge(done)).await;
            let patched = not_found_as_none(patched);
            patched.map_err(observed.failed("mark the AnsibleJob as recorded of"))?;
        }
        Ok(())
    }

    /// The base domain of the hub; empty if there is none, as on clusters other than OpenShift.
    async fn base_domain(&self, observed: &ObservedAutomation) -> Result<String, AutomationError> {
        let kind = GroupVersionKind::gvk("config.openshift.io", "v1", "DNS");
        let resource = ApiResource::from_gvk_with_plural(&kind, "dnses");
        let all: Api<DynamicObject> = Api::all_with(self.client.clone(), &resource);
        let read = not_found_as_none(all.get("cluster").await);
        let dns = read.map_err(observed.failed("read the DNS of the hub for"))?;
        let domain = dns.as_ref().and_then(|dns| {
            let domain = dns.data.pointer("/spec/baseDomain");
            domain.and_then(Value::as_str)
        });
        Ok(domain.unwrap_or_default().to_owned())
    }

    /// The replicas of the target clusters, up to the limit of violations.
    async fn replicas(
        &self,
        observed: &ObservedAutomation,
        targets: &[String],
    ) -> Result<BTreeMap<String, Policy>, AutomationError> {
        let limit = job::violations_limit(&observed.automation).unwrap_or(usize::MAX);
        let read = |cluster: String| {
            let pair = Pair {
                root: RootPolicyName::new(
                    observed.key.namespace.clone(),
                    observed.policy.name_any(),
                ),
                cluster,
            };
            let failed = observed.failed("read the replicated policies for");
            let policies: Api<AnyDepth<Policy>> =
                Api::namespaced(self.client.clone(), &pair.cluster);
            async move {
                let read = not_found_as_none(policies.get(&pair.key().name).await);
                let replica = read.map_err(failed)?;
                Ok(replica.map(|AnyDepth(replica)| (pair.cluster, replica)))
            }
        };
        let found: Vec<_> = stream::iter(targets.iter().take(limit).cloned())
            .map(read)
            .buffered(CONCURRENT_READS)
            .try_collect()
            .await?;
        Ok(found.into_iter().flatten().collect())
    }

    /// Records the run on the version of the automation that was decided about: another version may need another run.
    async fn record_run(
        &self,
        observed: &ObservedAutomation,
        mut change: Value,
    ) -> Result<(), AutomationError> {
        change["metadata"]["resourceVersion"] = json!(observed.automation.resource_version());
        let automations = self.automations(&observed.key);
        let change = Patch::Merge(change);
        let patched = writes::patch_with(&automations, &observed.key.name, &change).await;
        patched.map_err(observed.failed("record the run of"))
    }

    async fn write_events(
        &self,
        observed: &ObservedAutomation,
        events: &ClusterEvents,
    ) -> Result<(), AutomationError> {
        let status = observed.automation.status.as_ref();
        let known = status.and_then(|status| status.clusters_with_event.clone());
        let known = known.unwrap_or_default();
        if known == *events {
            return Ok(());
        }
        let gone = known
            .keys()
            .filter(|cluster| !events.contains_key(*cluster));
        let gone = gone.map(|cluster| (cluster, None));
        let kept = events.iter().map(|(cluster, event)| (cluster, Some(event)));
        let entries: BTreeMap<&String, Option<&ClusterEvent>> = gone.chain(kept).collect();
        let patch = json!({
            "metadata": { "resourceVersion": observed.automation.resource_version() },
            "status": { "clustersWithEvent": entries },
        });
        let automations = self.automations(&observed.key);
        let patched = automations
            .patch_status(
                &observed.key.name,
                &PatchParams::default(),
                &Patch::Merge(patch),
            )
            .await;
        patched.map_err(observed.failed("write the status of"))?;
        Ok(())
    }
}

/// A job in the cluster.
struct CreatedJob {
    name: String,
    targets: Vec<String>,
    is_pending: bool,
}

impl CreatedJob {
    fn of(job: &DynamicObject) -> Self {
        Self {
            name: job.name_any(),
            targets: job::targets(job),
            is_pending: job.annotations().contains_key(&job::pending_annotation()),
        }
    }
}

/// The desired owner references of an automation: those that others have set, and its policy once. `None` if nothing is to change.
fn owners(automation: &PolicyAutomation, policy: &Policy) -> Option<Vec<OwnerReference>> {
    let ours = job::blocking(policy.controller_owner_ref(&())?);
    let current = automation.owner_references();
    if current.iter().any(|owner| owner.uid == ours.uid) {
        return None;
    }
    // The reference to a deleted policy of the same name is stale.
    let stale = |owner: &&OwnerReference| owner.kind == ours.kind && owner.name == ours.name;
    let others: Vec<_> = current
        .iter()
        .filter(|owner| !stale(owner))
        .cloned()
        .collect();
    let has_controller = others.iter().any(|owner| owner.controller == Some(true));
    let ours = OwnerReference {
        // The API server allows one controller only.
        controller: Some(!has_controller),
        ..ours
    };
    Some(others.into_iter().chain([ours]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prop_164_policy_is_added_as_owner_once_and_other_owners_stay() {
        let policy: Policy = serde_json::from_value(json!({
            "metadata": { "name": "p", "namespace": "n", "uid": "new" },
            "spec": { "disabled": false, "policy-templates": [] },
        }))
        .unwrap();
        let reference = |kind: &str, name: &str, uid: &str, controller: bool| json!({ "apiVersion": "v1", "kind": kind, "name": name, "uid": uid, "controller": controller });
        let after = |owners: Vec<Value>| {
            let automation: PolicyAutomation = serde_json::from_value(json!({
                "metadata": { "name": "a", "namespace": "n", "ownerReferences": owners },
                "spec": {
                    "mode": "once", "policyRef": "p",
                    "automationDef": { "name": "t", "secret": "s" },
                },
            }))
            .unwrap();
            let owners = super::owners(&automation, &policy)?;
            let owners = owners
                .into_iter()
                .map(|owner| (owner.uid, owner.controller));
            Some(owners.collect::<Vec<_>>())
        };
        let ours = |controller| ("new".to_owned(), Some(controller));
        assert_eq!(after(vec![]), Some(vec![ours(true)]));
        assert_eq!(after(vec![reference("Policy", "p", "new", true)]), None);
        assert_eq!(
            after(vec![reference("Policy", "p", "old", true)]),
            Some(vec![ours(true)])
        );
        assert_eq!(
            after(vec![reference("App", "x", "other", true)]),
            Some(vec![("other".to_owned(), Some(true)), ours(false)])
        );
    }
}
