//! Gathers the inputs of an add-on from the caches.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::{Resource, ResourceExt};
use parking_lot::Mutex;
use reeve_api::addon::{ClusterManagementAddOn, DeploymentSettings, ManagedClusterAddOn};
use reeve_runtime::object::ObjectKey;

use super::build::Layouts;
use super::reapply;
use crate::addon::{Addon, Installation};
use crate::caches::Caches;
use crate::cma_config::is_ours;
use crate::facts::{
    AddOnFacts, ClusterFacts, Config, Environment, Hosting, Inputs, Siblings, deployment_config,
    install_namespace,
};
use crate::hub::{Freshness, HubIdentity};
use crate::identity::Identity;
use crate::work::{Live, names};

/// Reads the inputs of decisions.
pub struct Observer {
    caches: Caches,
    hub: HubIdentity,
    environment: Arc<Environment>,
    /// Configurations that existed once: a terminating add-on may still need one that was deleted.
    cached_settings: Mutex<HashMap<ObjectKey, Arc<DeploymentSettings>>>,
}

impl Observer {
    /// An observer of `caches`.
    pub fn new(caches: Caches, environment: Environment) -> Self {
        Self {
            hub: HubIdentity::new(caches.client.clone()),
            caches,
            environment: Arc::new(environment),
            cached_settings: Mutex::default(),
        }
    }

    /// All inputs of an installation.
    pub async fn inputs(
        &self,
        installation: &Installation,
        addon: &ManagedClusterAddOn,
        cluster: Arc<ClusterFacts>,
    ) -> Result<Inputs, kube::Error> {
        let facts = AddOnFacts::of(addon);
        let hosting = facts.hosting(&installation.cluster).map(|name| Hosting {
            name: name.to_owned(),
            facts: self.caches.cluster(name),
        });
        let mut inputs = Inputs {
            installation: installation.clone(),
            config: self.config(installation.addon, addon),
            addon: facts,
            cluster,
            hosting,
            siblings: self.siblings(installation),
            hub_id: None,
            environment: Arc::clone(&self.environment),
        };
        let may_be_hub = inputs
            .agent_cluster()
            .is_some_and(|agent_cluster| agent_cluster.id.is_some());
        if installation.addon == Addon::Framework && may_be_hub {
            let freshness = if inputs.addon.is_deleting {
                Freshness::Fresh
            } else {
                Freshness::Cached
            };
            inputs.hub_id = self.hub.get(freshness).await?;
        }
        Ok(inputs)
    }

    fn siblings(&self, installation: &Installation) -> Siblings {
        let namespace = |addon: Addon| {
            let found = self.caches.addon(&installation.sibling(addon))?;
            let facts = AddOnFacts::of(&found);
            let config = self.config(addon, &found);
            let namespace = install_namespace(&installation.cluster, &facts, &config);
            (!facts.is_deleting).then_some(namespace)
        };
        match installation.addon {
            Addon::Framework | Addon::Standalone => Siblings {
                config_policy: namespace(Addon::ConfigPolicy),
                standalone: None,
            },
            Addon::ConfigPolicy => Siblings {
                config_policy: None,
                standalone: namespace(Addon::Standalone),
            },
        }
    }

