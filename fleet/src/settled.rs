//! Waits until the controllers of a fleet are idle.

use std::time::Duration;

use crate::start::{Fleet, Member};

/// The interval between two checks of a busy fleet.
const POLL: Duration = Duration::from_millis(20);
/// The fleet must be idle for this long: a task that was scheduled has run by then.
const PAUSE: Duration = Duration::from_millis(50);

impl Fleet {
    /// Waits until every controller has received every change and has an empty queue. Then all statuses are of the
    /// current objects, whatever an earlier process stored. [`Fleet::run`] has to run meanwhile.
    pub async fn settled(&self) {
        loop {
            let before = self.progress();
            if self.is_idle() {
                tokio::time::sleep(PAUSE).await;
                if self.is_idle() && self.progress() == before {
                    return;
                }
            } else {
                tokio::time::sleep(POLL).await;
            }
        }
    }

    /// Whether every controller has received every change and has reconciled it, if only with a failure that it retries.
    pub fn is_only_retrying(&self) -> bool {
        self.members()
            .all(|member| member.server.watches_are_current())
            && self.activity.is_only_retrying()
    }

    /// Whether a controller's last reconcile of a key failed: a status may be out of date.
    pub fn is_failing(&self) -> bool {
        self.activity.is_failing()
    }

    fn members(&self) -> impl Iterator<Item = &Member> {
        std::iter::once(&self.hub).chain(&self.clusters)
    }

    fn is_idle(&self) -> bool {
        // Check the watches first: the events that they delivered are in the queues by then.
        self.members()
            .all(|member| member.server.watches_are_current())
            && self.activity.is_idle()
    }

    /// A value that changes with every write and every reconcile.
    fn progress(&self) -> (u64, u64) {
        let revisions = self.members().map(|member| member.server.revision());
        (revisions.sum(), self.activity.begun())
    }
}
