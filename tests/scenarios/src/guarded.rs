//! A managed cluster with Gatekeeper, played or real, and the addon; policies are given to it on the hub.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use kube::ResourceExt as _;
use reeve_testkit::{
    Gatekeeper, Object, Objects, Plane, PlaneOptions, WEBHOOK, WEBHOOK_CONFIGURATION, World,
    WorldOptions, install_gatekeeper_crds,
};
use serde_json::{Value, json};
use tokio::sync::{Mutex, MutexGuard, OnceCell};

use crate::evaluator::{key, rendered};
use crate::governed::history;
use crate::script::{CONSTRAINTS, Script, TEMPLATES};
use crate::{Addon, make_namespace, within};

const V1: &str = "policy.open-cluster-management.io/v1";

/// How long a policy may take to go.
const GOING: Duration = Duration::from_mins(1);

/// The namespaces of the two addons that share the managed cluster.
pub const NAMESPACES: [&str; 2] = ["guarded", "beside"];

/// A hub, and a managed cluster with the CRDs of Gatekeeper, which a [`Script`] plays. Two addons work on it, each for a
/// namespace of its own.
pub struct Guarded {
    addons: Vec<Addon>,
    _script: Script,
    /// The managed cluster.
    pub managed: Plane,
    /// The hub.
    pub hub: Plane,
    webhook: Mutex<()>,
    real: OnceCell<Real>,
}

/// A whole world whose cluster `c1` has a real Gatekeeper.
pub struct Real {
    /// The running Gatekeeper.
    pub gatekeeper: Gatekeeper,
    /// The world.
    pub world: World,
}

impl Guarded {
    /// Starts everything; it is ready when this returns.
    pub async fn start() -> Result<Self> {
        let (hub, managed) = futures::try_join!(plane("hub"), plane("managed"))?;
        install_gatekeeper_crds(&managed).await?;
        name_webhook(&managed, WEBHOOK).await?;
        let script = Script::start(managed.objects().clone());
        let mut addons = Vec::new();
        for name in NAMESPACES {
            addons.push(addon(&hub, &managed, name, &[]).await?);
        }
        Ok(Self {
            addons,
            _script: script,
            managed,
            hub,
            webhook: Mutex::new(()),
            real: OnceCell::new(),
        })
    }

    /// A policy for the first addon; not applied yet.
    pub fn policy(&self, name: &str) -> Guard<'_> {
        self.policy_in(NAMESPACES[0], name)
    }

    /// A policy for the addon of a namespace; not applied yet.
    pub fn policy_in(&self, namespace: &str, name: &str) -> Guard<'_> {
        Guard {
            hub: &self.hub,
            managed: &self.managed,
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        }
    }

    /// Who holds this is alone with the configuration of the webhook, which is on. Scenarios in which a constraint
    /// denies hold it.
    pub async fn webhook(&self) -> MutexGuard<'_, ()> {
        self.webhook.lock().await
    }

    /// The world with the real Gatekeeper, started when a scenario asks for it.
    pub async fn real(&self) -> Result<&Real> {
        self.real.get_or_try_init(Real::start).await
    }

    /// What there is of a scenario, and what the addons have logged of it.
    pub async fn dump(&self, scenario: &str) -> String {
        let key = key(scenario);
        let key = key.trim_end_matches('-');
        let mut text = String::new();
        for (who, objects) in [
            ("hub", self.hub.objects()),
            ("managed", self.managed.objects()),
        ] {
            text = format!("{text}--- {who}:\n{}", of_scenario(objects, key).await);
        }
        for (name, addon) in NAMESPACES.iter().zip(&self.addons) {
            text += &ending(name, &addon.log(), key);
        }
        if let Some(real) = self.real.get() {
            text += &real.world.logs();
            text += &ending("Gatekeeper", &real.gatekeeper.log(), "");
        }
        text
    }
}

