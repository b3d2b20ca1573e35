//! The default objects of every namespace: a default service account and the certificate authority of the cluster.

use serde_json::json;

use crate::meta::{self, NoRandomness};
use crate::state::State;
use crate::store::{Key, Write};

pub(super) fn create_default_objects(state: &State, namespace: &str) -> Result<(), NoRandomness> {
    let found = state.store.get("/namespaces", &Key::new("", namespace));
    if found.is_none_or(|found| meta::is_deleted(&found.value())) {
        return Ok(());
    }
    let account = json!({ "metadata": { "name": "default", "namespace": namespace } });
    let authority = json!({
        "metadata": {
            "name": "kube-root-ca.crt", "namespace": namespace,
            "annotations": { "kubernetes.io/description": "Contains a CA bundle that can be used to verify the \
                kube-apiserver when using internal endpoints such as the internal service IP or \
                kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters." },
        },
        "data": { "ca.crt": state.options.authority },
    });
    for (resource, mut object) in [("serviceaccounts", account), ("configmaps", authority)] {
        let kinds = state.kinds();
        let Some(kind) = kinds.find("", "v1", resource) else {
            continue;
        };
        let key = super::key_of(&object);
        if state.store.get(&kind.table, &key).is_none() {
            meta::begin(&mut object, kind)?;
            // A concurrent request may just have created it, which is fine.
            let _ = state.store.write(&kind.table, &key, Write::Create(object));
        }
    }
    Ok(())
}
