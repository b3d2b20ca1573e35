//! `reeve generate`, and the program `PolicyGenerator`.

use std::ffi::OsString;
use std::io::Write as _;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use reeve_lint::Level;
use reeve_policy_generator::{Caller, Environment, Outcome};

use crate::usage::EXIT_FINDINGS;

/// What findings are in. Its lines are those of the output.
const GENERATED: &str = "(generated)";

/// The arguments are the program's own: kustomize and scripts expect its texts and exit codes.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The configuration files, and the flags that `reeve generate --help` lists: --base-dir, --extended, --strict, --debug, --version
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "FILE"
    )]
    arguments: Vec<OsString>,
}

impl Args {
    /// The arguments of the program `PolicyGenerator`, of which the first is its name.
    pub(crate) fn of_program(args: Vec<OsString>) -> Self {
        Self {
            arguments: args.into_iter().skip(1).collect(),
        }
    }
}

/// Generates, prints, and returns the program's exit code.
pub(crate) fn run(args: &Args, caller: Caller) -> Result<ExitCode> {
    let dir = std::env::current_dir();
    let environment = Environment::from_variables(caller, |name| std::env::var(name).ok());
    let arguments = args.arguments.iter();
    let arguments: Vec<String> = arguments
        .map(|argument| argument.to_string_lossy().into_owned())
        .collect();
    let mut outcome = reeve_policy_generator::run_in(&arguments, dir.as_deref(), environment);
    if outcome.is_strict && outcome.code == 0 {
        lint(&mut outcome);
    }
    // The reader of errors may be gone, which is no reason to fail.
    let _ = std::io::stderr().write_all(outcome.stderr.as_bytes());
    std::io::stdout()
        .write_all(&outcome.stdout)
        .and_then(|()| std::io::stdout().flush())
        .context("cannot write the output")?;
    Ok(ExitCode::from(outcome.code))
}

/// Lints what was generated. After an error it is not printed: nobody should apply it.
fn lint(outcome: &mut Outcome) {
    let text = String::from_utf8_lossy(&outcome.stdout);
    let (found, worst) = reeve_lint::lint_named(GENERATED, &text);
    if worst.is_some() {
        outcome.stderr.push_str(&found);
    }
    if worst == Some(Level::Error) {
        outcome.stdout.clear();
        outcome.code = EXIT_FINDINGS;
    }
}
