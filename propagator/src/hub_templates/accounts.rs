//! The service accounts that hub templates read with: a token, a client and watches for each, while a replica uses it. Tokens
//! are never written anywhere.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::Client;
use kube::api::{Api, PostParams};
use kube::core::ApiResource;
use parking_lot::Mutex;
use rand::Rng;
use reeve_runtime::client::{self, ClientError, ClientOptions, Token};
use reeve_runtime::dependencies::DependencyWatches;
use reeve_runtime::object::{ObjectKey, StatusReason, error_chain, status_message};
use reeve_runtime::path::segment;
use tokio::sync::{Notify, OnceCell};
use tokio::task::AbortHandle;

use crate::messages;

/// When tokens are requested and renewed.
#[derive(Clone, Copy, Debug)]
pub struct TokenSchedule {
    /// The requested lifetime of a token, in seconds.
    pub lifetime_seconds: i64,
    /// A token is renewed at least this long before it expires.
    pub renew_before_expiry: Duration,
    /// The renewal is earlier by a random time up to this one, so that not all tokens are renewed at once.
    pub renewal_jitter: Duration,
    /// The shortest time between two requests for a token that the API server rejects.
    pub retry_interval: Duration,
}

impl Default for TokenSchedule {
    fn default() -> Self {
        Self {
            lifetime_seconds: 7200,
            renew_before_expiry: Duration::from_mins(5),
            renewal_jitter: Duration::from_mins(5),
            retry_interval: Duration::from_secs(10),
        }
    }
}

/// Why templates cannot read with a service account.
#[derive(Debug, thiserror::Error)]
pub enum AccountError {
    /// There is no such account.
    #[error("{}", messages::account_missing(.0))]
    Missing(ObjectKey),
    /// The account exists, but there is no token or no connection.
    #[error("{}", messages::account_unusable(.account, .reason))]
    Unusable {
        /// The account.
        account: ObjectKey,
        /// The reason, as the message shows it.
        reason: String,
    },
}

/// A service account with a token.
pub struct Account {
    /// The watches that use its token.
    pub watches: DependencyWatches<ObjectKey>,
    refused: Arc<Notify>,
    renewal: AbortHandle,
}

impl Account {
    /// Requests another token soon, because the API server rejected this one: the account was re-created, or the key that signs
    /// tokens was changed.
    pub fn refused(&self) {
        self.refused.notify_one();
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        self.renewal.abort();
    }
}

/// The service accounts in use; clones share them.
#[derive(Clone)]
pub struct Accounts(Arc<Inner>);

struct Inner {
    client: Client,
    options: ClientOptions,
    schedule: TokenSchedule,
    enqueue: Arc<dyn Fn(&ObjectKey) + Send + Sync>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    accounts: HashMap<ObjectKey, Arc<OnceCell<Arc<Account>>>>,
    /// The replicas that each account serves.
    users: HashMap<ObjectKey, HashSet<ObjectKey>>,
    /// The account that serves each replica.
    used_by: HashMap<ObjectKey, ObjectKey>,
    /// Accounts that could not be used, with time and reason: many replicas may acquire the same account.
    failed: HashMap<ObjectKey, (Instant, String)>,
}

impl State {
    /// The reason why an account could not be used within `window`.
    fn recent_failure(&mut self, account: &ObjectKey, window: Duration) -> Option<String> {
        self.failed.retain(|_, (at, _)| at.elapsed() < window);
        self.failed.get(account).map(|(_, reason)| reason.clone())
    }

    fn release(&mut self, replica: &ObjectKey) -> Option<Arc<OnceCell<Arc<Account>>>> {
        let account = self.used_by.remove(replica)?;
        let users = self.users.get_mut(&account)?;
        users.remove(replica);
        let cell = self.accounts.get(&account);
        if let Some(account) = cell.and_then(|cell| cell.get()) {
            account.watches.unwatch(replica);
        }
        if !users.is_empty() {
            return None;
        }
        self.users.remove(&account);
        self.accounts.remove(&account)
    }
}

