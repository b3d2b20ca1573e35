//! Gatekeeper's own configuration on the cluster: `Config`, `SyncSet` and `ExpansionTemplate`, where their kinds are served. The audit
//! does without those that are not (GK-161 to GK-163).

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use reeve_gatekeeper::audit::{ResourceKind, is_expanded_for};
use reeve_gatekeeper::configuration::{Exclusions, Process, synced_kinds};
use reeve_gatekeeper::constraint::Constraint;
use reeve_gatekeeper::expansion::{Expansion, ExpansionTemplate};
use reeve_runtime::object::ObjectKey;
use reeve_runtime::queue::Action;
use serde_json::Value;
use tokio::sync::watch;
use tokio_util::task::AbortOnDropHandle;

use crate::follow::{Change, follow};
use crate::resources::key_of;
use crate::state::{Audit, PLAN_WINDOW, Served, Work};

/// Gatekeeper reads the `Config` of this namespace and name, and no other.
const CONFIG: (&str, &str) = ("gatekeeper-system", "config");
/// How long an audit waits for the configuration before it begins without.
const PATIENCE: Duration = Duration::from_secs(10);

/// A kind of Gatekeeper's configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    Config,
    SyncSet,
    ExpansionTemplate,
}

impl Kind {
    const ALL: [Self; 3] = [Self::Config, Self::SyncSet, Self::ExpansionTemplate];

    fn is(self, kind: &ResourceKind) -> bool {
        let (group, name) = match self {
            Self::Config => ("config.gatekeeper.sh", "Config"),
            Self::SyncSet => ("syncset.gatekeeper.sh", "SyncSet"),
            Self::ExpansionTemplate => ("expansion.gatekeeper.sh", "ExpansionTemplate"),
        };
        kind.group == group && kind.kind == name
    }
}

/// What is configured, and what comes of it.
#[derive(Debug, Default)]
pub(crate) struct Configuration {
    objects: HashMap<Kind, BTreeMap<String, Value>>,
    watches: HashMap<Kind, Followed>,
    effect: Arc<Effect>,
}

#[derive(Debug)]
struct Followed {
    _task: AbortOnDropHandle<()>,
    synced: watch::Receiver<bool>,
}

/// What the configuration comes to.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Effect {
    exclusions: Exclusions,
    synced: HashSet<ResourceKind>,
    /// What is made of objects, and reviewed with them.
    pub(crate) expansion: Expansion,
}

impl Effect {
    fn of(objects: &HashMap<Kind, BTreeMap<String, Value>>) -> Self {
        let of_kind = |kind: Kind| objects.get(&kind).into_iter().flat_map(BTreeMap::values);
        let config = of_kind(Kind::Config).next();
        let syncing = config.into_iter().chain(of_kind(Kind::SyncSet));
        let templates = of_kind(Kind::ExpansionTemplate).filter_map(|object| {
            let parsed = ExpansionTemplate::parse(object);
            if let Err(error) = &parsed {
                let name = crate::resources::name_of(object);
                tracing::warn!(name, %error, "expansion template is not used");
            }
            parsed.ok()
        });
        Self {
            exclusions: config.map(Exclusions::of_config).unwrap_or_default(),
            synced: syncing.flat_map(synced_kinds).collect(),
            expansion: Expansion::new(templates),
        }
    }

    /// Whether objects of a kind are put into the inventory.
    pub(crate) fn syncs(&self, kind: &ResourceKind) -> bool {
        self.synced.contains(kind)
    }

    /// Whether a constraint may match objects of a kind, or what is made of them.
    pub(crate) fn concerns(&self, constraint: &Constraint, kind: &ResourceKind) -> bool {
        constraint.matches.matches_kind(&kind.group, &kind.kind)
            || is_expanded_for(kind, constraint, &self.expansion)
    }

    /// Whether a process leaves an object out.
    pub(crate) fn excludes(&self, process: Process, object: &Value) -> bool {
        self.exclusions.excludes(process, object)
    }
}

impl Audit {
    /// What the configuration comes to now.
    pub(crate) fn effect(&self) -> Arc<Effect> {
        Arc::clone(&self.configuration.lock().effect)
    }

