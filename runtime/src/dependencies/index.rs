//! The index of readers, targets and watches, which maps a change to the readers to enqueue. Pure: inputs in, outputs
//! out.
//!
//! A *target* is what a reader reads. A *source* is a watch that answers targets. A target has its own source until a
//! kind has many of them; then one wider source is opened, and takes over from all that it
//! [contains](Source::contains):
//!
//! - the same name or selector in many namespaces: that name or selector in all namespaces;
//! - many names and selectors in one namespace: all objects there;
//! - many sources of a kind in whatever namespaces: all objects of the kind.
//!
//! Reads that such a source will answer wait for its list, so the number of open watches is bounded. If the API
//! server rejects it, the targets get their own sources, and it is not tried again for [a while](BARRED). A source
//! that has taken over stays as long as it has readers.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use kube::core::ApiResource;
use tokio::time::Instant;

pub use super::cover::{Filter, Lost, Source, Target};
use super::watched::{Versioned, Watched};
use super::{Keep, SHARED_WATCH_THRESHOLD};
use crate::object::ObjectKey;
use crate::queue::Key;

/// How many sources of a kind may be open until one takes over.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// With names or selectors in one namespace.
    pub(super) in_a_namespace: usize,
    /// With the same name or selector in different namespaces.
    pub(super) namespaces: usize,
    /// In total.
    pub(super) of_a_kind: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            in_a_namespace: SHARED_WATCH_THRESHOLD,
            namespaces: 8,
            of_a_kind: 32,
        }
    }
}

/// How long a rejected shared source is not tried again.
pub(super) const BARRED: Duration = Duration::from_mins(10);

/// The result of a read.
#[derive(Clone, Debug)]
pub(super) enum Answer<O> {
    /// The current objects, sorted by namespace and name.
    Known(Vec<Arc<O>>),
    /// The watch has not listed them yet.
    Pending,
    /// The watch could not be established. The next read tries again.
    Lost(Lost),
}

/// What the caller of the index must do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Output<R> {
    /// Open this watch.
    Start(Source),
    /// Close this watch.
    Stop(Source),
    /// Enqueue this reader.
    Enqueue(R),
}

/// The batch of a reader in which it last read a target.
type Round = u64;

pub(super) struct Index<R, O> {
    limits: Limits,
    /// Whether a refusal also enqueues the readers that wait for the answer.
    pub(super) echoes: bool,
    now: Instant,
    sources: HashMap<Source, Watched<R, O>>,
    /// The keys of `sources`.
    of_kind: HashMap<Arc<ApiResource>, HashSet<Source>>,
    /// The source that answers each target that has readers.
    serving: HashMap<Target, Source>,
    readers: HashMap<R, (Round, HashMap<Target, Round>)>,
    lost: HashMap<R, HashMap<Target, Lost>>,
    /// How long a refusal is cached for all readers of the same source.
    pub(super) remembers: Duration,
    /// Shortens objects on arrival.
    pub(super) keep: Keep,
    /// Whether no watch of a kind takes the place of several narrower ones.
    pub(super) is_narrow: fn(&ApiResource) -> bool,
    /// Forbidden sources, with the time and the error.
    forbidden: HashMap<Source, (Instant, Lost)>,
    /// Kinds and namespaces of shared sources that were rejected, and when.
    barred: HashMap<(Arc<ApiResource>, String), Instant>,
    outputs: Vec<Output<R>>,
}

impl<R: Key, O: Versioned> Index<R, O> {
    pub(super) fn new(limits: Limits, now: Instant) -> Self {
        Self {
            limits,
            echoes: true,
            now,
            sources: HashMap::new(),
            of_kind: HashMap::new(),
            serving: HashMap::new(),
            readers: HashMap::new(),
            lost: HashMap::new(),
            remembers: Duration::ZERO,
            keep: |_, object| object,
            is_narrow: |_| false,
            forbidden: HashMap::new(),
            barred: HashMap::new(),
            outputs: Vec::new(),
        }
    }

    /// Advances the clock.
    pub(super) fn tick(&mut self, now: Instant) {
        self.now = now;
    }

