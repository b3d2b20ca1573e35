//! Every text that a user sees.

use std::fmt::Display;

use reeve_go_compat::printing::shortest_float;
use reeve_go_compat::runes::quote;

use crate::Json;

pub fn no_driver(with_cel: bool) -> String {
    let drivers = if with_cel {
        "K8sNativeValidation:1 Rego:2"
    } else {
        "Rego:2"
    };
    format!(
        "no language driver is installed that handles this constraint template: available drivers: map[{drivers}], wanted \"\""
    )
}

pub const NAMESPACE_UNKNOWN: &str =
    "namespace selector for namespace-scoped object but missing Namespace";
pub const DELETE_WITHOUT_OLD_OBJECT: &str = "oldObject cannot be nil for DELETE operations";
pub const MISSING_SCOPES: &str =
    "missing required field: spec.scopedEnforcementActions must be defined";
pub const TYPE_OF_FIELD: &str = "Required value: must not be empty for specified object fields";
pub const TYPE_OF_ITEMS: &str = "Required value: must not be empty for specified array items";
pub const REVIEW_WITHOUT_REQUEST: &str = "the AdmissionReview has no request";
pub const OBJECT_TOO_DEEP: &str = "the object is nested too deeply to be evaluated";
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

pub fn invalid_template(cause: impl Display) -> String {
    format!("invalid ConstraintTemplate: {cause}")
}

pub fn template_name(name: &str, kind: &str) -> String {
    let kind = kind.to_lowercase();
    invalid_template(format!(
        "the ConstraintTemplate's name \"{name}\" is not equal to the lowercase of CRD's Kind: \"{kind}\""
    ))
}

pub fn template_kind(name: &str) -> String {
    invalid_template(format!(
        "ConstraintTemplate \"{name}\" does not specify CRD Kind"
    ))
}

pub fn template_errors(errors: &[String]) -> String {
    match errors {
        [one] => invalid_template(one),
        all => invalid_template(format!("[{}]", all.join(", "))),
    }
}

pub fn label_too_long(path: &str, name: &str, is_kind: bool) -> String {
    name_error(path, name, is_kind, "must be no more than 63 characters")
}

pub fn no_label(path: &str, name: &str, is_kind: bool) -> String {
    name_error(
        path,
        name,
        is_kind,
        "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')",
    )
}

fn name_error(path: &str, name: &str, is_kind: bool, cause: &str) -> String {
    let mixed = if is_kind {
        "may have mixed case, but should otherwise match: "
    } else {
        ""
    };
    format!("{path}: Invalid value: \"{name}\": {mixed}{cause}")
}

pub fn no_subdomain(path: &str, name: &str) -> String {
    format!("{path}: Invalid value: \"{name}\": {SUBDOMAIN}")
}

pub const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

pub fn wrong_field(path: &str, wanted: &str) -> String {
    format!("{path} must be {wanted}")
}

pub fn not_a_template(api_version: &str, kind: &str) -> String {
    format!(
        "{api_version} {kind} is not a ConstraintTemplate of templates.gatekeeper.sh v1, v1beta1 or v1alpha1"
    )
}

pub fn target_count() -> String {
    invalid_template("must declare exactly one target")
}

pub fn unknown_target(target: &str) -> String {
    invalid_template(if target.is_empty() {
        "target name must not be empty".to_owned()
    } else {
        format!("target \"{target}\" not recognized, known targets [admission.k8s.gatekeeper.sh]")
    })
}

pub fn sync_annotation(cause: impl Display) -> String {
    format!(
        "the annotation metadata.gatekeeper.sh/requires-sync-data is not a list of lists of groups, versions and kinds: {cause}"
    )
}

pub fn could_not_ingest(cause: impl Display) -> String {
    format!("Could not ingest Rego: {cause}")
}

pub fn source_type(member: &str, value: &str, go_type: &str) -> String {
    format!(
        ".{member} accessor error: {value} is of the type {go_type}, expected string: while extracting Rego source"
    )
}

pub const SOURCE_WITHOUT_REGO: &str = "rego source missing required field: rego";

// ---- actions, as a constraint is written

pub const SCOPES_REQUIRED: &str =
    "error fetching scopedEnforcementActions: scopedEnforcementActions is required";

pub fn unknown_action(action: &str) -> String {
    format!(
        "unrecognized enforcementAction: {} is not within the supported list [deny dryrun warn scoped]",
        quote(action)
    )
}

pub fn unknown_scoped_actions(actions: &[&str]) -> String {
    format!(
        "unrecognized enforcementAction: [{}] is not within the supported list [deny dryrun warn]",
        actions.join(" ")
    )
}

