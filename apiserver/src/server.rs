//! A server: its objects, its kinds, and what is the same for all its requests.

use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard, RwLock};
use serde_json::Value;
use tokio::sync::mpsc;

use crate::admission::{Admission, Policies, Webhooks};
use crate::audit::AuditLog;
use crate::auth::Auth;
use crate::authority::Authority;
use crate::controllers::{self, Graces, Note};
use crate::data::{self, DataError, Folder};
use crate::faults::Faults;
use crate::kinds::{self, Kind, Kinds, table_name};
use crate::stack::{self, Large};
use crate::store::{Key, Store, Write};

/// How a server is made.
#[derive(Clone, Default)]
pub struct Options {
    /// Who may change or refuse objects on their way in, in this order.
    pub admission: Vec<Arc<dyn Admission>>,
    /// Where requests are recorded.
    pub audit: Option<Arc<AuditLog>>,
    /// The certificate authority that clients are told to trust, as PEM; empty if there is none.
    pub authority: String,
    /// Who signs the certificates that clients request; without it requests are kept and not signed.
    pub signer: Option<Arc<Authority>>,
    /// Whether rights are asked for. Otherwise everybody may do everything.
    pub rbac: bool,
}

pub(crate) struct Inner {
    pub(crate) store: Store,
    pub(crate) kinds: RwLock<Arc<Kinds>>,
    pub(crate) options: Options,
    pub(crate) auth: Auth,
    pub(crate) faults: Faults,
    pub(crate) policies: Policies,
    pub(crate) webhooks: Webhooks,
    pub(crate) graces: Graces,
    pub(crate) notes: mpsc::UnboundedSender<Note>,
    allocations: Mutex<()>,
}

/// A Kubernetes API server in memory. Clones are the same server.
#[derive(Clone)]
pub struct Server {
    pub(crate) inner: Arc<Inner>,
}

impl Server {
    /// A server with what a fresh cluster has. Its controllers (garbage collection, namespaces, definitions, accounts)
    /// run until the last clone is gone. Has to be called in a runtime.
    pub fn start(options: Options) -> Self {
        Self::begin(options, Store::new(), Auth::new())
    }

    /// The same with the objects that a folder has, which keeps all changes from now on. What a fresh cluster has is made
    /// if it is not there.
    pub fn open(options: Options, folder: &Folder) -> Result<Self, DataError> {
        let secret = data::secret(folder)?;
        stack::large(|| {
            let store = Store::open(folder)?;
            Ok(Self::begin(options, store, Auth::with_secret(secret)))
        })
    }

    fn begin(options: Options, store: Store, auth: Auth) -> Self {
        let (notes, inbox) = mpsc::unbounded_channel();
        let inner = Arc::new(Inner {
            store,
            kinds: RwLock::new(Arc::new(Kinds::builtin())),
            options,
            auth,
            faults: Faults::default(),
            policies: Policies::default(),
            webhooks: Webhooks::default(),
            graces: Graces::default(),
            notes,
            allocations: Mutex::default(),
        });
        inner.bootstrap();
        inner.define_all();
        tokio::spawn(Large::new(controllers::run(Arc::downgrade(&inner), inbox)));
        inner.note(Note::Started);
        Self { inner }
    }

    /// The faults that tests ask for.
    pub fn faults(&self) -> &Faults {
        &self.inner.faults
    }

    /// How many objects there are of a resource.
    pub fn count(&self, group: &str, resource: &str) -> usize {
        self.inner.store.count(&table_name(group, resource))
    }

    /// The revision of the last change.
    pub fn revision(&self) -> u64 {
        self.inner.store.revision()
    }

    /// Whether every watch of a client in this process has delivered all changes, and its reader has asked for the next
    /// one: who takes one event after the other has dealt with all of them then. Readers behind sockets are not waited for.
    pub fn watches_are_current(&self) -> bool {
        self.inner.store.all_are_current()
    }

    /// Forgets the changes of a resource up to now, so that watches from earlier revisions have expired.
    pub fn compact(&self, group: &str, resource: &str) {
        self.inner.store.compact(&table_name(group, resource));
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // Schemas have defaults and examples as deep as objects.
        stack::large(|| drop(std::mem::take(&mut *self.kinds.write())));
    }
}

impl Inner {
    /// Held while addresses and ports of a service are chosen and until it is stored: no other gets the same.
    pub(crate) fn allocating(&self, kind: &Kind) -> Option<MutexGuard<'_, ()>> {
        kind.is("", "services").then(|| self.allocations.lock())
    }

    pub(crate) fn kinds(&self) -> Arc<Kinds> {
        Arc::clone(&self.kinds.read())
    }

    /// Tells the controllers. They are gone only if the server is.
    pub(crate) fn note(&self, note: Note) {
        let _ = self.notes.send(note);
    }

    fn bootstrap(&self) {
        let kinds = self.kinds();
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
            crate::meta::begin(&mut object, kind);
            crate::meta::strip_type(&mut object);
            if self.store.get(&kind.table, &key).is_none() {
                // A fresh store refuses nothing; a full disk is told of by whoever writes to it.
                let _ = self.store.write(&kind.table, &key, Write::Create(object));
            }
        }
    }
}