    /// The outputs since the last call.
    pub(super) fn outputs(&mut self) -> Vec<Output<R>> {
        std::mem::take(&mut self.outputs)
    }

    /// The number of kept objects.
    pub(super) fn objects(&self) -> usize {
        self.sources.values().map(Watched::len).sum()
    }

    /// How many different targets are read.
    pub(super) fn targets(&self) -> usize {
        self.serving.len()
    }

    /// Whether a target has readers.
    pub(super) fn is_read(&self, target: &Target) -> bool {
        self.serving.contains_key(target)
    }

    /// A reader starts a batch.
    pub(super) fn begin(&mut self, reader: &R) {
        let (round, _) = self.readers.entry(reader.clone()).or_default();
        *round += 1;
    }

    /// A reader reads; changes enqueue it from here on.
    pub(super) fn read(&mut self, reader: &R, target: &Target) -> Answer<O> {
        if let Some(lost) = self.take_loss(reader, target) {
            return Answer::Lost(lost);
        }
        if let Some(lost) = self.remembered_refusal(target) {
            return Answer::Lost(lost);
        }
        let (round, targets) = self.readers.entry(reader.clone()).or_default();
        targets.insert(target.clone(), *round);
        let source = self.source_of(target);
        let Some(watched) = self.sources.get_mut(&source) else {
            return Answer::Pending;
        };
        watched.add(&source, target, [reader.clone()]);
        if !watched.ready {
            return Answer::Pending;
        }
        Answer::Known(watched.answer(target))
    }

    /// A reader ends its batch; targets that it did not read are dropped.
    pub(super) fn end(&mut self, reader: &R) {
        // A loss is an answer for the batch that waits for one. Other readers have been enqueued, and ask the API
        // server anew instead of getting an old refusal.
        self.lost.remove(reader);
        let Some((round, targets)) = self.readers.get_mut(reader) else {
            return;
        };
        let round = *round;
        let old: Vec<Target> = targets
            .extract_if(|_, read| *read != round)
            .map(|(target, _)| target)
            .collect();
        for target in old {
            self.drop_reader(&target, reader);
        }
    }

    /// Removes a reader.
    pub(super) fn unwatch(&mut self, reader: &R) {
        self.lost.remove(reader);
        let Some((_, targets)) = self.readers.remove(reader) else {
            return;
        };
        for target in targets.keys() {
            self.drop_reader(target, reader);
        }
    }

    /// A watch starts a list, for the first time or after it was interrupted.
    pub(super) fn listing(&mut self, source: &Source) {
        if let Some(watched) = self.sources.get_mut(source) {
            watched.list_begins();
        }
    }

    /// A watch delivered an object, in a list or because it changed.
    pub(super) fn applied(&mut self, source: &Source, object: O) {
        if let Some(watched) = self.sources.get_mut(source) {
            let readers = watched.apply(source, object);
            self.enqueue(readers);
        }
    }

    /// A watch delivered the deletion of an object.
    pub(super) fn deleted(&mut self, source: &Source, key: &ObjectKey) {
        if let Some(watched) = self.sources.get_mut(source) {
            let readers = watched.delete(source, key);
            self.enqueue(readers);
        }
    }

    /// A watch's list is complete: other objects were deleted.
    pub(super) fn listed(&mut self, source: &Source) {
        let Some(watched) = self.sources.get_mut(source) else {
            return;
        };
        let readers = watched.list_ends(source);
        self.enqueue(readers);
        self.take_over(source);
        // Its readers may have been removed during the list.
        self.stop_if_unused(source);
    }

