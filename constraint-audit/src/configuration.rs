//! Gatekeeper's own configuration on the cluster: `Config`, `SyncSet` and `ExpansionTemplate`, where their kinds are served. The audit
//! does without those that are not (GK-161 to GK-163).

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use reeve_api::names::GATEKEEPER_NAMESPACE;
use reeve_gatekeeper::audit::ResourceKind;
use reeve_gatekeeper::client::{Matching, Violation};
use reeve_gatekeeper::configuration::{Exclusions, Process, synced_kinds};
use reeve_gatekeeper::constraint::Constraint;
use reeve_gatekeeper::expansion::{Expansion, ExpansionTemplate};
use reeve_gatekeeper::matching::Source;
use reeve_gatekeeper::review::Review;
use reeve_runtime::object::ObjectKey;
use reeve_runtime::secrets::Secrets;
use serde_json::Value;
use tokio::sync::watch;
use tokio_util::task::AbortOnDropHandle;

use crate::redaction;
use crate::resources::name_of;

/// Gatekeeper reads the `Config` of this namespace and name, and no other.
const CONFIG: (&str, &str) = (GATEKEEPER_NAMESPACE, "config");

/// A kind of Gatekeeper's configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    Config,
    SyncSet,
    ExpansionTemplate,
}

impl Kind {
    /// All of them.
    pub(crate) const ALL: [Self; 3] = [Self::Config, Self::SyncSet, Self::ExpansionTemplate];

    /// Whether it is this one.
    pub(crate) fn is(self, kind: &ResourceKind) -> bool {
        let (group, name) = match self {
            Self::Config => ("config.gatekeeper.sh", "Config"),
            Self::SyncSet => ("syncset.gatekeeper.sh", "SyncSet"),
            Self::ExpansionTemplate => ("expansion.gatekeeper.sh", "ExpansionTemplate"),
        };
        kind.group == group && kind.kind == name
    }

    /// Whether the object of a namespace and name counts.
    pub(crate) fn is_read(self, key: &ObjectKey) -> bool {
        self != Self::Config || (key.namespace.as_str(), key.name.as_str()) == CONFIG
    }
}

/// What is configured, and what comes of it.
#[derive(Debug, Default)]
pub(crate) struct Configuration {
    pub(crate) objects: HashMap<Kind, BTreeMap<String, Value>>,
    pub(crate) watches: HashMap<Kind, Followed>,
    pub(crate) effect: Arc<Effect>,
}

/// The watch of a kind; it ends when this is dropped.
#[derive(Debug)]
pub(crate) struct Followed {
    pub(crate) _task: AbortOnDropHandle<()>,
    pub(crate) synced: watch::Receiver<bool>,
}

/// What the configuration comes to.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Effect {
    pub(crate) exclusions: Exclusions,
    synced: HashSet<ResourceKind>,
    /// What is made of objects, and reviewed with them.
    pub(crate) expansion: Expansion,
}

impl Effect {
    /// Of the objects of each kind, by name.
    pub(crate) fn of(objects: &HashMap<Kind, BTreeMap<String, Value>>) -> Self {
        let of_kind = |kind: Kind| objects.get(&kind).into_iter().flat_map(BTreeMap::values);
        let config = of_kind(Kind::Config).next();
        let syncing = config.into_iter().chain(of_kind(Kind::SyncSet));
        let templates = of_kind(Kind::ExpansionTemplate).filter_map(|object| {
            let parsed = ExpansionTemplate::parse(object);
            if let Err(error) = &parsed {
                let name = name_of(object);
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
            || self.expansion.makes_for(kind, constraint)
    }

    /// Whether a process leaves an object out.
    pub(crate) fn excludes(&self, process: Process, object: &Value) -> bool {
        self.exclusions.excludes(process, object)
    }

    /// The violations by an object, and by what is made of it. `matching` chooses the constraints. No message shows a value of
    /// the object, if it is a Secret, nor one of `secrets`, which templates read.
    pub(crate) fn review(
        &self,
        object: Value,
        secrets: &Secrets,
        matching: impl Fn(&Review) -> Matching,
    ) -> Result<Vec<Violation>, String> {
        let made = if self.expansion.is_empty() {
            Vec::new()
        } else {
            let made = self.expansion.expand(&object);
            made.map_err(|error| error.to_string())?
        };
        let review = |object: Value, source: Source| -> Result<Review, String> {
            let review = Review::of_object(object).map_err(|error| error.to_string())?;
            Ok(review.with_source(source))
        };
        let evaluate = |review: &Review| matching(review).evaluate(review, || false);
        let original = review(object, Source::Original)?;
        let mut violations = evaluate(&original);
        for resultant in made {
            let found = evaluate(&review(resultant.object.clone(), Source::Generated)?);
            violations.extend(resultant.attribute(found));
        }
        redaction::redact(secrets, [original.object()], &mut violations);
        Ok(violations)
    }
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
