//! Dry runs and templates that read a cluster.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use reeve_testkit::{Plane, reeve_binary};
use serde_json::{Value, json};

use crate::authoring::folder::{Folder, Ran};

fn run(folder: &Folder, kubeconfig: &Path, arguments: &[&str]) -> Result<Ran> {
    folder.run(
        &reeve_binary()?,
        arguments,
        &[("KUBECONFIG", kubeconfig.as_os_str())],
    )
}

/// A policy about Services and a Deployment, whose defaults only the API server knows.
const POLICY: &str = "
apiVersion: policy.open-cluster-management.io/v1
kind: ConfigurationPolicy
metadata:
  name: service
spec:
  remediationAction: enforce
  namespaceSelector:
    matchLabels: {dry-run: 'yes'}
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
  - complianceType: mustonlyhave
    objectDefinition:
      apiVersion: v1
      kind: ConfigMap
      metadata:
        name: kept
      data:
        a: b
";

async fn apply(plane: &Plane, object: Value) -> Result<()> {
    plane.apply(&object.to_string()).await?;
    Ok(())
}

/// A dry run compares as the API server would store, and changes nothing.
pub(crate) async fn dry_run(plane: Arc<Plane>) -> Result<()> {
    let labels = json!({"dry-run": "yes"});
    apply(&plane, json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "dry-run", "labels": labels}})).await?;
    let service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": "dry-run"},
        "spec": {"selector": {"app": "web"}, "ports": [{"port": 80, "name": "http"}]},
    });
    apply(&plane, service).await?;
    let kept = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kept", "namespace": "dry-run"}, "data": {"a": "b"},
    });
    apply(&plane, kept).await?;
    let before = plane.get("v1", "Service", Some("dry-run"), "web").await?;
    let folder = Folder::new(&[("policy.yaml", POLICY)])?;
    let arguments = [
        "dryrun",
        "-p",
        "policy.yaml",
        "--from-cluster",
        "--no-colors",
    ];
    let text = run(&folder, plane.kubeconfig(), &arguments)?.ended_with(2)?;
    for expected in [
        "v1 Service dry-run/web:\n--- dry-run/web : existing",
        "\n-    port: 80\n",
        "\n+    port: 81\n",
        "services [web] found but not as specified in namespace dry-run",
        "configmaps [kept] found as specified in namespace dry-run",
    ] {
        ensure!(text.contains(expected), "{expected:?} is not in\n{text}");
    }
    let after = plane.get("v1", "Service", Some("dry-run"), "web").await?;
    ensure!(before == after, "{after:?}");
    Ok(())
}

/// A constraint of Secrets of teams, and of Pods in one namespace.
const CONSTRAINTS: &str = r#"
apiVersion: templates.gatekeeper.sh/v1
kind: ConstraintTemplate
metadata: {name: teamlabel}
spec:
  crd: {spec: {names: {kind: TeamLabel}}}
  targets:
  - target: admission.k8s.gatekeeper.sh
    rego: |
      package teamlabel
      violation[{"msg": "no team"}] { not input.review.object.metadata.labels.team }
---
apiVersion: constraints.gatekeeper.sh/v1beta1
kind: TeamLabel
metadata: {name: of-secrets}
spec:
  enforcementAction: warn
  match:
    kinds: [{apiGroups: [""], kinds: [ConfigMap, Secret]}]
    namespaceSelector: {matchLabels: {dry-run: constraints}}
"#;

/// Constraints are evaluated on a cluster that has neither Gatekeeper nor its kinds. What may not be listed makes them `NonCompliant`.
pub(crate) async fn constraints(plane: Arc<Plane>) -> Result<()> {
    const NAMESPACE: &str = "dry-run-constraints";
    let labels = json!({"dry-run": "constraints"});
    apply(&plane, json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE, "labels": labels}})).await?;
    for (kind, name, labels) in [
        ("Secret", "with", json!({"team": "a"})),
        ("Secret", "without", json!({})),
        ("ConfigMap", "without", json!({})),
    ] {
        let metadata = json!({"name": name, "namespace": NAMESPACE, "labels": labels});
        apply(
            &plane,
            json!({"apiVersion": "v1", "kind": kind, "metadata": metadata}),
        )
        .await?;
    }
    let folder = Folder::new(&[("policy.yaml", CONSTRAINTS)])?;
    let arguments = ["dryrun", "-p", "policy.yaml", "--from-cluster"];
    let text = run(&folder, plane.kubeconfig(), &arguments)?.ended_with(2)?;
    let message = |object: &str| format!("warn - no team (on {object})");
    for violating in ["ConfigMap", "Secret"] {
        let expected = message(&format!("{violating} {NAMESPACE}/without"));
        ensure!(text.contains(&expected), "{expected:?} is not in\n{text}");
    }
    ensure!(
        text.contains("\nNonCompliant; ") && !text.contains("/with)"),
        "{text}"
    );
    folder.write("policy.yaml", &CONSTRAINTS.replace("ConfigMap, ", ""))?;
    let user = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "reads-no-secrets"});
    apply(&plane, json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "reads-no-secrets"},
        "rules": [{"apiGroups": [""], "resources": ["namespaces", "configmaps"], "verbs": ["get", "list", "watch"]}],
    })).await?;
    apply(&plane, json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "reads-no-secrets"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "reads-no-secrets"},
        "subjects": [user],
    })).await?;
    let limited = plane.kubeconfig_for("reads-no-secrets", None)?;
    let text = run(&folder, &limited, &arguments)?.ended_with(2)?;
    ensure!(
        text.contains("NonCompliant; could not list Secret: secrets is forbidden"),
        "{text}"
    );
    Ok(())
}

