//! Service accounts in whose name hub templates read: a token, a client and watches for each, for as long as some
//! replica needs them. Tokens live in memory only.

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
use tokio::sync::{Notify, OnceCell};
use tokio::task::AbortHandle;

use crate::messages;

/// When tokens are asked for and renewed.
#[derive(Clone, Copy, Debug)]
pub struct Schedule {
    /// How long a token is asked to live, in seconds.
    pub lives: i64,
    /// How long before its end at the latest it is renewed.
    pub margin: Duration,
    /// How much earlier at most, at random, so that not all are renewed at once.
    pub spread: Duration,
    /// How often at most one that the API server does not take is replaced.
    pub spacing: Duration,
}

impl Default for Schedule {
    fn default() -> Self {
        Self {
            lives: 7200,
            margin: Duration::from_mins(5),
            spread: Duration::from_mins(5),
            spacing: Duration::from_secs(10),
        }
    }
}

/// Why nothing can be read in the name of a service account.
#[derive(Debug, thiserror::Error)]
pub enum AccountError {
    /// There is no such account.
    #[error("{}", messages::account_missing(.0))]
    Missing(ObjectKey),
    /// There is, but no token or no connection.
    #[error("{}", messages::account_unusable(.account, .reason))]
    Unusable {
        /// The account.
        account: ObjectKey,
        /// The reason, as the message shows it.
        reason: String,
    },
}

/// A service account that can be read with.
pub struct Account {
    /// What is read in its name.
    pub watches: DependencyWatches<ObjectKey>,
    refused: Arc<Notify>,
    renewal: AbortHandle,
}

impl Account {
    /// The API server does not take the token: the account was made anew, or the key that signs tokens was changed.
    /// Another token is asked for soon.
    pub fn refused(&self) {
        self.refused.notify_one();
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        self.renewal.abort();
    }
}

/// All of them; clones share them.
#[derive(Clone)]
pub struct Accounts(Arc<Inner>);

struct Inner {
    client: Client,
    options: ClientOptions,
    schedule: Schedule,
    wake: Arc<dyn Fn(&ObjectKey) + Send + Sync>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    accounts: HashMap<ObjectKey, Arc<OnceCell<Arc<Account>>>>,
    /// The replicas that each account serves.
    users: HashMap<ObjectKey, HashSet<ObjectKey>>,
    /// The account that serves each replica.
    used_by: HashMap<ObjectKey, ObjectKey>,
    /// Accounts that could not be used, when and why: many replicas may ask for the same one.
    failed: HashMap<ObjectKey, (Instant, String)>,
}

impl State {
    /// Why an account could not be used a moment ago.
    fn failed_lately(&mut self, account: &ObjectKey, lately: Duration) -> Option<String> {
        self.failed.retain(|_, (at, _)| at.elapsed() < lately);
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
    /// None yet. Tokens are asked for with `client`; `wake` is called for each replica whose account failed.
    pub fn new(
        client: Client,
        options: ClientOptions,
        schedule: Schedule,
        wake: impl Fn(&ObjectKey) + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(Inner {
            client,
            options,
            schedule,
            wake: Arc::new(wake),
            state: Mutex::default(),
        }))
    }

