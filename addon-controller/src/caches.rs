//! The caches of the hub, and the mapping of changes to installations.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Debug;
use std::sync::Arc;

use k8s_openapi::api::certificates::v1::CertificateSigningRequest;
use kube::api::Api;
use kube::{Client, Resource, ResourceExt};
use parking_lot::RwLock;
use reeve_api::addon::{AddOnDeploymentConfig, ClusterManagementAddOn, ManagedClusterAddOn};
use reeve_api::ocm::ManagedCluster;
use reeve_api::work::ManifestWork;
use reeve_runtime::object::ObjectKey;
use reeve_runtime::supervisor::Supervisor;
use reeve_runtime::watch::{Change, Store, Watch};
use serde::de::DeserializeOwned;

use crate::addon::{Addon, Installation};
use crate::csr::{claimed_installation, is_pending};
use crate::facts::{AddOnFacts, ClusterFacts, deployment_config};
use crate::queues::Queues;
use crate::stored_config::StoredConfig;
use crate::work::{self, Live};

/// The page size of a list of works. Each work holds all of its objects until it is reduced.
const MAX_CACHED_WORKS: u32 = 20;

/// A work, and its installation.
pub struct OwnedWork {
    /// The installation; `None` for a work that only resembles this controller's.
    pub installation: Option<Installation>,
    /// The kept part of the work.
    pub live: Arc<Live>,
}

/// A certificate request; approved and denied ones are not kept.
type Request = Option<Arc<CertificateSigningRequest>>;

/// The caches of the hub.
#[derive(Clone)]
pub struct Caches {
    /// A client of the hub.
    pub client: Client,
    /// The configurations.
    pub configs: Store<StoredConfig>,
    /// The `ClusterManagementAddOn`s.
    pub definitions: Store<ClusterManagementAddOn>,
    clusters: Store<ClusterFacts>,
    addons: [Store<ManagedClusterAddOn>; 3],
    works: Store<OwnedWork>,
    /// Requests for certificates.
    pub requests: Requests,
    index: Arc<RwLock<Index>>,
}

/// The pending requests.
#[derive(Clone)]
pub struct Requests(Store<Request>);

impl Requests {
    /// The request with this key.
    pub fn get_valid(&self, key: &ObjectKey) -> Request {
        self.0.get_valid(key).and_then(|request| (*request).clone())
    }
}

/// Maps changed objects to the add-ons that depend on them.
#[derive(Default)]
struct Index {
    works: HashMap<Installation, BTreeSet<ObjectKey>>,
    /// The add-ons whose agents run on another cluster, by that cluster.
    hosted: HashMap<String, BTreeSet<Installation>>,
}

/// The watches of the hub, to be started.
pub struct Watches {
    configs: Watch<AddOnDeploymentConfig, StoredConfig>,
    definitions: Watch<ClusterManagementAddOn>,
    clusters: Watch<ManagedCluster, ClusterFacts>,
    addons: [Watch<ManagedClusterAddOn>; 3],
    works: Watch<ManifestWork, OwnedWork>,
    requests: Watch<CertificateSigningRequest, Request>,
}

impl Caches {
    /// Empty caches, and the watches that will fill them.
    pub fn new(client: Client) -> (Self, Watches) {
        let selector = Addon::selector();
        let watches = Watches {
            configs: Watch::projected(Api::all(client.clone()), |config| StoredConfig::of(&config)),
            definitions: Watch::new(Api::all(client.clone())),
            clusters: Watch::projected(Api::all(client.clone()), |cluster| {
                ClusterFacts::of(&cluster)
            }),
            // One watch for each: those of other add-ons change often, and have no effect here.
            addons: Addon::ALL.map(|addon| {
                let named = format!("metadata.name={addon}");
                Watch::new(Api::all(client.clone())).fields(&named)
            }),
            works: Watch::projected(Api::all(client.clone()), |work| OwnedWork {
                installation: work::installation_of(&work),
                live: Arc::new(Live::of(work)),
            })
            .labels(&selector)
            .pages(MAX_CACHED_WORKS),
            requests: Watch::projected(Api::all(client.clone()), |request| {
                is_pending(&request).then(|| Arc::new(request))
            })
            .labels(&selector),
        };
        let caches = Self {
            client,
            configs: watches.configs.store(),
            definitions: watches.definitions.store(),
            clusters: watches.clusters.store(),
            addons: [0, 1, 2].map(|at: usize| watches.addons[at].store()),
            works: watches.works.store(),
            requests: Requests(watches.requests.store()),
            index: Arc::default(),
        };
        (caches, watches)
    }

