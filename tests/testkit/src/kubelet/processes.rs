//! The processes of all Pods. Whoever holds a number can ask; closing kills them all at once.

use std::collections::HashMap;
use std::process::ExitStatus;
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result};
use rustix::process::Signal;

use crate::child::{Child, Launch};

/// Stands for a process, also after its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct ProcessId(u64);

#[derive(Debug, Default)]
struct Table {
    last: u64,
    /// Nothing is started any more.
    closed: bool,
    children: HashMap<ProcessId, Child>,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Processes {
    table: Mutex<Table>,
}

impl Processes {
    pub(super) fn start(&self, launch: &Launch) -> Result<ProcessId> {
        let mut table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        anyhow::ensure!(!table.closed, "the kubelet has ended");
        let child = launch.start()?;
        table.last += 1;
        let id = ProcessId(table.last);
        table.children.insert(id, child);
        Ok(id)
    }

    pub(super) fn pid(&self, id: ProcessId) -> Option<u32> {
        self.with(id, |child| Ok(child.pid())).ok()
    }

    pub(super) fn status(&self, id: ProcessId) -> Result<Option<ExitStatus>> {
        self.with(id, Child::status)
    }

    pub(super) fn signal(&self, id: ProcessId, signal: Signal) -> Result<()> {
        self.with(id, |child| child.signal(signal))
    }

    /// Kills it and forgets it.
    pub(super) fn end(&self, id: ProcessId) {
        let child = {
            let mut table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
            table.children.remove(&id)
        };
        drop(child);
    }

    /// Kills all, for good.
    pub(super) fn close(&self) {
        let mut table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        table.closed = true;
        table.children.clear();
    }

    fn with<T>(&self, id: ProcessId, probe: impl FnOnce(&mut Child) -> Result<T>) -> Result<T> {
        let mut table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        let child = table.children.get_mut(&id);
        probe(child.context("the process is not there any more")?)
    }
}
