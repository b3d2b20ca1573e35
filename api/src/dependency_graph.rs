//! Which policies and templates wait for each other.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde_json::Value;

use crate::names::{GROUP, split_api_version};
use crate::policy::{PolicyDependency, PolicySpec};

/// What a template can depend on, and what can depend on something.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Dependent {
    /// API group.
    pub group: String,
    /// The kind: `Policy`, or that of a template.
    pub kind: String,
    /// The name. That of a `Policy` is the one by which the dependencies of the graph name it.
    pub name: String,
}

impl fmt::Display for Dependent {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {}", self.kind, self.name)
    }
}

impl Dependent {
    /// The object of a dependency. `policy_name` names the policies and sets that dependencies are about.
    pub fn of(
        dependency: &PolicyDependency,
        policy_name: impl Fn(&PolicyDependency) -> String,
    ) -> Self {
        let (group, _) = split_api_version(&dependency.api_version);
        let is_named = group == GROUP && matches!(&*dependency.kind, "Policy" | "PolicySet");
        Self {
            group: group.to_owned(),
            kind: dependency.kind.clone(),
            name: if is_named {
                policy_name(dependency)
            } else {
                dependency.name.clone()
            },
        }
    }

    /// A policy.
    pub fn policy(name: &str) -> Self {
        Self {
            group: GROUP.to_owned(),
            kind: "Policy".to_owned(),
            name: name.to_owned(),
        }
    }

    /// The object of a template; `None` if it has no kind or no name.
    pub fn of_template(definition: &Value) -> Option<Self> {
        let text = |pointer: &str| definition.pointer(pointer).and_then(Value::as_str);
        let (group, _) = split_api_version(text("/apiVersion").unwrap_or_default());
        Some(Self {
            group: group.to_owned(),
            kind: text("/kind")?.to_owned(),
            name: text("/metadata/name")?.to_owned(),
        })
    }
}

/// The policies and templates of one place, and what each waits for.
///
/// A policy waits for its templates, but for those with `ignorePending`. A template waits for the dependencies of its policy and its
/// own. What has to be `Pending` is not waited for.
#[derive(Clone, Debug, Default)]
pub struct DependencyGraph {
    waits_for: BTreeMap<Dependent, BTreeSet<Dependent>>,
}

impl DependencyGraph {
    /// Adds a policy and its templates. `policy_name` names the policies that its dependencies are about.
    pub fn add(
        &mut self,
        policy: &Dependent,
        spec: &PolicySpec,
        policy_name: impl Fn(&PolicyDependency) -> String,
    ) {
        let waited_for = |dependency: &&PolicyDependency| dependency.compliance != "Pending";
        let of = |dependency: &PolicyDependency| Dependent::of(dependency, &policy_name);
        let shared = spec.dependencies.iter().flatten().filter(waited_for);
        let shared: Vec<Dependent> = shared.map(of).collect();
        self.waits_for.entry(policy.clone()).or_default();
        for template in &spec.policy_templates {
            let Some(object) = Dependent::of_template(&template.object_definition) else {
                continue;
            };
            let own = template.extra_dependencies.iter().flatten();
            let own = own.filter(waited_for).map(of);
            let waits_for = self.waits_for.entry(object.clone()).or_default();
            waits_for.extend(own.chain(shared.iter().cloned()));
            if template.ignore_pending != Some(true) {
                let of_policy = self.waits_for.entry(policy.clone()).or_default();
                of_policy.insert(object);
            }
        }
    }

    /// Adds a policy set, which waits for its policies.
    pub fn add_set(&mut self, name: &str, policies: impl Iterator<Item = Dependent>) {
        let set = Dependent {
            kind: "PolicySet".to_owned(),
            ..Dependent::policy(name)
        };
        self.waits_for.entry(set).or_default().extend(policies);
    }

    /// Whether the place has it: a policy, or a template of one.
    pub fn has(&self, one: &Dependent) -> bool {
        self.waits_for.contains_key(one)
    }

    /// The same, where the names of templates may have templates in them: one of the kind may get any name.
    pub fn may_have(&self, one: &Dependent) -> bool {
        let of_kind = |known: &Dependent| (&known.group, &known.kind) == (&one.group, &one.kind);
        let mut templated = self.waits_for.keys();
        self.has(one) || templated.any(|known| of_kind(known) && known.name.contains("{{"))
    }

