//! The kinds whose schemas are known.

use std::sync::LazyLock;

use reeve_apiserver::{Kinds, schema};
use serde_json::Value;

/// The kinds of Kubernetes, of policies and of placements.
static KNOWN: LazyLock<Kinds> = LazyLock::new(|| {
    let mut kinds = Kinds::builtin();
    let policies = reeve_api::crds::all().unwrap_or_default().into_iter();
    let placements = reeve_fleet::placement::crds::crds().unwrap_or_default();
    for crd in policies.map(|(_, crd)| crd).chain(placements) {
        if let Ok(more) = kinds.with_crd(&crd) {
            kinds = more;
        }
    }
    kinds
});

/// The kinds of Kubernetes, of policies and of placements, and those of more CRDs. What is wrong with a CRD is returned with its
/// index.
pub(crate) fn with(crds: &[&Value]) -> (Kinds, Vec<(usize, String)>) {
    let mut kinds = KNOWN.clone();
    let mut broken = Vec::new();
    for (index, crd) in crds.iter().enumerate() {
        let errors = schema::check_crd(crd);
        if !errors.is_empty() {
            let errors = errors.into_iter();
            broken.extend(
                errors.map(|error| (index, format!("{}: {}.", error.field, error.message))),
            );
            continue;
        }
        match kinds.with_crd(crd) {
            Ok(more) => kinds = more,
            Err(error) => broken.push((index, error.to_string())),
        }
    }
    (kinds, broken)
}
