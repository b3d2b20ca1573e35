//! The certificate requests of add-on agents.

use k8s_openapi::api::certificates::v1::CertificateSigningRequest;
use kube::ResourceExt;

use crate::addon::{ADDON_NAME_LABEL, Addon, CLUSTER_NAME_LABEL, Installation};

/// Whether a certificate request is neither approved nor denied.
pub fn is_pending(request: &CertificateSigningRequest) -> bool {
    let conditions = request.status.as_ref().and_then(|s| s.conditions.as_ref());
    let decided = |kind: &str| kind == "Approved" || kind == "Denied";
    !conditions
        .into_iter()
        .flatten()
        .any(|condition| decided(&condition.type_))
}

/// The installation that a request names; `None` for a request of another add-on.
pub fn claimed_installation(request: &CertificateSigningRequest) -> Option<Installation> {
    let label = |key: &str| request.labels().get(key);
    let addon = Addon::of(label(ADDON_NAME_LABEL)?)?;
    let cluster = label(CLUSTER_NAME_LABEL)?;
    request
        .name_any()
        .starts_with("addon")
        .then(|| Installation::new(cluster, addon))
}
