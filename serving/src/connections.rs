//! The open connections of a listener, and which of them is closed for a new one.
//!
//! If the listener refused new connections at the limit, one client could exclude all others, such as the kubelet with its
//! probes. So it closes a connection without a request instead, of the address with the most connections first: a client
//! with thousands of connections replaces its own.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::activity::Activity;

/// The open connections; clones share them.
#[derive(Clone)]
pub(crate) struct Connections(Arc<Mutex<Open>>);

struct Open {
    most: usize,
    next: u64,
    by_number: BTreeMap<u64, Entry>,
}

struct Entry {
    address: IpAddr,
    opened: Instant,
    /// Absent during the handshake.
    activity: Option<Arc<Activity>>,
    evicted: Arc<Notify>,
}

impl Entry {
    fn waits_since(&self) -> Option<Instant> {
        match &self.activity {
            Some(activity) => activity.waits_since(),
            None => Some(self.opened),
        }
    }
}

/// An admitted connection, removed on drop.
pub(crate) struct Slot {
    connections: Connections,
    number: u64,
    evicted: Arc<Notify>,
}

/// How a connection was admitted.
pub(crate) enum Admission {
    /// The number of connections is below the limit.
    Free(Slot),
    /// Another connection was closed for it.
    Evicting(Slot),
    /// All connections have requests.
    Refused,
}

impl Connections {
    pub(crate) fn new(most: usize) -> Self {
        Self(Arc::new(Mutex::new(Open {
            most: most.max(1),
            next: 0,
            by_number: BTreeMap::new(),
        })))
    }

    /// Admits a connection from an address.
    pub(crate) fn admit(&self, address: IpAddr) -> Admission {
        let mut open = self.0.lock();
        let is_full = open.by_number.len() >= open.most;
        if is_full && !open.evict(Some(address)) {
            return Admission::Refused;
        }
        let slot = open.add(self, address);
        if is_full {
            Admission::Evicting(slot)
        } else {
            Admission::Free(slot)
        }
    }

    /// Closes a connection without a request; for a process without free file descriptors.
    pub(crate) fn evict_one(&self) -> bool {
        self.0.lock().evict(None)
    }
}

impl Open {
    fn add(&mut self, connections: &Connections, address: IpAddr) -> Slot {
        let number = self.next;
        self.next += 1;
        let evicted = Arc::new(Notify::new());
        let entry = Entry {
            address,
            opened: Instant::now(),
            activity: None,
            evicted: Arc::clone(&evicted),
        };
        self.by_number.insert(number, entry);
        Slot {
            connections: connections.clone(),
            number,
            evicted,
        }
    }

    /// Closes a connection for one from this address.
    fn evict(&mut self, newcomer: Option<IpAddr>) -> bool {
        let victim = self.victim(newcomer);
        let entry = victim.and_then(|number| self.by_number.remove(&number));
        entry.inspect(|entry| entry.evicted.notify_one()).is_some()
    }

    /// The connection to close: without a request, of the address with the most connections, idle for longest. If all have
    /// requests, an address with less than half as many connections as another replaces the oldest of that.
    fn victim(&self, newcomer: Option<IpAddr>) -> Option<u64> {
        let mut counts: HashMap<IpAddr, usize> = HashMap::new();
        for entry in self.by_number.values() {
            *counts.entry(entry.address).or_default() += 1;
        }
        let count = |address: &IpAddr| counts.get(address).copied().unwrap_or_default();
        let most = counts.values().copied().max().unwrap_or_default();
        let waiting = self.by_number.iter().filter_map(|(number, entry)| {
            let since = entry.waits_since()?;
            Some((most - count(&entry.address), since, *number))
        });
        if let Some((_, _, number)) = waiting.min() {
            return Some(number);
        }
        if (count(&newcomer?) + 1) * 2 > most {
            return None;
        }
        let mut largest = self.by_number.iter();
        let oldest = largest.find(|(_, entry)| count(&entry.address) == most);
        oldest.map(|(number, _)| *number)
    }
}

impl Slot {
    /// The handshake has ended.
    pub(crate) fn established(&self, activity: &Arc<Activity>) {
        let mut open = self.connections.0.lock();
        if let Some(entry) = open.by_number.get_mut(&self.number) {
            entry.activity = Some(Arc::clone(activity));
        }
    }

    /// Ends when the connection has to be closed for another.
    pub(crate) async fn evicted(&self) {
        self.evicted.notified().await;
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.connections.0.lock().by_number.remove(&self.number);
    }
}
