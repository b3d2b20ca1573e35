//! Caches the reviews of tokens by digest: no token is kept.

use std::collections::HashMap;
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::{BoxFuture, Shared};
use sha2::{Digest as _, Sha256};
use tokio::time::Instant;

use super::review::TokenVerdict;

/// How long a review is valid.
const FRESH: Duration = Duration::from_secs(10);
/// How many reviews are cached.
const ANSWERS: usize = 1_024;
/// How long an allowed token keeps its reserved places, and how many such tokens are kept.
const REMEMBERED: Duration = Duration::from_hours(1);
const REMEMBERED_TOKENS: usize = 64;

/// A digest with a random key of this process: without the key it reveals nothing of the token.
pub(super) type TokenDigest = [u8; 32];

/// A review with several waiting requests.
pub(super) type Answer = Shared<BoxFuture<'static, TokenVerdict>>;

/// The digest of a token.
pub(super) fn digest(key: &[u8; 32], token: &str) -> TokenDigest {
    let mut hash = Sha256::new();
    hash.update(key);
    hash.update(token.as_bytes());
    hash.finalize().into()
}

/// The cached reviews, and the tokens that were allowed.
#[derive(Default)]
pub(super) struct Cache {
    answers: HashMap<TokenDigest, Entry>,
    allowed: HashMap<TokenDigest, Instant>,
}

struct Entry {
    answer: Answer,
    since: Instant,
}

impl Entry {
    /// A review in progress is fresh; a failed one is not.
    fn is_fresh(&self, now: Instant) -> bool {
        match self.answer.peek() {
            None => true,
            Some(TokenVerdict::Failed) => false,
            Some(_) => now < self.since + FRESH,
        }
    }
}

impl Cache {
    /// The review of a token, if it is cached or in progress.
    pub(super) fn answer(&self, token: &TokenDigest, now: Instant) -> Option<Answer> {
        let entry = self.answers.get(token)?;
        entry.is_fresh(now).then(|| entry.answer.clone())
    }

    /// Whether a token was allowed recently.
    pub(super) fn was_allowed(&self, token: &TokenDigest, now: Instant) -> bool {
        let at = self.allowed.get(token);
        at.is_some_and(|at| now < *at + REMEMBERED)
    }

    /// Adds a review in progress.
    pub(super) fn begin(
        &mut self,
        token: TokenDigest,
        review: BoxFuture<'static, TokenVerdict>,
        now: Instant,
    ) -> Answer {
        if self.answers.len() >= ANSWERS {
            self.answers.retain(|_, entry| entry.is_fresh(now));
        }
        if self.answers.len() >= ANSWERS {
            let oldest = self.answers.iter().min_by_key(|(_, entry)| entry.since);
            if let Some(oldest) = oldest.map(|(token, _)| *token) {
                self.answers.remove(&oldest);
            }
        }
        let answer = review.shared();
        let entry = Entry {
            answer: answer.clone(),
            since: now,
        };
        self.answers.insert(token, entry);
        answer
    }

    /// Records the result of a review.
    pub(super) fn ended(&mut self, token: TokenDigest, verdict: TokenVerdict, now: Instant) {
        match verdict {
            TokenVerdict::Allowed => {
                if self.allowed.len() >= REMEMBERED_TOKENS && !self.allowed.contains_key(&token) {
                    let oldest = self.allowed.iter().min_by_key(|(_, at)| **at);
                    if let Some(oldest) = oldest.map(|(token, _)| *token) {
                        self.allowed.remove(&oldest);
                    }
                }
                self.allowed.insert(token, now);
            }
            TokenVerdict::Denied | TokenVerdict::Unknown => {
                self.allowed.remove(&token);
            }
            TokenVerdict::Failed => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(number: u32) -> TokenDigest {
        digest(&[7; 32], &number.to_string())
    }

    fn ready(verdict: TokenVerdict) -> BoxFuture<'static, TokenVerdict> {
        Box::pin(std::future::ready(verdict))
    }

    #[tokio::test(start_paused = true)]
    async fn cache_is_bounded_and_drops_oldest_answers() {
        let (mut cache, now) = (Cache::default(), Instant::now());
        for number in 0..5_000 {
            let at = now + Duration::from_millis(u64::from(number));
            let verdict = cache.begin(named(number), ready(TokenVerdict::Allowed), at);
            cache.ended(named(number), verdict.await, at);
        }
        assert!(cache.answers.len() <= ANSWERS);
        assert!(cache.allowed.len() <= REMEMBERED_TOKENS);
        let at = now + Duration::from_secs(5);
        assert!(cache.answer(&named(4_999), at).is_some());
        assert!(cache.answer(&named(0), at).is_none());
        assert!(cache.was_allowed(&named(4_999), at) && !cache.was_allowed(&named(0), at));
    }

    #[test]
    fn digests_differ_by_token_and_by_process() {
        assert_ne!(digest(&[1; 32], "token"), digest(&[2; 32], "token"));
        assert_ne!(digest(&[1; 32], "token"), digest(&[1; 32], "other"));
    }
}
