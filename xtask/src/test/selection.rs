//! Which tests are run: all, those that are named, or those that a change may have broken.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};
use cargo_metadata::{DependencyKind, Metadata, MetadataCommand};

use super::programs::Program;
use super::suites::{PACKAGE, SUITES, Suite};
use crate::run;

/// What is run.
pub(super) enum Selection {
    All,
    /// Suites of scenarios and packages, by their names.
    Named(BTreeSet<String>),
    /// Suites of scenarios and packages that a change may have broken, by their names.
    Affected(BTreeSet<String>),
}

/// The folders that are no packages, and the packages whose tests read them.
const READ_BY: [(&str, &[&str]); 8] = [
    ("policies", &["reeve-cli"]),
    ("docs", &["reeve-cli"]),
    ("README.md", &["reeve-cli"]),
    ("CHANGELOG.md", &[]),
    ("CONTRIBUTING.md", &[]),
    ("SECURITY.md", &[]),
    ("RELEASE.md", &[]),
    (".github", &[]),
];

impl Selection {
    /// The tests of these names: of suites, or of packages with or without their prefix.
    pub(super) fn named(names: &[String]) -> Result<Self> {
        let packages = packages(&metadata()?);
        let mut selected = BTreeSet::new();
        for name in names {
            let package = format!("reeve-{name}");
            if SUITES.iter().any(|suite| suite.name == name) || packages.contains_key(name) {
                selected.insert(name.clone());
            } else if packages.contains_key(&package) {
                selected.insert(package);
            } else {
                let suites: Vec<&str> = SUITES.iter().map(|suite| suite.name).collect();
                let suites = suites.join(", ");
                bail!(
                    "{name} is neither a package of the workspace nor one of the suites {suites}"
                );
            }
        }
        Ok(Self::Named(selected))
    }

    /// The tests of what depends on the files that differ from a commit, those that git does not know yet among them.
    pub(super) fn changed_since(commit: &str) -> Result<Self> {
        let files = changed_files(commit)?;
        let metadata = metadata()?;
        let affected = affected(&files, &folders(&metadata)?, &packages(&metadata));
        match &affected {
            None => println!("everything depends on what changed since {commit}"),
            Some(affected) if affected.is_empty() => {
                println!("no test depends on what changed since {commit}");
            }
            Some(affected) => {
                let names: Vec<&str> = affected.iter().map(String::as_str).collect();
                println!("changed since {commit}, or dependent: {}", names.join(", "));
            }
        }
        Ok(affected.map_or(Self::All, Self::Affected))
    }

    pub(super) fn is_all(&self) -> bool {
        matches!(self, Self::All)
    }

    /// Whether a test program of a package is run, one without suites.
    pub(super) fn has_program(&self, program: &Program) -> bool {
        match self {
            Self::All => true,
            Self::Named(packages) | Self::Affected(packages) => packages.contains(&program.package),
        }
    }

    /// Whether a suite is run: its scenarios changed, or what it is about.
    pub(super) fn has_suite(&self, suite: &Suite) -> bool {
        match self {
            Self::All => true,
            Self::Named(names) => names.contains(suite.name),
            Self::Affected(packages) => suite
                .subjects
                .iter()
                .chain(&[suite.name, PACKAGE])
                .any(|package| packages.contains(*package)),
        }
    }
}

fn metadata() -> Result<Metadata> {
    let mut command = MetadataCommand::new();
    command.current_dir(run::root()?).no_deps();
    command.exec().context("reading the workspace's metadata")
}

/// The packages of the workspace, each with those of its packages that it depends on, for its tests too. What the suites
/// of scenarios depend on is up to each of them.
fn packages(metadata: &Metadata) -> BTreeMap<String, BTreeSet<String>> {
    let names: BTreeSet<&str> = metadata
        .packages
        .iter()
        .map(|one| one.name.as_str())
        .collect();
    let dependencies = |package: &cargo_metadata::Package| {
        package
            .dependencies
            .iter()
            .filter(|one| package.name != PACKAGE || one.kind == DependencyKind::Normal)
            .map(|one| one.name.as_str())
            .filter(|name| names.contains(name))
            .map(str::to_owned)
            .collect()
    };
    metadata
        .packages
        .iter()
        .map(|package| (package.name.to_string(), dependencies(package)))
        .collect()
}

/// The folder of each package, relative to the root.
fn folders(metadata: &Metadata) -> Result<Vec<(PathBuf, String)>> {
    let mut folders = Vec::new();
    for package in &metadata.packages {
        let folder = package.manifest_path.parent();
        let folder = folder.context("a manifest in no folder")?;
        let folder = folder
            .strip_prefix(&metadata.workspace_root)
            .with_context(|| format!("{folder} is outside of the workspace"))?;
        folders.push((folder.into(), package.name.to_string()));
    }
    Ok(folders)
}

fn changed_files(commit: &str) -> Result<Vec<PathBuf>> {
    let mut files = git(&["diff", "--name-only", "--merge-base", commit])?;
    files.extend(git(&["ls-files", "--others", "--exclude-standard"])?);
    Ok(files)
}

