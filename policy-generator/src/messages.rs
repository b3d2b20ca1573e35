//! All texts that a user sees. Upstream's are kept to the letter, since scripts look for them.

mod kustomize;

use std::fmt::Display;
use std::io;

use crate::kinds::PLACEMENT_GROUP;

pub use kustomize::*;

const DNS: &str =
    "https://kubernetes.io/docs/concepts/overview/working-with-objects/names/#dns-subdomain-names";

pub const NO_NAMESPACE: &str = "policyDefaults.namespace is empty but it must be set";
pub const NO_POLICIES: &str = "policies is empty but it must be set";
pub const DEPENDENCIES_AND_ORDER: &str =
    "policyDefaults must specify only one of dependencies or orderPolicies";
pub const CONSOLIDATED_AND_ORDERED: &str =
    "policyDefaults may not specify both consolidateManifests and orderManifests";
pub const EXTRA_DEPENDENCIES_AND_ORDERED: &str =
    "policyDefaults may not specify both extraDependencies and orderManifests";
pub const NOT_AN_OBJECT: &str = "the input manifests must be in the format of YAML objects";
pub const ITEMS_NOT_A_LIST: &str = "the items of a List must be a list";
pub const ROOT_POLICY: &str = "providing a root Policy kind is not supported by the generator; the manifest should be applied to the hub cluster directly";
pub const NO_API_VERSION: &str = "invalid or not found apiVersion";
pub const NO_KIND: &str = "invalid or not found kind";
pub const NO_NAME: &str = "invalid or not found metadata.name";
pub const NO_MANIFESTS_TO_PATCH: &str = "there must be one or more manifests";
pub const NULL_PATCH: &str = "a patch must not be null";
pub const APPLY_PATCHES: &str =
    "failed to apply the patch(es) to the manifest(s) using Kustomize: ";
pub const NO_CONFIG_FILES: &str = "no policy generator config files provided";
pub const FURTHER_DOCUMENTS: &str =
    "only the first document of the file is read; move the others to files of their own";

/// An operating system's error as Go words it.
pub fn io(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "no such file or directory".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        io::ErrorKind::IsADirectory => "is a directory".to_owned(),
        io::ErrorKind::NotADirectory => "not a directory".to_owned(),
        _ => error.to_string(),
    }
}

pub fn invalid_configuration(error: &dyn Display) -> String {
    format!("the PolicyGenerator configuration file is invalid: {error}")
}

pub fn unknown_field(field: &str, tag: Option<&str>, meant: Option<&str>) -> String {
    let tag = tag.map_or_else(String::new, |tag| format!(" in type {tag}"));
    let meant = meant.map_or_else(String::new, |meant| format!(" - did you mean '{meant}'?"));
    format!("field {field} found but not defined{tag}{meant}")
}

pub fn ignored_boolean(path: &str, written: &str) -> String {
    format!("{path}: {written} is ignored, because it is text to YAML; write true or false")
}

pub fn null_entry(path: &str) -> String {
    format!("{path}: the entry is null and left out; remove it")
}

pub fn unresolved_base(dir: &str, error: &str) -> String {
    format!("failed to evaluate symlinks for the base directory: lstat {dir}: {error}")
}

pub fn unresolved_path(path: &str, word: &str) -> String {
    format!("could not resolve symlinks to the {word} path {path}")
}

pub fn path_is_base(path: &str, word: &str) -> String {
    format!(
        "the {word} path {path} may not refer to the same directory as the kustomization.yaml file"
    )
}

pub fn path_outside_base(path: &str, word: &str) -> String {
    format!(
        "the {word} path {path} is not in the same directory tree as the kustomization.yaml file"
    )
}

pub fn binding_name_not_dns(name: &str) -> String {
    format!("PlacementBindingDefaults.Name `{name}` is not DNS compliant. See {DNS}")
}

pub fn policy_name_not_dns(name: &str) -> String {
    format!("policy name `{name}` is not DNS compliant. See {DNS}")
}

pub fn set_name_not_dns(name: &str) -> String {
    format!("policy set name `{name}` is not DNS compliant. See {DNS}")
}

