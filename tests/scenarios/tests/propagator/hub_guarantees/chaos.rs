//! Everything changes while the propagator is killed again and again, and the API server with it; in the end the hub is
//! as if nobody had been killed.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use kube::ResourceExt as _;
use reeve_scenarios::{Random, Site, Via, install_test_crds, within};
use reeve_testkit::{Object, Objects, Plane};
use serde_json::{Value, json};

use crate::hub_guarantees::ended::{Automations, as_wanted, nothing_more_is_written};
use crate::hub_guarantees::model::{
    BINDINGS, CLUSTERS, EXCLUDED, Model, POLICIES, SET, STEADY, secret, setting,
};
use crate::hub_guarantees::{Propagator, V1, plane};

/// How often the propagator is killed while there is one.
const KILLS: usize = 50;
/// After so many kills the API server is killed too.
const PER_OUTAGE: usize = 10;
/// How often the leader of two is killed.
const TAKEOVERS: usize = 3;
const NAME: &str = "chaos";

/// The users of a hub, and its addons.
pub(crate) struct Storm<'a> {
    pub(crate) site: Site<'a>,
    pub(crate) model: Model,
    pub(crate) automations: Automations,
    random: Random,
}

pub(crate) async fn chaos() -> Result<()> {
    let mut plane = plane("chaos").await?;
    install_test_crds(&plane).await?;
    let objects: Objects = plane.objects().clone();
    let mut storm = Storm {
        site: Site::open(&objects, NAME, &CLUSTERS).await?,
        model: Model::default(),
        automations: Automations::default(),
        random: Random::of(20_261_121),
    };
    let mut propagator = Propagator::start(&plane, &[], &[]).await?;
    storm.begin().await?;
    let outcome = alone(&mut plane, &mut storm, &mut propagator).await;
    propagator.with_log(outcome)?;
    propagator.component.stop().await?;
    drop(propagator);

    let lease = format!("--leader-election-namespace={NAME}");
    let flags = ["--leader-elect", lease.as_str()];
    let mut first = Propagator::start(&plane, &flags, &[]).await?;
    storm.wait_until_observed().await?;
    let mut second = Propagator::start(&plane, &flags, &[]).await?;
    let outcome = two(&mut storm, &mut first, &mut second).await;
    let outcome = second.with_log(outcome);
    first.with_log(outcome)
}

/// One propagator, killed at moments that differ from kill to kill.
async fn alone(
    plane: &mut Plane,
    storm: &mut Storm<'_>,
    propagator: &mut Propagator,
) -> Result<()> {
    for kill in 1..=KILLS {
        for _ in 0..=storm.random.below(5) {
            storm.change().await?;
        }
        let after = storm.random.below(700);
        tokio::time::sleep(Duration::from_millis(u64::try_from(after)?)).await;
        propagator.component.kill().await;
        if storm.random.below(3) == 0 {
            // What happens while there is none.
            storm.change().await?;
        }
        propagator.component.restart()?;
        if kill % PER_OUTAGE == 0 {
            plane.kill_apiserver();
            tokio::time::sleep(Duration::from_millis(300)).await;
            plane.restart_apiserver().await?;
            storm.answered().await?;
            // Without an API server a start fails; somebody starts it again, as a kubelet would.
            if propagator.component.status()?.is_some() {
                propagator.component.restart()?;
            }
        }
    }
    propagator.ready().await?;
    storm.end().await?;
    nothing_more_is_written(plane, propagator, storm).await
}

/// Two propagators; whichever leads is killed.
async fn two(storm: &mut Storm<'_>, first: &mut Propagator, second: &mut Propagator) -> Result<()> {
    for takeover in 0..TAKEOVERS {
        for _ in 0..10 {
            storm.change().await?;
        }
        let leader = if takeover % 2 == 0 {
            &mut *first
        } else {
            &mut *second
        };
        leader.component.kill().await;
        storm.change().await?;
        leader.component.restart()?;
        for _ in 0..10 {
            storm.change().await?;
        }
        storm.wait_until_observed().await?;
    }
    storm.end().await
}

