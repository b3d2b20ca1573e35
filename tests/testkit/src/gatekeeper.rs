//! Gatekeeper: its kinds, and the real one as a process.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures::future::try_join_all;
use kube::ResourceExt as _;
use kube::api::DynamicObject;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::crds::{install, read};
use crate::golang::GoProgram;
use crate::{Component, Objects, Plane, free_port, workspace};

/// The CRD that shows whether Gatekeeper is installed.
pub const TEMPLATES_CRD: &str = "constrainttemplates.templates.gatekeeper.sh";

/// The configuration of Gatekeeper's validating webhook.
pub const WEBHOOK_CONFIGURATION: &str = "gatekeeper-validating-webhook-configuration";

/// The entry of that configuration which validates by constraints.
pub const WEBHOOK: &str = "validation.gatekeeper.sh";

const MODULE: &str = "github.com/open-policy-agent/gatekeeper/v3";

const ADVICE: &str = "the tests need Gatekeeper: install Go 1.26 or later (https://go.dev/dl) so that it can \
    be built from tests/gatekeeper";

/// Where Gatekeeper thinks it runs.
pub const GATEKEEPER_NAMESPACE: &str = "gatekeeper-system";

const READY: Duration = Duration::from_mins(2);

/// Every CRD of Gatekeeper, as its release brings them.
pub fn gatekeeper_crds() -> Result<Vec<DynamicObject>> {
    let folder = workspace().join("tests/gatekeeper");
    let module = program(&folder);
    // Downloads it when that is needed, with the checksum of `go.sum`.
    let output = module.go(&["mod", "download", "-json", MODULE].map(AsRef::as_ref))?;
    let output: Value =
        serde_json::from_str(&output).context("reading the output of `go` about Gatekeeper")?;
    let root = output["Dir"].as_str().context("Gatekeeper has no folder")?;
    read(&PathBuf::from(root).join("charts/gatekeeper/crds"))
}

/// Applies every CRD of Gatekeeper and waits until each is served. Returns their names.
pub async fn install_gatekeeper_crds(objects: &Objects) -> Result<Vec<String>> {
    let crds = tokio::task::spawn_blocking(gatekeeper_crds)
        .await
        .context("looking for CRDs")??;
    try_join_all(crds.iter().map(|crd| install(objects, crd))).await
}

/// Gatekeeper as one process that audits, reports and admits. Dropping it ends it.
pub struct Gatekeeper {
    component: Component,
    _dir: TempDir,
}

/// What a [`Gatekeeper`] does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Duty {
    /// It audits the kinds that constraints name, and admits.
    AuditAndAdmit,
    /// It audits every kind, as it does unless something else is asked for, and refuses nothing.
    Audit,
}

impl Gatekeeper {
    /// Starts Gatekeeper on a plane that has its CRDs, and its webhook, which validates what scenarios make in
    /// any namespace but its own. Builds it first when that is needed (minutes, once).
    pub async fn start(plane: &Plane) -> Result<Self> {
        Self::start_with(plane, Duty::AuditAndAdmit).await
    }

    /// Starts Gatekeeper without a webhook: what its audit makes of objects that it would not admit can be seen.
    pub async fn start_audit(plane: &Plane) -> Result<Self> {
        Self::start_with(plane, Duty::Audit).await
    }

