//! One audit for a dry run: templates and constraints are given, the objects are in memory or on a cluster, and nothing is written.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::pin::pin;

use futures::StreamExt as _;
use futures::future::BoxFuture;
use kube::Client;
use kube::core::{ApiResource, GroupVersionKind};
use kube::runtime::watcher;
use reeve_gatekeeper::TEMPLATE_GROUP;
use reeve_gatekeeper::audit::{Auditor, Resource, ResourceKind, kinds_to_list};
use reeve_gatekeeper::client::{Client as Engine, ConstraintKey, Options};
use reeve_gatekeeper::configuration::Process;
use reeve_gatekeeper::constraint::Constraint;
use reeve_gatekeeper::enforcement::EnforcementPoint;
use reeve_gatekeeper::template::ConstraintTemplate;
use reeve_runtime::object::{error_chain, status_message};
use reeve_runtime::object_stream::{self, ObjectEvent};
use reeve_runtime::secrets::Secrets;
use serde_json::{Value, json};

use crate::configuration::{Effect, Kind};
use crate::kinds::discover;
use crate::redaction::InventorySecrets;
use crate::resources::{PAGE, key_of, name_of};
use crate::results::{Results, kind_of};
use crate::state::{Served, ServedKinds};
use crate::{inventory, messages, publish};

/// The objects that constraints are about.
pub enum Objects {
    /// These, and no others.
    Given(Vec<Value>),
    /// Those of a cluster, which are listed once.
    Cluster(Client),
}

/// One audit of all constraints that are added to it.
pub struct OneAudit {
    source: Source,
    engine: Engine,
    effect: Effect,
    results: Results,
    inventory: Vec<ResourceKind>,
    /// The values of Secrets in the inventory, which no message shows.
    secrets: InventorySecrets,
}

/// Where objects are read.
struct Source {
    served: ServedKinds,
    place: Place,
}

enum Place {
    Memory(HashMap<ResourceKind, Vec<Value>>),
    Cluster(Client),
}

