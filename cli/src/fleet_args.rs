//! The fleet in this process that `up`, `test` and `explain` evaluate policies on: its clusters, the kinds that they have, and whether
//! they evaluate constraints.

use std::path::{Path, PathBuf};

use anyhow::Result;
use reeve_fleet::{Cluster, Constraints};
use reeve_manifests::{Input, Object, Position};
use reeve_suites::{ClusterSpec, Clusters};
use serde_json::Value;

use crate::inputs::{self, Objects};
use crate::messages;
use crate::usage::usage;

/// Every cluster.
const ALL: &str = "*";

/// What a fleet is made of.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct FleetArgs {
    /// How many managed clusters there are (cluster1, cluster2 and so on), or a file that lists them with labels,
    /// claims, taints and objects. Default: 2, and 1 for reeve test.
    #[arg(long, value_name = "N|FILE")]
    pub(crate) clusters: Option<String>,
    /// Labels of a cluster. May be given several times.
    #[arg(long, value_name = "CLUSTER:KEY=VALUE[,…]")]
    pub(crate) label: Vec<String>,
    /// A file or folder with objects that a cluster has at first; `*` is every cluster. May be given several times.
    #[arg(long, value_name = "CLUSTER=PATH")]
    pub(crate) objects: Vec<String>,
    /// Whether the clusters evaluate Gatekeeper's constraints. on: as a Gatekeeper's audit does; auto: so, if the input names a kind
    /// of Gatekeeper; admission: constraints also refuse writes, as with Gatekeeper's webhook.
    #[arg(long, value_enum, default_value_t, value_name = "WHEN")]
    pub(crate) constraints: ConstraintsWhen,
    /// Serve kinds that no CRD describes, without a schema: plural and scope are guessed from how policies use them, and said.
    #[arg(long)]
    pub(crate) assume_kinds: bool,
}

/// When the clusters evaluate constraints.
#[derive(clap::ValueEnum, Clone, Copy, Debug, Default)]
pub(crate) enum ConstraintsWhen {
    #[default]
    Auto,
    On,
    Admission,
    Off,
}

impl ConstraintsWhen {
    fn of<'o>(self, objects: impl Iterator<Item = &'o Object>) -> Constraints {
        match self {
            Self::On => Constraints::Audited,
            Self::Admission => Constraints::Enforced,
            Self::Off => Constraints::Ignored,
            Self::Auto => Constraints::needed_by(objects.map(|one| &one.value)),
        }
    }
}

/// A fleet as it is to be started, with the first objects of its clusters.
#[derive(Debug, Default)]
pub(crate) struct Planned {
    pub(crate) clusters: Vec<Cluster>,
    pub(crate) objects: Vec<(String, Vec<Object>)>,
    pub(crate) constraints: Constraints,
    /// What is assumed, to be said.
    pub(crate) notes: Vec<String>,
}

impl FleetArgs {
    /// Reads what the arguments name. What cannot be read, is among the errors of `read`, and definitions that are known or assumed
    /// are among its CRDs. `count` is how many clusters there are unless the arguments say it.
    pub(crate) fn plan(&self, read: &mut Objects, count: usize) -> Result<Planned> {
        let mut planned = Planned::default();
        let (spec, folder) = self.spec(count)?;
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
        self.add_kinds(&mut planned, read);
        Ok(planned)
    }

    /// Adds the definitions of kinds that are known, and of those that are assumed.
    fn add_kinds(&self, planned: &mut Planned, read: &mut Objects) {
        let of_clusters = planned.objects.iter().flat_map(|(_, objects)| objects);
        let all = read.hub.iter().chain(of_clusters);
        planned.constraints = self.constraints.of(all.clone());
        let known = reeve_suites::known_definitions(all.clone(), &read.crds, planned.constraints);
        let mut defined = read.crds.clone();
        defined.extend(known);
        if self.assume_kinds {
            let assumed = reeve_fleet::assumed_kinds(all.map(|one| &one.value), &defined);
            planned
                .notes
                .extend(reeve_suites::assumed_kinds_note(&assumed));
            defined.extend(reeve_fleet::definitions_of(&assumed));
        }
        if all_texts(&read.hub).any(|text| text.contains("\"OperatorPolicy\"")) {
            planned.notes.push(messages::NO_OLM.to_owned());
        }
        read.crds = defined;
    }

    /// The clusters, and the folder that their paths are relative to.
    fn spec(&self, count: usize) -> Result<(Clusters, PathBuf)> {
        let Some(clusters) = &self.clusters else {
            return Ok((Clusters::Count(count), PathBuf::new()));
        };
        if let Ok(count) = clusters.parse() {
            return Ok((Clusters::Count(count), PathBuf::new()));
        }
        let path = Path::new(clusters);
        if !path.exists() {
            return usage(format!(
                "--clusters {clusters}: neither a number nor a file"
            ));
        }
        let file = reeve_suites::fleet_file(path);
        // The text of the error has that of its source.
        let file = file.map_err(|error| anyhow::anyhow!("--clusters: {error}"))?;
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        Ok((file.clusters, folder))
    }
}

/// Objects as JSON.
fn all_texts(objects: &[Object]) -> impl Iterator<Item = String> {
    objects.iter().map(|one| one.value.to_string())
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
        let objects = read.add(inputs::read_paths(&[PathBuf::from(path)]));
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
