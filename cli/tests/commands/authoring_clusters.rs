//! Commands for authors against a cluster: the API server in memory, behind its port.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use anyhow::{Context as _, Result, ensure};
use kube::api::{Api, DynamicObject, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Client, Config};
use serde_json::{Value, json};

const KUBECONFIG: &str = "reeve-apiserver.kubeconfig";

/// A server that is killed on drop.
struct Cluster {
    child: Child,
    folder: tempfile::TempDir,
}

impl Cluster {
    fn start() -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let mut child = Command::new(env!("CARGO_BIN_EXE_reeve"))
            .current_dir(folder.path())
            .args(["apiserver", "--log-level=error"])
            .stdout(Stdio::piped())
            .spawn()?;
        let out = child.stdout.take().context("no output")?;
        let cluster = Self { child, folder };
        let mut line = String::new();
        BufReader::new(out).read_line(&mut line)?;
        ensure!(line.contains("Kubernetes API at"), "the line is {line:?}");
        Ok(cluster)
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn write(&self, file: &str, text: &str) -> Result<()> {
        std::fs::write(self.path().join(file), text)?;
        Ok(())
    }

    async fn create(
        &self,
        (group, version, kind): (&str, &str, &str),
        object: Value,
    ) -> Result<()> {
        let config = Kubeconfig::read_from(self.path().join(KUBECONFIG))?;
        let config = Config::from_custom_kubeconfig(config, &KubeConfigOptions::default()).await?;
        let client = Client::try_from(config)?;
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
        let namespace = object["metadata"]["namespace"].as_str().map(str::to_owned);
        let object: DynamicObject = serde_json::from_value(object)?;
        let api: Api<DynamicObject> = match namespace {
            Some(namespace) => Api::namespaced_with(client, &namespace, &resource),
            None => Api::all_with(client, &resource),
        };
        api.create(&PostParams::default(), &object).await?;
        Ok(())
    }

    fn run(&self, arguments: &[&str]) -> Result<Output> {
        let output = Command::new(env!("CARGO_BIN_EXE_reeve"))
            .current_dir(self.path())
            .args(arguments)
            .env("KUBECONFIG", self.path().join(KUBECONFIG))
            .stdin(Stdio::null())
            .output();
        output.context("running reeve")
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn error(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

const SERVICE: &str = "
apiVersion: policy.open-cluster-management.io/v1
kind: ConfigurationPolicy
metadata:
  name: service
spec:
  remediationAction: enforce
  namespaceSelector:
    matchLabels: {team: a}
  object-templates:
  - complianceType: musthave
    objectDefinition:
      apiVersion: v1
      kind: Service
      metadata:
        name: web
      spec:
        ports:
        - port: 81
          name: http
";

fn service() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Service", "metadata": { "name": "web", "namespace": "n1" },
        "spec": { "selector": { "app": "web" }, "ports": [{ "port": 80, "name": "http" }] },
    })
}

#[tokio::test]
async fn dry_15_a_cluster_is_read_and_answers_dry_runs_and_is_not_changed() -> Result<()> {
    let cluster = Cluster::start()?;
    let namespace = json!({
        "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "n1", "labels": { "team": "a" } },
    });
    cluster.create(("", "v1", "Namespace"), namespace).await?;
    cluster.create(("", "v1", "Service"), service()).await?;
    cluster.write("policy.yaml", SERVICE)?;
    let arguments = [
        "dryrun",
        "-p",
        "policy.yaml",
        "--from-cluster",
        "--no-colors",
        "missing.yaml",
    ];
    for _ in 0..2 {
        let output = cluster.run(&arguments)?;
        let text = out(&output);
        ensure!(output.status.code() == Some(2), "{text}{}", error(&output));
        ensure!(
            text.contains("v1 Service n1/web:\n--- n1/web : existing"),
            "{text}"
        );
        // The port is of the policy, the protocol is the server's default.
        ensure!(text.contains("\n-    port: 80\n"), "{text}");
        ensure!(text.contains("\n+    port: 81\n"), "{text}");
        ensure!(text.contains("     protocol: TCP\n"), "{text}");
        ensure!(
            text.ends_with("services [web] found but not as specified in namespace n1\n"),
            "{text}"
        );
    }
    Ok(())
}

#[tokio::test]
async fn dry_24_kinds_of_a_cluster_are_mappings() -> Result<()> {
    let cluster = Cluster::start()?;
    let output = cluster.run(&["dryrun", "generate"])?;
    let text = out(&output);
    ensure!(output.status.success(), "{}", error(&output));
    ensure!(text.starts_with("- group: \"\"\n"), "{text}");
    ensure!(!text.contains("pods/status"), "{text}");
    let service = "- group: \"\"\n  kind: Service\n  plural: services\n  scope: namespace\n  singular: service\n";
    ensure!(text.contains(service), "{text}");
    cluster.write("mappings.yaml", &text)?;
    cluster.write(
        "policy.yaml",
        &SERVICE.replace("matchLabels: {team: a}", "include: [default]"),
    )?;
    let arguments = [
        "dryrun",
        "-p",
        "policy.yaml",
        "--mappings-file",
        "mappings.yaml",
    ];
    let output = cluster.run(&arguments)?;
    ensure!(output.status.code() == Some(2), "{}", error(&output));
    ensure!(
        out(&output).contains("services [web] not found in namespace default"),
        "{}",
        out(&output)
    );
    Ok(())
}

