//! Waits until a fleet has nothing left to reconcile.

use std::time::Duration;

use crate::start::{Fleet, Member};

/// How often a busy fleet is asked again.
const POLL: Duration = Duration::from_millis(20);
/// For so long nothing may be written and no key be worked on: a task that was woken has run by then.
const PAUSE: Duration = Duration::from_millis(50);

impl Fleet {
    /// Waits until every change of an object has come to every controller and no controller has work left. Statuses are
    /// of the objects as they are then, whatever an earlier process has stored. [`Fleet::run`] has to run meanwhile.
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

    /// Whether a controller has failed and not succeeded since: a status may be of what was before.
    pub fn is_failing(&self) -> bool {
        self.activity.is_failing()
    }

    fn members(&self) -> impl Iterator<Item = &Member> {
        std::iter::once(&self.hub).chain(&self.clusters)
    }

    fn is_idle(&self) -> bool {
        // The watches first: what they have delivered is in the queues by then.
        self.members()
            .all(|member| member.server.watches_are_current())
            && self.activity.is_idle()
    }

    /// Changes with every write and every key that is worked on.
    fn progress(&self) -> (u64, u64) {
        let revisions = self.members().map(|member| member.server.revision());
        (revisions.sum(), self.activity.begun())
    }
}
