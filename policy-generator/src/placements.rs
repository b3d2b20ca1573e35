//! Placements, and the bindings of policies and policy sets to them.

use std::collections::{BTreeMap, BTreeSet};

use reeve_go_compat::value::{Map, Value};

use crate::config::{Generator, PlacementConfig};
use crate::error::Error;
use crate::kinds::{
    BINDING_KIND, PLACEMENT_API_VERSION, PLACEMENT_GROUP, PLACEMENT_KIND, POLICY_API_VERSION,
    POLICY_GROUP, POLICY_KIND, POLICY_SET_KIND,
};
use crate::manifests;
use crate::messages;
use crate::paths::Base;
use crate::selectors::label_selector;
use crate::values::{map_field, set, text_field};

/// The taints that a generated placement tolerates: a policy stays on a cluster that cannot be reached.
const TOLERATED: [&str; 2] = [
    "cluster.open-cluster-management.io/unavailable",
    "cluster.open-cluster-management.io/unreachable",
];

/// The placements and the bindings, in the order of the output.
pub fn placements(generator: &Generator, base: &Base) -> Result<Vec<Map>, Error> {
    let mut builder = Builder {
        generator,
        base,
        objects: Vec::new(),
        generated: Vec::new(),
        emitted: BTreeSet::new(),
        of_files: BTreeSet::new(),
        bound: BTreeMap::new(),
    };
    let mut in_sets = BTreeSet::new();
    for set in &generator.policy_sets {
        in_sets.extend(set.policies.iter().map(String::as_str));
    }
    for policy in &generator.policies {
        let options = &policy.policy;
        let wanted = options.generate_placement_when_in_set == Some(true)
            || (options.generate_policy_placement == Some(true)
                && !in_sets.contains(policy.name.as_str()));
        if wanted {
            let placement = builder.placement(&options.placement, &policy.name, Of::Policy)?;
            let bound = builder.bound.entry(placement).or_default();
            bound.policies.push(&policy.name);
        }
    }
    for set in &generator.policy_sets {
        if set.generate_placement == Some(true) {
            let placement = builder.placement(&set.placement, &set.name, Of::Set)?;
            builder
                .bound
                .entry(placement)
                .or_default()
                .sets
                .push(&set.name);
        }
    }
    builder.bindings()?;
    Ok(builder.objects)
}

/// What a placement is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Of {
    Policy,
    Set,
}

#[derive(Default)]
struct Bound<'a> {
    policies: Vec<&'a str>,
    sets: Vec<&'a str>,
}

struct Builder<'a> {
    generator: &'a Generator,
    base: &'a Base,
    objects: Vec<Map>,
    /// The selectors of generated placements, with their names.
    generated: Vec<(Option<Value>, String)>,
    emitted: BTreeSet<String>,
    of_files: BTreeSet<String>,
    bound: BTreeMap<String, Bound<'a>>,
}

