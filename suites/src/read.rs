//! Finds and reads suites and fleet files.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use reeve_fleet::{Cluster, Taint};
use reeve_go_compat::labels::is_dns_label;
use reeve_manifests::{Document, STDIN, YamlError, documents, from_yaml, stdin_bytes};
use reeve_report::{Skip, Source};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::duration;
use crate::messages;
use crate::spec::{API_VERSION, Clusters, FleetFile, Step, Suite};

/// The maximum length of a DNS-1123 label.
const MAX_LABEL: usize = 63;

/// A suite of a file.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The suite.
    pub suite: Suite,
    /// The folder that its paths are relative to.
    pub folder: PathBuf,
    /// Where it begins.
    pub source: Source,
    /// Where its steps begin.
    pub steps: Vec<Source>,
}

/// Why a suite or a fleet file cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// A path cannot be read.
    #[error(transparent)]
    Manifest(#[from] reeve_manifests::ManifestError),
    /// The file cannot be read.
    #[error("cannot read {path}: {source}")]
    Read {
        /// The file.
        path: String,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// The file is not YAML, or has a key that is not known or a value of another type.
    #[error("{path}: {source}")]
    Yaml {
        /// The file.
        path: String,
        /// What is wrong, with its line.
        source: YamlError,
    },
    /// A value is not possible.
    #[error("{path}:{line}: {why}")]
    Value {
        /// The file.
        path: String,
        /// The line of the document or step.
        line: usize,
        /// What is wrong.
        why: String,
    },
}

/// What paths hold.
#[derive(Debug, Default)]
pub struct Suites {
    /// The suites.
    pub suites: Vec<Loaded>,
    /// The text of standard input, if it was read and holds no suite.
    pub stdin: Option<String>,
    /// Policies that no suite uses, and files of other kinds.
    pub skipped: Vec<Skip>,
    /// What could not be read.
    pub errors: Vec<ReadError>,
}

/// The kind of a document.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Kind {
    #[serde(default)]
    api_version: Value,
    #[serde(default)]
    kind: Value,
}

/// The positions of steps.
#[derive(Deserialize)]
struct Steps {
    steps: Vec<serde_saphyr::Spanned<serde::de::IgnoredAny>>,
}

/// Finds the suites of files and folders. Files that hold none are listed as skipped if they hold policies.
pub fn find(paths: &[PathBuf]) -> Suites {
    let mut found = Suites::default();
    let mut others = BTreeSet::new();
    for path in paths {
        if path == Path::new(STDIN) {
            match stdin_bytes().and_then(|bytes| std::io::read_to_string(&*bytes)) {
                Ok(text) => {
                    if !read_text(path, &text, &mut found) {
                        found.stdin = Some(text);
                    }
                }
                Err(source) => found.errors.push(unreadable(path, source)),
            }
            continue;
        }
        let (files, _, errors) = reeve_manifests::files(path);
        found.errors.extend(errors.into_iter().map(ReadError::from));
        for file in files {
            match std::fs::read_to_string(&file) {
                Ok(text) => {
                    if !read_text(&file, &text, &mut found) && is_policy(&text) {
                        others.insert(file);
                    }
                }
                Err(source) => found.errors.push(unreadable(&file, source)),
            }
        }
    }
    found.skipped = unused(&found.suites, others);
    found
}

/// The suites of the text of a file.
pub fn suites_of_text(path: &Path, text: &str) -> Suites {
    let mut found = Suites::default();
    read_text(path, text, &mut found);
    found
}

/// The files with policies that no suite reads.
fn unused(suites: &[Loaded], others: BTreeSet<PathBuf>) -> Vec<Skip> {
    let mut used = BTreeSet::new();
    for loaded in suites {
        let files = loaded.suite.steps.iter().flat_map(|step| &step.apply);
        let files = files.flat_map(|apply| &apply.files);
        for path in loaded.suite.policies.iter().chain(files) {
            let (files, _, _) = reeve_manifests::files(&loaded.folder.join(path));
            used.extend(files.iter().filter_map(|file| file.canonicalize().ok()));
        }
    }
    let is_unused = |file: &PathBuf| file.canonicalize().is_ok_and(|real| !used.contains(&real));
    others
        .into_iter()
        .filter(is_unused)
        .map(|file| Skip {
            path: file.display().to_string(),
            reason: messages::UNUSED.to_owned(),
        })
        .collect()
}

fn unreadable(path: &Path, source: std::io::Error) -> ReadError {
    ReadError::Read {
        path: path.display().to_string(),
        source,
    }
}

/// Whether a text holds policies, by its lines: reading it is not worth while.
fn is_policy(text: &str) -> bool {
    text.lines()
        .any(|line| matches!(line.trim_end(), "kind: Policy" | "kind: \"Policy\""))
}