impl Real {
    async fn start() -> Result<Self> {
        let world = World::start(WorldOptions {
            clusters: vec!["c1"],
            ..WorldOptions::default()
        })
        .await?;
        let cluster = &world.cluster("c1")?.plane;
        install_gatekeeper_crds(cluster).await?;
        let gatekeeper = Gatekeeper::start(cluster).await?;
        Ok(Self { gatekeeper, world })
    }
}

fn ending(who: &str, log: &str, key: &str) -> String {
    let lines: Vec<&str> = log.lines().filter(|line| line.contains(key)).collect();
    let last = lines[lines.len().saturating_sub(40)..].join("\n");
    format!("--- the log of {who} of {key}* ends:\n{last}\n")
}

async fn of_scenario(objects: &Objects, key: &str) -> String {
    let mut text = String::new();
    for (api_version, kind) in [
        (V1, "Policy"),
        (TEMPLATES, "ConstraintTemplate"),
        ("v1", "Event"),
    ] {
        let found = objects
            .list(api_version, kind, None)
            .await
            .unwrap_or_default();
        let about = |object: &&Object| {
            let involved = object.data["involvedObject"]["name"]
                .as_str()
                .unwrap_or_default();
            let prefix = key.replace('-', "");
            [object.name_any().as_str(), involved]
                .iter()
                .any(|name| name.starts_with(key) || name.starts_with(&prefix))
        };
        text.extend(found.iter().filter(about).map(rendered));
    }
    text
}

/// A plane with the CRDs of the product.
pub async fn plane(name: &'static str) -> Result<Plane> {
    let plane = Plane::start(PlaneOptions {
        name,
        ..PlaneOptions::default()
    })
    .await?;
    plane.install_crds().await?;
    Ok(plane)
}

/// Makes the configuration of the webhook, whose entry that validates has this name.
pub async fn name_webhook(managed: &Plane, name: &str) -> Result<()> {
    managed.apply(&webhook(name).to_string()).await?;
    Ok(())
}

/// The configuration of a webhook that nothing is sent to, with an entry of this name.
fn webhook(name: &str) -> Value {
    let entry = |name: &str| {
        json!({
            "name": name, "admissionReviewVersions": ["v1"], "sideEffects": "None", "failurePolicy": "Ignore",
            "clientConfig": { "url": "https://127.0.0.1:1/v1/admit" },
            "rules": [{
                "apiGroups": ["nobody.example.com"], "apiVersions": ["*"], "operations": ["CREATE"], "resources": ["*"]
            }]
        })
    };
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": { "name": WEBHOOK_CONFIGURATION },
        "webhooks": [entry(name), entry("check-ignore-label.gatekeeper.sh")]
    })
}

/// Starts an addon for a namespace, which is made on both clusters, with more flags; it is ready when this returns.
pub async fn addon(hub: &Plane, managed: &Plane, name: &str, flags: &[&str]) -> Result<Addon> {
    futures::try_join!(make_namespace(hub, name), make_namespace(managed, name))?;
    let fixed = [
        format!("--cluster-namespace={name}"),
        format!("--hub-cluster-configfile={}", hub.kubeconfig().display()),
        format!(
            "--managed-cluster-configfile={}",
            managed.kubeconfig().display()
        ),
    ];
    let fixed: Vec<&str> = fixed.iter().map(String::as_str).collect();
    // Each has a Deployment of its own name, so that one can be uninstalled.
    let env = [("DEPLOYMENT_NAME", name)];
    Addon::start(&[&fixed, flags].concat(), &env)?.ready().await
}

/// A policy under test, as the propagator would make it on the hub.
pub struct Guard<'a> {
    hub: &'a Plane,
    managed: &'a Plane,
    namespace: String,
    name: String,
}

impl<'a> Guard<'a> {
    /// One in a namespace of two planes.
    pub fn new(hub: &'a Plane, managed: &'a Plane, namespace: &str, name: &str) -> Self {
        Self {
            hub,
            managed,
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        }
    }

