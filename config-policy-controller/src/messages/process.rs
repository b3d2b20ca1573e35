//! Texts of the process: errors of flags and environment, and log lines.

use reeve_runtime::object::ObjectKey;

/// A write that an evaluation in memory would make, which it does not.
pub fn offline_write(name: &str) -> String {
    format!("{name} is not changed: this evaluation has no cluster")
}

/// The namespaces that a selector chooses among are not known.
pub fn namespaces_unreadable(why: &str) -> String {
    format!("cannot list the namespaces: {why}")
}

/// The log line in front of a difference.
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
pub fn unknown_terminating_inclusion(word: &str) -> String {
    format!("unknown option for default terminating namespace inclusion: {word:?}")
}
