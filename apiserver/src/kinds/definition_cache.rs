//! Servers of one process share the definitions of equal CRDs: the clusters of a fleet have the same
//! CRDs, and the schemas of these are most of what an empty server would need.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Weak};

use parking_lot::Mutex;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::custom::{self, CustomError, Definition};

type Fingerprint = [u8; 32];

/// The definitions that some server of this process has.
static KNOWN: LazyLock<Mutex<HashMap<Fingerprint, Weak<Definition>>>> =
    LazyLock::new(Mutex::default);

/// What a CRD defines.
pub(super) fn definition(crd: &Value) -> Result<Arc<Definition>, CustomError> {
    let fingerprint = fingerprint(crd);
    let known = KNOWN.lock().get(&fingerprint).and_then(Weak::upgrade);
    if let Some(known) = known {
        return Ok(known);
    }
    let made = Arc::new(custom::definition(crd)?);
    let mut known = KNOWN.lock();
    known.retain(|_, one| one.strong_count() > 0);
    known.insert(fingerprint, Arc::downgrade(&made));
    Ok(made)
}

/// The digest of everything that [`custom::definition`] reads.
fn fingerprint(crd: &Value) -> Fingerprint {
    let name = &crd["metadata"]["name"];
    Sha256::digest(format!("{name}\n{}", crd["spec"])).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn crd(plural: &str) -> Value {
        json!({
            "metadata": { "name": format!("{plural}.example.com") },
            "spec": {
                "group": "example.com", "scope": "Namespaced",
                "names": { "plural": plural, "kind": "Leaf" },
                "versions": [{
                    "name": "v1", "served": true, "storage": true,
                    "schema": { "openAPIV3Schema": { "type": "object" } },
                }],
            },
        })
    }

    #[test]
    fn equal_crds_share_a_definition_until_the_last_is_dropped() {
        let first = definition(&crd("leaves")).unwrap();
        let mut unchanged = crd("leaves");
        unchanged["metadata"]["uid"] = json!("another");
        unchanged["status"] = json!({ "conditions": [] });
        let second = definition(&unchanged).unwrap();
        assert!(Arc::ptr_eq(&first, &second));
        let mut changed = crd("leaves");
        changed["spec"]["scope"] = json!("Cluster");
        assert!(!Arc::ptr_eq(&first, &definition(&changed).unwrap()));
        let last = Arc::downgrade(&first);
        drop((first, second));
        assert!(last.upgrade().is_none());
    }
}
