//! The binary with all components.

use std::process::ExitCode;

fn main() -> ExitCode {
    reeve_cli::main(std::env::args_os().collect())
}
