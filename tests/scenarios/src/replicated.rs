//! A policy in a cluster's namespace on the hub, its copy, its template objects, and who reports about them.

use anyhow::{Context, Result, ensure};
use jiff::Timestamp;
use kube::api::ListParams;
use kube::{Api, ResourceExt as _};
use reeve_runtime::events::{event_name, unique_now};
use reeve_testkit::{Object, Objects};
use serde_json::{Value, json};

use crate::wait::within;
use crate::{Place, ReportedStatus, holds};

/// API and kind of policies.
pub const POLICY: (&str, &str) = ("policy.open-cluster-management.io/v1", "Policy");
/// API and kind of configuration policies.
pub const CONFIGURATION: (&str, &str) = (POLICY.0, "ConfigurationPolicy");

/// A policy under test.
#[derive(Clone)]
pub struct Replicated<'a> {
    place: Place<'a>,
    name: String,
}

/// A `ConfigurationPolicy` as a template; its spec is good, and has this remediation action unless it is empty.
pub fn configuration(name: &str, remediation: &str) -> Value {
    let mut spec = json!({
        "severity": "low",
        "object-templates": [{
            "complianceType": "musthave",
            "objectDefinition": {
                "apiVersion": "v1", "kind": "ConfigMap",
                "metadata": { "name": name, "namespace": "default" }
            }
        }]
    });
    if !remediation.is_empty() {
        spec["remediationAction"] = json!(remediation);
    }
    json!({
        "apiVersion": CONFIGURATION.0, "kind": CONFIGURATION.1,
        "metadata": { "name": name }, "spec": spec
    })
}

/// A template of a kind of the tests: `ClusterRule` or `Rule`.
pub fn rule(kind: &str, name: &str) -> Value {
    json!({
        "apiVersion": "rules.example.com/v1", "kind": kind,
        "metadata": { "name": name }, "spec": { "severity": "low" }
    })
}

