//! The Secrets and `ConfigMap`s of the cluster, as Pods are given them.

use std::collections::BTreeMap;

use futures::StreamExt as _;
use k8s_openapi::api::core::v1::{ConfigMap, Pod, Secret};
use kube::runtime::reflector::{ObjectRef, Store, reflector, store};
use kube::runtime::{WatchStreamExt as _, watcher};
use kube::{Api, Client};
use serde::de::DeserializeOwned;
use tokio::task::JoinSet;

/// File names or keys, and contents.
pub(super) type Data = BTreeMap<String, Vec<u8>>;

/// What is watched.
pub(super) struct Sources {
    pub(super) pods: Store<Pod>,
    secrets: Store<Secret>,
    config_maps: Store<ConfigMap>,
}

impl Sources {
    /// Watches the cluster in tasks of `tasks`.
    pub(super) fn watch(client: &Client, tasks: &mut JoinSet<()>) -> Self {
        Self {
            pods: follow(client, tasks),
            secrets: follow(client, tasks),
            config_maps: follow(client, tasks),
        }
    }

    /// Waits until all is known that there is.
    pub(super) async fn ready(&self) -> anyhow::Result<()> {
        self.pods.wait_until_ready().await?;
        self.secrets.wait_until_ready().await?;
        self.config_maps.wait_until_ready().await?;
        Ok(())
    }

    pub(super) fn secret(&self, namespace: &str, name: &str) -> Option<Data> {
        let found = self.secrets.get(&ObjectRef::new(name).within(namespace))?;
        let data = found.data.iter().flatten();
        Some(
            data.map(|(key, value)| (key.clone(), value.0.clone()))
                .collect(),
        )
    }

    pub(super) fn config_map(&self, namespace: &str, name: &str) -> Option<Data> {
        let found = self
            .config_maps
            .get(&ObjectRef::new(name).within(namespace))?;
        let texts = found.data.iter().flatten();
        let texts = texts.map(|(key, value)| (key.clone(), value.clone().into_bytes()));
        let bytes = found.binary_data.iter().flatten();
        let bytes = bytes.map(|(key, value)| (key.clone(), value.0.clone()));
        Some(texts.chain(bytes).collect())
    }
}

fn follow<K>(client: &Client, tasks: &mut JoinSet<()>) -> Store<K>
where
    K: kube::Resource<DynamicType = ()>
        + Clone
        + std::fmt::Debug
        + DeserializeOwned
        + Send
        + Sync
        + 'static,
{
    let (reader, writer) = store();
    let stream = watcher(Api::<K>::all(client.clone()), watcher::Config::default());
    let stream = reflector(writer, stream.default_backoff());
    // A failed watch is tried again, as long as the kubelet is there.
    tasks.spawn(stream.for_each(|_| std::future::ready(())));
    reader
}
