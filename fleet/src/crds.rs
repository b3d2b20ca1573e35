//! The CRDs of a hub and a cluster of a fleet, besides those of policies.

use serde_json::Value;

use crate::placement::crds::CrdError;

/// The kinds that policies, their samples and their add-ons name on a hub.
const HUB: [&str; 5] = [
    include_str!("../../deploy/hub/crds/apps.open-cluster-management.io_placementrules.yaml"),
    include_str!("../crds/addondeploymentconfigs.yaml"),
    include_str!("../crds/ansiblejobs.yaml"),
    include_str!("../crds/clustermanagementaddons.yaml"),
    include_str!("../crds/managedclusteraddons.yaml"),
];
/// The kinds that templates read on a managed cluster.
const CLUSTER: [&str; 1] = [include_str!("../crds/clusterclaims.yaml")];

/// The CRDs of a hub, without placement's.
pub(crate) fn of_hub() -> Result<Vec<Value>, CrdError> {
    read(&HUB)
}

/// The CRDs of a managed cluster.
pub(crate) fn of_cluster() -> Result<Vec<Value>, CrdError> {
    read(&CLUSTER)
}

fn read(files: &[&str]) -> Result<Vec<Value>, CrdError> {
    let crds = files.iter().map(|text| Ok(serde_saphyr::from_str(text)?));
    crds.collect()
}
