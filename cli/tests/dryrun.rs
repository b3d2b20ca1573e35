//! `reeve dryrun` and the program `dryrun`, as processes: each case is a file of `dryrun/tests/cases` with its inputs, its
//! commands and everything that they print. `UPDATE_CASES=1` writes what they print now.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use anyhow::{Context as _, Result, ensure};

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../dryrun/tests/cases")
}

/// A file of a case.
struct Case {
    title: String,
    files: Vec<(String, String)>,
    /// The commands and what they printed.
    runs: Vec<(String, String)>,
}

fn read(name: &str) -> Result<Case> {
    let text = std::fs::read_to_string(folder().join(format!("{name}.txt")))?;
    let mut sections = text.split("\n=== ");
    let title = sections.next().unwrap_or_default().to_owned();
    let mut case = Case {
        title,
        files: Vec::new(),
        runs: Vec::new(),
    };
    for section in sections {
        let (head, body) = section.split_once('\n').unwrap_or((section, ""));
        match head.strip_prefix("$ ") {
            Some(command) => case
                .runs
                .push((command.to_owned(), body.trim_end_matches('\n').to_owned())),
            None => case.files.push((head.to_owned(), format!("{body}\n"))),
        }
    }
    Ok(case)
}

fn write(name: &str, case: &Case) -> Result<()> {
    let mut text = case.title.clone();
    for (file, body) in &case.files {
        write!(text, "\n=== {file}\n{}", body.trim_end_matches('\n'))?;
    }
    for (command, printed) in &case.runs {
        write!(text, "\n=== $ {command}\n{printed}")?;
    }
    text += "\n";
    std::fs::write(folder().join(format!("{name}.txt")), text)?;
    Ok(())
}

fn run(work: &Path, command: &str, more: &[&str]) -> Result<Output> {
    let (command, stdin) = match command.split_once(" < ") {
        Some((command, file)) => (command, Some(std::fs::read(work.join(file))?)),
        None => (command, None),
    };
    let mut words = command.split(' ');
    let program = words.next().unwrap_or_default();
    let mut process = Command::new(env!("CARGO_BIN_EXE_reeve"));
    process
        .arg0(program)
        .args(words)
        .args(more)
        .current_dir(work);
    for variable in ["DRYRUN_MAPPINGS_FILE", "DRYRUN_FROM_CLUSTER", "KUBECONFIG"] {
        process.env_remove(variable);
    }
    let input = if stdin.is_some() {
        Stdio::piped()
    } else {
        Stdio::null()
    };
    process
        .stdin(input)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = process.spawn().context("running reeve")?;
    if let (Some(text), Some(mut pipe)) = (stdin, child.stdin.take()) {
        pipe.write_all(&text)?;
    }
    Ok(child.wait_with_output()?)
}

/// What a command printed. The escape character is shown as `\e`, and a blank at the end of a line as `·`.
fn shown(output: &Output) -> String {
    let visible = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes).replace('\u{1b}', "\\e");
        let lines = text.lines().map(|line| match line.strip_suffix(' ') {
            Some(rest) => format!("{rest}·\n"),
            None => format!("{line}\n"),
        });
        lines.collect::<String>()
    };
    let mut text = format!("exit code {}\n", output.status.code().unwrap_or(-1));
    for (name, bytes) in [("stdout", &output.stdout), ("stderr", &output.stderr)] {
        if !bytes.is_empty() {
            text = [text, format!("--- {name}\n{}", visible(bytes))].concat();
        }
    }
    text.trim_end_matches('\n').to_owned()
}

/// A text without the sequences of colours.
fn uncolored(text: &str) -> String {
    let mut result = text.to_owned();
    for code in ["\\e[0m", "\\e[1m", "\\e[31m", "\\e[32m", "\\e[33m"] {
        result = result.replace(code, "");
    }
    result
}

fn check(name: &str) -> Result<()> {
    let mut case = read(name)?;
    let work = tempfile::tempdir()?;
    for (file, body) in &case.files {
        let path = work.path().join(file);
        std::fs::create_dir_all(path.parent().unwrap_or(work.path()))?;
        std::fs::write(path, body)?;
    }
    let update = std::env::var_os("UPDATE_CASES").is_some();
    for (command, expected) in &mut case.runs {
        let printed = shown(&run(work.path(), command, &[])?);
        let plain = shown(&run(work.path(), command, &["--no-colors"])?);
        let is_wrong = printed.contains("exit code 64") || printed.contains("flag");
        ensure!(
            is_wrong || plain == uncolored(&printed),
            "{name}: {command} --no-colors:\n{plain}\ninstead of\n{}",
            uncolored(&printed)
        );
        if update {
            *expected = printed;
        } else {
            ensure!(
                printed == *expected,
                "{name}: {command} printed\n{printed}\ninstead of\n{expected}"
            );
        }
    }
    if update {
        write(name, &case)?;
    }
    Ok(())
}

