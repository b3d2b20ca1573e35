//! Which reader read what, which watch serves it, and which readers a change enqueues. Pure: inputs in, outputs out.
//!
//! A *target* is what a reader asked for. A *source* is a watch that answers targets. A target has
//! a source of its own until a kind has many of them; then one source is opened that sees more, and
//! takes over from all that it [contains](Source::contains):
//!
//! - the same name or selector in many namespaces: that name or selector in all namespaces;
//! - many names and selectors in one namespace: all objects there;
//! - many sources of a kind in whatever namespaces: all objects of the kind.
//!
//! Reads that such a source will answer wait for its list, so the number of open watches is bounded.
//! If the API server refuses it, they get sources of their own, and it is not tried again for
//! [a while](BARRED). A source that has taken over stays for as long as anybody reads from it.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use kube::core::ApiResource;
use tokio::time::Instant;

use super::SHARED_WATCH_THRESHOLD;
pub use super::cover::{Filter, Lost, Source, Target};
use super::watched::{Versioned, Watched};
use crate::object::ObjectKey;
use crate::queue::Key;

/// How many sources of a kind there may be until one takes over.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// With names or selectors in one namespace.
    pub(super) in_a_namespace: usize,
    /// With the same name or selector in different namespaces.
    pub(super) namespaces: usize,
    /// In all.
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

/// How long a refused shared source is not tried again.
pub(super) const BARRED: Duration = Duration::from_mins(10);

/// What a read finds.
#[derive(Clone, Debug)]
pub(super) enum Answer<O> {
    /// The objects now, sorted by namespace and name.
    Known(Vec<Arc<O>>),
    /// The watch has not listed them yet.
    Pending,
    /// The watch could not be established. The next read tries again.
    Lost(Lost),
}

/// What the outside must do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Output<R> {
    /// Open this watch.
    Start(Source),
    /// Close this watch.
    Stop(Source),
    /// Tell this reader to read again.
    Enqueue(R),
}

/// When a target was last read by a reader.
type Round = u64;

pub(super) struct Index<R, O> {
    limits: Limits,
    /// Whether a refusal enqueues also the readers that wait for it and get it as their answer.
    pub(super) echoes: bool,
    now: Instant,
    sources: HashMap<Source, Watched<R, O>>,
    /// The keys of `sources`.
    of_kind: HashMap<ApiResource, HashSet<Source>>,
    /// The source that answers each target that somebody reads.
    serving: HashMap<Target, Source>,
    readers: HashMap<R, (Round, HashMap<Target, Round>)>,
    lost: HashMap<R, HashMap<Target, Lost>>,
    /// For how long a refusal is the answer to whoever reads the same.
    pub(super) remembers: Duration,
    /// Sources that may not be read, since when, and in which words.
    forbidden: HashMap<Source, (Instant, Lost)>,
    /// Kinds and namespaces of shared sources that were refused, and when.
    barred: HashMap<(ApiResource, String), Instant>,
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
            forbidden: HashMap::new(),
            barred: HashMap::new(),
            outputs: Vec::new(),
        }
    }

    /// It is later now.
    pub(super) fn tick(&mut self, now: Instant) {
        self.now = now;
    }

    /// What is to be done since this was last asked.
    pub(super) fn outputs(&mut self) -> Vec<Output<R>> {
        std::mem::take(&mut self.outputs)
    }

    /// How many objects are kept.
    pub(super) fn objects(&self) -> usize {
        self.sources.values().map(Watched::len).sum()
    }

    /// How many different targets are read.
    pub(super) fn targets(&self) -> usize {
        self.serving.len()
    }

    /// Whether anybody reads a target.
    pub(super) fn is_read(&self, target: &Target) -> bool {
        self.serving.contains_key(target)
    }

    /// A reader starts over.
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

    /// A reader is done; what it did not read is dropped.
    pub(super) fn end(&mut self, reader: &R) {
        // A loss is an answer for the batch that waits for one. Whoever was not waiting has been
        // enqueued and asks the API server anew instead of getting an old refusal.
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

    /// A reader is gone.
    pub(super) fn unwatch(&mut self, reader: &R) {
        self.lost.remove(reader);
        let Some((_, targets)) = self.readers.remove(reader) else {
            return;
        };
        for target in targets.keys() {
            self.drop_reader(target, reader);
        }
    }

    /// A watch begins to list, for the first time or after it was cut off.
    pub(super) fn listing(&mut self, source: &Source) {
        if let Some(watched) = self.sources.get_mut(source) {
            watched.list_begins();
        }
    }

    /// A watch shows an object, in a list or because it changed.
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

    /// A watch's list is complete: what it did not show is gone.
    pub(super) fn listed(&mut self, source: &Source) {
        let Some(watched) = self.sources.get_mut(source) else {
            return;
        };
        let readers = watched.list_ends(source);
        self.enqueue(readers);
        self.take_over(source);
        // Its readers may have gone while it was listing.
        self.stop_if_unused(source);
    }

    /// A watch cannot go on. Its readers are enqueued so that they read again: "could not read" must
    /// reach whoever relied on the answer. A target of its own answers them with the reason; the targets of a
    /// shared watch are tried by themselves first, as more may be allowed to less.
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
        // Nobody has been answered before the first list: all who read from it wait, and read again by themselves.
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

    /// The refusal of a moment ago of what a target would be read from.
    fn remembered_refusal(&self, target: &Target) -> Option<Lost> {
        // An open source answers: more may be allowed to it.
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

    /// The source that answers a target: one that is open already, else a new one.
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

    /// The source to open instead of one more narrow one, if there are many.
    fn shared_instead_of(&self, own: &Source) -> Option<Source> {
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

    /// Moves the readers of narrower sources over to one that has just become ready. Whoever would
    /// see another answer there is enqueued: one of the two watches was behind.
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
                // Before the first list nobody has been answered.
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

/// Whether two answers are of the same objects in the same versions.
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
    fn target_is_counted_once_whoever_reads_it_and_however_it_is_watched() {
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
