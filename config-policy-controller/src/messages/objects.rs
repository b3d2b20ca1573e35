//! Texts about objects: what was found, what was done, and what could not be done.

/// A Secret whose `data` is not a map of strings.
pub const SECRET_DATA: &str = "Error accessing encoded data";

/// A list or map is desired where the object holds something else.
pub fn different_types(key: &str) -> String {
    format!(
        "Error merging changes into key \"{key}\": object type of template and existing do not match"
    )
}

/// A value of a Secret that is not base64.
pub fn secret_decode(name: &str) -> String {
    format!("Error decoding secret: {name}")
}

/// Labels or annotations that are not a map of strings.
pub fn not_a_string_map(key: Option<&str>, value: &str, go_type: &str) -> String {
    match key {
        Some(key) => format!(
            "contains non-string value in the map under key \"{key}\": {value} is of the type {go_type}, expected string"
        ),
        None => format!("{value} is of the type {go_type}, expected map[string]interface{{}}"),
    }
}

/// What the status holds in place of a difference with sensitive data.
pub const DIFF_REDACTED: &str = "# The difference is redacted because it contains sensitive data. To override, the spec[\"object-templates\"][].recordDiff field must be set to \"InStatus\" for the difference to be recorded in the policy status. Consider existing access to the ConfigurationPolicy objects and the etcd encryption configuration before you proceed with an override.";

/// The file name in front of the removed lines.
pub fn diff_existing(name: &str) -> String {
    format!("{name} : existing")
}

/// The file name in front of the added lines.
pub fn diff_updated(name: &str) -> String {
    format!("{name} : updated")
}

/// The line on top of a shortened difference.
pub fn diff_truncated(shown: usize, all: usize) -> String {
    format!("# Truncated: showing {shown}/{all} diff lines:")
}

/// Where objects are; empty for cluster-scoped ones.
pub fn in_namespaces(namespaces: &[&str]) -> String {
    match namespaces {
        [] => String::new(),
        [one] => format!(" in namespace {one}"),
        several => format!(" in namespaces: {}", several.join(", ")),
    }
}

/// A sentence about objects of a resource; without names it is about any of them.
pub fn about_objects(resource: &str, names: &[&str], end: &str) -> String {
    if names.is_empty() {
        format!("{resource} {end}")
    } else {
        format!("{resource} [{}] {end}", names.join(", "))
    }
}

/// What a template prints for a value that does not exist.
pub const NO_VALUE: &str = "<no value>";

/// The note in a message about objects whose name or namespace holds [`NO_VALUE`].
pub const NO_VALUE_NOTE: &str =
    " (<no value> is what a template prints for a value that does not exist)";

/// A verdict without a dry run, which the API server refused.
pub fn unverified(error: &str) -> String {
    format!("compared without a dry run: {error}")
}

/// The note in a message with an unverified verdict.
pub const UNVERIFIED_NOTE: &str = ". This was not verified by a dry run, as the controller may not request updates of the objects.";

/// Objects that could not be deleted with their policy.
pub fn cannot_prune(objects: &str) -> String {
    format!("Failed to delete objects: {objects}")
}

/// An object, as the message about pruning names it.
pub fn pruned_object(
    group: &str,
    version: &str,
    kind: &str,
    (namespace, name): (&str, &str),
) -> String {
    format!("{group}/{version}, Kind={kind} \"{name}\" in namespace {namespace}")
}

/// The default message, with the reason why the custom one is not shown.
pub fn custom_message_failed(default: &str, error: &str) -> String {
    format!("{default} (failure processing the custom message: {error})")
}

/// A kind that cannot be watched, in a policy that is evaluated on change.
pub fn unwatchable(index: usize, error: &str) -> String {
    format!(
        "Error with object-template at index [{index}], it may require evaluationInterval to be set: {error}"
    )
}

/// An object that could not be read.
pub fn unreadable(index: usize, error: &str) -> String {
    format!("Error retrieving an object for object-template at index [{index}]: {error}")
}

