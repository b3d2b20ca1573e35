//! Resolves hub templates on the managed cluster, through a connection to the hub.
//!
//! The resolved policy is cached in a Secret beside the policy, so that the policy is evaluated while the hub cannot
//! be reached, across restarts too. The policy owns the Secret.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::api::{Api, DeleteParams, ObjectMeta, PostParams};
use kube::core::GroupVersionKind;
use kube::core::object::HasSpec;
use kube::{Client, Resource};
use parking_lot::Mutex;
use reeve_runtime::decode;
use reeve_runtime::dependencies::{DependencyGauges, DependencyWatches};
use reeve_runtime::discovery::Discovery;
use reeve_runtime::object::{ObjectKey, not_found_as_none, status_message};
use reeve_templates_engine::resolver::{Config, IncompleteDelimiters, Resolver};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::evaluate::cluster::{Cluster, KindLookup, Live, ReadMode};
use crate::evaluate::diff::Sensitivity;
use crate::evaluate::spec::{self, Templating};
use crate::evaluate::templates::{ManagedCluster, Rendered, Templates};
use crate::messages;
use crate::status::finding::Location;
use reeve_runtime::secrets::Secrets;

/// The key in the Secret.
const CACHE_KEY: &str = "policy.json";
/// How soon an unreachable hub is tried again.
const RETRY_INTERVAL: Duration = Duration::from_secs(30);
/// How long a probe of the hub may take.
const PROBE_TIMEOUT: Duration = Duration::from_secs(10);

/// A hub for templates that are resolved on the managed cluster.
#[derive(Clone)]
pub struct Hub {
    pub client: Client,
    /// This cluster's name there.
    pub cluster_name: String,
}

/// A kind of policy whose spec may have hub templates.
pub trait Templated:
    Resource<DynamicType = ()> + HasSpec<Spec: Serialize + DeserializeOwned> + Clone
{
}
impl<P> Templated for P where
    P: Resource<DynamicType = ()> + HasSpec<Spec: Serialize + DeserializeOwned> + Clone
{
}

/// Resolves the hub templates of policies.
pub struct HubTemplates {
    /// The cluster with the policies, for the Secrets beside them.
    hosting: Client,
    hub: Option<ConnectedHub>,
    /// Digests of what is in the Secrets, by UID of the policy: an unchanged one is not written.
    written: Mutex<HashMap<String, [u8; 32]>>,
}

struct ConnectedHub {
    client: Client,
    cluster_name: String,
    watches: DependencyWatches<ObjectKey>,
    discovery: Discovery,
    templates: Templates,
    /// When a probe of the hub failed.
    unreachable_since: Mutex<Option<Instant>>,
}

/// A policy with its hub templates resolved.
pub struct ResolvedPolicy<P> {
    /// The policy. Where there was nothing to resolve, it is the one that was read.
    pub policy: Arc<P>,
    /// Whether something sensitive was read on the hub.
    pub sensitivity: Sensitivity,
    /// The secret values that were read there, as far as they are known.
    pub secrets: Secrets,
    /// When the hub is tried again, if it was unreachable: no watch reports that it is back.
    pub retry_after: Option<Duration>,
}

impl HubTemplates {
    /// Resolves through `hub`, if there is one. `enqueue` is called for policies whose reads from the hub changed.
    pub fn new(
        hosting: Client,
        hub: Option<Hub>,
        denied: Arc<[String]>,
        enqueue: impl Fn(&ObjectKey) + Send + Sync + 'static,
    ) -> Result<Self, IncompleteDelimiters> {
        let resolver = Resolver::new(Config {
            start_delimiter: "{{hub".to_owned(),
            stop_delimiter: "hub}}".to_owned(),
            ..Config::default()
        })?;
        let templates = Templates {
            resolver: Arc::new(resolver),
            denied,
            keys: None,
        };
        let hub = hub.map(|hub| ConnectedHub {
            watches: DependencyWatches::new(hub.client.clone(), enqueue),
            discovery: Discovery::new(hub.client.clone()),
            client: hub.client,
            cluster_name: hub.cluster_name,
            templates,
            unreachable_since: Mutex::default(),
        });
        Ok(Self {
            hosting,
            hub,
            written: Mutex::default(),
        })
    }

    /// Adds the watches on the hub to gauges.
    pub fn count_in(&self, gauges: &DependencyGauges) {
        if let Some(hub) = &self.hub {
            hub.watches.count_in(gauges);
        }
    }

