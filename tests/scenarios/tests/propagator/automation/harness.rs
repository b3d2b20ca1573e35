//! A policy on three clusters, and its automations.

use anyhow::{Context, Result, ensure};
use kube::ResourceExt as _;
use reeve_scenarios::{Hub, Root, Site, Via, label, merge, plain, same, steadily, within};
use reeve_testkit::Object;
use serde_json::{Value, json};

pub(crate) const V1BETA1: &str = "policy.open-cluster-management.io/v1beta1";
pub(crate) const KIND: &str = "PolicyAutomation";
pub(crate) const CLUSTERS: [&str; 3] = ["m1", "m2", "m3"];
pub(crate) const DOMAIN: &str = "millienium-falcon.tatooine.local";
const RERUN: &str = "policy.open-cluster-management.io/rerun";
const AUTOMATION: &str = "policy.open-cluster-management.io/policyautomation-name";
const TOWER: &str = "tower.ansible.com/v1alpha1";

/// A namespace with clusters m1, m2 and m3.
pub(crate) async fn site<'a>(hub: &'a Hub, name: &str) -> Result<Site<'a>> {
    let dns = json!({
        "apiVersion": "config.openshift.io/v1", "kind": "DNS",
        "metadata": { "name": "cluster" }, "spec": { "baseDomain": DOMAIN }
    });
    hub.apply(&dns.to_string()).await?;
    hub.site(name, &CLUSTERS).await
}

/// The policy `policy`, placed on all three through the set `set`.
pub(crate) async fn policy<'a>(site: &'a Site<'a>) -> Result<Root<'a>> {
    let root = site.root("policy");
    root.apply(plain()).await?;
    site.set("set", &["policy"]).await?;
    let choice = site.choice(Via::Placement, "choice");
    choice.make().await?;
    choice.decides(&CLUSTERS).await?;
    choice.bind(&[("PolicySet", "set")]).await?;
    root.replicas_are(&CLUSTERS).await?;
    Ok(root)
}

/// The clusters say this, one after another.
pub(crate) async fn report_all(root: &Root<'_>, clusters: &[&str], compliance: &str) -> Result<()> {
    for cluster in clusters {
        root.reports(cluster, compliance).await?;
    }
    Ok(())
}

/// Waits until the root knows that exactly these clusters violate it, and the others do not.
pub(crate) async fn violated_on(root: &Root<'_>, clusters: &[&str]) -> Result<()> {
    within("the root knows who violates it", || async {
        let status = root.status().await?;
        let entries = status["status"].as_array().cloned().unwrap_or_default();
        let violating: Vec<&str> = entries
            .iter()
            .filter(|entry| entry["compliant"] == "NonCompliant")
            .filter_map(|entry| entry["clustername"].as_str())
            .collect();
        same("the violating clusters", violating, clusters.to_vec())
    })
    .await
}

/// An automation of the policy `policy` in a mode, with more fields of its spec (an object).
pub(crate) async fn automation<'a>(
    site: &'a Site<'a>,
    name: &str,
    mode: &str,
    also: Value,
) -> Result<Automation<'a>> {
    automation_with(site, name, mode, also, json!({})).await
}

/// Like [`automation`], with more fields of its metadata.
pub(crate) async fn automation_with<'a>(
    site: &'a Site<'a>,
    name: &str,
    mode: &str,
    also: Value,
    metadata: Value,
) -> Result<Automation<'a>> {
    let mut object = json!({
        "apiVersion": V1BETA1, "kind": KIND,
        "metadata": { "name": name, "namespace": site.name },
        "spec": {
            "policyRef": "policy", "mode": mode,
            "automationDef": {
                "type": "AnsibleJob", "name": "Policy Compliance Template", "secret": "toweraccess",
                "extra_vars": { "sn_severity": 1, "target_clusters": ["of the user"] }
            }
        }
    });
    merge(&mut object["spec"], also);
    merge(&mut object["metadata"], metadata);
    site.apply(&object.to_string()).await?;
    Ok(Automation {
        site,
        name: name.to_owned(),
    })
}

/// An automation under test.
pub(crate) struct Automation<'a> {
    site: &'a Site<'a>,
    pub(crate) name: String,
}

