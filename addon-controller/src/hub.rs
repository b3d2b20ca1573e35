//! Who the hub itself is, so that a managed cluster can be recognized as the hub.

use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use kube::api::Api;
use parking_lot::Mutex;
use reeve_api::ocm::ClusterClaim;
use reeve_runtime::object::not_found_as_none;
use tokio::time::Instant;

use crate::facts::ID_CLAIM;

/// How long a hub that has not said who it is is not asked again, unless it matters.
const PAUSE: Duration = Duration::from_secs(10);

/// How much it matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// What was said a moment ago will do.
    Lightly,
    /// Something is about to be removed: a hub that has become a managed cluster since must be known.
    InEarnest,
}

/// The hub's identity, as it claims it where it is a managed cluster too. Clones share what is known.
#[derive(Clone)]
pub struct HubIdentity {
    client: Client,
    known: Arc<Mutex<Option<Known>>>,
}

/// What the hub has said, and when.
type Known = (Option<String>, Instant);

impl HubIdentity {
    /// Nothing is known yet.
    pub fn new(client: Client) -> Self {
        Self {
            client,
            known: Arc::default(),
        }
    }

    /// The identity; `None` if the hub does not claim one: then it is no managed cluster.
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