    async fn start_with(plane: &Plane, duty: Duty) -> Result<Self> {
        let binary = tokio::task::spawn_blocking(gatekeeper)
            .await
            .context("building Gatekeeper")??;
        plane.apply(&gatekeeper_pod()).await?;
        let dir = tempfile::Builder::new().prefix("gatekeeper-").tempdir();
        let dir = dir.context("creating the folder of Gatekeeper")?;
        let (health, port) = (free_port()?, free_port()?);
        let serving = plane.serving();
        fs::copy(serving.cert, dir.path().join("tls.crt")).context("copying a certificate")?;
        fs::copy(serving.key, dir.path().join("tls.key")).context("copying a key")?;
        let folder = dir.path().display();
        // It wants the folder of its audits to be there.
        fs::create_dir(dir.path().join("audit")).context("creating the folder of audits")?;
        // Each violation of each audit is a line of its log unless only warnings are.
        let (operations, is_narrow, level) = match duty {
            Duty::AuditAndAdmit => ("audit,status,webhook,generate", true, "INFO"),
            Duty::Audit => ("audit,status,generate", false, "WARNING"),
        };
        let flags = [
            // A second is the shortest there is.
            "--audit-interval=1".to_owned(),
            format!("--audit-match-kind-only={is_narrow}"),
            "--constraint-violations-limit=20".to_owned(),
            format!("--operation={operations}"),
            format!("--log-level={level}"),
            "--enable-external-data=false".to_owned(),
            // Its policies of admission are not what the tests are about.
            "--default-create-vap-for-templates=false".to_owned(),
            "--default-create-vap-binding-for-constraints=false".to_owned(),
            "--disable-cert-rotation=true".to_owned(),
            "--shutdown-delay=0".to_owned(),
            format!("--api-cache-dir={folder}/audit"),
            format!("--cert-dir={folder}"),
            "--host=127.0.0.1".to_owned(),
            format!("--port={port}"),
            format!("--health-addr=127.0.0.1:{health}"),
            format!("--prometheus-port={}", free_port()?),
        ];
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        let env = [
            plane.kubeconfig_env(),
            ("POD_NAME", "gatekeeper"),
            ("POD_NAMESPACE", GATEKEEPER_NAMESPACE),
        ];
        let mut component = Component::spawn_program(&binary, "gatekeeper", &flags, &env)?;
        let url = format!("http://127.0.0.1:{health}/readyz");
        component.healthy(&url, READY).await?;
        if duty == Duty::Audit {
            return Ok(Self {
                component,
                _dir: dir,
            });
        }
        let ca = fs::read(serving.ca).context("reading the certificate authority")?;
        let webhook = webhook(
            &format!("https://127.0.0.1:{port}/v1/admit"),
            &STANDARD.encode(ca),
        );
        plane.apply(&webhook.to_string()).await?;
        Ok(Self {
            component,
            _dir: dir,
        })
    }

    /// Everything it has logged.
    pub fn log(&self) -> String {
        self.component.log()
    }
}

fn program(folder: &std::path::Path) -> GoProgram<'_> {
    GoProgram {
        module: folder,
        name: "gatekeeper",
        package: MODULE,
        ldflags: "",
        advice: ADVICE,
    }
}

/// Gatekeeper, built first when that is needed.
pub(crate) fn gatekeeper() -> Result<PathBuf> {
    program(&workspace().join("tests/gatekeeper")).locate()
}

/// The program that evaluates constraints by the libraries of Gatekeeper.
pub fn gatekeeper_oracle() -> Result<PathBuf> {
    let folder = workspace().join("tests/gatekeeper");
    let oracle = GoProgram {
        name: "oracle",
        package: "./oracle",
        ..program(&folder)
    };
    oracle.locate()
}

/// Gatekeeper's namespace, and the Pod `gatekeeper` that it takes itself to be: what it writes is owned by that.
pub fn gatekeeper_pod() -> String {
    let namespace = json!({
        "apiVersion": "v1", "kind": "Namespace",
        "metadata": { "name": GATEKEEPER_NAMESPACE, "labels": { "admission.gatekeeper.sh/ignore": "no-self-managing" } }
    });
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": { "name": "gatekeeper", "namespace": GATEKEEPER_NAMESPACE },
        "spec": { "automountServiceAccountToken": false, "containers": [{ "name": "manager", "image": "none" }] }
    });
    format!("{namespace}\n---\n{pod}")
}

/// The webhook as Gatekeeper's chart has it, without the entry that guards a label of namespaces.
fn webhook(url: &str, ca: &str) -> Value {
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": { "name": WEBHOOK_CONFIGURATION, "labels": { "gatekeeper.sh/system": "yes" } },
        "webhooks": [{
            "name": WEBHOOK,
            "admissionReviewVersions": ["v1", "v1beta1"],
            "clientConfig": { "url": url, "caBundle": ca },
            "failurePolicy": "Ignore",
            "matchPolicy": "Exact",
            "sideEffects": "None",
            "timeoutSeconds": 3,
            "namespaceSelector": { "matchExpressions": [
                { "key": "admission.gatekeeper.sh/ignore", "operator": "DoesNotExist" }
            ] },
            "rules": [{
                "apiGroups": ["*"], "apiVersions": ["*"], "operations": ["CREATE", "UPDATE"], "resources": ["*"]
            }]
        }]
    })
}

/// The CRD of templates among those of Gatekeeper.
pub fn templates_crd() -> Result<DynamicObject> {
    let found = gatekeeper_crds()?
        .into_iter()
        .find(|crd| crd.name_any() == TEMPLATES_CRD);
    found.context("Gatekeeper brings no CRD of templates")
}
