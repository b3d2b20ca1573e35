//! The binary with all components.

use std::process::ExitCode;

use mimalloc::MiMalloc;

/// Decoding and encoding JSON is most of what the components do, and much of that is allocation.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    reeve_cli::main(std::env::args_os().collect())
}