    /// Waits until all caches have synced.
    pub async fn wait_for_cache_sync(&self) {
        self.configs.wait_for_cache_sync().await;
        self.definitions.wait_for_cache_sync().await;
        self.clusters.wait_for_cache_sync().await;
        for addons in &self.addons {
            addons.wait_for_cache_sync().await;
        }
        self.works.wait_for_cache_sync().await;
        self.requests.0.wait_for_cache_sync().await;
    }

    fn addons_of(&self, addon: Addon) -> &Store<ManagedClusterAddOn> {
        let [framework, config_policy, standalone] = &self.addons;
        match addon {
            Addon::Framework => framework,
            Addon::ConfigPolicy => config_policy,
            Addon::Standalone => standalone,
        }
    }

    /// An add-on on a cluster.
    pub fn addon(&self, installation: &Installation) -> Option<Arc<ManagedClusterAddOn>> {
        let key = ObjectKey::new(&*installation.cluster, installation.addon.name());
        self.addons_of(installation.addon).get_valid(&key)
    }

    /// Whether an add-on exists on a cluster, readable or not.
    pub fn has_addon(&self, installation: &Installation) -> bool {
        let key = ObjectKey::new(&*installation.cluster, installation.addon.name());
        self.addons_of(installation.addon).contains(&key)
    }

    /// Whether an add-on is neither defined on the hub nor on any cluster.
    pub fn is_retired(&self, addon: Addon) -> bool {
        let key = ObjectKey::new("", addon.name());
        !self.definitions.contains(&key) && self.addons_of(addon).keys().is_empty()
    }

    /// A cluster.
    pub fn cluster(&self, name: &str) -> Option<Arc<ClusterFacts>> {
        self.clusters.get_valid(&ObjectKey::new("", name))
    }

    /// Whether the hub has such a cluster, readable or not.
    pub fn knows_cluster(&self, name: &str) -> bool {
        self.clusters.contains(&ObjectKey::new("", name))
    }

    /// The works of an installation, in all namespaces.
    pub fn works(&self, installation: &Installation) -> BTreeMap<ObjectKey, Arc<Live>> {
        let index = self.index.read();
        let keys = index.works.get(installation).into_iter().flatten();
        let live = |key: &ObjectKey| {
            let work = self.works.get_valid(key)?;
            Some((key.clone(), Arc::clone(&work.live)))
        };
        keys.filter_map(live).collect()
    }

    /// The add-ons that a configuration applies to.
    pub fn configured_by(&self, config: &ObjectKey) -> Vec<Installation> {
        let applies = |addon: &ManagedClusterAddOn| {
            let references = addon.status.as_ref().map(|s| &s.config_references[..]);
            let used = deployment_config(references.unwrap_or_default());
            used.and_then(|reference| reference.desired_config.as_ref())
                .is_some_and(|used| used.name == config.name && used.namespace == config.namespace)
        };
        let mut found = Vec::new();
        for addon in Addon::ALL {
            let of = self.addons_of(addon).collect(|key, object| {
                applies(object).then(|| Installation::new(&*key.namespace, addon))
            });
            found.extend(of);
        }
        found
    }

    /// The installations of an add-on, on all clusters.
    fn all_of(&self, addon: Addon) -> Vec<Installation> {
        let keys = self.addons_of(addon).keys().into_iter();
        keys.map(|key| Installation::new(key.namespace, addon))
            .collect()
    }

    fn cluster_changed(&self, change: &Change<ClusterFacts>, queues: &Queues) {
        // Clusters renew their status often, and rarely change a field that this controller reads.
        if let (Some(old), Some(new)) = change.valid()
            && old == new
        {
            return;
        }
        let name = &change.key.name;
        for addon in Addon::ALL {
            let installation = Installation::new(&**name, addon);
            if self.has_addon(&installation) {
                queues.installations.add(installation);
            }
        }
        let hosted = self.index.read().hosted.get(name).cloned();
        for installation in hosted.into_iter().flatten() {
            queues.installations.add(installation);
        }
        if change.old.is_none() {
            self.enqueue_requests(queues, |_| true);
        }
    }

    fn addon_changed(&self, addon: Addon, change: &Change<ManagedClusterAddOn>, queues: &Queues) {
        let installation = Installation::new(&*change.key.namespace, addon);
        let (old, new) = change.valid();
        let host = |addon: Option<&Arc<ManagedClusterAddOn>>| {
            let facts = addon.map(|addon| AddOnFacts::of(addon));
            facts.and_then(|facts| facts.hosting(&installation.cluster).map(str::to_owned))
        };
        self.index_host(&installation, host(old), host(new));
        if change.new.is_none() {
            queues.definitions.add(addon);
        }
        // The existence of one add-on affects the others.
        let is_there = |addon: Option<&Arc<ManagedClusterAddOn>>| {
            addon.map(|addon| {
                let status = addon.status.as_ref();
                let references = status.map(|status| status.config_references.clone());
                (AddOnFacts::of(addon), references)
            })
        };
        if is_there(old) != is_there(new) {
            let siblings = Addon::ALL.map(|addon| installation.sibling(addon));
            for sibling in siblings.into_iter().filter(|name| self.has_addon(name)) {
                queues.installations.add(sibling);
            }
        }
        if change.old.is_none() {
            self.enqueue_requests(queues, |claimed| *claimed == installation);
        }
        queues.installations.add(installation);
    }

