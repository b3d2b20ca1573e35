//! Every text that a user sees.

use std::path::Path;

use reeve_api::dependency_graph::Dependent;
use reeve_manifests::os_words;
use reeve_templates_engine::hints::hint;

/// A document that is text, a number or a list.
pub(crate) const NOT_AN_OBJECT: &str = "The document is not a Kubernetes object.";
/// A selector without `include` and labels.
pub(crate) const SELECTS_NOTHING: &str =
    "The namespaceSelector has neither include nor labels, so it selects nothing.";
/// No path is given.
pub(crate) const PATH_NEEDED: &str = "name a file or a folder, or - for standard input";
/// `--fix` of standard input.
pub(crate) const NO_FIX_OF_STDIN: &str = "--fix changes files, and standard input is none";
/// How standard input is called.
pub(crate) const STDIN: &str = "<stdin>";

/// A rule that does not exist.
pub(crate) fn unknown_rule(id: &str) -> String {
    format!("there is no rule {id}: see --rules")
}

/// A file that cannot be written.
pub(crate) fn unwritable(path: &Path, error: &std::io::Error) -> String {
    format!("cannot write {}: {}", path.display(), os_words(error))
}

/// `--fix` does not write through a symbolic link: its target may be outside of the folder that the user named.
pub(crate) fn not_through_link(path: &Path) -> String {
    format!(
        "cannot write {}: it is a symbolic link; name the file itself",
        path.display()
    )
}

/// A text that is no YAML.
pub(crate) fn not_yaml(why: &str) -> String {
    format!(
        "The document is not YAML: {}.",
        why.trim_start_matches("yaml: ")
    )
}

/// A document without a field that every object has.
pub(crate) fn missing(field: &str) -> String {
    format!("The object has no {field}.")
}

/// A kind of policies that does not exist, in any version or in this one.
pub(crate) fn no_kind(kind: &str, api_version: &str, other: Option<&str>) -> String {
    match other {
        Some(other) => format!("{api_version} has no {kind}: use {other}."),
        None => format!("{api_version} has no kind {kind}."),
    }
}

/// A field that the kind does not have.
pub(crate) fn unknown_field(object: &str, field: &str) -> String {
    format!("{object} has an unknown field: {field}.")
}

/// What the schema refuses.
pub(crate) fn invalid(object: &str, field: &str, why: &str) -> String {
    match field {
        "<nil>" | "" => format!("{object} is invalid: {why}."),
        field => format!("{object} is invalid: {field}: {why}."),
    }
}

/// What a template prints for a value that does not exist.
const NO_VALUE: &str = "<no value>";

/// A text, with a note if it is about something that holds [`NO_VALUE`].
fn with_no_value_note(mut text: String, about: &str) -> String {
    if about.contains(NO_VALUE) {
        text.push_str(" A template prints ");
        text.push_str(NO_VALUE);
        text.push_str(" for a value that does not exist.");
    }
    text
}

/// An action of a constraint that does not exist.
pub(crate) fn enforcement_action(object: &str, action: &str, known: &[&str]) -> String {
    format!(
        "{object} has the enforcementAction {action:?}, which Gatekeeper does not know: use one of {}.",
        known.join(", ")
    )
}

/// A member of a schema that is no keyword.
pub(crate) fn unread_keyword(template: &str, name: &str) -> String {
    format!(
        "Gatekeeper ignores {name:?} in the schema of {template}: no schema has that keyword. Is it a parameter, which belongs below `properties`?"
    )
}

/// A scalar where the schema of the elements belongs.
pub(crate) fn unread_items(template: &str) -> String {
    format!(
        "Gatekeeper ignores this `items` in the schema of {template}: it must be a schema, such as `items: {{type: string}}`."
    )
}

/// A name that Kubernetes does not take.
pub(crate) fn not_a_name(object: &str) -> String {
    let text = format!(
        "The name of {object} must consist of lower-case letters, digits, - and ., begin and end with a letter or digit, and have at most 253 characters."
    );
    with_no_value_note(text, object)
}

/// A namespace that Kubernetes does not take.
pub(crate) fn not_a_namespace(object: &str, namespace: &str) -> String {
    let text = format!(
        "The namespace of {object} must consist of lower-case letters, digits and -, begin and end with a letter or digit, and have at most 63 characters."
    );
    with_no_value_note(text, namespace)
}

/// An object without a name.
pub(crate) fn no_name(kind: &str) -> String {
    format!("The {kind} has no metadata.name.")
}

