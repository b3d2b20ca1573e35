//! What is known of the latest reports on policies beyond what the watch has delivered: statuses on their way, and compliance
//! events whose status could not be written yet.

use std::collections::{HashMap, HashSet};

use jiff::Timestamp;
use kube::Resource;
use kube::core::object::HasStatus;
use parking_lot::Mutex;
use reeve_api::configuration_policy::HistoryEntry;
use reeve_runtime::events::{ComplianceEvent, EventRecorder};
use reeve_runtime::watch::Cached;

use super::update::is_newer_than_history;
use super::written::WrittenStatuses;

/// The reports on the policies of a kind, by UID.
pub struct Reports<S> {
    /// The statuses written last: the watch may not have delivered them yet.
    written: WrittenStatuses<S>,
    /// Policies that another process may have reported on: those that were there before this one,
    /// until this one has written their status.
    predecessor: Mutex<HashSet<String>>,
    /// The messages of compliance events that are not in the status yet: while the status cannot be written, each retry
    /// would emit them again.
    unwritten: Mutex<HashMap<String, Vec<(String, Timestamp)>>>,
}

impl<S> Default for Reports<S> {
    fn default() -> Self {
        Self {
            written: WrittenStatuses::default(),
            predecessor: Mutex::default(),
            unwritten: Mutex::default(),
        }
    }
}

impl<S: Clone + Default> Reports<S> {
    /// A policy as `read` finds it, and its latest status: the one in it, or the one that was written since.
    pub fn latest<P: Resource + HasStatus<Status = S>>(
        &self,
        read: impl FnOnce() -> Option<Cached<P>>,
    ) -> Option<(Cached<P>, S)> {
        self.written.latest(read)
    }

    /// Removes the status of a policy once the watch has delivered it.
    pub fn caught_up<P: Resource>(&self, policy: &P) {
        self.written.caught_up(policy);
    }

    /// Adds policies that existed before this process worked, by UID.
    pub fn inherit(&self, policies: impl IntoIterator<Item = String>) {
        self.predecessor.lock().extend(policies);
    }

    /// Removes the entries of a deleted policy.
    pub fn forget(&self, uid: &str) {
        self.predecessor.lock().remove(uid);
        self.unwritten.lock().remove(uid);
        self.written.forget(uid);
    }

    /// Records a written status and the resulting version of the policy.
    pub fn remember<P: Resource>(&self, written: &P, status: &S) {
        if let Some(uid) = &written.meta().uid {
            self.predecessor.lock().remove(uid);
            self.unwritten.lock().remove(uid);
        }
        self.written.remember(written, status);
    }

    /// Records an event that was emitted after those that are not in the status yet.
    pub fn emitted(&self, uid: &str, message: String, at: Timestamp) {
        let mut unwritten = self.unwritten.lock();
        unwritten
            .entry(uid.to_owned())
            .or_default()
            .push((message, at));
    }

    /// When the first of these reports were emitted without a status write: as many as are the newest of what was emitted.
    /// The same message further back was followed by another one, so that it is due again.
    pub fn newest_emitted(&self, uid: &str, messages: &[&str]) -> Vec<Timestamp> {
        let unwritten = self.unwritten.lock();
        let emitted = unwritten.get(uid).map(Vec::as_slice).unwrap_or_default();
        let longest = messages.len().min(emitted.len());
        let tails = (1..=longest)
            .rev()
            .map(|count| emitted.split_at(emitted.len() - count).1);
        let mut same = tails.filter(|tail| {
            let mut pairs = tail.iter().zip(messages);
            pairs.all(|((emitted, _), message)| emitted == message)
        });
        let newest = same.next().unwrap_or_default();
        newest.iter().map(|(_, at)| *at).collect()
    }

    /// Records an event that was emitted, in place of those before.
    pub fn emitted_only(&self, uid: &str, message: String, at: Timestamp) {
        let emitted = vec![(message, at)];
        self.unwritten.lock().insert(uid.to_owned(), emitted);
    }

    /// When the same event was emitted without a status write: by this process, whose write failed, or by
    /// [one before it](Self::emitted_by_predecessor). `history` is that of the latest status.
    pub async fn emitted_before(
        &self,
        (uid, history): (&str, Option<&[HistoryEntry]>),
        event: &ComplianceEvent,
        events: &EventRecorder,
    ) -> Result<Option<Timestamp>, kube::Error> {
        let own = self.unwritten.lock().get(uid).and_then(|emitted| {
            let mut emitted = emitted.iter();
            let found = emitted.find(|(message, _)| *message == event.message);
            found.map(|(_, at)| *at)
        });
        if own.is_some() {
            return Ok(own);
        }
        self.emitted_by_predecessor((uid, history), event, events)
            .await
    }

    /// When a process before this one emitted the same event and was killed before it wrote the status. The API server is
    /// asked only about policies that such a process can have known. `history` is that of the latest status.
    pub async fn emitted_by_predecessor(
        &self,
        (uid, history): (&str, Option<&[HistoryEntry]>),
        event: &ComplianceEvent,
        events: &EventRecorder,
    ) -> Result<Option<Timestamp>, kube::Error> {
        if !self.predecessor.lock().contains(uid) {
            return Ok(None);
        }
        let emitted = events.already_emitted(event).await?;
        Ok(emitted.filter(|at| is_newer_than_history(history, *at)))
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::nothing_emitted(&[], &["a"], 0)]
    #[case::same_again(&["a"], &["a"], 1)]
    #[case::followed_by_another(&["a", "b"], &["a"], 0)]
    #[case::both_again(&["a", "b"], &["a", "b"], 2)]
    #[case::second_failed(&["a"], &["a", "b"], 1)]
    #[case::only_the_end(&["a", "b"], &["b"], 1)]
    #[case::back_again(&["a", "b", "a"], &["a"], 1)]
    #[case::back_again_then_more(&["a", "b", "a"], &["a", "b"], 1)]
    fn reports_that_are_newest_are_not_emitted_again(
        #[case] emitted: &[&str],
        #[case] due: &[&str],
        #[case] known: usize,
    ) {
        let reports = Reports::<()>::default();
        for (second, message) in (0..).zip(emitted) {
            let at = Timestamp::from_second(second).unwrap();
            reports.emitted("u", (*message).to_owned(), at);
        }
        let newest = reports.newest_emitted("u", due);
        assert_eq!(newest.len(), known);
        let last = i64::try_from(emitted.len()).unwrap() - 1;
        let first = last + 1 - i64::try_from(known).unwrap();
        let expected: Vec<_> = (first..=last)
            .map(|second| Timestamp::from_second(second).unwrap())
            .collect();
        assert_eq!(newest, expected);
    }
}
