//! The bindings of policies and policy sets to placements.

use std::collections::BTreeMap;

use reeve_go_compat::value::{Map, Value};

use super::metadata;
use crate::config::{BindingOptions, Generator};
use crate::error::Error;
use crate::kinds::{
    BINDING_KIND, PLACEMENT_GROUP, PLACEMENT_KIND, POLICY_API_VERSION, POLICY_GROUP, POLICY_KIND,
    POLICY_SET_KIND,
};
use crate::messages;
use crate::values::set;

/// What is bound, by the name of the placement and the options of the binding.
#[derive(Default)]
pub(super) struct Bound<'a>(BTreeMap<(String, BindingOptions), Subjects<'a>>);

#[derive(Default)]
struct Subjects<'a> {
    policies: Vec<&'a str>,
    sets: Vec<&'a str>,
}

impl<'a> Bound<'a> {
    pub(super) fn add_policy(
        &mut self,
        placement: String,
        options: &BindingOptions,
        name: &'a str,
    ) {
        let bound = self.0.entry((placement, options.clone())).or_default();
        bound.policies.push(name);
    }

    pub(super) fn add_set(&mut self, placement: String, options: &BindingOptions, name: &'a str) {
        let bound = self.0.entry((placement, options.clone())).or_default();
        bound.sets.push(name);
    }

    /// The bindings, in the order of the placements.
    pub(super) fn bindings(self, generator: &Generator) -> Result<Vec<Map>, Error> {
        let namespace = generator.defaults.namespace.as_str();
        let mut names = Names {
            default: &generator.binding_name,
            used: 0,
        };
        let mut bindings = Vec::with_capacity(self.0.len());
        for ((placement, options), subjects) in self.0 {
            let name = names.next(&placement, &subjects)?;
            bindings.push(binding(
                metadata(&name, namespace),
                &placement,
                &options,
                &subjects,
            ));
        }
        Ok(bindings)
    }
}

/// Names bindings.
struct Names<'a> {
    default: &'a str,
    /// How many bindings have the default name.
    used: usize,
}

impl Names<'_> {
    fn next(&mut self, placement: &str, subjects: &Subjects<'_>) -> Result<String, Error> {
        match (subjects.policies.as_slice(), subjects.sets.as_slice()) {
            ([policy], []) => Ok(format!("binding-{policy}")),
            // Upstream writes a binding without a name here, which no API server takes.
            ([], [set]) if self.default.is_empty() => Ok(format!("binding-{set}")),
            _ if self.default.is_empty() => Err(Error::new(messages::no_binding_name(placement))),
            _ => {
                self.used += 1;
                Ok(match self.used {
                    1 => self.default.to_owned(),
                    count => format!("{}{count}", self.default),
                })
            }
        }
    }
}

fn binding(
    metadata: Map,
    placement: &str,
    options: &BindingOptions,
    subjects: &Subjects<'_>,
) -> Map {
    let subject = |kind: &str, name: &&str| {
        Value::dict([
            ("apiGroup", POLICY_GROUP.into()),
            ("kind", kind.into()),
            ("name", Value::from(*name)),
        ])
    };
    let policies = subjects.policies.iter();
    let policies = policies.map(|name| subject(POLICY_KIND, name));
    let sets = subjects.sets.iter();
    let sets = sets.map(|name| subject(POLICY_SET_KIND, name));
    let reference = Value::dict([
        ("apiGroup", PLACEMENT_GROUP.into()),
        ("kind", PLACEMENT_KIND.into()),
        ("name", placement.into()),
    ]);
    let binding = Map::dict();
    set(&binding, "apiVersion", POLICY_API_VERSION);
    set(&binding, "kind", BINDING_KIND);
    set(&binding, "metadata", Value::Map(metadata));
    set(&binding, "placementRef", reference);
    set(&binding, "subjects", Value::list(policies.chain(sets)));
    if !options.sub_filter.is_empty() {
        set(&binding, "subFilter", options.sub_filter.as_str());
    }
    if !options.remediation_action.is_empty() {
        let action = options.remediation_action.as_str().into();
        let overrides = Value::dict([("remediationAction", action)]);
        set(&binding, "bindingOverrides", overrides);
    }
    binding
}
