//! Cases of commands: a file has the inputs, the commands and everything that they print. `UPDATE_CASES=1` writes what they print
//! now.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use anyhow::{Context as _, Result, ensure};

/// The variables that change what commands do.
const VARIABLES: [&str; 4] = [
    "DRYRUN_MAPPINGS_FILE",
    "DRYRUN_FROM_CLUSTER",
    "TEMPLATE_RESOLVER_LINT",
    "KUBECONFIG",
];

/// The cases of a crate, and the flag by which its commands print without colours.
#[derive(Clone, Copy)]
pub(crate) struct Cases {
    pub(crate) of: &'static str,
    pub(crate) plain: Option<&'static str>,
}

/// A file of a case.
struct Case {
    title: String,
    files: Vec<(String, String)>,
    /// The commands and what they printed.
    runs: Vec<(String, String)>,
}

impl Cases {
    fn folder(self) -> PathBuf {
        let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..");
        root.join(self.of).join("tests/cases")
    }

    fn file(self, name: &str) -> PathBuf {
        self.folder().join(format!("{name}.txt"))
    }

    /// Runs the commands of a case.
    pub(crate) fn check(self, name: &str) -> Result<()> {
        let mut case = read(&self.file(name))?;
        let work = tempfile::tempdir()?;
        for (file, body) in &case.files {
            let path = work.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap_or(work.path()))?;
            std::fs::write(path, body)?;
        }
        let update = std::env::var_os("UPDATE_CASES").is_some();
        for (command, expected) in &mut case.runs {
            let printed = shown(&run(work.path(), command, &[])?, work.path());
            if let Some(flag) = self.plain {
                let plain = shown(&run(work.path(), command, &[flag])?, work.path());
                let is_wrong = printed.contains("exit code 64") || printed.contains("flag");
                ensure!(
                    is_wrong || plain == uncolored(&printed),
                    "{name}: {command} {flag}:\n{plain}\ninstead of\n{}",
                    uncolored(&printed)
                );
            }
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
            write(&self.file(name), &case)?;
        }
        Ok(())
    }

    /// Whether each file is the case of a test.
    pub(crate) fn are_all(self, cases: &[&str]) -> Result<()> {
        let mut files = BTreeSet::new();
        for entry in std::fs::read_dir(self.folder())? {
            let path = entry?.path();
            let name = path.file_stem().unwrap_or_default().to_string_lossy();
            files.insert(name.into_owned());
        }
        let run: BTreeSet<String> = cases.iter().map(|case| (*case).to_owned()).collect();
        ensure!(
            files == run,
            "{:?}",
            files.symmetric_difference(&run).collect::<Vec<_>>()
        );
        Ok(())
    }
}

fn read(path: &Path) -> Result<Case> {
    let text = std::fs::read_to_string(path)?;
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

fn write(path: &Path, case: &Case) -> Result<()> {
    let mut text = case.title.clone();
    for (file, body) in &case.files {
        write!(text, "\n=== {file}\n{}", body.trim_end_matches('\n'))?;
    }
    for (command, printed) in &case.runs {
        write!(text, "\n=== $ {command}\n{printed}")?;
    }
    text += "\n";
    std::fs::write(path, text)?;
    Ok(())
}

/// Runs a command; `cat` shows a file, and ` < <file>` gives one as standard input.
fn run(work: &Path, command: &str, more: &[&str]) -> Result<Output> {
    let (command, stdin) = match command.split_once(" < ") {
        Some((command, file)) => (command, Some(std::fs::read(work.join(file))?)),
        None => (command, None),
    };
    let mut words = command.split(' ');
    let program = words.next().unwrap_or_default();
    let mut process = match program {
        "cat" => Command::new("cat"),
        _ => Command::new(env!("CARGO_BIN_EXE_reeve")),
    };
    process.arg0(program).args(words).args(more);
    process.current_dir(work).env("HOME", work);
    for variable in VARIABLES {
        process.env_remove(variable);
    }
    let input = match stdin {
        Some(_) => Stdio::piped(),
        None => Stdio::null(),
    };
    process.stdin(input).stdout(Stdio::piped());
    process.stderr(Stdio::piped());
    let mut child = process.spawn().context("running a command")?;
    if let (Some(text), Some(mut pipe)) = (stdin, child.stdin.take()) {
        pipe.write_all(&text)?;
    }
    Ok(child.wait_with_output()?)
}

/// What a fleet that takes long to start prints meanwhile, which depends on the machine.
const PROGRESS: &str = "starting a hub and ";

/// What a command printed, without [`PROGRESS`]. The escape character is shown as `\e`, a blank at the end of a line as `·`, and the
/// folder as `<folder>`.
fn shown(output: &Output, work: &Path) -> String {
    let visible = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes).replace('\u{1b}', "\\e");
        let text = without_times(&text.replace(&*work.to_string_lossy(), "<folder>"));
        let lines = text.lines().filter(|line| !line.starts_with(PROGRESS));
        let lines = lines.map(|line| match line.strip_suffix(' ') {
            Some(rest) => format!("{rest}·\n"),
            None => format!("{line}\n"),
        });
        lines.collect::<String>()
    };
    let mut text = format!("exit code {}\n", output.status.code().unwrap_or(-1));
    for (name, bytes) in [("stdout", &output.stdout), ("stderr", &output.stderr)] {
        let printed = visible(bytes);
        if !printed.is_empty() {
            text = [text, format!("--- {name}\n{printed}")].concat();
        }
    }
    text.trim_end_matches('\n').to_owned()
}

/// A text in which times such as `0.61 s` and `0.012s` are `<time>`.
fn without_times(text: &str) -> String {
    let is_number = |letter: char| letter.is_ascii_digit() || letter == '.';
    let mut result = String::new();
    let mut rest = text;
    while let Some(start) = rest.find(|letter: char| letter.is_ascii_digit()) {
        let (before, after) = rest.split_at(start);
        let end = after
            .find(|letter| !is_number(letter))
            .unwrap_or(after.len());
        let (number, after) = after.split_at(end);
        result.push_str(before);
        let unit = [" s", "s"]
            .into_iter()
            .find_map(|unit| after.strip_prefix(unit));
        let unit = unit.filter(|next| !next.starts_with(|letter: char| letter.is_alphanumeric()));
        rest = match unit {
            Some(next) if number.contains('.') && number.parse::<f64>().is_ok() => {
                result.push_str("<time>");
                next
            }
            _ => {
                result.push_str(number);
                after
            }
        };
    }
    result.push_str(rest);
    result
}

/// A text without the sequences of colours.
fn uncolored(text: &str) -> String {
    let mut result = text.to_owned();
    for code in ["\\e[0m", "\\e[1m", "\\e[31m", "\\e[32m", "\\e[33m"] {
        result = result.replace(code, "");
    }
    result
}

/// A test for each case: `name => "file"`.
#[macro_export]
macro_rules! cases {
    ($all:expr; $($test:ident => $case:literal,)*) => {
        $(
            #[test]
            fn $test() -> anyhow::Result<()> {
                $all.check($case)
            }
        )*

        #[test]
        fn every_case_is_run() -> anyhow::Result<()> {
            $all.are_all(&[$($case),*])
        }
    };
}
