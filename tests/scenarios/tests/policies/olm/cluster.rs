//! The clusters with OLM, and an operator with its policy on one of them.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use kube::ResourceExt as _;
use reeve_scenarios::{Controller, OperatorSubject, apply_json, namespace};
use reeve_testkit::{
    Kubelet, KubeletOptions, OLM_NAMESPACE, Object, Objects, Olm, Plane, PlaneOptions, World,
    WorldOptions, eventually,
};
use serde_json::{Value, json};

use crate::olm::catalog::{self, NEVER, Package, RUNS};
use crate::olm::packages;

pub(crate) const OLM: &str = "operators.coreos.com/v1alpha1";
pub(crate) const GROUPS: &str = "operators.coreos.com/v1";
/// The managed cluster, which is also the namespace of the policies from the hub.
pub(crate) const MANAGED: &str = "managed";
/// The namespace of the policies that scenarios apply on the managed cluster.
const DIRECT: &str = "direct";
/// The namespace of the policies whose controller is killed.
pub(crate) const KILLED: &str = "killed";
/// The namespace of the policies for the operators of the other cluster.
pub(crate) const HOSTED: &str = "hosted";
/// The catalog with the packages of all scenarios.
pub(crate) const CATALOG: &str = "operators";
/// How long OLM may take for what it does: its client sends five requests a second, and all scenarios need it.
const OLM_TAKES: Duration = Duration::from_mins(5);

/// A cluster with OLM, and with Pods.
pub(crate) struct WithOlm {
    pub(crate) olm: Olm,
    _kubelet: Kubelet,
}

impl WithOlm {
    async fn start(plane: &Plane) -> Result<Self> {
        let options = KubeletOptions {
            programs: BTreeMap::from([(RUNS.to_owned(), PathBuf::from("/usr/bin/sleep"))]),
            unpullable: BTreeSet::from([NEVER.to_owned()]),
            ..KubeletOptions::default()
        };
        let (olm, kubelet) = futures::try_join!(Olm::start(plane), Kubelet::start(plane, options))?;
        let started = Self {
            olm,
            _kubelet: kubelet,
        };
        started.serve(plane, CATALOG, &packages::all()).await?;
        Ok(started)
    }

    /// Serves packages as a catalog for all namespaces.
    pub(crate) async fn serve(
        &self,
        cluster: &Objects,
        name: &str,
        packages: &[Package],
    ) -> Result<()> {
        self.serve_in(cluster, (OLM_NAMESPACE, name), packages)
            .await
    }

    /// Serves packages as a catalog for one namespace: OLM installs nothing anywhere while a catalog for all is broken.
    pub(crate) async fn serve_in(
        &self,
        cluster: &Objects,
        (namespace, name): (&str, &str),
        packages: &[Package],
    ) -> Result<()> {
        let documents: Vec<Value> = packages.iter().flat_map(Package::documents).collect();
        let port = self.olm.serve(name, &documents).await?;
        apply_json(
            cluster,
            json!({
                "apiVersion": OLM, "kind": "CatalogSource",
                "metadata": {"name": name, "namespace": namespace},
                "spec": {"sourceType": "grpc", "address": format!("127.0.0.1:{port}")},
            }),
        )
        .await?;
        takes(format!("the catalog {name} is ready"), || async {
            let found = cluster
                .get(OLM, "CatalogSource", Some(namespace), name)
                .await?;
            let found = found.context("absent")?;
            let state = &found.data["status"]["connectionState"]["lastObservedState"];
            ensure!(state == "READY", "it is {:#}", found.data["status"]);
            Ok(())
        })
        .await
    }
}

/// A hub with a managed cluster that has OLM, and another cluster with OLM whose policies are on the managed one.
pub(crate) struct Clusters {
    pub(crate) here: WithOlm,
    pub(crate) there: WithOlm,
    /// Works on the policies that scenarios apply here, and on those for the other cluster.
    controllers: [Controller; 2],
    pub(crate) other: Plane,
    pub(crate) world: World,
}

impl Deref for Clusters {
    type Target = Objects;

    fn deref(&self) -> &Objects {
        // The options below name one cluster.
        self.world.clusters[0].plane.objects()
    }
}

impl Clusters {
    pub(crate) async fn start() -> Result<Self> {
        let options = WorldOptions {
            clusters: vec![MANAGED],
            operators: true,
            ..WorldOptions::default()
        };
        let other = Plane::start(PlaneOptions {
            name: "other",
            ..PlaneOptions::default()
        });
        let (world, other) = futures::try_join!(World::start(options), other)?;
        let managed = &world.cluster(MANAGED)?.plane;
        let (here, there) = futures::try_join!(WithOlm::start(managed), WithOlm::start(&other))?;
        namespace(managed, DIRECT).await?;
        namespace(managed, HOSTED).await?;
        let kubeconfig = format!("--target-kubeconfig-path={}", other.kubeconfig().display());
        let args = ["--enable-operator-policy=true", &kubeconfig];
        let direct = Controller::start(managed, DIRECT, &args[..1]).await?;
        let hosted = Controller::start(managed, HOSTED, &args).await?;
        Ok(Self {
            here,
            there,
            controllers: [direct, hosted],
            other,
            world,
        })
    }

