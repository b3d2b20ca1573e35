//! The keys that wait, in fair turns: one that belongs to ten thousand does not wait behind all of them, and one that is quick does not
//! wait behind those that take long.

use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher as _};
use std::time::Duration;

use tokio::time::Instant;

use super::Key;

/// What keys have in common that share a turn, such as the root policy of replicas.
pub type Flow = u64;

/// The flow of what is equal.
pub fn flow(of: &impl Hash) -> Flow {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}

/// A flow is slow while a reconcile of it has taken longer than this, and the last one has.
pub(super) const SLOW: Duration = Duration::from_secs(1);

/// The keys that wait. Flows take turns, and the keys of a flow are first in, first out. No key of a slow flow begins while half as many
/// are being reconciled as there are workers; and for each of that half there is one more worker for the others.
pub(super) struct Ready<K> {
    flows: HashMap<Flow, VecDeque<(K, Instant)>>,
    /// The flows that have waiting keys, each once, in one of these.
    quick: VecDeque<Flow>,
    slow: VecDeque<Flow>,
    is_slow: HashSet<Flow>,
    /// Keys of slow flows that are being reconciled.
    running_slow: HashSet<K>,
    most_slow: usize,
    slow_is_next: bool,
    len: usize,
}

impl<K> Default for Ready<K> {
    fn default() -> Self {
        Self {
            flows: HashMap::new(),
            quick: VecDeque::new(),
            slow: VecDeque::new(),
            is_slow: HashSet::new(),
            running_slow: HashSet::new(),
            most_slow: 1,
            slow_is_next: false,
            len: 0,
        }
    }
}

impl<K: Key> Ready<K> {
    /// Sets how many keys are reconciled at once.
    pub(super) fn set_workers(&mut self, workers: usize) {
        self.most_slow = (workers / 2).max(1);
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Adds a key that does not wait yet.
    pub(super) fn push(&mut self, flow: Flow, key: K) {
        self.len += 1;
        let waiting = self.flows.entry(flow).or_default();
        waiting.push_back((key, Instant::now()));
        if waiting.len() == 1 {
            self.turns(flow).push_back(flow);
        }
    }

    fn turns(&mut self, flow: Flow) -> &mut VecDeque<Flow> {
        if self.is_slow.contains(&flow) {
            &mut self.slow
        } else {
            &mut self.quick
        }
    }

    /// The next key, with the time when it was added; none while only slow flows wait and have all workers that they may have.
    pub(super) fn pop(&mut self) -> Option<(K, Instant)> {
        let may_be_slow = self.running_slow.len() < self.most_slow && !self.slow.is_empty();
        let is_slow = may_be_slow && (self.slow_is_next || self.quick.is_empty());
        let turns = if is_slow {
            &mut self.slow
        } else {
            &mut self.quick
        };
        let flow = turns.pop_front()?;
        self.slow_is_next = !is_slow;
        let waiting = self.flows.get_mut(&flow)?;
        let next = waiting.pop_front();
        if waiting.is_empty() {
            self.flows.remove(&flow);
        } else {
            turns.push_back(flow);
        }
        let (key, since) = next?;
        self.len -= 1;
        if is_slow {
            self.running_slow.insert(key.clone());
        }
        Some((key, since))
    }

    /// How many more workers there are while slow keys are being reconciled.
    pub(super) fn more_workers(&self) -> usize {
        self.running_slow.len().min(self.most_slow)
    }

    /// Whether a key that is being reconciled is known to be slow.
    pub(super) fn is_slow(&self, key: &K) -> bool {
        self.running_slow.contains(key)
    }

    /// The reconcile of a key takes long.
    pub(super) fn takes_long(&mut self, flow: Flow, key: K) {
        self.running_slow.insert(key);
        self.classify(flow, true);
    }

    /// The reconcile of a key has ended.
    pub(super) fn ended(&mut self, flow: Flow, key: &K, took: Duration) {
        self.running_slow.remove(key);
        self.classify(flow, took >= SLOW);
    }

    fn classify(&mut self, flow: Flow, is_slow: bool) {
        let changes = if is_slow {
            self.is_slow.insert(flow)
        } else {
            self.is_slow.remove(&flow)
        };
        if changes && self.flows.contains_key(&flow) {
            self.quick.retain(|one| *one != flow);
            self.slow.retain(|one| *one != flow);
            self.turns(flow).push_back(flow);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn popped(ready: &mut Ready<u32>, count: usize) -> Vec<u32> {
        let keys = std::iter::from_fn(|| ready.pop().map(|(key, _)| key));
        keys.take(count).collect()
    }

    #[test]
    fn flows_take_turns() {
        let mut ready = Ready::default();
        for key in 10..15 {
            ready.push(1, key);
        }
        ready.push(2, 20);
        ready.push(3, 30);
        ready.push(3, 31);
        assert_eq!(ready.len(), 8);
        assert_eq!(popped(&mut ready, 9), [10, 20, 30, 11, 31, 12, 13, 14]);
        assert_eq!(ready.len(), 0);
    }

    #[test]
    fn slow_flows_have_half_of_the_workers() {
        let mut ready = Ready::default();
        ready.set_workers(4);
        for key in 0..8 {
            ready.push(key.into(), key);
        }
        assert_eq!(popped(&mut ready, 4), [0, 1, 2, 3]);
        for key in 0..4 {
            ready.ended(key.into(), &key, SLOW * 2);
            ready.push(key.into(), key);
        }
        // Slow and quick ones take turns, as long as slow ones may.
        assert_eq!(popped(&mut ready, 4), [0, 4, 1, 5]);
        assert_eq!(popped(&mut ready, 4), [6, 7]);
        assert_eq!(ready.len(), 2);
        ready.ended(0, &0, SLOW / 2);
        assert_eq!(popped(&mut ready, 4), [2]);
        // Quick again.
        ready.push(0, 0);
        assert_eq!(popped(&mut ready, 4), [0]);
    }

    #[test]
    fn key_that_takes_long_gives_its_worker_to_others() {
        let mut ready = Ready::default();
        ready.set_workers(4);
        for key in 10..20 {
            ready.push(1, key);
        }
        assert_eq!(popped(&mut ready, 4), [10, 11, 12, 13]);
        for key in 10..14 {
            ready.takes_long(1, key);
        }
        assert_eq!(ready.more_workers(), 2);
        assert!(popped(&mut ready, 1).is_empty());
        ready.push(2, 20);
        assert_eq!(popped(&mut ready, 2), [20]);
        for key in 10..13 {
            ready.ended(1, &key, SLOW);
        }
        assert_eq!(ready.more_workers(), 1);
        assert_eq!(popped(&mut ready, 4), [14]);
    }

    #[test]
    fn flow_that_waits_changes_its_class() {
        let mut ready = Ready::default();
        ready.push(1, 10);
        ready.push(1, 11);
        assert_eq!(popped(&mut ready, 1), [10]);
        ready.ended(1, &10, SLOW * 2);
        ready.push(2, 20);
        ready.push(2, 21);
        assert_eq!(popped(&mut ready, 4), [11, 20, 21]);
    }
}