    /// A watch cannot continue. Its readers are enqueued so that they read again: "could not read" must reach every
    /// reader that relied on the answer. Its own target answers them with the reason; the targets of a shared watch
    /// first get their own watches, which may be allowed.
    pub(super) fn lost(&mut self, source: &Source, reason: &Lost) {
        let Some(watched) = self.close(source) else {
            return;
        };
        if reason.is_forbidden() && !self.remembers.is_zero() {
            let (now, remembers) = (self.now, self.remembers);
            self.forbidden
                .retain(|_, (since, _)| now < *since + remembers);
            self.forbidden.insert(source.clone(), (now, reason.clone()));
        }
        if watched.is_shared && !reason.is_of_the_kind() {
            self.barred.retain(|_, since| self.now < *since + BARRED);
            let place = (source.kind.clone(), source.namespace.clone());
            self.barred.insert(place, self.now);
        }
        // Before the first list no reader has an answer: all wait, and read again on their own.
        let enqueues = watched.ready || self.echoes;
        for (target, readers) in watched.into_targets() {
            self.serving.remove(&target);
            let answers = reason.is_of_the_kind() || target.own_source() == *source;
            for reader in readers {
                if answers {
                    let losses = self.lost.entry(reader.clone()).or_default();
                    losses.insert(target.clone(), reason.clone());
                }
                if let Some((_, targets)) = self.readers.get_mut(&reader) {
                    targets.remove(&target);
                }
                if enqueues {
                    self.outputs.push(Output::Enqueue(reader));
                }
            }
        }
    }

    /// The cached refusal of the source that a target would be read from.
    fn remembered_refusal(&self, target: &Target) -> Option<Lost> {
        // An open source answers: it may be allowed where a new one is not.
        if self.forbidden.is_empty() || self.serving.contains_key(target) {
            return None;
        }
        let (since, lost) = self.forbidden.get(&target.own_source())?;
        (self.now < *since + self.remembers).then(|| lost.clone())
    }

    fn take_loss(&mut self, reader: &R, target: &Target) -> Option<Lost> {
        let losses = self.lost.get_mut(reader)?;
        let lost = losses.remove(target);
        if losses.is_empty() {
            self.lost.remove(reader);
        }
        lost
    }

    fn enqueue(&mut self, readers: HashSet<R>) {
        self.outputs
            .extend(readers.into_iter().map(Output::Enqueue));
    }

    /// The source that answers a target: an open one, else a new one.
    fn source_of(&mut self, target: &Target) -> Source {
        if let Some(source) = self.serving.get(target) {
            return source.clone();
        }
        let candidates = target.answered_by();
        let is_open = |source: &&Source| self.sources.contains_key(*source);
        let is_ready = |source: &&Source| self.sources.get(*source).is_some_and(|it| it.ready);
        let open = candidates
            .iter()
            .find(is_ready)
            .or_else(|| candidates.iter().find(is_open));
        let source = match open {
            Some(source) => source.clone(),
            None => self.open_for(target),
        };
        self.serving.insert(target.clone(), source.clone());
        source
    }

    fn open_for(&mut self, target: &Target) -> Source {
        let own = target.own_source();
        let shared = self.shared_instead_of(&own);
        let watched = Watched::new(shared.is_some());
        let source = shared.unwrap_or(own);
        let of_kind = self.of_kind.entry(source.kind.clone()).or_default();
        of_kind.insert(source.clone());
        self.sources.insert(source.clone(), watched);
        self.outputs.push(Output::Start(source.clone()));
        source
    }

    /// The shared source to open instead of one more narrow one, if there are many.
    fn shared_instead_of(&self, own: &Source) -> Option<Source> {
        if (self.is_narrow)(&own.kind) {
            return None;
        }
        let open = self.of_kind.get(&own.kind)?;
        let is_elsewhere = |it: &&Source| it.filter == own.filter && !it.namespace.is_empty();
        let is_there = |it: &&Source| {
            it.namespace == own.namespace && it.filter != Filter::All && it.filter.is_within_all()
        };
        let in_namespace = !own.namespace.is_empty();
        let everywhere =
            in_namespace && open.iter().filter(is_elsewhere).count() >= self.limits.namespaces;
        let may_be_all = own.filter != Filter::All && own.filter.is_within_all();
        let all_there =
            may_be_all && open.iter().filter(is_there).count() >= self.limits.in_a_namespace;
        let all = open.len() >= self.limits.of_a_kind && own.filter.is_within_all();
        [
            all.then(|| own.all_everywhere()),
            everywhere.then(|| own.everywhere()),
            all_there.then(|| own.all_there()),
        ]
        .into_iter()
        .flatten()
        .find(|shared| shared != own && !self.is_barred(shared))
    }

