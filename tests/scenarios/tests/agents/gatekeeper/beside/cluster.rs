//! A cluster with an auditor.

use anyhow::{Context, Result, ensure};
use futures::{FutureExt as _, StreamExt as _, TryStreamExt as _, stream};
use kube::api::{DynamicObject, PostParams};
use kube::{Api, ResourceExt as _};
use reeve_scenarios::script::{CONSTRAINTS, TEMPLATES};
use reeve_testkit::{
    CertificateAuthority, Component, GATEKEEPER_NAMESPACE, Gatekeeper, Plane, PlaneOptions, SOON,
    TEMPLATES_CRD, eventually, free_port, gatekeeper_crds, gatekeeper_pod, install_crd,
    install_gatekeeper_crds,
};
use serde_json::{Value, json};

use super::statuses::Statuses;

/// The Pod that both auditors take themselves to be.
const POD: &str = "gatekeeper";
/// Objects that are created at once.
const AT_ONCE: usize = 8;

/// What an API server has answered to each object: nothing where it has accepted it.
pub(crate) type Answers = Vec<(String, String)>;

/// A cluster, and who audits on it.
pub(crate) struct Audited {
    pub(crate) plane: Plane,
    _auditor: Auditor,
}

enum Auditor {
    Gatekeeper { _process: Gatekeeper },
    Reeve { _process: Component },
}

impl Audited {
    /// A cluster with the real Gatekeeper.
    pub(crate) async fn by_gatekeeper(authority: CertificateAuthority) -> Result<Self> {
        let plane = plane("theirs", authority).await?;
        install_gatekeeper_crds(plane.objects()).await?;
        let process = Gatekeeper::start_audit(&plane).await?;
        let auditor = Auditor::Gatekeeper { _process: process };
        Ok(Self {
            plane,
            _auditor: auditor,
        })
    }

    /// A cluster with Gatekeeper's CRDs but that of templates, which the audit installs, and the audit.
    pub(crate) async fn by_reeve(authority: CertificateAuthority) -> Result<Self> {
        let plane = plane("ours", authority).await?;
        plane.install_crds().await?;
        let crds = tokio::task::spawn_blocking(gatekeeper_crds).await??;
        for crd in crds.iter().filter(|crd| crd.name_any() != TEMPLATES_CRD) {
            install_crd(plane.objects(), crd).await?;
        }
        plane.apply(&gatekeeper_pod()).await?;
        let health = format!("127.0.0.1:{}", free_port()?);
        let flags = [
            "controller".to_owned(),
            "--leader-elect=false".to_owned(),
            "--constraint-audit=materialised".to_owned(),
            "--constraint-violations-limit=20".to_owned(),
            format!("--health-probe-bind-address={health}"),
            format!("--metrics-bind-address=127.0.0.1:{}", free_port()?),
        ];
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        let env = [
            plane.kubeconfig_env(),
            ("WATCH_NAMESPACE", "default"),
            ("POD_NAME", POD),
        ];
        let mut process = Component::spawn("config-policy-controller", &flags, &env)?;
        process
            .healthy(&format!("http://{health}/readyz"), SOON)
            .await?;
        let this = Self {
            plane,
            _auditor: Auditor::Reeve { _process: process },
        };
        eventually("the kind of templates is served", SOON, || {
            this.plane.kind(TEMPLATES, "ConstraintTemplate")
        })
        .await?;
        Ok(this)
    }

    /// Creates objects, namespaces before what is in them, and waits for the kinds of constraints. Returns the answers by
    /// kind and name.
    pub(crate) async fn create(&self, objects: &[Value]) -> Result<Answers> {
        let is_namespace = |object: &&Value| object["kind"] == "Namespace";
        let (namespaces, others): (Vec<_>, Vec<_>) = objects.iter().partition(is_namespace);
        let mut answers = Vec::new();
        // One by one: some are there twice.
        for namespace in namespaces {
            answers.push(self.created(namespace).await?);
        }
        // Boxed: the compiler cannot show that the stream of these may change threads.
        let requests: Vec<_> = others
            .into_iter()
            .map(|one| self.created(one).boxed())
            .collect();
        let others: Answers = stream::iter(requests)
            .buffered(AT_ONCE)
            .try_collect()
            .await?;
        answers.extend(others);
        Ok(answers)
    }

