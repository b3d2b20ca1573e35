//! The CRDs of the kinds that placement reads and writes.

use serde_json::Value;

const FILES: [&str; 6] = [
    include_str!("../../crds/managedclusters.yaml"),
    include_str!("../../crds/managedclustersets.yaml"),
    include_str!("../../crds/managedclustersetbindings.yaml"),
    include_str!("../../crds/placements.yaml"),
    include_str!("../../crds/placementdecisions.yaml"),
    include_str!("../../crds/addonplacementscores.yaml"),
];

/// A CRD that is part of the program cannot be parsed.
#[derive(Debug, thiserror::Error)]
#[error("cannot read a CRD that is built in: {0}")]
pub struct CrdError(#[from] serde_saphyr::Error);

/// The CRDs of `cluster.open-cluster-management.io`, one object each.
pub fn crds() -> Result<Vec<Value>, CrdError> {
    FILES
        .iter()
        .map(|text| Ok(serde_saphyr::from_str(text)?))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_crd_parses_and_is_named_after_its_kind() {
        let crds = crds().unwrap();
        assert_eq!(crds.len(), 6);
        for crd in crds {
            let group = crd["spec"]["group"].as_str().unwrap();
            let plural = crd["spec"]["names"]["plural"].as_str().unwrap();
            assert_eq!(crd["metadata"]["name"], format!("{plural}.{group}"));
            assert!(crd["spec"]["versions"][0]["subresources"]["status"].is_object());
        }
    }
}
