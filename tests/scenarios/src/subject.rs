//! A `ConfigurationPolicy` under test.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::core::v1::Event;
use kube::api::{DynamicObject, ListParams};
use kube::{Api, ResourceExt as _};
use reeve_testkit::Objects;
use serde_json::{Value, json};

use crate::evaluator::MANAGED;
use crate::{Evaluator, ObservedStatus, indent, steadily, within};

const API: &str = "policy.open-cluster-management.io/v1";
const KIND: &str = "ConfigurationPolicy";

/// How long a deletion may take.
const GONE: Duration = Duration::from_mins(1);

/// A policy of a parent policy (`<name>-parent`), and what it reports.
pub struct Subject<'a> {
    cluster: &'a Objects,
    namespace: &'a str,
    name: String,
}

impl<'a> Subject<'a> {
    /// A policy on a cluster, in a namespace; not applied yet.
    pub fn new(cluster: &'a Objects, namespace: &'a str, name: &str) -> Self {
        Self {
            cluster,
            namespace,
            name: name.to_owned(),
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Applies it with this spec, whatever it was before: what a spec no longer reports is gone.
    pub async fn apply(&self, spec: &str) -> Result<()> {
        self.apply_with(&[], spec).await
    }

    /// Like [`Subject::apply`], with annotations.
    pub async fn apply_with(&self, annotations: &[(&str, &str)], spec: &str) -> Result<()> {
        let (namespace, name) = (self.namespace, &self.name);
        let parent = self.parent().await?.uid().context("a parent without UID")?;
        let annotations: Value = annotations
            .iter()
            .map(|(key, value)| (*key, *value))
            .collect();
        let spec = indent(spec, 2);
        let policy = format!(
            "apiVersion: {API}
kind: {KIND}
metadata:
  name: {name}
  namespace: {namespace}
  annotations: {annotations}
  ownerReferences:
  - {{apiVersion: {API}, kind: Policy, name: {name}-parent, uid: {parent}}}
spec:
{spec}"
        );
        self.cluster.apply(&policy).await?;
        Ok(())
    }

    /// Its parent, made when it is not there yet.
    pub async fn parent(&self) -> Result<DynamicObject> {
        let parent = json!({
            "apiVersion": API, "kind": "Policy",
            "metadata": { "name": format!("{}-parent", self.name), "namespace": self.namespace },
            "spec": { "disabled": false, "policy-templates": [] }
        });
        let applied = self.cluster.apply(&parent.to_string()).await?;
        applied.into_iter().next().context("no parent was applied")
    }

    /// Merge-patches it.
    pub async fn patch(&self, patch: Value) -> Result<()> {
        self.cluster
            .patch(API, KIND, Some(self.namespace), &self.name, patch)
            .await?;
        Ok(())
    }

    /// Changes its remediation action.
    pub async fn remediate(&self, action: &str) -> Result<()> {
        self.patch(json!({ "spec": { "remediationAction": action } }))
            .await
    }

    /// The policy as it is now.
    pub async fn read(&self) -> Result<DynamicObject> {
        let found = self
            .cluster
            .get(API, KIND, Some(self.namespace), &self.name)
            .await?;
        found.with_context(|| format!("the policy {} is gone", self.name))
    }

    /// What it reports now.
    pub async fn observed(&self) -> Result<ObservedStatus> {
        Ok(status(&self.read().await?))
    }

    /// Waits until it has been evaluated as it now is, and reports what satisfies a condition.
    pub async fn until(
        &self,
        what: &str,
        holds: impl Fn(&ObservedStatus) -> bool,
    ) -> Result<ObservedStatus> {
        within(format!("{}: {what}", self.name), || async {
            let policy = self.read().await?;
            let observed = status(&policy);
            let evaluated = observed.0["lastEvaluatedGeneration"].as_i64();
            ensure!(
                evaluated == policy.metadata.generation && holds(&observed),
                "its generation is {:?}, its status is {observed}",
                policy.metadata.generation
            );
            Ok(observed)
        })
        .await
    }

    /// Waits until it has this compliance.
    pub async fn is(&self, compliance: &str) -> Result<ObservedStatus> {
        self.until(compliance, |observed| observed.compliance() == compliance)
            .await
    }

    /// Waits until its first object template has this message.
    pub async fn reports(&self, message: &str) -> Result<ObservedStatus> {
        self.until(&format!("reports {message:?}"), |observed| {
            observed.message(0) == message
        })
        .await
    }

    /// Waits until its first object template has a message that contains every part, in order.
    pub async fn mentions(&self, parts: &[&str]) -> Result<ObservedStatus> {
        let what = format!("mentions {parts:?}");
        self.until(&what, |observed| contains(observed.message(0), parts))
            .await
    }

    /// Its reports satisfy a condition, and stay so.
    pub async fn stays(&self, what: &str, holds: impl Fn(&ObservedStatus) -> bool) -> Result<()> {
        steadily(format!("{}: {what}", self.name), || async {
            let observed = self.observed().await?;
            ensure!(holds(&observed), "its status is {observed}");
            Ok(())
        })
        .await
    }

    /// It has this compliance, and keeps it.
    pub async fn stays_with(&self, compliance: &str) -> Result<()> {
        self.stays(compliance, |observed| observed.compliance() == compliance)
            .await
    }

    /// The events on its parent about it, oldest first.
    pub async fn parent_events(&self) -> Result<Vec<Event>> {
        let parent = self.parent().await?.uid().context("a parent without UID")?;
        let reason = format!("policy: {}/{}", self.namespace, self.name);
        self.events(&parent, &reason).await
    }

    /// The messages of the events on its parent, oldest first.
    pub async fn parent_messages(&self) -> Result<Vec<String>> {
        let events = self.parent_events().await?.into_iter();
        Ok(events
            .map(|event| event.message.unwrap_or_default())
            .collect())
    }

    /// The messages of its own events about its status, oldest first.
    pub async fn own_messages(&self) -> Result<Vec<String>> {
        let uid = self.read().await?.uid().context("a policy without UID")?;
        let events = self.events(&uid, "PolicyUpdate").await?.into_iter();
        Ok(events
            .map(|event| event.message.unwrap_or_default())
            .collect())
    }

    /// Waits until an event on its parent has a message that satisfies a condition.
    pub async fn reported_parent(&self, what: &str, holds: impl Fn(&str) -> bool) -> Result<()> {
        within(
            format!("{} reports to its parent: {what}", self.name),
            || async {
                let messages = self.parent_messages().await?;
                ensure!(
                    messages.iter().any(|message| holds(message)),
                    "the events are {messages:#?}"
                );
                Ok(())
            },
        )
        .await
    }

    /// The events of a reason on an object, oldest first.
    pub async fn events(&self, uid: &str, reason: &str) -> Result<Vec<Event>> {
        let api: Api<Event> = Api::namespaced(self.cluster.client(), self.namespace);
        let params = ListParams::default().fields(&format!("involvedObject.uid={uid}"));
        let events = api
            .list(&params)
            .await
            .context("listing events")?
            .items
            .into_iter();
        let mut events: Vec<Event> = events
            .filter(|event| event.reason.as_deref() == Some(reason))
            .collect();
        // An event's name ends in the nanoseconds of its making, in hexadecimal.
        events.sort_by_key(|event| event.name_any().rsplit('.').next().map(str::to_owned));
        Ok(events)
    }

    /// Asks for its deletion.
    pub async fn delete(&self) -> Result<()> {
        let policy = json!({
            "apiVersion": API, "kind": KIND,
            "metadata": { "name": self.name, "namespace": self.namespace }
        });
        self.cluster.delete(&policy.to_string()).await
    }

    /// Waits until it is gone.
    pub async fn gone(&self) -> Result<()> {
        self.cluster
            .gone(API, KIND, Some(self.namespace), &self.name, GONE)
            .await
    }

    /// Deletes it and waits until it is gone.
    pub async fn remove(&self) -> Result<()> {
        self.delete().await?;
        self.gone().await
    }
}

fn status(policy: &DynamicObject) -> ObservedStatus {
    ObservedStatus(policy.data.get("status").cloned().unwrap_or_default())
}

/// Whether a text contains every part, one after the other.
fn contains(text: &str, parts: &[&str]) -> bool {
    let mut rest = text;
    parts.iter().all(|part| match rest.split_once(part) {
        Some((_, after)) => {
            rest = after;
            true
        }
        None => false,
    })
}

impl Evaluator {
    /// A policy under test in the namespace of policies; not applied yet.
    pub fn policy(&self, name: &str) -> Subject<'_> {
        Subject::new(self, MANAGED, name)
    }
}
