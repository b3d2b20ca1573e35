//! The clusters of a fleet, from `--clusters`, `--label` and `--objects`.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use reeve_fleet::Cluster;
use reeve_manifests::{Input, Object, Position};
use reeve_suites::{ClusterSpec, Clusters};
use serde_json::Value;

use super::messages;
use crate::inputs::Objects;
use crate::usage::usage;

/// Every cluster.
const ALL: &str = "*";

/// What the clusters of a fleet are.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct ClusterArgs {
    /// How many managed clusters there are (cluster1, cluster2 and so on), or a file that lists them with labels,
    /// claims, taints and objects.
    #[arg(long, default_value = "2", value_name = "N|FILE")]
    pub(crate) clusters: String,
    /// Labels of a cluster. May be given several times.
    #[arg(long, value_name = "CLUSTER:KEY=VALUE[,…]")]
    pub(crate) label: Vec<String>,
    /// A file or folder with objects that a cluster has at first; `*` is every cluster. May be given several times.
    #[arg(long, value_name = "CLUSTER=PATH")]
    pub(crate) objects: Vec<String>,
}

/// Clusters with their first objects.
#[derive(Debug, Default)]
pub(crate) struct Planned {
    pub(crate) clusters: Vec<Cluster>,
    pub(crate) objects: Vec<(String, Vec<Object>)>,
}

impl ClusterArgs {
    /// Reads what the arguments name. What cannot be read, is among the errors of `read`.
    pub(crate) fn plan(&self, read: &mut Objects) -> Result<Planned> {
        let mut planned = Planned::default();
        let (spec, folder) = self.spec()?;
        planned.clusters = match reeve_suites::clusters(&spec) {
            Ok(clusters) => clusters,
            Err(why) => return usage(format!("--clusters: {why}")),
        };
        if let Clusters::Named(named) = &spec {
            for one in named {
                let objects = initial(one, &folder, read);
                planned.objects.push((one.name.clone(), objects));
            }
        }
        for label in &self.label {
            planned.label(label)?;
        }
        for objects in &self.objects {
            planned.objects_of(objects, read)?;
        }
        Ok(planned)
    }

    /// The clusters, and the folder that their paths are relative to.
    fn spec(&self) -> Result<(Clusters, PathBuf)> {
        if let Ok(count) = self.clusters.parse() {
            return Ok((Clusters::Count(count), PathBuf::new()));
        }
        let path = Path::new(&self.clusters);
        if !path.exists() {
            return usage(format!(
                "--clusters {}: neither a number nor a file",
                self.clusters
            ));
        }
        let file = reeve_suites::fleet_file(path).context("--clusters")?;
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        Ok((file.clusters, folder))
    }
}

/// The first objects of a cluster of a fleet file.
fn initial(one: &ClusterSpec, folder: &Path, read: &mut Objects) -> Vec<Object> {
    let files = one.files.iter().map(|file| Input::Path(folder.join(file)));
    let found = reeve_manifests::read(&files.collect::<Vec<_>>());
    let mut objects = read.add(found);
    for (index, object) in one.objects.iter().enumerate() {
        let value = Value::Object(object.clone());
        match Object::new(Position::default(), value) {
            Ok(object) => objects.push(object),
            Err(error) => {
                let why = format!("cluster {}: objects[{index}]: {error}", one.name);
                read.errors.push(why);
            }
        }
    }
    objects
}

impl Planned {
    fn label(&mut self, argument: &str) -> Result<()> {
        let malformed = || format!("--label {argument}: expected CLUSTER:KEY=VALUE");
        let Some((name, labels)) = argument.split_once(':') else {
            return usage(malformed());
        };
        self.check("--label", name)?;
        for label in labels.split(',') {
            let Some((key, value)) = label.split_once('=') else {
                return usage(malformed());
            };
            for cluster in &mut self.clusters {
                if cluster.name == name || name == ALL {
                    let labels = &mut cluster.labels;
                    labels.insert(key.to_owned(), value.to_owned());
                }
            }
        }
        Ok(())
    }

    fn objects_of(&mut self, argument: &str, read: &mut Objects) -> Result<()> {
        let Some((name, path)) = argument.split_once('=') else {
            return usage(format!("--objects {argument}: expected CLUSTER=PATH"));
        };
        self.check("--objects", name)?;
        let objects = read.add(crate::inputs::read_paths(&[PathBuf::from(path)]));
        for cluster in &self.clusters {
            if cluster.name == name || name == ALL {
                self.objects.push((cluster.name.clone(), objects.clone()));
            }
        }
        Ok(())
    }

    fn check(&self, argument: &str, name: &str) -> Result<()> {
        if name == ALL || self.clusters.iter().any(|one| one.name == name) {
            return Ok(());
        }
        let known: Vec<&str> = self
            .clusters
            .iter()
            .take(8)
            .map(|one| one.name.as_str())
            .collect();
        usage(messages::no_cluster(argument, name, &known.join(", ")))
    }
}