pub fn placement_field_not_dns(of: &str, field: &str, name: &str) -> String {
    format!("{of} placement.{field} `{name}` is not DNS compliant. See {DNS}")
}

pub fn unnamed_dependency(list: &str, of: &str, index: usize) -> String {
    let word = if list == "dependencies" {
        "dependency"
    } else {
        "extraDependency"
    };
    format!("{word} name must be set in {of} {word} {index}")
}

pub fn unnamed_policy(index: usize) -> String {
    format!(
        "each policy must have a name set, but did not find a name at policy array index {index}"
    )
}

pub fn repeated_policy(name: &str) -> String {
    format!("each policy must have a unique name set, but found a duplicate name: {name}")
}

pub fn long_policy_name(namespace: &str, name: &str) -> String {
    format!("the policy namespace and name cannot be more than 63 characters: {namespace}.{name}")
}

pub fn invalid_interval(policy: &str, half: &str, error: &str) -> String {
    format!("the policy {policy} has an invalid policy.evaluationInterval.{half} value: {error}")
}

pub fn invalid_manifest_interval(policy: &str, index: usize, half: &str, error: &str) -> String {
    invalid_interval(policy, &format!("manifest[{index}].{half}"), error)
}

pub fn policy_without_manifests(policy: &str) -> String {
    format!("each policy must have at least one manifest, but found none in policy {policy}")
}

pub fn dependencies_in_ordered_policy(policy: &str) -> String {
    format!(
        "dependencies may not be set in policy {policy} when policyDefaults.orderPolicies is true"
    )
}

pub fn consolidated_and_ordered(policy: &str) -> String {
    format!("policy {policy} may not set orderManifests when consolidateManifests is true")
}

pub fn extra_dependencies_of_ordered(policy: &str) -> String {
    format!("extraDependencies may not be set in policy {policy} when orderManifests is true")
}

pub fn extra_dependencies_of_ordered_manifest(policy: &str, index: usize) -> String {
    format!(
        "extraDependencies may not be set in policy {policy} manifest[{index}] because orderManifests is set"
    )
}

pub fn manifest_without_path(policy: &str) -> String {
    format!(
        "each policy manifest entry must have path set, but did not find a path in policy {policy}"
    )
}

pub fn manifest_not_found(path: &str, policy: &str) -> String {
    format!("could not read the manifest path {path} in policy {policy}")
}

pub fn set_on_consolidated(policy: &str, field: &str, index: usize) -> String {
    format!(
        "the policy {policy} has the {field} value set on manifest[{index}] but consolidateManifests is true"
    )
}

pub fn unnamed_set(index: usize) -> String {
    format!(
        "each policySet must have a name set, but did not find a name at policySet array index {index}"
    )
}

pub fn repeated_set(name: &str) -> String {
    format!("each policySet must have a unique name set, but found a duplicate name: {name}")
}

pub fn several_placements(of: &str) -> String {
    format!("{of} must specify only one of placement selector, placement path, or placement name")
}

pub fn placement_not_found(of: &str, path: &str) -> String {
    format!("{of} placement.placementPath could not read the path {path}")
}

pub fn invalid_selectors(of: &str) -> String {
    format!(
        "{of} placement has invalid selectors: the input is not a valid label selector or key-value label matching map"
    )
}

pub fn placement_not_generated(of: &str, field: &str) -> String {
    format!("{of} placement.{field} may not be set beside placementPath or placementName")
}

pub fn no_number_of_clusters(of: &str) -> String {
    format!("{of} placement.numberOfClusters must be a number, 0 or more, without quotes")
}

pub fn empty_manifest(path: &str) -> String {
    format!("found empty YAML in the manifest at {path}")
}

pub fn undecodable_manifest(path: &str, error: &dyn Display) -> String {
    format!("failed to decode the manifest file at {path}: {error}")
}

pub fn unreadable_manifest(path: &str) -> String {
    format!("failed to read the manifest file {path}")
}

pub fn unreadable_manifest_path(path: &str) -> String {
    format!("failed to read the manifest path {path}")
}

pub fn no_templates(policy: &str) -> String {
    format!("the policy {policy} must specify at least one non-empty manifest file")
}

