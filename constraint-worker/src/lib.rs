//! Evaluates Gatekeeper's constraints in processes of this program that can be killed: the code of a template is a tenant's, and
//! must not stop, starve or blind other tenants.
//!
//! [`Workers`] is the pool of processes of this program, at most one for each processor, started when they are needed and ended when
//! they are idle. [`client`] makes a client of the engine whose [`Evaluator`](reeve_gatekeeper::evaluator::Evaluator) uses the pool. It
//! keeps a journal of templates, constraints and inventory, sends a process what has changed before each request, and quarantines a
//! template for which a process was killed. [`run`] is the other side: a process that reads requests and writes results. The pool
//! limits processor time and wall time, the process itself its address space.

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

pub use limits::WorkerLimits;
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
        WORKERS.get_or_init(|| Arc::new(Workers::new(program, WorkerLimits::default())));
    }
}

/// A client without templates, which evaluates in the processes where they were [enabled](enable), otherwise in this one.
pub fn client(options: Options) -> Client {
    match WORKERS.get() {
        Some(workers) => Client::with_evaluator(workers.evaluator(options)),
        None => Client::new(options),
    }
}