impl OneAudit {
    /// Reads what constraints refer to: Namespaces, Gatekeeper's configuration, and the constraint templates among the objects. A
    /// Namespace that an object in memory is in, and that is not given, has no labels but that of its name.
    ///
    /// # Errors
    /// When the kinds of the cluster cannot be discovered, or its Namespaces cannot be listed.
    pub fn begin(objects: Objects) -> BoxFuture<'static, Result<Self, String>> {
        Box::pin(async move {
            let source = Source::of(objects).await?;
            let mut audit = Self {
                engine: reeve_constraint_worker::client(Options::default()),
                effect: Effect::default(),
                results: Results::default(),
                inventory: Vec::new(),
                secrets: InventorySecrets::default(),
                source,
            };
            audit.read_namespaces().await?;
            audit.read_configuration().await;
            audit.read_templates().await;
            Ok(audit)
        })
    }

    /// Adds a constraint template in place of one that is among the objects.
    ///
    /// # Errors
    /// When it is not valid or does not compile.
    pub fn add_template(&mut self, object: &Value) -> Result<(), String> {
        let added = ConstraintTemplate::parse(object);
        let added = added.and_then(|template| self.engine.add_template(template));
        added.map(drop).map_err(|error| error.to_string())
    }

    /// Adds a constraint.
    ///
    /// # Errors
    /// When it has no template, is not valid, or asks for what no audit enforces.
    pub fn add_constraint(&mut self, object: &Value) -> Result<ConstraintKey, String> {
        let added = self.engine.add_constraint(object);
        let key = added.map_err(|error| error.to_string())?;
        let constraint = self.engine.constraint(&key);
        match constraint.and_then(|one| one.enforcement.unsupported()) {
            None => Ok(key),
            Some(reason) => {
                self.engine.remove_constraint(&key);
                Err(messages::not_enforceable(&reason))
            }
        }
    }

    /// Reviews the objects. What cannot be read makes the audits of constraints incomplete.
    pub fn run(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            self.inventory = inventory::kinds(&self.engine, &self.source.served, &self.effect);
            for kind in &self.inventory {
                let (engine, effect) = (&mut self.engine, &self.effect);
                let secrets = &mut self.secrets;
                let visited = self.source.visit(kind, |object| {
                    if !effect.excludes(Process::Sync, &object) {
                        secrets.insert(&object);
                        engine.set_object(&object);
                    }
                });
                if let Err(reason) = visited.await {
                    self.results.refuse(kind, reason);
                }
            }
            let secrets = self.secrets.values();
            let served = self.source.kinds();
            let audited = kinds_to_list(self.engine.constraints(), &served, |kind, one| {
                self.effect.expansion.makes_for(kind, one)
            });
            for kind in &audited {
                let (engine, effect, results) = (&self.engine, &self.effect, &mut self.results);
                let visited = self.source.visit(kind, |object| {
                    if !effect.excludes(Process::Audit, &object) {
                        review(engine, effect, &secrets, results, object);
                    }
                });
                if let Err(reason) = visited.await {
                    self.results.refuse(kind, reason);
                }
            }
        })
    }

    /// A constraint as an audit leaves it: with its status, which lists all violations.
    pub fn audited(&self, key: &ConstraintKey) -> Option<Value> {
        let constraint = self.engine.constraint(key)?;
        let is_referential = self.engine.is_referential(&key.kind);
        let audit = self.results.audit(key, usize::MAX, |kind| {
            self.effect.concerns(constraint, kind)
                || is_referential && self.inventory.contains(kind)
        });
        let mut object = constraint.object.clone();
        object["status"] = audit.status(&publish::now(), &Auditor::default());
        // Nobody's process has audited it.
        if audit.incomplete().is_empty()
            && let Some(status) = object["status"].as_object_mut()
        {
            status.remove("byPod");
        }
        Some(object)
    }

    async fn read_namespaces(&mut self) -> Result<(), String> {
        for name in self.source.implied_namespaces() {
            let metadata = json!({"name": name, "labels": {"kubernetes.io/metadata.name": name}});
            self.engine.set_namespace(
                json!({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}),
            );
        }
        let (kind, engine) = (namespaces(), &mut self.engine);
        let visited = self.source.visit(&kind, |object| {
            engine.set_namespace(object);
        });
        visited.await
    }

    /// Kinds that the cluster does not serve, or does not show, configure nothing.
    async fn read_configuration(&mut self) {
        let mut objects: HashMap<Kind, BTreeMap<String, Value>> = HashMap::new();
        for kind in Kind::ALL {
            for served in self.source.kinds().iter().filter(|one| kind.is(one)) {
                let of_kind = objects.entry(kind).or_default();
                let visited = self.source.visit(served, |object| {
                    if kind.is_read(&key_of(&object)) {
                        of_kind.insert(name_of(&object), object);
                    }
                });
                if let Err(reason) = visited.await {
                    tracing::warn!(reason, "cannot read Gatekeeper's configuration");
                }
            }
        }
        self.effect = Effect::of(&objects);
    }

    async fn read_templates(&mut self) {
        let served = self.source.kinds();
        let is_template = |kind: &&ResourceKind| {
            kind.group == TEMPLATE_GROUP && kind.kind == "ConstraintTemplate"
        };
        let Some(kind) = served.iter().find(is_template) else {
            return;
        };
        let mut templates = Vec::new();
        let visited = self.source.visit(kind, |object| templates.push(object));
        if let Err(reason) = visited.await {
            tracing::warn!(reason, "cannot read constraint templates");
        }
        for template in &templates {
            if let Err(error) = self.add_template(template) {
                let name = name_of(template);
                tracing::warn!(name, error, "constraint template is not used");
            }
        }
    }
}

fn review(
    engine: &Engine,
    effect: &Effect,
    secrets: &Secrets,
    results: &mut Results,
    object: Value,
) {
    let resource = Resource::of(&object);
    let too_slow = results.too_slow();
    let is_wanted = |one: &Constraint| !too_slow.contains(&one.key());
    let violations = effect.review(object, secrets, |review| {
        engine.matching(review, EnforcementPoint::Audit, is_wanted)
    });
    match violations {
        Ok(violations) => {
            results.set(&resource, violations);
        }
        Err(error) => {
            let (kind, name) = (&resource.kind, &resource.name);
            tracing::warn!(kind, name, error, "cannot review object");
            results.fail(resource);
        }
    }
}

fn namespaces() -> ResourceKind {
    ResourceKind {
        group: String::new(),
        version: "v1".to_owned(),
        kind: "Namespace".to_owned(),
    }
}

impl Source {
    async fn of(objects: Objects) -> Result<Self, String> {
        let given = match objects {
            Objects::Cluster(client) => {
                let served = discover(client.clone()).await;
                let served = served.map_err(|error| error_chain(&error))?;
                let place = Place::Cluster(client);
                return Ok(Self { served, place });
            }
            Objects::Given(given) => given,
        };
        let mut by_kind: HashMap<ResourceKind, Vec<Value>> = HashMap::new();
        for object in given {
            let kind = kind_of(&Resource::of(&object));
            by_kind.entry(kind).or_default().push(object);
        }
        let served = by_kind.keys().map(|kind| Served {
            kind: kind.clone(),
            resource: ApiResource::from_gvk(&GroupVersionKind::gvk(
                &kind.group,
                &kind.version,
                &kind.kind,
            )),
        });
        Ok(Self {
            served: ServedKinds {
                preferred: served.collect(),
                others: Vec::new(),
            },
            place: Place::Memory(by_kind),
        })
    }