    /// The shortest loop through `start`, which is its first and its last member; `None` if `start` does not wait for itself.
    pub fn find_loop(&self, start: &Dependent) -> Option<Vec<Dependent>> {
        let mut came_from: BTreeMap<&Dependent, &Dependent> = BTreeMap::new();
        let mut reached = vec![start];
        while !reached.is_empty() {
            let mut next = Vec::new();
            for from in reached {
                for to in self.waits_for.get(from).into_iter().flatten() {
                    if to == start {
                        return Some(path(&came_from, from, start));
                    }
                    if !came_from.contains_key(to) {
                        came_from.insert(to, from);
                        next.push(to);
                    }
                }
            }
            reached = next;
        }
        None
    }
}

/// The way from `start` to `last`, and back to `start`.
fn path(
    came_from: &BTreeMap<&Dependent, &Dependent>,
    last: &Dependent,
    start: &Dependent,
) -> Vec<Dependent> {
    let mut path = vec![start.clone()];
    let mut at = last;
    while at != start {
        path.push(at.clone());
        let Some(from) = came_from.get(at) else { break };
        at = from;
    }
    path.push(start.clone());
    path.reverse();
    path
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn dependency(kind: &str, name: &str) -> Value {
        json!({"apiVersion": "policy.open-cluster-management.io/v1", "kind": kind, "name": name, "compliance": "Compliant"})
    }

    fn template(name: &str, more: &Value) -> Value {
        let mut template = json!({"objectDefinition": {
            "apiVersion": "policy.open-cluster-management.io/v1", "kind": "ConfigurationPolicy", "metadata": {"name": name}
        }});
        for (key, value) in more.as_object().unwrap() {
            template[key] = value.clone();
        }
        template
    }

    fn graph(policies: &Value) -> DependencyGraph {
        let mut graph = DependencyGraph::default();
        for (name, spec) in policies.as_object().unwrap() {
            let spec = serde_json::from_value(spec.clone()).unwrap();
            graph.add(&Dependent::policy(name), &spec, |dependency| {
                dependency.name.clone()
            });
        }
        graph
    }

    fn loop_of(graph: &DependencyGraph, kind: &str, name: &str) -> Option<String> {
        let start = Dependent {
            kind: kind.to_owned(),
            ..Dependent::policy(name)
        };
        let members = graph.find_loop(&start)?;
        let members: Vec<String> = members.iter().map(ToString::to_string).collect();
        Some(members.join(" -> "))
    }

    #[test]
    fn loop_through_policies_and_templates_is_found() {
        let graph = graph(&json!({
            "first": {"disabled": false, "dependencies": [dependency("Policy", "second")], "policy-templates": [template("one", &json!({}))]},
            "second": {"disabled": false, "policy-templates": [
                template("two", &json!({"extraDependencies": [dependency("ConfigurationPolicy", "one")]})),
                template("free", &json!({})),
            ]},
            "third": {"disabled": false, "dependencies": [dependency("Policy", "first")], "policy-templates": [template("three", &json!({}))]},
        }));
        assert_eq!(
            loop_of(&graph, "ConfigurationPolicy", "one").unwrap(),
            "ConfigurationPolicy one -> Policy second -> ConfigurationPolicy two -> ConfigurationPolicy one"
        );
        assert_eq!(
            loop_of(&graph, "ConfigurationPolicy", "three"),
            None,
            "it waits for the loop, and is not in it"
        );
        assert_eq!(loop_of(&graph, "ConfigurationPolicy", "free"), None);
        assert!(graph.has(&Dependent::policy("third")) && !graph.has(&Dependent::policy("fourth")));
    }

    #[test]
    fn policy_that_waits_for_itself_is_a_loop() {
        let own = graph(&json!({
            "a": {"disabled": false, "dependencies": [dependency("Policy", "a")], "policy-templates": [template("t", &json!({}))]},
        }));
        assert_eq!(
            loop_of(&own, "ConfigurationPolicy", "t").unwrap(),
            "ConfigurationPolicy t -> Policy a -> ConfigurationPolicy t"
        );
    }

    #[test]
    fn what_counts_as_compliant_meanwhile_is_no_loop() {
        let ignored = graph(&json!({
            "a": {"disabled": false, "dependencies": [dependency("Policy", "b")], "policy-templates": [template("t", &json!({}))]},
            "b": {"disabled": false, "dependencies": [dependency("Policy", "a")], "policy-templates": [template("u", &json!({"ignorePending": true}))]},
        }));
        assert_eq!(loop_of(&ignored, "ConfigurationPolicy", "t"), None);
        let mut pending = dependency("Policy", "a");
        pending["compliance"] = json!("Pending");
        let pending = graph(&json!({
            "a": {"disabled": false, "dependencies": [pending], "policy-templates": [template("t", &json!({}))]},
        }));
        assert_eq!(loop_of(&pending, "ConfigurationPolicy", "t"), None);
    }
}
