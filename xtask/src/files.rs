//! Every source file is compiled, and none is two ideas long.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use cargo_metadata::MetadataCommand;

const LONGEST: usize = 600;

pub(crate) fn check() -> Result<()> {
    let metadata = MetadataCommand::new()
        .no_deps()
        .exec()
        .context("cannot read cargo metadata")?;
    let mut wrong = Vec::new();
    for package in metadata.workspace_packages() {
        let folder = package
            .manifest_path
            .parent()
            .context("a manifest in no folder")?;
        let mut present = BTreeSet::new();
        for part in ["src", "tests", "benches", "examples"] {
            list(folder.join(part).as_std_path(), &mut present)?;
        }
        let mut reached = BTreeSet::new();
        for target in &package.targets {
            reach(target.src_path.as_std_path(), true, &mut reached)?;
        }
        for file in present.difference(&reached) {
            wrong.push(format!(
                "{}: no `mod` reaches it, so it is never compiled",
                file.display()
            ));
        }
        for file in &present {
            let lines = fs::read_to_string(file)?.lines().count();
            if lines > LONGEST {
                wrong.push(format!(
                    "{}: {lines} lines, more than {LONGEST}",
                    file.display()
                ));
            }
        }
    }
    if !wrong.is_empty() {
        bail!("source files:\n  {}", wrong.join("\n  "));
    }
    Ok(())
}

fn list(folder: &Path, files: &mut BTreeSet<PathBuf>) -> Result<()> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Ok(());
    };
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            list(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.insert(path);
        }
    }
    Ok(())
}

/// Follows `mod name;` lines from a file. A file named `mod.rs`, or the root of a target, looks for
/// its modules beside itself; any other in the folder of its own name.
fn reach(file: &Path, is_root: bool, reached: &mut BTreeSet<PathBuf>) -> Result<()> {
    if !reached.insert(file.to_owned()) {
        return Ok(());
    }
    let text =
        fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    let folder = file.parent().unwrap_or(Path::new("."));
    let stem = file
        .file_stem()
        .and_then(|stem| stem.to_str())
        .unwrap_or_default();
    let beside = if is_root || stem == "mod" {
        folder.to_owned()
    } else {
        folder.join(stem)
    };
    let mut path_attribute = None;
    for line in text.lines().map(str::trim) {
        if let Some(path) = line.strip_prefix("#[path = \"") {
            path_attribute = path.strip_suffix("\"]").map(|path| folder.join(path));
            continue;
        }
        let Some(name) = module(line) else { continue };
        let candidates = match path_attribute.take() {
            Some(path) => vec![path],
            None => vec![
                beside.join(format!("{name}.rs")),
                beside.join(name).join("mod.rs"),
            ],
        };
        if let Some(found) = candidates.into_iter().find(|path| path.is_file()) {
            reach(&found, false, reached)?;
        }
    }
    Ok(())
}

fn module(line: &str) -> Option<&str> {
    let line = line.strip_suffix(';')?;
    let line = line
        .strip_prefix("pub ")
        .or(line.strip_prefix("pub(crate) "))
        .unwrap_or(line);
    let line = line.strip_prefix("pub(super) ").unwrap_or(line);
    line.strip_prefix("mod ")
}