    /// Follows the configuration of kinds that are served, and waits until it is known.
    pub(crate) async fn follow_configuration(self: &Arc<Self>, served: &[Served]) {
        let mut waiting = Vec::new();
        for kind in Kind::ALL {
            let found = served.iter().find(|one| kind.is(&one.kind));
            let mut configuration = self.configuration.lock();
            match (found, configuration.watches.get(&kind)) {
                (Some(_), Some(followed)) => waiting.push(followed.synced.clone()),
                (Some(served), None) => {
                    let (done, synced) = watch::channel(false);
                    let task = tokio::spawn(watch(Arc::clone(self), kind, served.clone(), done));
                    let followed = Followed {
                        _task: AbortOnDropHandle::new(task),
                        synced: synced.clone(),
                    };
                    configuration.watches.insert(kind, followed);
                    waiting.push(synced);
                }
                (None, Some(_)) => {
                    configuration.watches.remove(&kind);
                    configuration.objects.remove(&kind);
                    drop(configuration);
                    self.configuration_changed();
                }
                (None, None) => {}
            }
        }
        let all = async {
            for mut synced in waiting {
                // An error: the watch was replaced.
                let _ = synced.wait_for(|synced| *synced).await;
            }
        };
        if tokio::time::timeout(PATIENCE, all).await.is_err() {
            // When it is read, it counts.
            tracing::warn!(
                "the audit of constraints begins without Gatekeeper's configuration: it cannot be read"
            );
        }
    }

    /// Ends the watches of the configuration, which hold this.
    pub(crate) fn unfollow_configuration(&self) {
        self.configuration.lock().watches.clear();
    }

    /// Lists again what the changed configuration concerns.
    pub(crate) fn configuration_changed(&self) -> Action {
        let (before, now) = {
            let mut configuration = self.configuration.lock();
            let now = Arc::new(Effect::of(&configuration.objects));
            let before = std::mem::replace(&mut configuration.effect, Arc::clone(&now));
            (before, now)
        };
        if before == now {
            return Action::AwaitChange;
        }
        if before.exclusions != now.exclusions || before.expansion != now.expansion {
            for watch in self.kind_watches.lock().values_mut() {
                watch.is_outdated = true;
            }
        }
        self.queue.add(Work::Kinds);
        Action::AwaitChange
    }

    fn configure(&self, kind: Kind, key: &ObjectKey, object: Option<Value>) {
        let is_read = kind != Kind::Config || (key.namespace.as_str(), key.name.as_str()) == CONFIG;
        if !is_read {
            return;
        }
        let mut configuration = self.configuration.lock();
        let objects = configuration.objects.entry(kind).or_default();
        match object {
            Some(object) => objects.insert(key.name.clone(), object),
            None => objects.remove(&key.name),
        };
    }
}

async fn watch(audit: Arc<Audit>, kind: Kind, served: Served, done: watch::Sender<bool>) {
    let on_change = |change| {
        match change {
            Change::Present(object) => audit.configure(kind, &key_of(&object), Some(object)),
            Change::Gone(key) => audit.configure(kind, &key, None),
            Change::Synced => {
                audit.configuration_changed();
                done.send_replace(true);
            }
        }
        if *done.borrow() {
            audit.queue.add_after(Work::Configuration, PLAN_WINDOW);
        }
    };
    follow(audit.client.clone(), served.resource, on_change).await;
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn kind(kind: &str) -> ResourceKind {
        ResourceKind {
            group: String::new(),
            version: "v1".to_owned(),
            kind: kind.to_owned(),
        }
    }

    #[test]
    fn gk_161_config_and_sync_sets_name_kinds_together() {
        let object = |name: &str, spec: Value| {
            (
                name.to_owned(),
                json!({"metadata": {"name": name}, "spec": spec}),
            )
        };
        let gvk = |kind: &str| json!({"version": "v1", "kind": kind});
        let sets = [
            object("a", json!({"gvks": [gvk("Pod")]})),
            object("b", json!({"gvks": [gvk("Service"), gvk("Pod")]})),
        ];
        let config = object("config", json!({"sync": {"syncOnly": [gvk("Namespace")]}}));
        let mut objects = HashMap::from([
            (Kind::Config, BTreeMap::from([config])),
            (Kind::SyncSet, BTreeMap::from(sets)),
        ]);
        let effect = Effect::of(&objects);
        let synced = ["Pod", "Service", "Namespace", "Secret"].map(|one| effect.syncs(&kind(one)));
        assert_eq!(synced, [true, true, true, false]);
        // What another set still names, stays.
        objects.get_mut(&Kind::SyncSet).unwrap().remove("b");
        let effect = Effect::of(&objects);
        assert!(effect.syncs(&kind("Pod")) && !effect.syncs(&kind("Service")));
    }

    #[test]
    fn gk_163_expansion_template_that_is_none_leaves_the_others() {
        let good = json!({"metadata": {"name": "good"}, "spec": {
            "applyTo": [{"groups": [""], "versions": ["v1"], "kinds": ["Job"]}],
            "templateSource": "spec.template", "generatedGVK": {"version": "v1", "kind": "Pod"},
        }});
        let bad = json!({"metadata": {"name": "bad"}, "spec": {}});
        let templates = BTreeMap::from([("good".to_owned(), good), ("bad".to_owned(), bad)]);
        let effect = Effect::of(&HashMap::from([(Kind::ExpansionTemplate, templates)]));
        assert_eq!(effect.expansion.made_of(&kind("Job")), [kind("Pod")]);
    }
}
