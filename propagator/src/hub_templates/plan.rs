//! Chooses the key and the initialization vector that a replica is encrypted with.

use std::sync::Arc;

use reeve_api::Policy;

use super::Rendered;
use super::render::{Cipher, RenderOutcome};
use crate::keys::KeyFacts;
use crate::replica::Digest;

/// The keys and vectors to choose from.
pub(super) struct EncryptionPlan {
    /// The digest of the live replica.
    pub(super) live: Option<Digest>,
    /// The vector that the replica has, or that the user has set on the root policy.
    pub(super) current_vector: Option<Vec<u8>>,
    /// A new random vector.
    pub(super) new_vector: Vec<u8>,
    /// The cluster's keys.
    pub(super) keys: Arc<KeyFacts>,
}

impl EncryptionPlan {
    /// Renders with the current key and vector. If only the key has changed since the replica was written, it renders with the
    /// new vector: with the old one, equal values would begin with equal blocks under two keys.
    pub(super) fn render(self, render: impl Fn(&Cipher) -> (Policy, RenderOutcome)) -> Rendered {
        let keys = &self.keys;
        let finish = |(policy, outcome)| Rendered::of(policy, outcome, Some(keys.digest()));
        let with = |key: &[u8], vector: &[u8]| {
            render(&Cipher {
                key: key.to_vec().into(),
                vector: vector.to_vec(),
            })
        };
        let Some(current_vector) = &self.current_vector else {
            return finish(with(&keys.key, &self.new_vector));
        };
        let result = with(&keys.key, current_vector);
        let is_live = |policy: &Policy| self.live == Some(Digest::of(policy));
        if self.live.is_none() || is_live(&result.0) || keys.previous.is_empty() {
            return finish(result);
        }
        let (with_previous_key, _) = with(&keys.previous, current_vector);
        if is_live(&with_previous_key) {
            return finish(with(&keys.key, &self.new_vector));
        }
        finish(result)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use zeroize::Zeroizing;

    use super::*;

    /// A policy that names the key and vector that it was encrypted with.
    fn rendered(content: &str, cipher: &Cipher) -> Policy {
        let mut policy = Policy::default();
        let text = format!("{content} {:?} {:?}", &*cipher.key, cipher.vector);
        policy.spec.remediation_action = Some(text);
        policy
    }

    /// The key and vector of the result, if the live replica was rendered with the given ones.
    fn used_key_and_vector(live: Option<(&str, u8, u8)>, current_vector: Option<u8>) -> (u8, u8) {
        let cipher = |key: u8, vector: u8| Cipher {
            key: Zeroizing::new(vec![key]),
            vector: vec![vector],
        };
        let live = live.map(|(content, key, vector)| rendered(content, &cipher(key, vector)));
        let plan = EncryptionPlan {
            live: live.as_ref().map(Digest::of),
            current_vector: current_vector.map(|vector| vec![vector]),
            new_vector: vec![99],
            keys: Arc::new(KeyFacts {
                key: Zeroizing::new(vec![2]),
                previous: Zeroizing::new(vec![1]),
                ..KeyFacts::default()
            }),
        };
        let used = RefCell::<Vec<_>>::default();
        let result = plan.render(|cipher| {
            let policy = rendered("new", cipher);
            let pair = (cipher.key[0], cipher.vector[0]);
            used.borrow_mut()
                .push((policy.spec.remediation_action.clone(), pair));
            (policy, RenderOutcome::default())
        });
        let used = used.into_inner();
        let made = used
            .iter()
            .find(|(text, _)| *text == result.policy.spec.remediation_action);
        made.unwrap().1
    }

    #[test]
    fn prop_132_vector_is_replaced_with_the_key_and_kept_on_edits() {
        assert_eq!(used_key_and_vector(None, None), (2, 99), "a new replica");
        assert_eq!(
            used_key_and_vector(None, Some(5)),
            (2, 5),
            "set by the user"
        );
        assert_eq!(
            used_key_and_vector(Some(("new", 2, 5)), Some(5)),
            (2, 5),
            "unchanged"
        );
        assert_eq!(
            used_key_and_vector(Some(("old", 2, 5)), Some(5)),
            (2, 5),
            "edited"
        );
        assert_eq!(
            used_key_and_vector(Some(("new", 1, 5)), Some(5)),
            (2, 99),
            "rotated"
        );
    }
}
