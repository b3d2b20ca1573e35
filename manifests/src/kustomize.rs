//! Renders a kustomization by the kustomize or kubectl of the machine.

use std::io::ErrorKind;
use std::path::Path;
use std::process::Command;

use crate::ManifestError;

/// The programs, with what goes before the folder; the first that is installed renders.
const PROGRAMS: [(&str, &[&str], &str); 2] = [
    ("kustomize", &["build"], "kustomize build"),
    ("kubectl", &["kustomize"], "kubectl kustomize"),
];

/// The YAML of a kustomization.
pub(crate) fn render(folder: &Path) -> Result<String, ManifestError> {
    for (name, arguments, program) in PROGRAMS {
        let failed = |why: String| ManifestError::Kustomize {
            path: folder.to_owned(),
            program,
            why,
        };
        let output = match Command::new(name).args(arguments).arg(folder).output() {
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            Err(error) => return Err(failed(error.to_string())),
            Ok(output) => output,
        };
        if !output.status.success() {
            let why = String::from_utf8_lossy(&output.stderr);
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
    Err(ManifestError::NoKustomize {
        path: folder.to_owned(),
    })
}