    /// The ends of the logs. A scenario's own failure has the policy's conditions.
    pub(crate) fn dump(&self) -> String {
        let olm = [self.here.olm.log(), self.there.olm.log()];
        let controllers = self.controllers.iter().map(Controller::log);
        let logs = olm.into_iter().chain(controllers).map(|log| {
            let lines: Vec<&str> = log.lines().collect();
            lines[lines.len().saturating_sub(30)..].join("\n")
        });
        logs.collect::<Vec<String>>()
            .join("\n--- the next log ends:\n")
    }
}

/// Waits as long as OLM may take.
pub(crate) async fn takes<T, F, Fut>(what: impl std::fmt::Display, check: F) -> Result<T>
where
    F: FnMut() -> Fut,
    Fut: Future<Output = Result<T>>,
{
    eventually(what, OLM_TAKES, check).await
}

/// An operator, named after its package, and the policy of that name.
pub(crate) struct Operator<'c> {
    subject: OperatorSubject<'c>,
    /// Where the operator is.
    pub(crate) cluster: &'c Objects,
    pub(crate) package: String,
    /// The operator's namespace.
    pub(crate) namespace: String,
}

impl<'c> Deref for Operator<'c> {
    type Target = OperatorSubject<'c>;

    fn deref(&self) -> &OperatorSubject<'c> {
        &self.subject
    }
}

impl<'c> Operator<'c> {
    /// An operator in the namespace that its package suggests, which does not exist.
    pub(crate) fn suggested(clusters: &'c Clusters, package: &str) -> Self {
        Self::of(clusters, package, package, &catalog::namespace(package))
    }

    /// An operator in a namespace, by the policy of a name.
    pub(crate) fn of(clusters: &'c Clusters, name: &str, package: &str, namespace: &str) -> Self {
        Self {
            subject: OperatorSubject {
                hosting: clusters,
                policies: DIRECT.to_owned(),
                name: name.to_owned(),
            },
            cluster: clusters,
            package: package.to_owned(),
            namespace: namespace.to_owned(),
        }
    }

    /// The operator of the package in its suggested namespace, which exists.
    pub(crate) async fn new(clusters: &'c Clusters, package: &str) -> Result<Self> {
        let operator = Self::suggested(clusters, package);
        namespace(operator.cluster, &operator.namespace).await?;
        Ok(operator)
    }

    /// The same by a policy in another namespace.
    pub(crate) fn governed_in(mut self, policies: &str) -> Self {
        policies.clone_into(&mut self.subject.policies);
        self
    }

    /// The same on the other cluster.
    pub(crate) fn hosted(mut self, clusters: &'c Clusters) -> Self {
        self.cluster = clusters.other.objects();
        self.governed_in(HOSTED)
    }

    /// Another policy for operators of the same namespace.
    pub(crate) fn beside(&self, name: &str, package: &str) -> Self {
        Self {
            subject: OperatorSubject {
                policies: self.policies.clone(),
                name: name.to_owned(),
                ..self.subject
            },
            package: package.to_owned(),
            namespace: self.namespace.clone(),
            ..*self
        }
    }

    /// A musthave policy for the namespace alone.
    pub(crate) fn spec(&self, action: &str) -> Value {
        json!({
            "remediationAction": action, "complianceType": "musthave", "upgradeApproval": "Automatic",
            "operatorGroup": {
                "name": "scoped-operator-group", "namespace": self.namespace,
                "targetNamespaces": [self.namespace],
            },
            "subscription": {
                "name": self.package, "namespace": self.namespace, "channel": "stable",
                "source": CATALOG, "sourceNamespace": OLM_NAMESPACE,
            },
        })
    }

    /// The same without an `OperatorGroup` of its own.
    pub(crate) fn without_group(&self, action: &str) -> Value {
        let mut spec = self.spec(action);
        if let Some(spec) = spec.as_object_mut() {
            spec.remove("operatorGroup");
        }
        spec
    }

    pub(crate) fn csv(&self, version: &str) -> String {
        catalog::name(&self.package, version)
    }

