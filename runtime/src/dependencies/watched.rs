//! The objects and readers of one watch, and the readers that a change enqueues.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Bound;
use std::sync::Arc;

use super::cover::{Filter, Source, Target};
use super::selector;
use crate::object::ObjectKey;
use crate::queue::Key;
use reeve_go_compat::labels::Selector;

/// The part of an object that the index reads.
pub(super) trait Versioned {
    /// The name.
    fn key(&self) -> ObjectKey;
    /// Differs whenever the object does.
    fn version(&self) -> (Option<&str>, Option<&str>);
    /// The value of a label.
    fn label(&self, name: &str) -> Option<&str>;
}

/// One watch's objects and readers.
pub(super) struct Watched<R, O> {
    objects: BTreeMap<ObjectKey, Arc<O>>,
    /// The objects of a list in progress.
    listing: Option<HashSet<ObjectKey>>,
    /// Whether the first list is complete. Before that the objects are incomplete.
    pub(super) ready: bool,
    /// Whether it was opened to take the place of several narrower watches.
    pub(super) is_shared: bool,
    targets: HashMap<Target, HashSet<R>>,
    /// The selectors that are applied here, by their namespace. A watch that the API server filters has none.
    selectors: HashMap<String, HashMap<String, Selector>>,
}

impl<R: Key, O: Versioned> Watched<R, O> {
    pub(super) fn new(is_shared: bool) -> Self {
        Self {
            objects: BTreeMap::new(),
            listing: None,
            ready: false,
            is_shared,
            targets: HashMap::new(),
            selectors: HashMap::new(),
        }
    }

    /// The number of kept objects.
    pub(super) fn len(&self) -> usize {
        self.objects.len()
    }

    /// Whether the watch may be closed: it has no readers, and is not about to take over.
    pub(super) fn is_unused(&self) -> bool {
        self.targets.is_empty() && (self.ready || !self.is_shared)
    }

    pub(super) fn into_targets(self) -> HashMap<Target, HashSet<R>> {
        self.targets
    }

    /// Adds readers of a target: changes of its answer enqueue them from here on. `source` is this watch.
    pub(super) fn add(
        &mut self,
        source: &Source,
        target: &Target,
        readers: impl IntoIterator<Item = R>,
    ) {
        if let Some(known) = self.targets.get_mut(target) {
            known.extend(readers);
            return;
        }
        if let Target::Selection {
            namespace,
            selector,
            ..
        } = target
            && source.filter == Filter::All
            && !selector.is_empty()
            && let Some(parsed) = selector::parse(selector)
        {
            let there = self.selectors.entry(namespace.clone()).or_default();
            there.insert(selector.clone(), parsed);
        }
        self.targets
            .insert(target.clone(), readers.into_iter().collect());
    }

    /// Removes a reader of a target; returns whether the target has none any more.
    pub(super) fn remove(&mut self, target: &Target, reader: &R) -> bool {
        let Some(readers) = self.targets.get_mut(target) else {
            return false;
        };
        readers.remove(reader);
        if !readers.is_empty() {
            return false;
        }
        self.targets.remove(target);
        if let Target::Selection {
            namespace,
            selector,
            ..
        } = target
            && let Some(there) = self.selectors.get_mut(namespace)
        {
            there.remove(selector);
            if there.is_empty() {
                self.selectors.remove(namespace);
            }
        }
        true
    }

    /// The objects of a target, sorted by namespace and name.
    pub(super) fn answer(&self, target: &Target) -> Vec<Arc<O>> {
        let (namespace, selector) = match target {
            Target::Object { key, .. } => {
                return self.objects.get(key).cloned().into_iter().collect();
            }
            Target::Named { name, .. } => {
                let named = self.objects.iter().filter(|(key, _)| key.name == *name);
                return named.map(|(_, object)| Arc::clone(object)).collect();
            }
            Target::Selection {
                namespace,
                selector,
                ..
            } => (namespace, selector),
        };
        let filter = self
            .selectors
            .get(namespace)
            .and_then(|there| there.get(selector));
        let fits = |object: &&Arc<O>| filter.is_none_or(|filter| fits(filter, object.as_ref()));
        if namespace.is_empty() {
            return self.objects.values().filter(fits).cloned().collect();
        }
        let first = Bound::Included(ObjectKey::new(namespace.as_str(), ""));
        let there = self.objects.range((first, Bound::Unbounded));
        let there = there.take_while(|(key, _)| key.namespace == *namespace);
        there
            .map(|(_, object)| object)
            .filter(fits)
            .cloned()
            .collect()
    }

