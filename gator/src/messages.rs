//! What users read.

use std::fmt::Display;
use std::path::Path;

use reeve_gatekeeper::Json;

pub const NO_INPUT: &str = "no input data identified\n";
pub const MISSING_TEMPLATE: &str = "invalid Suite: missing template";
pub const MISSING_CONSTRAINT: &str = "invalid Suite: missing constraint";
pub const MISSING_OBJECT: &str = "invalid Case: must define object";
pub const NO_ASSERTIONS: &str = "invalid Case: assertions must be non-empty";
pub const WRONG_VIOLATIONS: &str =
    "invalid yaml: assertion.violation, if set, must be a nonnegative integer, \"yes\", or \"no\"";
pub const SUITE_FAILED: &str = "Error: FAIL\n";

pub fn cannot_read(path: &Path, error: &dyn Display) -> String {
    format!("cannot read {}: {error}", path.display())
}

pub fn cannot_parse(path: &Path, error: &dyn Display) -> String {
    format!("reading {:?}: {error}", path.display().to_string())
}

pub fn cannot_list(path: &Path, error: &dyn Display) -> String {
    format!("stat {}: {error}", path.display())
}

pub fn not_a_folder(path: &Path) -> String {
    let path = path.display().to_string();
    format!("can only recursively traverse directories, not a directory: {path:?}")
}

pub fn unsupported_extension(path: &Path) -> String {
    let extension = path.extension().unwrap_or_default().to_string_lossy();
    format!("unsupported extension: \".{extension}\"")
}

pub fn invalid_yaml_file(path: &Path, error: &dyn Display) -> String {
    let path = path.display().to_string();
    format!("invalid yaml: parsing yaml file {path:?}: {error}")
}

pub fn wrong_type(field: &str, wanted: &str, given: &Json) -> String {
    let given = match given {
        Json::Null => "null",
        Json::Bool(_) => "a boolean",
        Json::Number(_) => "a number",
        Json::String(_) => "a string",
        Json::Array(_) => "a list",
        Json::Object(_) => "a map",
    };
    format!("invalid yaml: {field} must be of the type {wanted}, not {given}")
}

pub fn listing(error: &dyn Display) -> String {
    format!("Error: listing test files: {error}\n")
}

pub fn compiling_filter(error: &dyn Display) -> String {
    format!("Error: compiling filter: {error}\n")
}

pub fn invalid_filter(error: &dyn Display) -> String {
    format!("invalid test filter: {error}")
}

pub fn filter_separators() -> String {
    "invalid test filter: a filter must include at most one \"//\"".to_owned()
}

pub fn adding_template(error: &dyn Display) -> String {
    format!("adding template: {error}")
}

pub fn not_a_template(path: &Path) -> String {
    format!("not a ConstraintTemplate: {}", path.display())
}

pub fn not_a_constraint(path: &Path) -> String {
    format!("not a Constraint: {}", path.display())
}

pub fn valid_constraint(error: Option<&str>) -> String {
    let error = error.unwrap_or("%!w(<nil>)");
    format!(
        "constraint should have failed schema validation: got error {error} but want schema validation failed"
    )
}

pub fn no_objects(path: &Path) -> String {
    let path = path.display().to_string();
    format!("missing objects: path {path:?} defines no YAML objects")
}

pub fn several_objects(path: &Path, count: usize) -> String {
    let path = path.display().to_string();
    format!("object file must contain exactly one object: {path:?} defines {count} objects")
}

pub fn invalid_regex(error: &dyn Display) -> String {
    format!("message contains invalid regular expression: {error}")
}

/// The wanted number of violations in words.
pub fn wrong_count(
    matching: usize,
    containing: Option<&str>,
    wanted: &str,
    all: &[String],
) -> String {
    let containing = containing
        .map(|text| format!(" containing {text:?}"))
        .unwrap_or_default();
    let all = all.join(" ");
    format!(
        "unexpected number of violations: got {matching} violations{containing} but want {wanted}: got messages [{all}]"
    )
}

pub fn reviewing(object: &Json, error: &dyn Display) -> String {
    format!("reviewing {}: {error}", subject(object))
}

/// An object as errors name it.
pub fn subject(object: &Json) -> String {
    let (version, kind) = (
        object["apiVersion"].as_str().unwrap_or_default(),
        object["kind"].as_str().unwrap_or_default(),
    );
    let namespace = object["metadata"]["namespace"].as_str().unwrap_or_default();
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    let version = if version.contains('/') {
        version.to_owned()
    } else {
        format!("/{version}")
    };
    format!("{version}, Kind={kind} {namespace}/{name}")
}

pub fn expanding(name: &str, error: &dyn Display) -> String {
    format!("expanding resource {name}: {error}")
}

pub fn reading(error: &dyn Display) -> String {
    format!("reading: {error}\n")
}

pub fn auditing(error: &dyn Display) -> String {
    format!("auditing objects: {error}\n")
}

pub fn adding_named(what: &str, name: &str, error: &dyn Display) -> String {
    format!("adding {what} {name:?}: {error}")
}

pub fn error_expanding(error: &dyn Display) -> String {
    format!("error expanding resources: {error}\n")
}

pub fn unknown_format(flag: &str, value: &str) -> String {
    format!("unrecognized value for {flag} flag: {value}\n")
}

pub fn images_unsupported() -> String {
    "images are not read: pull the image, and name its files with --filename\n".to_owned()
}

pub fn writing_to(path: &Path) -> String {
    format!("Writing output to file: {}\n", path.display())
}

pub fn cannot_write(path: &Path, error: &dyn Display) -> String {
    format!("cannot write {}: {error}\n", path.display())
}