pub fn in_manifest(error: &str, path: &str) -> String {
    format!("{error} in manifest path: {path}")
}

pub const ANNOTATIONS_NOT_A_MAP: &str =
    "metadata.annotations must be a mapping of texts, or the severity cannot be added to them";

pub fn annotation_not_text(key: &str) -> String {
    format!(
        "metadata.annotations must be a mapping of texts, but {key} is not text: write it in quotes"
    )
}

pub fn repeated_template(policy: &str, kind: &str, name: &str) -> String {
    format!(
        "policy {policy}: more than one template is a {kind} of the name {name}, but a managed cluster has only one; give the manifests names that differ"
    )
}

pub fn repeated_in_files(kind: &str, name: &str, file: &str) -> String {
    format!(
        "the {kind} {name} is also generated from {file}, and the one applied last replaces the other; give it another name"
    )
}

pub fn no_constraint_spec(index: usize) -> String {
    format!(
        "err in setting constraint.spec.enforcementAction has an error value cannot be set because .spec is not a map[string]interface{{}} in manifest index: {index}"
    )
}

pub fn unprocessed_manifest(path: &str) -> String {
    format!("failed to process the manifest at \"{path}\": ")
}

pub fn manifest_lacks(field: &str) -> String {
    format!("all manifests must have the \"{field}\" field set to a non-empty string")
}

pub fn patch_lacks(field: &str) -> String {
    format!(
        "patches must have the \"{field}\" field set to a non-empty string when there is more than one manifest it can apply to"
    )
}

pub fn patch_accessor(field: &str, name: &str, kind: &str, error: &str) -> String {
    format!(
        "failed to retrieve the \"{field}\" field from the manifest of name \"{name}\" and kind \"{kind}\": {error}"
    )
}

pub fn accessor(path: &str, value: &str, is: &str, expected: &str) -> String {
    format!("{path} accessor error: {value} is of the type {is}, expected {expected}")
}

pub fn no_match(id: &str) -> String {
    format!("no matches for Id {id}; failed to find unique target for patch {id}")
}

pub fn several_matches(id: &str) -> String {
    format!("multiple matches for Id {id}; failed to find unique target for patch {id}")
}

pub fn no_resource_for_patch(id: &str, error: &dyn Display) -> String {
    format!("no resource matches strategic merge patch \"{id}\": {error}")
}

pub fn unknown_directive(word: &str) -> String {
    format!("unknown patch strategy '{word}'")
}

pub fn repeated_id(id: &str) -> String {
    format!("may not add resource with an already registered id: {id}")
}

pub fn unreadable_schema(path: &str, error: &str) -> String {
    format!("failed to initialize Kustomize dir: error reading file {path}: {error} ")
}

pub fn invalid_schema(path: &str, error: &dyn Display) -> String {
    format!("the schema {path} is not valid JSON or YAML: {error}")
}

pub fn in_kustomize_dir(path: &str) -> String {
    format!("failed to process provided kustomize directory '{path}': ")
}

pub fn no_working_directory(error: &io::Error) -> String {
    let error = self::io(error);
    format!("failed to determine the current directory: getwd: {error}")
}

pub fn unknown_flag(name: &str) -> String {
    format!("unknown flag: --{name}")
}

pub fn unknown_shorthand(flag: char, shorthands: &str) -> String {
    format!("unknown shorthand flag: '{flag}' in -{shorthands}")
}

pub fn bad_flag(argument: &str) -> String {
    format!("bad flag syntax: {argument}")
}

pub fn not_a_boolean(name: &str, value: &str) -> String {
    let flag = match name {
        "help" => "-h, --help".to_owned(),
        name => format!("--{name}"),
    };
    format!(
        "invalid argument {value:?} for {flag:?} flag: strconv.ParseBool: parsing {value:?}: invalid syntax"
    )
}

/// As Go's pflag puts it.
pub fn needs_argument(flag: &str) -> String {
    format!("flag needs an argument: {flag}")
}

pub fn in_placement_file(error: &dyn Display) -> String {
    format!("failed to read the placement: {error}")
}

pub fn placement_lacks(path: &str, field: &str) -> String {
    format!("the placement {path} must have a {field} set")
}

