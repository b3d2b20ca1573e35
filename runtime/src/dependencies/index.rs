//! Who read what, which watch answers it, and whom a change wakes. Pure: inputs in, outputs out.
//!
//! A *target* is what a reader asked for. A *source* is a watch that answers targets. A single
//! object is answered by a watch of that object alone, until [`MANY`] of them are open for one kind
//! and namespace; then one watch of the whole kind there takes over.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use kube::core::ApiResource;

use crate::object::ObjectKey;
use crate::queue::Key;

/// From this many single-object watches of one kind in one namespace on, one watch serves all.
pub(super) const MANY: usize = 8;

/// What a reader asks for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// One object.
    Object {
        /// Its kind.
        kind: ApiResource,
        /// Its name.
        key: ObjectKey,
    },
    /// All objects of a kind in a namespace that match a selector.
    Selection {
        /// Their kind.
        kind: ApiResource,
        /// Their namespace; empty is everywhere.
        namespace: String,
        /// A label selector; empty is all.
        selector: String,
    },
}

/// One watch.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Source {
    /// What kind is watched.
    pub kind: ApiResource,
    /// In which namespace; empty is everywhere.
    pub namespace: String,
    /// Which objects of it.
    pub filter: Filter,
}

/// Which objects a watch asks the API server for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Filter {
    /// The one of this name.
    Name(String),
    /// Those that match this label selector.
    Labels(String),
    /// All.
    All,
}

/// Why a source cannot answer.
#[derive(Clone, Debug)]
pub enum Lost {
    /// The API server's word, or that it gave none.
    Refused(Arc<kube::Error>),
    /// The watch ended without a reason.
    Ended,
}

/// What a read finds.
#[derive(Clone, Debug)]
pub(super) enum Answer<O> {
    /// The objects now, sorted by name.
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
    Wake(R),
}

/// An object as far as the index looks into it.
pub(super) trait Versioned {
    /// The name.
    fn key(&self) -> ObjectKey;
    /// Differs whenever the object does.
    fn version(&self) -> (Option<&str>, Option<&str>);
}

struct Watched<R, O> {
    objects: BTreeMap<ObjectKey, Arc<O>>,
    /// What a list that is under way has shown so far.
    listing: Option<HashSet<ObjectKey>>,
    /// Whether the first list is complete. Before that the objects mean nothing.
    ready: bool,
    targets: HashMap<Target, HashSet<R>>,
}

impl<R, O> Watched<R, O> {
    fn new() -> Self {
        Self {
            objects: BTreeMap::new(),
            listing: None,
            ready: false,
            targets: HashMap::new(),
        }
    }
}

/// When a target was last read by a reader.
type Round = u64;

pub(super) struct Index<R, O> {
    sources: HashMap<Source, Watched<R, O>>,
    /// The source that answers each target that somebody reads.
    serving: HashMap<Target, Source>,
    readers: HashMap<R, (Round, HashMap<Target, Round>)>,
    lost: HashMap<(R, Target), Lost>,
    outputs: Vec<Output<R>>,
}

impl<R: Key, O: Versioned> Index<R, O> {
    pub(super) fn new() -> Self {
        Self {
            sources: HashMap::new(),
            serving: HashMap::new(),
            readers: HashMap::new(),
            lost: HashMap::new(),
            outputs: Vec::new(),
        }
    }

    /// What is to be done since this was last asked.
    pub(super) fn outputs(&mut self) -> Vec<Output<R>> {
        std::mem::take(&mut self.outputs)
    }

    /// A reader starts over.
    pub(super) fn begin(&mut self, reader: &R) {
        let (round, _) = self.readers.entry(reader.clone()).or_default();
        *round += 1;
    }

    /// A reader reads, and is woken by changes from here on.
    pub(super) fn read(&mut self, reader: &R, target: &Target) -> Answer<O> {
        if let Some(lost) = self.lost.remove(&(reader.clone(), target.clone())) {
            return Answer::Lost(lost);
        }
        let (round, targets) = self.readers.entry(reader.clone()).or_default();
        targets.insert(target.clone(), *round);
        let source = self.source_of(target);
        let Some(watched) = self.sources.get_mut(&source) else {
            return Answer::Pending;
        };
        watched
            .targets
            .entry(target.clone())
            .or_default()
            .insert(reader.clone());
        if !watched.ready {
            return Answer::Pending;
        }
        Answer::Known(answer(watched, target))
    }