macro_rules! cases {
    ($($test:ident => $case:literal,)*) => {
        const CASES: &[&str] = &[$($case),*];
        $(
            #[test]
            fn $test() -> Result<()> {
                check($case)
            }
        )*
    };
}

cases! {
    dry_1_usage => "usage",
    dry_2_saved_files => "saved-files",
    dry_2_no_colors => "no-colors",
    dry_3_compliant_pod => "compliant-pod",
    dry_3_noncompliant_pod => "noncompliant-pod",
    dry_3_missing_pod => "missing-pod",
    dry_4_keys_in_any_case => "keys-in-any-case",
    dry_4_unknown_field => "unknown-field",
    dry_5_unreadable_policies => "unreadable-policies",
    dry_6_policy_wrapper => "policy-wrapper",
    dry_6_policy_with_several => "policy-with-several",
    dry_7_several_documents => "several-documents",
    dry_7_several_with_error => "several-with-error",
    dry_7_nothing_to_evaluate => "nothing-to-evaluate",
    dry_8_stdin => "stdin",
    dry_8_multi_document_input => "multi-document-input",
    dry_8_directory_input => "directory-input",
    dry_8_list_input => "list-input",
    dry_8_mixed_inputs => "mixed-inputs",
    dry_9_server_metadata => "server-metadata",
    dry_9_default_namespace => "default-namespace",
    dry_9_selector_default => "selector-default",
    dry_10_unmapped_kind => "unmapped-kind",
    dry_10_unreadable_inputs => "unreadable-inputs",
    dry_11_mappings => "mappings",
    dry_11_mappings_create_only => "mappings-create-only",
    dry_11_mappings_broken => "mappings-broken",
    dry_12_crd_among_inputs => "crd-among-inputs",
    dry_13_three_namespaces_inform => "three-namespaces-inform",
    dry_13_three_namespaces_enforce => "three-namespaces-enforce",
    dry_13_custom_message => "custom-message",
    dry_13_embedded_policies => "embedded-policies",
    dry_13_raw_range_namespaces => "raw-range-namespaces",
    dry_13_raw_range_lookup => "raw-range-lookup",
    dry_13_raw_invalid_anchor => "raw-invalid-anchor",
    dry_13_raw_nothing => "raw-nothing",
    dry_13_object_variable => "object-variable",
    dry_13_object_variable_cluster_scoped => "object-variable-cluster-scoped",
    dry_13_object_variable_absent => "object-variable-absent",
    dry_13_empty_templated_namespace => "empty-templated-namespace",
    dry_13_templated_namespace => "templated-namespace",
    dry_13_skip_object => "skip-object",
    dry_13_unnamed_match => "unnamed-match",
    dry_13_unnamed_mismatch => "unnamed-mismatch",
    dry_13_unnamed_several => "unnamed-several",
    dry_13_unnamed_with_selector => "unnamed-with-selector",
    dry_13_non_string_label => "non-string-label",
    dry_13_missing_kind => "missing-kind",
    dry_13_empty_name_three_namespaces => "empty-name-three-namespaces",
    dry_13_three_templates_three_namespaces => "three-templates-three-namespaces",
    dry_13_combined_types => "combined-types",
    dry_13_mustnothave_selector => "mustnothave-selector",
    dry_13_mustnothave_selected_unmatched => "mustnothave-selected-unmatched",
    dry_13_role_without_namespace => "role-without-namespace",
    dry_13_namespace => "namespace",
    dry_13_large_cluster_role => "large-cluster-role",
    dry_14_raw_template_error => "raw-template-error",
    dry_14_object_variable_templated_namespace => "object-variable-templated-namespace",
    dry_14_object_variable_unnamed => "object-variable-unnamed",
    dry_14_object_namespace_cluster_scoped => "object-namespace-cluster-scoped",
    dry_14_unserved_kind => "unserved-kind",
    dry_14_selector_malformed => "selector-malformed",
    dry_14_hub_template => "hub-template",
    dry_14_template_errors => "template-errors",
    dry_14_encrypted => "encrypted",
    dry_16_api_server => "api-server",
    dry_18_full_diffs => "full-diffs",
    dry_18_secret_diff => "secret-diff",
    dry_18_from_secret_diff => "from-secret-diff",
    dry_18_from_secret_raw_diff => "from-secret-raw-diff",
    dry_18_no_diffs_recorded => "no-diffs-recorded",
    dry_20_status_matches => "status-matches",
    dry_20_status_differs => "status-differs",
    dry_20_status_wrong_types => "status-wrong-types",
    dry_20_status_lists => "status-lists",
    dry_22_status_unreadable => "status-unreadable",
}

#[test]
fn every_case_is_run() -> Result<()> {
    let mut files = BTreeSet::new();
    for entry in std::fs::read_dir(folder())? {
        let path = entry?.path();
        files.insert(
            path.file_stem()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned(),
        );
    }
    let run: BTreeSet<String> = CASES.iter().map(|case| (*case).to_owned()).collect();
    ensure!(
        files == run,
        "{:?}",
        files.symmetric_difference(&run).collect::<Vec<_>>()
    );
    Ok(())
}