impl Accounts {
    /// No accounts yet. `client` requests the tokens; `enqueue` is called for each replica whose account failed.
    pub fn new(
        client: Client,
        options: ClientOptions,
        schedule: TokenSchedule,
        enqueue: impl Fn(&ObjectKey) + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(Inner {
            client,
            options,
            schedule,
            enqueue: Arc::new(enqueue),
            state: Mutex::default(),
        }))
    }

    /// Acquires an account for a replica, and releases the account that the replica used before.
    pub async fn acquire(
        &self,
        account: &ObjectKey,
        replica: &ObjectKey,
    ) -> Result<Arc<Account>, AccountError> {
        let (cell, released) = {
            self.0.recent_failure(account)?;
            let mut state = self.0.state.lock();
            let changed = state
                .used_by
                .get(replica)
                .is_some_and(|used| used != account);
            let released = changed.then(|| state.release(replica)).flatten();
            state.used_by.insert(replica.clone(), account.clone());
            let users = state.users.entry(account.clone()).or_default();
            users.insert(replica.clone());
            let cell = state.accounts.entry(account.clone()).or_default();
            (Arc::clone(cell), released)
        };
        // Outside of the lock, because dropping an account stops its watches.
        drop(released);
        let found = cell.get_or_try_init(|| async {
            // A caller that waited for the failed attempt of another one gets the same error.
            self.0.recent_failure(account)?;
            let connected = self.connect(account).await;
            if let Err(AccountError::Unusable { reason, .. }) = &connected {
                let failure = (Instant::now(), reason.clone());
                self.0.state.lock().failed.insert(account.clone(), failure);
            }
            connected
        });
        found.await.cloned()
    }

    /// Releases the account of a replica.
    pub fn release(&self, replica: &ObjectKey) {
        let released = self.0.state.lock().release(replica);
        drop(released);
    }

    /// The number of objects and selections that all accounts watch.
    pub fn targets(&self) -> usize {
        let state = self.0.state.lock();
        let accounts = state.accounts.values().filter_map(|cell| cell.get());
        accounts.map(|account| account.watches.targets()).sum()
    }

    /// Removes the objects of this kind that any account watches from `objects`.
    pub fn retain_unwatched(&self, kind: &ApiResource, objects: &mut Vec<ObjectKey>) {
        let state = self.0.state.lock();
        for account in state.accounts.values().filter_map(|cell| cell.get()) {
            account.watches.retain_unwatched(kind, objects);
        }
    }

    async fn connect(&self, account: &ObjectKey) -> Result<Arc<Account>, AccountError> {
        let (secret, expires) = self.0.request(account).await?;
        let token = Token::new(secret);
        let connected = client::connect_as(&self.0.options, &token).await;
        let client = connected.map_err(|error: ClientError| AccountError::Unusable {
            account: account.clone(),
            reason: error_chain(&error),
        })?;
        let enqueue = Arc::clone(&self.0.enqueue);
        let watches = DependencyWatches::new(client, move |replica| enqueue(replica))
            .without_refusal_wakeups()
            .with_refusal_ttl(self.0.schedule.retry_interval);
        let refused = Arc::new(Notify::new());
        let renewal = Renewal {
            inner: Arc::downgrade(&self.0),
            account: account.clone(),
            token,
            refused: Arc::clone(&refused),
        };
        let renewal = renewal.run(expires);
        Ok(Arc::new(Account {
            watches,
            refused,
            renewal: tokio::spawn(renewal).abort_handle(),
        }))
    }
}

impl Inner {
    /// An error if the account could not be used a moment ago: another request would fail the same way.
    fn recent_failure(&self, account: &ObjectKey) -> Result<(), AccountError> {
        let window = self.schedule.retry_interval;
        match self.state.lock().recent_failure(account, window) {
            None => Ok(()),
            Some(reason) => Err(AccountError::Unusable {
                account: account.clone(),
                reason,
            }),
        }
    }

