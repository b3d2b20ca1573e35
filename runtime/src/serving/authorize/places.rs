//! Limits the concurrent reviews, in total and per client address.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use parking_lot::Mutex;

/// The places for unknown tokens.
const STRANGERS: usize = 6;
/// The places for one address, so that one Pod cannot take all.
const PER_PEER: usize = 2;
/// The places for tokens that were allowed before, which other tokens cannot take.
const KNOWN: usize = 4;

/// The places for reviews; clones share them.
#[derive(Clone, Default)]
pub(super) struct Places(Arc<Mutex<Taken>>);

#[derive(Default)]
struct Taken {
    strangers: usize,
    known: usize,
    /// Only addresses that hold a place now.
    peers: HashMap<IpAddr, usize>,
}

/// A place, released on drop.
pub(super) struct Place {
    places: Places,
    of: Of,
}

#[derive(Clone, Copy)]
enum Of {
    Known,
    Stranger(IpAddr),
}

impl Places {
    /// A place for a token that was allowed before.
    pub(super) fn known(&self) -> Option<Place> {
        let mut taken = self.0.lock();
        if taken.known >= KNOWN {
            return None;
        }
        taken.known += 1;
        Some(self.place(Of::Known))
    }

    /// A place for an unknown token.
    pub(super) fn stranger(&self, peer: IpAddr) -> Option<Place> {
        let mut taken = self.0.lock();
        if taken.strangers >= STRANGERS || taken.peers.get(&peer) >= Some(&PER_PEER) {
            return None;
        }
        taken.strangers += 1;
        *taken.peers.entry(peer).or_default() += 1;
        Some(self.place(Of::Stranger(peer)))
    }

    fn place(&self, of: Of) -> Place {
        Place {
            places: self.clone(),
            of,
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.places.0.lock();
        match self.of {
            Of::Known => taken.known = taken.known.saturating_sub(1),
            Of::Stranger(peer) => {
                taken.strangers = taken.strangers.saturating_sub(1);
                if let Some(count) = taken.peers.get_mut(&peer) {
                    *count = count.saturating_sub(1);
                    if *count == 0 {
                        taken.peers.remove(&peer);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_address_cannot_take_all_places() {
        let places = Places::default();
        let address = |last| IpAddr::from([10, 0, 0, last]);
        let mut held: Vec<_> = (0..5).map_while(|_| places.stranger(address(1))).collect();
        assert_eq!(held.len(), PER_PEER);
        held.extend((2..20).filter_map(|last| places.stranger(address(last))));
        assert_eq!(held.len(), STRANGERS);
        assert!(places.known().is_some(), "these have places of their own");
        held.clear();
        assert!(places.stranger(address(1)).is_some());
        assert!(places.0.lock().peers.is_empty());
    }
}
