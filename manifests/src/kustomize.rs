//! Renders a kustomization by the kustomize or kubectl of the machine.

use std::io::ErrorKind;
use std::path::Path;
use std::process::Command;

/// The programs with their sub-commands; the first that is installed renders.
const PROGRAMS: [(&str, &str, &str); 2] = [
    ("kustomize", "build", "kustomize build"),
    ("kubectl", "kustomize", "kubectl kustomize"),
];

/// Why a kustomization cannot be rendered.
#[derive(Debug)]
pub enum RenderError {
    /// Neither kustomize nor kubectl is installed.
    NotInstalled,
    /// The program failed.
    Failed {
        /// The program and its sub-command.
        program: &'static str,
        /// What it printed.
        why: String,
    },
}

/// The YAML of a kustomization. The options are those that kustomize and kubectl have in common.
pub fn render(folder: &Path, options: &[&str]) -> Result<String, RenderError> {
    for (name, subcommand, program) in PROGRAMS {
        let failed = |why: String| RenderError::Failed { program, why };
        let mut command = Command::new(name);
        command.arg(subcommand).arg(folder).args(options);
        let output = match command.output() {
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            Err(error) => return Err(failed(error.to_string())),
            Ok(output) => output,
        };
        if !output.status.success() {
            let why = String::from_utf8_lossy(&output.stderr);
            // It warns of options of its own that it will drop some day.
            let why: Vec<&str> = why.lines().filter(|line| !is_deprecation(line)).collect();
            let why = why.join("\n");
            let why = why.trim();
            return Err(failed(
                why.strip_prefix("error: ")
                    .or_else(|| why.strip_prefix("Error: "))
                    .unwrap_or(why)
                    .to_owned(),
            ));
        }
        return String::from_utf8(output.stdout).map_err(|error| failed(error.to_string()));
    }
    Err(RenderError::NotInstalled)
}

fn is_deprecation(line: &str) -> bool {
    line.starts_with("Flag --") && line.contains(" has been deprecated")
}
