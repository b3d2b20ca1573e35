//! A cluster in memory, and the audit of its constraints.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use kube::Client;
use kube::api::PostParams;
use kube::core::Request;
use reeve_apiserver::{Identity, Options as ServerOptions, Server};
use reeve_constraint_audit::{Mode, Options, run};
use reeve_fleet::{ConstraintEvaluation, Constraints};
use reeve_runtime::CancellationToken;
use reeve_runtime::metrics::ControllerMetrics;
use serde_json::{Value, json};
use tokio_util::task::AbortOnDropHandle;

/// Everything takes milliseconds; a busy machine may take much longer.
const SOON: Duration = Duration::from_mins(5);

/// What must not happen, has this long to happen.
const LONG: Duration = Duration::from_millis(500);

pub struct Cluster {
    server: Server,
    /// What the constraints decide about, if they do.
    pub evaluation: ConstraintEvaluation,
    pub client: Client,
    audits: Vec<AbortOnDropHandle<()>>,
}

impl Cluster {
    /// A cluster without an audit.
    pub fn new() -> Result<Self> {
        let evaluation = ConstraintEvaluation::default();
        let server = Server::start(ServerOptions {
            rbac: true,
            webhooks: vec![evaluation.webhook()],
            ..ServerOptions::default()
        })?;
        Ok(Self {
            client: Client::new(server.service(Identity::admin()), "default"),
            server,
            evaluation,
            audits: Vec::new(),
        })
    }

    /// Audits with all rights.
    pub fn audited(mode: Mode) -> Result<Self> {
        let mut cluster = Self::new()?;
        cluster.audit(mode, &Identity::admin());
        Ok(cluster)
    }

    /// Audits, and refuses what violates.
    pub fn enforced() -> Result<Self> {
        let mut cluster = Self::new()?;
        let (evaluation, server) = (cluster.evaluation.clone(), cluster.server.clone());
        let task = tokio::spawn(async move {
            let metrics = ControllerMetrics::default();
            let stop = CancellationToken::new();
            let ended = evaluation.run(&server, Constraints::Enforced, metrics, stop);
            if let Err(error) = ended.await {
                eprintln!("the audit has ended: {error}");
            }
        });
        cluster.audits.push(AbortOnDropHandle::new(task));
        Ok(cluster)
    }