    /// Waits for a condition as long as OLM takes; its message must have a part.
    pub(crate) async fn says(&self, condition: [&str; 3], part: &str) -> Result<()> {
        let [type_, status, reason] = condition;
        let what = format!("{}: {type_} is {status} for {reason}: {part}", self.name);
        let said = takes(what, || async {
            let found = self.status().await?;
            let mut conditions = found["conditions"].as_array().into_iter().flatten();
            let condition = conditions.find(|condition| condition["type"] == type_);
            let condition = condition.with_context(|| format!("the status is {found:#}"))?;
            let message = condition["message"].as_str().unwrap_or_default();
            ensure!(
                condition["status"] == status
                    && condition["reason"] == reason
                    && message.contains(part),
                "the conditions are {:#}",
                found["conditions"]
            );
            Ok(())
        })
        .await;
        match said {
            Ok(()) => Ok(()),
            Err(error) => Err(error.context(self.installation().await)),
        }
    }

    /// The phases and messages of the operator's `InstallPlan`s and `ClusterServiceVersion`s, a line each.
    async fn installation(&self) -> String {
        let mut lines = Vec::new();
        for kind in ["InstallPlan", "ClusterServiceVersion"] {
            match self.list(kind).await {
                Ok(found) => lines.extend(found.iter().map(|object| {
                    let status = &object.data["status"];
                    let (phase, message) = (&status["phase"], &status["message"]);
                    format!("{kind} {}: {phase}, {message}", object.name_any())
                })),
                Err(error) => lines.push(format!("{kind}: {error:#}")),
            }
        }
        lines.join("\n")
    }

    /// Waits until the related objects of a kind have these names, compliances and reasons.
    pub(crate) async fn relates(&self, kind: &str, want: &[[&str; 3]]) -> Result<()> {
        takes(format!("{}: related {kind}s", self.name), || async {
            let found = self.related(kind).await?;
            let found: Vec<[&str; 3]> = found
                .iter()
                .map(|(name, compliant, reason)| [name.as_str(), compliant, reason])
                .collect();
            ensure!(found == want, "they are {found:?} instead of {want:?}");
            Ok(())
        })
        .await
    }

    /// Waits until the policy is compliant, as long as OLM takes.
    pub(crate) async fn complies(&self) -> Result<()> {
        self.says(["Compliant", "True", "Compliant"], "Compliant; ")
            .await
    }

    pub(crate) async fn violates(&self, part: &str) -> Result<()> {
        self.says(["Compliant", "False", "NonCompliant"], part)
            .await
    }

    /// Waits for a compliance event that has a part.
    pub(crate) async fn reports(&self, part: &str) -> Result<()> {
        takes(format!("{} reports {part}", self.name), || async {
            let events = self.events().await?;
            let found = events.iter().any(|event| event.contains(part));
            ensure!(found, "the events are {events:#?}");
            Ok(())
        })
        .await
    }

    pub(crate) async fn get(&self, kind: &str, name: &str) -> Result<Option<Object>> {
        let namespace = Some(self.namespace.as_str());
        self.cluster.get(api(kind), kind, namespace, name).await
    }

    pub(crate) async fn list(&self, kind: &str) -> Result<Vec<Object>> {
        let namespace = Some(self.namespace.as_str());
        self.cluster.list(api(kind), kind, namespace).await
    }

    pub(crate) async fn names(&self, kind: &str) -> Result<Vec<String>> {
        let found = self.list(kind).await?;
        Ok(found.iter().map(Object::name_any).collect())
    }

    /// Waits until the Subscription is there.
    pub(crate) async fn subscription(&self) -> Result<Object> {
        takes(format!("{} is subscribed", self.name), || async {
            let found = self.get("Subscription", &self.package).await?;
            found.context("there is no Subscription")
        })
        .await
    }

    /// The CRD of the operator.
    pub(crate) fn crd(&self) -> String {
        format!("things.{}.example.com", self.package)
    }

    /// Creates or changes an object in the operator's namespace.
    pub(crate) async fn put(&self, kind: &str, name: &str, spec: Value) -> Result<Object> {
        let object = json!({
            "apiVersion": api(kind), "kind": kind,
            "metadata": {"name": name, "namespace": self.namespace}, "spec": spec,
        });
        apply_json(self.cluster, object).await
    }

    pub(crate) async fn delete(&self, kind: &str, name: &str) -> Result<()> {
        let object = json!({
            "apiVersion": api(kind), "kind": kind,
            "metadata": {"name": name, "namespace": self.namespace},
        });
        self.cluster.delete(&object.to_string()).await
    }

    /// Sets or removes finalizers.
    pub(crate) async fn finalizers(&self, kind: &str, name: &str, of: &[&str]) -> Result<()> {
        let patch = json!({"metadata": {"finalizers": of}});
        let is_global = kind == "CustomResourceDefinition";
        let namespace = (!is_global).then_some(self.namespace.as_str());
        self.cluster
            .patch(api(kind), kind, namespace, name, patch)
            .await?;
        Ok(())
    }
}

fn api(kind: &str) -> &'static str {
    match kind {
        "OperatorGroup" => GROUPS,
        "CustomResourceDefinition" => "apiextensions.k8s.io/v1",
        "Deployment" => "apps/v1",
        "ConfigMap" => "v1",
        _ => OLM,
    }
}