    /// Resolves the hub templates of a policy. The error is the text for its status.
    pub async fn resolve<P: Templated>(
        &self,
        policy: &Arc<P>,
    ) -> Result<ResolvedPolicy<P>, String> {
        let plain = || ResolvedPolicy {
            policy: Arc::clone(policy),
            sensitivity: Sensitivity::Plain,
            secrets: Secrets::default(),
            retry_after: None,
        };
        if spec::templating(policy.as_ref()) == Templating::Off {
            self.unwatch(policy.as_ref());
            return Ok(plain());
        }
        if !spec::mentions_the_hub(policy.as_ref()) {
            self.unwatch(policy.as_ref());
            return Ok(plain());
        }
        let Some(hub) = &self.hub else {
            return Err(messages::HUB_TEMPLATES_NEED_ADDON.to_owned());
        };
        if hub.is_known_unreachable()
            && let Ok(Some(cached)) = self.cached(policy).await
        {
            return Ok(from_cache(cached));
        }
        match hub
            .resolve(policy.as_ref(), document(policy.as_ref()).to_string())
            .await
        {
            Ok(rendered) => {
                let policy = with_spec(policy.as_ref(), &rendered.value)
                    .map_err(|error| rendered.secrets.redact(&error))?;
                self.cache(policy.as_ref(), &rendered.value).await?;
                Ok(ResolvedPolicy {
                    policy,
                    sensitivity: rendered.sensitivity,
                    secrets: rendered.secrets,
                    retry_after: None,
                })
            }
            Err(error) => self
                .cached_or_error(hub, policy, error)
                .await
                .map(from_cache),
        }
    }

    /// Stops watching the hub for a policy that was deleted or has no hub templates.
    pub fn unwatch<P: Templated>(&self, policy: &P) {
        if let Some(hub) = &self.hub {
            hub.watches.unwatch(&ObjectKey::of(policy));
        }
    }

    /// Removes the entries of a deleted policy.
    pub fn forget(&self, key: &ObjectKey, uid: &str) {
        if let Some(hub) = &self.hub {
            hub.watches.unwatch(key);
        }
        self.written.lock().remove(uid);
    }

    fn secrets<P: Templated>(&self, policy: &P) -> Api<Secret> {
        Api::namespaced(self.hosting.clone(), &ObjectKey::of(policy).namespace)
    }

    /// The cached policy if the hub is unreachable, else the error.
    async fn cached_or_error<P: Templated>(
        &self,
        hub: &ConnectedHub,
        policy: &Arc<P>,
        error: String,
    ) -> Result<Arc<P>, String> {
        let name = secret_name(policy.as_ref());
        let secrets = self.secrets(policy.as_ref());
        if hub.is_reachable().await {
            // The hub answers, so the cached result is outdated.
            let deleted = secrets.delete(&name, &DeleteParams::default()).await;
            if let Err(failure) = not_found_as_none(deleted) {
                tracing::warn!(secret = name, error = %failure, "cannot delete the cached result of hub templates");
            }
            self.written.lock().remove(uid(policy.as_ref()));
            return Err(error);
        }
        match self.cached(policy).await? {
            Some(cached) => {
                tracing::info!(policy = %ObjectKey::of(policy.as_ref()), "the hub cannot be reached: using the cached result of its templates");
                Ok(cached)
            }
            None => Err(error),
        }
    }

    /// The cached policy of this generation, if there is one.
    async fn cached<P: Templated>(&self, policy: &Arc<P>) -> Result<Option<Arc<P>>, String> {
        let secrets = self.secrets(policy.as_ref());
        let secret = secrets.get(&secret_name(policy.as_ref())).await;
        let secret = not_found_as_none(secret).map_err(|error| status_message(&error))?;
        let cached = secret.and_then(|secret| secret.data?.remove(CACHE_KEY));
        let cached: Option<Value> =
            cached.and_then(|cached| decode::from_str(std::str::from_utf8(&cached.0).ok()?).ok());
        let generation = |cached: &Value| {
            cached
                .pointer("/metadata/generation")
                .and_then(Value::as_i64)
        };
        let cached = cached.filter(|cached| generation(cached) == policy.meta().generation);
        cached
            .map(|cached| with_spec(policy.as_ref(), &cached))
            .transpose()
    }

    /// Writes the resolved policy to the Secret.
    async fn cache<P: Templated>(&self, policy: &P, resolved: &Value) -> Result<(), String> {
        let text = resolved.to_string().into_bytes();
        let digest: [u8; 32] = Sha256::digest(&text).into();
        let uid = uid(policy);
        if self.written.lock().get(uid) == Some(&digest) {
            return Ok(());
        }
        let secrets = self.secrets(policy);
        let name = secret_name(policy);
        let data = BTreeMap::from([(CACHE_KEY.to_owned(), ByteString(text))]);
        let in_words = |error: kube::Error| status_message(&error);
        match not_found_as_none(secrets.get(&name).await).map_err(in_words)? {
            None => {
                let secret = secret(policy, &name, data);
                secrets
                    .create(&PostParams::default(), &secret)
                    .await
                    .map_err(in_words)?;
            }
            Some(secret) if secret.data.as_ref() == Some(&data) => {}
            Some(mut secret) => {
                secret.data = Some(data);
                let params = PostParams::default();
                secrets
                    .replace(&name, &params, &secret)
                    .await
                    .map_err(in_words)?;
            }
        }
        self.written.lock().insert(uid.to_owned(), digest);
        Ok(())
    }
}

