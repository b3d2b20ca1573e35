//! The generated files: written by `gen`, compared by `check`.

use std::path::PathBuf;
use std::{fs, io};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::{hub, metrics, rbac, readme, rules, run};

const PLACEMENT_RULES: &str = "deploy/hub/crds/apps.open-cluster-management.io_placementrules.yaml";

fn in_chart(name: &str, crd: &Value) -> Result<(PathBuf, String)> {
    let yaml = serde_saphyr::to_string(&hub::kept(crd)?);
    let yaml = yaml.with_context(|| format!("cannot write {name}"))?;
    Ok((
        PathBuf::from("deploy/chart/reeve/files/crds").join(name),
        yaml,
    ))
}

/// Every generated file, by its path in the workspace, with its content.
fn all() -> Result<Vec<(PathBuf, String)>> {
    let mut files = Vec::new();
    for (name, crd) in reeve_api::crds::all()? {
        let yaml = serde_saphyr::to_string(&crd).with_context(|| format!("cannot write {name}"))?;
        files.push((PathBuf::from("deploy/crds").join(&name), yaml));
    }
    for (name, crd) in reeve_api::crds::on_hub()? {
        files.push(in_chart(&name, &crd)?);
    }
    let rule = fs::read_to_string(run::root()?.join(PLACEMENT_RULES));
    let rule = rule.with_context(|| format!("cannot read {PLACEMENT_RULES}"))?;
    let rule: Value = serde_saphyr::from_str(&rule).context("cannot read PlacementRule's CRD")?;
    files.push(in_chart(
        "apps.open-cluster-management.io_placementrules.yaml",
        &rule,
    )?);
    for (path, yaml) in hub::all()? {
        files.push((PathBuf::from(path), yaml));
    }
    for (name, yaml) in rbac::all()? {
        files.push((PathBuf::from("deploy/rbac").join(name), yaml));
    }
    files.push((PathBuf::from("README.md"), readme::page()?));
    files.push((PathBuf::from("docs/reference/rules.md"), rules::page()?));
    files.push((PathBuf::from("docs/reference/metrics.md"), metrics::page()));
    files.push((
        PathBuf::from("docs/reference/flags.md"),
        reeve_cli::reference(),
    ));
    for (name, page) in man_pages(&reeve_cli::command())? {
        files.push((PathBuf::from("docs/reference/man").join(name), page));
    }
    for (name, schema) in reeve_suites::schema() {
        let text = format!("{schema:#}\n");
        files.push((PathBuf::from("docs/reference").join(name), text));
    }
    files.push((
        PathBuf::from("docs/reference/template-functions.md"),
        reeve_templates_engine::reference::reference(),
    ));
    Ok(files)
}

/// The manual pages of a command and of those in it, by file name.
fn man_pages(command: &clap::Command) -> Result<Vec<(String, String)>> {
    let mut command = command.clone().disable_help_subcommand(true);
    command.build();
    let mut pages = Vec::new();
    collect_pages(&command, &mut pages)?;
    Ok(pages)
}

fn collect_pages(command: &clap::Command, pages: &mut Vec<(String, String)>) -> Result<()> {
    let page = clap_mangen::Man::new(command.clone());
    let name = page.get_filename();
    let mut text = Vec::new();
    page.render(&mut text)
        .with_context(|| format!("cannot write {name}"))?;
    let text = String::from_utf8(text).with_context(|| format!("cannot write {name}"))?;
    // The pages are checked like all files: no white space at the ends of lines.
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    pages.push((name, lines.join("\n") + "\n"));
    let inner = command.get_subcommands();
    for inner in inner.filter(|inner| !inner.is_hide_set()) {
        collect_pages(inner, pages)?;
    }
    Ok(())
}

pub(crate) fn write() -> Result<()> {
    let root = run::root()?;
    for (path, content) in all()? {
        let path = root.join(path);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(&path, content).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

pub(crate) fn check() -> Result<()> {
    let root = run::root()?;
    let mut stale = Vec::new();
    for (path, content) in all()? {
        match fs::read_to_string(root.join(&path)) {
            Ok(found) if found == content => {}
            Ok(_) => stale.push(path.display().to_string()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                stale.push(path.display().to_string());
            }
            Err(error) => bail!("cannot read {}: {error}", path.display()),
        }
    }
    if !stale.is_empty() {
        bail!(
            "generated files are stale, run `cargo xtask gen`:\n  {}",
            stale.join("\n  ")
        );
    }
    Ok(())
}
