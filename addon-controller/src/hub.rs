//! Reads the hub's own identity, to recognize a managed cluster as the hub.

use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use kube::api::Api;
use parking_lot::Mutex;
use reeve_api::ocm::ClusterClaim;
use reeve_runtime::object::not_found_as_none;
use tokio::time::Instant;

use crate::facts::ID_CLAIM;

/// How long an absent identity is cached, unless the caller needs a fresh one.
const CACHE_TTL: Duration = Duration::from_secs(10);

/// How fresh the answer must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freshness {
    /// A recently cached answer is good enough.
    Cached,
    /// A deletion follows: the hub may have become a managed cluster in the meantime.
    Fresh,
}

/// The hub's identity, which it claims if it is a managed cluster too. Clones share the cache.
#[derive(Clone)]
pub struct HubIdentity {
    client: Client,
    cached: Arc<Mutex<Option<CachedIdentity>>>,
}

/// The identity, and when it was read.
type CachedIdentity = (Option<String>, Instant);

impl HubIdentity {
    /// With an empty cache.
    pub fn new(client: Client) -> Self {
        Self {
            client,
            cached: Arc::default(),
        }
    }

    /// The identity; `None` if the hub claims none: then it is not a managed cluster.
    pub async fn get(&self, freshness: Freshness) -> Result<Option<String>, kube::Error> {
        let cached = self.cached.lock().clone();
        if let Some((id, at)) = cached
            && (id.is_some() || (freshness == Freshness::Cached && at.elapsed() < CACHE_TTL))
        {
            return Ok(id);
        }
        let claims: Api<ClusterClaim> = Api::all(self.client.clone());
        let claim = not_found_as_none(claims.get(ID_CLAIM).await)?;
        let id = claim.map(|claim| claim.spec.value);
        let id = id.filter(|id| !id.is_empty());
        *self.cached.lock() = Some((id.clone(), Instant::now()));
        Ok(id)
    }
}
