//! Finds the encryption key of a cluster, or creates it.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::Client;
use kube::api::{Api, ObjectMeta, PostParams};
use reeve_runtime::object::{StatusReason, status_message};
use zeroize::Zeroizing;

use crate::cache::HubCache;
use crate::keys::{KEY, KEY_BYTES, KeyFacts, SECRET, labels, last_rotated_annotation};
use crate::messages;

/// Why there is no key.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// The Secret could not be read.
    #[error("failed to get the Secret {namespace}/{SECRET}: {}", status_message(.source))]
    Get {
        /// The cluster's namespace.
        namespace: String,
        /// The error of the client: the API server's answer, or that there was none.
        source: kube::Error,
    },
    /// The Secret could not be created.
    #[error("failed to create the Secret {namespace}/{SECRET}: {}", status_message(.source))]
    Create {
        /// The cluster's namespace.
        namespace: String,
        /// The error of the client: the API server's answer, or that there was none.
        source: kube::Error,
    },
    /// The namespace belongs to no managed cluster. A Secret of that name may be an application's.
    #[error("{}", messages::no_cluster_to_encrypt_for(.cluster))]
    NoCluster {
        /// The name of the cluster.
        cluster: String,
    },
    /// The operating system returned no random bytes.
    #[error("failed to generate an encryption key: {0}")]
    Random(#[from] getrandom::Error),
}

/// Random bytes for keys and vectors, from the operating system.
pub fn random(bytes: usize) -> Result<Zeroizing<Vec<u8>>, getrandom::Error> {
    let mut random = Zeroizing::new(vec![0; bytes]);
    getrandom::fill(&mut random)?;
    Ok(random)
}

/// The time now as annotations have it: UTC, in whole seconds.
pub fn now() -> String {
    Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// The result of looking up the keys of a cluster.
pub enum KeyLookup {
    /// The keys of the cluster.
    Keys(Arc<KeyFacts>),
    /// The keys have just been deleted: retry after this time.
    RetryAfter(Duration),
}

/// The keys of a cluster, created if there are none.
pub async fn find_or_create(
    hub: &HubCache,
    client: &Client,
    cluster: &str,
) -> Result<KeyLookup, KeyError> {
    if !hub.is_cluster_namespace(cluster) {
        let cluster = cluster.to_owned();
        return Err(KeyError::NoCluster { cluster });
    }
    if let Some(known) = hub.keys(cluster) {
        return Ok(KeyLookup::Keys(known));
    }
    if let Some(wait) = hub.key_creation_delay(cluster) {
        return Ok(KeyLookup::RetryAfter(wait));
    }
    let created = create(client, cluster).await?;
    Ok(KeyLookup::Keys(Arc::new(created)))
}

async fn create(client: &Client, cluster: &str) -> Result<KeyFacts, KeyError> {
    let secrets: Api<Secret> = Api::namespaced(client.clone(), cluster);
    let key = random(KEY_BYTES)?;
    let created = Secret {
        metadata: ObjectMeta {
            name: Some(SECRET.to_owned()),
            namespace: Some(cluster.to_owned()),
            labels: Some(labels()),
            annotations: Some([(last_rotated_annotation(), now())].into()),
            ..ObjectMeta::default()
        },
        data: Some([(KEY.to_owned(), ByteString(key.to_vec()))].into()),
        type_: Some("Opaque".to_owned()),
        ..Secret::default()
    };
    let namespace = cluster.to_owned();
    match secrets.create(&PostParams::default(), &created).await {
        Ok(created) => Ok(KeyFacts::of(created)),
        // The watch has not delivered it yet.
        Err(error) if StatusReason::of(&error) == StatusReason::AlreadyExists => {
            let found = secrets.get(SECRET).await;
            let found = found.map_err(|source| KeyError::Get { namespace, source })?;
            Ok(KeyFacts::of(found))
        }
        Err(source) => Err(KeyError::Create { namespace, source }),
    }
}
