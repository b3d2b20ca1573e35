//! The workflows of CI: what may write runs no code of the repository, and every action is the one that was read.

use std::fs;

use anyhow::{Context, Result, bail};
use regex::Regex;
use serde_json::Value;

use crate::run;

const FOLDER: &str = ".github/workflows";
/// Triggers that run code of others with the rights of the repository.
const UNSAFE_TRIGGERS: [&str; 2] = ["pull_request_target", "workflow_run"];
/// What code of the repository or of its dependencies is run by.
const BUILDERS: &str =
    r"\b(cargo|rustup|go|make|just|npm|pip|python3?|helm|docker|podman|xtask)\b|\./|\.ci/";
/// Expressions whose values are texts of the user who opens a pull request, or pushes a tag.
const FOREIGN_TEXTS: &str = r"\$\{\{[^}]*(github\.event\b|github\.head_ref|github\.ref_name)";
const ADVISORIES: &str = ".ci/advisories";

/// Fails with each fault of a workflow.
pub(crate) fn check() -> Result<()> {
    let folder = run::root()?.join(FOLDER);
    let entries = fs::read_dir(&folder).with_context(|| format!("cannot list {FOLDER}"))?;
    let (mut faults, mut has_advisories) = (Vec::new(), false);
    for entry in entries {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {name}"))?;
        let found = workflow_faults(&text).with_context(|| format!("cannot check {name}"))?;
        faults.extend(found.into_iter().map(|fault| format!("{name}: {fault}")));
        has_advisories |= shows_advisories(&text)?;
    }
    if !has_advisories {
        faults.push(format!(
            "no workflow runs {ADVISORIES} on all pull requests"
        ));
    }
    if !faults.is_empty() {
        bail!("workflows:\n  {}", faults.join("\n  "));
    }
    Ok(())
}

fn parse(text: &str) -> Result<Value> {
    // `on` is a boolean in YAML 1.1.
    let quoted = Regex::new(r"(?m)^on:")?.replace(text, "\"on\":");
    serde_saphyr::from_str(&quoted).context("it is not YAML")
}

fn workflow_faults(text: &str) -> Result<Vec<String>> {
    let workflow = parse(text)?;
    let mut faults = unpinned(text)?;
    for trigger in UNSAFE_TRIGGERS {
        if has_trigger(&workflow, trigger) {
            faults.push(format!("{trigger} runs code of others with rights"));
        }
    }
    if writes(&workflow["permissions"]) {
        faults.push("permissions of the workflow must be {} or read".to_owned());
    }
    let mut writing = 0;
    let foreign = Regex::new(FOREIGN_TEXTS)?;
    for (name, job) in fields(&workflow["jobs"]) {
        for step in items(&job["steps"]) {
            if foreign.is_match(text_of(&step["run"])) {
                faults.push(format!(
                    "job {name} runs a text of others: pass it in a variable"
                ));
            }
            let is_checkout = text_of(&step["uses"]).starts_with("actions/checkout@");
            if is_checkout && step["with"]["persist-credentials"] != false {
                faults.push(format!("job {name} leaves its token to what it checks out"));
            }
        }
        // A job without permissions has those of the workflow.
        if writes(&job["permissions"]) && !job["permissions"].is_null() {
            writing += 1;
            faults.extend(writing_job_faults(&workflow, name)?);
        }
    }
    if writing > 1 {
        faults.push(format!("{writing} jobs may write, more than one"));
    }
    Ok(faults)
}

/// A job that may write comes last, and works on what the others have handed over.
fn writing_job_faults(workflow: &Value, name: &str) -> Result<Vec<String>> {
    let mut faults = Vec::new();
    if has_trigger(workflow, "pull_request") {
        faults.push(format!(
            "job {name} may write, in a workflow for pull requests"
        ));
    }
    let job = &workflow["jobs"][name];
    for (other, _) in fields(&workflow["jobs"]) {
        let is_needed = job["needs"] == *other || items(&job["needs"]).any(|need| need == other);
        if other != name && !is_needed {
            faults.push(format!(
                "job {name} may write, and does not wait for {other}"
            ));
        }
    }
    let builders = Regex::new(BUILDERS)?;
    for step in items(&job["steps"]) {
        let (uses, run) = (text_of(&step["uses"]), text_of(&step["run"]));
        if uses.starts_with("actions/checkout@") || uses.starts_with("./") || builders.is_match(run)
        {
            faults.push(format!(
                "job {name} may write, and runs code of the repository: {uses}{run}"
            ));
        }
    }
    let all = job.to_string();
    for proof in ["actions/attest-build-provenance@", "cosign sign-blob "] {
        if all.contains("gh release create") && !all.contains(proof) {
            faults.push(format!("job {name} releases without {proof}"));
        }
    }
    Ok(faults)
}