pub fn unknown_points(points: &[&str], known: &[&str]) -> String {
    format!(
        "unrecognized enforcement points: constraint will not be enforced for enforcement points [{}], supported enforcement points are [{}]",
        points.join(" "),
        known.join(" ")
    )
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

pub fn selector_values(index: usize, none: bool) -> String {
    let path = format!("spec.labelSelector.matchExpressions[{index}].values");
    invalid_constraint(if none {
        format!(
            "{path}: Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
        )
    } else {
        format!("{path}: Required value: must be specified when `operator` is 'In' or 'NotIn'")
    })
}

pub fn selector_label(path: &str, label: &str, cause: &str) -> String {
    invalid_constraint(format!(
        "spec.labelSelector.{path}: Invalid value: \"{label}\": {cause}"
    ))
}

pub fn not_an_object(path: &str, value: &str, go_type: &str) -> String {
    invalid_constraint(format!(
        ".{path} accessor error: {value} is of the type {go_type}, expected map[string]interface{{}}"
    ))
}

pub fn constraint_name(name: &str) -> String {
    invalid_constraint(if name.is_empty() {
        "missing metadata.name".to_owned()
    } else {
        format!("invalid name: {}", quote(SUBDOMAIN.as_bytes()))
    })
}

pub fn constraint_kind(kind: &str, wanted: &str) -> String {
    invalid_constraint(format!(
        "wrong kind \"{kind}\" for constraint; want \"{wanted}\""
    ))
}

pub fn constraint_group(name: &str, group: &str) -> String {
    invalid_constraint(format!(
        "wrong API Group for Constraint \"{name}\", got \"{group}\" but need \"constraints.gatekeeper.sh\""
    ))
}

pub fn constraint_version(name: &str, version: &str) -> String {
    invalid_constraint(format!(
        "unsupported version \"{version}\" for Constraint \"{name}\"; supported versions: map[v1alpha1:true v1beta1:true]"
    ))
}

pub fn no_template(kind: &str) -> String {
    let name = kind.to_lowercase();
    format!("missing ConstraintTemplate: template \"{name}\" not found")
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

/// More is made of an object than may be.
pub fn expansion_size(template: &str, objects: usize, mebibytes: usize) -> String {
    format!(
        "expansion template {template} makes too much of one object: more than {objects} objects or {mebibytes} MiB"
    )
}

pub fn expansion_depth(limit: usize) -> String {
    format!("maximum recursion depth of {limit} reached: the expansion does not end")
}

pub const MISSING_VIOLATION: &str =
    "invalid rego: invalid module: missing required rules: [violation]";

pub fn not_compiled(errors: &[String]) -> String {
    format!("unable to compile modules: {}", errors_occurred(errors))
}

/// Several errors in one text, as the compiler prints them.
pub fn errors_occurred(errors: &[String]) -> String {
    match errors {
        [one] => format!("1 error occurred: {one}"),
        all => format!("{} errors occurred:\n{}", all.len(), all.join("\n")),
    }
}

pub fn lib_package(package: &str) -> String {
    invalid_template(format!(
        "invalid lib prefix: path data.{package} not found in lib prefixes"
    ))
}

pub fn bad_import(path: &str) -> String {
    invalid_template(format!("invalid import: bad import: \"{path}\""))
}

pub fn input_import(path: &str) -> String {
    invalid_template(format!("invalid import: cannot import input: \"{path}\""))
}

pub fn disallowed_refs(module: &str, texts: &[&str]) -> String {
    let lines: Vec<String> = texts
        .iter()
        .map(|text| format!("disallowed ref {text}\n"))
        .collect();
    invalid_template(format!(
        "invalid data references: check refs failed on module {{{module}}}: errors ({}):\n{}",
        texts.len(),
        lines.concat()
    ))
}

pub fn not_a_map(path: &str) -> String {
    format!("{path}: must be a map")
}

pub fn no_provider_name() -> String {
    "external_data: provider must be a text".to_owned()
}

pub fn unknown_provider(provider: &str) -> String {
    format!("external_data: no provider {} is given", quote(provider))
}

pub fn no_keys(provider: &str) -> String {
    format!(
        "external_data: keys for the provider {} must be a list of texts",
        quote(provider)
    )
}

pub fn no_stub(provider: &str, key: &str) -> String {
    format!(
        "no value is given for the key {} of the provider {}",
        quote(key),
        quote(provider)
    )
}

pub fn undefined_function(name: &str) -> String {
    let reason = if name == "external_data" {
        ": no provider of external data is configured, and none is ever asked"
    } else {
        ""
    };
    format!("rego_type_error: undefined function {name}{reason}")
}

pub fn conflicting_rules(rule: &str) -> String {
    format!("rego_type_error: conflicting rules {rule} found")
}

pub fn assigned_above(variable: &str) -> String {
    format!("rego_compile_error: var {variable} assigned above")
}

pub fn unused(variable: &str) -> String {
    format!("rego_compile_error: declared var {variable} unused")
}

pub fn unsafe_variable(variable: &str) -> String {
    format!("rego_unsafe_var_error: var {variable} is unsafe")
}

pub fn deprecated(function: &str) -> String {
    format!("rego_type_error: deprecated built-in function calls in expression: {function}")
}

/// The query of the library over the rule, with the place that it has there.
pub fn violation_is_function() -> String {
    "hooks.hooks_builtin:15: rego_type_error: function data.template.violation[r] used as reference, not called\n\tdata.template.violation[r]\n\t^^^^^^^^^^^^^^^^^^^^^^^\n\thave: (number) => boolean".to_owned()
}

/// The query of the library over the rule, with the place that it has there.
pub fn violation_is_boolean() -> String {
    "hooks.hooks_builtin:15: rego_type_error: undefined ref: data.template.violation[r]\n\tdata.template.violation[r]\n\t^^^^^^^^^^^^^^^^^^^^^^^\n\thave: boolean".to_owned()
}

pub fn arity(name: &str, have: usize, wanted: usize) -> String {
    format!("rego_type_error: {name}: arity mismatch: have {have} arguments, want {wanted}")
}

pub fn recursion(rule: &str, way: &str) -> String {
    format!("rego_recursion_error: rule {rule} is recursive: {way}")
}

pub fn calls_too_deep(levels: usize, limit: usize) -> String {
    format!("rules call each other {levels} levels deep, more than the {limit} that are allowed")
}

pub fn undecodable_object(object: &str) -> String {
    format!(
        "unable to match constraints: invalid request object: failed to unmarshal gkReview object {object}\n"
    )
}

// ---- schemas

pub fn unsupported_type(path: &str, name: &str) -> String {
    format!(
        "{path}.type: Unsupported value: \"{name}\": supported values: \"array\", \"boolean\", \"integer\", \"number\", \"object\", \"string\""
    )
}

/// A refused value as Gatekeeper prints it, which validates numbers as floats.
pub fn printed(value: &Json) -> String {
    match value.as_f64() {
        Some(float) => shortest_float(float),
        None => value.to_string(),
    }
}

/// The values that are allowed are always quoted.
pub fn unsupported_value(value: &Json, allowed: &[Json]) -> String {
    let value = printed(value);
    let allowed: Vec<String> = allowed
        .iter()
        .map(|one| match one.as_str() {
            Some(text) => quote(text),
            None => format!("\"{one}\""),
        })
        .collect();
    let allowed = allowed.join(", ");
    format!("Unsupported value: {value}: supported values: {allowed}")
}

/// A number that its type and format exclude. It is not compared with limits.
pub fn unchecked_number(path: &str, kind: &str, format: Option<&str>) -> String {
    let format = match format {
        Some(format) => format!("with format {format}"),
        None => "(default format)".to_owned(),
    };
    format!("[]: Invalid value: \"\": Checked value must be of type {kind} {format} in {path}")
}

pub fn no_schema_of_any(path: &str) -> String {
    format!("[]: Invalid value: \"\": \"{path}\" must validate at least one schema (anyOf)")
}

/// `valid` of the schemas accept the value.
pub fn not_one_schema(path: &str, valid: usize) -> String {
    let found = match valid {
        0 => "Found none valid".to_owned(),
        valid => format!("Found {valid} valid alternatives"),
    };
    format!(
        "[]: Invalid value: \"\": \"{path}\" must validate one and only one schema (oneOf). {found}"
    )
}

/// `valid` of the schemas accept the value.
pub fn not_all_schemas(path: &str, valid: usize) -> String {
    let none = if valid == 0 { ". None validated" } else { "" };
    format!("[]: Invalid value: \"\": \"{path}\" must validate all the schemas (allOf){none}")
}

pub fn forbidden_schema(path: &str) -> String {
    format!("[]: Invalid value: \"\": \"{path}\" must not validate the schema (not)")
}

pub fn too_long(most: u64) -> String {
    let unit = if most == 1 { "byte" } else { "bytes" };
    format!("Too long: may not be more than {most} {unit}")
}

pub fn too_many(count: u64, most: u64) -> String {
    let unit = if most == 1 { "item" } else { "items" };
    format!("Too many: {count}: must have at most {most} {unit}")
}

pub fn items_required(path: &str) -> String {
    format!("{path}.items: Required value: must be specified")
}

pub fn exclusive_properties(path: &str) -> String {
    format!(
        "{path}.additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive"
    )
}

pub fn reference_forbidden(path: &str) -> String {
    format!("{path}.$ref: Forbidden: $ref is not supported")
}

pub fn unique_items_forbidden(path: &str) -> String {
    format!(
        "{path}.uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
    )
}

pub fn not_structural(path: &str) -> String {
    format!("{path}: Forbidden: must be empty to be structural")
}

pub fn preserved_int_or_string(path: &str) -> String {
    format!(
        "{path}.x-kubernetes-preserve-unknown-fields: Invalid value: true: must be false if x-kubernetes-int-or-string is true"
    )
}

pub fn bad_pattern(path: &str, pattern: &str, cause: &str) -> String {
    format!(
        "{path}.pattern: Invalid value: \"{pattern}\": must be a valid regular expression, but isn't: {cause}"
    )
}

pub const IF_REQUIRED: &str = "rego_parse_error: `if` keyword is required before rule body";

pub fn unsupported_function(name: &str) -> String {
    format!("rego_type_error: function {name} is not supported")
}

pub fn unknown_review_field(path: &str) -> String {
    format!("strict decoding error: unknown field \"{path}\"")
}

pub const IF_NOT_IMPORTED: &str =
    "rego_parse_error: `if` is a keyword only after `import future.keywords.if`";
