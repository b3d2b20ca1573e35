//! Every text a user can see. Scripts and tests of policies read them letter by letter.

use crate::compare::StringMapFault;
use reeve_runtime::object::ObjectKey;

use crate::report::Reason;

/// A Secret whose `data` is not a map of strings.
pub const SECRET_DATA: &str = "Error accessing encoded data";

/// A list or map is wanted where the object holds something else.
#[must_use]
pub fn different_types(key: &str) -> String {
    format!(
        "Error merging changes into key \"{key}\": object type of template and existing do not match"
    )
}

/// A value of a Secret that is not base64.
#[must_use]
pub fn secret_decode(name: &str) -> String {
    format!("Error decoding secret: {name}")
}

/// Labels or annotations that are not a map of strings.
#[must_use]
pub fn not_a_string_map(fault: &StringMapFault) -> String {
    let StringMapFault {
        key,
        value,
        go_type,
    } = fault;
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
#[must_use]
pub fn diff_existing(name: &str) -> String {
    format!("{name} : existing")
}

/// The file name in front of the added lines.
#[must_use]
pub fn diff_updated(name: &str) -> String {
    format!("{name} : updated")
}

/// The line on top of a shortened difference.
#[must_use]
pub fn diff_truncated(shown: usize, all: usize) -> String {
    format!("# Truncated: showing {shown}/{all} diff lines:")
}

/// The reason a condition gives.
#[must_use]
pub fn condition_reason(reason: &Reason) -> &str {
    match reason {
        Reason::FoundAsExpected => "K8s `must have` object already exists",
        Reason::Created => "K8s creation success",
        Reason::Updated => "K8s update success",
        Reason::Deleted => "K8s deletion success",
        Reason::Missing | Reason::Mismatched => "K8s does not have a `must have` object",
        Reason::AbsentAsExpected => "K8s `must not have` object already missing",
        Reason::Unexpected => "K8s has a `must not have` object",
        Reason::Other(reason) => reason,
    }
}

/// The reason a related object gives.
#[must_use]
pub fn related_reason(reason: &Reason) -> &str {
    match reason {
        Reason::FoundAsExpected => "Resource found as expected",
        Reason::Created => "K8s creation success",
        Reason::Updated => "K8s update success",
        Reason::Deleted => "K8s deletion success",
        Reason::Missing => "Resource not found but should exist",
        Reason::Mismatched => "Resource found but does not match",
        Reason::AbsentAsExpected => "Resource not found as expected",
        Reason::Unexpected => "Resource found but should not exist",
        Reason::Other(reason) => reason,
    }
}

/// What happened to the objects of a template; `None` where the events have words of their own.
#[must_use]
pub fn phrase(reason: &Reason) -> Option<&'static str> {
    match reason {
        Reason::FoundAsExpected => Some("found as specified"),
        Reason::Created => Some("was created successfully"),
        Reason::Updated => Some("was updated successfully"),
        Reason::Deleted => Some("was deleted successfully"),
        Reason::Missing => Some("not found"),
        Reason::Mismatched => Some("found but not as specified"),
        Reason::AbsentAsExpected => Some("missing as expected"),
        Reason::Unexpected => Some("found"),
        Reason::Other(_) => None,
    }
}

/// Where objects are; empty for cluster-scoped ones.
#[must_use]
pub fn in_namespaces(namespaces: &[&str]) -> String {
    match namespaces {
        [] => String::new(),
        [one] => format!(" in namespace {one}"),
        several => format!(" in namespaces: {}", several.join(", ")),
    }
}

/// A sentence about objects of a resource; without names it is about any of them.
#[must_use]
pub fn about_objects(resource: &str, names: &[&str], end: &str) -> String {
    if names.is_empty() {
        format!("{resource} {end}")
    } else {
        format!("{resource} [{}] {end}", names.join(", "))
    }
}

