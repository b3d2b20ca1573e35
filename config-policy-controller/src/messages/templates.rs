//! Texts about policies and their object templates, before objects are known.

use super::in_namespaces;

/// The CRD's default for `remediationAction` is missing.
pub const NO_REMEDIATION_ACTION: &str = "Policy does not have a RemediationAction specified";

/// Name or namespace of a definition is not text.
pub const NAMESPACE_UNREADABLE: &str = "Error parsing the namespace from the object definition";

/// Hub templates without a hub.
pub const HUB_TEMPLATES_NEED_ADDON: &str = "the governance-standalone-hub-templating addon must be enabled to resolve hub templates on the managed cluster";

/// The Secret holds no valid AES key.
pub const INVALID_KEY: &str = "The \"policy-encryption-key\" Secret contains an invalid AES key";

/// The annotation holds no initialisation vector.
pub const INVALID_VECTOR: &str = "The \"policy.open-cluster-management.io/encryption-iv\" annotation value is not a valid initialization vector";

/// Templates are disabled, and the list of object templates is one.
pub const RAW_DISABLED: &str = "templates are disabled by annotation, so spec.object-templates-raw is not read and the policy asks for nothing";

/// A namespace that a template made is not the one the selector chose.
pub const OTHER_NAMESPACE: &str = "The object definition's namespace must match the result from the namespace selector after template resolution";

/// A name that a template made is not the one the selector chose.
pub const OTHER_NAME: &str = "The object definition's name must match the result from the object selector after template resolution";

/// A template that reads a kind that cannot be watched.
pub fn unwatchable_template(error: &str) -> String {
    format!("{error} - this template may require evaluationInterval to be set")
}

/// The annotation for decryption is not base64.
pub fn vector_not_base64(error: &str) -> String {
    format!(
        "the policy annotation of \"policy.open-cluster-management.io/encryption-iv\" is not Base64: {error}"
    )
}

/// The key cannot be read.
pub fn key_unreadable(namespace: &str, error: &str) -> String {
    format!(
        "failed to get the encryption key from Secret {namespace}/policy-encryption-key: {error}"
    )
}

/// `object-templates-raw` is not YAML, or not what it should be.
pub fn raw_unparsable(error: &str) -> String {
    format!("Error parsing object-templates-raw YAML: {error}")
}

/// The resolved `object-templates-raw` is not a list of object templates.
pub fn raw_no_list(error: &str) -> String {
    format!("failed unmarshalling resolved object-templates-raw template: {error}")
}

/// A null in a list of object templates.
pub fn null_template(index: usize) -> String {
    format!("item {index} must be an object template, but it is null")
}

/// `In` and `NotIn` of a label selector without values, in the words of client-go.
pub const LABEL_VALUES_NEEDED: &str =
    "values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty";

/// `Exists` and `DoesNotExist` of a label selector with values, in the words of client-go.
pub fn label_values_superfluous(values: &[String]) -> String {
    let values = serde_json::json!(values);
    format!(
        "values: Invalid value: {values}: values set must be empty for exists and does not exist"
    )
}

/// All objects were left out by their template.
pub fn all_skipped(kind: &str) -> String {
    format!("All objects of kind {kind} were skipped by the `skipObject` template function")
}

/// The object selector chooses nothing.
pub fn none_selected(kind: &str) -> String {
    format!("No objects of kind {kind} were matched from the policy objectSelector")
}

/// The definition leads to no object.
pub fn none_matched(kind: &str) -> String {
    format!("No objects of kind {kind} were matched from the objectDefinition metadata")
}

/// None of the selected objects is one that must not exist.
pub fn missing_as_expected(resource: &str, namespaces: &[&str]) -> String {
    format!(
        "{resource} missing as expected{}",
        in_namespaces(namespaces)
    )
}

/// An object selector that cannot be read.
pub fn selector_unparsable(index: usize, error: &str) -> String {
    format!(
        "Error parsing provided objectSelector in the object-template at index [{index}]: {error}"
    )
}

/// The objects that a selector chooses, of a kind that cannot be watched.
pub fn unwatchable_list(index: usize, error: &str) -> String {
    format!(
        "Error listing resources with provided objectSelector in the object-template at index [{index}], it may require evaluationInterval to be set: {error}"
    )
}

/// The objects that a selector chooses could not be listed.
pub fn unlisted(index: usize, error: &str) -> String {
    format!(
        "Error listing resources with provided objectSelector in the object-template at index [{index}]: {error}"
    )
}

/// A definition that is no object once its templates are resolved.
pub fn undecodable(index: usize, policy: &str, error: &str) -> String {
    format!(
        "Decoding error, please check your policy file! Aborting handling the object template at index [{index}] in policy `{policy}` with error = `{error}`"
    )
}

/// A namespaced object whose namespace template resolved to an empty text.
pub fn no_namespace_resolved(name: &str, kind: &str) -> String {
    let name = if name.is_empty() {
        String::new()
    } else {
        format!(" {name}")
    };
    format!(
        "namespaced object{name} of kind {kind} has no namespace specified after template resolution"
    )
}

/// The hub does not know this cluster.
pub fn no_managed_cluster(name: &str) -> String {
    format!("the ManagedCluster {name:?} was not found on the hub")
}

/// The policy with resolved hub templates cannot be read.
pub fn hub_resolution_unreadable(error: &str) -> String {
    format!("failed to read the policy with its hub templates resolved: {error}")
}

/// A definition without kind or version.
pub fn kind_and_version_required(index: usize, policy: &str) -> String {
    format!(
        "The kind and apiVersion fields are required on the object template at index {index} in policy {policy}"
    )
}

/// A compliance type that does not exist.
pub fn unknown_compliance_type(index: usize, word: &str) -> String {
    format!(
        "The complianceType {word:?} of the object template at index [{index}] is not musthave, mustnothave or mustonlyhave"
    )
}

/// A kind that the cluster does not serve. `version` is `group/version`.
pub fn no_mapping(kind: &str, version: &str) -> String {
    format!(
        "couldn't find mapping resource with kind {kind} in API version {version}, please check if you have CRD deployed"
    )
}

/// A namespaced object without a namespace.
pub fn no_namespace(name: &str, kind: &str) -> String {
    let name = if name.is_empty() {
        String::new()
    } else {
        format!(" {name}")
    };
    format!(
        "namespaced object{name} of kind {kind} has no namespace specified from the policy namespaceSelector nor the object metadata"
    )
}

/// A namespace selector that cannot be evaluated.
pub fn namespace_selector_error(error: &str) -> String {
    format!("Error filtering namespaces with provided namespaceSelector: {error}")
}

/// A policy without object templates.
pub fn no_templates(policy: &str) -> String {
    format!("{policy} contains no object templates to check, and thus has no violations")
}
