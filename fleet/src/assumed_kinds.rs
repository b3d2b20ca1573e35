//! Kinds that no definition describes, guessed from how policies and other objects use them.
//!
//! A policy is often about kinds of other projects, whose definitions are not at hand. Without a definition nothing can be evaluated.
//! With a guessed one, whose objects may have any field, everything can but what a schema would refuse or default.

use std::collections::{BTreeMap, BTreeSet};

use reeve_api::names::{GROUP, split_api_version};
use reeve_apiserver::Kinds;
use reeve_manifests::{Object, Position};
use serde_json::{Map, Value, json};

use crate::crds;
use crate::placement;

/// The functions of templates that read objects: the version and the kind are their first two arguments.
const LOOKUP: &str = "lookup";
/// Groups all of whose kinds are cluster-scoped.
const CLUSTER_GROUPS: &[&str] = &["config.openshift.io"];

/// A kind that is taken to exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssumedKind {
    /// API group.
    pub group: String,
    /// The kind.
    pub kind: String,
    /// Every version that is used, sorted.
    pub versions: Vec<String>,
    /// Whether its objects are namespaced.
    pub namespaced: bool,
}

/// By group and kind.
type Uses = BTreeMap<(String, String), Use>;

/// What is known of the use of a kind.
#[derive(Default)]
struct Use {
    versions: BTreeSet<String>,
    /// An object has a namespace.
    has_namespace: bool,
    /// An object has none, in a policy that selects namespaces.
    is_in_selected: bool,
}

/// The kinds that objects use, and that neither the servers of a fleet nor `definitions` know, by group and kind.
///
/// A kind is namespaced if some object of it has a namespace; otherwise it is cluster-scoped if it is called `Cluster…` or all of its
/// group are; otherwise namespaced if a policy that selects namespaces is about it.
pub fn assumed_kinds<'a>(
    objects: impl Iterator<Item = &'a Value>,
    definitions: &[Object],
) -> Vec<AssumedKind> {
    let known = known(definitions);
    let mut uses = Uses::new();
    for object in objects {
        collect(object, false, &mut uses);
    }
    let is_unknown = |(group, kind): &(String, String)| {
        let of_group = known.groups().iter().find(|one| one.name == *group);
        let mut kinds = of_group
            .into_iter()
            .flat_map(|group| group.versions.iter().flat_map(|(_, kinds)| kinds));
        // An object of the core group cannot be defined, one of policies would not be evaluated, and a template defines the kind of a
        // constraint.
        let is_other = !group.is_empty() && group != GROUP && !group.ends_with(".gatekeeper.sh");
        is_other && !kinds.any(|one| one.kind == *kind)
    };
    let unknown = uses.into_iter().filter(|(key, _)| is_unknown(key));
    unknown
        .map(
            |((group, kind), used): ((String, String), Use)| AssumedKind {
                namespaced: used.has_namespace
                    || used.is_in_selected
                        && !kind.starts_with("Cluster")
                        && !CLUSTER_GROUPS.contains(&group.as_str()),
                versions: used.versions.into_iter().collect(),
                group,
                kind,
            },
        )
        .collect()
}

/// The kinds of the servers of a fleet, and of definitions.
fn known(definitions: &[Object]) -> Kinds {
    let policies = reeve_api::crds::all().unwrap_or_default();
    let policies = policies.into_iter().map(|(_, crd)| crd);
    let placements = placement::crds::crds().unwrap_or_default();
    let hub = crds::of_hub().unwrap_or_default();
    let cluster = crds::of_cluster().unwrap_or_default();
    let own = policies.chain(placements).chain(hub).chain(cluster);
    let given = definitions.iter().map(|one| one.value.clone());
    let mut kinds = Kinds::builtin();
    for crd in own.chain(given) {
        if let Ok(more) = kinds.with_crd(&crd) {
            kinds = more;
        }
    }
    kinds
}