    /// A reader is done; what it did not read is dropped.
    pub(super) fn end(&mut self, reader: &R) {
        self.drop_losses(reader);
        let Some((round, targets)) = self.readers.get_mut(reader) else {
            return;
        };
        let round = *round;
        let old: Vec<Target> = targets
            .iter()
            .filter(|(_, read)| **read != round)
            .map(|(t, _)| t.clone())
            .collect();
        for target in old {
            targets.remove(&target);
            drop_reader(&mut self.sources, &mut self.serving, &target, reader);
        }
        self.stop_unused();
    }

    /// A reader is gone.
    pub(super) fn forget(&mut self, reader: &R) {
        self.drop_losses(reader);
        let Some((_, targets)) = self.readers.remove(reader) else {
            return;
        };
        for target in targets.keys() {
            drop_reader(&mut self.sources, &mut self.serving, target, reader);
        }
        self.stop_unused();
    }

    /// A loss is an answer for the batch that waits for one. Whoever was not waiting has been woken
    /// and asks the API server anew instead of being told an old refusal.
    fn drop_losses(&mut self, reader: &R) {
        self.lost.retain(|(loser, _), _| loser != reader);
    }

    /// A watch begins to list, for the first time or after it was cut off.
    pub(super) fn listing(&mut self, source: &Source) {
        if let Some(watched) = self.sources.get_mut(source) {
            watched.listing = Some(HashSet::new());
        }
    }

    /// A watch shows an object, in a list or because it changed.
    pub(super) fn applied(&mut self, source: &Source, object: O) {
        let Some(watched) = self.sources.get_mut(source) else {
            return;
        };
        let key = object.key();
        if let Some(listing) = &mut watched.listing {
            listing.insert(key.clone());
        }
        let same = watched
            .objects
            .get(&key)
            .is_some_and(|old| old.version() == object.version());
        if !same {
            watched.objects.insert(key.clone(), Arc::new(object));
            wake_readers(watched, source, &key, &mut self.outputs);
        }
    }

    /// A watch says that an object is gone.
    pub(super) fn deleted(&mut self, source: &Source, key: &ObjectKey) {
        let Some(watched) = self.sources.get_mut(source) else {
            return;
        };
        if let Some(listing) = &mut watched.listing {
            listing.remove(key);
        }
        if watched.objects.remove(key).is_some() {
            wake_readers(watched, source, key, &mut self.outputs);
        }
    }

    /// A watch's list is complete: what it did not show is gone.
    pub(super) fn listed(&mut self, source: &Source) {
        let Some(watched) = self.sources.get_mut(source) else {
            return;
        };
        let seen = watched.listing.take().unwrap_or_default();
        let gone: Vec<ObjectKey> = watched
            .objects
            .keys()
            .filter(|key| !seen.contains(*key))
            .cloned()
            .collect();
        for key in gone {
            watched.objects.remove(&key);
            wake_readers(watched, source, &key, &mut self.outputs);
        }
        watched.ready = true;
        if source.filter == Filter::All {
            self.take_over(source);
            // Its readers may have gone while it was listing.
            self.stop_unused();
        }
    }

    /// A watch cannot go on. Its readers are told at their next read, and woken so that there is
    /// one: "could not read" must reach whoever relied on the answer.
    pub(super) fn lost(&mut self, source: &Source, reason: &Lost) {
        let Some(watched) = self.sources.remove(source) else {
            return;
        };
        for (target, readers) in watched.targets {
            if self.serving.get(&target) == Some(source) {
                self.serving.remove(&target);
            }
            for reader in readers {
                self.lost
                    .insert((reader.clone(), target.clone()), reason.clone());
                if let Some((_, targets)) = self.readers.get_mut(&reader) {
                    targets.remove(&target);
                }
                self.outputs.push(Output::Wake(reader));
            }
        }
        self.outputs.push(Output::Stop(source.clone()));
    }

    fn source_of(&mut self, target: &Target) -> Source {
        if let Some(source) = self.serving.get(target) {
            return source.clone();
        }
        let source = match target {
            Target::Selection {
                kind,
                namespace,
                selector,
            } => Source {
                kind: kind.clone(),
                namespace: namespace.clone(),
                filter: if selector.is_empty() {
                    Filter::All
                } else {
                    Filter::Labels(selector.clone())
                },
            },
            Target::Object { kind, key } => {
                let all = Source {
                    kind: kind.clone(),
                    namespace: key.namespace.clone(),
                    filter: Filter::All,
                };
                // A shared watch that is still listing would keep this read waiting for nothing.
                if self.sources.get(&all).is_some_and(|watched| watched.ready) {
                    all
                } else {
                    self.open_shared_if_many(&all);
                    Source {
                        filter: Filter::Name(key.name.clone()),
                        ..all
                    }
                }
            }
        };
        self.open(&source);
        self.serving.insert(target.clone(), source.clone());
        source
    }

