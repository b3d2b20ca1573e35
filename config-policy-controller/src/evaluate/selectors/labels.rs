//! Label selectors of policies as the text that Kubernetes takes, and the reasons why some make no sense. Pure.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};
use reeve_api::configuration_policy::{LabelRequirement, NamespaceSelector};
use reeve_go_compat::labels::Selector;

use crate::messages;

/// Why a label selector cannot be evaluated, in the words of Kubernetes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LabelError {
    /// There is no such operator.
    #[error("{0:?} is not a valid label selector operator")]
    Operator(String),
    /// A key or a value is none that a label can have, or the operator does not take the values.
    #[error("{0}")]
    Syntax(String),
}

/// The selector of a policy's namespaces.
pub fn of_namespaces(selector: &NamespaceSelector) -> Result<Selector, LabelError> {
    // The same fields by another name: theirs are Kubernetes' own.
    let requirement = |requirement: &LabelRequirement| LabelSelectorRequirement {
        key: requirement.key.clone(),
        operator: requirement.operator.clone(),
        values: requirement.values.clone(),
    };
    let expressions = selector.match_expressions.as_ref();
    let selector = LabelSelector {
        match_labels: selector.match_labels.clone(),
        match_expressions: expressions.map(|all| all.iter().map(requirement).collect()),
    };
    Selector::parse(&of_objects(&selector)?).map_err(LabelError::Syntax)
}

/// The text of an object template's selector.
pub fn of_objects(selector: &LabelSelector) -> Result<String, LabelError> {
    let check = |key: &str, misuse: Option<String>, values: &[String]| {
        Selector::check(key, misuse, values).map_err(LabelError::Syntax)
    };
    let mut parts = Vec::new();
    for (key, value) in selector.match_labels.iter().flatten() {
        check(key, None, std::slice::from_ref(value))?;
        parts.push(format!("{key}={value}"));
    }
    for requirement in selector.match_expressions.iter().flatten() {
        let key = &requirement.key;
        let values = requirement.values.as_deref().unwrap_or_default();
        let (part, misuse) = match (requirement.operator.as_str(), values) {
            ("In", values) => (
                format!("{key} in ({})", values.join(",")),
                no_values(values),
            ),
            ("NotIn", values) => {
                let part = format!("{key} notin ({})", values.join(","));
                (part, no_values(values))
            }
            ("Exists", values) => (key.clone(), some_values(values)),
            ("DoesNotExist", values) => (format!("!{key}"), some_values(values)),
            (operator, _) => return Err(LabelError::Operator(operator.to_owned())),
        };
        check(key, misuse, values)?;
        parts.push(part);
    }
    let text = parts.join(",");
    Selector::parse(&text).map_err(LabelError::Syntax)?;
    Ok(text)
}

/// In and `NotIn` need values.
fn no_values(values: &[String]) -> Option<String> {
    values
        .is_empty()
        .then(|| messages::LABEL_VALUES_NEEDED.to_owned())
}

/// Exists and `DoesNotExist` have none.
fn some_values(values: &[String]) -> Option<String> {
    (!values.is_empty()).then(|| messages::label_values_superfluous(values))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(selector: serde_json::Value) -> Result<String, String> {
        let selector = serde_json::from_value(selector).unwrap();
        of_objects(&selector).map_err(|error| error.to_string())
    }

    #[test]
    fn selectors_become_texts() {
        let selector = of(json!({
            "matchLabels": {"b": "2", "a": "1"},
            "matchExpressions": [
                {"key": "c", "operator": "In", "values": ["x", "y"]},
                {"key": "d", "operator": "DoesNotExist"},
            ],
        }));
        assert_eq!(selector.unwrap(), "a=1,b=2,c in (x,y),!d");
        assert_eq!(of(json!({})).unwrap(), "");
    }

    #[test]
    fn invalid_selectors_have_errors_of_kubernetes() {
        let expression =
            |operator: &str| json!({"matchExpressions": [{"key": "a", "operator": operator}]});
        assert_eq!(
            of(expression("Seriously")).unwrap_err(),
            "\"Seriously\" is not a valid label selector operator"
        );
        assert_eq!(
            of(expression("In")).unwrap_err(),
            "values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty"
        );
        assert!(of(json!({"matchLabels": {"a": "in valid"}})).is_err());
    }

    /// As client-go's `LabelSelectorAsSelector` answers.
    #[test]
    fn cfg_164_all_faults_of_a_requirement_are_named() {
        let key = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
        let value = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
        let requirement = |operator: &str, values: &[&str]| json!({"matchExpressions": [{"key": "-a", "operator": operator, "values": values}]});
        assert_eq!(
            of(json!({"matchLabels": {"a b": "c"}})).unwrap_err(),
            format!("key: Invalid value: \"a b\": {key}")
        );
        assert_eq!(
            of(requirement("In", &["x y", "z"])).unwrap_err(),
            format!(
                "[key: Invalid value: \"-a\": {key}, values[0][-a]: Invalid value: \"x y\": {value}]"
            )
        );
        assert_eq!(
            of(requirement("In", &[])).unwrap_err(),
            format!(
                "[key: Invalid value: \"-a\": {key}, values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty]"
            )
        );
        assert_eq!(
            of(requirement("Exists", &["-x", "y"])).unwrap_err(),
            format!(
                "[key: Invalid value: \"-a\": {key}, values: Invalid value: [\"-x\",\"y\"]: values set must be empty for exists and does not exist, values[0][-a]: Invalid value: \"-x\": {value}]"
            )
        );
    }

    #[test]
    fn selector_values_and_keys_are_checked() {
        for selector in [
            json!({"matchLabels": {"a": "1,b"}}),
            json!({"matchLabels": {"a": " 1"}}),
            json!({"matchLabels": {"a,b": "1"}}),
            json!({"matchExpressions": [{"key": "a", "operator": "In", "values": ["x,y"]}]}),
            json!({"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["x)"]}]}),
            json!({"matchExpressions": [{"key": "a,!b", "operator": "Exists"}]}),
        ] {
            let error = of(selector.clone()).unwrap_err();
            assert!(error.contains("Invalid value"), "{selector}: {error}");
        }
        let empty = of(json!({"matchLabels": {"a": ""}}));
        assert_eq!(empty.unwrap(), "a=");
    }
}