/// Reason: the spec lacks something.
pub const INVALID_SPEC: &str = "Invalid spec";
/// Reason: a template cannot be processed.
pub const TEMPLATE_ERROR: &str = "Error processing template";
/// Reason: hub templates cannot be resolved.
pub const HUB_TEMPLATE_FAILURE: &str = "Hub template resolution failure";
/// Reason: the definition is not an object.
pub const DECODE_ERROR: &str = "K8s decode object definition error";
/// Reason: no namespace is known.
pub const MISSING_NAMESPACE: &str = "K8s missing namespace";
/// Reason: the namespace selector is wrong.
pub const NAMESPACE_SELECTOR_ERROR: &str = "namespaceSelector error";
/// Reason: the kind cannot be looked up.
pub const K8S_ERROR: &str = "K8s error";
/// Reason: the kind cannot be watched.
pub const UNWATCHABLE: &str = "unwatchable resource";
/// Reason: an object cannot be read.
pub const API_ERROR: &str = "api error";
/// Reason: an object could not be created.
pub const CREATION_ERROR: &str = "K8s creation error";
/// Reason: an object was created, its status is still to be seen.
pub const CREATED_STATUS_UNCHECKED: &str = "K8s creation success, status unchecked";
/// Reason: an object could not be deleted.
pub const DELETION_ERROR: &str = "K8s deletion error";
/// Reason: an object could not be updated, or compared.
pub const UPDATE_ERROR: &str = "K8s update template error";
/// Reason: nothing is asked for.
pub const NO_TEMPLATES_REASON: &str = "No object templates";
/// The CRD's default for `remediationAction` is missing.
pub const NO_REMEDIATION_ACTION: &str = "Policy does not have a RemediationAction specified";
/// Name or namespace of a definition is not text.
pub const NAMESPACE_UNREADABLE: &str = "Error parsing the namespace from the object definition";
/// Hub templates without a hub.
pub const HUB_TEMPLATES_NEED_ADDON: &str = "the governance-standalone-hub-templating addon must be enabled to resolve hub templates on the managed cluster";
/// Reason: the objects that a selector chooses cannot be listed.
pub const OBJECT_SELECTOR_ERROR: &str = "objectSelector error";

/// Reason: encrypted values cannot be decrypted.
pub const ENCRYPTION_ERROR: &str = "Template encryption configuration error";

/// Reason: objects could not be deleted with their policy.
pub const CLEANUP_ERROR: &str = "Error cleaning up child objects";

/// The key in the Secret is none.
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
#[must_use]
pub fn unwatchable_template(error: &str) -> String {
    format!("{error} - this template may require evaluationInterval to be set")
}

/// The annotation for decryption is not base64.
#[must_use]
pub fn vector_not_base64(error: &str) -> String {
    format!(
        "the policy annotation of \"policy.open-cluster-management.io/encryption-iv\" is not Base64: {error}"
    )
}

/// The key cannot be read.
#[must_use]
pub fn key_unreadable(namespace: &str, error: &str) -> String {
    format!(
        "failed to get the encryption key from Secret {namespace}/policy-encryption-key: {error}"
    )
}

/// `object-templates-raw` is not YAML, or not what it should be.
#[must_use]
pub fn raw_unparsable(error: &str) -> String {
    format!("Error parsing object-templates-raw YAML: {error}")
}

/// What the templates of `object-templates-raw` came to is not what it should be.
#[must_use]
pub fn raw_no_list(error: &str) -> String {
    format!("failed unmarshalling resolved object-templates-raw template: {error}")
}

/// Something else than a list of object templates, in the words of Go's decoder.
#[must_use]
pub fn not_a_list(kind: &str) -> String {
    format!("json: cannot unmarshal {kind} into Go value of type []*v1.ObjectTemplate")
}

/// An item of a list of object templates that is none.
#[must_use]
pub fn not_a_template(index: usize, kind: &str) -> String {
    format!("item {index} must be an object template, but it is {kind}")
}

/// An item of a list of object templates that has a field of a wrong type.
#[must_use]
pub fn broken_template(index: usize, error: &str) -> String {
    format!("item {index} is not an object template: {error}")
}