/// Reads the suites of a text. Returns whether there was one.
fn read_text(path: &Path, text: &str, found: &mut Suites) -> bool {
    let before = (found.suites.len(), found.errors.len());
    // Most files are none: they are not read as YAML.
    if !text.contains(API_VERSION) {
        return false;
    }
    for document in documents(text) {
        let Ok(kind) = from_yaml::<Kind>(&document) else {
            if document.text.contains("kind: Suite") {
                // The error of the whole says where it is.
                let _ = suite(path, &document).map_err(|error| found.errors.push(error));
            }
            continue;
        };
        if kind.api_version == API_VERSION && kind.kind == "Suite" {
            match suite(path, &document) {
                Ok(suite) => found.suites.push(suite),
                Err(error) => found.errors.push(error),
            }
        }
    }
    before != (found.suites.len(), found.errors.len())
}

fn decoded<T: DeserializeOwned>(path: &Path, document: &Document<'_>) -> Result<T, ReadError> {
    from_yaml(document).map_err(|source| ReadError::Yaml {
        path: path.display().to_string(),
        source,
    })
}

fn suite(path: &Path, document: &Document<'_>) -> Result<Loaded, ReadError> {
    let suite: Suite = decoded(path, document)?;
    let steps: Steps = decoded(path, document)?;
    let source = |line: u64| Source {
        path: path.display().to_string(),
        line: document.line + usize::try_from(line).unwrap_or(1).saturating_sub(1),
    };
    let steps: Vec<Source> = steps
        .steps
        .iter()
        .map(|step| source(step.referenced.line()))
        .collect();
    let invalid = |source: &Source, why| ReadError::Value {
        path: source.path.clone(),
        line: source.line,
        why,
    };
    for (step, source) in suite.steps.iter().zip(&steps) {
        check(step).map_err(|why| invalid(source, why))?;
    }
    if suite.steps.is_empty() {
        let why = "steps: at least one is needed".to_owned();
        return Err(invalid(&source(1), why));
    }
    clusters(&suite.clusters).map_err(|why| invalid(&source(1), why))?;
    Ok(Loaded {
        suite,
        folder: path.parent().unwrap_or(Path::new("")).to_owned(),
        source: source(1),
        steps,
    })
}

/// What the types of a step do not say.
fn check(step: &Step) -> Result<(), String> {
    if let Some(wait) = &step.wait {
        duration::parse(wait).map_err(|why| format!("wait: {why}"))?;
    }
    let of_compliance = step.expect.compliance.iter().map(|one| &one.matches);
    let of_events = step.expect.events.iter().map(|one| &one.matches);
    for pattern in of_compliance.chain(of_events).flatten() {
        regex::Regex::new(pattern).map_err(|error| {
            let why = error.to_string();
            let why = why.lines().last().unwrap_or_default().trim().to_owned();
            format!("matches: {pattern:?} is not a regular expression: {why}")
        })?;
    }
    Ok(())
}

/// Reads a fleet file.
pub fn fleet_file(path: &Path) -> Result<FleetFile, ReadError> {
    let text = std::fs::read_to_string(path).map_err(|source| unreadable(path, source))?;
    fleet_of_text(path, &text)
}

/// Reads the text of a fleet file.
pub fn fleet_of_text(path: &Path, text: &str) -> Result<FleetFile, ReadError> {
    let all = documents(text);
    let document = all.iter().find(|document| !document.is_empty());
    let whole = Document {
        line: 1,
        number: 1,
        text,
    };
    let file: FleetFile = decoded(path, document.unwrap_or(&whole))?;
    let invalid = |why| ReadError::Value {
        path: path.display().to_string(),
        line: 1,
        why,
    };
    if file.kind != "Fleet" {
        return Err(invalid(messages::other_kind("Fleet", &file.kind)));
    }
    if file.api_version != API_VERSION {
        let why = messages::other_version(API_VERSION, &file.api_version);
        return Err(invalid(why));
    }
    clusters(&file.clusters).map_err(invalid)?;
    Ok(file)
}

/// The clusters of a suite or a fleet file.
pub fn clusters(clusters: &Clusters) -> Result<Vec<Cluster>, String> {
    /// So many have ports next to each other.
    const MOST: usize = 9999;
    let all: Vec<Cluster> = match clusters {
        Clusters::Count(count) if *count > MOST => {
            return Err(format!("clusters: at most {MOST}"));
        }
        Clusters::Count(count) => (1..=*count)
            .map(|number| Cluster::from(format!("cluster{number}")))
            .collect(),
        Clusters::Named(named) => named
            .iter()
            .map(|one| Cluster {
                name: one.name.clone(),
                labels: one.labels.clone(),
                claims: one.claims.clone(),
                taints: one
                    .taints
                    .iter()
                    .map(|taint| Taint {
                        key: taint.key.clone(),
                        value: taint.value.clone(),
                        effect: taint.effect.clone(),
                    })
                    .collect(),
            })
            .collect(),
    };
    let mut names = BTreeSet::new();
    for cluster in &all {
        // The cluster's namespace on the hub has its name, and `hub` names the hub.
        let is_label = is_dns_label(&cluster.name) && cluster.name.len() <= MAX_LABEL;
        if !is_label || cluster.name == "hub" {
            return Err(messages::no_cluster_name(&cluster.name));
        }
        if !names.insert(&cluster.name) {
            return Err(format!("clusters: {} is there twice", cluster.name));
        }
    }
    Ok(all)
}
