//! Runs Ansible jobs for violated policies.
//!
//! [`decide`] says, purely, whether a job has to run and for whom; [`job`] is that job. Each step can be repeated: a job
//! is marked as pending until it is recorded on the automation that it was run, and while there is one that is, no other
//! is run for the same clusters. What is recorded is written on the version of the automation that was decided about.

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
use reeve_runtime::queue::Action;
use reeve_runtime::watch::Cached;
use reeve_runtime::writes;
use serde_json::{Value, json};

use self::decide::{Events, Plan, decide};
use crate::automation_mode::{Mode, RERUN_ANNOTATION};
use crate::cache::HubCache;
use crate::error::AutomationError;
use crate::index::Pair;

/// Replicas read at once for a job.
const AT_ONCE: usize = 8;

/// Brings automations in line.
#[derive(Clone)]
pub struct PolicyAutomationReconciler {
    client: Client,
    hub: Arc<HubCache>,
}

/// An automation as it is now, and what of it failed goes under its name.
struct Subject {
    key: ObjectKey,
    automation: PolicyAutomation,
    policy: Policy,
}

impl Subject {
    /// An error about doing this to the automation.
    fn failed(&self, doing: &'static str) -> impl FnOnce(kube::Error) -> AutomationError + use<> {
        let automation = self.key.clone();
        move |source| AutomationError {
            automation,
            doing,
            source: Box::new(source),
        }
    }
}

impl PolicyAutomationReconciler {
    /// Reads from `hub`, and writes through `client`.
    pub fn new(client: Client, hub: Arc<HubCache>) -> Self {
        Self { client, hub }
    }

    /// Brings one automation in line.
    pub async fn reconcile(self, key: ObjectKey) -> Result<Action, AutomationError> {
        let Some(Cached::Valid(known)) = self.hub.automation(&key) else {
            return Ok(Action::AwaitChange);
        };
        let root = RootPolicyName::new(key.namespace.clone(), known.spec.policy_ref.clone());
        let Some(Cached::Valid(policy)) = self.hub.root(&root) else {
            return Ok(Action::AwaitChange);
        };
        let nothing = decide(&known, &policy, Timestamp::now()) == Plan::Nothing;
        if nothing && owners(&known, &policy).is_none() {
            return Ok(Action::AwaitChange);
        }
        // The watches may be behind what this process, or the leader before it, has just recorded.
        let unread = |source| AutomationError {
            automation: key.clone(),
            doing: "read",
            source: Box::new(source),
        };
        let read = not_found_as_none(self.automations(&key).get(&key.name).await);
        let Some(AnyDepth(automation)) = read.map_err(unread)? else {
            return Ok(Action::AwaitChange);
        };
        let policies: Api<AnyDepth<Policy>> = Api::namespaced(self.client.clone(), &key.namespace);
        let read = not_found_as_none(policies.get(&automation.spec.policy_ref).await);
        let Some(AnyDepth(policy)) = read.map_err(unread)? else {
            return Ok(Action::AwaitChange);
        };
        let mut subject = Subject {
            key,
            automation,
            policy,
        };
        self.own(&mut subject).await?;
        self.act(&subject).await
    }

    fn automations(&self, key: &ObjectKey) -> Api<AnyDepth<PolicyAutomation>> {
        Api::namespaced(self.client.clone(), &key.namespace)
    }

    /// With its policy an automation goes, and with that its jobs.
    async fn own(&self, subject: &mut Subject) -> Result<(), AutomationError> {
        let Some(owners) = owners(&subject.automation, &subject.policy) else {
            return Ok(());
        };
        let patch = json!({ "metadata": {
            "resourceVersion": subject.automation.resource_version(),
            "ownerReferences": owners,
        } });
        let automations = self.automations(&subject.key);
        let patched = automations
            .patch(
                &subject.key.name,
                &PatchParams::default(),
                &Patch::Merge(patch),
            )
            .await;
        subject.automation = patched.map_err(subject.failed("set the owner of"))?.0;
        Ok(())
    }

