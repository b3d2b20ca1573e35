//! `gator`: suites of constraint templates, and constraints against objects in files, evaluated in this process.
//!
//! The commands, texts and exit codes are those of Gatekeeper's program of that name.

mod bench;
mod expand;
mod filter;
mod messages;
mod print;
mod read;
mod suite;
mod test;
mod verify;

use std::io::Read;

use clap::{Args as ClapArgs, Parser, Subcommand};

/// The name by which the program is this command.
pub const PROGRAM: &str = "gator";

/// The arguments of the program.
#[derive(ClapArgs, Debug)]
#[command(arg_required_else_help = true, subcommand_required = true)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Parser)]
#[command(name = PROGRAM, about = "Tests constraint templates and constraints of Gatekeeper without a cluster")]
struct Program {
    #[command(flatten)]
    args: Args,
}

impl Args {
    /// Reads the arguments of the program that is called `gator`.
    pub fn of_program(
        args: impl IntoIterator<Item = std::ffi::OsString>,
    ) -> Result<Self, clap::Error> {
        Program::try_parse_from(args).map(|program| program.args)
    }
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Runs suites of tests of constraint templates.
    #[command(after_help = verify::EXAMPLES)]
    Verify(verify::Args),
    /// Reviews objects by the templates and constraints beside them.
    #[command(after_help = test::EXAMPLES)]
    Test(test::Args),
    /// Prints what expansion templates make of objects.
    #[command(after_help = expand::EXAMPLES)]
    Expand(expand::Args),
    /// Measures how long reviews take.
    #[command(after_help = bench::EXAMPLES)]
    Bench(bench::Args),
}

/// What a command printed, and how it ended.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// For standard output.
    pub output: String,
    /// For standard error.
    pub error: String,
    /// The exit code.
    pub code: u8,
}

/// Something could not be run, a test failed, or an object is denied.
const FAILED: u8 = 1;

impl Outcome {
    fn of(output: String, is_failure: bool) -> Self {
        Self {
            output,
            error: String::new(),
            code: if is_failure { FAILED } else { 0 },
        }
    }

    fn failed(error: String) -> Self {
        Self {
            output: String::new(),
            error,
            code: FAILED,
        }
    }
}

/// Runs the command. The objects of `input`, standard input unless it is a terminal, are added to those of files.
pub fn run(args: &Args, input: Option<&mut dyn Read>) -> Outcome {
    match &args.command {
        Command::Verify(args) => verify::run(args),
        Command::Test(args) => test::run(args, input),
        Command::Expand(args) => expand::run(args, input),
        Command::Bench(args) => bench::run(args, input),
    }
}

/// Which engines evaluate.
fn engines(has_cel: bool) -> reeve_gatekeeper::client::Options {
    use reeve_gatekeeper::client::{Engines, Options};
    let engines = if has_cel {
        Engines::CelFirst
    } else {
        Engines::RegoOnly
    };
    Options {
        engines,
        ..Options::default()
    }
}
