//! Runs the command.

use std::collections::HashSet;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use reeve_manifests::{Readers, replace_file};
use reeve_report::Output;
use serde_json::Value;

use crate::args::{Args, FailOn};
use crate::checks;
use crate::file::File;
use crate::finding::{Finding, Findings};
use crate::output;
use crate::rules::{Level, find};
use crate::{fix, messages};

const FAILED: u8 = 1;
const FOUND: u8 = 2;
const USAGE: u8 = 64;
/// How often files are mended: a document that can be read now may have more to mend.
const ROUNDS: usize = 5;

/// What is printed, and the exit code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// For standard output.
    pub stdout: String,
    /// For standard error.
    pub stderr: String,
    /// The exit code.
    pub code: u8,
}

impl Outcome {
    fn error(code: u8, text: &str) -> Self {
        Self {
            stderr: format!("error: {text}\n"),
            code,
            ..Self::default()
        }
    }
}

/// Runs the command.
pub fn run(args: &Args) -> Outcome {
    if args.rules {
        return Outcome {
            stdout: output::rules(),
            ..Outcome::default()
        };
    }
    if let Some(wrong) = wrong_usage(args) {
        return Outcome::error(USAGE, &wrong);
    }
    let mut errors = Vec::new();
    let mut files = files(&args.paths, &mut errors);
    let crds = definitions(&args.crds, &mut errors);
    if !errors.is_empty() {
        return Outcome::error(FAILED, &errors.join("\nerror: "));
    }
    let mut fixed = 0;
    let mut all = findings(&files, &crds, args);
    for _ in 0..if args.fix { ROUNDS } else { 0 } {
        match mend(&mut files, &all) {
            Ok(0) => break,
            Ok(count) => fixed += count,
            Err(why) => return Outcome::error(FAILED, &why),
        }
        all = findings(&files, &crds, args);
    }
    let code = code(&all, args.fail_on);
    let findings = Findings {
        all,
        files: files.into_iter().map(|file| file.path).collect(),
        fixed,
    };
    Outcome {
        stdout: output::print(&findings, args.output),
        stderr: String::new(),
        code,
    }
}

/// Lints one text under a name. Returns what was found, as text, and the worst level of it.
pub fn lint_named(name: &str, text: &str) -> (String, Option<Level>) {
    let file = File::new(name.to_owned(), text.to_owned());
    let all = findings(std::slice::from_ref(&file), &[], &Args::default());
    let worst = all.iter().map(|finding| finding.rule.level).min();
    let findings = Findings {
        all,
        files: vec![file.path],
        fixed: 0,
    };
    (output::print(&findings, Output::Table), worst)
}

/// Lints and mends one text. Returns what remains, as text, and the mended text.
pub fn lint_text(text: &str) -> (String, String) {
    let mut file = File::new(messages::STDIN.to_owned(), text.to_owned());
    let mut all = checks::all(std::slice::from_ref(&file), &[]);
    let mut fixed = 0;
    for _ in 0..ROUNDS {
        let (mended, count) = fix::mend(&file, &all);
        if count == 0 {
            break;
        }
        fixed += count;
        file = File::new(file.path, mended);
        all = checks::all(std::slice::from_ref(&file), &[]);
    }
    let findings = Findings {
        all,
        files: vec![file.path],
        fixed,
    };
    (output::print(&findings, Output::Table), file.text)
}

fn wrong_usage(args: &Args) -> Option<String> {
    let is_stdin = |path: &PathBuf| path == Path::new(reeve_manifests::STDIN);
    if args.paths.is_empty() {
        return Some(messages::PATH_NEEDED.to_owned());
    }
    if args.fix && args.paths.iter().any(is_stdin) {
        return Some(messages::NO_FIX_OF_STDIN.to_owned());
    }
    let unknown = args.ignore.iter().find(|id| find(id).is_none());
    unknown.map(|id| messages::unknown_rule(id))
}

