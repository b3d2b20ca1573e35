//! PROP-171: writes that the API server refuses for a while.

use std::sync::Arc;

use anyhow::{Result, ensure};
use reeve_scenarios::{Hub, Site, refused, steadily, within};
use serde_json::json;

use crate::automation::harness::{Automation, automation, policy, site, violated_on};

/// Refuses changes of automations in a namespace: of this resource, to these users' requests.
struct StatusReason<'a> {
    site: &'a Site<'a>,
    resource: &'static str,
}

impl<'a> StatusReason<'a> {
    fn text(site: &Site<'_>, resource: &str) -> String {
        let name = &site.name;
        format!(
            "
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {{name: {name}}}
spec:
  failurePolicy: Fail
  matchConstraints:
    resourceRules:
    - apiGroups: [policy.open-cluster-management.io]
      apiVersions: ['*']
      operations: [UPDATE]
      resources: [{resource}]
  validations: [{{expression: 'false', message: nothing is written here}}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {{name: {name}}}
spec:
  policyName: {name}
  validationActions: [Deny]
  matchResources:
    namespaceSelector: {{matchLabels: {{kubernetes.io/metadata.name: {name}}}}}
"
        )
    }

    /// Begins; it works when this returns.
    async fn begin(
        site: &'a Site<'a>,
        resource: &'static str,
        probe: &Automation<'_>,
    ) -> Result<Self> {
        site.apply(&Self::text(site, resource)).await?;
        let refusal = Self { site, resource };
        within("writes are refused", || async {
            refused(refusal.probe(probe).await, "nothing is written here")
        })
        .await?;
        Ok(refusal)
    }

    /// A change that means nothing.
    async fn probe(&self, probe: &Automation<'_>) -> Result<()> {
        if self.resource.ends_with("/status") {
            let nothing = json!({ "status": { "clustersWithEvent": {} } });
            probe.patch_status(nothing).await
        } else {
            let now = jiff::Timestamp::now().to_string();
            let note = json!({ "metadata": { "annotations": { "probed": now } } });
            probe.patch(note).await
        }
    }

    async fn end(self, probe: &Automation<'_>) -> Result<()> {
        let text = Self::text(self.site, self.resource);
        self.site.delete(&text).await?;
        within("writes are accepted", || self.probe(probe)).await
    }
}

/// While nothing can be written there is at most one job for an event, and then exactly one.
async fn one_job(automation: &Automation<'_>) -> Result<()> {
    steadily("there is at most one job", || async {
        let targets = automation.targets().await?;
        ensure!(targets.len() <= 1, "the jobs are for {targets:?}");
        Ok(())
    })
    .await
}

pub(crate) async fn status_refused(hub: Arc<Hub>) -> Result<()> {
    let site = site(&hub, "rough-edge-50-status").await?;
    let root = policy(&site).await?;
    let automation = automation(&site, "automation", "everyEvent", json!({})).await?;
    let probe =
        crate::automation::harness::automation(&site, "probe", "disabled", json!({})).await?;
    let refusal = StatusReason::begin(&site, "policyautomations/status", &probe).await?;
    root.reports("m1", "NonCompliant").await?;
    root.is("NonCompliant").await?;
    one_job(&automation).await?;
    refusal.end(&probe).await?;
    automation.targets_stay(&[&["m1"]]).await?;
    root.reports("m2", "NonCompliant").await?;
    automation.targets_stay(&[&["m1"], &["m2"]]).await
}

pub(crate) async fn mode_refused(hub: Arc<Hub>) -> Result<()> {
    let site = site(&hub, "rough-edge-50-mode").await?;
    let root = policy(&site).await?;
    let automation = automation(&site, "automation", "once", json!({})).await?;
    let probe =
        crate::automation::harness::automation(&site, "probe", "disabled", json!({})).await?;
    // The policy must be its owner already.
    within("the policy owns it", || async {
        ensure!(
            automation.read().await?.metadata.owner_references.is_some(),
            "not yet"
        );
        Ok(())
    })
    .await?;
    let refusal = StatusReason::begin(&site, "policyautomations", &probe).await?;
    root.reports("m1", "NonCompliant").await?;
    root.is("NonCompliant").await?;
    one_job(&automation).await?;
    // Whatever happens meanwhile.
    root.reports("m2", "NonCompliant").await?;
    one_job(&automation).await?;
    refusal.end(&probe).await?;
    automation.mode_is("disabled").await?;
    let targets = automation.targets().await?;
    ensure!(targets.len() == 1, "the jobs are for {targets:?}");
    Ok(())
}

/// How often a cluster is the target of a job.
fn jobs_for(targets: &[Vec<String>], cluster: &str) -> usize {
    let all = targets.iter().flatten();
    all.filter(|target| target.as_str() == cluster).count()
}

/// What another cluster does while nothing can be written is an event all the same.
pub(crate) async fn event_meanwhile(hub: Arc<Hub>) -> Result<()> {
    let site = site(&hub, "rough-edge-50-event").await?;
    let root = policy(&site).await?;
    let automation = automation(&site, "automation", "everyEvent", json!({})).await?;
    let probe =
        crate::automation::harness::automation(&site, "probe", "disabled", json!({})).await?;
    let refusal = StatusReason::begin(&site, "policyautomations/status", &probe).await?;
    root.reports("m1", "NonCompliant").await?;
    root.is("NonCompliant").await?;
    one_job(&automation).await?;
    root.reports("m2", "NonCompliant").await?;
    violated_on(&root, &["m1", "m2"]).await?;
    refusal.end(&probe).await?;
    each_once(&automation, &["m1", "m2"]).await
}

/// A change of the automation while its status cannot be written is no reason to run again.
pub(crate) async fn edited_meanwhile(hub: Arc<Hub>) -> Result<()> {
    let site = site(&hub, "rough-edge-50-edit").await?;
    let root = policy(&site).await?;
    let automation = automation(&site, "automation", "everyEvent", json!({})).await?;
    let probe =
        crate::automation::harness::automation(&site, "probe", "disabled", json!({})).await?;
    let refusal = StatusReason::begin(&site, "policyautomations/status", &probe).await?;
    root.reports("m1", "NonCompliant").await?;
    root.is("NonCompliant").await?;
    for ttl in [1000, 2000] {
        let edit = json!({ "spec": { "automationDef": { "jobTtl": ttl } } });
        automation.patch(edit).await?;
        one_job(&automation).await?;
    }
    refusal.end(&probe).await?;
    each_once(&automation, &["m1"]).await
}

/// Each of these clusters is the target of one job, and stays so.
async fn each_once(automation: &Automation<'_>, clusters: &[&str]) -> Result<()> {
    let check = || async {
        let targets = automation.targets().await?;
        for cluster in clusters {
            let count = jobs_for(&targets, cluster);
            ensure!(count == 1, "{cluster} has {count} jobs: {targets:?}");
        }
        Ok(())
    };
    within("every cluster has its job", check).await?;
    steadily("every cluster has one job", check).await
}