impl Builder<'_> {
    /// The name of a placement, which is added if it is not there.
    fn placement(&mut self, config: &PlacementConfig, name: &str, of: Of) -> Result<String, Error> {
        if !config.placement_name.is_empty() {
            return Ok(config.placement_name.clone());
        }
        if !config.path.is_empty() {
            return self.of_file(&config.path);
        }
        let selector = config.label_selector.as_ref();
        let chosen = match self.name(config, name, of) {
            Name::Joined(name) => return Ok(name),
            Name::New(name) => name,
        };
        let object = self.generate(&chosen, selector);
        self.emit(&chosen, object)?;
        self.register(selector, &chosen);
        Ok(chosen)
    }

    fn name(&self, config: &PlacementConfig, name: &str, of: Of) -> Name {
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
        let selector = config.label_selector.as_ref();
        match self
            .generated
            .iter()
            .find(|(known, _)| is_same(known.as_ref(), selector))
        {
            Some((_, known)) => Name::Joined(known.clone()),
            None if self.generated.is_empty() => Name::New(default.clone()),
            None => Name::New(format!("{default}{}", self.generated.len() + 1)),
        }
    }

    fn register(&mut self, selector: Option<&Value>, name: &str) {
        let known = self
            .generated
            .iter_mut()
            .find(|(known, _)| is_same(known.as_ref(), selector));
        match known {
            Some((_, known)) => name.clone_into(known),
            None => self.generated.push((selector.cloned(), name.to_owned())),
        }
    }

    fn emit(&mut self, name: &str, object: Map) -> Result<(), Error> {
        if !self.emitted.insert(name.to_owned()) {
            return Err(Error::new(messages::repeated_placement(name)));
        }
        self.objects.push(object);
        Ok(())
    }

    fn of_file(&mut self, path: &str) -> Result<String, Error> {
        let objects = manifests::file(path, &self.base.join(path))
            .and_then(|objects| match objects.as_slice() {
                [] => Err(Error::new(messages::empty_manifest(path))),
                _ => Ok(objects),
            })
            .map_err(|error| Error::new(messages::in_placement_file(&error)))?;
        let is_placement =
            |object: &Map| text_field(object, "kind").as_deref() == Some(PLACEMENT_KIND);
        let Some(placement) = objects.into_iter().find(is_placement) else {
            return Err(Error::new(messages::no_placement_in(path)));
        };
        let metadata = map_field(&placement, "metadata").unwrap_or_else(Map::dict);
        let required = |field: &str| {
            text_field(&metadata, field)
                .ok_or_else(|| Error::new(messages::placement_lacks(path, field)))
        };
        let (name, namespace) = (required("name")?, required("namespace")?);
        let expected = &self.generator.defaults.namespace;
        if namespace != *expected {
            return Err(Error::new(messages::placement_elsewhere(path, expected)));
        }
        if name.is_empty() {
            return Err(Error::new(messages::no_placement_in(path)));
        }
        if self.of_files.insert(name.clone()) {
            self.emit(&name, placement)?;
        }
        Ok(name)
    }

    fn generate(&self, name: &str, selector: Option<&Value>) -> Map {
        let selector = label_selector(selector).unwrap_or(Value::Nil);
        let predicate = Value::dict([(
            "requiredClusterSelector",
            Value::dict([("labelSelector", selector)]),
        )]);
        let tolerations =
            TOLERATED.map(|key| Value::dict([("key", key.into()), ("operator", "Exists".into())]));
        let spec = Value::dict([
            ("predicates", Value::list([predicate])),
            ("tolerations", Value::list(tolerations)),
        ]);
        self.object(
            PLACEMENT_API_VERSION,
            PLACEMENT_KIND,
            name,
            [("spec", spec)],
        )
    }

    fn object<const N: usize>(
        &self,
        api_version: &str,
        kind: &str,
        name: &str,
        fields: [(&str, Value); N],
    ) -> Map {
        let object = Map::dict();
        set(&object, "apiVersion", api_version);
        set(&object, "kind", kind);
        let namespace = self.generator.defaults.namespace.as_str();
        let metadata = [("name", name.into()), ("namespace", namespace.into())];
        set(&object, "metadata", Value::dict(metadata));
        for (key, value) in fields {
            set(&object, key, value);
        }
        object
    }

    fn bindings(&mut self) -> Result<(), Error> {
        let mut named = 0;
        for (placement, bound) in std::mem::take(&mut self.bound) {
            let default = &self.generator.binding_name;
            let name = match (bound.policies.as_slice(), bound.sets.as_slice()) {
                ([policy], []) => format!("binding-{policy}"),
                // Upstream writes a binding without a name here, which no API server takes.
                ([], [set]) if default.is_empty() => format!("binding-{set}"),
                _ if default.is_empty() => {
                    return Err(Error::new(messages::no_binding_name(&placement)));
                }
                _ => {
                    named += 1;
                    match named {
                        1 => default.clone(),
                        count => format!("{default}{count}"),
                    }
                }
            };
            let subject = |kind: &str, name: &&str| {
                Value::dict([
                    ("apiGroup", POLICY_GROUP.into()),
                    ("kind", kind.into()),
                    ("name", Value::from(*name)),
                ])
            };
            let policies = bound.policies.iter().map(|name| subject(POLICY_KIND, name));
            let sets = bound.sets.iter().map(|name| subject(POLICY_SET_KIND, name));
            let reference = Value::dict([
                ("apiGroup", PLACEMENT_GROUP.into()),
                ("kind", PLACEMENT_KIND.into()),
                ("name", placement.as_str().into()),
            ]);
            let subjects = Value::list(policies.chain(sets));
            let fields = [("placementRef", reference), ("subjects", subjects)];
            let object = self.object(POLICY_API_VERSION, BINDING_KIND, &name, fields);
            self.objects.push(object);
        }
        Ok(())
    }
}

enum Name {
    /// The name of a placement that is there.
    Joined(String),
    New(String),
}

fn is_same(a: Option<&Value>, b: Option<&Value>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => a.deep_equal(b),
        (None, None) => true,
        _ => false,
    }
}