impl ConnectedHub {
    async fn resolve<P: Templated>(&self, policy: &P, text: String) -> Result<Rendered, String> {
        let hub = Live::new(
            self.watches.begin(&ObjectKey::of(policy)),
            self.client.clone(),
            KindLookup::Discovery(self.discovery.clone()),
            ReadMode::Watched,
        );
        let resolved = self.resolve_at(&hub, text).await;
        hub.end();
        resolved
    }

    async fn resolve_at(&self, hub: &Live, text: String) -> Result<Rendered, String> {
        let mut member = ManagedCluster {
            name: self.cluster_name.clone(),
            labels: BTreeMap::new(),
        };
        if text.contains(".ManagedClusterLabels") {
            member.labels = self.labels(hub).await?;
        }
        let rendered = self
            .templates
            .resolve_policy(hub, text.into_bytes(), member)
            .await;
        rendered.map_err(|error| error.to_string())
    }

    async fn labels(&self, hub: &Live) -> Result<BTreeMap<String, String>, String> {
        let kind =
            GroupVersionKind::gvk("cluster.open-cluster-management.io", "v1", "ManagedCluster");
        let served = hub
            .kind(&kind)
            .await
            .map_err(|error| reeve_runtime::object::error_chain(&error))?;
        let location = Location::new("", &self.cluster_name);
        let cluster = hub.get(&served, &location).await;
        let cluster = cluster.map_err(|error| error.text().to_owned())?;
        let Some(cluster) = cluster else {
            return Err(messages::no_managed_cluster(&self.cluster_name));
        };
        let labels = cluster
            .pointer("/metadata/labels")
            .and_then(Value::as_object);
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let labels = labels.into_iter().flatten();
        Ok(labels
            .map(|(key, value)| (key.clone(), text(value)))
            .collect())
    }

    /// Whether the hub answers. A failure is remembered for a while, so that policies do not wait for the hub one
    /// after the other.
    async fn is_reachable(&self) -> bool {
        let version = tokio::time::timeout(PROBE_TIMEOUT, self.client.apiserver_version()).await;
        let answers = matches!(version, Ok(Ok(_)));
        *self.unreachable_since.lock() = (!answers).then(Instant::now);
        answers
    }

    fn is_known_unreachable(&self) -> bool {
        let since = *self.unreachable_since.lock();
        since.is_some_and(|since| since.elapsed() < RETRY_INTERVAL)
    }
}

/// A policy from the cache. Which of its values are secret is not known, so all count as sensitive.
fn from_cache<P>(policy: Arc<P>) -> ResolvedPolicy<P> {
    ResolvedPolicy {
        policy,
        sensitivity: Sensitivity::Sensitive,
        secrets: Secrets::default(),
        retry_after: Some(RETRY_INTERVAL),
    }
}

/// The document that is resolved: spec, name and version of a policy.
fn document<P: Templated>(policy: &P) -> Value {
    let metadata = policy.meta();
    json!({
        "apiVersion": P::api_version(&()),
        "kind": P::kind(&()),
        "metadata": {
            "name": metadata.name,
            "namespace": metadata.namespace,
            "generation": metadata.generation,
            "uid": metadata.uid,
        },
        "spec": policy.spec(),
    })
}

fn with_spec<P: Templated>(policy: &P, resolved: &Value) -> Result<Arc<P>, String> {
    let spec = resolved.get("spec").cloned().unwrap_or_default();
    let spec = serde_json::from_value(spec)
        .map_err(|error| messages::hub_resolution_unreadable(&error.to_string()))?;
    let mut policy = policy.clone();
    *policy.spec_mut() = spec;
    Ok(Arc::new(policy))
}

fn uid<P: Resource>(policy: &P) -> &str {
    policy.meta().uid.as_deref().unwrap_or_default()
}

fn secret_name<P: Resource>(policy: &P) -> String {
    format!("{}-last-resolved", uid(policy))
}

fn secret<P: Templated>(policy: &P, name: &str, data: BTreeMap<String, ByteString>) -> Secret {
    let owner = OwnerReference {
        api_version: P::api_version(&()).into_owned(),
        kind: P::kind(&()).into_owned(),
        name: ObjectKey::of(policy).name,
        uid: uid(policy).to_owned(),
        ..OwnerReference::default()
    };
    Secret {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            namespace: policy.meta().namespace.clone(),
            owner_references: Some(vec![owner]),
            ..ObjectMeta::default()
        },
        data: Some(data),
        ..Secret::default()
    }
}