    /// The account, for a replica; one that served it before is released.
    pub async fn acquire(
        &self,
        account: &ObjectKey,
        replica: &ObjectKey,
    ) -> Result<Arc<Account>, AccountError> {
        let (cell, released) = {
            self.0.failed_lately(account)?;
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
        // Not under the lock: dropping an account stops its watches.
        drop(released);
        let found = cell.get_or_try_init(|| async {
            // Whoever waited for another's try that failed has its answer.
            self.0.failed_lately(account)?;
            let connected = self.connect(account).await;
            if let Err(AccountError::Unusable { reason, .. }) = &connected {
                let failure = (Instant::now(), reason.clone());
                self.0.state.lock().failed.insert(account.clone(), failure);
            }
            connected
        });
        found.await.cloned()
    }

    /// A replica needs no account any more.
    pub fn release(&self, replica: &ObjectKey) {
        let released = self.0.state.lock().release(replica);
        drop(released);
    }

    /// How many objects and selections are watched in the name of all accounts.
    pub fn targets(&self) -> usize {
        let state = self.0.state.lock();
        let accounts = state.accounts.values().filter_map(|cell| cell.get());
        accounts.map(|account| account.watches.targets()).sum()
    }

    /// Removes from `objects` those of this kind that are watched in the name of any account.
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
        let wake = Arc::clone(&self.0.wake);
        let watches = DependencyWatches::new(client, move |replica| wake(replica))
            .without_refusal_wakeups()
            .with_refusal_ttl(self.0.schedule.spacing);
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
    /// An error if the account could not be used a moment ago: what refuses it would only say so again.
    fn failed_lately(&self, account: &ObjectKey) -> Result<(), AccountError> {
        let lately = self.schedule.spacing;
        match self.state.lock().failed_lately(account, lately) {
            None => Ok(()),
            Some(reason) => Err(AccountError::Unusable {
                account: account.clone(),
                reason,
            }),
        }
    }

    /// A token, and when it ends.
    async fn request(&self, account: &ObjectKey) -> Result<(String, Timestamp), AccountError> {
        let accounts: Api<ServiceAccount> =
            Api::namespaced(self.client.clone(), &account.namespace);
        let request = TokenRequest {
            spec: Some(TokenRequestSpec {
                expiration_seconds: Some(self.schedule.lives),
                ..TokenRequestSpec::default()
            }),
            ..TokenRequest::default()
        };
        let unusable = |reason: String| AccountError::Unusable {
            account: account.clone(),
            reason,
        };
        let answer = accounts
            .create_token_request(&account.name, &PostParams::default(), &request)
            .await
            .map_err(|error| match StatusReason::of(&error) {
                StatusReason::NotFound => AccountError::Missing(account.clone()),
                _ => unusable(status_message(&error)),
            })?;
        let told = answer.status.and_then(|status| {
            let expires = status.expiration_timestamp?.0;
            Some((status.token?, expires))
        });
        told.ok_or_else(|| unusable(messages::NO_TOKEN.to_owned()))
    }

    /// An account whose token cannot be renewed is no longer used; what needs it asks for it anew, and says why it
    /// cannot be had.
    fn fail(&self, account: &ObjectKey) {
        let (cell, users) = {
            let mut state = self.state.lock();
            let users = state.users.get(account).cloned().unwrap_or_default();
            (state.accounts.remove(account), users)
        };
        for replica in users {
            (self.wake)(&replica);
        }
        drop(cell);
    }
}

/// Keeps a token good.
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
                tokio::time::sleep(schedule.spacing).await;
                self.refused.notified().await;
            };
            tokio::select! {
                () = tokio::time::sleep(wait(&schedule, expires, Timestamp::now())) => {}
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

/// How long a token can be used before it has to be renewed.
fn wait(schedule: &Schedule, expires: Timestamp, now: Timestamp) -> Duration {
    let left = Duration::try_from(expires.duration_since(now)).unwrap_or_default();
    let early = schedule.spread.mul_f64(rand::rng().random_range(0.0..=1.0));
    let wait = left.saturating_sub(schedule.margin + early);
    // A token that ends at once must not be asked for all the time.
    wait.max(Duration::from_secs(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_renewed_between_ten_and_five_minutes_before_its_end() {
        let now: Timestamp = "2026-11-21T10:00:00Z".parse().unwrap();
        let expires: Timestamp = "2026-11-21T12:00:00Z".parse().unwrap();
        for _ in 0..100 {
            let wait = wait(&Schedule::default(), expires, now);
            assert!(wait >= Duration::from_mins(110), "{wait:?}");
            assert!(wait <= Duration::from_mins(115), "{wait:?}");
        }
        let over = wait(&Schedule::default(), now, expires);
        assert_eq!(over, Duration::from_secs(1));
    }
}