/// `pods [a] in namespace n`: how messages about writing name an object.
pub fn object_name(resource: &str, name: &str, namespace: &str) -> String {
    let namespaces: &[&str] = if namespace.is_empty() {
        &[]
    } else {
        &[namespace]
    };
    format!("{resource} [{name}]{}", in_namespaces(namespaces))
}

/// A creation that failed.
pub fn cannot_create(object: &str, error: &str) -> String {
    format!("{object} is missing, and cannot be created, reason: `{error}`")
}

/// A creation that worked, of an object whose status is to be checked.
pub fn created_status_unchecked(object: &str) -> String {
    format!(
        "{object} was created successfully, the status of the object will be verified in the next evaluation"
    )
}

/// A deletion that failed.
pub fn cannot_delete(object: &str, error: &str) -> String {
    format!("{object} exists, and cannot be deleted, reason: `{error}`")
}

/// An object that is deleted, and still exists.
pub fn deletion_pending(object: &str) -> String {
    format!("{object} is still being deleted")
}

/// What every message about a misspelt field starts with.
pub const VALIDATION_ERROR: &str = "Error validating the object";

/// How the API server words a misspelt field.
pub const STRICT_DECODING: &str = "strict decoding error:";

/// An object that the API server does not decode.
pub fn validation_error(name: &str, error: &str) -> String {
    format!("{VALIDATION_ERROR} {name}, the error is `{error}`")
}

/// An object that was gone when it was to be updated.
pub fn gone(kind: &str) -> String {
    format!("`{kind}` is not present and must be created")
}

/// A dry run that failed.
pub fn dry_run_error(name: &str, error: &str) -> String {
    format!(
        "Error issuing a dry run update request for the object `{name}`, the error is `{error}`"
    )
}

/// An update that the API server calls invalid.
pub fn immutable(object: &str) -> String {
    format!(
        "{object} cannot be updated, likely due to immutable fields not matching, you may set spec[\"object-templates\"][].recreateOption to recreate the object"
    )
}

/// An update that failed.
pub fn cannot_update(object: &str, error: &str) -> String {
    format!("{object} failed to update with the error `{error}`")
}

/// A creation, after a deletion, that failed.
pub fn cannot_recreate(object: &str, error: &str) -> String {
    format!("{object} failed to recreate with the error `{error}`")
}

/// A deletion, before a creation, that failed.
pub fn cannot_delete_to_recreate(object: &str, error: &str) -> String {
    format!("{object} failed to delete when recreating with the error {error}")
}

/// A deletion, before a creation, that takes its time.
pub fn recreate_timed_out(object: &str) -> String {
    format!("{object} {RECREATE_TIMED_OUT}, will retry on the next policy evaluation")
}

/// By this a recreation that is still to be finished is known.
pub const RECREATE_TIMED_OUT: &str = "timed out waiting for the object to delete during recreate";

/// The note that a compliant policy is not evaluated again.
pub const NEVER_AGAIN_COMPLIANT: &str = ". This policy will not be evaluated again due to spec.evaluationInterval.compliant being set to \"never\".";

/// The note that a noncompliant policy is not evaluated again.
pub const NEVER_AGAIN_NONCOMPLIANT: &str = ". This policy will not be evaluated again due to spec.evaluationInterval.noncompliant being set to \"never\".";

/// The compliance message before the first evaluation.
pub const STATE_UNKNOWN: &str = "ComplianceState is still unknown";

/// The end of a message that was cut.
pub const TRUNCATED: &str = "...[truncated]";

/// Reason and action of events about a policy's status.
pub const STATUS_EVENT: (&str, &str) = ("PolicyUpdate", "Policy status updated");

/// Reason of events about a policy as a whole.
pub const INFO_EVENT: &str = "PolicyInfo";

/// The action of events about a policy as a whole.
pub fn info_action(policy: &str) -> String {
    format!("policy: {policy}")
}

/// The note of events about a policy's status.
pub fn status_note(state: &str, conditions: &str) -> String {
    format!("Policy status is {state}: {conditions}")
}
