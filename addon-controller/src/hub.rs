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
const PAUSE: Duration = Duration::from_secs(10);

/// How fresh the answer must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// A recently cached answer is good enough.
    Lightly,
    /// A deletion follows: the hub may have become a managed cluster in the meantime.
    InEarnest,
}

/// The hub's identity, which it claims if it is a managed cluster too. Clones share the cache.
#[derive(Clone)]
pub struct HubIdentity {
    client: Client,
    known: Arc<Mutex<Option<Known>>>,
}

/// The identity, and when it was read.
type Known = (Option<String>, Instant);

impl HubIdentity {
    /// With an empty cache.
    pub fn new(client: Client) -> Self {
        Self {
            client,
            known: Arc::default(),
        }
    }

    /// The identity; `None` if the hub claims none: then it is not a managed cluster.
    pub async fn get(&self, asked: Asked) -> Result<Option<String>, kube::Error> {
        let known = self.known.lock().clone();
        if let Some((id, at)) = known
            && (id.is_some() || (asked == Asked::Lightly && at.elapsed() < PAUSE))
        {
            return Ok(id);
        }
        let claims: Api<ClusterClaim> = Api::all(self.client.clone());
        let claim = not_found_as_none(claims.get(ID_CLAIM).await)?;
        let id = claim.map(|claim| claim.spec.value);
        let id = id.filter(|id| !id.is_empty());
        *self.known.lock() = Some((id.clone(), Instant::now()));
        Ok(id)
    }
}
