//! Reads what users name as policies. A folder of policies often holds their suites, too, and what those need: that is
//! set aside, each with the reason.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use reeve_manifests::{Found, Input, ManifestError, Object, STDIN, Skipped};

use crate::generate;
use crate::messages;
use crate::spec::{Clusters, Suite};

/// Reads the inputs of a hub. An input without an object for a hub and without an error is an error.
pub fn read_policies(inputs: &[Input]) -> Found {
    let mut all = Found::default();
    for input in inputs {
        let generated = match input {
            Input::Kustomization(folder) => generate::kustomization(folder, &read_policies),
            Input::Path(_) => None,
        };
        let read = || reeve_manifests::read(std::slice::from_ref(input));
        let (Input::Path(path) | Input::Kustomization(path)) = input;
        let found = not_empty(path, for_hub(generated.unwrap_or_else(read)));
        all.objects.extend(found.objects);
        all.skipped.extend(found.skipped);
        all.errors.extend(found.errors);
    }
    all
}

/// Reads the text of standard input for a hub.
pub fn policies_of_stdin(text: &str) -> Found {
    let found = for_hub(reeve_manifests::read_stdin_text(text));
    not_empty(Path::new(STDIN), found)
}

/// An input without an object for a hub and without an error is an error.
fn not_empty(path: &Path, mut found: Found) -> Found {
    if found.objects.is_empty() && found.errors.is_empty() {
        found.errors.push(ManifestError::Empty {
            path: path.to_owned(),
            why: reeve_manifests::instead(&found.skipped),
        });
    }
    found
}

/// Generates the policies of generators, and sets aside what is not for a hub: documents of other commands, what suites
/// give to their clusters, and what generators read.
pub fn for_hub(mut found: Found) -> Found {
    let fixtures = fixtures(&found.objects);
    let all = std::mem::take(&mut found.objects);
    let generators = all.iter().filter(|object| generate::is_generator(object));
    let sources: BTreeSet<PathBuf> = generators.clone().flat_map(generate::sources).collect();
    let files: BTreeSet<PathBuf> = generators.map(|one| one.position.path.clone()).collect();
    for file in files {
        generate::generate(&file, &mut found);
    }
    let mut aside = BTreeSet::new();
    for object in all {
        if generate::is_generator(&object) {
            continue;
        }
        match reason(&object, &fixtures, &sources) {
            None => found.objects.push(object),
            Some(reason) => {
                aside.insert(Skipped {
                    path: object.position.path,
                    reason: reason.to_owned(),
                });
            }
        }
    }
    found.skipped.extend(aside);
    found
}

fn reason(
    object: &Object,
    fixtures: &BTreeSet<PathBuf>,
    sources: &BTreeSet<PathBuf>,
) -> Option<&'static str> {
    let is_in = |files: &BTreeSet<PathBuf>| {
        // The file of an object is looked up only if there is something to find.
        !files.is_empty() && real(&object.position.path).is_some_and(|path| files.contains(&path))
    };
    if object.is("reeve", "Suite") {
        Some(messages::SUITE)
    } else if object.is("reeve", "Fleet") {
        Some(messages::FLEET)
    } else if object.is("kustomize.config.k8s.io", "Kustomization") {
        Some(messages::KUSTOMIZATION)
    } else if is_in(fixtures) {
        Some(messages::FIXTURE)
    } else if is_in(sources) {
        Some(messages::GENERATED)
    } else {
        None
    }
}

fn real(path: &Path) -> Option<PathBuf> {
    path.canonicalize().ok()
}

/// The files that suites give to their clusters: CRDs, first objects, and objects of steps.
fn fixtures(objects: &[Object]) -> BTreeSet<PathBuf> {
    let mut all = BTreeSet::new();
    for object in objects.iter().filter(|object| object.is("reeve", "Suite")) {
        // What is wrong with a suite is the matter of `reeve test`.
        let Ok(suite) = serde_json::from_value::<Suite>(object.value.clone()) else {
            continue;
        };
        let folder = object.position.path.parent().unwrap_or(Path::new(""));
        for path in given(&suite) {
            let (files, _, _) = reeve_manifests::files(&folder.join(path));
            all.extend(files.iter().filter_map(|file| real(file)));
        }
    }
    all
}

/// The paths of files that a suite gives to its clusters.
fn given(suite: &Suite) -> Vec<&String> {
    let mut paths: Vec<&String> = suite.crds.iter().collect();
    if let Clusters::Named(named) = &suite.clusters {
        paths.extend(named.iter().flat_map(|one| &one.files));
    }
    let steps = suite.steps.iter().flat_map(|step| &step.apply);
    let on_clusters = steps.filter(|apply| apply.cluster.as_deref().is_some_and(|of| of != "hub"));
    paths.extend(on_clusters.flat_map(|apply| &apply.files));
    paths
}