/// Adds what a value uses. `is_selected`: it is in a policy that selects namespaces.
fn collect(value: &Value, is_selected: bool, uses: &mut Uses) {
    match value {
        Value::Object(fields) => {
            let is_selected = is_selected
                || fields
                    .get("spec")
                    .and_then(|spec| spec.get("namespaceSelector"))
                    .is_some_and(|selector| {
                        selector.as_object().is_some_and(|one| !one.is_empty())
                    });
            of_object(fields, is_selected, uses);
            for value in fields.values() {
                collect(value, is_selected, uses);
            }
        }
        Value::Array(items) => {
            for item in items {
                collect(item, is_selected, uses);
            }
        }
        Value::String(text) => of_text(text, is_selected, uses),
        _ => {}
    }
}

fn of_object(fields: &Map<String, Value>, is_selected: bool, uses: &mut Uses) {
    let text = |field: &str| {
        fields
            .get(field)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let metadata = fields.get("metadata");
    // A reference has a version and a kind, too, and no metadata.
    let Some(metadata) = metadata.and_then(Value::as_object) else {
        return;
    };
    let namespace = metadata.get("namespace").and_then(Value::as_str);
    let has_namespace = namespace.is_some_and(|namespace| !namespace.is_empty());
    if let Some(used) = used(text("apiVersion"), text("kind"), uses) {
        used.has_namespace |= has_namespace;
        used.is_in_selected |= is_selected;
    }
}

/// The entry of a kind; nothing where that is templated or no kind.
fn used<'u>(api_version: &str, kind: &str, uses: &'u mut Uses) -> Option<&'u mut Use> {
    let is_word = |text: &str| {
        let is_letter = |letter: char| letter.is_ascii_alphanumeric() || ".-".contains(letter);
        !text.is_empty() && text.chars().all(is_letter)
    };
    let (group, version) = split_api_version(api_version.trim());
    let kind = kind.trim();
    if !is_word(group) || !is_word(version) || !is_word(kind) || kind.contains(['.', '-']) {
        return None;
    }
    let entry = uses.entry((group.to_owned(), kind.to_owned())).or_default();
    entry.versions.insert(version.to_owned());
    Some(entry)
}

/// What a text uses: lookups of a template, and the objects of `object-templates-raw`.
fn of_text(text: &str, is_selected: bool, uses: &mut Uses) {
    for (at, _) in text.match_indices(LOOKUP) {
        let arguments = text.get(at + LOOKUP.len()..).unwrap_or_default();
        let [version, kind, namespace] = literals(arguments);
        if let (Some(version), Some(kind)) = (version, kind)
            && let Some(used) = used(version, kind, uses)
        {
            used.has_namespace |= namespace.is_some_and(|namespace| !namespace.is_empty());
        }
    }
    if !text.contains("objectDefinition") {
        return;
    }
    // Line by line, as the text is YAML only when its templates are resolved.
    let (mut version, mut kind) = (None, None);
    for line in text.lines() {
        let line = line.trim().trim_start_matches("- ");
        let value = |key: &str| {
            let value = line.strip_prefix(key)?;
            Some(value.trim().trim_matches(['"', '\'']))
        };
        if let Some(value) = value("apiVersion:") {
            version = Some(value);
        } else if let Some(value) = value("kind:") {
            kind = Some(value);
        } else if line.starts_with("objectDefinition") {
            (version, kind) = (None, None);
        } else if let (Some(value), Some(version), Some(kind)) =
            (value("namespace:"), version, kind)
            && let Some(used) = used(version, kind, uses)
        {
            used.has_namespace |= !value.is_empty();
        }
        if let (Some(version), Some(kind)) = (version, kind)
            && let Some(used) = used(version, kind, uses)
        {
            used.is_in_selected |= is_selected;
        }
    }
}

