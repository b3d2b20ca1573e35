//! Hub templates that are resolved on the managed cluster, through a connection to the hub.
//!
//! What a policy's templates came to is kept in a Secret beside it, so that the policy goes on while the hub cannot
//! be reached, across restarts too. The Secret is owned by the policy and goes with it.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::api::{Api, DeleteParams, ObjectMeta, PostParams};
use kube::core::GroupVersionKind;
use kube::{Client, Resource};
use parking_lot::Mutex;
use reeve_api::configuration_policy::{ConfigurationPolicy, ConfigurationPolicySpec};
use reeve_runtime::decode;
use reeve_runtime::dependencies::DependencyWatches;
use reeve_runtime::discovery::Discovery;
use reeve_runtime::object::{ObjectKey, not_found_as_none, status_message};
use reeve_templates_engine::resolver::{Config, IncompleteDelimiters, Resolver};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::cluster::live::{KnownKinds, Live};
use crate::cluster::{Cluster, Freshness};
use crate::diff::Origin;
use crate::messages;
use crate::report::Place;
use crate::spec::{self, Templating};
use crate::templates::{Member, Rendered, Templates};
use reeve_template_reads::Secrets;

/// The key in the Secret.
const CACHE_KEY: &str = "policy.json";
/// How soon a hub that does not answer is asked again.
const ASK_AGAIN: Duration = Duration::from_secs(30);
/// How long the hub may take to say that it is there.
const HUB_ANSWERS: Duration = Duration::from_secs(10);

/// A hub for templates that are resolved on the managed cluster.
#[derive(Clone)]
pub struct Hub {
    /// The connection.
    pub client: Client,
    /// This cluster's name there.
    pub cluster_name: String,
}

/// Resolves the hub templates of policies.
pub struct HubTemplates {
    /// The cluster with the policies, for the Secrets beside them.
    hosting: Client,
    hub: Option<Connection>,
    /// Digests of what is in the Secrets, by UID of the policy: an unchanged one is not written.
    written: Mutex<HashMap<String, [u8; 32]>>,
}

struct Connection {
    client: Client,
    cluster_name: String,
    watches: DependencyWatches<ObjectKey>,
    discovery: Discovery,
    templates: Templates,
    /// When the hub was found not to answer.
    away_since: Mutex<Option<Instant>>,
}

/// A policy with its hub templates resolved.
pub struct Resolved {
    /// The policy. Where there was nothing to resolve, it is the one that was read.
    pub policy: Arc<ConfigurationPolicy>,
    /// Whether something sensitive was read on the hub.
    pub origin: Origin,
    /// The secret values that were read there, as far as they are known.
    pub secrets: Secrets,
    /// When the hub is asked again, if it could not be: no watch tells that it is back.
    pub again: Option<Duration>,
}

impl HubTemplates {
    /// Resolves through `hub`, if there is one. `wake` is called for policies whose answers from the hub changed.
    pub fn new(
        hosting: Client,
        hub: Option<Hub>,
        denied: Arc<[String]>,
        wake: impl Fn(&ObjectKey) + Send + Sync + 'static,
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
        let hub = hub.map(|hub| Connection {
            watches: DependencyWatches::new(hub.client.clone(), wake),
            discovery: Discovery::new(hub.client.clone()),
            client: hub.client,
            cluster_name: hub.cluster_name,
            templates,
            away_since: Mutex::default(),
        });
        Ok(Self {
            hosting,
            hub,
            written: Mutex::default(),
        })
    }