    fn is_barred(&self, source: &Source) -> bool {
        let place = (source.kind.clone(), source.namespace.clone());
        let since = self.barred.get(&place);
        since.is_some_and(|since| self.now < *since + BARRED)
    }

    /// Moves the readers of narrower sources over to one that has just become ready. Readers whose answer differs
    /// there are enqueued: one of the two watches was behind.
    fn take_over(&mut self, wide: &Source) {
        let of_kind = self.of_kind.get(&wide.kind).into_iter().flatten();
        let narrower = of_kind.filter(|source| wide.contains(source));
        let narrower: Vec<Source> = narrower.cloned().collect();
        for narrow in narrower {
            let Some(old) = self.close(&narrow) else {
                continue;
            };
            let Some(new) = self.sources.get_mut(wide) else {
                return;
            };
            let ready = old.ready;
            let answers: HashMap<Target, Vec<Arc<O>>> = old.answers();
            for (target, readers) in old.into_targets() {
                new.add(wide, &target, readers.iter().cloned());
                let before = answers.get(&target);
                let is_same = before.is_some_and(|old| same(old, &new.answer(&target)));
                // Before the first list no reader has an answer.
                if ready && !is_same {
                    self.outputs
                        .extend(readers.into_iter().map(Output::Enqueue));
                }
                self.serving.insert(target, wide.clone());
            }
        }
    }

    fn drop_reader(&mut self, target: &Target, reader: &R) {
        let Some(source) = self.serving.get(target).cloned() else {
            return;
        };
        let Some(watched) = self.sources.get_mut(&source) else {
            return;
        };
        if watched.remove(target, reader) {
            self.serving.remove(target);
            self.stop_if_unused(&source);
        }
    }

    fn stop_if_unused(&mut self, source: &Source) {
        if self.sources.get(source).is_some_and(Watched::is_unused) {
            self.close(source);
        }
    }

    fn close(&mut self, source: &Source) -> Option<Watched<R, O>> {
        let watched = self.sources.remove(source)?;
        if let Some(of_kind) = self.of_kind.get_mut(&source.kind) {
            of_kind.remove(source);
            if of_kind.is_empty() {
                self.of_kind.remove(&source.kind);
            }
        }
        self.outputs.push(Output::Stop(source.clone()));
        Some(watched)
    }
}

/// Whether two answers have the same objects in the same versions.
fn same<O: Versioned>(one: &[Arc<O>], other: &[Arc<O>]) -> bool {
    let is_same = |(one, other): (&Arc<O>, &Arc<O>)| {
        one.key() == other.key() && one.version() == other.version()
    };
    one.len() == other.len() && one.iter().zip(other).all(is_same)
}

#[cfg(test)]
#[path = "model.rs"]
mod model;

#[cfg(test)]
#[path = "refusals.rs"]
mod refusals;

#[cfg(test)]
mod counts {
    use super::refusals::{Thing, object};
    use super::{Index, Limits};
    use tokio::time::Instant;

    #[test]
    fn kind_with_narrow_watches_has_no_shared_one() {
        let mut index = Index::<u8, Thing>::new(Limits::default(), Instant::now());
        index.is_narrow = |_| true;
        index.begin(&1);
        for number in 0..50 {
            index.read(&1, &object(&format!("n{number}")));
        }
        assert_eq!(index.sources.len(), 50);
    }

    #[test]
    fn target_with_several_readers_and_sources_is_counted_once() {
        let mut index = Index::<u8, Thing>::new(Limits::default(), Instant::now());
        let names: Vec<String> = (0..20).map(|number| format!("n{number}")).collect();
        for reader in [1, 2] {
            index.begin(&reader);
            for name in &names {
                index.read(&reader, &object(name));
            }
            index.end(&reader);
        }
        assert!(index.sources.len() < names.len(), "one watch serves many");
        assert_eq!(index.targets(), names.len());
        assert!(index.is_read(&object("n0")) && !index.is_read(&object("other")));
        index.unwatch(&1);
        assert_eq!(index.targets(), names.len());
        index.unwatch(&2);
        assert_eq!(index.targets(), 0);
    }
}
