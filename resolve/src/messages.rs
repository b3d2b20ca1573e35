//! Every text that a user sees.

use std::path::Path;

use reeve_manifests::os_words;

/// What the program is for.
pub(crate) const ABOUT: &str = "Resolves the templates of a policy, and prints the result";

/// The line before findings of the linter.
pub(crate) const LINT_TITLE: &str = "Found linting issues:";
/// The comment on an object that came from a file.
pub(crate) const LOCAL: &str = "# Resource was locally fetched";
/// How standard input is called in reports.
pub(crate) const STDIN: &str = "<stdin>";

/// Standard input is a terminal.
pub(crate) const NOT_A_PIPE: &str = "failed to read from stdin: input is not a pipe";
/// Standard input is empty.
pub(crate) const EMPTY: &str = "failed to read from stdin: input is empty";
/// The hub is given and the cluster is not.
pub(crate) const CLUSTER_NEEDED: &str = "when a hub kubeconfig is provided, you must provide a managed cluster name for hub templates to resolve using the cluster-name argument";
/// Upstream's program resolves for one cluster.
pub(crate) const ONE_CLUSTER: &str =
    "only one cluster-name can be given: use reeve resolve for several";
/// `--sarif` without `--lint`.
pub(crate) const SARIF_WITHOUT_LINT: &str = "the sarif argument needs the lint argument";
/// Reads have found nothing because there is no cluster.
pub(crate) const NO_CLUSTER: &str =
    "No kubeconfig was found: only local resources were read (--offline if that is intended)";

/// A Policy without a namespace.
pub(crate) const POLICY_NAMESPACE: &str = "a namespace must be specified for hub templates, either in the input Policy or as an argument if spec.hubTemplateOptions.serviceAccountName is not specified";
/// The namespace of a Policy is not that of the argument.
pub(crate) const OTHER_NAMESPACE: &str =
    "the namespace specified in the Policy and the hub-namespace argument must match";
/// Another kind without a namespace.
pub(crate) const HUB_NAMESPACE: &str = "a hub namespace must be provided when a hub kubeconfig is provided and spec.hubTemplateOptions.serviceAccountName is not specified";
/// A hub template that nothing resolves.
pub(crate) const UNRESOLVED: &str =
    "unresolved hub template in YAML input. Use the hub-kubeconfig argument";
/// A document of another kind.
pub(crate) const UNSUPPORTED: &str = "invalid YAML. Supported types: Policy, ConfigurationPolicy, OperatorPolicy, object-templates-raw";
/// An `OperatorPolicy` without a subscription.
pub(crate) const NO_SUBSCRIPTION: &str = "spec.subscription must be set in OperatorPolicies";
/// `object-templates-raw` that makes no list.
pub(crate) const RAW_NO_ARRAY: &str =
    "object-templates-raw was not an array after templates were resolved";
/// A Policy without templates.
pub(crate) const NO_TEMPLATES: &str = "spec.policy-templates keys not found";
/// A local resource that is no map.
pub(crate) const NOT_AN_OBJECT: &str = "a local resource must be an object";
/// A local resource of no kind.
pub(crate) const NO_TYPE: &str = "a local resource must have an apiVersion and a kind";
/// A template that is no map.
pub(crate) const NO_MAP: &str = "could not parse to map[string]interface{}";
/// A template without a definition.
pub(crate) const NO_DEFINITION: &str = "objectDefinition key not found";

/// More than one file, in the words of upstream's library.
pub(crate) fn too_many_arguments(count: usize) -> String {
    format!("accepts at most 1 arg(s), received {count}")
}

/// The input cannot be read.
pub(crate) fn unreadable_input(why: &str) -> String {
    format!("error handling YAML file input: {why}")
}

/// A file cannot be read.
pub(crate) fn unreadable(path: &Path, error: &std::io::Error) -> String {
    format!(
        "failed to read the file \"{}\": {}",
        path.display(),
        io(path, error)
    )
}

/// A file cannot be written.
pub(crate) fn unwritable(path: &Path, error: &std::io::Error) -> String {
    format!(
        "failed to write the file \"{}\": {}",
        path.display(),
        io(path, error)
    )
}

fn io(path: &Path, error: &std::io::Error) -> String {
    format!(
        "open {}: {}",
        path.display(),
        os_words(error).to_lowercase()
    )
}

/// A value on the way to a field is of another type, in the words of Kubernetes' libraries.
pub(crate) fn accessor(path: &str, value: &str, found: &str, expected: &str) -> String {
    format!("{path} accessor error: {value} is of the type {found}, expected {expected}")
}

/// The entry of a Policy that an error is about.
pub(crate) fn in_template(error: &str, index: usize) -> String {
    format!("{error} (in policy-templates at index {index})")
}

/// The title of the result for one of several clusters.
pub(crate) fn cluster(name: &str) -> String {
    format!("# Cluster: {name}")
}

/// A cluster that a failure is about.
pub(crate) fn for_cluster(name: &str, error: &str) -> String {
    format!("{error} (for the cluster {name})")
}

/// A document that a failure is about.
pub(crate) fn in_document(number: usize, line: usize, error: &str) -> String {
    format!("{error} (in document {number}, line {line})")
}