/// The kinds of the cluster can be written to a file, which a dry run without cluster reads.
pub(crate) fn mappings(plane: &Plane) -> Result<()> {
    let folder = Folder::new(&[(
        "policy.yaml",
        &POLICY.replace("matchLabels: {dry-run: 'yes'}", "include: [default]"),
    )])?;
    let mappings = run(&folder, plane.kubeconfig(), &["dryrun", "generate"])?.ended_with(0)?;
    let placement = "- group: policy.open-cluster-management.io\n  kind: ConfigurationPolicy\n  plural: configurationpolicies\n  scope: namespace\n  singular: configurationpolicy\n";
    ensure!(mappings.contains(placement), "{mappings}");
    folder.write("mappings.yaml", &mappings)?;
    let arguments = [
        "dryrun",
        "-p",
        "policy.yaml",
        "--mappings-file",
        "mappings.yaml",
    ];
    let text = run(&folder, Path::new("/none"), &arguments)?.ended_with(2)?;
    ensure!(
        text.contains("services [web] not found in namespace default"),
        "{text}"
    );
    Ok(())
}

const TEMPLATED: &str = r#"
apiVersion: policy.open-cluster-management.io/v1
kind: Policy
metadata:
  name: p
  namespace: replay
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
          {{- range (lookup "v1" "ConfigMap" "replay" "" "color={{hub .ManagedClusterLabels.color hub}}").items }}
          - complianceType: musthave
            objectDefinition:
              apiVersion: v1
              kind: Secret
              metadata:
                name: '{{ .metadata.name }}-{{ .metadata.uid }}'
                namespace: '{{ .metadata.namespace }}'
              data:
                copied: '{{ fromSecret "replay" "s" "a" }}'
                missing: '{{ lookup "v1" "Pod" "replay" "none" | len }}'
                hub: '{{hub fromConfigMap "replay" "a" "text" hub}}'
          {{- end }}
"#;

const CLUSTERS: &str = "
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata:
  name: east
  labels:
    color: red
";

async fn templated(plane: &Plane, namespace: &str) -> Result<Folder> {
    apply(
        plane,
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}),
    )
    .await?;
    for (name, color) in [("b", "red"), ("a", "red"), ("c", "blue")] {
        let object = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "data": {"text": format!("of {name}")},
            "metadata": {"name": name, "namespace": namespace, "labels": {"color": color}},
        });
        apply(plane, object).await?;
    }
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": namespace}, "data": {"a": "dG9wLXNlY3JldA=="},
    });
    apply(plane, secret).await?;
    let policy = TEMPLATED.replace("replay", namespace);
    Folder::new(&[("policy.yaml", &policy), ("clusters.yaml", CLUSTERS)])
}

/// What was read is written to files, which give the same policy without a cluster, byte for byte.
pub(crate) async fn replay(plane: Arc<Plane>) -> Result<()> {
    let folder = templated(&plane, "replay").await?;
    let kubeconfig = plane.kubeconfig();
    let hub = kubeconfig.to_str().context("the path is no text")?;
    let arguments = [
        "resolve",
        "policy.yaml",
        "--cluster",
        "east",
        "--hub-kubeconfig",
        hub,
    ];
    let saves = [
        "--local-hub-resources",
        "clusters.yaml",
        "--save-resources",
        "used.yaml",
        "--save-hub-resources",
        "hub.yaml",
    ];
    let arguments = [&arguments[..], &saves].concat();
    let live = run(&folder, kubeconfig, &arguments)?.ended_with(0)?;
    ensure!(live.matches("complianceType").count() == 2, "{live}");
    ensure!(live.contains("copied: dG9wLXNlY3JldA=="), "{live}");
    ensure!(live.contains("hub: of a"), "{live}");
    let arguments = ["resolve", "policy.yaml", "--cluster", "east", "--offline"];
    let read_from = [
        "--local-hub-resources",
        "hub.yaml",
        "--local-resources",
        "used.yaml",
    ];
    let arguments = [&arguments[..], &read_from].concat();
    let again = run(&folder, Path::new("/none"), &arguments)?.ended_with(0)?;
    ensure!(again == live, "{again}instead of\n{live}");
    Ok(())
}

/// A user who may not read gets an error about what was denied, and no policy with a hole.
pub(crate) async fn denied(plane: Arc<Plane>) -> Result<()> {
    let folder = templated(&plane, "denied").await?;
    let denied = plane.kubeconfig_for("nobody", None)?;
    let hub = plane
        .kubeconfig()
        .to_str()
        .context("the path is no text")?
        .to_owned();
    let arguments = [
        "resolve",
        "policy.yaml",
        "--cluster",
        "east",
        "--hub-kubeconfig",
        &hub,
        "--local-hub-resources",
        "clusters.yaml",
    ];
    let ran = run(&folder, &denied, &arguments)?;
    ensure!(ran.code == Some(2), "{ran:?}");
    ensure!(ran.out.is_empty(), "{ran:?}");
    for expected in ["configmaps is forbidden", "nobody"] {
        ensure!(ran.error.contains(expected), "{ran:?}");
    }
    ensure!(!ran.error.contains("dG9wLXNlY3JldA=="), "{ran:?}");
    Ok(())
}
