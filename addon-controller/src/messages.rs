//! All texts for users.

use std::fmt::Display;

use crate::addon::{Addon, Installation};

/// The first line of the log once this process leads.
pub const STARTING: &str = "Starting governance-policy-addon-controller";
/// The client could not be created.
pub const NO_MANAGER: &str = "unable to create new addon manager";
/// The add-ons could not be set up.
pub const NO_AGENT: &str = "unable to get or add agent addon";
/// A task ended unexpectedly.
pub const PROBLEM: &str = "problem starting manager";

/// The flag `--config` names a file.
pub const CONFIG_IGNORED: &str = "--config has no effect: there is nothing left to configure by it";
/// A file of `--terminate-on-files` has changed.
pub fn file_changed(path: &str) -> String {
    format!("{path} has changed, stopping")
}
/// A variable of the environment is not a boolean.
pub fn network_policies(value: &str) -> String {
    format!("NETWORK_POLICIES_ENABLED is {value:?}, not a boolean: network policies stay enabled")
}

/// The add-on is paused.
pub const PAUSED: &str =
    "the Policy Addon controller is paused due to the policy-addon-pause annotation";
/// The agents trust the system's certificate authorities.
pub const PROXY_CA: &str =
    "proxyConfig.caBundle is not used: the agents' images would have to hold it";

/// An annotation cannot be read.
pub fn invalid_annotation(key: &str, value: &str, expected: &str) -> String {
    format!("the annotation {key} is {value:?}, not {expected}: it has no effect")
}
/// The annotation that disables operator policies cannot be read.
pub fn operator_policy_disabled(value: &str) -> String {
    format!(
        "Failed to verify 'operator-policy-disabled' annotation value '{value}' for component \
         config-policy-controller (falling back to default value false)"
    )
}
/// A claim contradicts a label.
pub fn vendor_overridden(product: &str) -> String {
    format!(
        "the label vendor says OpenShift, the claim of its product {product:?}: the claim counts"
    )
}
/// The mirrors of a cluster cannot be read.
pub fn invalid_registries(error: &dyn Display) -> String {
    format!(
        "the cluster's annotation open-cluster-management.io/image-registries cannot be read: {error}"
    )
}
/// A customized variable cannot be read.
pub fn invalid_variable(name: &str, value: &str, expected: &str) -> String {
    format!("the customized variable {name} is {value:?}, not {expected}: it has no effect")
}
/// A cipher suite is unknown.
pub fn unknown_cipher_suite(name: &str) -> String {
    format!(
        "the customized variable tlsCipherSuites names {name:?}, which is no cipher suite: it has no effect"
    )
}
/// A customized variable belongs to another add-on, or to none.
pub fn unknown_variable(name: &str) -> String {
    format!("the customized variable {name:?} is not supported by this add-on: it has no effect")
}

/// The configuration does not exist.
pub fn config_missing(name: &str) -> String {
    format!("addondeploymentconfigs.addon.open-cluster-management.io \"{name}\" not found")
}
/// The status has no hash of the configuration.
pub fn config_unhashed(addon: Addon) -> String {
    format!("addon {addon} deployment config desired spec hash is empty")
}
/// A Secret cannot be mounted across namespaces.
pub fn namespaces_differ(own: &str, other: &str) -> String {
    format!(
        "the namespace would be {own}, but config-policy-controller, which uses the credentials, is \
         installed into {other}: configure both add-ons for the same namespace"
    )
}

/// Reasons and messages of conditions.
pub mod conditions {
    use std::fmt::Display;

    /// The hub has the agent's identity and access.
    pub const REGISTRATION_APPLIED: &str = "RegistrationApplied";
    /// The objects for the managed cluster are applied.
    pub const MANIFEST_APPLIED: &str = "ManifestApplied";
    /// The objects for the hosting cluster are applied.
    pub const HOSTING_MANIFEST_APPLIED: &str = "HostingManifestApplied";
    /// The hosting cluster is one of the hub's.
    pub const HOSTING_VALID: &str = "HostingClusterValidity";
    /// The agent has cleaned up.
    pub const HOOK_COMPLETED: &str = "HookManifestCompleted";
    /// Why a deletion waits.
    pub const UNINSTALL_BLOCKED: &str = "UninstallBlocked";

    /// The agent's access is granted.
    pub const PERMISSION_APPLIED: (&str, &str) = (
        "SetPermissionApplied",
        "Registration of the addon agent is configured",
    );
    /// The reason when access could not be granted.
    pub const PERMISSION_FAILED: &str = "SetPermissionFailed";
    /// Why access could not be granted.
    pub fn permission_failed(error: &dyn Display) -> String {
        format!("Failed to set permission for hub agent: {error}")
    }

    /// The reason when everything is applied.
    pub const APPLIED: &str = "AddonManifestApplied";
    /// Everything is applied.
    pub const ALL_APPLIED: &str = "manifests of addon are applied successfully";
    /// There is nothing to apply.
    pub const NOTHING_TO_APPLY: &str = "no manifest need to apply";
    /// The work agent could not apply something.
    pub const APPLY_FAILED: (&str, &str) = (
        "AddonManifestAppliedFailed",
        "failed to apply the manifests of addon",
    );
    /// The reason when a work could not be written.
    pub const WORK_FAILED: &str = "ManifestWorkApplyFailed";
    /// The API server rejected a work.
    pub fn work_refused(error: &dyn Display) -> String {
        format!("failed to apply manifestWork: {error}")
    }
    /// The objects could not be rendered.
    pub fn not_rendered(error: &dyn Display) -> String {
        format!("failed to get manifest from agent interface: {error}")
    }
    /// The works could not be built.
    pub fn not_built(error: &dyn Display) -> String {
        format!("failed to build manifestwork: {error}")
    }