/// A policy whose name is too long.
pub(crate) fn policy_name(object: &str, length: usize) -> String {
    format!(
        "The namespace and name of {object} have {length} characters together, and the propagator takes 62."
    )
}

/// A label or annotation that Kubernetes does not take.
pub(crate) fn label(object: &str, place: &str, key: &str, value: &str, why: &str) -> String {
    let what = place.trim_end_matches('s');
    let text = format!("The {what} {key:?} of {object} is invalid: {why}.");
    with_no_value_note(text, value)
}

/// Policies and templates that wait for each other.
pub(crate) fn dependency_loop(members: &[Dependent]) -> String {
    let members: Vec<String> = members.iter().map(ToString::to_string).collect();
    format!(
        "The dependencies are a loop, so none of them is ever met: {}.",
        members.join(" -> ")
    )
}

/// An object that was there before.
pub(crate) fn duplicate(object: &str, path: &str, line: usize) -> String {
    format!("{object} is also in {path}:{line}.")
}

/// A template that cannot be parsed.
pub(crate) fn template(why: &str) -> String {
    match hint(why) {
        Some(hint) => format!("The template cannot be parsed: {why} ({hint})."),
        None => format!("The template cannot be parsed: {why}."),
    }
}

/// A value that is no text where text is needed.
pub(crate) fn not_text(field: &str, raw: &str) -> String {
    format!("{field} must be text: quote {raw}.")
}

/// A word that is a boolean.
pub(crate) fn boolean(raw: &str, value: bool) -> String {
    format!(
        "{raw} is the boolean {value} to Kubernetes and text to templates: write {value}, or quote it."
    )
}

/// A key that is a boolean.
pub(crate) fn boolean_key(raw: &str) -> String {
    format!("The key {raw} is a boolean to Kubernetes and text to templates: quote it.")
}

/// A date without quotes.
pub(crate) fn date(raw: &str) -> String {
    format!("{raw} becomes a time when templates are resolved: quote it.")
}

/// A number that some readers round.
pub(crate) fn large_number(raw: &str) -> String {
    format!("{raw} is larger than 2^53, and some readers round it: quote it if it may be text.")
}

/// A number that is read as another one.
pub(crate) fn other_number(raw: &str, read: &str) -> String {
    format!("{raw} is read as {read}: write that, or quote it.")
}

/// A selector that matches nothing.
pub(crate) fn no_match(selector: &str, kind: &str, count: usize) -> String {
    format!("The {selector} matches none of the {count} {kind} among the inputs.")
}

/// A policy that no binding names.
pub(crate) fn unbound(object: &str) -> String {
    format!("{object} is bound to no placement.")
}

/// A placement that no binding names.
pub(crate) fn unused_placement(object: &str) -> String {
    format!("No PlacementBinding names {object}.")
}

/// A name of an object that is not there.
pub(crate) fn dangling(object: &str, kind: &str, namespace: &str, name: &str) -> String {
    let of = if namespace.is_empty() {
        name.to_owned()
    } else {
        format!("{namespace}/{name}")
    };
    format!("{object} names {kind} {of}, which is not among the inputs.")
}

/// A kind that should not be used any more.
pub(crate) fn deprecated(kind: &str, api_version: &str, instead: &str) -> String {
    format!("{kind} of {api_version} is deprecated: use {instead}.")
}

/// An interval that the CRD takes and the controller does not.
pub(crate) fn interval(word: &str) -> String {
    format!("{word} is neither a duration such as 1h30m, nor never or watch.")
}

/// Fields of a named object that must not exist.
pub(crate) fn ignored(object: &str, field: &str) -> String {
    format!("{object} must not exist at all: {field} is ignored, because the object is named.")
}

/// An object without a namespace.
pub(crate) fn no_namespace(object: &str) -> String {
    format!("{object} has no namespace, and the policy has no namespaceSelector.")
}

/// The last line of the text form.
pub(crate) fn summary(errors: usize, warnings: usize, files: usize, fixed: usize) -> String {
    let plural = reeve_report::plural;
    let mut parts = Vec::new();
    if errors > 0 {
        parts.push(plural(errors, "error"));
    }
    if warnings > 0 {
        parts.push(plural(warnings, "warning"));
    }
    let found = if parts.is_empty() {
        "no findings".to_owned()
    } else {
        parts.join(", ")
    };
    let mended = if fixed > 0 {
        format!(", {fixed} fixed")
    } else {
        String::new()
    };
    format!("{} checked: {found}{mended}", plural(files, "file"))
}
