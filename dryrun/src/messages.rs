//! Every text that a user sees.

use std::path::Path;

use reeve_manifests::os_words;

/// What the program is for.
pub(crate) const ABOUT: &str =
    "Evaluates a ConfigurationPolicy against objects, and changes nothing";

/// The template of a constraint is among the policies and cannot be used.
pub(crate) fn template_invalid(name: &str) -> String {
    format!("its ConstraintTemplate {name} is not valid")
}

/// The audit has left out a constraint.
pub(crate) const NOT_AUDITED: &str = "the audit has no result for the constraint";

/// The title of the comparison with the expected status.
pub(crate) const STATUS_TITLE: &str = "# Status compare:";
/// The title of the differences.
pub(crate) const DIFFS_TITLE: &str = "# Diffs:";
/// The title of the compliance messages.
pub(crate) const MESSAGES_TITLE: &str = "# Compliance messages:";
/// The status is as expected.
pub(crate) const STATUS_MATCHES: &str = " Expected status matches the actual status";
/// The status is not as expected.
pub(crate) const STATUS_DIFFERS: &str = " Expected status does not match the actual status";
/// A template of the policy that is not evaluated.
pub(crate) const IGNORED: &str = "Ignoring additional ConfigurationPolicy in input policy";
/// The first line of the logs.
pub(crate) const LOG_START: &str = "=== Executing configuration policy dryrun ===";

/// `--policy` is missing.
pub(crate) const POLICY_NEEDED: &str = "required flag(s) \"policy\" not set";
/// `--log-path` with `--log=false`.
pub(crate) const LOG_PATH_WITHOUT_LOG: &str = "error: log-path cannot be set when log is false";
/// The policy and the objects cannot both be standard input.
pub(crate) const STDIN_TWICE: &str =
    "standard input is the policy (-p -), so it cannot be the objects (-), too";
/// A live cluster and one in this process.
pub(crate) const TWO_WORLDS: &str = "--api-server and --from-cluster exclude each other";
/// One expected status for several policies.
pub(crate) fn one_policy_needed(flag: &str, count: usize) -> String {
    format!("--{flag} is for one ConfigurationPolicy, and the input has {count}")
}

/// The verdict of one policy, unless it is good.
pub(crate) fn verdict(state: &str) -> String {
    format!("policy is {state}")
}

/// The verdict of several policies.
pub(crate) fn verdicts(bad: &[String], count: usize) -> String {
    let verb = if bad.len() == 1 { "is" } else { "are" };
    format!(
        "{} of {count} policies {verb} not Compliant: {}",
        bad.len(),
        bad.join(", ")
    )
}

/// The document is of another group or version.
pub(crate) fn other_version(found: &str) -> String {
    format!(
        "unsupported apiVersion: {found}, the input policy must be 'policy.open-cluster-management.io/v1'"
    )
}

/// The document is of another kind.
pub(crate) fn other_kind(found: &str) -> String {
    format!("unsupported input kind: {found}, must be 'Policy' or 'ConfigurationPolicy'")
}

/// The Policy is empty.
pub(crate) const NO_TEMPLATES: &str = "invalid input Policy: no policy-templates found";
/// The Policy has templates of other kinds only.
pub(crate) const NO_CONFIGURATION_POLICY: &str =
    "invalid input Policy: it must contain a ConfigurationPolicy";
/// None of several documents has a ConfigurationPolicy.
pub(crate) const NOTHING_TO_EVALUATE: &str =
    "no document has a ConfigurationPolicy, a ConstraintTemplate or a constraint";
/// A file without any document.
pub(crate) const EMPTY: &str = "the input is empty";

/// A field that the kind does not have, in the words of upstream's decoder.
pub(crate) fn unknown_field(field: &str) -> String {
    format!("error unmarshaling JSON: while decoding JSON: json: unknown field {field:?}")
}

/// A value of the wrong type.
pub(crate) fn wrong_value(place: &str, why: &str) -> String {
    format!("error unmarshaling JSON: while decoding JSON: {place}: {why}")
}

/// A text that is not YAML.
pub(crate) fn not_yaml(why: &str) -> String {
    format!("error converting YAML to JSON: {why}")
}

/// A file that cannot be read.
pub(crate) fn unreadable(path: &Path, error: &std::io::Error) -> String {
    format!(
        "open {}: {}",
        path.display(),
        os_words(error).to_lowercase()
    )
}

/// An object of a kind that nothing describes.
pub(crate) fn unmapped(why: &str, kind: &str) -> String {
    format!(
        "{why} for kind {kind}: if this is a custom resource, it may need an entry in the mappings file"
    )
}

/// A document of a policy file, or of a file of a folder.
pub(crate) fn place(file: Option<&Path>, document: usize, line: usize) -> String {
    let file = file.map_or(String::new(), |file| format!("{}: ", file.display()));
    format!("{file}document {document} (line {line})")
}

/// A file of a folder that has no policies.
pub(crate) fn no_manifest(file: &Path) -> String {
    format!("{} (not YAML or JSON)", file.display())
}

/// An object without a field that every object has.
pub(crate) fn incomplete(position: &str, why: &str) -> String {
    format!("{position}: {why}")
}

/// An entry of the mappings that cannot be used.
pub(crate) fn broken_mapping(index: usize, why: &str) -> String {
    format!("mapping {index}: {why}")
}

/// Documents of the policy file that are not evaluated.
pub(crate) fn skipped(what: &[String]) -> String {
    format!("Not evaluated: {}", what.join(", "))
}

/// A set names policies that the input does not have.
pub(crate) fn missing_of_set(set: &str, missing: &[String]) -> String {
    format!(
        "PolicySet {set} names policies that the input does not have: {}",
        missing.join(", ")
    )
}

/// The title of one of several policies.
pub(crate) fn title(name: &str) -> String {
    format!("# {name}:")
}

/// The object of a difference.
pub(crate) fn object(api_version: &str, kind: &str, namespace: &str, name: &str) -> String {
    if namespace.is_empty() {
        format!("{api_version} {kind} {name}:")
    } else {
        format!("{api_version} {kind} {namespace}/{name}:")
    }
}

/// A key of the expected status that is not there.
pub(crate) fn key_missing(key: &str, place: &str) -> String {
    format!("Key '{key}' not found in result at path '{place}'")
}

/// A value of the expected status.
pub(crate) fn scalar(place: &str, wanted: &str, found: &str, same: bool) -> String {
    let verb = if same { "does match" } else { "does not match" };
    format!("{place}: '{wanted}' {verb} '{found}'")
}

/// An element of a list that is found, or not.
pub(crate) fn element(place: &str, index: usize, found: bool) -> String {
    if found {
        format!("{place}[{index}] matches")
    } else {
        format!("{place}[{index}] does not match any elements")
    }
}

/// A list that is as expected, or not.
pub(crate) fn elements(place: &str, same: bool) -> String {
    if same {
        format!("{place} matches")
    } else {
        format!("{place} does not match the elements")
    }
}

/// The expected status has a list where the status has none.
pub(crate) fn not_a_list(key: &str, place: &str) -> String {
    format!("skip {key}, {place} is not array,")
}

/// The expected status has another type than the status.
pub(crate) fn other_type(place: &str, expected: &str) -> String {
    format!("The input status field '{place}' is not the right type - expected '{expected}'")
}
