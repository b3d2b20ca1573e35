//! What decrypts values in policies: the key of a Secret beside the policy, the initialisation vector in its
//! annotation.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Secret;
use kube::Resource;
use reeve_api::names::ENCRYPTION_IV_ANNOTATION;
use reeve_runtime::object::ObjectKey;
use reeve_runtime::watch::Store;
use reeve_templates_engine::encryption::decode_base64;
use zeroize::Zeroizing;

use crate::evaluate::spec::EvaluationError;
use crate::messages;

/// The Secret that holds the keys, in the policy's namespace.
pub use reeve_api::names::ENCRYPTION_SECRET as SECRET;

/// The two keys of such a Secret. Nothing prints them.
pub struct KeyPair {
    key: Zeroizing<Vec<u8>>,
    previous: Option<Zeroizing<Vec<u8>>>,
}

impl KeyPair {
    /// The keys in a Secret.
    pub fn of(secret: Secret) -> Self {
        let mut data = secret.data.unwrap_or_default();
        let mut take = |name: &str| data.remove(name).map(|value| Zeroizing::new(value.0));
        Self {
            key: take("key").unwrap_or_default(),
            previous: take("previousKey").filter(|key| !key.is_empty()),
        }
    }
}

/// What decrypts values in a policy. Nothing prints it.
pub struct DecryptionKeys {
    /// The AES key.
    pub key: Zeroizing<Vec<u8>>,
    /// The key before the last rotation.
    pub previous: Option<Zeroizing<Vec<u8>>>,
    /// The initialisation vector of this policy.
    pub vector: Vec<u8>,
}

/// The policy's initialisation vector, encoded; `None` if nothing in it is encrypted.
pub fn initialization_vector<P: Resource>(policy: &P) -> Option<&str> {
    let annotations = policy.meta().annotations.as_ref()?;
    let vector = annotations.get(ENCRYPTION_IV_ANNOTATION)?;
    Some(vector.as_str()).filter(|vector| !vector.is_empty())
}

/// The policies in a namespace that have encrypted values: those that new keys concern.
pub fn policies_with_encryption<P: Resource>(
    policies: &[Store<P>],
    namespace: &str,
) -> Vec<ObjectKey> {
    let in_store = |store: &Store<P>| {
        store.collect(|key, policy| {
            let concerned =
                key.namespace == namespace && initialization_vector(policy.as_ref()).is_some();
            concerned.then(|| key.clone())
        })
    };
    policies.iter().flat_map(in_store).collect()
}

/// What decrypts the values of a policy; `None` if it has no encrypted ones. `find` looks for the keys of a namespace.
pub fn for_policy<P: Resource<DynamicType = ()>>(
    policy: &P,
    find: impl FnOnce(&ObjectKey) -> Option<Arc<KeyPair>>,
) -> Result<Option<DecryptionKeys>, EvaluationError> {
    let Some(encoded) = initialization_vector(policy) else {
        return Ok(None);
    };
    let reason = messages::ENCRYPTION_ERROR;
    let vector = decode_base64(encoded)
        .map_err(|error| EvaluationError::permanent(reason, messages::vector_not_base64(&error)))?;
    let namespace = ObjectKey::of(policy).namespace;
    let Some(pair) = find(&ObjectKey::new(&namespace, SECRET)) else {
        let error = format!("Secret {SECRET:?} not found");
        let message = messages::key_unreadable(&namespace, &error);
        return Err(EvaluationError::transient(reason, message));
    };
    Ok(Some(DecryptionKeys {
        key: pair.key.clone(),
        previous: pair.previous.clone(),
        vector,
    }))
}
