//! The suites of a test program. Each runs in a process of its own, so that no suite takes memory, ports or processor
//! time of another one's world.

use std::env;
use std::ffi::OsString;
use std::process::{Command, ExitCode};

use libtest_mimic::Arguments;

/// The flag that names the suite to run.
const FLAG: &str = "--suite";

/// A world and its scenarios.
pub struct Suite {
    name: &'static str,
    run: fn(SuiteRun) -> ExitCode,
}

/// One run of a suite.
pub struct SuiteRun {
    pub(crate) name: &'static str,
    /// What the command line says about its scenarios.
    pub(crate) arguments: Arguments,
}

impl Suite {
    /// A suite, and the function that starts its world and runs its scenarios.
    pub fn new(name: &'static str, run: fn(SuiteRun) -> ExitCode) -> Self {
        Self { name, run }
    }
}

/// The `main` of a test program: runs the suite that `--suite NAME` names, or else each suite in a process of its own, one
/// after the other. All other arguments are those of any Rust test.
pub fn run_suites(suites: &[Suite]) -> ExitCode {
    let arguments: Vec<OsString> = env::args_os().collect();
    let (program, arguments) = match arguments.split_first() {
        Some((program, arguments)) => (program.clone(), arguments),
        None => return usage(suites, "there is not even the name of the program"),
    };
    let [flag, name, rest @ ..] = arguments else {
        return run_each(suites, arguments);
    };
    if flag != FLAG {
        return run_each(suites, arguments);
    }
    let Some(suite) = suites.iter().find(|suite| name == suite.name) else {
        return usage(
            suites,
            &format!("no suite is called {}", name.to_string_lossy()),
        );
    };
    let arguments = std::iter::once(&program).chain(rest);
    (suite.run)(SuiteRun {
        name: suite.name,
        arguments: Arguments::from_iter(arguments),
    })
}

fn run_each(suites: &[Suite], arguments: &[OsString]) -> ExitCode {
    let program = match env::current_exe() {
        Ok(program) => program,
        Err(error) => return usage(suites, &format!("this program cannot be found: {error}")),
    };
    let mut outcome = ExitCode::SUCCESS;
    for suite in suites {
        let status = Command::new(&program)
            .args([FLAG, suite.name])
            .args(arguments)
            .status();
        match status {
            Ok(status) if status.success() => {}
            Ok(_) => outcome = ExitCode::FAILURE,
            Err(error) => return usage(suites, &format!("{} cannot be run: {error}", suite.name)),
        }
    }
    outcome
}

fn usage(suites: &[Suite], error: &str) -> ExitCode {
    let names: Vec<&str> = suites.iter().map(|suite| suite.name).collect();
    eprintln!(
        "{error}\nusage: PROGRAM [{FLAG} {}] [ARGUMENTS OF A RUST TEST]",
        names.join("|")
    );
    ExitCode::FAILURE
}
