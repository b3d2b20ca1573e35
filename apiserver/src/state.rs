//! The state of a server. Every stage of a request is given it, or the parts of it that the stage needs.

use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use reeve_serving::Limits;

use crate::admission::{AdmissionPlugin, InProcessWebhook, Policies, Webhooks};
use crate::audit::AuditLog;
use crate::auth::{Authorizer, Tokens};
use crate::fault_injection::Faults;
use crate::kinds::{Kind, KindRegistry, Kinds};
use crate::pki::Authority;
use crate::queue::{GracePeriods, WorkItem, WorkQueue};
use crate::request::content::{BodyLimits, BodyReader};
use crate::stack;
use crate::store::Store;

/// The options of a server.
#[derive(Clone, Default)]
pub struct Options {
    /// The admission plugins, in this order.
    pub admission: Vec<Arc<dyn AdmissionPlugin>>,
    /// The audit log.
    pub audit: Option<Arc<AuditLog>>,
    /// The certificate authority that is published to clients, as PEM; empty if there is none.
    pub authority: String,
    /// The authority that signs certificate signing requests; without it they are stored and not signed.
    pub signer: Option<Arc<Authority>>,
    /// Whether requests are authorized by RBAC. Otherwise every user may do everything.
    pub rbac: bool,
    /// The limits of clients over sockets.
    pub limits: ServerLimits,
    /// Webhooks that configurations of webhooks reach in this process.
    pub webhooks: Vec<InProcessWebhook>,
}

/// The limits of clients that reach a server over a socket.
#[derive(Clone, Copy, Debug)]
pub struct ServerLimits {
    /// The limits of connections.
    pub connections: Limits,
    /// The limits of bodies; the largest body is the same for clients in this process.
    pub bodies: BodyLimits,
}

impl Default for ServerLimits {
    fn default() -> Self {
        Self {
            connections: Limits {
                // A controller has one for each of its watches.
                connections: 1_000,
                ..Limits::default()
            },
            bodies: BodyLimits::default(),
        }
    }
}

pub(crate) struct State {
    pub(crate) store: Store,
    pub(crate) kinds: KindRegistry,
    pub(crate) options: Options,
    pub(crate) tokens: Tokens,
    pub(crate) faults: Faults,
    pub(crate) policies: Policies,
    pub(crate) webhooks: Webhooks,
    pub(crate) grace_periods: GracePeriods,
    pub(crate) queue: WorkQueue,
    pub(crate) bodies: BodyReader,
    allocations: Mutex<()>,
}

impl State {
    pub(crate) fn new(options: Options, store: Store, tokens: Tokens, queue: WorkQueue) -> Self {
        let webhooks = Webhooks::new(options.webhooks.clone());
        Self {
            store,
            kinds: KindRegistry::new(),
            bodies: BodyReader::new(options.limits.bodies),
            options,
            tokens,
            faults: Faults::default(),
            policies: Policies::default(),
            webhooks,
            grace_periods: GracePeriods::default(),
            queue,
            allocations: Mutex::default(),
        }
    }

    /// Held while addresses and ports of a service are chosen and until it is stored: no other gets the same.
    pub(crate) fn allocating(&self, kind: &Kind) -> Option<MutexGuard<'_, ()>> {
        kind.is("", "services").then(|| self.allocations.lock())
    }

    pub(crate) fn kinds(&self) -> Arc<Kinds> {
        self.kinds.current()
    }

    pub(crate) fn enqueue(&self, item: WorkItem) {
        self.queue.add(item);
    }

    /// Decides by RBAC what users may do.
    pub(crate) fn authorizer(&self) -> Authorizer<'_> {
        Authorizer::new(&self.store, self.options.rbac)
    }
}

impl Drop for State {
    fn drop(&mut self) {
        // Schemas have defaults and examples as deep as objects.
        stack::large(|| drop(std::mem::take(&mut *self.kinds.write())));
    }
}