/// Reads files and folders. A file that is named several times is read once.
fn files(paths: &[PathBuf], errors: &mut Vec<String>) -> Vec<File> {
    let mut all = Vec::new();
    let mut known = HashSet::new();
    let mut is_new = |path: &Path| {
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        known.insert(path)
    };
    for path in paths {
        if path == Path::new(reeve_manifests::STDIN) {
            if !is_new(path) {
                continue;
            }
            let mut text = String::new();
            match std::io::stdin().lock().read_to_string(&mut text) {
                Ok(_) => all.push(File::new(messages::STDIN.to_owned(), text)),
                Err(error) => errors.push(format!("cannot read standard input: {error}")),
            }
            continue;
        }
        let (found, _, unread) = reeve_manifests::files(path);
        errors.extend(unread.iter().map(ToString::to_string));
        for file in found.into_iter().filter(|file| is_new(file)) {
            let read = std::fs::read_to_string(&file);
            match read {
                Ok(text) => all.push(File::new(file.display().to_string(), text)),
                Err(error) => errors.push(format!("cannot read {}: {error}", file.display())),
            }
        }
    }
    all
}

fn definitions(paths: &[PathBuf], errors: &mut Vec<String>) -> Vec<Value> {
    let files = files(paths, errors);
    let documents = files.into_iter().flat_map(|file| file.documents);
    documents
        .filter_map(|document| document.value.ok())
        .collect()
}

/// All findings that are not ignored, by file and place.
fn findings(files: &[File], crds: &[Value], args: &Args) -> Vec<Finding> {
    let mut all = checks::all(files, crds);
    let is_off = |finding: &Finding| {
        let mut ignored = args.ignore.iter();
        ignored.any(|id| id.eq_ignore_ascii_case(finding.rule.id))
    };
    all.retain(|finding| !is_off(finding) && !is_ignored(files, finding));
    let order = |finding: &Finding| files.iter().position(|file| file.path == finding.path);
    all.sort_by(|a, b| {
        let key = |one: &Finding| {
            (
                order(one),
                one.line,
                one.column,
                one.rule.id,
                one.message.clone(),
            )
        };
        key(a).cmp(&key(b))
    });
    all.dedup_by(|a, b| {
        (&a.path, a.line, a.rule.id, &a.message) == (&b.path, b.line, b.rule.id, &b.message)
    });
    all
}

/// Whether a comment on the line, or on the one above it, ignores the rule.
fn is_ignored(files: &[File], finding: &Finding) -> bool {
    const MARK: &str = "reeve-lint: ignore";
    let Some(file) = files.iter().find(|file| file.path == finding.path) else {
        return false;
    };
    let names = |line: usize, alone: bool| {
        let text = file.text.get(file.line(line)).unwrap_or_default();
        let Some((before, comment)) = text.rsplit_once('#') else {
            return false;
        };
        let Some(rules) = comment.trim_start().strip_prefix(MARK) else {
            return false;
        };
        let mut words = rules.split([' ', ',']).filter(|word| !word.is_empty());
        (!alone || before.trim().is_empty())
            && words.any(|word| word.eq_ignore_ascii_case(finding.rule.id))
    };
    names(finding.line, false) || finding.line > 1 && names(finding.line - 1, true)
}

fn code(all: &[Finding], fail_on: FailOn) -> u8 {
    let is_failure = |finding: &Finding| match fail_on {
        FailOn::None => false,
        FailOn::Error => finding.rule.level == Level::Error,
        FailOn::Warning => true,
    };
    if all.iter().any(is_failure) { FOUND } else { 0 }
}

/// Mends files, and reads them again.
fn mend(files: &mut [File], all: &[Finding]) -> Result<usize, String> {
    let mut fixed = 0;
    for file in files {
        let own: Vec<Finding> = all
            .iter()
            .filter(|one| one.path == file.path)
            .cloned()
            .collect();
        let (text, count) = fix::mend(file, &own);
        if count > 0 {
            let path = Path::new(&file.path);
            if path.is_symlink() {
                return Err(messages::not_through_link(path));
            }
            replace_file(path, text.as_bytes(), Readers::Usual)
                .map_err(|error| messages::unwritable(path, &error))?;
            *file = File::new(file.path.clone(), text);
            fixed += count;
        }
    }
    Ok(fixed)
}