    fn index_host(&self, installation: &Installation, old: Option<String>, new: Option<String>) {
        if old == new {
            return;
        }
        let hosted = &mut self.index.write().hosted;
        if let Some(old) = old
            && let Some(names) = hosted.get_mut(&old)
        {
            names.remove(installation);
            if names.is_empty() {
                hosted.remove(&old);
            }
        }
        if let Some(new) = new {
            hosted.entry(new).or_default().insert(installation.clone());
        }
    }

    fn enqueue_requests(&self, queues: &Queues, concerned: impl Fn(&Installation) -> bool) {
        let names = self.requests.0.collect(|key, request| {
            let claimed = claimed_installation(request.as_ref().as_ref()?)?;
            concerned(&claimed).then(|| key.name.clone())
        });
        for name in names {
            queues.requests.add(name);
        }
    }

    fn work_changed(&self, change: &Change<OwnedWork>, queues: &Queues) {
        let (old, new) = change.valid();
        let of = |work: Option<&Arc<OwnedWork>>| work.and_then(|work| work.installation.clone());
        let (old, new) = (of(old), of(new));
        {
            let works = &mut self.index.write().works;
            if let Some(old) = old.as_ref().filter(|_| old != new)
                && let Some(keys) = works.get_mut(old)
            {
                keys.remove(&change.key);
                if keys.is_empty() {
                    works.remove(old);
                }
            }
            if let Some(new) = &new {
                let keys = works.entry(new.clone()).or_default();
                keys.insert(change.key.clone());
            }
        }
        let concerned: BTreeSet<_> = [old, new].into_iter().flatten().collect();
        for installation in concerned {
            queues.installations.add(installation);
        }
    }

    fn config_changed(&self, change: &Change<StoredConfig>, queues: &Queues) {
        for installation in self.configured_by(&change.key) {
            queues.installations.add(installation);
        }
        for addon in Addon::ALL {
            queues.definitions.add(addon);
        }
    }

    fn definition_changed(&self, change: &Change<ClusterManagementAddOn>, queues: &Queues) {
        let Some(addon) = Addon::of(&change.key.name) else {
            return;
        };
        queues.definitions.add(addon);
        let supported = |addon: Option<&Arc<ClusterManagementAddOn>>| {
            addon.map(|addon| (addon.uid(), addon.spec.supported_configs.clone()))
        };
        let (old, new) = change.valid();
        if supported(old) != supported(new) {
            for installation in self.all_of(addon) {
                queues.installations.add(installation);
            }
        }
    }
}

impl Watches {
    /// Starts all watches.
    pub fn start(self, caches: &Caches, queues: &Queues, tasks: &mut Supervisor) {
        let mut run = Run {
            caches,
            queues,
            tasks,
        };
        run.watch(
            "the watch of configurations",
            self.configs,
            Caches::config_changed,
        );
        run.watch(
            "the watch of add-ons' definitions",
            self.definitions,
            Caches::definition_changed,
        );
        run.watch(
            "the watch of managed clusters",
            self.clusters,
            Caches::cluster_changed,
        );
        run.watch("the watch of works", self.works, Caches::work_changed);
        for (addon, watch) in Addon::ALL.into_iter().zip(self.addons) {
            run.watch(
                "a watch of add-ons",
                watch,
                move |caches, change, queues| {
                    caches.addon_changed(addon, change, queues);
                },
            );
        }
        run.watch(
            "the watch of certificate requests",
            self.requests,
            |_, change, queues| {
                queues.requests.add(change.key.name.clone());
            },
        );
    }
}

struct Run<'a> {
    caches: &'a Caches,
    queues: &'a Queues,
    tasks: &'a mut Supervisor,
}

impl Run<'_> {
    fn watch<K, V>(
        &mut self,
        name: &'static str,
        watch: Watch<K, V>,
        enqueue: impl Fn(&Caches, &Change<V>, &Queues) + Send + 'static,
    ) where
        K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + Sync + 'static,
        V: Send + Sync + 'static,
    {
        let (caches, queues) = (self.caches.clone(), self.queues.clone());
        let work = watch.run(self.tasks.stop(), move |change| {
            enqueue(&caches, &change, &queues);
        });
        self.tasks.spawn_infallible(name, work);
    }
}