    async fn act(&self, subject: &Subject) -> Result<Action, AutomationError> {
        let now = Timestamp::now();
        match decide(&subject.automation, &subject.policy, now) {
            Plan::Nothing => Ok(Action::AwaitChange),
            Plan::Manual(targets) => {
                let pending = self.pending(subject, Mode::Manual).await?;
                let jobs = self.run(subject, (Mode::Manual, targets), pending).await?;
                let done = json!({ "metadata": { "annotations": { RERUN_ANNOTATION: null } } });
                self.record(subject, done).await?;
                self.record_written(subject, jobs).await?;
                Ok(Action::AwaitChange)
            }
            Plan::Once(targets) => {
                let pending = self.pending(subject, Mode::Once).await?;
                let jobs = self.run(subject, (Mode::Once, targets), pending).await?;
                let off = json!({ "spec": { "mode": "disabled" } });
                self.record(subject, off).await?;
                self.record_written(subject, jobs).await?;
                Ok(Action::AwaitChange)
            }
            Plan::EveryEvent {
                targets,
                events,
                again,
            } => {
                self.run_for_events(subject, targets, events).await?;
                Ok(again.map_or(Action::AwaitChange, Action::RequeueAfter))
            }
        }
    }

    async fn run_for_events(
        &self,
        subject: &Subject,
        mut targets: Vec<String>,
        mut events: Events,
    ) -> Result<(), AutomationError> {
        let mut jobs = Vec::new();
        if !targets.is_empty() {
            let pending = self.pending(subject, Mode::EveryEvent).await?;
            let started = decide::started(Timestamp::now());
            events.extend(
                targets
                    .iter()
                    .map(|target| (target.clone(), started.clone())),
            );
            // Run already, and not recorded yet.
            targets.retain(|target| !pending.iter().any(|job| job.targets.contains(target)));
            jobs = pending;
        }
        if !targets.is_empty() {
            let new = self
                .run(subject, (Mode::EveryEvent, targets), Vec::new())
                .await?;
            jobs.extend(new);
        }
        self.remember(subject, &events).await?;
        self.record_written(subject, jobs).await
    }

    fn jobs(&self, subject: &Subject) -> Api<AnyDepth<DynamicObject>> {
        let namespace = &subject.key.namespace;
        Api::namespaced_with(self.client.clone(), namespace, &job::resource())
    }

    /// The jobs of an automation that were run in this mode and are not recorded yet, and those of upstream's controller
    /// that were run for the same reason.
    async fn pending(&self, subject: &Subject, mode: Mode) -> Result<Vec<Run>, AutomationError> {
        let name = job::label_value(&subject.automation.name_any());
        let ours = ListParams::default().labels(&format!("{}={name}", job::label()));
        let listed = self.jobs(subject).list(&ours).await;
        let listed = listed.map_err(subject.failed("list the AnsibleJobs of"))?;
        let jobs = listed.items.into_iter().map(|AnyDepth(job)| job);
        let pending = jobs.filter(|job| job::is_for(job, &subject.automation, mode));
        Ok(pending.map(|job| Run::of(&job)).collect())
    }

    /// Creates a job for these clusters, unless there is one. Returns what there is then.
    async fn run(
        &self,
        subject: &Subject,
        (mode, targets): (Mode, Vec<String>),
        pending: Vec<Run>,
    ) -> Result<Vec<Run>, AutomationError> {
        if !pending.is_empty() {
            return Ok(pending);
        }
        let hub_cluster = self.base_domain(subject).await?;
        let replicas = self.replicas(subject, &targets).await?;
        let job = AnyDepth(job::job(&job::Context {
            automation: &subject.automation,
            policy: &subject.policy,
            mode,
            targets: &targets,
            hub_cluster: &hub_cluster,
            replicas: &replicas,
        }));
        match self
            .jobs(subject)
            .create(&PostParams::default(), &job)
            .await
        {
            Ok(job) => {
                let (name, clusters) = (job.name_any(), targets.len());
                tracing::info!(automation = %subject.key, job = name, clusters, "an Ansible job was created");
                Ok(vec![Run::of(&job.0)])
            }
            // An answer was lost.
            Err(error) if StatusReason::of(&error) == StatusReason::AlreadyExists => {
                Ok(vec![Run::of(&job.0)])
            }
            Err(error) => Err(subject.failed("create the AnsibleJob of")(error)),
        }
    }

