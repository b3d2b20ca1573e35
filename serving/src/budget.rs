//! A budget of bytes for the bodies that are in memory at once.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The number of clients at which those without a reservation are removed.
const FEW: usize = 64;

/// Bytes that are reserved for a client before its body is read, so that the memory of all bodies is bounded. A client
/// reserves at most its share: bodies that it declares and does not send do not delay other clients.
pub struct Budget<K> {
    total: Arc<Semaphore>,
    share: usize,
    /// The shares of clients that have a reservation or wait for one.
    clients: Mutex<HashMap<K, Weak<Semaphore>>>,
}

/// Reserved bytes, released on drop.
pub struct Reservation {
    /// Of the client's share, and of the total.
    permits: [OwnedSemaphorePermit; 2],
}

impl<K: Eq + Hash> Budget<K> {
    /// A budget of `total` bytes, of which a client has at most `share`.
    pub fn new(total: usize, share: usize) -> Self {
        Self {
            total: Arc::new(Semaphore::new(total.min(Semaphore::MAX_PERMITS))),
            share: share.min(total),
            clients: Mutex::default(),
        }
    }

    /// Reserves bytes for a client when they are free, at most its share.
    pub async fn reserve(&self, client: K, bytes: usize) -> Option<Reservation> {
        let bytes = u32::try_from(bytes.min(self.share)).unwrap_or(u32::MAX);
        // Always in this order: a request that waits for its share has no bytes of the total.
        let share = self.share_of(client).acquire_many_owned(bytes).await;
        let total = Arc::clone(&self.total).acquire_many_owned(bytes).await;
        // The semaphores are never closed.
        Some(Reservation {
            permits: [share.ok()?, total.ok()?],
        })
    }

    fn share_of(&self, client: K) -> Arc<Semaphore> {
        let mut clients = self.clients.lock();
        if let Some(share) = clients.get(&client).and_then(Weak::upgrade) {
            return share;
        }
        if clients.len() >= FEW {
            clients.retain(|_, share| share.strong_count() > 0);
        }
        let share = Arc::new(Semaphore::new(self.share));
        clients.insert(client, Arc::downgrade(&share));
        share
    }

    /// The bytes that are not reserved.
    pub fn free(&self) -> usize {
        self.total.available_permits()
    }
}

impl Reservation {
    /// Releases what is more than this.
    pub fn shrink_to(&mut self, bytes: usize) {
        for permit in &mut self.permits {
            let surplus = permit.num_permits().saturating_sub(bytes);
            drop(permit.split(surplus));
        }
    }
}
