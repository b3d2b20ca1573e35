//! Policies of `PolicyGenerator` documents, generated in this process.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use reeve_manifests::{Found, Input, ManifestError, Object, STDIN, Skipped};
use reeve_policy_generator::{Caller, Environment, PROGRAM};
use serde::Deserialize;
use serde_json::Value;

use crate::messages;

/// The names of a kustomization's file.
const KUSTOMIZATIONS: [&str; 3] = ["kustomization.yaml", "kustomization.yml", "Kustomization"];

/// Whether an object is a document of the generator.
pub(crate) fn is_generator(object: &Object) -> bool {
    object.is("policy.open-cluster-management.io", PROGRAM)
}

/// Generates the policies of a file into `found`.
pub(crate) fn generate(file: &Path, found: &mut Found) {
    if file == Path::new(STDIN) {
        found.skipped.push(Skipped {
            path: file.to_owned(),
            reason: messages::GENERATOR_OF_STDIN.to_owned(),
        });
        return;
    }
    let folder = match file.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    let name = file.file_name().unwrap_or(file.as_os_str());
    let name = name.to_string_lossy().into_owned();
    // A name that begins with a dash is no flag.
    let arguments = ["--".to_owned(), name];
    let environment = Environment::from_variables(Caller::Reeve, |name| std::env::var(name).ok());
    let outcome = reeve_policy_generator::run(&arguments, folder, environment);
    if outcome.code != 0 {
        found.errors.push(ManifestError::Generator {
            path: file.to_owned(),
            why: outcome.stderr.trim().to_owned(),
        });
        return;
    }
    // What the generator warns of is not in the policies.
    let warnings = outcome.stderr.lines().map(|warning| Skipped {
        path: file.to_owned(),
        reason: warning.to_owned(),
    });
    found.skipped.extend(warnings);
    let text = String::from_utf8_lossy(&outcome.stdout);
    let mut generated = reeve_manifests::read_text(file, &text);
    for object in &mut generated.objects {
        // The lines are those of the output, which nobody sees.
        object.position.line = 1;
        object.position.document = 1;
    }
    found.objects.extend(generated.objects);
    found.errors.extend(generated.errors);
}

/// The files that a document of the generator reads: they are part of its policies, not objects of the hub.
pub(crate) fn sources(object: &Object) -> BTreeSet<PathBuf> {
    let folder = object.position.path.parent().unwrap_or(Path::new(""));
    let mut paths = Vec::new();
    collect(&object.value, &mut paths);
    let mut all = BTreeSet::new();
    for path in paths {
        let (files, _, _) = reeve_manifests::files(&folder.join(path));
        all.extend(files.iter().filter_map(|file| file.canonicalize().ok()));
    }
    all
}

/// The texts of all fields that name files.
fn collect<'a>(value: &'a Value, paths: &mut Vec<&'a str>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| collect(item, paths)),
        Value::Object(fields) => {
            for (key, field) in fields {
                let names_file = ["path", "placementPath", "placementRulePath"];
                match field.as_str() {
                    Some(path) if names_file.contains(&key.as_str()) => paths.push(path),
                    _ => collect(field, paths),
                }
            }
        }
        _ => {}
    }
}

/// The fields of a kustomization that are known here, beside those that say what it is.
#[derive(Deserialize)]
struct Kustomization {
    #[serde(default)]
    generators: Vec<String>,
    #[serde(default)]
    resources: Vec<String>,
    #[serde(flatten)]
    others: serde_json::Map<String, Value>,
}

/// Reads a kustomization with generators in this process, its resources by `read`. `None`: it has none, and kustomize renders
/// it.
pub(crate) fn kustomization(folder: &Path, read: &dyn Fn(&[Input]) -> Found) -> Option<Found> {
    let mut files = KUSTOMIZATIONS.iter().map(|name| folder.join(name));
    let file = files.find(|file| file.is_file())?;
    let text = std::fs::read_to_string(&file).ok()?;
    let document = reeve_manifests::documents(&text).into_iter();
    let document = document.into_iter().find(|one| !one.is_empty())?;
    // What is wrong with it, kustomize says.
    let kustomization: Kustomization = reeve_manifests::from_yaml(&document).ok()?;
    if kustomization.generators.is_empty() {
        return None;
    }
    let mut found = Found::default();
    let known = ["apiVersion", "kind", "metadata"];
    let others = kustomization.others.keys();
    let beyond: Vec<&str> = others
        .map(String::as_str)
        .filter(|key| !known.contains(key))
        .collect();
    if !beyond.is_empty() {
        found.errors.push(ManifestError::Generator {
            path: file,
            why: messages::beyond_generators(&beyond),
        });
        return Some(found);
    }
    for generator in &kustomization.generators {
        let path = folder.join(generator);
        let documents = reeve_manifests::read(&[Input::Path(path.clone())]);
        found.errors.extend(documents.errors);
        for object in &documents.objects {
            if is_generator(object) {
                generate(&object.position.path, &mut found);
            } else {
                found.errors.push(ManifestError::Generator {
                    path: path.clone(),
                    why: messages::other_generator(&object.kind),
                });
            }
        }
    }
    for resource in &kustomization.resources {
        let path = folder.join(resource);
        let input = if path.is_dir() {
            Input::Kustomization(path)
        } else {
            Input::Path(path)
        };
        let read = read(&[input]);
        found.objects.extend(read.objects);
        found.skipped.extend(read.skipped);
        found.errors.extend(read.errors);
    }
    Some(found)
}