    /// The hosting cluster is known.
    pub fn hosting_valid(name: &str) -> (&'static str, String) {
        let message = format!("hosting cluster {name} is a managed cluster of the hub");
        ("HostingClusterValid", message)
    }
    /// The hosting cluster is not known.
    pub fn hosting_invalid(name: &str) -> (&'static str, String) {
        let message = format!("hosting cluster {name} is not a managed cluster of the hub");
        ("HostingClusterInvalid", message)
    }

    /// The agent has cleaned up.
    pub fn hook_completed(work: &str) -> (&'static str, String) {
        let message = format!("hook manifestWork {work} is completed.");
        ("HookManifestIsCompleted", message)
    }
    /// The agent has not cleaned up yet.
    pub fn hook_not_completed(work: &str) -> (&'static str, String) {
        let message = format!("hook manifestWork {work} is not completed.");
        ("HookManifestIsNotCompleted", message)
    }
}

/// Why a deletion waits.
pub mod blocked {
    use crate::facts::FORCE_ANNOTATION;

    fn with_force_hint(why: &str) -> String {
        format!(
            "{why}. To remove the add-on without that, annotate the ManagedClusterAddOn with \
             {FORCE_ANNOTATION}=true"
        )
    }
    /// The add-on is paused.
    pub fn paused() -> (&'static str, String) {
        let why = "the add-on is paused by the annotation policy-addon-pause, so its agent is not told to clean up";
        ("Paused", with_force_hint(why))
    }
    /// The objects could not be rendered.
    pub fn not_rendered(error: &str) -> (&'static str, String) {
        (
            "NotRendered",
            with_force_hint(&format!("what cleans up cannot be rendered: {error}")),
        )
    }
    /// The cluster is not available.
    pub fn unavailable(cluster: &str) -> (&'static str, String) {
        let why = format!(
            "the cluster {cluster} does not answer, so its agent cannot be told to clean up"
        );
        ("ClusterUnavailable", with_force_hint(&why))
    }
    /// The hook is still running, or its Pod does not start.
    pub fn running(work: &str) -> (&'static str, String) {
        let why = format!("the Pod of the ManifestWork {work} has not succeeded yet");
        ("CleanupRunning", with_force_hint(&why))
    }
}

/// Why a certificate request is not approved.
pub mod unapproved {
    use std::fmt::Display;

    /// The reason of the event.
    pub const REASON: &str = "AddonCSRNotApproved";

    /// The hub has no such cluster.
    pub fn no_cluster(cluster: &str) -> String {
        format!("there is no ManagedCluster {cluster:?}")
    }
    /// The add-on is not installed there.
    pub fn no_addon(addon: &str, cluster: &str) -> String {
        format!("the add-on {addon} is not enabled on the cluster {cluster:?}")
    }
    /// The request names another signer.
    pub fn signer(found: &str) -> String {
        format!("its signer is {found:?}, not \"kubernetes.io/kube-apiserver-client\"")
    }
    /// The request names other usages.
    pub fn usages(found: &[String]) -> String {
        format!(
            "its usages are {found:?}: \"client auth\" is needed, and beside it only \"digital signature\" and \
             \"key encipherment\" are allowed"
        )
    }
    /// The certificate request cannot be decoded.
    pub fn unreadable(why: &dyn Display) -> String {
        format!("spec.request cannot be read: {why}")
    }
    /// The common name differs.
    pub fn common_name(found: &str, expected: &str) -> String {
        format!("its common name is {found:?}, not {expected:?}")
    }
    /// The organizations differ.
    pub fn organizations(found: &[String], expected: &[String]) -> String {
        format!(
            "its organizations are {found:?}: they must be {expected:?}, and \"system:authenticated\" may be among them"
        )
    }
    /// The request has alternative names.
    pub fn alternative_names(expected: &str) -> String {
        format!("of alternative names it may have only the DNS name {expected:?}")
    }
    /// Another user created the request.
    pub fn requester(found: &str, cluster: &str) -> String {
        format!("it was made by {found:?}, who is no agent of the cluster {cluster:?}")
    }
}

/// A certificate was approved.
pub const APPROVED: (&str, &str) = (
    "AutoApprovedByHubCSRApprovingController",
    "Auto approving addon agent certificate.",
);

/// The reason of an event about an ignored setting.
pub const INVALID_CONFIGURATION: &str = "InvalidConfiguration";

/// Nothing is installed without an owner.
pub fn no_owner(installation: &Installation) -> String {
    format!(
        "OwnerReferences is not set for {:?}",
        installation.to_string()
    )
}

/// A role or binding that no agent needs any more was deleted.
pub const REVOKED: &str = "deleted what the agents of a removed add-on shared";

/// A role or binding on the hub was created or updated.
pub fn rbac_event(
    kind: &str,
    name: &str,
    namespace: Option<&str>,
    was_missing: bool,
) -> (String, String) {
    let place = namespace
        .map(|namespace| format!(" -n {namespace}"))
        .unwrap_or_default();
    if was_missing {
        let note = format!(
            "Created {kind}.rbac.authorization.k8s.io/{name}{place} because it was missing"
        );
        (format!("{kind}Created"), note)
    } else {
        let note =
            format!("Updated {kind}.rbac.authorization.k8s.io/{name}{place} because it changed");
        (format!("{kind}Updated"), note)
    }
}
