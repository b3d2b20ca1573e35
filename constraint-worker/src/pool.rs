//! The worker processes of this process.

use std::collections::HashSet;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::WorkerLimits;
use crate::process::Process;
use crate::protocol::{ClientId, Request};

/// The worker processes that the clients of a process share. A process is started when all others are busy, and ended when it has had
/// no work for a while.
#[derive(Debug)]
pub struct Workers {
    program: PathBuf,
    limits: WorkerLimits,
    shared: Mutex<Shared>,
    /// A process is idle, or has ended.
    freed: Condvar,
}

#[derive(Debug, Default)]
struct Shared {
    idle: Vec<Process>,
    /// How many there are, idle ones included.
    count: usize,
    /// The clients that there are.
    clients: HashSet<ClientId>,
    last_client: ClientId,
    /// A thread ends idle processes.
    is_reaped: bool,
}

impl Workers {
    /// A pool of processes of `program`, none of which is started yet.
    pub fn new(program: PathBuf, limits: WorkerLimits) -> Self {
        Self {
            program,
            limits,
            shared: Mutex::default(),
            freed: Condvar::new(),
        }
    }

    /// A new client.
    pub(crate) fn register_client(&self) -> ClientId {
        let mut shared = self.lock();
        shared.last_client += 1;
        let id = shared.last_client;
        shared.clients.insert(id);
        id
    }

    /// How many processes there are.
    pub fn count(&self) -> usize {
        self.lock().count
    }

    pub(crate) fn limits(&self) -> &WorkerLimits {
        &self.limits
    }

    /// A process for the caller alone, if possible one that knows the client. Waits until one is idle where there are enough.
    pub(crate) fn acquire(self: &Arc<Self>, client: ClientId) -> io::Result<Process> {
        let mut shared = self.lock();
        loop {
            let knows = |process: &Process| process.known.contains_key(&client);
            let at = shared.idle.iter().position(knows);
            if let Some(at) = at.or_else(|| shared.idle.len().checked_sub(1)) {
                return Ok(shared.idle.swap_remove(at));
            }
            if shared.count < self.limits.processes {
                break;
            }
            let waited = self.freed.wait(shared);
            shared = waited.unwrap_or_else(PoisonError::into_inner);
        }
        shared.count += 1;
        if !shared.is_reaped {
            shared.is_reaped = true;
            self.reap();
        }
        drop(shared);
        let started = Process::start(&self.program, &self.limits);
        if started.is_err() {
            self.discard();
        }
        started
    }

    /// A process that was taken is idle again.
    pub(crate) fn release(&self, mut process: Process) {
        let ended: Vec<ClientId> = {
            let shared = self.lock();
            let known = process.known.keys();
            known
                .filter(|client| !shared.clients.contains(client))
                .copied()
                .collect()
        };
        for client in ended {
            process.known.remove(&client);
            if process.send(&Request::End { client }).is_err() {
                self.discard();
                return;
            }
        }
        process.used = Instant::now();
        self.lock().idle.push(process);
        self.freed.notify_one();
    }

    /// A process that was taken has ended.
    pub(crate) fn discard(&self) {
        self.lock().count -= 1;
        self.freed.notify_one();
    }

    /// A client has ended.
    pub(crate) fn unregister_client(&self, client: ClientId) {
        self.lock().clients.remove(&client);
    }

    /// Ends processes without work, until there are none.
    fn reap(self: &Arc<Self>) {
        let (workers, interval) = (Arc::downgrade(self), self.limits.idle / 2);
        std::thread::spawn(move || {
            loop {
                std::thread::sleep(interval);
                if !workers.upgrade().is_some_and(|workers| workers.end_idle()) {
                    return;
                }
            }
        });
    }

    /// Ends processes that have had no work for a while; false when there are none left.
    fn end_idle(&self) -> bool {
        let mut shared = self.lock();
        let is_used = |process: &Process| process.used.elapsed() < self.limits.idle;
        let (used, unused): (Vec<_>, Vec<_>) = shared.idle.drain(..).partition(is_used);
        shared.idle = used;
        shared.count -= unused.len();
        shared.is_reaped = shared.count > 0;
        let is_reaped = shared.is_reaped;
        drop(shared);
        drop(unused);
        is_reaped
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
