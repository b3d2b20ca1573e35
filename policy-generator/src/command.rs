//! The command line of the program.

use std::backtrace::Backtrace;
use std::fmt::Write as _;
use std::path::Path;

use reeve_go_compat::strconv::parse_bool;

use crate::error::Error;
use crate::messages;
use crate::notices::{Level, Notices};
use crate::paths::Base;
use crate::settings::{Mode, Settings, Switches};
use crate::{Generated, Prepared};

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
    run_in(arguments, Ok(dir), environment)
}

/// Like [`run`], where the working directory may be unknown: an error unless only help or the version is asked for.
pub fn run_in(
    arguments: &[String],
    dir: Result<&Path, &std::io::Error>,
    environment: Environment,
) -> Outcome {
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
    let mut outcome = Outcome {
        is_strict: flags.strict,
        ..Outcome::default()
    };
    let mut notices = Vec::new();
    let unknown = |error| Error::new(messages::no_working_directory(error));
    let generated = dir.map_err(unknown).and_then(|dir| {
        let base = match flags.base_dir {
            Some(base) => Base::new(&dir.join(base)),
            None => Base::new(dir),
        };
        let settings = settings(base?, flags, environment);
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
            let stack = Backtrace::force_capture();
            let _ = write!(outcome.stderr, "panic: {error}\n\n{stack}");
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
    let mut output: Vec<(&str, Vec<Generated>)> = Vec::new();
    for file in files {
        let mut of_file = Notices::default();
        let generated = generate(file, dir, settings, &mut of_file);
        let objects = generated.as_deref().unwrap_or_default();
        warn_of_repetitions(objects, &output, &mut of_file);
        notices.push((file, of_file));
        output.push((file, generated?));
    }
    let objects = output.into_iter().flat_map(|(_, objects)| objects);
    Ok(objects.flat_map(|object| object.yaml).collect())
}

/// Names the objects of a file that earlier files generate, too: each file is read by itself.
fn warn_of_repetitions(
    objects: &[Generated],
    earlier: &[(&str, Vec<Generated>)],
    notices: &mut Notices,
) {
    for object in objects {
        let is_in = |(_, others): &&(&str, Vec<Generated>)| {
            others.iter().any(|other| object.replaces(other))
        };
        if let Some((file, _)) = earlier.iter().find(is_in) {
            let warning = messages::repeated_in_files(&object.kind, &object.name, file);
            notices.warn(warning);
        }
    }
}

fn generate(
    file: &str,
    dir: &Path,
    settings: &Settings,
    notices: &mut Notices,
) -> Result<Vec<Generated>, Error> {
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

/// Reads the arguments as Go's pflag does: all of them, whatever asks for help.
fn parse(arguments: &[String]) -> Result<Request<'_>, String> {
    let mut files = Vec::new();
    let mut flags = Flags::default();
    let (mut help, mut version) = (false, false);
    let mut rest = arguments.iter().map(String::as_str);
    while let Some(argument) = rest.next() {
        let Some(long) = argument.strip_prefix("--") else {
            // A dash alone is the name of a file.
            match argument.strip_prefix('-').filter(|flags| !flags.is_empty()) {
                Some(shorthands) => help = parse_shorthands(shorthands, help)?,
                None => files.push(argument),
            }
            continue;
        };
        let (name, value) = match long.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (long, None),
        };
        let flag = match name {
            "" if value.is_none() => {
                files.extend(rest.by_ref());
                continue;
            }
            _ if long.starts_with(['-', '=']) => return Err(messages::bad_flag(argument)),
            "base-dir" => {
                let dir = value.or_else(|| rest.next());
                flags.base_dir = Some(dir.ok_or_else(|| messages::needs_argument(argument))?);
                continue;
            }
            "debug" => &mut flags.debug,
            "strict" => &mut flags.strict,
            "extended" => &mut flags.extended,
            "help" => &mut help,
            "version" => &mut version,
            _ => return Err(messages::unknown_flag(name)),
        };
        *flag = flag_value(name, value)?;
    }
    Ok(match (help, version) {
        (true, _) => Request::Help,
        (false, true) => Request::Version,
        (false, false) => Request::Files(files, flags),
    })
}

/// Reads flags of one letter, of which there is only `-h`. Returns whether help is asked for.
fn parse_shorthands(shorthands: &str, mut help: bool) -> Result<bool, String> {
    let mut rest = shorthands;
    while let Some(flag) = rest.chars().next() {
        let Some(after) = rest.strip_prefix('h') else {
            return Err(messages::unknown_shorthand(flag, rest));
        };
        let value = after.strip_prefix('=').filter(|value| !value.is_empty());
        help = flag_value("help", value)?;
        rest = if value.is_some() { "" } else { after };
    }
    Ok(help)
}

/// The value of a flag. One without a value is set.
fn flag_value(name: &str, value: Option<&str>) -> Result<bool, String> {
    value.map_or(Ok(true), |text| {
        parse_bool(text).ok_or_else(|| messages::not_a_boolean(name, text))
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
