//! The command line of the program.

use std::fmt::Write as _;
use std::path::Path;

use crate::Prepared;
use crate::error::Error;
use crate::messages;
use crate::notices::{Level, Notices};
use crate::paths::Base;
use crate::settings::{Mode, Settings, Switches};

/// The name of the program, by which kustomize finds it.
pub const PROGRAM: &str = "PolicyGenerator";

const USAGE: &str = "Usage: PolicyGenerator [flags] <policy-generator-config-file>...\n";
const FLAGS: &str = "Flags:
      --base-dir <dir>   The directory that the paths in the files are relative to (default: the working directory)
      --debug            Print errors as a panic
      --extended         Take keys that upstream's generator refuses, and write templates and placements that it writes wrongly
  -h, --help             Print the help message
      --strict           Make warnings errors, and lint what is generated; an error prints nothing and ends with 2
      --version          Print the version of the generator
";

/// The exit code for warnings with `--strict`, as for findings of the linter.
const EXIT_FINDINGS: u8 = 2;

/// How the program was called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Caller {
    /// By upstream's name: of documents that are as they should be, only the output is printed.
    #[default]
    Upstream,
    /// As a command of Reeve: hints are printed, too.
    Reeve,
}

/// The environment of the process, as far as it matters.
#[derive(Clone, Copy, Debug, Default)]
pub struct Environment {
    /// `POLICY_GEN_ENABLE_HELM`
    pub enable_helm: bool,
    /// `POLICY_GEN_DISABLE_LOAD_RESTRICTORS`
    pub disable_load_restrictors: bool,
    /// `POLICY_GEN_EXTENDED`: the flag `--extended`, where kustomize starts the program.
    pub extended: bool,
    /// How the program was called.
    pub caller: Caller,
}

impl Environment {
    /// Reads the variables; only `true` counts.
    pub fn from_variables(caller: Caller, variable: impl Fn(&str) -> Option<String>) -> Self {
        let is_true = |name| variable(name).as_deref() == Some("true");
        Self {
            enable_helm: is_true("POLICY_GEN_ENABLE_HELM"),
            disable_load_restrictors: is_true("POLICY_GEN_DISABLE_LOAD_RESTRICTORS"),
            extended: is_true("POLICY_GEN_EXTENDED"),
            caller,
        }
    }
}

/// What the program prints, and its exit code.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Everything for the standard output.
    pub stdout: Vec<u8>,
    /// Everything for the standard error.
    pub stderr: String,
    /// The exit code.
    pub code: u8,
    /// `--strict`: what was generated is to be linted before it is printed.
    pub is_strict: bool,
}

/// Runs the program with its arguments in a working directory. Nothing is written to the standard output if one file fails.
pub fn run(arguments: &[String], dir: &Path, environment: Environment) -> Outcome {
    let request = match parse(arguments) {
        Ok(request) => request,
        Err(error) => return usage(2, Some(&error)),
    };
    let (files, flags) = match request {
        Request::Help => return usage(0, None),
        Request::Version => {
            return Outcome {
                stdout: format!("{}\n", env!("CARGO_PKG_VERSION")).into_bytes(),
                ..Outcome::default()
            };
        }
        Request::Files(files, _) if files.is_empty() => {
            return usage(2, Some(&format!("error: {}", messages::NO_CONFIG_FILES)));
        }
        Request::Files(files, flags) => (files, flags),
    };
    let base = match flags.base_dir {
        Some(base) => dir.join(base),
        None => dir.to_owned(),
    };
    let mut outcome = Outcome {
        is_strict: flags.strict,
        ..Outcome::default()
    };
    let mut notices = Vec::new();
    let generated = Base::new(&base).and_then(|base| {
        let settings = settings(base, flags, environment);
        generate_all(&files, dir, &settings, &mut notices)
    });
    let has_errors = print_notices(
        &notices,
        flags.strict,
        environment.caller,
        &mut outcome.stderr,
    );
    match generated {
        Ok(_) if has_errors => outcome.code = EXIT_FINDINGS,
        Ok(output) => outcome.stdout = output,
        Err(error) if flags.debug => {
            let _ = writeln!(outcome.stderr, "panic: {error}");
            outcome.code = 2;
        }
        Err(error) => {
            let _ = writeln!(outcome.stderr, "{error}");
            outcome.code = 1;
        }
    }
    outcome
}

