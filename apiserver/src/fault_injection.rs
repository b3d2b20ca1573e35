//! Fault injection for tests: delays, refusals, and ended watches.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::kinds::Kind;
use crate::status_error::StatusError;

/// An injected fault.
#[derive(Clone, Debug)]
pub enum Fault {
    /// The answer comes later.
    Delay(Duration),
    /// The request is refused.
    Refuse(StatusError),
    /// Watches end, and new ones with them, as long as this fault lasts.
    DropWatches,
    /// Watches from any revision fail because it is too old.
    ExpireWatches,
}

/// The requests that a fault applies to; an empty text matches all.
#[derive(Clone, Debug, Default)]
pub struct FaultMatch {
    /// The verb, such as `update`.
    pub verb: &'static str,
    /// The API group. Ignored without a resource.
    pub group: &'static str,
    /// The resource.
    pub resource: &'static str,
    /// The number of requests it applies to; absent: all, until the fault is removed.
    pub times: Option<u32>,
}

/// The faults of a server.
#[derive(Default)]
pub struct Faults {
    all: Mutex<Vec<(u64, FaultMatch, Fault)>>,
    last: Mutex<u64>,
    dropped: Arc<Notify>,
}

impl Faults {
    /// Injects a fault. The number removes it again.
    pub fn add(&self, meets: FaultMatch, fault: Fault) -> u64 {
        let number = {
            let mut last = self.last.lock();
            *last += 1;
            *last
        };
        let drops = matches!(fault, Fault::DropWatches);
        self.all.lock().push((number, meets, fault));
        if drops {
            self.dropped.notify_waiters();
        }
        number
    }

    /// Removes a fault.
    pub fn remove(&self, number: u64) {
        self.all.lock().retain(|(other, _, _)| *other != number);
    }

    /// The faults that apply to a request.
    pub(crate) fn meeting(&self, verb: &str, kind: &Kind) -> Vec<Fault> {
        let mut all = self.all.lock();
        let mut found = Vec::new();
        for (_, meets, fault) in all.iter_mut() {
            if !meets.is(verb, kind) || matches!(fault, Fault::DropWatches) {
                continue;
            }
            match &mut meets.times {
                Some(0) => continue,
                Some(times) => *times -= 1,
                None => {}
            }
            found.push(fault.clone());
        }
        all.retain(|(_, meets, _)| meets.times != Some(0));
        found
    }

    pub(crate) fn drops_watch(&self, kind: &Kind) -> bool {
        let all = self.all.lock();
        all.iter()
            .any(|(_, meets, fault)| matches!(fault, Fault::DropWatches) && meets.is("watch", kind))
    }

    pub(crate) fn watch_dropped(&self) -> impl Future<Output = ()> + Send + 'static {
        Arc::clone(&self.dropped).notified_owned()
    }
}

impl FaultMatch {
    fn is(&self, verb: &str, kind: &Kind) -> bool {
        let of_verb = self.verb.is_empty() || self.verb == verb;
        of_verb && (self.resource.is_empty() || kind.is(self.group, self.resource))
    }
}