    fn open(&mut self, source: &Source) {
        if !self.sources.contains_key(source) {
            self.sources.insert(source.clone(), Watched::new());
            self.outputs.push(Output::Start(source.clone()));
        }
    }

    fn open_shared_if_many(&mut self, all: &Source) {
        let singles = self
            .sources
            .keys()
            .filter(|source| is_single_of(source, all))
            .count();
        if singles >= MANY {
            self.open(all);
        }
    }

    /// Moves the readers of single objects over to a watch of the whole kind. Whoever would see
    /// another answer there is woken: one of the two watches was behind.
    fn take_over(&mut self, all: &Source) {
        let singles: Vec<Source> = self
            .sources
            .keys()
            .filter(|source| is_single_of(source, all))
            .cloned()
            .collect();
        for single in singles {
            let Some(old) = self.sources.remove(&single) else {
                continue;
            };
            let Some(new) = self.sources.get_mut(all) else {
                return;
            };
            for (target, readers) in old.targets {
                let Target::Object { key, .. } = &target else {
                    continue;
                };
                let before = old.objects.get(key).map(|object| object.version());
                let after = new.objects.get(key).map(|object| object.version());
                if !old.ready || before != after {
                    self.outputs
                        .extend(readers.iter().cloned().map(Output::Wake));
                }
                new.targets
                    .entry(target.clone())
                    .or_default()
                    .extend(readers);
                self.serving.insert(target, all.clone());
            }
            self.outputs.push(Output::Stop(single));
        }
    }

    fn stop_unused(&mut self) {
        let still_needed = |source: &Source, watched: &Watched<R, O>| {
            // A shared watch that is listing has no readers yet: it is about to get them.
            !watched.targets.is_empty() || (source.filter == Filter::All && !watched.ready)
        };
        let unused: Vec<Source> = self
            .sources
            .iter()
            .filter(|(source, watched)| !still_needed(source, watched))
            .map(|(source, _)| source.clone())
            .collect();
        for source in unused {
            self.sources.remove(&source);
            self.outputs.push(Output::Stop(source));
        }
    }
}

fn is_single_of(source: &Source, all: &Source) -> bool {
    matches!(source.filter, Filter::Name(_))
        && source.namespace == all.namespace
        && source.kind == all.kind
}

fn answer<R, O>(watched: &Watched<R, O>, target: &Target) -> Vec<Arc<O>> {
    match target {
        Target::Object { key, .. } => watched.objects.get(key).cloned().into_iter().collect(),
        Target::Selection { .. } => watched.objects.values().cloned().collect(),
    }
}

fn wake_readers<R: Key, O>(
    watched: &Watched<R, O>,
    source: &Source,
    key: &ObjectKey,
    outputs: &mut Vec<Output<R>>,
) {
    if !watched.ready {
        // Nobody has been answered from this watch.
        return;
    }
    let object = Target::Object {
        kind: source.kind.clone(),
        key: key.clone(),
    };
    let selection = Target::Selection {
        kind: source.kind.clone(),
        namespace: source.namespace.clone(),
        selector: match &source.filter {
            Filter::Labels(selector) => selector.clone(),
            Filter::Name(_) | Filter::All => String::new(),
        },
    };
    for target in [object, selection] {
        if let Some(readers) = watched.targets.get(&target) {
            outputs.extend(readers.iter().cloned().map(Output::Wake));
        }
    }
}

fn drop_reader<R: Key, O>(
    sources: &mut HashMap<Source, Watched<R, O>>,
    serving: &mut HashMap<Target, Source>,
    target: &Target,
    reader: &R,
) {
    let Some(source) = serving.get(target) else {
        return;
    };
    let Some(watched) = sources.get_mut(source) else {
        return;
    };
    let Some(readers) = watched.targets.get_mut(target) else {
        return;
    };
    readers.remove(reader);
    if readers.is_empty() {
        watched.targets.remove(target);
        serving.remove(target);
    }
}

#[cfg(test)]
#[path = "model.rs"]
mod model;