    /// The configuration of an add-on.
    fn config(&self, of: Addon, addon: &ManagedClusterAddOn) -> Config {
        let references = addon.status.as_ref().map(|s| &s.config_references[..]);
        let Some(reference) = deployment_config(references.unwrap_or_default()) else {
            // The spec names a configuration that OCM's addon-manager has not processed: works that are installed now
            // would be replaced at once.
            let is_asked = addon.spec.configs.iter().any(|c| is_ours(&c.resource));
            return if is_asked || self.has_default(of) {
                Config::Unhashed
            } else {
                Config::None
            };
        };
        let desired = reference.desired_config.as_ref();
        let Some(desired) = desired.filter(|desired| !desired.spec_hash.is_empty()) else {
            return Config::Unhashed;
        };
        let key = ObjectKey::new(&*desired.namespace, &*desired.name);
        match self
            .caches
            .configs
            .get_valid(&key)
            .map(|config| config.settings.clone())
        {
            Some(Ok(settings)) => {
                let kept = Arc::clone(&settings);
                self.cached_settings.lock().insert(key, kept);
                Config::Some(settings)
            }
            Some(Err(why)) => Config::Missing {
                name: format!("{key} ({why})"),
            },
            None => {
                let is_deleting = addon.metadata.deletion_timestamp.is_some();
                let cached_settings = self.cached_settings.lock().get(&key).cloned();
                match cached_settings.filter(|_| is_deleting) {
                    Some(settings) => Config::Some(settings),
                    None => Config::Missing {
                        name: key.to_string(),
                    },
                }
            }
        }
    }

    fn has_default(&self, addon: Addon) -> bool {
        let definition = self.definition(addon);
        let supported = definition.map(|found| found.spec.supported_configs.clone());
        supported.into_iter().flatten().any(|supported| {
            let default = supported.default_config.as_ref();
            is_ours(&supported.resource) && default.is_some_and(|named| is_named(&named.name))
        })
    }

    /// The `ClusterManagementAddOn` of an add-on.
    pub fn definition(&self, addon: Addon) -> Option<Arc<ClusterManagementAddOn>> {
        let key = ObjectKey::new("", addon.name());
        self.caches.definitions.get_valid(&key)
    }
}

/// The newer version of the API has only lists of names, and so a placeholder name for no default.
fn is_named(name: &str) -> bool {
    !name.is_empty() && name != "__reserved_no_default__"
}

/// The layouts of an installation's works, and which to apply again, at `now` in seconds of the Unix epoch.
pub fn layouts(inputs: &Inputs, live: &BTreeMap<ObjectKey, Arc<Live>>, now: i64) -> Layouts {
    let installation = &inputs.installation;
    let of = |namespace: &str, name: &dyn Fn(usize) -> String| {
        let mut layouts: Vec<Vec<Identity>> = Vec::new();
        let key = |index| ObjectKey::new(namespace, name(index));
        // A work in the middle may be missing; later ones keep their index.
        let last = (0..=live.len())
            .rev()
            .find(|at| live.contains_key(&key(*at)));
        for index in 0..last.map_or(0, |last| last + 1) {
            let layout = live.get(&key(index)).map(|live| live.layout.clone());
            layouts.push(layout.unwrap_or_default());
        }
        layouts
    };
    let hosting = inputs.hosting.as_ref().map(|hosting| &*hosting.name);
    let own = |key: &ObjectKey| key.namespace == installation.cluster;
    let works = live.iter().filter(|(key, _)| own(key));
    Layouts {
        orphaned_namespaces: works
            .flat_map(|(_, live)| live.orphaned_namespaces.clone())
            .collect(),
        managed: of(&installation.cluster, &|index| {
            names::deploy(installation, index)
        }),
        hosting: hosting.map_or_else(Vec::new, |namespace| {
            of(namespace, &|index| {
                names::hosting_deploy(installation, index)
            })
        }),
        reapplied: reapply::due(inputs, live, now),
    }
}

/// An owner reference to an object.
pub fn owner_reference<K: Resource<DynamicType = ()>>(
    object: &K,
    controller: bool,
) -> OwnerReference {
    OwnerReference {
        api_version: K::api_version(&()).into_owned(),
        kind: K::kind(&()).into_owned(),
        name: object.name_any(),
        uid: object.uid().unwrap_or_default(),
        controller: controller.then_some(true),
        block_owner_deletion: controller.then_some(true),
    }
}

/// Whether OCM's addon-manager manages an add-on: if not, nothing is installed.
pub fn is_adopted(addon: &ManagedClusterAddOn) -> bool {
    let name = addon.name_any();
    addon
        .owner_references()
        .iter()
        .any(|owner| owner.kind == "ClusterManagementAddOn" && owner.name == name)
}
