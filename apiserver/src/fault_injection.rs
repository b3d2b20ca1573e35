//! Faults that tests ask for: what a server under stress does, when it is wanted.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::failure::Failure;
use crate::kinds::Kind;

/// What goes wrong.
#[derive(Clone, Debug)]
pub enum Fault {
    /// The answer comes later.
    Delay(Duration),
    /// The request is refused.
    Refuse(Failure),
    /// Watches end, and new ones with them, as long as this fault lasts.
    DropWatches,
    /// Watches from any revision are told that it is too old.
    ExpireWatches,
}

/// Which requests it meets; an empty text is all of them.
#[derive(Clone, Debug, Default)]
pub struct Meets {
    /// The verb, such as `update`.
    pub verb: &'static str,
    /// The API group. Only looked at if a resource is named.
    pub group: &'static str,
    /// The resource.
    pub resource: &'static str,
    /// How many requests it meets; absent: all, until it is taken away.
    pub times: Option<u32>,
}

/// The faults of a server.
#[derive(Default)]
pub struct Faults {
    all: Mutex<Vec<(u64, Meets, Fault)>>,
    last: Mutex<u64>,
    dropped: Arc<Notify>,
}

impl Faults {
    /// From now on this goes wrong. The number takes it away again.
    pub fn add(&self, meets: Meets, fault: Fault) -> u64 {
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

    /// This goes wrong no more.
    pub fn remove(&self, number: u64) {
        self.all.lock().retain(|(other, _, _)| *other != number);
    }

    /// What meets a request.
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

impl Meets {
    fn is(&self, verb: &str, kind: &Kind) -> bool {
        let of_verb = self.verb.is_empty() || self.verb == verb;
        of_verb && (self.resource.is_empty() || kind.is(self.group, self.resource))
    }
}
