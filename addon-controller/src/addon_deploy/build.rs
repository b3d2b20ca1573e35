//! Builds works from rendered objects.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use reeve_runtime::object::ObjectKey;
use serde::Serialize;
use serde_json::{Value, json};

use super::assign::{LIMIT, assign};
use super::reapply::Reapplied;
use crate::addon::Installation;
use crate::facts::Inputs;
use crate::identity::{Identity, Side, is_hook, resource, side};
use crate::render::{self, RenderError};
use crate::work::{Content, Desired, hook_name, names};

/// Why the works could not be built.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// The objects could not be rendered.
    #[error(transparent)]
    Render(#[from] RenderError),
    /// An object has an invalid location.
    #[error("{0}")]
    Location(String),
}

/// The layout of an installation's live works, by index, with the objects of each.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Layouts {
    /// On the managed cluster.
    pub managed: Vec<Vec<Identity>>,
    /// On the hosting cluster.
    pub hosting: Vec<Vec<Identity>>,
    /// Namespaces on the managed cluster that the work agent keeps when they leave the work.
    pub orphaned_namespaces: BTreeSet<String>,
    /// The works to apply again.
    pub reapplied: Reapplied,
}

/// The works of one installation.
#[derive(Debug, Default)]
pub struct Works {
    /// The works with objects for the managed cluster.
    pub managed: Vec<Desired>,
    /// The works with objects for the hosting cluster.
    pub hosting: Vec<Desired>,
    /// The hook that cleans up on the managed cluster.
    pub hook: Option<Hook>,
    /// The hook that cleans up on the hosting cluster.
    pub hosting_hook: Option<Hook>,
    /// Settings that were ignored, with the reasons.
    pub ignored_settings: Vec<String>,
}

/// A work with a hook.
#[derive(Debug)]
pub struct Hook {
    /// The work.
    pub work: Desired,
    /// The Jobs and Pods that must succeed.
    pub names: Vec<String>,
}

/// Builds the works.
pub fn build(
    inputs: &Inputs,
    owner: Option<&OwnerReference>,
    config_hash: Option<&str>,
    layouts: &Layouts,
) -> Result<Works, BuildError> {
    let rendered = render::render(inputs)?;
    let is_hosted = inputs.hosting.is_some();
    let installation = &inputs.installation;
    let retained_namespace = retained_namespace(inputs, &rendered, layouts);
    let [mut managed, mut hosting, mut hook, mut hosting_hook] = [const { Vec::new() }; 4];
    for object in rendered.objects.into_iter().chain(retained_namespace) {
        let Some(side) = side(&object, is_hosted).map_err(BuildError::Location)? else {
            continue;
        };
        match (side, is_hook(&object)) {
            (Side::Managed, false) => managed.push(object),
            (Side::Hosting, false) => hosting.push(object),
            (Side::Managed, true) => hook.push(object),
            (Side::Hosting, true) => hosting_hook.push(object),
        }
    }
    let hosting_cluster = inputs.hosting.as_ref().map_or("", |hosting| &hosting.name);
    let make = Make {
        installation,
        owner,
        config_hash,
        reapplied: &layouts.reapplied,
    };
    let managed_names = |index| names::deploy(installation, index);
    let hosting_names = |index| names::hosting_deploy(installation, index);
    let cluster = &installation.cluster;
    Ok(Works {
        managed: make.works(cluster, managed, &layouts.managed, managed_names),
        hosting: make.works(hosting_cluster, hosting, &layouts.hosting, hosting_names),
        hook: make.hook(cluster, &hook, names::hook(installation)),
        hosting_hook: make.hook(
            hosting_cluster,
            &hosting_hook,
            names::hosting_hook(installation),
        ),
        ignored_settings: rendered.ignored_settings,
    })
}

/// The namespace of a cluster that turns out to be the hub: it must not be deleted with its work. The work agent
/// deletes what a work no longer names, unless its orphan rule was applied before. So the work names the namespace
/// until then.
fn retained_namespace(
    inputs: &Inputs,
    rendered: &render::Rendered,
    layouts: &Layouts,
) -> Option<Value> {
    let cluster = &inputs.installation.cluster;
    let namespace = json!({
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {
            "name": cluster,
            "annotations": { "addon.open-cluster-management.io/deletion-orphan": "" },
        },
    });
    let name = Identity::of(&namespace);
    let is_wanted = rendered
        .objects
        .iter()
        .any(|object| Identity::of(object) == name);
    let is_held = layouts.managed.iter().flatten().any(|held| *held == name);
    let is_retained =
        rendered.on_hub && is_held && !is_wanted && !layouts.orphaned_namespaces.contains(cluster);
    is_retained.then_some(namespace)
}

/// The fields that all works of an installation share.
struct Make<'a> {
    installation: &'a Installation,
    owner: Option<&'a OwnerReference>,
    config_hash: Option<&'a str>,
    reapplied: &'a Reapplied,
}

impl Make<'_> {
    fn works(
        &self,
        namespace: &str,
        objects: Vec<Value>,
        present: &[Vec<Identity>],
        name: impl Fn(usize) -> String,
    ) -> Vec<Desired> {
        let present: Vec<&[Identity]> = present.iter().map(Vec::as_slice).collect();
        let works = assign(&present, objects, LIMIT).into_iter().enumerate();
        works
            .filter(|(_, manifests)| !manifests.is_empty())
            .map(|(index, manifests)| {
                let key = ObjectKey::new(namespace, name(index));
                let name = key.to_string();
                let content = Content {
                    configs: Vec::new(),
                    manifests,
                    config_hash: self.config_hash,
                    reapplied_at: self.reapplied.at.get(&name).copied(),
                };
                Desired::new(self.installation, self.owner, key, &content)
            })
            .collect()
    }

    fn hook(&self, namespace: &str, manifests: &[Value], name: String) -> Option<Hook> {
        if manifests.is_empty() {
            return None;
        }
        let content = Content {
            configs: manifests.iter().map(feedback).collect(),
            config_hash: None,
            manifests: manifests.to_vec(),
            reapplied_at: None,
        };
        let key = ObjectKey::new(namespace, name);
        Some(Hook {
            work: Desired::new(self.installation, self.owner, key, &content),
            names: manifests.iter().map(hook_name).collect(),
        })
    }
}

/// Asks the work agent for the status of a hook, with a watch where the agent supports that.
fn feedback(object: &Value) -> Value {
    json!({
        "resourceIdentifier": resource(object),
        "feedbackRules": [{ "type": "WellKnownStatus" }],
        "feedbackScrapeType": "Watch",
    })
}

/// The hashes of configurations, for the annotation of a work; `None` if there are none.
pub fn config_hash(references: &[reeve_api::addon::ConfigReference]) -> Option<String> {
    let hashes: BTreeMap<String, &str> = references
        .iter()
        .map(|reference| {
            let desired = reference.desired_config.as_ref();
            let (namespace, name, hash) = desired.map_or(("", "", ""), |desired| {
                (&*desired.namespace, &*desired.name, &*desired.spec_hash)
            });
            let resource = &reference.resource;
            let mut key = format!("{}.{}/", resource.resource, resource.group);
            if !namespace.is_empty() {
                key += namespace;
                key.push('/');
            }
            (key + name, hash)
        })
        .collect();
    // Strings and maps of strings always serialize.
    (!hashes.is_empty()).then(|| serde_json::to_string(&hashes).unwrap_or_default())
}
