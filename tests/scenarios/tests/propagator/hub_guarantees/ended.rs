//! How a hub is after a storm.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use kube::ResourceExt as _;
use reeve_scenarios::{Site, label, same, within};
use reeve_templates_engine::encryption::{Encryption, TOKEN_PREFIX, decode_base64};
use reeve_testkit::{AuditEvent, Object, Plane};
use serde_json::{Value, json};

use crate::hub_guarantees::chaos::{Storm, replicas};
use crate::hub_guarantees::model::{CLUSTERS, Model, POLICIES, SET, STEADY};
use crate::hub_guarantees::{IV, KEYS, Propagator};

const V1BETA1: &str = "policy.open-cluster-management.io/v1beta1";
const GENERATION: &str = "policy.open-cluster-management.io/policyautomation-generation";
/// How long the propagator must write nothing.
const QUIET: Duration = Duration::from_secs(8);

pub(crate) fn sorted<'a>(names: &[&'a str]) -> Vec<&'a str> {
    let mut names = names.to_vec();
    names.sort_unstable();
    names
}

/// Waits until the replicas are those that must be, each as it must be.
pub(crate) async fn placed_as_wanted(storm: &Storm<'_>) -> Result<()> {
    let (site, model) = (&storm.site, &storm.model);
    within("the replicas are as they must be", || async {
        let found = replicas(site).await?;
        let mut wanted = BTreeMap::new();
        for policy in POLICIES {
            for cluster in CLUSTERS {
                let spec = model.replica_spec(policy, cluster, &site.cluster(cluster));
                if let Some(spec) = spec {
                    let key = (site.cluster(cluster), format!("{}.{policy}", site.name));
                    wanted.insert(key, (policy, spec));
                }
            }
        }
        let names: BTreeSet<_> = found
            .iter()
            .map(|replica| (replica.namespace().unwrap_or_default(), replica.name_any()))
            .collect();
        let missing: Vec<_> = wanted.keys().filter(|key| !names.contains(*key)).collect();
        let more: Vec<_> = names
            .iter()
            .filter(|key| !wanted.contains_key(*key))
            .collect();
        ensure!(
            missing.is_empty() && more.is_empty(),
            "missing: {missing:?}, too many: {more:?}"
        );
        for replica in &found {
            let key = (replica.namespace().unwrap_or_default(), replica.name_any());
            let (policy, spec) = &wanted[&key];
            let what = format!("the spec of {key:?}");
            same(&what, &readable(site, replica).await?, spec)?;
            let team = model.policies.get(policy).map_or(0, |wanted| wanted.team);
            let team = team.to_string();
            same("its label", label(replica, "team"), Some(team.as_str()))?;
        }
        Ok(())
    })
    .await
}

/// The spec of a replica, with what is encrypted decrypted.
async fn readable(site: &Site<'_>, replica: &Object) -> Result<Value> {
    let mut spec = replica.data["spec"].clone();
    let Some(vector) = reeve_scenarios::annotation(replica, IV) else {
        return Ok(spec);
    };
    let decode = |text: &str| decode_base64(text).map_err(|error| anyhow::anyhow!(error));
    let namespace = replica.namespace();
    let secret = site.get("v1", "Secret", namespace.as_deref(), KEYS).await?;
    let secret = secret.context("its cluster has no key")?;
    let key = decode(secret.data["data"]["key"].as_str().unwrap_or_default())?;
    let encryption = Encryption::new(&key, None, &decode(vector)?)?;
    let definition = spec
        .pointer_mut("/policy-templates/0/objectDefinition")
        .context("it has no template")?;
    let annotations = definition["metadata"]
        .as_object_mut()
        .and_then(|metadata| metadata.remove("annotations"));
    same("the annotations", annotations, Some(json!({ IV: vector })))?;
    let value = definition
        .pointer_mut("/spec/object-templates/0/objectDefinition/data/value")
        .context("it has no value")?;
    let token = value
        .as_str()
        .and_then(|text| text.strip_prefix(TOKEN_PREFIX));
    let plain = encryption.decrypt(token.context("it is not encrypted")?)?;
    *value = json!(plain.as_str());
    Ok(spec)
}

/// Waits until replicas and statuses are as they must be.
pub(crate) async fn as_wanted(storm: &Storm<'_>) -> Result<()> {
    placed_as_wanted(storm).await?;
    let (site, model) = (&storm.site, &storm.model);
    for policy in POLICIES {
        site.root(policy)
            .status_is(model.root_status(policy))
            .await?;
    }
    within("the set has its status", || async {
        let status = site.set_status(SET).await?;
        let status = if status.is_null() { json!({}) } else { status };
        same("its status", status, model.set_status())
    })
    .await
}

