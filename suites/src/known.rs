//! The kinds that suites know without `crds`: those of the Operator Lifecycle Manager, of Gatekeeper with its constraints,
//! and of Open Cluster Management's work. They are installed when something names their group, because every kind
//! costs the start of a fleet some time.

use std::collections::BTreeSet;

use reeve_constraint_audit::constraint_templates_crd;
use reeve_fleet::Constraints;
use reeve_gatekeeper::TEMPLATE_GROUP;
use reeve_gatekeeper::template::{ConstraintTemplate, crd};
use reeve_manifests::{Object, Position};
use serde_json::Value;

/// Kinds that come together.
struct Set {
    /// What names them in an object.
    marks: &'static [&'static str],
    definitions: &'static [&'static str],
}

macro_rules! definitions {
    ($($name:literal),* $(,)?) => { &[$(include_str!(concat!("../crds/", $name))),*] };
}

/// What names a kind of Gatekeeper.
const GATEKEEPER: &str = "gatekeeper.sh/";

const SETS: [Set; 3] = [
    Set {
        marks: &["operators.coreos.com/", "\"OperatorPolicy\""],
        definitions: definitions![
            "olm/catalogsources.json",
            "olm/clusterserviceversions.json",
            "olm/installplans.json",
            "olm/olmconfigs.json",
            "olm/operatorconditions.json",
            "olm/operatorgroups.json",
            "olm/operators.json",
            "olm/subscriptions.json",
        ],
    },
    Set {
        marks: &[GATEKEEPER],
        definitions: definitions![
            "gatekeeper/assign.json",
            "gatekeeper/assignimage.json",
            "gatekeeper/assignmetadata.json",
            "gatekeeper/configs.json",
            "gatekeeper/connections.json",
            "gatekeeper/expansiontemplate.json",
            "gatekeeper/modifyset.json",
            "gatekeeper/providers.json",
            "gatekeeper/syncsets.json",
        ],
    },
    Set {
        marks: &["work.open-cluster-management.io/"],
        definitions: definitions!["work/appliedmanifestworks.yaml", "work/manifestworks.yaml"],
    },
];

/// The definitions of the known kinds that objects name, and of the constraints of templates among them, but for those
/// that are given, and for Gatekeeper's where nothing evaluates constraints.
pub fn definitions<'a>(
    objects: impl Iterator<Item = &'a Object> + Clone,
    given: &[Object],
    constraints: Constraints,
) -> Vec<Object> {
    let given: BTreeSet<&str> = given.iter().map(|one| one.name.as_str()).collect();
    let mut all = Vec::new();
    let texts: Vec<String> = objects.clone().map(|one| one.value.to_string()).collect();
    let is_evaluated = constraints != Constraints::Ignored;
    for set in &SETS {
        if set.marks.contains(&GATEKEEPER) && !is_evaluated {
            continue;
        }
        let is_named = |text: &String| set.marks.iter().any(|mark| text.contains(mark));
        if texts.iter().any(is_named) {
            all.extend(set.definitions.iter().filter_map(|text| read(text)));
            if set.marks.contains(&GATEKEEPER) {
                all.extend(Object::new(Position::default(), constraint_templates_crd()).ok());
            }
        }
    }
    let is_template =
        |object: &&Object| is_evaluated && object.is(TEMPLATE_GROUP, "ConstraintTemplate");
    let templates = objects.filter(is_template);
    let constraints = templates.filter_map(|template| constraint(&template.value));
    all.extend(constraints);
    all.retain(|one| !given.contains(one.name.as_str()));
    all
}

/// A definition of this crate.
fn read(text: &str) -> Option<Object> {
    let value: Value = serde_saphyr::from_str(text).ok()?;
    Object::new(Position::default(), value).ok()
}

/// The definition of the kind of constraints that a template makes.
fn constraint(template: &Value) -> Option<Object> {
    let template = ConstraintTemplate::parse(template).ok()?;
    Object::new(Position::default(), crd(&template)).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(value: Value) -> Object {
        Object::new(Position::default(), value).unwrap()
    }

    fn names(objects: &[Object], given: &[Object]) -> Vec<String> {
        let all = definitions(objects.iter(), given, Constraints::Audited);
        all.into_iter().map(|one| one.name).collect()
    }

    #[test]
    fn kinds_are_known_by_what_names_their_group() {
        let policy = |api_version: &str, kind: &str| {
            object(json!({
                "apiVersion": "policy.open-cluster-management.io/v1", "kind": "Policy", "metadata": { "name": "p" },
                "spec": { "policy-templates": [{ "objectDefinition": { "apiVersion": api_version, "kind": kind } }] },
            }))
        };
        assert!(names(&[policy("v1", "Pod")], &[]).is_empty());
        let olm = names(
            &[policy(
                "policy.open-cluster-management.io/v1beta1",
                "OperatorPolicy",
            )],
            &[],
        );
        assert_eq!(olm.len(), 8);
        assert_eq!(
            olm,
            names(
                &[policy("operators.coreos.com/v1alpha1", "Subscription")],
                &[]
            )
        );
        let given = read(include_str!("../crds/olm/subscriptions.json")).unwrap();
        let rest = names(
            &[policy("operators.coreos.com/v1alpha1", "Subscription")],
            &[given],
        );
        assert_eq!(rest.len(), 7);
        assert_eq!(
            names(
                &[policy("work.open-cluster-management.io/v1", "ManifestWork")],
                &[]
            )
            .len(),
            2
        );
    }

    #[test]
    fn template_makes_the_kind_of_its_constraints() {
        let template = object(json!({
            "apiVersion": "templates.gatekeeper.sh/v1", "kind": "ConstraintTemplate",
            "metadata": { "name": "k8srequiredlabels" },
            "spec": { "crd": { "spec": {
                "names": { "kind": "K8sRequiredLabels" },
                "validation": { "openAPIV3Schema": {
                    "type": "object", "properties": { "labels": { "type": "array", "items": { "type": "string" } } },
                } },
            } }, "targets": [{
                "target": "admission.k8s.gatekeeper.sh",
                "rego": "package a\nviolation[{\"msg\": \"x\"}] { true }",
            }] },
        }));
        let found = names(std::slice::from_ref(&template), &[]);
        assert_eq!(found.len(), 11);
        assert_eq!(
            found.last().unwrap(),
            "k8srequiredlabels.constraints.gatekeeper.sh"
        );
        let definition = constraint(&template.value).unwrap();
        let parameters = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/parameters/properties/labels/type";
        assert_eq!(definition.value.pointer(parameters), Some(&json!("array")));
        assert_eq!(constraint(&json!({})), None);
    }
}