    /// Applies it on the hub with these templates: entries of `policy-templates`, or objects alone. An empty action
    /// is none.
    pub async fn apply(&self, action: &str, templates: &[Value]) -> Result<()> {
        let entry = |template: &Value| match template.get("objectDefinition") {
            Some(_) => template.clone(),
            None => json!({ "objectDefinition": template }),
        };
        let entries: Vec<Value> = templates.iter().map(entry).collect();
        let mut spec = json!({ "disabled": false, "policy-templates": entries });
        if !action.is_empty() {
            spec["remediationAction"] = json!(action);
        }
        let policy = json!({
            "apiVersion": V1, "kind": "Policy",
            "metadata": {
                "name": self.name, "namespace": self.namespace,
                "labels": {
                    "policy.open-cluster-management.io/cluster-name": self.namespace,
                    "policy.open-cluster-management.io/cluster-namespace": self.namespace
                }
            },
            "spec": spec
        });
        self.hub.apply(&policy.to_string()).await?;
        Ok(())
    }

    /// Deletes it on the hub.
    pub async fn delete(&self) -> Result<()> {
        let policy = json!({
            "apiVersion": V1, "kind": "Policy",
            "metadata": { "name": self.name, "namespace": self.namespace }
        });
        self.hub.delete(&policy.to_string()).await
    }

    /// Deletes it on the hub and waits until it is gone from the managed cluster.
    pub async fn remove(&self) -> Result<()> {
        self.delete().await?;
        self.managed
            .gone(V1, "Policy", Some(&self.namespace), &self.name, GOING)
            .await
    }

    /// It on the managed cluster.
    pub async fn read(&self) -> Result<Object> {
        let found = self
            .managed
            .get(V1, "Policy", Some(&self.namespace), &self.name)
            .await?;
        found.with_context(|| format!("the policy {} is not there", self.name))
    }

    /// The messages of a template on the managed cluster, newest first.
    pub async fn history(&self, template: &str) -> Result<Vec<String>> {
        Ok(history(&self.read().await?, template))
    }

    /// Waits until this is the newest message of a template on the managed cluster.
    pub async fn reports(&self, template: &str, message: &str) -> Result<()> {
        self.reports_one_of(template, &[message]).await
    }

    /// Waits until the newest message of a template is one of these.
    pub async fn reports_one_of(&self, template: &str, messages: &[&str]) -> Result<()> {
        let what = format!("{}/{template} reports {messages:#?}", self.name);
        within(what, || async {
            let history = self.history(template).await?;
            let newest = history.first().map_or("", String::as_str);
            ensure!(messages.contains(&newest), "the history is {history:#?}");
            Ok(())
        })
        .await
    }

    /// The same on the hub.
    pub async fn hub_reports(&self, template: &str, message: &str) -> Result<()> {
        let what = format!(
            "the status on the hub has {message:?} of {}/{template}",
            self.name
        );
        within(what, || async {
            let found = self
                .hub
                .get(V1, "Policy", Some(&self.namespace), &self.name)
                .await?;
            let history = history(&found.context("absent")?, template);
            ensure!(
                history.first().is_some_and(|newest| newest == message),
                "the history is {history:#?}"
            );
            Ok(())
        })
        .await
    }

    /// Waits until its compliance on the managed cluster is this.
    pub async fn is(&self, compliance: &str) -> Result<()> {
        within(format!("{} is {compliance}", self.name), || async {
            let status = self.read().await?.data["status"].clone();
            ensure!(
                status["compliant"] == compliance,
                "its status is {status:#}"
            );
            Ok(())
        })
        .await
    }

    /// The events about it on the managed cluster whose message begins with a compliance, oldest first.
    pub async fn events(&self) -> Result<Vec<Object>> {
        let all = self
            .managed
            .list("v1", "Event", Some(&self.namespace))
            .await?;
        let mut events: Vec<Object> = all
            .into_iter()
            .filter(|event| {
                let reason = event.data["reason"].as_str().unwrap_or_default();
                event.data["involvedObject"]["name"] == self.name && reason.starts_with("policy:")
            })
            .collect();
        // Nanoseconds in hexadecimal digits, all of one length.
        events.sort_by_key(Object::name_any);
        Ok(events)
    }