/// All objects were left out by their template.
#[must_use]
pub fn all_skipped(kind: &str) -> String {
    format!("All objects of kind {kind} were skipped by the `skipObject` template function")
}

/// The object selector chooses nothing.
#[must_use]
pub fn none_selected(kind: &str) -> String {
    format!("No objects of kind {kind} were matched from the policy objectSelector")
}

/// The definition leads to no object.
#[must_use]
pub fn none_matched(kind: &str) -> String {
    format!("No objects of kind {kind} were matched from the objectDefinition metadata")
}

/// None of the selected objects is one that must not exist.
#[must_use]
pub fn missing_as_expected(resource: &str, namespaces: &[&str]) -> String {
    format!(
        "{resource} missing as expected{}",
        in_namespaces(namespaces)
    )
}

/// An object selector that cannot be read.
#[must_use]
pub fn selector_unparsable(index: usize, error: &str) -> String {
    format!(
        "Error parsing provided objectSelector in the object-template at index [{index}]: {error}"
    )
}

/// The objects that a selector chooses, of a kind that cannot be watched.
#[must_use]
pub fn unwatchable_list(index: usize, error: &str) -> String {
    format!(
        "Error listing resources with provided objectSelector in the object-template at index [{index}], it may require evaluationInterval to be set: {error}"
    )
}

/// The objects that a selector chooses could not be listed.
#[must_use]
pub fn unlisted(index: usize, error: &str) -> String {
    format!(
        "Error listing resources with provided objectSelector in the object-template at index [{index}]: {error}"
    )
}

/// A definition that is no object once its templates are resolved.
#[must_use]
pub fn undecodable(index: usize, policy: &str, error: &str) -> String {
    format!(
        "Decoding error, please check your policy file! Aborting handling the object template at index [{index}] in policy `{policy}` with error = `{error}`"
    )
}

/// A namespaced object whose namespace came to nothing.
#[must_use]
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

/// A verdict by comparison alone: the API server did not let the controller ask what an update would change.
#[must_use]
pub fn unverified(error: &str) -> String {
    format!("compared without a dry run: {error}")
}

/// What a message says when a verdict of it was not verified.
pub const UNVERIFIED_NOTE: &str = ". This was not verified by a dry run, as the controller may not request updates of the objects.";

/// Objects that could not be deleted with their policy.
#[must_use]
pub fn cannot_prune(objects: &str) -> String {
    format!("Failed to delete objects: {objects}")
}

/// An object, as the message about pruning names it.
#[must_use]
pub fn pruned_object(
    group: &str,
    version: &str,
    kind: &str,
    (namespace, name): (&str, &str),
) -> String {
    format!("{group}/{version}, Kind={kind} \"{name}\" in namespace {namespace}")
}

/// A write that an evaluation in memory would make, which it does not.
#[must_use]
pub fn offline_write(name: &str) -> String {
    format!("{name} is not changed: this evaluation has no cluster")
}

/// The default message, with the reason why the custom one is not shown.
#[must_use]
pub fn custom_message_failed(default: &str, error: &str) -> String {
    format!("{default} (failure processing the custom message: {error})")
}

/// The hub does not know this cluster.
#[must_use]
pub fn no_managed_cluster(name: &str) -> String {
    format!("the ManagedCluster {name:?} was not found on the hub")
}

/// What hub templates came to is no policy.
#[must_use]
pub fn hub_resolution_unreadable(error: &str) -> String {
    format!("failed to read the policy with its hub templates resolved: {error}")
}

/// A definition without kind or version.
#[must_use]
pub fn kind_and_version_required(index: usize, policy: &str) -> String {
    format!(
        "The kind and apiVersion fields are required on the object template at index {index} in policy {policy}"
    )
}

/// A compliance type that does not exist.
#[must_use]
pub fn unknown_compliance_type(index: usize, word: &str) -> String {
    format!(
        "The complianceType {word:?} of the object template at index [{index}] is not musthave, mustnothave or mustonlyhave"
    )
}