    /// Requests a token; returns it with its expiration time.
    async fn request(&self, account: &ObjectKey) -> Result<(String, Timestamp), AccountError> {
        let accounts: Api<ServiceAccount> =
            Api::namespaced(self.client.clone(), &account.namespace);
        let request = TokenRequest {
            spec: Some(TokenRequestSpec {
                expiration_seconds: Some(self.schedule.lifetime_seconds),
                ..TokenRequestSpec::default()
            }),
            ..TokenRequest::default()
        };
        let unusable = |reason: String| AccountError::Unusable {
            account: account.clone(),
            reason,
        };
        let answer = accounts
            .create_token_request(&segment(&account.name), &PostParams::default(), &request)
            .await
            .map_err(|error| match StatusReason::of(&error) {
                StatusReason::NotFound => AccountError::Missing(account.clone()),
                _ => unusable(status_message(&error)),
            })?;
        let token_and_expiry = answer.status.and_then(|status| {
            let expires = status.expiration_timestamp?.0;
            Some((status.token?, expires))
        });
        token_and_expiry.ok_or_else(|| unusable(messages::NO_TOKEN.to_owned()))
    }

    /// Drops an account whose token cannot be renewed. Its replicas are enqueued: they acquire it again, and report the error.
    fn fail(&self, account: &ObjectKey) {
        let (cell, users) = {
            let mut state = self.state.lock();
            let users = state.users.get(account).cloned().unwrap_or_default();
            (state.accounts.remove(account), users)
        };
        for replica in users {
            (self.enqueue)(&replica);
        }
        drop(cell);
    }
}

/// Renews the token of an account.
struct Renewal {
    inner: Weak<Inner>,
    account: ObjectKey,
    token: Token,
    refused: Arc<Notify>,
}

impl Renewal {
    async fn run(self, mut expires: Timestamp) {
        loop {
            let Some(schedule) = self.inner.upgrade().map(|inner| inner.schedule) else {
                return;
            };
            let refused = async {
                tokio::time::sleep(schedule.retry_interval).await;
                self.refused.notified().await;
            };
            tokio::select! {
                () = tokio::time::sleep(renewal_delay(&schedule, expires, Timestamp::now())) => {}
                () = refused => {}
            }
            let Some(inner) = self.inner.upgrade() else {
                return;
            };
            match inner.request(&self.account).await {
                Ok((secret, until)) => {
                    self.token.set(secret);
                    expires = until;
                }
                Err(error) => {
                    let account = &self.account;
                    tracing::warn!(%account, %error, "cannot renew the token of a service account");
                    inner.fail(account);
                    return;
                }
            }
        }
    }
}

/// How long to wait before the token is renewed.
fn renewal_delay(schedule: &TokenSchedule, expires: Timestamp, now: Timestamp) -> Duration {
    let left = Duration::try_from(expires.duration_since(now)).unwrap_or_default();
    let early = schedule
        .renewal_jitter
        .mul_f64(rand::rng().random_range(0.0..=1.0));
    let renewal_delay = left.saturating_sub(schedule.renew_before_expiry + early);
    // Tokens that expire at once must not be requested in a busy loop.
    renewal_delay.max(Duration::from_secs(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_is_renewed_five_to_ten_minutes_before_it_expires() {
        let now: Timestamp = "2026-11-21T10:00:00Z".parse().unwrap();
        let expires: Timestamp = "2026-11-21T12:00:00Z".parse().unwrap();
        for _ in 0..100 {
            let renewal_delay = renewal_delay(&TokenSchedule::default(), expires, now);
            assert!(
                renewal_delay >= Duration::from_mins(110),
                "{renewal_delay:?}"
            );
            assert!(
                renewal_delay <= Duration::from_mins(115),
                "{renewal_delay:?}"
            );
        }
        let over = renewal_delay(&TokenSchedule::default(), now, expires);
        assert_eq!(over, Duration::from_secs(1));
    }
}
