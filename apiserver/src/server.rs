//! The public type of a server.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use serde_json::Value;

use crate::auth::Tokens;
use crate::controllers;
use crate::data::{self, DataError, Folder};
use crate::fault_injection::Faults;
use crate::kinds::{self, table_name};
use crate::meta::{self, NoRandomness};
use crate::queue::{WorkItem, WorkQueue};
use crate::stack::{self, LargeStack};
use crate::state::{Options, State};
use crate::store::{Key, Store, Write};

/// A Kubernetes API server in memory. Clones are the same server.
#[derive(Clone)]
pub struct Server {
    pub(crate) state: Arc<State>,
}

impl Server {
    /// A server with what a fresh cluster has. Its controllers (garbage collection, namespaces, definitions, accounts)
    /// run until the last clone is gone. Has to be called in a runtime.
    ///
    /// # Errors
    /// When the operating system has no random numbers.
    pub fn start(options: Options) -> Result<Self, NoRandomness> {
        Self::begin(options, Store::new(), Tokens::new(meta::secret()?))
    }

    /// The same with the objects that a folder has, which keeps all changes from now on. What a fresh cluster has is made
    /// if it is not there.
    pub fn open(options: Options, folder: &Folder) -> Result<Self, DataError> {
        let secret = data::secret(folder)?;
        stack::large(|| {
            let store = Store::open(folder)?;
            Ok(Self::begin(options, store, Tokens::new(secret))?)
        })
    }

    fn begin(options: Options, store: Store, tokens: Tokens) -> Result<Self, NoRandomness> {
        let (queue, items) = WorkQueue::new();
        let state = Arc::new(State::new(options, store, tokens, queue));
        bootstrap(&state)?;
        controllers::serve_kept_definitions(&state);
        tokio::spawn(LargeStack::new(controllers::run(
            Arc::downgrade(&state),
            items,
        )));
        state.enqueue(WorkItem::Started);
        Ok(Self { state })
    }

    /// The injected faults.
    pub fn faults(&self) -> &Faults {
        &self.state.faults
    }

    /// The number of objects of a resource.
    pub fn count(&self, group: &str, resource: &str) -> usize {
        self.state.store.count(&table_name(group, resource))
    }

    /// The revision of the last change.
    pub fn revision(&self) -> u64 {
        self.state.store.revision()
    }

    /// Whether every watch of a client in this process has delivered all changes, and its transport has asked for the next
    /// one: who takes one event after the other has dealt with all of them then. Readers behind sockets are not waited for.
    pub fn watches_are_current(&self) -> bool {
        self.state.store.all_are_current()
    }

    /// Forgets the changes of a resource up to now, so that watches from earlier revisions have expired.
    pub fn compact(&self, group: &str, resource: &str) {
        self.state.store.compact(&table_name(group, resource));
    }
}

/// Creates the objects of a fresh cluster that do not exist.
fn bootstrap(state: &State) -> Result<(), NoRandomness> {
    let kinds = state.kinds();
    for mut object in kinds::bootstrap_objects() {
        let text = |path: &str| {
            object
                .pointer(path)
                .and_then(Value::as_str)
                .unwrap_or_default()
        };
        let Some(kind) = kinds.of_object(text("/apiVersion"), text("/kind")) else {
            continue;
        };
        let key = Key::new(text("/metadata/namespace"), text("/metadata/name"));
        meta::begin(&mut object, kind)?;
        meta::strip_type(&mut object);
        if state.store.get(&kind.table, &key).is_none() {
            // A new store refuses nothing; later writes report a full disk.
            let _ = state.store.write(&kind.table, &key, Write::Create(object));
        }
    }
    Ok(())
}