    /// What was run is recorded: the jobs are pending no more.
    async fn record_written(
        &self,
        subject: &Subject,
        jobs: Vec<Run>,
    ) -> Result<(), AutomationError> {
        for run in jobs.into_iter().filter(|run| run.is_pending) {
            let done =
                json!({ "metadata": { "annotations": { job::pending_annotation(): null } } });
            let api = self.jobs(subject);
            let patched = writes::patch_with(&api, &run.name, &Patch::Merge(done)).await;
            let patched = not_found_as_none(patched);
            patched.map_err(subject.failed("mark the AnsibleJob as recorded of"))?;
        }
        Ok(())
    }

    /// The base domain of the hub; empty where there is none, as anywhere but on OpenShift.
    async fn base_domain(&self, subject: &Subject) -> Result<String, AutomationError> {
        let kind = GroupVersionKind::gvk("config.openshift.io", "v1", "DNS");
        let resource = ApiResource::from_gvk_with_plural(&kind, "dnses");
        let all: Api<DynamicObject> = Api::all_with(self.client.clone(), &resource);
        let read = not_found_as_none(all.get("cluster").await);
        let dns = read.map_err(subject.failed("read the DNS of the hub for"))?;
        let domain = dns.as_ref().and_then(|dns| {
            let domain = dns.data.pointer("/spec/baseDomain");
            domain.and_then(Value::as_str)
        });
        Ok(domain.unwrap_or_default().to_owned())
    }

    /// The replicas of the target clusters, as many as a job is told of.
    async fn replicas(
        &self,
        subject: &Subject,
        targets: &[String],
    ) -> Result<BTreeMap<String, Policy>, AutomationError> {
        let limit = job::violations_limit(&subject.automation).unwrap_or(usize::MAX);
        let read = |cluster: String| {
            let pair = Pair {
                root: RootPolicyName::new(subject.key.namespace.clone(), subject.policy.name_any()),
                cluster,
            };
            let failed = subject.failed("read the replicated policies for");
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
            .buffered(AT_ONCE)
            .try_collect()
            .await?;
        Ok(found.into_iter().flatten().collect())
    }

    /// Records on the automation that the job was run. Another version of it is another reason to run, so only this one
    /// may be changed.
    async fn record(&self, subject: &Subject, mut change: Value) -> Result<(), AutomationError> {
        change["metadata"]["resourceVersion"] = json!(subject.automation.resource_version());
        let automations = self.automations(&subject.key);
        let change = Patch::Merge(change);
        let patched = writes::patch_with(&automations, &subject.key.name, &change).await;
        patched.map_err(subject.failed("record the run of"))
    }

    async fn remember(&self, subject: &Subject, events: &Events) -> Result<(), AutomationError> {
        let status = subject.automation.status.as_ref();
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
            "metadata": { "resourceVersion": subject.automation.resource_version() },
            "status": { "clustersWithEvent": entries },
        });
        let automations = self.automations(&subject.key);
        let patched = automations
            .patch_status(
                &subject.key.name,
                &PatchParams::default(),
                &Patch::Merge(patch),
            )
            .await;
        patched.map_err(subject.failed("write the status of"))?;
        Ok(())
    }
}

/// A job that was run.
struct Run {
    name: String,
    targets: Vec<String>,
    is_pending: bool,
}

impl Run {
    fn of(job: &DynamicObject) -> Self {
        Self {
            name: job.name_any(),
            targets: job::targets(job),
            is_pending: job.annotations().contains_key(&job::pending_annotation()),
        }
    }
}

/// The owners that an automation should have; `None` if it has them: those that others set, and its policy, once.
fn owners(automation: &PolicyAutomation, policy: &Policy) -> Option<Vec<OwnerReference>> {
    let ours = job::blocking(policy.controller_owner_ref(&())?);
    let current = automation.owner_references();
    if current.iter().any(|owner| owner.uid == ours.uid) {
        return None;
    }
    // A policy that had the name before is none any more.
    let stale = |owner: &&OwnerReference| owner.kind == ours.kind && owner.name == ours.name;
    let others: Vec<_> = current
        .iter()
        .filter(|owner| !stale(owner))
        .cloned()
        .collect();
    let led = others.iter().any(|owner| owner.controller == Some(true));
    let ours = OwnerReference {
        // The API server allows one only.
        controller: Some(!led),
        ..ours
    };
    Some(others.into_iter().chain([ours]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rough_edge_53_owners_of_others_stay_and_the_policy_is_one_of_them_once() {
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