/// A propagator that starts now finds nothing to write.
pub(crate) async fn nothing_more_is_written(
    plane: &Plane,
    propagator: &mut Propagator,
    storm: &Storm<'_>,
) -> Result<()> {
    propagator.component.stop().await?;
    tokio::time::sleep(Duration::from_millis(500)).await;
    let mark = plane.audit()?.mark()?;
    propagator.component.restart()?;
    propagator.ready().await?;
    tokio::time::sleep(QUIET).await;
    let events = plane.audit()?.since(mark)?;
    let ours = |event: &&AuditEvent| event.user_agent.starts_with("governance-policy-propagator");
    let reads = events.iter().filter(ours).count();
    ensure!(reads > 5, "it made {reads} requests");
    let writes: Vec<String> = events
        .iter()
        .filter(ours)
        .filter(|event| {
            matches!(
                event.verb.as_str(),
                "create" | "update" | "patch" | "delete"
            )
        })
        .map(|event| {
            let AuditEvent {
                verb,
                resource,
                namespace,
                name,
                ..
            } = event;
            format!("{verb} {resource} {namespace}/{name}")
        })
        .collect();
    ensure!(writes.is_empty(), "it wrote {writes:?}");
    placed_as_wanted(storm).await
}

/// Automations of the steady policy, and what they may have done.
#[derive(Default)]
pub(crate) struct Automations {
    /// How often `once` was switched on.
    armed: usize,
    /// How often each cluster began to violate the policy.
    violations: BTreeMap<&'static str, usize>,
}

impl Automations {
    pub(crate) async fn begin(&mut self, site: &Site<'_>) -> Result<()> {
        for (name, mode) in [("every", "everyEvent"), ("first", "once")] {
            let automation = json!({
                "apiVersion": V1BETA1, "kind": "PolicyAutomation",
                "metadata": { "name": name, "namespace": site.name },
                "spec": {
                    "policyRef": STEADY, "mode": mode,
                    "automationDef": { "type": "AnsibleJob", "name": "job", "secret": "tower" }
                }
            });
            site.apply(&automation.to_string()).await?;
        }
        self.armed = 1;
        Ok(())
    }

    /// Switches `once` on again, if it is off.
    pub(crate) async fn rearm(&mut self, site: &Site<'_>) -> Result<()> {
        let namespace = Some(site.name.as_str());
        let kind = "PolicyAutomation";
        let found = site.get(V1BETA1, kind, namespace, "first").await?;
        let found = found.context("the automation is gone")?;
        if found.data["spec"]["mode"] == "disabled" {
            self.armed += 1;
            let on = json!({ "spec": { "mode": "once" } });
            site.patch(V1BETA1, kind, namespace, "first", on).await?;
        }
        Ok(())
    }

    pub(crate) fn violated(&mut self, cluster: &'static str) {
        *self.violations.entry(cluster).or_default() += 1;
    }

    /// No violation has had two jobs, and none that lasts has had no job.
    pub(crate) async fn ended(&self, site: &Site<'_>, model: &Model) -> Result<()> {
        within("every violation that lasts has its job", || async {
            let jobs = self.jobs(site, "every").await?;
            for cluster in CLUSTERS {
                if model.observed.get(&(STEADY, cluster)) == Some(&"NonCompliant") {
                    ensure!(
                        jobs.iter().any(|job| targets(site, job).contains(cluster)),
                        "{cluster} has none"
                    );
                }
            }
            Ok(())
        })
        .await?;
        let jobs = self.jobs(site, "every").await?;
        for cluster in CLUSTERS {
            let count = jobs
                .iter()
                .filter(|job| targets(site, job).contains(cluster))
                .count();
            let violations = self.violations.get(cluster).copied().unwrap_or_default();
            ensure!(
                count <= violations,
                "{cluster}: {count} jobs for {violations} violations"
            );
        }
        let jobs = self.jobs(site, "first").await?;
        ensure!(
            jobs.len() <= self.armed,
            "{} jobs, {} times",
            jobs.len(),
            self.armed
        );
        let reasons: BTreeSet<_> = jobs
            .iter()
            .map(|job| job.annotations().get(GENERATION))
            .collect();
        same("the reasons of jobs", reasons.len(), jobs.len())?;
        ensure!(!jobs.is_empty(), "no job was run");
        Ok(())
    }

    async fn jobs(&self, site: &Site<'_>, automation: &str) -> Result<Vec<Object>> {
        let jobs = site
            .list("tower.ansible.com/v1alpha1", "AnsibleJob", Some(&site.name))
            .await?;
        let ours = |job: &Object| {
            let name = "policy.open-cluster-management.io/policyautomation-name";
            label(job, name) == Some(automation)
        };
        Ok(jobs.into_iter().filter(ours).collect())
    }
}

fn targets(site: &Site<'_>, job: &Object) -> BTreeSet<String> {
    let targets = job.data["spec"]["extra_vars"]["target_clusters"].as_array();
    let targets = targets.into_iter().flatten().filter_map(Value::as_str);
    targets.map(|name| site.shortened(name)).collect()
}
