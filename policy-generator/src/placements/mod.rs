//! Placements, and the bindings of policies and policy sets to them.

mod bindings;

use std::collections::{BTreeMap, BTreeSet};

use reeve_go_compat::value::{Map, Value};

use crate::config::{Generator, PlacementConfig, PlacementSpec, PolicyConfig};
use crate::error::Error;
use crate::kinds::{PLACEMENT_API_VERSION, PLACEMENT_GROUP, PLACEMENT_KIND};
use crate::manifests;
use crate::messages;
use crate::notices::Notices;
use crate::selectors::label_selector;
use crate::settings::Settings;
use crate::values::{map_field, object, set, text_field};

use bindings::Bound;

/// The taints that a generated placement tolerates: a policy stays on a cluster that cannot be reached.
const TOLERATED: [&str; 2] = [
    "cluster.open-cluster-management.io/unavailable",
    "cluster.open-cluster-management.io/unreachable",
];

/// The placements and the bindings, in the order of the output.
pub fn placements(
    generator: &Generator,
    settings: &Settings,
    notices: &mut Notices,
) -> Result<Vec<Map>, Error> {
    let mut builder = Builder {
        generator,
        settings,
        notices,
        objects: Vec::new(),
        generated: Vec::new(),
        emitted: BTreeMap::new(),
        of_files: BTreeMap::new(),
    };
    let mut bound = Bound::default();
    let mut in_sets = BTreeSet::new();
    for set in &generator.policy_sets {
        in_sets.extend(set.policies.iter().map(String::as_str));
    }
    for policy in &generator.policies {
        let options = &policy.policy;
        if builder.is_placed(policy, in_sets.contains(policy.name.as_str())) {
            let placement = builder.placement(&options.placement, &policy.name, Of::Policy)?;
            bound.add_policy(placement, &options.placement.binding, &policy.name);
        }
    }
    for set in &generator.policy_sets {
        if set.generate_placement == Some(true) {
            let placement = builder.placement(&set.placement, &set.name, Of::Set)?;
            bound.add_set(placement, &set.placement.binding, &set.name);
        }
    }
    let mut objects = builder.objects;
    objects.extend(bound.bindings(generator)?);
    Ok(objects)
}

/// What a placement is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Of {
    Policy,
    Set,
}

struct Builder<'a> {
    generator: &'a Generator,
    settings: &'a Settings,
    notices: &'a mut Notices,
    objects: Vec<Map>,
    /// The sources of generated placements, with their names.
    generated: Vec<(Source, String)>,
    /// All placements of the output by name.
    emitted: BTreeMap<String, Value>,
    /// Those that come from files.
    of_files: BTreeMap<String, Value>,
}

/// What a generated placement is made of.
struct Source {
    selector: Option<Value>,
    spec: PlacementSpec,
}

impl Source {
    fn of(config: &PlacementConfig) -> Self {
        Self {
            selector: config.label_selector.clone(),
            spec: config.spec.clone(),
        }
    }

    /// Whether both were given the same. Selectors that choose the same clusters in other words are different ones.
    fn is_same(&self, other: &Self) -> bool {
        let given = |source: &Self| {
            let spec = Value::dict(source.spec.fields());
            Value::list([spec, source.selector.clone().unwrap_or(Value::Nil)])
        };
        given(self).deep_equal(&given(other))
    }
}

