//! Who may have which add-on on which cluster: one scenario at a time.

use anyhow::{Context, Result};
use tokio::sync::watch;

use crate::install::site::Cluster;

/// An add-on on a cluster.
pub(crate) type Place = (&'static str, Cluster);

/// Scenarios in the order of their coming.
pub(crate) struct ClusterLocks(watch::Sender<Queue>);

#[derive(Default)]
struct Queue {
    next: u64,
    /// Those that play and those that wait.
    present: Vec<(u64, Vec<Place>)>,
}

/// A scenario's turn; the next one's comes when this is dropped.
pub(crate) struct ClusterLock<'a> {
    locks: &'a ClusterLocks,
    number: u64,
}

impl ClusterLocks {
    pub(crate) fn new() -> Self {
        Self(watch::Sender::default())
    }

    /// Waits until nobody who came earlier wants any of these places.
    pub(crate) async fn wait(&self, places: &[Place]) -> Result<ClusterLock<'_>> {
        let mut number = 0;
        self.0.send_modify(|queue| {
            number = queue.next;
            queue.next += 1;
            queue.present.push((number, places.to_vec()));
        });
        let lock = ClusterLock {
            locks: self,
            number,
        };
        let mut queue = self.0.subscribe();
        let free = queue.wait_for(|queue| {
            let mut earlier = queue
                .present
                .iter()
                .take_while(|(other, _)| *other < number);
            earlier.all(|(_, taken)| !taken.iter().any(|place| places.contains(place)))
        });
        free.await.context("nobody keeps the turns any more")?;
        Ok(lock)
    }
}

impl Drop for ClusterLock<'_> {
    fn drop(&mut self) {
        let gone = self.number;
        self.locks
            .0
            .send_modify(|queue| queue.present.retain(|(number, _)| *number != gone));
    }
}
