//! Writes the status of a policy.

use std::time::Duration;

use kube::api::{Api, Patch, PatchParams};
use kube::core::NamespaceResourceScope;
use kube::{Client, Resource, ResourceExt};
use reeve_runtime::decode::AnyDepth;
use reeve_runtime::object::{ObjectKey, StatusReason};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::error::PolicyError;

/// How often a status write is tried.
const TRIES: u32 = 3;
/// Before the second try; the third waits twice as long.
const PAUSE: Duration = Duration::from_millis(50);

/// Why a status was not written.
pub enum StatusWriteError {
    /// It cannot be expressed in JSON.
    Encode(serde_json::Error),
    /// The API server refused it, or did not answer.
    Request(kube::Error),
}

impl StatusWriteError {
    /// The error with the policy.
    pub fn of<P: Resource>(self, policy: &P) -> PolicyError {
        let policy = ObjectKey::of(policy);
        match self {
            Self::Encode(source) => PolicyError::Encode { policy, source },
            Self::Request(source) => PolicyError::Status { policy, source },
        }
    }
}

/// A kind of policy.
pub trait Policy:
    Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + Serialize + DeserializeOwned
{
}
impl<P> Policy for P where
    P: Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + Clone
        + Serialize
        + DeserializeOwned
{
}

/// Writes the status, and returns the policy as it is then; `None` if it is gone.
pub async fn write_status<P: Policy + std::fmt::Debug>(
    client: &Client,
    policy: &P,
    status: &impl Serialize,
) -> Result<Option<P>, StatusWriteError> {
    let patch = status_patch(policy, status).map_err(StatusWriteError::Encode)?;
    let key = ObjectKey::of(policy);
    let api: Api<AnyDepth<P>> = Api::namespaced(client.clone(), &key.namespace);
    let mut tries = 1;
    loop {
        let params = PatchParams::default();
        let error = match api.patch_status(&key.name, &params, &patch).await {
            Ok(AnyDepth(written)) => return Ok(Some(written)),
            Err(error) => error,
        };
        match StatusReason::of(&error) {
            StatusReason::NotFound => return Ok(None),
            // The test in the patch fails when another one has its name by now.
            StatusReason::Conflict | StatusReason::Invalid if !is_there(&api, policy).await => {
                return Ok(None);
            }
            _ if tries < TRIES => {
                tokio::time::sleep(PAUSE * tries).await;
                tries += 1;
            }
            _ => return Err(StatusWriteError::Request(error)),
        }
    }
}

/// Whether the policy is still the one of its name. When that cannot be read it counts as there:
/// the next try decides.
async fn is_there<P: Policy + std::fmt::Debug>(api: &Api<AnyDepth<P>>, policy: &P) -> bool {
    match api.get_opt(&policy.name_any()).await {
        Ok(found) => found.is_some_and(|found| found.0.meta().uid == policy.meta().uid),
        Err(_) => true,
    }
}

/// The new status, for the policy of this UID only: the API server ignores a UID in a merge patch,
/// so a successor of the same name could be given its predecessor's status.
fn status_patch<P: Policy>(
    policy: &P,
    status: &impl Serialize,
) -> Result<Patch<()>, serde_json::Error> {
    let operations = json!([
        {"op": "test", "path": "/metadata/uid", "value": policy.meta().uid},
        {"op": "add", "path": "/status", "value": status},
    ]);
    Ok(Patch::Json(serde_json::from_value(operations)?))
}

#[cfg(test)]
mod tests {
    use reeve_api::operator_policy::{OperatorPolicy, OperatorPolicySpec};

    use super::*;

    #[test]
    fn status_patch_replaces_the_status_of_one_uid_only() {
        let mut policy = OperatorPolicy::new("p", OperatorPolicySpec::default());
        policy.metadata.uid = Some("child".to_owned());
        let status = json!({"compliant": "Compliant"});
        let Patch::Json(operations) = status_patch(&policy, &status).unwrap() else {
            panic!("only a JSON patch can test");
        };
        assert_eq!(
            serde_json::to_value(&operations).unwrap(),
            json!([
                {"op": "test", "path": "/metadata/uid", "value": "child"},
                {"op": "add", "path": "/status", "value": {"compliant": "Compliant"}},
            ])
        );
    }
}