impl Storm<'_> {
    /// What there is at the beginning.
    async fn begin(&mut self) -> Result<()> {
        self.model.members = ["p1", "p2"].into();
        self.read().await?;
        for policy in POLICIES {
            self.write(policy).await?;
        }
        self.site.set(SET, &["p1", "p2"]).await?;
        for binding in &BINDINGS {
            let choice = self.site.choice(Via::Placement, binding.name);
            choice.make().await?;
            self.decide(binding.name).await?;
            self.bind(binding.name).await?;
        }
        self.site
            .placed(Via::Placement, "steady", STEADY, &CLUSTERS)
            .await?;
        let steady = self.site.root(STEADY);
        steady
            .replicas_are(&crate::hub_guarantees::ended::sorted(&CLUSTERS))
            .await?;
        self.automations.begin(&self.site).await
    }

    /// One change of something.
    async fn change(&mut self) -> Result<()> {
        match self.random.below(12) {
            0 => self.toggle().await,
            1 | 2 => {
                let binding = self.random.one(&BINDINGS.each_ref()).name;
                self.decide(binding).await
            }
            3 => {
                let policy = self.random.one(&POLICIES);
                self.model.policies.entry(policy).or_default().edit += 1;
                self.write(policy).await
            }
            4 => {
                let policy = self.random.one(&POLICIES);
                self.model.policies.entry(policy).or_default().team = self.random.below(5);
                self.write(policy).await
            }
            5 => {
                // All but the steady one.
                let policy = self.random.one(&POLICIES[..5]);
                let wanted = self.model.policies.entry(policy).or_default();
                wanted.disabled = !wanted.disabled;
                self.write(policy).await
            }
            6 => self.regroup().await,
            7 => {
                self.model.setting += 1;
                self.model.secret += 1;
                self.read().await
            }
            8 => self.write_as_other_user().await,
            9 => self.automations.rearm(&self.site).await,
            _ => {
                let cluster = self.random.one(&CLUSTERS);
                let compliance = self.random.one(&["NonCompliant", "Compliant"]);
                self.report(STEADY, cluster, compliance).await
            }
        }
    }

    async fn toggle(&mut self) -> Result<()> {
        let binding = self.random.one(&BINDINGS.each_ref()).name;
        if self.model.bound.remove(binding) {
            return self.site.unbind(binding).await;
        }
        self.bind(binding).await
    }

    async fn bind(&mut self, name: &'static str) -> Result<()> {
        let binding = BINDINGS.iter().find(|binding| binding.name == name);
        let binding = binding.context("no such binding")?;
        let mut also = json!({});
        if binding.enforces {
            also["bindingOverrides"] = json!({ "remediationAction": "enforce" });
        }
        if binding.restricted {
            also["subFilter"] = json!("restricted");
        }
        self.model.bound.insert(name);
        let choice = self.site.choice(Via::Placement, name);
        self.site.bind(name, &choice, binding.subjects, also).await
    }

    async fn decide(&mut self, binding: &'static str) -> Result<()> {
        let clusters = self.random.some(&CLUSTERS);
        let list: Vec<&str> = clusters.iter().copied().collect();
        self.model.decisions.insert(binding, clusters);
        let choice = self.site.choice(Via::Placement, binding);
        choice.decides(&list).await
    }

    async fn regroup(&mut self) -> Result<()> {
        self.model.members = self.random.some(&["p1", "p2", "p3"]);
        self.model.excluded = self.random.some(&["m0", "m1", "m2", "m3"]);
        let members: Vec<&str> = self.model.members.iter().copied().collect();
        let excluded: Vec<&str> = self.model.excluded.iter().copied().collect();
        if excluded.is_empty() {
            return self.site.set(SET, &members).await;
        }
        let exclusions = [(EXCLUDED, excluded.as_slice())];
        self.site.set_without(SET, &members, &exclusions).await
    }

    /// Writes what templates read.
    async fn read(&self) -> Result<()> {
        let value = setting(self.model.setting);
        let map = json!({ "key": value });
        self.site.config_map("settings", map).await?;
        let data = json!({ "key": secret(self.model.secret) });
        self.site.secret("source", data).await
    }

    async fn write(&self, policy: &str) -> Result<()> {
        let team = self
            .model
            .policies
            .get(policy)
            .map_or(0, |wanted| wanted.team);
        let labels = json!({ "team": team.to_string() });
        let root = self.site.root(policy);
        let spec = self.model.root_spec(policy);
        root.apply_with(labels, json!({}), spec).await
    }

    /// Somebody changes or deletes a replica.
    async fn write_as_other_user(&mut self) -> Result<()> {
        let replicas = replicas(&self.site).await?;
        let others: Vec<&Object> = replicas
            .iter()
            .filter(|replica| !replica.name_any().ends_with(STEADY))
            .collect();
        if others.is_empty() {
            return Ok(());
        }
        let replica = others[self.random.below(others.len())];
        let (namespace, name) = (replica.namespace().unwrap_or_default(), replica.name_any());
        let outcome = if self.random.below(2) == 0 {
            let object = json!({
                "apiVersion": V1, "kind": "Policy",
                "metadata": { "name": name, "namespace": namespace }
            });
            self.site.delete(&object.to_string()).await
        } else {
            let patch =
                json!({ "spec": { "remediationAction": "inform", "policy-templates": [] } });
            let patched = self
                .site
                .patch(V1, "Policy", Some(&namespace), &name, patch)
                .await;
            patched.map(drop)
        };
        ignore_not_found(outcome)
    }

    /// The addon of a cluster reports this of a policy, if there is one.
    pub(crate) async fn report(
        &mut self,
        policy: &'static str,
        cluster: &'static str,
        compliance: &'static str,
    ) -> Result<()> {
        let before = self.model.observed.insert((policy, cluster), compliance);
        if policy == STEADY && compliance == "NonCompliant" && before != Some(compliance) {
            self.automations.violated(cluster);
        }
        let namespace = self.site.cluster(cluster);
        let name = format!("{NAME}.{policy}");
        let patch: Value = json!({ "status": { "compliant": compliance } });
        let observed = self
            .site
            .patch_status(V1, "Policy", Some(&namespace), &name, patch)
            .await;
        observed.map(drop)
    }

    /// Waits until somebody has followed a change.
    async fn wait_until_observed(&mut self) -> Result<()> {
        self.model.policies.entry(STEADY).or_default().edit += 1;
        self.write(STEADY).await?;
        let edit = self.model.policies[STEADY].edit.to_string();
        let root = self.site.root(STEADY);
        let path = "/policy-templates/0/objectDefinition/spec/object-templates/0/objectDefinition/data/edit";
        let check = |replica: &Object| {
            let now = replica.data["spec"].pointer(path);
            ensure!(now == Some(&json!(edit)), "the edit is {now:?}");
            Ok(())
        };
        root.until("m0", "the change is followed", check).await?;
        Ok(())
    }

    /// Waits until the API server answers.
    async fn answered(&self) -> Result<()> {
        within("the API server answers", || async {
            replicas(&self.site).await?;
            Ok(())
        })
        .await
    }

    /// The storm is over: every cluster reports its last word, and everything is as it must be.
    async fn end(&mut self) -> Result<()> {
        self.answered().await?;
        crate::hub_guarantees::ended::placed_as_wanted(self).await?;
        for (p, policy) in POLICIES.into_iter().enumerate() {
            for (c, cluster) in CLUSTERS.into_iter().enumerate() {
                if self.model.placed(policy, cluster).is_none() {
                    self.model.observed.remove(&(policy, cluster));
                    continue;
                }
                let states = ["Compliant", "NonCompliant", "Pending", "Compliant"];
                let compliance = states[(p + c * c) % if p == 0 { 1 } else { 4 }];
                self.report(policy, cluster, compliance).await?;
            }
        }
        as_wanted(self).await?;
        self.automations.ended(&self.site, &self.model).await
    }
}

fn ignore_not_found(outcome: Result<()>) -> Result<()> {
    match outcome {
        Err(error) if format!("{error:#}").contains("not found") => Ok(()),
        outcome => outcome,
    }
}

/// All replicas on the hub.
pub(crate) async fn replicas(site: &Site<'_>) -> Result<Vec<Object>> {
    let policies = site.list(V1, "Policy", None).await?;
    let replica = |policy: &Object| policy.namespace().as_deref() != Some(NAME);
    Ok(policies.into_iter().filter(replica).collect())
}
