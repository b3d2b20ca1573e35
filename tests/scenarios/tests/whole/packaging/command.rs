//! `reeve install` and `reeve uninstall` on a real API server, with the programs of the Pods.

use std::path::Path;
use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use reeve_testkit::{Kubelet, KubeletOptions, Plane, PlaneOptions, SOON, eventually, reeve_binary};
use serde_json::json;
use tokio::process::Command;

use crate::packaging::installed::{NAMESPACE, prepare};
use crate::packaging::rendered::{UPSTREAM, charted, kustomized};

const IMAGE: &str = "registry.example.com/reeve:0.1.0";

struct Ran {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Ran {
    fn ended_with(self, code: i32) -> Result<Self> {
        let (stdout, stderr) = (&self.stdout, &self.stderr);
        ensure!(
            self.code == Some(code),
            "{:?} instead of {code}\n{stdout}\n{stderr}",
            self.code
        );
        Ok(self)
    }

    fn says(self, text: &str) -> Result<Self> {
        let all = format!("{}{}", self.stdout, self.stderr);
        ensure!(all.contains(text), "no {text:?} in\n{all}");
        Ok(self)
    }
}

async fn reeve(kubeconfig: &Path, args: &[&str]) -> Result<Ran> {
    let mut command = Command::new(reeve_binary()?);
    command.args(args).arg("--kubeconfig").arg(kubeconfig);
    let output = command.stdin(Stdio::null()).output().await;
    let output = output.context("running reeve")?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ok(Ran {
        code: output.status.code(),
        stdout: text(&output.stdout),
        stderr: text(&output.stderr),
    })
}

async fn plane(name: &'static str) -> Result<Plane> {
    Plane::start(PlaneOptions {
        name,
        controller_manager: true,
        ..PlaneOptions::default()
    })
    .await
}

/// The components of clusteradm are replaced in place, run, and stay as they are when it runs again.
pub(crate) async fn replaces_components_in_place() -> Result<()> {
    let plane = plane("install-command").await?;
    plane.install_crds().await?;
    prepare(&plane).await?;
    for object in kustomized("deploy/hub").await? {
        plane.apply_object(&object).await?;
    }
    let hub = plane.kubeconfig();
    let dry_run = ["install", "--image", IMAGE, "--dry-run=server"];
    reeve(hub, &dry_run)
        .await?
        .ended_with(0)?
        .says("dry run, nothing written: 19 configured, 1 unchanged")?;
    let kubelet = Kubelet::start(&plane, KubeletOptions::default()).await?;
    let installed = reeve(hub, &["install", "--image", IMAGE, "--timeout", "120"]).await?;
    let installed = installed.ended_with(0);
    installed
        .map_err(|error| error.context(kubelet.dump()))?
        .says("configured  Deployment open-cluster-management/governance-policy-propagator")?
        .says("installed: 19 configured, 1 unchanged")?;
    for (name, image) in [
        (
            "governance-policy-propagator",
            "/spec/template/spec/containers/0/image",
        ),
        (
            "governance-policy-addon-controller",
            "/spec/template/spec/containers/0/image",
        ),
        (
            "governance-policy-addon-controller",
            "/spec/template/spec/containers/0/env/1/value",
        ),
    ] {
        let found = plane
            .get("apps/v1", "Deployment", Some(NAMESPACE), name)
            .await?;
        let found = found.with_context(|| format!("no {name}"))?.data;
        ensure!(
            found.pointer(image) == Some(&json!(IMAGE)),
            "{name}{image}: {found}"
        );
        ensure!(
            found["status"]["availableReplicas"] == 1,
            "{name}: {}",
            found["status"]
        );
    }
    reeve(hub, &["install", "--image", IMAGE])
        .await?
        .ended_with(0)?
        .says("installed: 20 unchanged")?;
    Ok(())
}

/// What keeps a component from becoming available is named, and nothing is written that Helm manages.
pub(crate) async fn names_what_is_missing() -> Result<()> {
    let plane = plane("install-missing").await?;
    let hub = plane.kubeconfig();
    reeve(hub, &["install", "--image", IMAGE])
        .await?
        .ended_with(1)?
        .says("ClusterManagementAddOn of addon.open-cluster-management.io/v1alpha1 is not served: this cluster is no hub of Open Cluster Management")?;
    let nothing = plane.get("v1", "Namespace", None, NAMESPACE).await?;
    ensure!(nothing.is_none(), "something was written");
    prepare(&plane).await?;
    reeve(hub, &["install", "--image", IMAGE, "--webhooks"])
        .await?
        .ended_with(1)?
        .says("is not served: the webhooks need cert-manager")?;
    // Without a kubelet no Pod runs.
    reeve(hub, &["install", "--image", IMAGE, "--timeout", "1"])
        .await?
        .ended_with(3)?
        .says("not available within 1 s: Deployment open-cluster-management/governance-policy-addon-controller: 0 of 1 available")?;
    for mut object in charted("elsewhere", UPSTREAM).await? {
        let kind = object.types.as_ref().map(|types| types.kind.as_str());
        if kind == Some("Deployment") {
            let annotations = object.metadata.annotations.get_or_insert_default();
            // Helm writes it, its renderer does not.
            annotations.insert("meta.helm.sh/release-name".to_owned(), "reeve".to_owned());
            plane.apply_object(&object).await?;
        }
    }
    reeve(
        hub,
        &["install", "--image", IMAGE, "--namespace", "elsewhere"],
    )
    .await?
    .ended_with(1)?
    .says("belongs to the Helm release \"reeve\"")?;
    Ok(())
}

/// What was installed goes, what others installed stays, and nothing goes while add-ons are enabled.
pub(crate) async fn uninstalls_what_it_installed() -> Result<()> {
    let plane = plane("uninstall-command").await?;
    prepare(&plane).await?;
    let hub = plane.kubeconfig();
    let install = [
        "install",
        "--image",
        IMAGE,
        "--monitoring",
        "--timeout",
        "0",
    ];
    reeve(hub, &install)
        .await?
        .ended_with(0)?
        .says("21 created, 1 unchanged")?;
    let add_on = json!({
        "apiVersion": "addon.open-cluster-management.io/v1alpha1", "kind": "ManagedClusterAddOn",
        "metadata": {"name": "config-policy-controller", "namespace": "default"}, "spec": {},
    });
    plane.apply(&add_on.to_string()).await?;
    reeve(hub, &["uninstall"])
        .await?
        .ended_with(2)?
        .says("cannot clean up without the components: default/config-policy-controller: disable them first")?;
    let foreign = json!({
        "apiVersion": "v1", "kind": "Service",
        "metadata": {
            "name": "governance-policy-propagator-metrics", "namespace": NAMESPACE,
            "labels": {"app.kubernetes.io/managed-by": "somebody"},
        },
        "spec": {"ports": [{"port": 8383}]},
    });
    plane.apply(&foreign.to_string()).await?;
    reeve(hub, &["uninstall", "--ignore-add-ons"])
        .await?
        .ended_with(0)?
        .says("kept        Service open-cluster-management/governance-policy-propagator-metrics")?
        .says("uninstalled: 15 deleted, 1 kept")?;
    let crds = "apiextensions.k8s.io/v1";
    let policies = "policies.policy.open-cluster-management.io";
    let kept = plane
        .get(crds, "CustomResourceDefinition", None, policies)
        .await?;
    ensure!(kept.is_some(), "the policies are gone");
    reeve(hub, &["uninstall", "--ignore-add-ons", "--delete-crds"])
        .await?
        .ended_with(0)?
        .says("uninstalled: 5 deleted, 1 kept")?;
    eventually("the definition is gone", SOON, || async {
        let found = plane
            .get(crds, "CustomResourceDefinition", None, policies)
            .await?;
        ensure!(found.is_none(), "it is there");
        Ok(())
    })
    .await?;
    let namespace = plane.get("v1", "Namespace", None, NAMESPACE).await?;
    ensure!(namespace.is_some(), "the namespace is gone");
    Ok(())
}
