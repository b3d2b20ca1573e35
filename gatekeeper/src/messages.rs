//! Every text that a user sees.

use std::fmt::Display;

pub const NO_DRIVER: &str = "No language driver is installed that handles this constraint template";
pub const NAMESPACE_UNKNOWN: &str =
    "namespace selector for namespace-scoped object but missing Namespace";
pub const DELETE_WITHOUT_OLD_OBJECT: &str = "oldObject cannot be nil for DELETE operations";
pub const MISSING_SCOPES: &str =
    "missing required field: spec.scopedEnforcementActions must be defined";
pub const TYPE_OF_FIELD: &str = "Required value: must not be empty for specified object fields";
pub const TYPE_OF_ITEMS: &str = "Required value: must not be empty for specified array items";
pub const REVIEW_WITHOUT_REQUEST: &str = "the AdmissionReview has no request";
pub const REVIEW_WITHOUT_OBJECT: &str =
    "the request of the AdmissionReview has neither object nor oldObject";
pub const OBJECT_TOO_DEEP: &str = "the object is nested too deeply to be evaluated";
pub const EXTERNAL_DATA: &str = "external data is not supported: no provider is ever asked";
pub const TEXT_TOO_LONG: &str = "the result is longer than an evaluation may produce";

// ---- matching

pub fn match_error(name: &str, cause: &str) -> String {
    format!(
        "unable to match constraints: error matching the requested object: {name} :failed to run Match criteria: {cause}"
    )
}

pub fn invalid_source(source: &str) -> String {
    format!("invalid source field \"{source}\"")
}

pub fn source_unknown(name: &str) -> String {
    format!("source field not specified for resource {name}")
}

// ---- templates

pub fn template_name(name: &str, kind: &str) -> String {
    format!(
        "the ConstraintTemplate's name \"{name}\" is not equal to the lowercase of CRD's Kind: \"{kind}\""
    )
}

pub fn missing_field(path: &str) -> String {
    format!("{path} is required")
}

pub fn wrong_field(path: &str, wanted: &str) -> String {
    format!("{path} must be {wanted}")
}

pub fn not_a_template(api_version: &str, kind: &str) -> String {
    format!(
        "{api_version} {kind} is not a ConstraintTemplate of templates.gatekeeper.sh v1, v1beta1 or v1alpha1"
    )
}

pub fn target_count(count: usize) -> String {
    format!("expected exactly 1 item in targets, got {count}")
}

pub fn unknown_target(target: &str) -> String {
    format!("target \"{target}\" not recognized; known targets: admission.k8s.gatekeeper.sh")
}

pub fn sync_annotation(cause: impl Display) -> String {
    format!(
        "the annotation metadata.gatekeeper.sh/requires-sync-data is not a list of lists of groups, versions and kinds: {cause}"
    )
}

pub fn operation_not_alone() -> String {
    "operations must not list \"*\" with others".to_owned()
}

pub fn unknown_operation(operation: &str) -> String {
    format!(
        "operation \"{operation}\" is not supported; supported operations: \"*\", \"CREATE\", \"UPDATE\", \"DELETE\", \"CONNECT\""
    )
}

pub fn could_not_ingest(cause: impl Display) -> String {
    format!("Could not ingest Rego: {cause}")
}

// ---- constraints

pub fn invalid_constraint(cause: impl Display) -> String {
    format!("invalid Constraint: {cause}")
}

pub fn schema_failed(errors: &[String]) -> String {
    let all = errors.join(", ");
    if errors.len() > 1 {
        format!("schema validation failed: [{all}]")
    } else {
        format!("schema validation failed: {all}")
    }
}

pub fn unknown_fields(paths: &[String]) -> String {
    invalid_constraint(format!("unknown fields: [{}]", paths.join(" ")))
}

pub fn selector_operator(index: usize, operator: &str) -> String {
    invalid_constraint(format!(
        "spec.labelSelector.matchExpressions[{index}].operator: Invalid value: \"{operator}\": not a valid selector operator"
    ))
}

pub fn selector_values(index: usize, operator: &str, none: bool) -> String {
    let path = format!("spec.labelSelector.matchExpressions[{index}].values");
    invalid_constraint(if none {
        format!("{path}: Forbidden: may not be specified when `operator` is '{operator}'")
    } else {
        format!("{path}: Required value: must be specified when `operator` is 'In' or 'NotIn'")
    })
}

