//! Label selectors of policies as the text that Kubernetes takes, and the reasons why some make no sense. Pure.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};
use reeve_api::configuration_policy::{LabelRequirement, NamespaceSelector};
use reeve_go_compat::labels::Selector;

/// Why a label selector cannot be evaluated, in the words of Kubernetes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LabelError {
    /// There is no such operator.
    #[error("{0:?} is not a valid label selector operator")]
    Operator(String),
    /// In and `NotIn` need values.
    #[error("values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty")]
    NoValues,
    /// Exists and `DoesNotExist` have none.
    #[error("values: Invalid value: {0:?}: values set must be empty for exists and does not exist")]
    Values(Vec<String>),
    /// A key or a value is none that a label can have.
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
    let check =
        |key: &str, values: &[String]| Selector::check(key, values).map_err(LabelError::Syntax);
    let mut parts = Vec::new();
    for (key, value) in selector.match_labels.iter().flatten() {
        check(key, std::slice::from_ref(value))?;
        parts.push(format!("{key}={value}"));
    }
    for requirement in selector.match_expressions.iter().flatten() {
        let key = &requirement.key;
        let values = requirement.values.as_deref().unwrap_or_default();
        parts.push(match (requirement.operator.as_str(), values) {
            ("In" | "NotIn", []) => return Err(LabelError::NoValues),
            ("In", values) => format!("{key} in ({})", values.join(",")),
            ("NotIn", values) => format!("{key} notin ({})", values.join(",")),
            ("Exists", []) => key.clone(),
            ("DoesNotExist", []) => format!("!{key}"),
            ("Exists" | "DoesNotExist", values) => return Err(LabelError::Values(values.to_vec())),
            (operator, _) => return Err(LabelError::Operator(operator.to_owned())),
        });
        check(key, values)?;
    }
    let text = parts.join(",");
    Selector::parse(&text).map_err(LabelError::Syntax)?;
    Ok(text)
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