    /// Resolves the hub templates of a policy. The error is the text for its status.
    pub async fn resolve(&self, policy: &Arc<ConfigurationPolicy>) -> Result<Resolved, String> {
        let plain = || Resolved {
            policy: Arc::clone(policy),
            origin: Origin::Plain,
            secrets: Secrets::default(),
            again: None,
        };
        if spec::templating(policy) == Templating::Off {
            self.let_go(policy);
            return Ok(plain());
        }
        if !spec::mentions_the_hub(policy) {
            self.let_go(policy);
            return Ok(plain());
        }
        let Some(hub) = &self.hub else {
            return Err(messages::HUB_TEMPLATES_NEED_ADDON.to_owned());
        };
        if hub.is_known_to_be_away()
            && let Ok(Some(kept)) = self.kept(policy).await
        {
            return Ok(from_memory(kept));
        }
        match hub.resolve(policy, document(policy).to_string()).await {
            Ok(rendered) => {
                let policy = with_spec(policy, &rendered.value)
                    .map_err(|error| rendered.secrets.redact(&error))?;
                self.keep(&policy, &rendered.value).await?;
                Ok(Resolved {
                    policy,
                    origin: rendered.origin,
                    secrets: rendered.secrets,
                    again: None,
                })
            }
            Err(error) => self.remembered(hub, policy, error).await.map(from_memory),
        }
    }

    /// Stops watching the hub for a policy that is gone, or that asks nothing of it.
    pub fn let_go(&self, policy: &ConfigurationPolicy) {
        if let Some(hub) = &self.hub {
            hub.watches.unwatch(&ObjectKey::of(policy));
        }
    }

    /// Forgets a policy that is gone.
    pub fn forget(&self, key: &ObjectKey, uid: &str) {
        if let Some(hub) = &self.hub {
            hub.watches.unwatch(key);
        }
        self.written.lock().remove(uid);
    }

    fn secrets(&self, policy: &ConfigurationPolicy) -> Api<Secret> {
        Api::namespaced(self.hosting.clone(), &ObjectKey::of(policy).namespace)
    }

    /// What the templates came to when the hub was last there, if it is not there now and the policy is the same.
    async fn remembered(
        &self,
        hub: &Connection,
        policy: &Arc<ConfigurationPolicy>,
        error: String,
    ) -> Result<Arc<ConfigurationPolicy>, String> {
        let name = secret_name(policy);
        let secrets = self.secrets(policy);
        if hub.is_there().await {
            // The hub has spoken: what it said before no longer holds.
            let deleted = secrets.delete(&name, &DeleteParams::default()).await;
            if let Err(failure) = not_found_as_none(deleted) {
                tracing::warn!(secret = name, error = %failure, "cannot delete what hub templates came to before");
            }
            self.written.lock().remove(uid(policy));
            return Err(error);
        }
        match self.kept(policy).await? {
            Some(kept) => {
                tracing::info!(policy = %ObjectKey::of(policy.as_ref()), "the hub cannot be reached: using what its templates came to before");
                Ok(kept)
            }
            None => Err(error),
        }
    }

    /// What the templates of this generation of the policy came to, as far as that is kept.
    async fn kept(
        &self,
        policy: &Arc<ConfigurationPolicy>,
    ) -> Result<Option<Arc<ConfigurationPolicy>>, String> {
        let secret = self.secrets(policy).get(&secret_name(policy)).await;
        let secret = not_found_as_none(secret).map_err(|error| status_message(&error))?;
        let kept = secret.and_then(|secret| secret.data?.remove(CACHE_KEY));
        let kept: Option<Value> =
            kept.and_then(|kept| decode::from_str(std::str::from_utf8(&kept.0).ok()?).ok());
        let generation =
            |kept: &Value| kept.pointer("/metadata/generation").and_then(Value::as_i64);
        let kept = kept.filter(|kept| generation(kept) == policy.metadata.generation);
        kept.map(|kept| with_spec(policy, &kept)).transpose()
    }

