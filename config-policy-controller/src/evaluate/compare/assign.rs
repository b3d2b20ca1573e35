//! Pairing the items of two lists as well as possible.

use std::collections::{HashMap, VecDeque};

use serde_json::Value;

use super::equality::Equality;
use super::sprint::sprint;

/// How many pairs of items one pairing compares before the rest counts as different. It takes two lists of two
/// thousand distinct maps to get there; without a bound, two huge lists could occupy a worker for hours.
const MAX_COMPARED_PAIRS: usize = 4_000_000;

/// Pairs the equal scalars of two lists by their text, `(left, right)` each, in order of the left list.
///
/// For scalars equality is transitive, so no choice made here can spoil a better pairing.
pub(crate) fn equal_scalars(lefts: &[Value], rights: &[Value]) -> Vec<(usize, usize)> {
    pair_by_key(lefts, rights, |item| match item {
        Value::Object(_) | Value::Array(_) => None,
        scalar => Some(sprint(scalar)),
    })
}

/// Pairs the identical items of two lists, for lists too long to compare every pair.
pub(crate) fn identical(lefts: &[Value], rights: &[Value]) -> Vec<(usize, usize)> {
    if lefts.len().saturating_mul(rights.len()) <= MAX_COMPARED_PAIRS {
        return Vec::new();
    }
    pair_by_key(lefts, rights, |item| Some(item.to_string()))
}

fn pair_by_key(
    lefts: &[Value],
    rights: &[Value],
    key: impl Fn(&Value) -> Option<String>,
) -> Vec<(usize, usize)> {
    let mut free: HashMap<String, VecDeque<usize>> = HashMap::new();
    for (right, item) in rights.iter().enumerate() {
        if let Some(key) = key(item) {
            free.entry(key).or_default().push_back(right);
        }
    }
    let mut pairs = Vec::new();
    for (left, item) in lefts.iter().enumerate() {
        let right = key(item).and_then(|key| free.get_mut(&key)?.pop_front());
        pairs.extend(right.map(|right| (left, right)));
    }
    pairs
}

/// A pairing of `lefts` with `rights`, grown one left item at a time by augmenting paths, so that an earlier
/// choice never keeps a later item from its only partner.
pub(crate) struct Pairing<C> {
    rights: usize,
    compare: C,
    /// Results so far: comparing two large items is the expensive part.
    known: HashMap<(usize, usize), Equality>,
    /// For each right item, the left item it belongs to.
    owner: Vec<Option<usize>>,
    /// For each left item, the right item it holds.
    held: Vec<Option<usize>>,
    /// Right items that are no longer to be given away.
    frozen: Vec<bool>,
    lefts: usize,
}

impl<C: FnMut(usize, usize) -> Equality> Pairing<C> {
    pub(crate) fn new(lefts: usize, rights: usize, compare: C) -> Self {
        Self {
            rights,
            compare,
            known: HashMap::new(),
            owner: vec![None; rights],
            held: vec![None; lefts],
            frozen: vec![false; rights],
            lefts,
        }
    }

    /// Makes the given pairs final.
    pub(crate) fn settle(&mut self, pairs: &[(usize, usize)]) {
        for (left, right) in pairs {
            self.give(*right, *left);
        }
        self.freeze();
    }

    /// The best result under which every left item has a partner of its own; `Different` if there is none.
    pub(crate) fn best_perfect(mut self) -> Equality {
        for allowed in [
            Equality::Same,
            Equality::IfDefaulted,
            Equality::IfServerAgrees,
        ] {
            if (0..self.lefts).all(|left| self.is_paired(left) || self.pair(left, allowed)) {
                return allowed;
            }
        }
        Equality::Different
    }

    /// Finds a partner for `left` whose result is `allowed` or better, moving earlier pairs if needed.
    pub(crate) fn pair(&mut self, left: usize, allowed: Equality) -> bool {
        for right in 0..self.rights {
            if self.is_free(right) && self.equality(left, right) <= allowed {
                self.give(right, left);
                return true;
            }
        }
        self.pair_by_moving(left, allowed)
    }

    /// Pairs the two without comparing them.
    pub(crate) fn give(&mut self, right: usize, left: usize) {
        if let (Some(owner), Some(held)) = (self.owner.get_mut(right), self.held.get_mut(left)) {
            *owner = Some(left);
            *held = Some(right);
        }
    }

    /// Undoes every pair that is not final.
    pub(crate) fn release(&mut self) {
        for (owner, frozen) in self.owner.iter_mut().zip(&self.frozen) {
            if let (Some(left), false) = (*owner, *frozen) {
                *owner = None;
                if let Some(held) = self.held.get_mut(left) {
                    *held = None;
                }
            }
        }
    }

    /// Keeps every pair made so far as it is.
    pub(crate) fn freeze(&mut self) {
        for (frozen, owner) in self.frozen.iter_mut().zip(&self.owner) {
            *frozen = owner.is_some();
        }
    }

    pub(crate) fn is_free(&self, right: usize) -> bool {
        self.owner.get(right).is_some_and(Option::is_none)
    }

    pub(crate) fn is_paired(&self, left: usize) -> bool {
        self.held.get(left).is_some_and(Option::is_some)
    }

    /// The right partner of a left item.
    pub(crate) fn partner(&self, left: usize) -> Option<usize> {
        self.held.get(left).copied().flatten()
    }

    pub(crate) fn equality(&mut self, left: usize, right: usize) -> Equality {
        if let Some(known) = self.known.get(&(left, right)) {
            return *known;
        }
        if self.known.len() >= MAX_COMPARED_PAIRS {
            return Equality::Different;
        }
        let equality = (self.compare)(left, right);
        self.known.insert((left, right), equality);
        equality
    }

    /// Searches breadth first for a chain of moves that frees a partner for `start`.
    fn pair_by_moving(&mut self, start: usize, allowed: Equality) -> bool {
        let mut reached_from: Vec<Option<usize>> = vec![None; self.rights];
        let mut waiting = VecDeque::from([start]);
        while let Some(left) = waiting.pop_front() {
            for right in 0..self.rights {
                let seen = reached_from.get(right).is_none_or(Option::is_some);
                let fixed = self.frozen.get(right).copied().unwrap_or(true);
                if seen || fixed || self.equality(left, right) > allowed {
                    continue;
                }
                if let Some(from) = reached_from.get_mut(right) {
                    *from = Some(left);
                }
                let Some(owner) = self.owner.get(right).copied().flatten() else {
                    self.move_along(start, right, &reached_from);
                    return true;
                };
                waiting.push_back(owner);
            }
        }
        false
    }

    /// Gives `right` to the item that reached it, what that item held to the one before, and so on back.
    fn move_along(&mut self, start: usize, right: usize, reached_from: &[Option<usize>]) {
        let mut right = right;
        while let Some(left) = reached_from.get(right).copied().flatten() {
            let held = self.partner(left);
            self.give(right, left);
            match held {
                Some(previous) if left != start => right = previous,
                _ => return,
            }
        }
    }
}
