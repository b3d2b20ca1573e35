//! The texts of the engine that are not Go's own: what authors read in a policy's status.

/// A function that reads the environment was called.
pub fn denied_as_risk(name: &str) -> String {
    format!("use of denylisted template function: function '{name}' is considered a security risk")
}

/// A function that the configuration denies was called.
pub fn denied(name: &str) -> String {
    format!("use of denylisted template function: function '{name}' is not allowed")
}

/// `protect` outside of a hub template with encryption.
pub const PROTECT_NOT_ENABLED: &str = "the protect template function is not enabled in this mode";

/// An `autoindent` that the rewrite before parsing did not see.
pub const AUTOINDENT_NOT_PROCESSED: &str =
    "an unexpected error occurred where autoindent could not be processed";

/// `toLiteral` of several lines.
pub const LITERAL_WITH_NEW_LINES: &str =
    "new lines are not allowed in the string passed to the toLiteral function";

/// `fromSecret` or `fromConfigMap` without all of its arguments.
pub const NAMESPACE_NAME_AND_KEY: &str =
    "the input is invalid: namespace, name, and key must be specified";

/// `copySecretData` or `copyConfigMapData` without all of its arguments.
pub const NAMESPACE_AND_NAME: &str = "the input is invalid: namespace and name must be specified";

/// `getNodesWithExactRoles` without a role.
pub const AT_LEAST_ONE_NAME: &str = "the input is invalid: at least one name must be specified";

/// `fromClusterClaim` with an empty name.
pub const CLAIM_NAME: &str = "a claim name must be provided";

/// A `ClusterClaim` without a spec.
pub fn unexpected_claim(name: &str) -> String {
    format!("unexpected ClusterClaim format: {name}")
}

/// The start of the error of a secret that cannot be read.
pub fn secret_failed(name: &str, namespace: &str) -> String {
    format!("failed to get the secret {name} from {namespace}")
}

/// The start of the error of a `ConfigMap` that cannot be read.
pub fn config_map_failed(name: &str, namespace: &str) -> String {
    format!("failed getting the ConfigMap {name} from {namespace}")
}

/// A function that does not exist is named like another one.
pub fn did_you_mean(function: &str) -> String {
    format!("did you mean {function}?")
}

/// A text stands in single quotes, as YAML has it.
pub const TEXT_IN_SINGLE_QUOTES: &str =
    "a text in a template stands in \" or `, such as {{ `{{ x }}` }} for one that stays as it is";