/// Whether permissions have any beside reading. Absent ones are those of the repository's settings.
fn writes(permissions: &Value) -> bool {
    match permissions {
        Value::Object(each) => each
            .values()
            .any(|value| value != "read" && value != "none"),
        Value::String(all) => all != "read-all",
        _ => true,
    }
}

/// Actions by a name that may become another one tomorrow. A commit comes with its version, for those who read it.
fn unpinned(text: &str) -> Result<Vec<String>> {
    let pinned = Regex::new(r"^[\w./-]+@[0-9a-f]{40} # v\d+(\.\d+)*$")?;
    let used = text.lines().filter_map(|line| line.split_once("uses:"));
    let used = used.map(|(_, action)| action.trim());
    let faults = used.filter(|action| !pinned.is_match(action));
    Ok(faults
        .map(|action| format!("{action} must be pinned: action@commit # version"))
        .collect())
}

fn shows_advisories(text: &str) -> Result<bool> {
    let workflow = parse(text)?;
    let on_all = workflow["on"]
        .get("pull_request")
        .is_some_and(Value::is_null);
    let runs = |job: &Value| items(&job["steps"]).any(|step| step["run"] == ADVISORIES);
    let is_unconditional = |job: &Value| job.get("if").is_none();
    let mut jobs = fields(&workflow["jobs"]);
    Ok(on_all && jobs.any(|(_, job)| is_unconditional(job) && runs(job)))
}

fn has_trigger(workflow: &Value, name: &str) -> bool {
    let on = &workflow["on"];
    on == name || on.get(name).is_some() || items(on).any(|trigger| trigger == name)
}

fn fields(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text_of(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMMIT: &str = "34e114876b0b11c390a56381ad16ebd13914f8d5";

    /// A release with one job that builds and one that writes.
    fn release() -> String {
        format!(
            "name: release
on:
  push:
    tags: [\"v*\"]
permissions:
  contents: read
jobs:
  build:
    steps:
      - uses: actions/checkout@{COMMIT} # v4.3.1
        with:
          persist-credentials: false
      - run: cargo build
  draft:
    needs: build
    permissions:
      contents: write
    steps:
      - uses: actions/attest-build-provenance@{COMMIT} # v2
      - run: cosign sign-blob --yes a
      - run: gh release create a
"
        )
    }

    #[test]
    fn workflows_of_the_repository_have_no_faults() {
        check().unwrap();
    }

    #[test]
    fn release_whose_last_job_writes_has_no_faults() {
        assert_eq!(workflow_faults(&release()).unwrap(), Vec::<String>::new());
    }

    #[test]
    fn each_weakened_line_is_a_fault() {
        let commit = format!("@{COMMIT} # v4.3.1");
        for (old, new) in [
            (
                "permissions:\n  contents: read\n",
                "permissions:\n  contents: write\n",
            ),
            (
                "permissions:\n  contents: read\n",
                "permissions: write-all\n",
            ),
            ("permissions:\n  contents: read\n", ""),
            (&commit[..], "@v4"),
            (&commit[..], "@34e1148 # v4"),
            (" # v4.3.1", ""),
            ("persist-credentials: false", "fetch-depth: 0"),
            ("    needs: build\n", ""),
            (
                "  push:\n    tags: [\"v*\"]\n",
                "  push:\n  pull_request:\n",
            ),
            ("  push:\n    tags: [\"v*\"]\n", "  pull_request_target:\n"),
            (
                "run: cargo build\n",
                "run: echo ${{ github.event.head_commit.message }}\n",
            ),
            (
                "run: cargo build\n",
                "run: cargo build\n    permissions:\n      packages: write\n",
            ),
            (
                "run: gh release create a\n",
                "run: cargo xtask image && gh release create a\n",
            ),
            (
                "run: gh release create a\n",
                "run: ./release && gh release create a\n",
            ),
            ("run: cosign sign-blob --yes a\n", "run: ls\n"),
            (
                "uses: actions/attest-build-provenance@",
                "uses: actions/checkout@",
            ),
        ] {
            let weakened = release().replacen(old, new, 1);
            assert_ne!(weakened, release(), "{old}");
            let faults = workflow_faults(&weakened).unwrap();
            assert!(!faults.is_empty(), "{old:?} became {new:?}");
        }
    }

    #[test]
    fn advisories_are_shown_on_all_pull_requests() {
        let shown = "on:\n  pull_request:\njobs:\n  a:\n    steps:\n      - run: .ci/advisories\n";
        assert!(shows_advisories(shown).unwrap());
        for (old, new) in [
            ("pull_request:", "push:"),
            ("pull_request:", "pull_request:\n    paths: [Cargo.lock]"),
            ("    steps", "    if: false\n    steps"),
            (".ci/advisories", "ls"),
        ] {
            assert!(
                !shows_advisories(&shown.replacen(old, new, 1)).unwrap(),
                "{new}"
            );
        }
    }
}