impl Automation<'_> {
    pub(crate) async fn read(&self) -> Result<Object> {
        let namespace = Some(self.site.name.as_str());
        let found = self.site.get(V1BETA1, KIND, namespace, &self.name).await?;
        found.with_context(|| format!("the automation {} is gone", self.name))
    }

    pub(crate) async fn patch(&self, patch: Value) -> Result<()> {
        let namespace = Some(self.site.name.as_str());
        self.site
            .patch(V1BETA1, KIND, namespace, &self.name, patch)
            .await?;
        Ok(())
    }

    pub(crate) async fn patch_status(&self, patch: Value) -> Result<()> {
        let namespace = Some(self.site.name.as_str());
        self.site
            .patch_status(V1BETA1, KIND, namespace, &self.name, patch)
            .await?;
        Ok(())
    }

    pub(crate) async fn set_mode(&self, mode: &str) -> Result<()> {
        self.patch(json!({ "spec": { "mode": mode } })).await
    }

    pub(crate) async fn delete(&self) -> Result<()> {
        self.site.remove(KIND, &self.name).await
    }

    /// Waits until it is in this mode.
    pub(crate) async fn mode_is(&self, mode: &str) -> Result<()> {
        within(format!("{} is {mode}", self.name), || async {
            let now = self.read().await?.data["spec"]["mode"].clone();
            same("its mode", now, json!(mode))
        })
        .await
    }

    /// Asks for a run, and waits until the request is taken.
    pub(crate) async fn rerun(&self) -> Result<()> {
        self.patch(json!({ "metadata": { "annotations": { RERUN: "true" } } }))
            .await?;
        within("the request is taken", || async {
            let object = self.read().await?;
            ensure!(!object.annotations().contains_key(RERUN), "not yet");
            Ok(())
        })
        .await
    }

    /// What it remembers of a cluster; null if nothing.
    pub(crate) async fn event(&self, cluster: &str) -> Result<Value> {
        let status = self.read().await?.data["status"].clone();
        Ok(status["clustersWithEvent"][self.site.cluster(cluster)].clone())
    }

    /// Its jobs, oldest first.
    pub(crate) async fn jobs(&self) -> Result<Vec<Object>> {
        let jobs = jobs(self.site).await?.into_iter();
        let ours = |job: &Object| {
            let owners = job.metadata.owner_references.iter().flatten();
            let owned = owners
                .map(|owner| owner.name.as_str())
                .any(|name| name == self.name);
            owned || label(job, AUTOMATION) == Some(self.name.as_str())
        };
        Ok(jobs.filter(ours).collect())
    }

    /// The clusters that each of its jobs is for, oldest first.
    pub(crate) async fn targets(&self) -> Result<Vec<Vec<String>>> {
        let jobs = self.jobs().await?;
        Ok(jobs.iter().map(|job| targets(self.site, job)).collect())
    }

    /// Waits until these are the clusters that its jobs are for.
    pub(crate) async fn targets_are(&self, want: &[&[&str]]) -> Result<()> {
        let what = format!("{} has its jobs", self.name);
        within(what, || async {
            same("the targets", self.targets().await?, owned(want))
        })
        .await
    }

    /// These are the clusters that its jobs are for, and no more jobs come.
    pub(crate) async fn targets_stay(&self, want: &[&[&str]]) -> Result<()> {
        self.targets_are(want).await?;
        steadily("there are no more jobs", || async {
            same("the targets", self.targets().await?, owned(want))
        })
        .await
    }
}

fn owned(lists: &[&[&str]]) -> Vec<Vec<String>> {
    let list = |list: &&[&str]| list.iter().map(|name| (*name).to_owned()).collect();
    lists.iter().map(list).collect()
}

/// All jobs in a namespace, oldest first.
pub(crate) async fn jobs(site: &Site<'_>) -> Result<Vec<Object>> {
    let mut jobs = site.list(TOWER, "AnsibleJob", Some(&site.name)).await?;
    // Revisions are in order; times of creation are whole seconds. Nobody changes a job.
    jobs.sort_by_key(|job| job.resource_version().and_then(|v| v.parse::<u64>().ok()));
    Ok(jobs)
}

/// The clusters that a job is for, in its order.
pub(crate) fn targets(site: &Site<'_>, job: &Object) -> Vec<String> {
    let targets = job.data["spec"]["extra_vars"]["target_clusters"].as_array();
    let targets = targets.into_iter().flatten().filter_map(Value::as_str);
    targets.map(|name| site.shortened(name)).collect()
}