/// A kind that the cluster does not serve. `version` is `group/version`.
#[must_use]
pub fn no_mapping(kind: &str, version: &str) -> String {
    format!(
        "couldn't find mapping resource with kind {kind} in API version {version}, please check if you have CRD deployed"
    )
}

/// A namespaced object without a namespace.
#[must_use]
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
#[must_use]
pub fn namespace_selector_error(error: &str) -> String {
    format!("Error filtering namespaces with provided namespaceSelector: {error}")
}

/// A kind that cannot be watched, in a policy that is evaluated on change.
#[must_use]
pub fn unwatchable(index: usize, error: &str) -> String {
    format!(
        "Error with object-template at index [{index}], it may require evaluationInterval to be set: {error}"
    )
}

/// An object that could not be read.
#[must_use]
pub fn unreadable(index: usize, error: &str) -> String {
    format!("Error retrieving an object for object-template at index [{index}]: {error}")
}

/// A policy that asks for nothing.
#[must_use]
pub fn no_templates(policy: &str) -> String {
    format!("{policy} contains no object templates to check, and thus has no violations")
}

/// `pods [a] in namespace n`: how messages about writing name an object.
#[must_use]
pub fn object_name(resource: &str, name: &str, namespace: &str) -> String {
    let namespaces: &[&str] = if namespace.is_empty() {
        &[]
    } else {
        &[namespace]
    };
    format!("{resource} [{name}]{}", in_namespaces(namespaces))
}

/// A creation that failed.
#[must_use]
pub fn cannot_create(object: &str, error: &str) -> String {
    format!("{object} is missing, and cannot be created, reason: `{error}`")
}

/// A creation that worked, of an object whose status is to be checked.
#[must_use]
pub fn created_status_unchecked(object: &str) -> String {
    format!(
        "{object} was created successfully, the status of the object will be verified in the next evaluation"
    )
}

/// A deletion that failed.
#[must_use]
pub fn cannot_delete(object: &str, error: &str) -> String {
    format!("{object} exists, and cannot be deleted, reason: `{error}`")
}

/// What every message about a misspelt field starts with.
pub const VALIDATION_ERROR: &str = "Error validating the object";
/// How the API server words a misspelt field.
pub const STRICT_DECODING: &str = "strict decoding error:";

/// An object that the API server does not decode.
#[must_use]
pub fn validation_error(name: &str, error: &str) -> String {
    format!("{VALIDATION_ERROR} {name}, the error is `{error}`")
}

/// An object that was gone when it was to be updated.
#[must_use]
pub fn gone(kind: &str) -> String {
    format!("`{kind}` is not present and must be created")
}

/// A dry run that failed.
#[must_use]
pub fn dry_run_error(name: &str, error: &str) -> String {
    format!(
        "Error issuing a dry run update request for the object `{name}`, the error is `{error}`"
    )
}

/// An update that the API server calls invalid.
#[must_use]
pub fn immutable(object: &str) -> String {
    format!(
        "{object} cannot be updated, likely due to immutable fields not matching, you may set spec[\"object-templates\"][].recreateOption to recreate the object"
    )
}

/// An update that failed.
#[must_use]
pub fn cannot_update(object: &str, error: &str) -> String {
    format!("{object} failed to update with the error `{error}`")
}

/// A creation, after a deletion, that failed.
#[must_use]
pub fn cannot_recreate(object: &str, error: &str) -> String {
    format!("{object} failed to recreate with the error `{error}`")
}

/// A deletion, before a creation, that failed.
#[must_use]
pub fn cannot_delete_to_recreate(object: &str, error: &str) -> String {
    format!("{object} failed to delete when recreating with the error {error}")
}

/// A deletion, before a creation, that takes its time.
#[must_use]
pub fn recreate_timed_out(object: &str) -> String {
    format!("{object} {RECREATE_TIMED_OUT}, will retry on the next policy evaluation")
}

/// By this a recreation that is still to be finished is known.
pub const RECREATE_TIMED_OUT: &str = "timed out waiting for the object to delete during recreate";

