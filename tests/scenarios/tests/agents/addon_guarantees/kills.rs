//! The process is killed at any moment, while policies come, change and go.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use kube::ResourceExt as _;
use reeve_scenarios::{Addon, CONFIGURATION, Random, configuration, install, rule};
use reeve_testkit::{Plane, SOON, eventually};
use serde_json::Value;

use crate::addon_guarantees::steps::{clusters, delete, history_is, put, report, start};

const KILLS: usize = 50;
/// Policies that nobody changes.
const STEADY: usize = 8;
/// Policies that users change all the time.
const CHANGING: usize = 6;
/// Of the changing policies' templates: how many each may have.
const MOST_TEMPLATES: usize = 4;
const RULES: &str = "rules.example.com/v1";
const KINDS: [(&str, &str); 3] = [CONFIGURATION, (RULES, "Rule"), (RULES, "ClusterRule")];
const PARENT: &str = "policy.open-cluster-management.io/policy";

/// A template object: kind and name.
type Object = (String, String);

fn template(kind: usize, name: &str, severity: &str) -> Value {
    let mut template = match KINDS[kind].1 {
        "ConfigurationPolicy" => configuration(name, ""),
        kind => rule(kind, name),
    };
    template["spec"]["severity"] = severity.into();
    template
}

/// The three templates of a steady policy, one of each kind.
fn steady(number: usize) -> Vec<Value> {
    (0..KINDS.len())
        .map(|kind| template(kind, &format!("steady-{number}-{kind}"), "low"))
        .collect()
}

fn names(templates: &[Value]) -> impl Iterator<Item = Object> + '_ {
    templates.iter().map(|template| {
        let text = |path: &str| template.pointer(path).and_then(Value::as_str);
        let text = |path| text(path).unwrap_or_default().to_owned();
        (text("/kind"), text("/metadata/name"))
    })
}

/// All objects on the cluster that are labelled as a policy's, with their uids.
async fn objects(managed: &Plane) -> Result<BTreeMap<Object, (String, i64)>> {
    let mut found = BTreeMap::new();
    for (api_version, kind) in KINDS {
        for object in managed.list(api_version, kind, None).await? {
            if object.labels().contains_key(PARENT) {
                let generation = object.metadata.generation.unwrap_or_default();
                let is = (object.uid().unwrap_or_default(), generation);
                found.insert((kind.to_owned(), object.name_any()), is);
            }
        }
    }
    Ok(found)
}

/// Users who change what they have.
struct Users {
    random: Random,
    /// The changing policies' templates; absent while a policy is deleted.
    policies: BTreeMap<usize, Vec<Value>>,
}

impl Users {
    async fn change_one(&mut self, hub: &Plane) -> Result<()> {
        let number = self.random.below(CHANGING);
        let name = format!("ns.changing{number}");
        if self.random.below(5) == 0 && self.policies.remove(&number).is_some() {
            return delete(hub, &name).await;
        }
        let count = self.random.below(MOST_TEMPLATES + 1);
        let templates: Vec<Value> = (0..count)
            .map(|place| {
                let severity = ["low", "medium", "high"][self.random.below(3)];
                let kind = self.random.below(KINDS.len());
                template(kind, &format!("changing-{number}-{place}"), severity)
            })
            .collect();
        put(hub, &name, "inform", &templates).await?;
        self.policies.insert(number, templates);
        Ok(())
    }

    /// What must be there in the end.
    fn wanted(&self) -> BTreeSet<Object> {
        let changing = self
            .policies
            .values()
            .flat_map(|templates| names(templates));
        let steady: Vec<Vec<Value>> = (0..STEADY).map(steady).collect();
        let steady: Vec<Object> = steady
            .iter()
            .flat_map(|templates| names(templates))
            .collect();
        changing.chain(steady).collect()
    }
}

pub(crate) async fn kills() -> Result<()> {
    let (hub, managed) = clusters().await?;
    for file in ["rules.yaml", "clusterrules.yaml"] {
        install(managed.objects(), file).await?;
    }
    let mut addon = start(hub.kubeconfig(), managed.kubeconfig()).await?;
    let outcome = run_scenario(&hub, &managed, &mut addon).await;
    outcome.with_context(|| {
        let log = addon.log();
        let lines: Vec<&str> = log.lines().collect();
        let last = lines[lines.len().saturating_sub(60)..].join("\n");
        format!("--- the add-on's log ends:\n{last}\n---")
    })
}

async fn run_scenario(hub: &Plane, managed: &Plane, addon: &mut Addon) -> Result<()> {
    for number in 0..STEADY {
        put(
            hub,
            &format!("ns.steady{number}"),
            "inform",
            &steady(number),
        )
        .await?;
    }
    let mut users = Users {
        random: Random::of(20_261_121),
        policies: BTreeMap::new(),
    };
    let before = agreed(managed, &users).await?;

    let mut reports: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    for kill in 0..KILLS {
        users.change_one(hub).await?;
        let number = users.random.below(STEADY);
        let message = format!("{}; after {kill}", ["Compliant", "NonCompliant"][kill % 2]);
        let template = format!("steady-{number}-0");
        report(managed, &format!("ns.steady{number}"), &template, &message).await?;
        reports.entry(number).or_default().insert(0, message);
        let pause = u64::try_from(users.random.below(400))?;
        tokio::time::sleep(Duration::from_millis(pause)).await;
        addon.component().kill().await;
        addon.component().restart()?;
    }

    let after = agreed(managed, &users).await?;
    for (object, was) in &before {
        let is = after.get(object);
        ensure!(is == Some(was), "{object:?} was {was:?} and is {is:?}");
    }
    for (number, mut messages) in reports {
        messages.truncate(10);
        let (name, template) = (format!("ns.steady{number}"), format!("steady-{number}-0"));
        history_is(hub, (&name, &template), &messages).await?;
        history_is(managed, (&name, &template), &messages).await?;
    }
    Ok(())
}

/// Waits until exactly what is wanted is there.
async fn agreed(managed: &Plane, users: &Users) -> Result<BTreeMap<Object, (String, i64)>> {
    let wanted = users.wanted();
    eventually(
        "the template objects are those that are asked for",
        SOON,
        || async {
            let found = objects(managed).await?;
            let names: BTreeSet<Object> = found.keys().cloned().collect();
            let (missing, left): (Vec<_>, Vec<_>) = (
                wanted.difference(&names).collect(),
                names.difference(&wanted).collect(),
            );
            ensure!(
                missing.is_empty() && left.is_empty(),
                "missing: {missing:?}, left over: {left:?}"
            );
            Ok(found)
        },
    )
    .await
}