    /// Keeps what the templates came to.
    async fn keep(&self, policy: &ConfigurationPolicy, resolved: &Value) -> Result<(), String> {
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

impl Connection {
    async fn resolve(
        &self,
        policy: &ConfigurationPolicy,
        text: String,
    ) -> Result<Rendered, String> {
        let hub = Live::new(
            self.watches.begin(&ObjectKey::of(policy)),
            self.client.clone(),
            KnownKinds::Asked(self.discovery.clone()),
            Freshness::Watched,
        );
        let resolved = self.resolve_at(&hub, text).await;
        hub.end();
        resolved
    }

    async fn resolve_at(&self, hub: &Live, text: String) -> Result<Rendered, String> {
        let mut member = Member {
            name: self.cluster_name.clone(),
            labels: BTreeMap::new(),
        };
        if text.contains(".ManagedClusterLabels") {
            member.labels = self.labels(hub).await?;
        }
        let rendered = self.templates.policy(hub, text.into_bytes(), member).await;
        rendered.map_err(|error| error.to_string())
    }

    async fn labels(&self, hub: &Live) -> Result<BTreeMap<String, String>, String> {
        let kind =
            GroupVersionKind::gvk("cluster.open-cluster-management.io", "v1", "ManagedCluster");
        let served = hub
            .kind(&kind)
            .await
            .map_err(|error| reeve_runtime::object::error_chain(&error))?;
        let place = Place::new("", &self.cluster_name);
        let cluster = hub.get(&served, &place).await;
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

    /// Whether the hub answers. That it does not is known for a while, so that the policies do not wait for it one
    /// after the other.
    async fn is_there(&self) -> bool {
        let version = tokio::time::timeout(HUB_ANSWERS, self.client.apiserver_version()).await;
        let answers = matches!(version, Ok(Ok(_)));
        *self.away_since.lock() = (!answers).then(Instant::now);
        answers
    }

    fn is_known_to_be_away(&self) -> bool {
        let since = *self.away_since.lock();
        since.is_some_and(|since| since.elapsed() < ASK_AGAIN)
    }
}

/// A policy by what is kept of it: it is not known any more what was read.
fn from_memory(policy: Arc<ConfigurationPolicy>) -> Resolved {
    Resolved {
        policy,
        origin: Origin::Sensitive,
        secrets: Secrets::default(),
        again: Some(ASK_AGAIN),
    }
}

/// What of a policy is resolved: its spec, and by what it is known.
fn document(policy: &ConfigurationPolicy) -> Value {
    let metadata = &policy.metadata;
    json!({
        "apiVersion": ConfigurationPolicy::api_version(&()),
        "kind": ConfigurationPolicy::kind(&()),
        "metadata": {
            "name": metadata.name,
            "namespace": metadata.namespace,
            "generation": metadata.generation,
            "uid": metadata.uid,
        },
        "spec": policy.spec,
    })
}

fn with_spec(
    policy: &ConfigurationPolicy,
    resolved: &Value,
) -> Result<Arc<ConfigurationPolicy>, String> {
    let spec = resolved.get("spec").cloned().unwrap_or_default();
    let spec: ConfigurationPolicySpec = serde_json::from_value(spec)
        .map_err(|error| messages::hub_resolution_unreadable(&error.to_string()))?;
    Ok(Arc::new(ConfigurationPolicy {
        spec,
        ..policy.clone()
    }))
}

fn uid(policy: &ConfigurationPolicy) -> &str {
    policy.metadata.uid.as_deref().unwrap_or_default()
}

fn secret_name(policy: &ConfigurationPolicy) -> String {
    format!("{}-last-resolved", uid(policy))
}

fn secret(policy: &ConfigurationPolicy, name: &str, data: BTreeMap<String, ByteString>) -> Secret {
    let owner = OwnerReference {
        api_version: ConfigurationPolicy::api_version(&()).into_owned(),
        kind: ConfigurationPolicy::kind(&()).into_owned(),
        name: ObjectKey::of(policy).name,
        uid: uid(policy).to_owned(),
        ..OwnerReference::default()
    };
    Secret {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            namespace: policy.metadata.namespace.clone(),
            owner_references: Some(vec![owner]),
            ..ObjectMeta::default()
        },
        data: Some(data),
        ..Secret::default()
    }
}