/// What a message says when it is the last word on a compliant policy.
pub const NEVER_AGAIN_COMPLIANT: &str = ". This policy will not be evaluated again due to spec.evaluationInterval.compliant being set to \"never\".";
/// What a message says when it is the last word on a violated policy.
pub const NEVER_AGAIN_NONCOMPLIANT: &str = ". This policy will not be evaluated again due to spec.evaluationInterval.noncompliant being set to \"never\".";
/// The compliance message before there is anything to say.
pub const STATE_UNKNOWN: &str = "ComplianceState is still unknown";
/// The end of a message that was cut.
pub const TRUNCATED: &str = "...[truncated]";

/// Reason and action of events about a policy's status.
pub const STATUS_EVENT: (&str, &str) = ("PolicyUpdate", "Policy status updated");
/// Reason of events about a policy as a whole.
pub const INFO_EVENT: &str = "PolicyInfo";

/// The action of events about a policy as a whole.
#[must_use]
pub fn info_action(policy: &str) -> String {
    format!("policy: {policy}")
}

/// The note of events about a policy's status.
#[must_use]
pub fn status_note(state: &str, conditions: &str) -> String {
    format!("Policy status is {state}: {conditions}")
}

/// The log line in front of a difference.
#[must_use]
pub fn logged_diff(diff: &str, policy: &ObjectKey, object: &ObjectKey, resource: &str) -> String {
    let fields = [
        ("name", policy.name.as_str()),
        ("namespace", &policy.namespace),
        ("objName", &object.name),
        ("objNamespace", &object.namespace),
        ("resource", resource),
    ]
    .map(|(key, value)| format!("{key:?}: {}", serde_json::Value::from(value)));
    format!(
        "Logging the diff:\n{}\n\t{{{}}}",
        diff.trim_end_matches('\n'),
        fields.join(", ")
    )
}

/// Neither subcommand was given.
pub const EXPECTED_SUBCOMMANDS: &str = "expected 'controller' or 'trigger-uninstall' subcommands";
/// `trigger-uninstall` lacks one of its flags.
pub const UNINSTALL_FLAGS: &str =
    "--deployment-name, --deployment-namespace, --policy-namespace must all have values";
/// `trigger-uninstall` is to give up too soon.
pub const UNINSTALL_TIMEOUT: &str = "--timeout-seconds must be set to at least 30 seconds";
/// `trigger-uninstall` gave up.
pub const UNINSTALL_INCOMPLETE: &str =
    "context canceled before the uninstallation preparation was complete";
/// The flag that would leave nobody to work.
pub const NO_WORKERS: &str = "The --evaluation-concurrency option cannot be less than 1";
/// The environment lacks a variable.
pub const WATCH_NAMESPACE_MISSING: &str = "WATCH_NAMESPACE must be set";
/// The lease cannot be kept on the hub.
pub const NO_HUB_FOR_LEASE: &str = "Could not load hub config, lease updater not set with config";
/// A Pod has to know its Deployment.
pub const OPERATOR_NAME_MISSING: &str = "OPERATOR_NAME must be set";
/// The environment variable names several namespaces.
pub const SEVERAL_NAMESPACES: &str =
    "multiple watched namespaces are not allowed for this controller";

/// A flag value that is not a known word.
#[must_use]
pub fn unknown_terminating_inclusion(word: &str) -> String {
    format!("unknown option for default terminating namespace inclusion: {word:?}")
}
/// `OperatorPolicy`, which is not built yet.
pub const OPERATOR_POLICY_UNSUPPORTED: &str =
    "OperatorPolicy is not supported by this release: --enable-operator-policy has no effect";
/// The clean-up after a policy, which is not built yet.
pub const PRUNING_UNSUPPORTED: &str = "the policy is being deleted and has a finalizer: pruning is not supported by this release, the finalizer is left alone";

/// Objects are to be deleted with the policy, which is not built yet.
#[must_use]
pub fn objects_are_kept(behavior: &str) -> String {
    format!(
        "spec.pruneObjectBehavior {behavior} is not supported by this version yet: objects are kept when the policy is deleted"
    )
}
