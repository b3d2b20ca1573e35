//! `reeve up --watch`: a fleet that follows its input.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use anyhow::{Context as _, Result, ensure};

fn policy(name: &str, namespace: &str) -> String {
    format!(
        "apiVersion: policy.open-cluster-management.io/v1
kind: Policy
metadata: {{name: {name}, namespace: policies}}
spec:
  disabled: false
  policy-templates:
  - objectDefinition:
      apiVersion: policy.open-cluster-management.io/v1
      kind: ConfigurationPolicy
      metadata: {{name: {name}}}
      spec:
        severity: low
        object-templates:
        - complianceType: musthave
          objectDefinition: {{apiVersion: v1, kind: Namespace, metadata: {{name: {namespace}}}}}
"
    )
}

/// A fleet of one cluster that watches its input.
struct Watching {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Watching {
    fn start(folder: &Path, arguments: &[&str], stdin: &str) -> Result<Self> {
        let mut child = Command::new(env!("CARGO_BIN_EXE_reeve"))
            .current_dir(folder)
            .args(["up", "--clusters=1", "--watch"])
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let mut input = child.stdin.take().context("no input")?;
        input.write_all(stdin.as_bytes())?;
        drop(input);
        let lines = BufReader::new(child.stdout.take().context("no output")?);
        Ok(Self { child, lines })
    }

    /// Reads until a line has all texts, and returns what was read.
    fn read_to(&mut self, texts: &[&str]) -> Result<String> {
        let mut read = String::new();
        loop {
            let start = read.len();
            let length = self.lines.read_line(&mut read)?;
            ensure!(length > 0, "it ended before {texts:?}:\n{read}");
            if texts.iter().all(|text| read[start..].contains(text)) {
                return Ok(read);
            }
        }
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn changed_files_are_applied_and_standard_input_stays() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let files = folder.path().join("files");
    std::fs::create_dir(&files)?;
    std::fs::write(files.join("one.yaml"), policy("one", "absent"))?;
    let stdin = policy("two", "default");
    let mut fleet = Watching::start(folder.path(), &["-f", "-", "-f", "files"], &stdin)?;
    fleet.read_to(&["policies/one", "Violation"])?;

    std::fs::write(files.join("one.yaml"), policy("one", "default"))?;
    fleet.read_to(&["inputs changed: applied 2 objects, deleted 0"])?;
    fleet.read_to(&["policies/one", "Compliant"])?;

    std::fs::rename(files.join("one.yaml"), folder.path().join("kept"))?;
    std::fs::write(files.join("three.yaml"), policy("three", "absent"))?;
    fleet.read_to(&["deleted 1"])?;
    let changes = fleet.read_to(&["policies/three", "Violation"])?;
    ensure!(!changes.contains("policies/two"), "{changes}");
    Ok(())
}

#[test]
fn broken_file_keeps_the_objects_that_it_held() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("both.yaml");
    let both = format!(
        "{}---\n{}",
        policy("one", "absent"),
        policy("two", "absent")
    );
    std::fs::write(&file, &both)?;
    let arguments = ["-f", "both.yaml", "--keep-going"];
    let mut fleet = Watching::start(folder.path(), &arguments, "")?;
    fleet.read_to(&["policies/two", "Violation"])?;

    std::fs::write(&file, format!("{}---\nkind: [", policy("one", "absent")))?;
    fleet.read_to(&["! both.yaml"])?;
    fleet.read_to(&["inputs changed: applied 1 object, deleted 0"])?;
    // Whole again, and without the second one.
    std::fs::write(&file, policy("one", "absent"))?;
    fleet.read_to(&["inputs changed: applied 1 object, deleted 1"])?;
    Ok(())
}
