//! Evaluates Gatekeeper's constraints in processes of this program that can be killed: the code of a template is written by whoever
//! may write templates, and must not stop, starve or blind anybody else.
//!
//! [`Workers`] is the pool of processes of this program, at most one for each processor, started when they are needed and ended when
//! they are idle. [`client`] makes a client of the engine whose [`Evaluator`] is one of the pool: it keeps a journal of templates, constraints
//! and inventory, brings a process up to date before it is asked, and gives up a template for which a process had to be killed
//! (*quarantine*). [`run`] is the other side: a process that reads requests and writes results. Processor time and wall time are
//! limited by the pool, the address space by the process itself.

mod journal;
mod limits;
mod messages;
mod pool;
mod process;
mod protocol;
mod remote;
mod worker;

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use reeve_gatekeeper::client::{Client, Options};
use reeve_gatekeeper::evaluator::{Evaluator, InProcess};

pub use limits::Limits;
pub use pool::Workers;
pub use worker::run;

/// The hidden command of the program that runs a worker.
pub const COMMAND: &str = "constraint-worker";

static WORKERS: OnceLock<Arc<Workers>> = OnceLock::new();

/// From now on [`client`] evaluates in processes of this program, which must know the command [`COMMAND`]. Does nothing where the
/// platform cannot limit processes.
pub fn enable() {
    if cfg!(target_os = "linux") {
        // The link goes on to name this program when another version replaces its file.
        let program = PathBuf::from("/proc/self/exe");
        WORKERS.get_or_init(|| Arc::new(Workers::new(program, Limits::default())));
    }
}

/// What evaluates for one client: the processes, or this process where they were not [enabled](enable).
pub fn evaluator(options: Options) -> Arc<dyn Evaluator> {
    match WORKERS.get() {
        Some(workers) => workers.evaluator(options),
        None => Arc::new(InProcess::new(options)),
    }
}

/// A client without templates, which evaluates in the processes where they were [enabled](enable).
pub fn client(options: Options) -> Client {
    Client::with_evaluator(evaluator(options))
}
