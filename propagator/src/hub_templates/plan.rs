//! Which key and initialisation vector a replica is encrypted with.

use std::sync::Arc;

use reeve_api::Policy;

use super::Rendered;
use super::render::{Cipher, Outcome};
use crate::keys::KeyFacts;
use crate::replica::Digest;

/// What may be used.
pub(super) struct Plan {
    /// What the replica is now.
    pub(super) live: Option<Digest>,
    /// The vector that it has, or that the user chose for it.
    pub(super) kept: Option<Vec<u8>>,
    /// A new vector.
    pub(super) fresh: Vec<u8>,
    /// The cluster's keys.
    pub(super) keys: Arc<KeyFacts>,
}

impl Plan {
    /// Renders with the key and the vector that there are. If nothing but the key has changed since the replica was
    /// written, a new vector is drawn: equal values must not have equal beginnings under two keys that may be compared.
    pub(super) fn carry_out(self, render: impl Fn(&Cipher) -> (Policy, Outcome)) -> Rendered {
        let keys = &self.keys;
        let finish = |(policy, outcome)| Rendered::of(policy, outcome, Some(keys.digest()));
        let with = |key: &[u8], vector: &[u8]| {
            render(&Cipher {
                key: key.to_vec().into(),
                vector: vector.to_vec(),
            })
        };
        let Some(kept) = &self.kept else {
            return finish(with(&keys.key, &self.fresh));
        };
        let result = with(&keys.key, kept);
        let is_live = |policy: &Policy| self.live == Some(Digest::of(policy));
        if self.live.is_none() || is_live(&result.0) || keys.previous.is_empty() {
            return finish(result);
        }
        let (before, _) = with(&keys.previous, kept);
        if is_live(&before) {
            return finish(with(&keys.key, &self.fresh));
        }
        finish(result)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use zeroize::Zeroizing;

    use super::*;

    /// A policy that says what it was encrypted with.
    fn rendered(content: &str, cipher: &Cipher) -> Policy {
        let mut policy = Policy::default();
        let text = format!("{content} {:?} {:?}", &*cipher.key, cipher.vector);
        policy.spec.remediation_action = Some(text);
        policy
    }

    /// Key and vector of the result, where the live replica was made with these.
    fn chosen(live: Option<(&str, u8, u8)>, kept: Option<u8>) -> (u8, u8) {
        let cipher = |key: u8, vector: u8| Cipher {
            key: Zeroizing::new(vec![key]),
            vector: vec![vector],
        };
        let live = live.map(|(content, key, vector)| rendered(content, &cipher(key, vector)));
        let plan = Plan {
            live: live.as_ref().map(Digest::of),
            kept: kept.map(|vector| vec![vector]),
            fresh: vec![99],
            keys: Arc::new(KeyFacts {
                key: Zeroizing::new(vec![2]),
                previous: Zeroizing::new(vec![1]),
                ..KeyFacts::default()
            }),
        };
        let used = RefCell::<Vec<_>>::default();
        let result = plan.carry_out(|cipher| {
            let policy = rendered("new", cipher);
            let pair = (cipher.key[0], cipher.vector[0]);
            used.borrow_mut()
                .push((policy.spec.remediation_action.clone(), pair));
            (policy, Outcome::default())
        });
        let used = used.into_inner();
        let made = used
            .iter()
            .find(|(text, _)| *text == result.policy.spec.remediation_action);
        made.unwrap().1
    }

    #[test]
    fn rough_edge_34_a_new_key_gets_a_new_vector_and_an_edit_does_not() {
        assert_eq!(chosen(None, None), (2, 99), "a new replica");
        assert_eq!(chosen(None, Some(5)), (2, 5), "the user chose");
        assert_eq!(chosen(Some(("new", 2, 5)), Some(5)), (2, 5), "in order");
        assert_eq!(chosen(Some(("old", 2, 5)), Some(5)), (2, 5), "edited");
        assert_eq!(chosen(Some(("new", 1, 5)), Some(5)), (2, 99), "rotated");
    }
}