/// The first three arguments of a call, as far as they are literals.
fn literals(arguments: &str) -> [Option<&str>; 3] {
    let mut found = [None; 3];
    let mut rest = arguments;
    for place in &mut found {
        let Some(start) = rest
            .trim_start_matches([' ', '\t'])
            .strip_prefix(['"', '`'])
        else {
            break;
        };
        let Some((literal, after)) = start.split_once(['"', '`']) else {
            break;
        };
        *place = Some(literal);
        rest = after;
    }
    found
}

impl AssumedKind {
    /// The name of its resource, by the rule of `meta.UnsafeGuessKindToResource` of apimachinery.
    pub fn plural(&self) -> String {
        let singular = self.kind.to_lowercase();
        if singular.ends_with("endpoints") {
            return singular;
        }
        match singular.strip_suffix('y') {
            Some(stem) => format!("{stem}ies"),
            None if singular.ends_with('s') => format!("{singular}es"),
            None => format!("{singular}s"),
        }
    }

    /// Its definition: any field is valid, and nothing has a default.
    pub fn definition(&self) -> Value {
        let plural = self.plural();
        let versions = self.versions.iter().enumerate();
        let versions: Vec<Value> = versions
            .map(|(index, name)| {
                json!({
                    "name": name, "served": true, "storage": index == 0,
                    "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
                })
            })
            .collect();
        json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {
                "name": format!("{plural}.{}", self.group),
                "annotations": {"api-approved.kubernetes.io": "unapproved, assumed"},
            },
            "spec": {
                "group": self.group,
                "scope": if self.namespaced { "Namespaced" } else { "Cluster" },
                "names": {
                    "kind": self.kind, "plural": plural, "singular": self.kind.to_lowercase(),
                    "listKind": format!("{}List", self.kind),
                },
                "versions": versions,
            },
        })
    }
}