pub fn placement_elsewhere(path: &str, namespace: &str) -> String {
    format!("the placement {path} must have the same namespace as the policy ({namespace})")
}

pub fn no_placement_in(path: &str) -> String {
    format!("the placement manifest {path} did not have a placement")
}

pub fn placed_outside_sets(policy: &str) -> String {
    format!(
        "policy {policy} is in no policy set: generatePlacementWhenInSet gives it a placement although generatePolicyPlacement is false; set generatePlacementWhenInSet to false for it"
    )
}

pub fn further_placements(path: &str, name: &str) -> String {
    format!(
        "the placement file {path} has more than one Placement, of which only the first, {name}, is used; move the others to files of their own"
    )
}

pub fn foreign_placement(path: &str, name: &str, api_version: &str) -> String {
    format!(
        "the Placement {name} in {path} has the apiVersion {api_version:?}, but the bindings refer to one of {PLACEMENT_GROUP}"
    )
}

pub fn different_placement(path: &str, name: &str) -> String {
    format!(
        "the Placement {name} in {path} is not used, because another file has a different one of that name; give it a name of its own"
    )
}

pub fn repeated_placement(name: &str) -> String {
    format!("a duplicate placement name was detected: {name}")
}

pub fn no_binding_name(placement: &str) -> String {
    format!(
        "placementBindingDefaults.name must be set but is empty (multiple policies or policy sets were found for the PlacementBinding to placement {placement})"
    )
}

pub fn cannot_convert(what: &str, error: &dyn Display) -> String {
    format!("an unexpected error occurred when converting the {what} to YAML: {error}")
}

pub fn unreadable_file(path: &str, operation: &str, error: &str) -> String {
    format!("failed to read file '{path}': {operation} {path}: {error}")
}

pub fn in_configuration(path: &str) -> String {
    format!("error processing the PolicyGenerator file '{path}': ")
}

pub fn in_generation(path: &str) -> String {
    format!("error generating policies from the PolicyGenerator file '{path}': ")
}

pub fn unread_kustomization(path: &str) -> String {
    format!(
        "manifest {path}: the file Kustomization is not read; rename it to kustomization.yaml, or use --extended"
    )
}

pub fn unopened_list(path: &str) -> String {
    format!(
        "manifest {path}: a List in it becomes one object template, not one for each of its items; write the items as documents, or use --extended"
    )
}

pub fn leaked_directive(path: &str, object: &str, key: &str) -> String {
    format!(
        "manifest {path}: {object} has the key {key}: as a directive of a patch it has no effect there, and it stays in the object; remove it"
    )
}

pub fn not_informed_on(policy: &str, kind: &str, name: &str, api_version: &str) -> String {
    format!(
        "policy {policy}: no template informs on {kind} {name}, because upstream's generator does not know {api_version}; --extended takes every version"
    )
}

pub fn no_admission_event(policy: &str, kind: &str, name: &str) -> String {
    format!(
        "policy {policy}: the template inform-gatekeeper-admission-{name} on {kind} {name} matches no Event, because it looks for annotations outside of metadata, as upstream's does; --extended writes one that matches"
    )
}

pub fn reported_with_namespace(policy: &str, kind: &str, name: &str) -> String {
    format!(
        "policy {policy}: Kyverno's reports call the {kind} {name} by its namespace and name, so the template inform-kyverno-{name} finds no results of it; --extended writes one that looks for both names"
    )
}

pub fn unknown_report_namespace(policy: &str, kind: &str, name: &str) -> String {
    format!(
        "policy {policy}: Kyverno's reports call the {kind} {name} by its namespace and name, so the template inform-kyverno-{name} finds no results of it; set metadata.namespace in its manifest and use --extended"
    )
}

/// A notice: `level` is `error`, `warning` or `hint`.
pub fn notice(level: &str, path: &str, text: &str) -> String {
    format!("{level}: {path}: {text}")
}

/// `contents` ends a line.
pub fn wrong_node_kind(expected: &str, is: &str, contents: &str) -> String {
    format!("wrong node kind: expected {expected} but got {is}: node contents:\n{contents}")
}
