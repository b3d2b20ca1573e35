//! Installs Reeve's CRDs and those of the OCM kinds it consumes.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use futures::future::try_join_all;
use kube::ResourceExt as _;
use kube::api::DynamicObject;

use crate::{Objects, eventually, workspace, yaml};

const DEADLINE: Duration = Duration::from_mins(1);

/// The CRDs of `fleet/crds` that say nothing about placement.
const OF_ADDONS: [&str; 3] = [
    "addondeploymentconfigs",
    "clustermanagementaddons",
    "managedclusteraddons",
];

/// A CRD that fleets in one process have, too, by the plural of its kind: its file.
pub fn fleet_crd(plural: &str) -> PathBuf {
    workspace().join(format!("fleet/crds/{plural}.yaml"))
}

/// The files of the CRDs of OCM's add-ons and works.
pub fn addon_crds() -> Result<Vec<PathBuf>> {
    let mut files: Vec<PathBuf> = OF_ADDONS.map(fleet_crd).into();
    for entry in fs::read_dir(workspace().join("tests/testkit/crds/addons"))? {
        files.push(entry?.path());
    }
    Ok(files)
}

/// Applies every CRD in `deploy/crds` and `tests/testkit/crds` and waits until each is served.
/// Returns their names.
pub async fn install_crds(objects: &Objects) -> Result<Vec<String>> {
    install_all(objects, &all_crds()?).await
}

/// The same without placement rules, as on a hub of OCM. To delete that CRD afterwards is no way: a kube-apiserver whose storage of
/// the kind is still starting gives up cleaning it up when its next try meets a conflict.
pub async fn install_crds_without_rules(objects: &Objects) -> Result<Vec<String>> {
    let mut crds = all_crds()?;
    crds.retain(|crd| crd.name_any() != "placementrules.apps.open-cluster-management.io");
    install_all(objects, &crds).await
}

async fn install_all(objects: &Objects, crds: &[DynamicObject]) -> Result<Vec<String>> {
    try_join_all(crds.iter().map(|crd| install(objects, crd))).await
}

fn all_crds() -> Result<Vec<DynamicObject>> {
    let mut crds = read(&workspace().join("deploy/crds"))?;
    crds.extend(read(&workspace().join("tests/testkit/crds"))?);
    crds.extend(read_file(&fleet_crd("clusterclaims"))?);
    Ok(crds)
}

/// Applies the CRDs of OCM's add-ons and works, those of a hub and of a managed cluster, and waits
/// until each is served. [`install_crds`] leaves them out: most tests need none. Returns their names.
pub async fn install_addon_crds(objects: &Objects) -> Result<Vec<String>> {
    let mut crds = Vec::new();
    for file in addon_crds()? {
        crds.extend(read_file(&file)?);
    }
    install_all(objects, &crds).await
}

/// Applies a CRD and waits until it is served. Returns its name.
pub async fn install(objects: &Objects, crd: &DynamicObject) -> Result<String> {
    let name = crd.name_any();
    objects.apply_object(crd).await?;
    eventually(format!("CRD {name} is established"), DEADLINE, || {
        established(objects, &name)
    })
    .await?;
    // Discovery follows a moment later, and the tests ask it.
    let text = |path: &str| crd.data.pointer(path).and_then(serde_json::Value::as_str);
    let group = text("/spec/group").context("a CRD without a group")?;
    let version = text("/spec/versions/0/name").context("a CRD without a version")?;
    let kind = text("/spec/names/kind").context("a CRD without a kind")?;
    let api_version = format!("{group}/{version}");
    eventually(format!("{kind} is discoverable"), DEADLINE, || {
        objects.kind(&api_version, kind)
    })
    .await?;
    Ok(name)
}

async fn established(objects: &Objects, name: &str) -> Result<()> {
    let kind = "CustomResourceDefinition";
    let crd = objects
        .get("apiextensions.k8s.io/v1", kind, None, name)
        .await?;
    let crd = crd.context("absent")?;
    let conditions = crd
        .data
        .pointer("/status/conditions")
        .and_then(|all| all.as_array());
    let is_true = conditions
        .into_iter()
        .flatten()
        .any(|condition| condition["type"] == "Established" && condition["status"] == "True");
    if !is_true {
        bail!("its conditions are {conditions:?}");
    }
    Ok(())
}

/// Only CRDs: the folder may hold other manifests, such as a kustomization.
pub(crate) fn read(folder: &Path) -> Result<Vec<DynamicObject>> {
    let mut crds = Vec::new();
    let Ok(entries) = fs::read_dir(folder) else {
        return Ok(crds);
    };
    for path in entries.flatten().map(|entry| entry.path()) {
        let named = path
            .extension()
            .is_some_and(|extension| extension == "yaml");
        if named {
            crds.extend(read_file(&path)?);
        }
    }
    Ok(crds)
}

fn read_file(path: &Path) -> Result<Vec<DynamicObject>> {
    let text = fs::read_to_string(path);
    let text = text.with_context(|| format!("reading {}", path.display()))?;
    if !text.contains("kind: CustomResourceDefinition") {
        return Ok(Vec::new());
    }
    yaml::parse(&text).with_context(|| format!("in {}", path.display()))
}