pub fn constraint_name(name: &str) -> String {
    invalid_constraint(format!(
        "metadata.name: Invalid value: \"{name}\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
    ))
}

pub fn constraint_kind(kind: &str, wanted: &str) -> String {
    invalid_constraint(format!(
        "wrong kind \"{kind}\" for constraint; want \"{wanted}\""
    ))
}

pub fn constraint_group(group: &str) -> String {
    invalid_constraint(format!(
        "unsupported group \"{group}\"; allowed group: [constraints.gatekeeper.sh]"
    ))
}

pub fn constraint_version(version: &str) -> String {
    invalid_constraint(format!(
        "unsupported version \"{version}\"; supported versions: [v1beta1 v1alpha1]"
    ))
}

pub fn no_template(kind: &str) -> String {
    format!("no ConstraintTemplate for the kind \"{kind}\" of the constraint")
}

// ---- evaluation

pub fn message_type(shown: &str, wanted: &str) -> String {
    format!(".msg accessor error: {shown} is of the type {wanted}, expected string")
}

pub fn time_limit(limit: std::time::Duration) -> String {
    format!(
        "the evaluation was stopped after {} ms, its limit",
        limit.as_millis()
    )
}

pub fn too_many_violations(limit: usize) -> String {
    format!("the evaluation gave more than {limit} violations, the limit for one object")
}

pub fn too_much_output(limit: usize) -> String {
    format!(
        "the evaluation gave more than {limit} bytes of messages and details, the limit for one object"
    )
}

// ---- Rego

pub fn source_too_long(length: usize, limit: usize) -> String {
    format!("the source has {length} bytes, more than the {limit} that are allowed")
}

pub fn nested_too_deeply(line: usize, limit: usize) -> String {
    format!("{line}: the source is nested more than {limit} levels deep")
}

// ---- audit

pub fn audit_incomplete(objects: usize) -> String {
    format!("audit incomplete: {objects} objects could not be evaluated")
}

pub fn could_not_list(kind: &str) -> String {
    format!("could not list {kind}")
}

// ---- admission

pub fn admission_line(constraint: &str, message: &str) -> String {
    format!("[{constraint}] {message}")
}

// ---- expansion

pub fn implied_by(template: &str, message: &str) -> String {
    format!("[Implied by {template}] {message}")
}

pub const EXPANSION_NAME: &str = "ExpansionTemplate has empty name field";
pub const EXPANSION_NAME_LENGTH: &str = "ExpansionTemplate name must be less than 64 characters";

pub fn expansion_source(name: &str) -> String {
    format!("ExpansionTemplate {name} has empty source field")
}

pub fn expansion_gvk(name: &str) -> String {
    format!("ExpansionTemplate {name} has empty generatedGVK field")
}

pub fn expansion_apply_to(name: &str) -> String {
    format!("ExpansionTemplate {name} must specify ApplyTo")
}

pub fn expansion_itself(name: &str, api_version: &str, kind: &str) -> String {
    format!(
        "ExpansionTemplate {name} generates {api_version} {kind}, but also applies to that same kind"
    )
}

pub fn expansion_no_source(path: &str, parent: &str) -> String {
    format!("could not find source field {path} in resource {parent}")
}

pub fn expansion_depth(limit: usize) -> String {
    format!("maximum recursion depth of {limit} reached: the expansion does not end")
}

pub const MISSING_VIOLATION: &str = "missing required rules: [violation]";

pub fn lib_package(package: &str) -> String {
    format!("the package of a lib must begin with lib: \"{package}\"")
}

pub fn bad_import(path: &str) -> String {
    format!("bad import: \"{path}\"")
}

pub fn disallowed_ref(text: &str) -> String {
    format!("disallowed ref {text}")
}

pub fn undefined_function(name: &str) -> String {
    format!("undefined function {name}")
}

pub fn arity(name: &str, have: usize, wanted: usize) -> String {
    format!("{name}: arity mismatch: have {have} arguments, want {wanted}")
}

pub fn recursion(rule: &str, way: &str) -> String {
    format!("rule {rule} is recursive: {way}")
}

pub fn calls_too_deep(levels: usize, limit: usize) -> String {
    format!("rules call each other {levels} levels deep, more than the {limit} that are allowed")
}
