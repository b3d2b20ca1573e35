//! The recorded answers of Go and its libraries: the fixtures of `templates-engine`.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::run;

/// One program of `templates-engine/tests/oracle/golang`, the fixture that it writes, and the Go
/// release that it has to run with where the installed one would answer differently.
struct Recording {
    program: &'static str,
    fixture: &'static str,
    toolchain: Option<&'static str>,
}

const fn recording(program: &'static str, fixture: &'static str) -> Recording {
    Recording {
        program,
        fixture,
        toolchain: None,
    }
}

const RECORDINGS: &[Recording] = &[
    recording("contexts", "contexts.jsonl"),
    recording("json_documents", "json_documents.json"),
    recording("json_functions", "json_functions.jsonl"),
    recording("json_values", "json_values.json"),
    recording("selector", "selector.jsonl"),
    recording("semver", "semver.jsonl"),
    recording("sprig", "sprig.jsonl"),
    recording("sprig_signatures", "sprig_signatures.json"),
    recording("sprig_zones", "sprig_zones.jsonl"),
    recording("yaml_documents", "yaml_documents.json"),
    recording("yaml_values", "yaml_values.json"),
    Recording {
        // Templates with hub delimiters too.
        toolchain: Some("go1.27.3"),
        ..recording("documents", "documents.jsonl")
    },
    Recording {
        // From this release on, errors show an action's own delimiters.
        toolchain: Some("go1.27.3"),
        ..recording("language", "language.jsonl")
    },
];

/// Runs every recording program, or the one of this name.
pub(crate) fn record(only: Option<&str>) -> Result<()> {
    let folder = run::root()?.join("templates-engine/tests/oracle");
    let chosen = RECORDINGS
        .iter()
        .filter(|recording| only.is_none_or(|only| only == recording.program));
    for recording in chosen {
        let mut go = Command::new("go");
        go.args(["run", ".", recording.program])
            .current_dir(folder.join("golang"))
            .env("TZ", "UTC")
            // The classic `encoding/json`, whose texts the behaviour reference has.
            .env("GOEXPERIMENT", "");
        if let Some(toolchain) = recording.toolchain {
            go.env("GOTOOLCHAIN", toolchain)
                .env("GOEXPERIMENT", "nojsonv2");
        }
        let output = go
            .output()
            .context("Go is needed to record what Go answers")?;
        ensure!(
            output.status.success(),
            "recording {} failed: {}",
            recording.program,
            String::from_utf8_lossy(&output.stderr)
        );
        let fixture = folder.join("fixtures").join(recording.fixture);
        fs::write(&fixture, output.stdout)
            .with_context(|| format!("cannot write {}", fixture.display()))?;
        println!("recorded {}", fixture.display());
    }
    Ok(())
}