    /// The kinds, each in the version that is preferred.
    fn kinds(&self) -> Vec<ResourceKind> {
        let preferred = self.served.preferred.iter();
        preferred.map(|one| one.kind.clone()).collect()
    }

    /// The namespaces that objects in memory are in.
    fn implied_namespaces(&self) -> BTreeSet<String> {
        let Place::Memory(objects) = &self.place else {
            return BTreeSet::new();
        };
        let namespaces = objects.values().flatten().map(|one| key_of(one).namespace);
        namespaces.filter(|name| !name.is_empty()).collect()
    }

    /// Hands over each object of a kind, none if the kind is unknown. A list of a cluster is read in pages, which are dropped.
    async fn visit(
        &self,
        kind: &ResourceKind,
        mut visitor: impl FnMut(Value),
    ) -> Result<(), String> {
        let client = match &self.place {
            Place::Memory(objects) => {
                let objects = objects.get(kind).into_iter().flatten();
                objects.cloned().for_each(visitor);
                return Ok(());
            }
            Place::Cluster(client) => client.clone(),
        };
        let mut all = self.served.preferred.iter().chain(&self.served.others);
        let Some(served) = all.find(|one| one.kind == *kind) else {
            return Ok(());
        };
        let events = object_stream::stream(client, served.resource.clone(), PAGE);
        let mut events = pin!(events);
        while let Some(event) = events.next().await {
            match event {
                Ok(ObjectEvent::Listed(object)) => visitor(object),
                Ok(ObjectEvent::Undecodable(key)) => {
                    return Err(messages::undecodable(&kind.kind, &key.to_string()));
                }
                Ok(ObjectEvent::Synced) => break,
                Ok(_) => {}
                Err(watcher::Error::InitialListFailed(error)) => {
                    return Err(messages::refused(&kind.kind, &status_message(&error)));
                }
                Err(error) => return Err(messages::refused(&kind.kind, &error_chain(&error))),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn template(kind: &str, rego: &str) -> Value {
        json!({
            "apiVersion": "templates.gatekeeper.sh/v1", "kind": "ConstraintTemplate",
            "metadata": {"name": kind.to_lowercase()},
            "spec": {
                "crd": {"spec": {"names": {"kind": kind}}},
                "targets": [{"target": "admission.k8s.gatekeeper.sh", "rego": rego}],
            },
        })
    }

    fn constraint(kind: &str, spec: &Value) -> Value {
        json!({
            "apiVersion": "constraints.gatekeeper.sh/v1beta1", "kind": kind,
            "metadata": {"name": "one"}, "spec": spec,
        })
    }

    fn object(kind: &str, namespace: &str, name: &str) -> Value {
        json!({"apiVersion": "v1", "kind": kind, "metadata": {"namespace": namespace, "name": name}})
    }

    /// The names of the objects that violate the constraint.
    async fn violating(objects: Vec<Value>, rego: &str, spec: &Value) -> Vec<String> {
        let mut audit = OneAudit::begin(Objects::Given(objects)).await.unwrap();
        audit.add_template(&template("Probe", rego)).unwrap();
        let key = audit.add_constraint(&constraint("Probe", spec)).unwrap();
        audit.run().await;
        let audited = audit.audited(&key).unwrap();
        let violations = audited["status"]["violations"].as_array();
        let violations = violations.into_iter().flatten();
        violations
            .map(|one| one["name"].as_str().unwrap_or_default().to_owned())
            .collect()
    }

    const ALL: &str = "package probe\nviolation[{\"msg\": \"no\"}] { true }";

    #[tokio::test]
    async fn dry_25_every_violation_is_listed() {
        let pods = (0..50).map(|index| object("Pod", "a", &format!("pod-{index:02}")));
        let found = violating(pods.collect(), ALL, &json!({})).await;
        assert_eq!(found.len(), 50);
    }

    /// The messages of a template about objects, of which one is a Secret.
    async fn messages(template_source: &str, kind: &str, objects: &[Value]) -> Vec<String> {
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"namespace": "a", "name": "db"},
            "data": {"password": "aHVudGVyMgo="}, "stringData": {"name": "db", "pin": "4711"},
        });
        let objects = objects.iter().cloned().chain([secret]).collect();
        let mut audit = OneAudit::begin(Objects::Given(objects)).await.unwrap();
        audit
            .add_template(&template("Probe", template_source))
            .unwrap();
        let spec = json!({"match": {"kinds": [{"apiGroups": [""], "kinds": [kind]}]}});
        let key = audit.add_constraint(&constraint("Probe", &spec)).unwrap();
        audit.run().await;
        let audited = audit.audited(&key).unwrap();
        let violations = audited["status"]["violations"]
            .as_array()
            .into_iter()
            .flatten();
        let message = |one: &Value| one["message"].as_str().unwrap_or_default().to_owned();
        violations.map(message).collect()
    }