    /// Waits until a `ConfigMap` without labels is refused, or is not, without storing it.
    pub async fn refuses(&self, namespace: &str, name: &str, wanted: bool) -> Result<()> {
        let path = format!("/api/v1/namespaces/{namespace}/configmaps?dryRun=All");
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}});
        let begun = Instant::now();
        loop {
            let request = http::Request::post(&path).header("content-type", "application/json");
            let sent = self
                .send(request.body(object.to_string().into_bytes())?)
                .await;
            let is_refused = match sent {
                Ok(_) => false,
                Err(kube::Error::Api(status)) if status.code == 403 => true,
                Err(error) => return Err(error.into()),
            };
            if is_refused == wanted {
                return Ok(());
            }
            ensure!(begun.elapsed() < SOON, "{name} is refused: {is_refused}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Audits as somebody.
    pub fn audit(&mut self, mode: Mode, identity: &Identity) {
        let client = Client::new(self.server.service(identity.clone()), "default");
        let options = Options {
            mode,
            ..Options::default()
        };
        let metrics = ControllerMetrics::default();
        let work = run(client, options, metrics, CancellationToken::new());
        let task = tokio::spawn(async move {
            if let Err(error) = work.await {
                eprintln!("the audit has ended: {error}");
            }
        });
        self.audits.push(AbortOnDropHandle::new(task));
    }

    async fn send(&self, request: http::Request<Vec<u8>>) -> kube::Result<Value> {
        let text = self.client.request_text(request).await?;
        serde_json::from_str(&text).map_err(kube::Error::SerdeError)
    }

    /// Creates an object at the path of its kind.
    pub async fn create(&self, path: &str, object: &Value) -> Result<Value> {
        let request = Request::new(path);
        let request = request.create(&PostParams::default(), object.to_string().into_bytes())?;
        let created = self.send(request).await;
        created.with_context(|| format!("creating at {path}: {object:#}"))
    }

    /// Merges a patch.
    pub async fn merge(&self, path: &str, change: &Value) -> Result<Value> {
        let request = http::Request::patch(path)
            .header("content-type", "application/merge-patch+json")
            .body(change.to_string().into_bytes())?;
        let merged = self.send(request).await;
        merged.with_context(|| format!("patching {path}: {change:#}"))
    }

    pub async fn delete(&self, path: &str) -> Result<()> {
        let request = http::Request::delete(path).body(Vec::new())?;
        self.send(request).await?;
        Ok(())
    }

    pub async fn get(&self, path: &str) -> Result<Option<Value>> {
        match self.send(http::Request::get(path).body(Vec::new())?).await {
            Ok(found) => Ok(Some(found)),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Waits until an object is as `check` wants it.
    pub async fn eventually(&self, path: &str, check: impl Fn(&Value) -> bool) -> Result<Value> {
        let begun = Instant::now();
        loop {
            let found = self.get(path).await?;
            if let Some(found) = found.as_ref().filter(|found| check(found)) {
                return Ok(found.clone());
            }
            if begun.elapsed() > SOON {
                bail!("{path} stays {found:#?}");
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Waits until there is no object.
    pub async fn gone(&self, path: &str) -> Result<()> {
        let begun = Instant::now();
        while self.get(path).await?.is_some() {
            ensure!(begun.elapsed() < SOON, "{path} is still there");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        Ok(())
    }

    /// Checks that an object is not written for a while.
    pub async fn stays(&self, path: &str) -> Result<()> {
        let version =
            |object: Option<Value>| object.map(|it| it["metadata"]["resourceVersion"].clone());
        let before = version(self.get(path).await?);
        tokio::time::sleep(LONG).await;
        let after = version(self.get(path).await?);
        ensure!(before == after, "{path} was written");
        Ok(())
    }

    pub async fn template(&self, template: &Value) -> Result<Value> {
        let path = "/apis/templates.gatekeeper.sh/v1/constrainttemplates";
        let begun = Instant::now();
        loop {
            // The audit installs the kind.
            match self.create(path, template).await {
                Ok(created) => return Ok(created),
                Err(error) if begun.elapsed() > SOON => return Err(error),
                Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
            }
        }
    }

    /// Creates a constraint once its kind is served.
    pub async fn constraint(&self, kind: &str, name: &str, spec: &Value) -> Result<String> {
        let template = format!(
            "/apis/templates.gatekeeper.sh/v1/constrainttemplates/{}",
            kind.to_lowercase()
        );
        self.eventually(&template, |it| it["status"]["created"] == true)
            .await?;
        let path = format!(
            "/apis/constraints.gatekeeper.sh/v1beta1/{}",
            kind.to_lowercase()
        );
        let object = json!({
            "apiVersion": "constraints.gatekeeper.sh/v1beta1", "kind": kind,
            "metadata": {"name": name}, "spec": spec,
        });
        self.create(&path, &object).await?;
        Ok(format!("{path}/{name}"))
    }

    pub async fn namespace(&self, name: &str, labels: &Value) -> Result<()> {
        let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}});
        self.create("/api/v1/namespaces", &object).await?;
        Ok(())
    }

    pub async fn config_map(&self, namespace: &str, name: &str, labels: &Value) -> Result<String> {
        let path = format!("/api/v1/namespaces/{namespace}/configmaps");
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": labels}});
        self.create(&path, &object).await?;
        Ok(format!("{path}/{name}"))
    }
}

/// A template whose constraints want labels.
pub fn labels_template() -> Value {
    template(
        "NeedLabels",
        r#"package needlabels
        violation[{"msg": msg}] {
          label := input.parameters.labels[_]
          not input.review.object.metadata.labels[label]
          msg := sprintf("label %v is missing", [label])
        }"#,
    )
}

pub fn template(kind: &str, rego: &str) -> Value {
    json!({
        "apiVersion": "templates.gatekeeper.sh/v1", "kind": "ConstraintTemplate",
        "metadata": {"name": kind.to_lowercase()},
        "spec": {
            "crd": {"spec": {"names": {"kind": kind}, "validation": {"openAPIV3Schema": {
                "type": "object",
                "properties": {"labels": {"type": "array", "items": {"type": "string"}}},
            }}}},
            "targets": [{"target": "admission.k8s.gatekeeper.sh", "rego": rego}],
        },
    })
}

/// A constraint on `ConfigMap`s of the namespace `shop`.
pub fn on_config_maps() -> Value {
    json!({
        "match": {"kinds": [{"apiGroups": [""], "kinds": ["ConfigMap"]}], "namespaces": ["shop"]},
        "parameters": {"labels": ["owner"]},
    })
}

/// Whether so many violations were counted.
pub fn total(count: u64) -> impl Fn(&Value) -> bool {
    move |object| object["status"]["totalViolations"] == count
}

pub fn violators(object: &Value) -> Vec<&str> {
    let listed = object["status"]["violations"].as_array();
    let names = listed
        .into_iter()
        .flatten()
        .filter_map(|one| one["name"].as_str());
    names.collect()
}