fn git(arguments: &[&str]) -> Result<Vec<PathBuf>> {
    let what = format!("git {}", arguments.join(" "));
    let output = Command::new("git")
        .args(arguments)
        .current_dir(run::root()?)
        .output()
        .with_context(|| format!("cannot run {what}"))?;
    ensure!(
        output.status.success(),
        "{what} failed: {}",
        String::from_utf8_lossy(&output.stderr).trim()
    );
    let printed = String::from_utf8_lossy(&output.stdout);
    Ok(printed.lines().map(PathBuf::from).collect())
}

/// The packages that have one of the files, and all that depend on them; `None` when any package may.
fn affected(
    files: &[PathBuf],
    folders: &[(PathBuf, String)],
    packages: &BTreeMap<String, BTreeSet<String>>,
) -> Option<BTreeSet<String>> {
    let mut affected = BTreeSet::new();
    for file in files {
        if let Some(suite) = suite_of(file) {
            affected.insert(suite.to_owned());
            continue;
        }
        let package = folders
            .iter()
            .filter(|(folder, _)| file.starts_with(folder))
            // The innermost: folders of packages lie in each other.
            .max_by_key(|(folder, _)| folder.components().count());
        if let Some((_, package)) = package {
            affected.insert(package.clone());
            continue;
        }
        let (_, readers) = READ_BY
            .iter()
            .find(|(folder, _)| file.starts_with(folder))?;
        affected.extend(readers.iter().map(|&reader| reader.to_owned()));
    }
    loop {
        let dependents: Vec<&String> = packages
            .iter()
            .filter(|(name, dependencies)| {
                !affected.contains(*name) && !dependencies.is_disjoint(&affected)
            })
            .map(|(name, _)| name)
            .collect();
        if dependents.is_empty() {
            return Some(affected);
        }
        affected.extend(dependents.into_iter().cloned());
    }
}

/// The suite that has a file, if only one has it.
fn suite_of(file: &Path) -> Option<&'static str> {
    let inside = file.strip_prefix("tests/scenarios/tests").ok()?;
    let folder = inside.components().nth(1)?.as_os_str();
    let mut suites = SUITES.iter().map(|suite| suite.name);
    suites.find(|&name| folder == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn affected_by(files: &[&str]) -> Option<Vec<String>> {
        let names = |all: &[&str]| all.iter().map(|&one| one.to_owned()).collect();
        let folders: Vec<(PathBuf, String)> = [
            ("api", "reeve-api"),
            ("cli", "reeve-cli"),
            ("benches", "reeve-benches"),
            ("benches/hub", "reeve-benches-hub"),
        ]
        .map(|(folder, name)| (folder.into(), name.to_owned()))
        .into();
        let packages = BTreeMap::from([
            ("reeve-api".to_owned(), BTreeSet::new()),
            ("reeve-cli".to_owned(), names(&["reeve-api"])),
            ("reeve-benches".to_owned(), BTreeSet::new()),
            ("reeve-benches-hub".to_owned(), names(&["reeve-benches"])),
        ]);
        let files: Vec<PathBuf> = files.iter().map(PathBuf::from).collect();
        affected(&files, &folders, &packages).map(|all| all.into_iter().collect())
    }

    #[test]
    fn dependents_of_a_changed_package_are_affected() {
        let expected = ["reeve-api", "reeve-cli"].map(str::to_owned);
        assert_eq!(affected_by(&["api/src/lib.rs"]).unwrap(), expected);
    }

    #[test]
    fn file_belongs_to_the_innermost_package() {
        let expected = ["reeve-benches-hub"].map(str::to_owned);
        assert_eq!(affected_by(&["benches/hub/src/main.rs"]).unwrap(), expected);
    }

    #[test]
    fn file_of_no_known_reader_affects_everything() {
        assert_eq!(affected_by(&["api/src/lib.rs", "Cargo.lock"]), None);
        assert_eq!(affected_by(&["SECURITY.md"]).unwrap(), Vec::<String>::new());
    }

    #[test]
    fn scenario_affects_its_own_suite() {
        let expected = ["hub"].map(str::to_owned);
        let file = "tests/scenarios/tests/propagator/hub/keys.rs";
        assert_eq!(affected_by(&[file]).unwrap(), expected);
    }

    #[test]
    fn suites_and_packages_are_named_with_or_without_the_prefix() {
        let names = ["hub", "runtime", "reeve-api"].map(str::to_owned);
        let Selection::Named(selected) = Selection::named(&names).unwrap() else {
            panic!("it is no selection by names");
        };
        // `runtime` is a suite and a package: the suite wins, the package has its prefix.
        let expected = ["hub", "reeve-api", "runtime"].map(str::to_owned);
        assert!(selected.iter().eq(&expected), "{selected:?}");
        let error = Selection::named(&["nothing".to_owned()]).err().unwrap();
        assert!(
            error.to_string().starts_with("nothing is neither"),
            "{error}"
        );
    }
}
