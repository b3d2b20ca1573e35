//! The shards that this process works on, and the work that is under way in each.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;

use super::ring;

/// Which keys this process works on; clones share it.
#[derive(Clone)]
pub struct Ownership(Option<Arc<Shards>>);

struct Shards {
    count: u16,
    states: Mutex<Vec<Shard>>,
    /// Notified when a shard that is given up has no work left.
    drained: Notify,
}

#[derive(Clone, Copy, Default)]
struct Shard {
    is_owned: bool,
    /// The work under way.
    running: usize,
}

/// Work on a key. The shard of the key is not given up before this is dropped.
pub struct Turn(Option<(Arc<Shards>, u16)>);

impl Ownership {
    /// Of a process that works on everything.
    pub fn all() -> Self {
        Self(None)
    }

    /// Of a process that works on none of `count` shards yet.
    pub fn none_of(count: u16) -> Self {
        Self(Some(Arc::new(Shards {
            count,
            states: Mutex::new(vec![Shard::default(); usize::from(count)]),
            drained: Notify::new(),
        })))
    }

    /// Whether other processes work, too.
    pub fn is_shared(&self) -> bool {
        self.0.is_some()
    }

    /// Whether a key belongs to a shard.
    pub fn is_in_shard(&self, key: &str, shard: u16) -> bool {
        match &self.0 {
            None => true,
            Some(shards) => ring::shard_of(key, shards.count) == shard,
        }
    }

    /// Begins work on a key; `None` if another process works on its shard.
    pub fn begin(&self, key: &str) -> Option<Turn> {
        let Some(shards) = &self.0 else {
            return Some(Turn(None));
        };
        let shard = ring::shard_of(key, shards.count);
        let mut states = shards.states.lock();
        let state = states.get_mut(usize::from(shard))?;
        if !state.is_owned {
            return None;
        }
        state.running += 1;
        Some(Turn(Some((Arc::clone(shards), shard))))
    }

    /// Opens a shard for work: this process holds its lease.
    pub(super) fn open(&self, shard: u16) {
        if let Some(shards) = &self.0
            && let Some(state) = shards.states.lock().get_mut(usize::from(shard))
        {
            state.is_owned = true;
        }
    }

    /// Closes a shard for new work, and waits for the end of the work under way.
    pub(super) async fn drain(&self, shard: u16) {
        let Some(shards) = &self.0 else { return };
        loop {
            let drained = shards.drained.notified();
            match shards.states.lock().get_mut(usize::from(shard)) {
                Some(state) if state.running > 0 => state.is_owned = false,
                Some(state) => {
                    state.is_owned = false;
                    return;
                }
                None => return,
            }
            drained.await;
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let Some((shards, shard)) = &self.0 else {
            return;
        };
        let mut states = shards.states.lock();
        if let Some(state) = states.get_mut(usize::from(*shard)) {
            state.running = state.running.saturating_sub(1);
            if state.running == 0 && !state.is_owned {
                shards.drained.notify_waiters();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    const MOMENT: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn shard_is_drained_when_its_last_work_ends_and_begins_no_other() {
        let ownership = Ownership::none_of(2);
        let (mine, other) = ("cluster1", 1 - ring::shard_of("cluster1", 2));
        let shard = ring::shard_of(mine, 2);
        assert!(ownership.begin(mine).is_none());
        ownership.open(shard);
        let (first, second) = (ownership.begin(mine).unwrap(), ownership.begin(mine));
        assert!(timeout(MOMENT, ownership.drain(other)).await.is_ok());
        assert!(timeout(MOMENT, ownership.drain(shard)).await.is_err());
        assert!(ownership.begin(mine).is_none(), "it is being drained");
        drop(second);
        assert!(timeout(MOMENT, ownership.drain(shard)).await.is_err());
        let waits = tokio::spawn({
            let ownership = ownership.clone();
            async move { ownership.drain(shard).await }
        });
        tokio::task::yield_now().await;
        drop(first);
        assert!(timeout(MOMENT, waits).await.is_ok());
        ownership.open(shard);
        assert!(ownership.begin(mine).is_some());
    }

    #[tokio::test]
    async fn process_without_shards_works_on_everything() {
        let ownership = Ownership::all();
        let turn = ownership.begin("any");
        assert!(turn.is_some() && ownership.is_in_shard("any", 0));
        ownership.drain(0).await;
        assert!(ownership.begin("any").is_some());
    }
}