fn settings(base: Base, flags: Flags<'_>, environment: Environment) -> Settings {
    Settings {
        base,
        switches: Switches {
            helm: environment.enable_helm,
            unrestricted: environment.disable_load_restrictors,
        },
        mode: if flags.extended || environment.extended {
            Mode::Extended
        } else {
            Mode::Upstream
        },
    }
}

/// Reads the files from the working directory. The notices are those of each file.
fn generate_all<'a>(
    files: &[&'a str],
    dir: &Path,
    settings: &Settings,
    notices: &mut Vec<(&'a str, Notices)>,
) -> Result<Vec<u8>, Error> {
    let mut output = Vec::new();
    for file in files {
        let mut of_file = Notices::default();
        let generated = generate(file, dir, settings, &mut of_file);
        notices.push((file, of_file));
        output.extend(generated?);
    }
    Ok(output)
}

fn generate(
    file: &str,
    dir: &Path,
    settings: &Settings,
    notices: &mut Notices,
) -> Result<Vec<u8>, Error> {
    let unreadable = |error: std::io::Error| {
        let operation = if error.kind() == std::io::ErrorKind::IsADirectory {
            "read"
        } else {
            "open"
        };
        Error::new(messages::unreadable_file(
            file,
            operation,
            &messages::io(&error),
        ))
    };
    let text = std::fs::read(dir.join(file)).map_err(unreadable)?;
    let prepared = Prepared::read(&text, settings, notices)
        .map_err(|error| error.within(messages::in_configuration(file)))?;
    prepared
        .generate(settings, notices)
        .map_err(|error| error.within(messages::in_generation(file)))
}

/// Prints the notices, and returns whether one of them is an error.
fn print_notices(
    notices: &[(&str, Notices)],
    is_strict: bool,
    caller: Caller,
    stderr: &mut String,
) -> bool {
    let mut has_errors = false;
    for (file, notices) in notices {
        for notice in notices.iter() {
            let level = match notice.level {
                Level::Warning if is_strict => {
                    has_errors = true;
                    "error"
                }
                Level::Warning => "warning",
                Level::Hint if caller == Caller::Upstream => continue,
                Level::Hint => "hint",
            };
            let _ = writeln!(stderr, "{}", messages::notice(level, file, &notice.text));
        }
    }
    has_errors
}

enum Request<'a> {
    Help,
    Version,
    Files(Vec<&'a str>, Flags<'a>),
}

#[derive(Clone, Copy, Debug, Default)]
struct Flags<'a> {
    /// Errors are panics.
    debug: bool,
    /// Warnings are errors.
    strict: bool,
    /// More is done than upstream's generator does.
    extended: bool,
    base_dir: Option<&'a str>,
}

fn parse(arguments: &[String]) -> Result<Request<'_>, String> {
    let mut files = Vec::new();
    let mut flags = Flags::default();
    let mut version = false;
    let mut rest = arguments.iter().map(String::as_str);
    while let Some(argument) = rest.next() {
        match argument {
            "--" => files.extend(rest.by_ref()),
            "--help" | "-h" => return Ok(Request::Help),
            "--debug" | "--debug=true" => flags.debug = true,
            "--debug=false" => flags.debug = false,
            "--strict" | "--strict=true" => flags.strict = true,
            "--strict=false" => flags.strict = false,
            "--extended" | "--extended=true" => flags.extended = true,
            "--extended=false" => flags.extended = false,
            "--base-dir" => {
                let dir = rest.next();
                flags.base_dir = Some(dir.ok_or_else(|| messages::needs_argument(argument))?);
            }
            _ if argument.starts_with("--base-dir=") => {
                flags.base_dir = argument.strip_prefix("--base-dir=");
            }
            "--version" | "--version=true" => version = true,
            "--version=false" => version = false,
            "-" => files.push(argument),
            _ if argument.starts_with("--") => {
                let name = argument.split('=').next().unwrap_or(argument);
                return Err(format!("unknown flag: {name}"));
            }
            _ => match argument
                .strip_prefix('-')
                .and_then(|flags| flags.chars().next())
            {
                Some(flag) => {
                    return Err(format!("unknown shorthand flag: '{flag}' in {argument}"));
                }
                None => files.push(argument),
            },
        }
    }
    Ok(if version {
        Request::Version
    } else {
        Request::Files(files, flags)
    })
}

fn usage(code: u8, error: Option<&str>) -> Outcome {
    let mut stderr = FLAGS.to_owned();
    if let Some(error) = error {
        let _ = writeln!(stderr, "{error}");
    }
    Outcome {
        stdout: USAGE.into(),
        stderr,
        code,
        ..Outcome::default()
    }
}