impl Builder<'_> {
    /// Whether a policy has a placement. Upstream's generator makes one by `generatePlacementWhenInSet` for policies in no set, too.
    fn is_placed(&mut self, policy: &PolicyConfig, is_in_set: bool) -> bool {
        let when_in_set = policy.policy.generate_placement_when_in_set == Some(true);
        if is_in_set {
            return when_in_set;
        }
        if policy.policy.generate_policy_placement == Some(true) {
            return true;
        }
        if when_in_set && !self.settings.mode.is_extended() {
            self.notices
                .warn(messages::placed_outside_sets(&policy.name));
            return true;
        }
        false
    }

    /// The name of a placement, which is added if it is not there.
    fn placement(&mut self, config: &PlacementConfig, name: &str, of: Of) -> Result<String, Error> {
        if !config.placement_name.is_empty() {
            return Ok(config.placement_name.clone());
        }
        if !config.path.is_empty() {
            return self.of_file(&config.path);
        }
        let source = Source::of(config);
        let chosen = match self.name(config, &source, (name, of)) {
            Name::Joined(name) => return Ok(name),
            Name::New(name) => name,
        };
        let object = self.generate(&chosen, config);
        self.emit(&chosen, object)?;
        self.register(source, &chosen);
        Ok(chosen)
    }

    fn name(&self, config: &PlacementConfig, source: &Source, (name, of): (&str, Of)) -> Name {
        if !config.name.is_empty() {
            return Name::New(config.name.clone());
        }
        let of_sets = &self.generator.set_defaults.placement.name;
        let default = if of == Of::Set && !of_sets.is_empty() {
            of_sets
        } else {
            &self.generator.defaults.policy.placement.name
        };
        if default.is_empty() {
            return Name::New(format!("placement-{name}"));
        }
        match self
            .generated
            .iter()
            .find(|(known, _)| known.is_same(source))
        {
            Some((_, known)) => Name::Joined(known.clone()),
            None if self.generated.is_empty() => Name::New(default.clone()),
            None => Name::New(format!("{default}{}", self.generated.len() + 1)),
        }
    }

    fn register(&mut self, source: Source, name: &str) {
        let known = self
            .generated
            .iter_mut()
            .find(|(known, _)| known.is_same(&source));
        match known {
            Some((_, known)) => name.clone_into(known),
            None => self.generated.push((source, name.to_owned())),
        }
    }

    fn emit(&mut self, name: &str, object: Map) -> Result<(), Error> {
        let value = Value::Map(object.clone());
        match self.emitted.get(name) {
            Some(known) if self.settings.mode.is_extended() && known.deep_equal(&value) => {}
            Some(_) => return Err(Error::new(messages::repeated_placement(name))),
            None => {
                self.emitted.insert(name.to_owned(), value);
                self.objects.push(object);
            }
        }
        Ok(())
    }

    fn of_file(&mut self, path: &str) -> Result<String, Error> {
        let base = &self.settings.base;
        let objects = manifests::file(path, &base.join(path))
            .and_then(|objects| match objects.as_slice() {
                [] => Err(Error::new(messages::empty_manifest(path))),
                _ => Ok(objects),
            })
            .map_err(|error| Error::new(messages::in_placement_file(&error)))?;
        if let Err(error) = base.check(path, "placement") {
            self.notices.warn(error.to_string());
        }
        let is_placement =
            |object: &Map| text_field(object, "kind").as_deref() == Some(PLACEMENT_KIND);
        let mut placements = objects.into_iter().filter(is_placement);
        let Some(placement) = placements.next() else {
            return Err(Error::new(messages::no_placement_in(path)));
        };
        let name = placement_name(&placement, path, &self.generator.defaults.namespace)?;
        if placements.next().is_some() {
            self.notices.warn(messages::further_placements(path, &name));
        }
        let api_version = text_field(&placement, "apiVersion").unwrap_or_default();
        if api_version.split_once('/').map(|(group, _)| group) != Some(PLACEMENT_GROUP) {
            self.notices
                .warn(messages::foreign_placement(path, &name, &api_version));
        }
        let value = Value::Map(placement.clone());
        match self.of_files.get(&name) {
            Some(known) if known.deep_equal(&value) => {}
            Some(_) => self
                .notices
                .warn(messages::different_placement(path, &name)),
            None => {
                self.of_files.insert(name.clone(), value);
                self.emit(&name, placement)?;
            }
        }
        Ok(name)
    }

    fn generate(&self, name: &str, config: &PlacementConfig) -> Map {
        let selector = label_selector(config.label_selector.as_ref()).unwrap_or(Value::Nil);
        let predicate = Value::dict([(
            "requiredClusterSelector",
            Value::dict([("labelSelector", selector)]),
        )]);
        let tolerations =
            TOLERATED.map(|key| Value::dict([("key", key.into()), ("operator", "Exists".into())]));
        let spec = Map::dict();
        set(&spec, "predicates", Value::list([predicate]));
        set(&spec, "tolerations", Value::list(tolerations));
        for (key, value) in config.spec.fields() {
            set(&spec, key, value);
        }
        let namespace = &self.generator.defaults.namespace;
        let metadata = metadata(name, namespace);
        object(PLACEMENT_API_VERSION, PLACEMENT_KIND, metadata, spec)
    }
}

/// The name of a placement of a file, which has to be in the namespace of the policies.
fn placement_name(placement: &Map, path: &str, expected: &str) -> Result<String, Error> {
    let metadata = map_field(placement, "metadata").unwrap_or_else(Map::dict);
    let required = |field: &str| {
        text_field(&metadata, field)
            .ok_or_else(|| Error::new(messages::placement_lacks(path, field)))
    };
    let (name, namespace) = (required("name")?, required("namespace")?);
    if namespace != expected {
        return Err(Error::new(messages::placement_elsewhere(path, expected)));
    }
    if name.is_empty() {
        return Err(Error::new(messages::no_placement_in(path)));
    }
    Ok(name)
}

fn metadata(name: &str, namespace: &str) -> Map {
    let metadata = Map::dict();
    set(&metadata, "name", name);
    set(&metadata, "namespace", namespace);
    metadata
}

enum Name {
    /// The name of a placement that is there.
    Joined(String),
    New(String),
}