impl<'a> Replicated<'a> {
    pub(crate) fn new(place: Place<'a>, name: &str) -> Self {
        Self {
            place,
            name: name.to_owned(),
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where it is.
    pub fn place(&self) -> Place<'a> {
        self.place
    }

    /// Applies it on the hub with these templates (values of `objectDefinition`), and waits for its copy.
    pub async fn apply(&self, remediation: &str, templates: &[Value]) -> Result<()> {
        let templates = templates.iter();
        let templates: Vec<Value> = templates
            .map(|template| json!({ "objectDefinition": template }))
            .collect();
        let mut spec = json!({ "disabled": false, "policy-templates": templates });
        if !remediation.is_empty() {
            spec["remediationAction"] = json!(remediation);
        }
        self.apply_spec(&spec).await
    }

    /// Applies it on the hub with this spec, whatever it was before, and waits for its copy.
    pub async fn apply_spec(&self, spec: &Value) -> Result<()> {
        self.put(spec).await?;
        self.copied().await
    }

    /// Like [`Replicated::apply_spec`], without waiting.
    pub async fn put(&self, spec: &Value) -> Result<()> {
        let policy = json!({
            "apiVersion": POLICY.0, "kind": POLICY.1,
            "metadata": {
                "name": self.name, "namespace": self.place.hub_namespace,
                "labels": {
                    "policy.open-cluster-management.io/cluster-name": self.place.hub_namespace,
                    "policy.open-cluster-management.io/cluster-namespace": self.place.hub_namespace,
                    "policy.open-cluster-management.io/root-policy": self.name,
                }
            },
            "spec": spec
        });
        self.place.hub.apply(&policy.to_string()).await?;
        Ok(())
    }

    /// Waits until the copy asks for what the hub asks for.
    pub async fn copied(&self) -> Result<()> {
        within(format!("{} is copied", self.name), || async {
            let (hub, copy) = (self.on_hub().await?, self.copy().await?);
            ensure!(
                hub.data["spec"] == copy.data["spec"],
                "its spec is {:#}",
                copy.data["spec"]
            );
            Ok(())
        })
        .await
    }

    /// It as the hub has it.
    pub async fn on_hub(&self) -> Result<Object> {
        let found = self.read(self.place.hub, self.place.hub_namespace).await?;
        found.with_context(|| format!("{} is not on the hub", self.name))
    }

    /// Its copy on the managed cluster.
    pub async fn copy(&self) -> Result<Object> {
        let found = self.read(self.place.managed, self.place.namespace).await?;
        found.with_context(|| format!("{} is not on the managed cluster", self.name))
    }

    async fn read(&self, plane: &Objects, namespace: &str) -> Result<Option<Object>> {
        plane
            .get(POLICY.0, POLICY.1, Some(namespace), &self.name)
            .await
    }

    /// Merge-patches it on the hub.
    pub async fn patch(&self, patch: Value) -> Result<()> {
        let namespace = Some(self.place.hub_namespace);
        let hub = self.place.hub;
        hub.patch(POLICY.0, POLICY.1, namespace, &self.name, patch)
            .await?;
        Ok(())
    }

    /// Merge-patches its copy.
    pub async fn patch_copy(&self, patch: Value) -> Result<()> {
        let namespace = Some(self.place.namespace);
        let managed = self.place.managed;
        managed
            .patch(POLICY.0, POLICY.1, namespace, &self.name, patch)
            .await?;
        Ok(())
    }

    /// Deletes it on the hub.
    pub async fn delete(&self) -> Result<()> {
        let (place, name) = (self.place, &self.name);
        delete(place.hub, POLICY, Some(place.hub_namespace), name).await
    }

    /// Waits until the copy is gone.
    pub async fn gone(&self) -> Result<()> {
        within(format!("the copy of {} is gone", self.name), || async {
            let left = self.read(self.place.managed, self.place.namespace).await?;
            ensure!(left.is_none(), "still there: {left:?}");
            Ok(())
        })
        .await
    }

    /// An object in the policies' namespace on the managed cluster, or a cluster-scoped one.
    pub async fn find(&self, kind: (&str, &str), name: &str) -> Result<Option<Object>> {
        let (managed, namespace) = (self.place.managed, self.place.namespace);
        managed.get(kind.0, kind.1, Some(namespace), name).await
    }

    /// Waits until a `ConfigurationPolicy` exists and satisfies a condition.
    pub async fn template(&self, name: &str, ok: impl Fn(&Object) -> bool) -> Result<Object> {
        self.object(CONFIGURATION, name, ok).await
    }

    /// Waits until an object exists and satisfies a condition.
    pub async fn object(
        &self,
        kind: (&str, &str),
        name: &str,
        ok: impl Fn(&Object) -> bool,
    ) -> Result<Object> {
        within(format!("{} {name}", kind.1), || async {
            let found = self.find(kind, name).await?;
            let object = found.with_context(|| format!("no {name}"))?;
            ensure!(ok(&object), "it is {object:#?}");
            Ok(object)
        })
        .await
    }

    /// Waits until there is no object of this name.
    pub async fn no_object(&self, kind: (&str, &str), name: &str) -> Result<()> {
        within(format!("no {} {name}", kind.1), || async {
            let left = self.find(kind, name).await?;
            ensure!(left.is_none(), "there is: {left:?}");
            Ok(())
        })
        .await
    }

    /// Deletes an object of the managed cluster, if it is there.
    pub async fn delete_object(&self, kind: (&str, &str), name: &str) -> Result<()> {
        delete(self.place.managed, kind, Some(self.place.namespace), name).await
    }

    /// Reports about a template, as an evaluator does; returns the event's name.
    pub async fn report(&self, template: &str, message: &str) -> Result<String> {
        let at = unique_now();
        let name = event_name(&self.name, at);
        self.event(&name, template, message, (at, 1)).await?;
        Ok(name)
    }

    /// An event about a template by name, last seen then and this often, as a classic recorder makes them.
    pub async fn event(
        &self,
        name: &str,
        template: &str,
        message: &str,
        (at, count): (Timestamp, i32),
    ) -> Result<()> {
        let uid = self.copy().await?.uid().context("a policy without UID")?;
        let namespace = self.place.namespace;
        let compliant = message.contains("Compliant") && !message.contains("NonCompliant");
        let at = at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        let event = json!({
            "apiVersion": "v1", "kind": "Event",
            "metadata": { "name": name, "namespace": namespace },
            "involvedObject": {
                "apiVersion": POLICY.0, "kind": POLICY.1,
                "name": self.name, "namespace": namespace, "uid": uid
            },
            "reason": format!("policy: {namespace}/{template}"),
            "message": message,
            "type": if compliant { "Normal" } else { "Warning" },
            "count": count,
            "firstTimestamp": at, "lastTimestamp": at,
            "source": { "component": "scenarios", "host": "here" }
        });
        self.place.managed.apply(&event.to_string()).await?;
        Ok(())
    }

    /// Deletes the events about its templates.
    pub async fn forget_events(&self) -> Result<()> {
        for event in self.events().await? {
            let about_template = event.data["reason"]
                .as_str()
                .is_some_and(|reason| reason.starts_with("policy:"));
            if about_template {
                let (place, name) = (self.place, event.name_any());
                delete(place.managed, ("v1", "Event"), Some(place.namespace), &name).await?;
            }
        }
        Ok(())
    }

    /// All events about it on the managed cluster.
    pub async fn events(&self) -> Result<Vec<Object>> {
        events(self.place.managed, self.place.namespace, &self.name).await
    }

    /// The messages of all events about it on the managed cluster.
    pub async fn observed(&self) -> Result<Vec<String>> {
        Ok(messages(&self.events().await?))
    }

    /// The messages of all events about it on the hub.
    pub async fn observed_on_hub(&self) -> Result<Vec<String>> {
        let place = self.place;
        Ok(messages(
            &events(place.hub, place.hub_namespace, &self.name).await?,
        ))
    }

    /// Waits until some event about it contains this; returns the messages that do.
    pub async fn reports(&self, part: &str) -> Result<Vec<String>> {
        within(format!("{} reports {part:?}", self.name), || async {
            let observed = self.observed().await?;
            let with: Vec<_> = observed
                .iter()
                .filter(|observed| observed.contains(part))
                .collect();
            ensure!(!with.is_empty(), "the status is {observed:#?}");
            Ok(with.into_iter().cloned().collect())
        })
        .await
    }

    /// What its status publishes on both sides, which must be the same.
    pub async fn reported(&self) -> Result<ReportedStatus> {
        let status = |policy: Object| policy.data.get("status").cloned().unwrap_or_default();
        let (hub, copy) = (self.on_hub().await?, self.copy().await?);
        let (hub, copy) = (status(hub), status(copy));
        ensure!(hub == copy, "the hub's is {hub:#}, the copy's {copy:#}");
        Ok(ReportedStatus(copy))
    }

    /// Waits until both statuses satisfy a condition.
    pub async fn until(
        &self,
        what: &str,
        ok: impl Fn(&ReportedStatus) -> bool,
    ) -> Result<ReportedStatus> {
        within(format!("{}: {what}", self.name), || async {
            let reported = self.reported().await?;
            ensure!(ok(&reported), "its status is {reported}");
            Ok(reported)
        })
        .await
    }

    /// Waits until both statuses have this overall compliance.
    pub async fn is(&self, compliance: &str) -> Result<ReportedStatus> {
        self.until(compliance, |reported| reported.compliance() == compliance)
            .await
    }

    /// The copy's status satisfies a condition, and stays so.
    pub async fn stays(&self, what: &str, ok: impl Fn(&ReportedStatus) -> bool) -> Result<()> {
        holds(what, || async {
            let status = self.copy().await?.data.get("status").cloned();
            let reported = ReportedStatus(status.unwrap_or_default());
            ensure!(ok(&reported), "its status is {reported}");
            Ok(())
        })
        .await
    }
}

async fn events(plane: &Objects, namespace: &str, policy: &str) -> Result<Vec<Object>> {
    let (kind, _) = plane.kind("v1", "Event").await?;
    let api: Api<Object> = Api::namespaced_with(plane.client(), namespace, &kind);
    let about = ListParams::default().fields(&format!("involvedObject.name={policy}"));
    let events = api.list(&about).await;
    Ok(events
        .with_context(|| format!("listing the events of {policy}"))?
        .items)
}

fn messages(events: &[Object]) -> Vec<String> {
    let text = |event: &Object| event.data["message"].as_str().map(str::to_owned);
    events.iter().filter_map(text).collect()
}

async fn delete(
    plane: &Objects,
    (api_version, kind): (&str, &str),
    namespace: Option<&str>,
    name: &str,
) -> Result<()> {
    let object = json!({
        "apiVersion": api_version, "kind": kind,
        "metadata": { "name": name, "namespace": namespace }
    });
    plane.delete(&object.to_string()).await
}

impl<'a> Place<'a> {
    /// A policy under test; not applied yet.
    pub fn policy(&self, name: &str) -> Replicated<'a> {
        Replicated::new(*self, name)
    }
}