#[test]
fn dry_15_a_cluster_that_is_not_there_is_an_error() -> Result<()> {
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join("policy.yaml"), SERVICE)?;
    let output = Command::new(env!("CARGO_BIN_EXE_reeve"))
        .current_dir(folder.path())
        .args([
            "dryrun",
            "-p",
            "policy.yaml",
            "--from-cluster",
            "--kubeconfig",
            "none",
        ])
        .output()?;
    ensure!(output.status.code() == Some(1));
    let text = error(&output);
    ensure!(
        text.starts_with(
            "Error: unable to setup the dryrun reconciler: cannot use the kubeconfig none"
        ),
        "{text}"
    );
    Ok(())
}

#[test]
fn dry_23_logs_begin_with_the_policy_and_files_are_written() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let policy = SERVICE.replace("matchLabels: {team: a}", "include: [default]");
    std::fs::write(folder.path().join("policy.yaml"), policy)?;
    let run = |more: &[&str]| {
        Command::new(env!("CARGO_BIN_EXE_reeve"))
            .current_dir(folder.path())
            .args(["dryrun", "-p", "policy.yaml"])
            .args(more)
            .stdin(Stdio::null())
            .output()
    };
    let printed = out(&run(&["--log"])?);
    let first = printed.lines().next().unwrap_or_default();
    ensure!(
        first.contains("=== Executing configuration policy dryrun ==="),
        "{printed}"
    );
    ensure!(first.contains("policy.yaml"), "{printed}");
    for _ in 0..2 {
        let output = run(&[
            "--log-path",
            "log.txt",
            "--status-path",
            "status.yaml",
            "--messages-path",
            "messages.txt",
        ])?;
        ensure!(
            out(&output) == "# Diffs:\nv1 Service default/web:\n\n",
            "{}",
            out(&output)
        );
    }
    let log = std::fs::read_to_string(folder.path().join("log.txt"))?;
    ensure!(log.matches("=== Executing").count() == 2, "{log}");
    let messages = std::fs::read_to_string(folder.path().join("messages.txt"))?;
    ensure!(
        messages == "NonCompliant; violation - services [web] not found in namespace default\n",
        "{messages}"
    );
    let status = std::fs::read_to_string(folder.path().join("status.yaml"))?;
    ensure!(
        status.starts_with("compliancyDetails:\n- Compliant: NonCompliant\n"),
        "{status}"
    );
    ensure!(status.contains("\ncompliant: NonCompliant\n"), "{status}");
    Ok(())
}

const TEMPLATED: &str = r#"
apiVersion: policy.open-cluster-management.io/v1
kind: Policy
metadata:
  name: p
  namespace: default
spec:
  disabled: false
  policy-templates:
  - objectDefinition:
      apiVersion: policy.open-cluster-management.io/v1
      kind: ConfigurationPolicy
      metadata:
        name: c
      spec:
        object-templates-raw: |
          {{- range (lookup "v1" "ConfigMap" "" "" "{{hub .ManagedClusterLabels.selector hub}}").items }}
          - complianceType: musthave
            objectDefinition:
              apiVersion: v1
              kind: Secret
              metadata:
                name: '{{ .metadata.name }}-{{ .metadata.uid }}'
                namespace: '{{ .metadata.namespace }}'
              data:
                copied: '{{ fromSecret "default" "s" "a" }}'
                missing: '{{ lookup "v1" "Pod" "default" "none" | len }}'
          {{- end }}
"#;

#[tokio::test]
async fn rsv_13_what_was_read_of_a_hub_and_a_cluster_replays_byte_for_byte() -> Result<()> {
    let cluster = Cluster::start()?;
    for name in ["b", "a", "c"] {
        let labels = if name == "c" {
            json!({})
        } else {
            json!({ "color": "red" })
        };
        let object = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": { "name": name, "namespace": "default", "labels": labels },
        });
        cluster.create(("", "v1", "ConfigMap"), object).await?;
    }
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "s", "namespace": "default" }, "data": { "a": "dG9wLXNlY3JldA==" },
    });
    cluster.create(("", "v1", "Secret"), secret).await?;
    cluster.write("policy.yaml", TEMPLATED)?;
    cluster.write(
        "clusters.yaml",
        "apiVersion: cluster.open-cluster-management.io/v1\nkind: ManagedCluster\nmetadata:\n  name: east\n  labels:\n    selector: color=red\n",
    )?;
    let live = cluster.run(&[
        "resolve",
        "policy.yaml",
        "--cluster",
        "east",
        "--hub-kubeconfig",
        KUBECONFIG,
        "--local-hub-resources",
        "clusters.yaml",
        "--save-resources",
        "used.yaml",
        "--save-hub-resources",
        "hub.yaml",
    ])?;
    ensure!(live.status.success(), "{}", error(&live));
    let text = out(&live);
    ensure!(text.matches("complianceType").count() == 2, "{text}");
    ensure!(text.contains("copied: dG9wLXNlY3JldA=="), "{text}");
    let used = std::fs::metadata(cluster.path().join("used.yaml"))?;
    let mode = std::os::unix::fs::PermissionsExt::mode(&used.permissions());
    ensure!(mode & 0o777 == 0o600, "{mode:o}");
    let again = cluster.run(&[
        "resolve",
        "policy.yaml",
        "--cluster",
        "east",
        "--local-hub-resources",
        "hub.yaml",
        "--local-resources",
        "used.yaml",
        "--offline",
    ])?;
    ensure!(again.status.success(), "{}", error(&again));
    ensure!(
        again.stdout == live.stdout,
        "{}instead of\n{text}",
        out(&again)
    );
    Ok(())
}
