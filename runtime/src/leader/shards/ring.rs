//! Maps keys to shards: consistent hashing, the same in every process and release.

use sha2::{Digest, Sha256};

/// The shard of a key, of `count` shards. When `count` grows by one, one of `count` keys moves, and only to the new shard.
///
/// Jump consistent hash (Lamping and Veach, "A Fast, Minimal Memory, Consistent Hash Algorithm", 2014) of the first 64 bits of
/// the key's SHA-256: names of clusters often differ in a digit only.
pub fn shard_of(key: &str, count: u16) -> u16 {
    let digest = Sha256::digest(key.as_bytes());
    let first = digest.iter().take(8);
    let mut state = first.fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte));
    let (mut shard, mut next) = (0, 0_i64);
    while next < i64::from(count) {
        shard = next;
        state = state
            .wrapping_mul(2_862_933_555_777_941_757)
            .wrapping_add(1);
        // The formula of the paper, (shard + 1) * 2^31 / (random + 1), without floating point.
        let random = i64::try_from(state >> 33).unwrap_or_default();
        next = ((shard + 1) << 31) / (random + 1);
    }
    u16::try_from(shard).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What an implementation of the paper's own formula, in floating point, answers for `cluster-0` to `cluster-11` and seven shards.
    const RECORDED: [u16; 12] = [5, 2, 4, 4, 0, 1, 4, 2, 4, 4, 3, 2];

    fn shards(count: u16) -> Vec<u16> {
        let names = (0..10_000).map(|number| format!("cluster-{number}"));
        names.map(|name| shard_of(&name, count)).collect()
    }

    #[test]
    fn shard_of_key_never_changes() {
        let first: Vec<_> = shards(7).into_iter().take(12).collect();
        assert_eq!(first, RECORDED);
        assert_eq!(shard_of("", 1), 0);
    }

    #[test]
    fn keys_spread_evenly() {
        for count in [2, 3, 8] {
            let mut sizes = vec![0_usize; usize::from(count)];
            for shard in shards(count) {
                sizes[usize::from(shard)] += 1;
            }
            let fair = 10_000 / usize::from(count);
            for size in sizes {
                assert!(size.abs_diff(fair) * 10 < fair, "{size} of {fair}");
            }
        }
    }

    #[test]
    fn new_shard_takes_its_keys_and_no_others_move() {
        let (before, after) = (shards(4), shards(5));
        let moved: Vec<_> = before.iter().zip(&after).filter(|(a, b)| a != b).collect();
        assert!(moved.iter().all(|(_, to)| **to == 4));
        assert!(moved.len().abs_diff(2_000) < 200, "{}", moved.len());
    }
}