    #[tokio::test]
    async fn gk_167_values_of_a_reviewed_secret_are_redacted() {
        let rego = "package probe\nviolation[{\"msg\": msg}] {
            object := input.review.object
            encoded := object.data.password
            msg := sprintf(\"%v: %v is %v, %v\", [object.metadata.name, encoded, base64.decode(encoded), object.stringData])
        }";
        let found = messages(rego, "Secret", &[]).await;
        let want = r#"db: [redacted] is [redacted], {"name": "db", "pin": "[redacted]"}"#;
        assert_eq!(found, [want]);
    }

    #[tokio::test]
    async fn gk_167_values_of_secrets_in_the_inventory_are_redacted() {
        let rego = "package probe\nviolation[{\"msg\": msg}] {
            secret := data.inventory.namespace[_].v1.Secret[name]
            msg := sprintf(\"%v has %v\", [name, base64.decode(secret.data.password)])
        }";
        let config = json!({
            "apiVersion": "config.gatekeeper.sh/v1alpha1", "kind": "Config",
            "metadata": {"namespace": "gatekeeper-system", "name": "config"},
            "spec": {"sync": {"syncOnly": [{"group": "", "version": "v1", "kind": "Secret"}]}},
        });
        let found = messages(rego, "Pod", &[config, object("Pod", "a", "web")]).await;
        assert_eq!(found, ["db has [redacted]"]);
    }

    #[tokio::test]
    async fn dry_25_inventory_has_the_objects() {
        let rego = "package probe\nviolation[{\"msg\": \"no\"}] {
            data.inventory.namespace[ns][_].Service[name]
            ns == input.review.object.metadata.namespace
            name == input.review.object.metadata.name
        }";
        let objects = vec![
            object("Pod", "a", "web"),
            object("Pod", "b", "web"),
            object("Service", "b", "web"),
        ];
        let spec = json!({"match": {"kinds": [{"apiGroups": [""], "kinds": ["Pod"]}]}});
        assert_eq!(violating(objects, rego, &spec).await, ["web"]);
    }

    #[tokio::test]
    async fn dry_25_gatekeepers_configuration_counts() {
        let config = |name: &str, namespace: &str| {
            json!({
                "apiVersion": "config.gatekeeper.sh/v1alpha1", "kind": "Config",
                "metadata": {"namespace": "gatekeeper-system", "name": name},
                "spec": {"match": [{"processes": ["audit"], "excludedNamespaces": [namespace]}]},
            })
        };
        let objects = vec![
            object("Pod", "shop", "out"),
            object("Pod", "blog", "in"),
            config("config", "shop"),
            config("nobodys", "blog"),
        ];
        let spec = json!({"match": {"kinds": [{"apiGroups": [""], "kinds": ["Pod"]}]}});
        assert_eq!(violating(objects, ALL, &spec).await, ["in"]);
    }

    #[tokio::test]
    async fn dry_26_implied_namespace_has_the_label_of_its_name() {
        let objects = vec![object("Pod", "shop", "web"), object("Pod", "blog", "web-2")];
        let spec = json!({"match": {
            "kinds": [{"apiGroups": [""], "kinds": ["Pod"]}],
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "blog"}},
        }});
        assert_eq!(violating(objects, ALL, &spec).await, ["web-2"]);
    }

    #[tokio::test]
    async fn dry_25_template_among_the_objects_serves_constraints() {
        let objects = vec![object("Pod", "a", "web"), template("Known", ALL)];
        let mut audit = OneAudit::begin(Objects::Given(objects)).await.unwrap();
        audit
            .add_constraint(&constraint("Known", &json!({})))
            .unwrap();
        let error = audit.add_constraint(&constraint("Unknown", &json!({})));
        assert_eq!(
            error.unwrap_err(),
            "missing ConstraintTemplate: template \"unknown\" not found"
        );
    }
}