    /// The answers to all targets.
    pub(super) fn answers(&self) -> HashMap<Target, Vec<Arc<O>>> {
        let answered = |target: &Target| (target.clone(), self.answer(target));
        self.targets.keys().map(answered).collect()
    }

    /// A list starts, for the first time or after the watch was interrupted.
    pub(super) fn list_begins(&mut self) {
        self.listing = Some(HashSet::new());
    }

    /// An object was delivered; returns the readers to enqueue.
    pub(super) fn apply(&mut self, source: &Source, object: O) -> HashSet<R> {
        let key = object.key();
        if let Some(listing) = &mut self.listing {
            listing.insert(key.clone());
        }
        let old = self.objects.get(&key);
        if old.is_some_and(|old| old.version() == object.version()) {
            return HashSet::new();
        }
        let object = Arc::new(object);
        let old = self.objects.insert(key.clone(), Arc::clone(&object));
        self.concerned(source, &key, [old.as_deref(), Some(&*object)])
    }

    /// An object was deleted; returns the readers to enqueue.
    pub(super) fn delete(&mut self, source: &Source, key: &ObjectKey) -> HashSet<R> {
        if let Some(listing) = &mut self.listing {
            listing.remove(key);
        }
        match self.objects.remove(key) {
            Some(old) => self.concerned(source, key, [Some(&*old), None]),
            None => HashSet::new(),
        }
    }

    /// A list is complete: other objects were deleted. Returns the readers to enqueue.
    pub(super) fn list_ends(&mut self, source: &Source) -> HashSet<R> {
        let seen = self.listing.take().unwrap_or_default();
        let gone = self.objects.keys().filter(|key| !seen.contains(*key));
        let gone: Vec<ObjectKey> = gone.cloned().collect();
        let concerned = gone
            .iter()
            .flat_map(|key| self.delete(source, key))
            .collect();
        self.ready = true;
        concerned
    }

    /// The readers of targets that an object belongs to, or belonged to before it changed.
    fn concerned(&self, source: &Source, key: &ObjectKey, states: [Option<&O>; 2]) -> HashSet<R> {
        if !self.ready {
            // No reader has an answer from this watch yet.
            return HashSet::new();
        }
        let mut readers = HashSet::new();
        let mut add = |target: &Target| {
            if let Some(found) = self.targets.get(target) {
                readers.extend(found.iter().cloned());
            }
        };
        add(&Target::Object {
            kind: source.kind.clone(),
            key: key.clone(),
        });
        if source.namespace.is_empty() {
            add(&Target::Named {
                kind: source.kind.clone(),
                name: key.name.clone(),
            });
        }
        let selection = |namespace: &str, selector: &str| Target::Selection {
            kind: source.kind.clone(),
            namespace: namespace.to_owned(),
            selector: selector.to_owned(),
        };
        let asked = match &source.filter {
            Filter::Labels(selector) => selector.as_str(),
            Filter::Name(_) | Filter::All => "",
        };
        let mut namespaces = vec![key.namespace.as_str(), ""];
        namespaces.dedup();
        for namespace in namespaces {
            add(&selection(namespace, asked));
            for (selector, filter) in self.selectors.get(namespace).into_iter().flatten() {
                if states
                    .into_iter()
                    .flatten()
                    .any(|state| fits(filter, state))
                {
                    add(&selection(namespace, selector));
                }
            }
        }
        readers
    }
}

fn fits<O: Versioned>(filter: &Selector, object: &O) -> bool {
    filter.matches(|name| object.label(name))
}