/// The definitions of assumed kinds.
pub fn definitions_of(kinds: &[AssumedKind]) -> Vec<Object> {
    let definitions = kinds.iter().map(AssumedKind::definition);
    definitions
        .filter_map(|definition| Object::new(Position::default(), definition).ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn assumed(objects: &[Value]) -> Vec<String> {
        let kinds = assumed_kinds(objects.iter(), &[]);
        let described = kinds.iter().map(|one| {
            let scope = if one.namespaced {
                "namespaced"
            } else {
                "cluster"
            };
            let versions = one.versions.join("+");
            format!("{}/{versions} {} {scope}", one.group, one.kind)
        });
        described.collect()
    }

    fn policy(spec: &Value, definition: &Value) -> Value {
        let mut inner = json!({
            "apiVersion": "policy.open-cluster-management.io/v1", "kind": "ConfigurationPolicy", "metadata": {"name": "p"},
            "spec": {"object-templates": [{"complianceType": "musthave", "objectDefinition": definition}]},
        });
        for (key, value) in spec.as_object().unwrap() {
            inner["spec"][key] = value.clone();
        }
        json!({
            "apiVersion": "policy.open-cluster-management.io/v1", "kind": "Policy", "metadata": {"name": "p", "namespace": "policies"},
            "spec": {"disabled": false, "policy-templates": [{"objectDefinition": inner}]},
        })
    }

    #[rstest]
    #[case::with_a_namespace(
        json!({}), json!({"apiVersion": "ex.org/v1", "kind": "Thing", "metadata": {"name": "t", "namespace": "n"}}),
        &["ex.org/v1 Thing namespaced"]
    )]
    #[case::without(
        json!({}), json!({"apiVersion": "ex.org/v1", "kind": "Thing", "metadata": {"name": "t"}}),
        &["ex.org/v1 Thing cluster"]
    )]
    #[case::in_selected_namespaces(
        json!({"namespaceSelector": {"include": ["*"]}}),
        json!({"apiVersion": "ex.org/v1", "kind": "Thing", "metadata": {"name": "t"}}),
        &["ex.org/v1 Thing namespaced"]
    )]
    #[case::of_the_cluster_by_its_name(
        json!({"namespaceSelector": {"include": ["*"]}}),
        json!({"apiVersion": "ex.org/v1", "kind": "ClusterThing", "metadata": {"name": "t"}}),
        &["ex.org/v1 ClusterThing cluster"]
    )]
    #[case::of_the_cluster_by_its_group(
        json!({"namespaceSelector": {"include": ["*"]}}),
        json!({"apiVersion": "config.openshift.io/v1", "kind": "OAuth", "metadata": {"name": "t"}}),
        &["config.openshift.io/v1 OAuth cluster"]
    )]
    #[case::known(
        json!({}), json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "t", "namespace": "n"}}), &[]
    )]
    #[case::constraint(
        json!({}), json!({"apiVersion": "constraints.gatekeeper.sh/v1beta1", "kind": "Thing", "metadata": {"name": "t"}}), &[]
    )]
    #[case::core(json!({}), json!({"apiVersion": "v1", "kind": "Thing", "metadata": {"name": "t"}}), &[])]
    #[case::templated(
        json!({}), json!({"apiVersion": "{{ .x }}", "kind": "Thing", "metadata": {"name": "t"}}), &[]
    )]
    #[case::reference(
        json!({}),
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "t"}, "x": {"apiVersion": "ex.org/v1", "kind": "Thing"}}),
        &[]
    )]
    #[case::read_by_a_template(
        json!({}),
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "t"}, "data": {
            "a": r#"{{ (lookup "ex.org/v1" "Thing" "ns" "x").spec }}{{ (lookup `b.org/v2` `Other` "" "y") }}"#
        }}),
        &["b.org/v2 Other cluster", "ex.org/v1 Thing namespaced"]
    )]
    fn kinds_are_guessed_from_their_use(
        #[case] spec: Value,
        #[case] definition: Value,
        #[case] expected: &[&str],
    ) {
        assert_eq!(assumed(&[policy(&spec, &definition)]), expected);
    }

    #[test]
    fn raw_templates_are_read_line_by_line() {
        let raw = "{{ range $x := list 1 2 }}
- complianceType: musthave
  objectDefinition:
    apiVersion: ex.org/v1
    kind: Thing
    metadata:
      name: t
      namespace: '{{ $x }}'
- complianceType: musthave
  objectDefinition:
    kind: \"Wide\"
    apiVersion: ex.org/v1
    metadata: {name: w}
{{ end }}";
        let policy = json!({
            "apiVersion": "policy.open-cluster-management.io/v1", "kind": "ConfigurationPolicy", "metadata": {"name": "p"},
            "spec": {"object-templates-raw": raw},
        });
        assert_eq!(
            assumed(&[policy]),
            ["ex.org/v1 Thing namespaced", "ex.org/v1 Wide cluster"]
        );
    }

    #[test]
    fn kind_has_all_versions_that_are_used() {
        let object = |version: &str| json!({"apiVersion": format!("ex.org/{version}"), "kind": "Policy", "metadata": {"name": "a"}});
        let objects = [object("v1"), object("v1beta1")];
        let kinds = assumed_kinds(objects.iter(), &[]);
        let definition = kinds[0].definition();
        assert_eq!(definition["metadata"]["name"], "policies.ex.org");
        assert_eq!(definition["spec"]["versions"][1]["name"], "v1beta1");
        let given = definitions_of(&kinds);
        assert!(
            assumed_kinds(objects.iter(), &given).is_empty(),
            "they are defined now"
        );
    }

    #[rstest]
    #[case("Ingress", "ingresses")]
    #[case("Proxy", "proxies")]
    #[case("Thing", "things")]
    #[case("MyEndpoints", "myendpoints")]
    fn plurals_are_guessed(#[case] kind: &str, #[case] plural: &str) {
        let kind = AssumedKind {
            group: "ex.org".to_owned(),
            kind: kind.to_owned(),
            versions: vec!["v1".to_owned()],
            namespaced: true,
        };
        assert_eq!(kind.plural(), plural);
    }
}
