//! Numbers that look random, the same in every run.

use std::collections::BTreeSet;

/// A source of them.
pub struct Random(u64);

impl Random {
    /// The numbers that come from this one.
    pub fn of(seed: u64) -> Self {
        Self(seed)
    }

    /// A number below `end`, which is not zero.
    pub fn below(&mut self, end: usize) -> usize {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let number = usize::try_from((bits ^ (bits >> 31)) >> 33).unwrap_or_default();
        number % end
    }

    /// About half of these.
    pub fn some<T: Copy + Ord>(&mut self, of: &[T]) -> BTreeSet<T> {
        of.iter().copied().filter(|_| self.below(2) == 0).collect()
    }

    /// One of these.
    pub fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }
}