    /// The messages of [`Guard::events`] about a cluster-scoped template.
    pub async fn reported(&self, template: &str) -> Result<Vec<String>> {
        let reason = format!("policy: {template}");
        let events = self.events().await?;
        let about = events.iter().filter(|event| event.data["reason"] == reason);
        Ok(about
            .map(|event| {
                event.data["message"]
                    .as_str()
                    .unwrap_or_default()
                    .to_owned()
            })
            .collect())
    }

    /// Waits until its object of a cluster-scoped kind exists, and returns it.
    pub async fn object(&self, api_version: &str, kind: &str, name: &str) -> Result<Object> {
        within(format!("{kind} {name} is there"), || async {
            let found = self
                .managed
                .get(api_version, kind, None, name)
                .await?
                .context("absent")?;
            ensure!(found.metadata.deletion_timestamp.is_none(), "it is going");
            Ok(found)
        })
        .await
    }

    /// Waits until it has made a template.
    pub async fn template(&self, kind: &str) -> Result<Object> {
        self.object(TEMPLATES, "ConstraintTemplate", &kind.to_lowercase())
            .await
    }

    /// Waits until it has made a constraint.
    pub async fn constraint(&self, kind: &str, name: &str) -> Result<Object> {
        self.object(CONSTRAINTS, kind, name).await
    }

    /// Waits until a constraint has this enforcement action.
    pub async fn wait_for_remediation(&self, kind: &str, name: &str, action: &str) -> Result<()> {
        within(format!("{kind} {name} does {action}"), || async {
            let found = self
                .managed
                .get(CONSTRAINTS, kind, None, name)
                .await?
                .context("absent")?;
            let now = &found.data["spec"]["enforcementAction"];
            ensure!(now == action, "it does {now}");
            Ok(())
        })
        .await
    }

    /// Waits until there is no such object of a kind that has been waited for before.
    pub async fn lost(&self, api_version: &str, kind: &str, name: &str) -> Result<()> {
        self.managed
            .gone(api_version, kind, None, name, GOING)
            .await
    }
}

/// A template of constraints that forbid `ConfigMap`s with a certain key.
pub fn template(kind: &str) -> Value {
    let name = kind.to_lowercase();
    let rego = format!(
        "package {name}\n\
         violation[{{\"msg\": msg}}] {{\n  \
           input.review.object.data[input.parameters.forbidden]\n  \
           msg := sprintf(\"the key %v is forbidden\", [input.parameters.forbidden])\n\
         }}\n"
    );
    json!({
        "apiVersion": TEMPLATES, "kind": "ConstraintTemplate",
        "metadata": { "name": name },
        "spec": {
            "crd": { "spec": {
                "names": { "kind": kind },
                "validation": { "openAPIV3Schema": {
                    "type": "object", "properties": { "forbidden": { "type": "string" } }
                } }
            } },
            "targets": [{ "target": "admission.k8s.gatekeeper.sh", "rego": rego }]
        }
    })
}

/// The same with an annotation for the script.
pub fn annotated(kind: &str, annotation: &str) -> Value {
    let mut template = template(kind);
    template["metadata"]["annotations"] = json!({ annotation: "true" });
    template
}

/// A constraint of a kind for the `ConfigMap`s of a namespace of its own name, which reports `dryrun`.
pub fn constraint(kind: &str, name: &str) -> Value {
    json!({
        "apiVersion": CONSTRAINTS, "kind": kind,
        "metadata": { "name": name },
        "spec": {
            "enforcementAction": "dryrun",
            "match": { "kinds": [{ "apiGroups": [""], "kinds": ["ConfigMap"] }], "namespaces": [name] },
            "parameters": { "forbidden": "tea" }
        }
    })
}
