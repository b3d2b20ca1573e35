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
            return Err(failed(error_text(&String::from_utf8_lossy(&output.stderr))));
        }
        return String::from_utf8(output.stdout).map_err(|error| failed(error.to_string()));
    }
    Err(RenderError::NotInstalled)
}

/// What kustomize said, without what its program adds: the word `error`, or a line of kubectl's log with its time and process id.
fn error_text(stderr: &str) -> String {
    let lines: Vec<&str> = stderr
        .lines()
        .filter(|line| !is_deprecation(line))
        .collect();
    let text = lines.join("\n");
    let text = text.trim();
    if let Some((_, logged)) = text.split_once("\"command failed\" err=") {
        return logged_text(logged);
    }
    text.strip_prefix("error: ")
        .or_else(|| text.strip_prefix("Error: "))
        .unwrap_or(text)
        .to_owned()
}

/// The value of a field of kubectl's log: a quoted text, or indented lines between `<` and `>` where the text has several.
fn logged_text(value: &str) -> String {
    if let Some(lines) = value.strip_prefix("<\n") {
        let lines = lines.lines().take_while(|line| line.trim() != ">");
        let lines: Vec<&str> = lines
            .map(|line| line.strip_prefix('\t').unwrap_or(line))
            .collect();
        return lines.join("\n");
    }
    let literal = value.lines().next().unwrap_or_default();
    // Go's escapes that are not those of JSON stand for characters that no text of kustomize has.
    serde_json::from_str(literal).unwrap_or_else(|_| literal.trim_matches('"').to_owned())
}

/// The programs warn of options of their own that they will drop some day, and of fields that kustomize will drop.
fn is_deprecation(line: &str) -> bool {
    line.starts_with("# Warning: ")
        || (line.starts_with("Flag --") && line.contains(" has been deprecated"))
}

#[cfg(test)]
mod tests {
    use super::error_text;

    #[test]
    fn error_of_kubectl_is_printed_without_its_log_line() {
        for (stderr, expected) in [
            (
                "# Warning: 'bases' is deprecated. Please use 'resources' instead.\nE1127 03:55:18.442926   26257 run.go:72] \"command failed\" err=\"evalsymlink failure on '/q/nope.yaml' : \\\"x\\\"\"\n",
                "evalsymlink failure on '/q/nope.yaml' : \"x\"",
            ),
            (
                "E1127 03:55:30.275867   26518 run.go:72] \"command failed\" err=<\n\ttrouble with config: `\n\tpath: ../p.yaml\n\t`: security; file '/p.yaml'\n >\n",
                "trouble with config: `\npath: ../p.yaml\n`: security; file '/p.yaml'",
            ),
            (
                "Flag --reorder has been deprecated, use sortOptions\nError: kustomization.yaml is empty\n",
                "kustomization.yaml is empty",
            ),
        ] {
            assert_eq!(error_text(stderr), expected);
        }
    }
}