    async fn created(&self, object: &Value) -> Result<(String, String)> {
        Ok((described(object), self.create_one(object).await?))
    }

    async fn create_one(&self, object: &Value) -> Result<String> {
        let text = |field: &str| object[field].as_str().unwrap_or_default();
        let (api_version, kind) = (text("apiVersion"), text("kind"));
        let Ok((resource, capabilities)) = self.plane.kind(api_version, kind).await else {
            return Ok(format!("{api_version} has no {kind}"));
        };
        let object: DynamicObject = match serde_json::from_value(object.clone()) {
            Ok(object) => object,
            Err(_) => return Ok("no object".to_owned()),
        };
        let is_cluster_scoped = capabilities.scope == kube::discovery::Scope::Cluster;
        let namespace = object.metadata.namespace.as_deref().unwrap_or("default");
        let api: Api<DynamicObject> = if is_cluster_scoped {
            Api::all_with(self.plane.client(), &resource)
        } else {
            Api::namespaced_with(self.plane.client(), namespace, &resource)
        };
        match api.create(&PostParams::default(), &object).await {
            Ok(_) => Ok(String::new()),
            Err(kube::Error::Api(status)) if status.code < 500 => Ok(sorted(&status.message)),
            Err(error) => Err(error).context(described(&serde_json::to_value(&object)?)),
        }
    }

    /// Waits until each template has a status of its generation, and the kinds of the good ones are served.
    pub(crate) async fn templates_are_handled(&self) -> Result<()> {
        eventually("all templates have a status", SOON, || async {
            for template in self
                .plane
                .list(TEMPLATES, "ConstraintTemplate", None)
                .await?
            {
                let (name, status) = (template.name_any(), &template.data["status"]);
                let pod = &status["byPod"][0];
                ensure!(
                    pod["observedGeneration"] == json!(template.metadata.generation),
                    "{name} has {status}"
                );
                if status["created"] == true {
                    let kind = &template.data["spec"]["crd"]["spec"]["names"]["kind"];
                    let kind = kind.as_str().unwrap_or_default();
                    self.plane.kind(CONSTRAINTS, kind).await?;
                }
            }
            Ok(())
        })
        .await
    }

    /// The time of the API server, in seconds: that of an object which it does not keep.
    pub(crate) async fn time(&self) -> Result<String> {
        let object: DynamicObject = serde_json::from_value(json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "time"}
        }))?;
        let (resource, _) = self.plane.kind("v1", "ConfigMap").await?;
        let api: Api<DynamicObject> =
            Api::namespaced_with(self.plane.client(), "default", &resource);
        let params = PostParams {
            dry_run: true,
            ..PostParams::default()
        };
        let made = api.create(&params, &object).await?;
        let time = serde_json::to_value(&made.metadata.creation_timestamp)?;
        let time = time
            .as_str()
            .context("an object without creationTimestamp")?;
        Ok(time.to_owned())
    }

    /// All that the auditor has left.
    pub(crate) async fn statuses(&self) -> Result<Statuses> {
        Statuses::read(&self.plane).await
    }
}

async fn plane(name: &'static str, authority: CertificateAuthority) -> Result<Plane> {
    // Without a controller manager there is nothing but what the workload makes; a Pod wants a service account.
    let plane = Plane::start(PlaneOptions {
        name,
        controller_manager: false,
        authority: Some(authority),
        ..PlaneOptions::default()
    })
    .await?;
    let namespace = json!({
        "apiVersion": "v1", "kind": "Namespace", "metadata": {"name": GATEKEEPER_NAMESPACE}
    });
    let account = json!({
        "apiVersion": "v1", "kind": "ServiceAccount",
        "metadata": {"name": "default", "namespace": GATEKEEPER_NAMESPACE}
    });
    plane.apply(&format!("{namespace}\n---\n{account}")).await?;
    Ok(plane)
}

/// The reasons of a refusal, of which the API server has several in no order.
fn sorted(message: &str) -> String {
    let mut words: Vec<&str> = message
        .split([' ', '[', ']', ','])
        .filter(|word| !word.is_empty())
        .collect();
    words.sort_unstable();
    words.join(" ")
}

fn described(object: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let metadata = &object["metadata"];
    format!(
        "{} {}/{}",
        text(&object["kind"]),
        text(&metadata["namespace"]),
        text(&metadata["name"])
    )
}
