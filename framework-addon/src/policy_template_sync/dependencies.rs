//! The dependencies of templates.

use std::collections::BTreeMap;

use kube::core::GroupVersionKind;
use reeve_api::dependency_graph::Dependent;
use reeve_api::names::{GROUP, split_api_version};
use reeve_api::policy::PolicyDependency;
use serde_json::Value;

/// The object of a dependency. Its order is that of the reads, not of messages.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DependencyObject {
    /// API group.
    pub group: String,
    /// API version.
    pub version: String,
    /// The kind of the object.
    pub kind: String,
    /// Namespace; means nothing for a cluster-scoped kind.
    pub namespace: String,
    /// The name of the object.
    pub name: String,
}

impl DependencyObject {
    /// The kind.
    pub fn gvk(&self) -> GroupVersionKind {
        GroupVersionKind::gvk(&self.group, &self.version, &self.kind)
    }

    /// The object, as the graph of dependencies has it. The hub names policies as they are named on the cluster.
    pub fn dependent(&self) -> Dependent {
        Dependent {
            group: self.group.clone(),
            kind: self.kind.clone(),
            name: self.name.clone(),
        }
    }

    /// `<Kind> <name>`, as messages have it.
    pub fn described(&self) -> String {
        format!("{} {}", self.kind, self.name)
    }
}

/// Objects and the compliance that each must have.
pub type Dependencies = BTreeMap<DependencyObject, String>;

/// Adds a list of dependencies. Returns the names of those that conflict with earlier ones, which are not added.
pub fn add(
    dependencies_by_object: &mut Dependencies,
    dependencies: &[PolicyDependency],
    namespace: &str,
) -> Vec<String> {
    let mut conflicts = Vec::new();
    for dependency in dependencies {
        let dependency_object = dependency_object(dependency, namespace);
        match dependencies_by_object.get(&dependency_object) {
            Some(compliance) if *compliance != dependency.compliance => {
                conflicts.push(dependency.name.clone());
            }
            Some(_) => {}
            None => {
                dependencies_by_object.insert(dependency_object, dependency.compliance.clone());
            }
        }
    }
    conflicts
}

/// The object of a dependency. For policies the namespace is that of the dependent policy, whatever the dependency has.
fn dependency_object(dependency: &PolicyDependency, namespace: &str) -> DependencyObject {
    let (group, version) = split_api_version(&dependency.api_version);
    let is_policy = group == GROUP && dependency.kind.ends_with("Policy");
    let given = dependency.namespace.clone().unwrap_or_default();
    DependencyObject {
        group: group.to_owned(),
        version: version.to_owned(),
        kind: dependency.kind.clone(),
        namespace: if is_policy {
            namespace.to_owned()
        } else {
            given
        },
        name: dependency.name.clone(),
    }
}

/// Whether a dependency is met; `object` is `None` if it does not exist.
pub fn is_met(
    dependency_object: &DependencyObject,
    compliance: &str,
    object: Option<&Value>,
) -> bool {
    let wants_compliant = compliance == "Compliant";
    match (dependency_object.group.as_str(), object) {
        // Constraint templates have no compliance: only their existence counts.
        ("templates.gatekeeper.sh", object) => object.is_some() == wants_compliant,
        (_, None) => false,
        ("constraints.gatekeeper.sh", Some(object)) => {
            let violations = object
                .pointer("/status/totalViolations")
                .and_then(Value::as_i64);
            violations.is_some_and(|violations| (violations == 0) == wants_compliant)
        }
        (_, Some(object)) => {
            object.pointer("/status/compliant").and_then(Value::as_str) == Some(compliance)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::json;

    fn dependency(api_version: &str, kind: &str, namespace: Option<&str>) -> PolicyDependency {
        PolicyDependency {
            api_version: api_version.to_owned(),
            compliance: "Compliant".to_owned(),
            kind: kind.to_owned(),
            name: "dep".to_owned(),
            namespace: namespace.map(str::to_owned),
        }
    }

    const POLICIES: &str = "policy.open-cluster-management.io/v1";

    #[rstest]
    #[case(POLICIES, "ConfigurationPolicy", None, "c1")]
    #[case(POLICIES, "ConfigurationPolicy", Some("x"), "c1")]
    #[case(
        "policy.open-cluster-management.io/v1beta1",
        "OperatorPolicy",
        Some("x"),
        "c1"
    )]
    #[case("apps/v1", "TeaPolicy", Some("x"), "x")]
    #[case("apps/v1", "Deployment", None, "")]
    fn policy_dependency_is_in_the_namespace_of_the_policy(
        #[case] api_version: &str,
        #[case] kind: &str,
        #[case] namespace: Option<&str>,
        #[case] expected: &str,
    ) {
        let dependency_object = dependency_object(&dependency(api_version, kind, namespace), "c1");
        assert_eq!(dependency_object.namespace, expected);
    }

    #[test]
    fn conflicting_dependency_is_returned_and_the_first_kept() {
        let mut dependencies_by_object = Dependencies::new();
        let one = dependency(POLICIES, "Policy", None);
        let mut other = dependency(POLICIES, "Policy", Some("elsewhere"));
        assert!(add(&mut dependencies_by_object, &[one.clone(), one], "c1").is_empty());
        other.compliance = "Pending".to_owned();
        assert_eq!(add(&mut dependencies_by_object, &[other], "c1"), ["dep"]);
        assert_eq!(
            dependencies_by_object.values().collect::<Vec<_>>(),
            ["Compliant"]
        );
    }

    const TEMPLATES: &str = "templates.gatekeeper.sh/v1";
    const CONSTRAINTS: &str = "constraints.gatekeeper.sh/v1beta1";

    #[rstest]
    #[case::absent(POLICIES, "Compliant", None, false)]
    #[case::absent_violation(POLICIES, "NonCompliant", None, false)]
    #[case::same(POLICIES, "Pending", Some(json!({"status": {"compliant": "Pending"}})), true)]
    #[case::other(POLICIES, "Compliant", Some(json!({"status": {"compliant": "Pending"}})), false)]
    #[case::silent(POLICIES, "Compliant", Some(json!({})), false)]
    #[case::template(TEMPLATES, "Compliant", Some(json!({})), true)]
    #[case::template_unwanted(TEMPLATES, "NonCompliant", Some(json!({})), false)]
    #[case::no_template(TEMPLATES, "Compliant", None, false)]
    #[case::no_template_wanted(TEMPLATES, "NonCompliant", None, true)]
    #[case::constraint(CONSTRAINTS, "Compliant", Some(json!({"status": {"totalViolations": 0}})), true)]
    #[case::violated(CONSTRAINTS, "Compliant", Some(json!({"status": {"totalViolations": 2}})), false)]
    #[case::as_wanted(CONSTRAINTS, "NonCompliant", Some(json!({"status": {"totalViolations": 2}})), true)]
    #[case::not_audited(CONSTRAINTS, "NonCompliant", Some(json!({})), false)]
    fn dependency_is_met_by_compliance_or_existence(
        #[case] api_version: &str,
        #[case] compliance: &str,
        #[case] object: Option<Value>,
        #[case] expected: bool,
    ) {
        let dependency_object = dependency_object(&dependency(api_version, "Kind", None), "c1");
        assert_eq!(
            is_met(&dependency_object, compliance, object.as_ref()),
            expected
        );
    }
}
