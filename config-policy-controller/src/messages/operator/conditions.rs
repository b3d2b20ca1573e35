//! Reasons and messages of conditions.

/// The generic reasons, which follow the kind.
pub const MISSING: &str = "Missing";
pub const NOT_PRESENT: &str = "NotPresent";
pub const PRESENT: &str = "Present";
pub const CREATED: &str = "Created";
pub const DELETED: &str = "Deleted";
pub const DELETING: &str = "Deleting";
pub const KEPT: &str = "Kept";
pub const MATCHES: &str = "Matches";
pub const MISMATCH: &str = "Mismatch";
pub const UPDATED: &str = "Updated";
pub const NOT_APPLICABLE: &str = "NotApplicable";

/// Reasons that are the same for every kind.
pub const INVALID_POLICY_SPEC: &str = "InvalidPolicySpec";
pub const EXISTING_INSTALLATION: &str = "ExistingInstallation";

pub const POLICY_VALIDATED: (&str, &str) = ("PolicyValidated", "the policy spec is valid");

pub const PREEXISTING_OPERATOR_GROUP: (&str, &str) = (
    "PreexistingOperatorGroupFound",
    "the policy does not specify an OperatorGroup but one already exists in the namespace - assuming that OperatorGroup is correct",
);
pub const TOO_MANY_OPERATOR_GROUPS: (&str, &str) = (
    "TooManyOperatorGroups",
    "there is more than one OperatorGroup in the namespace",
);

pub const CONSTRAINTS_NOT_SATISFIABLE: (&str, &str) = (
    "ConstraintsNotSatisfiable",
    "constraints not satisfiable: refer to the Subscription for more details",
);

pub const NO_INSTALL_PLANS: (&str, &str) = (
    "NoInstallPlansFound",
    "there are no relevant InstallPlans in the namespace",
);
pub const NONE_REQUIRING_APPROVAL: (&str, &str) = (
    "NoInstallPlansRequiringApproval",
    "no InstallPlans requiring approval were found",
);
pub const INSTALLING: (&str, &str) = (
    "InstallPlansInstalling",
    "a relevant InstallPlan is actively installing",
);
pub const INSTALL_PLAN_FAILED: (&str, &str) =
    ("InstallPlanFailed", "the current InstallPlan has failed");
pub const REQUIRES_APPROVAL: &str = "InstallPlanRequiresApproval";
pub const APPROVED: &str = "InstallPlanApproved";

pub const RELEVANT_CSV_NOT_FOUND: (&str, &str) = (
    "RelevantCSVNotFound",
    "a relevant installed ClusterServiceVersion could not be found",
);
pub const UNAPPROVED_VERSION: &str = "UnapprovedVersion";
/// A `ClusterServiceVersion` that has no reason yet. An empty one would be refused with the whole status.
pub const CSV_PENDING: &str = "ClusterServiceVersionPending";
/// A condition of a Subscription without a reason.
pub const UNKNOWN_REASON: &str = "Unknown";

pub const RELEVANT_CRD_NOT_FOUND: (&str, &str) =
    ("RelevantCRDNotFound", "no CRDs were found for the operator");
pub const RELEVANT_CRD_FOUND: (&str, &str) = (
    "RelevantCRDFound",
    "there are CRDs present for the operator",
);

pub const NO_RELEVANT_DEPLOYMENTS: (&str, &str) = (
    "NoRelevantDeployments",
    "there are no relevant deployments because the ClusterServiceVersion is missing",
);
pub const NO_EXISTING_DEPLOYMENTS: (&str, &str) =
    ("NoExistingDeployments", "no existing operator Deployments");
pub const DEPLOYMENTS_AVAILABLE: (&str, &str) = (
    "DeploymentsAvailable",
    "all operator Deployments have their minimum availability",
);
pub const DEPLOYMENTS_UNAVAILABLE: &str = "DeploymentsUnavailable";

pub const CATALOG_SOURCE_FOUND: (&str, &str) = ("CatalogSourcesFound", "CatalogSource was found");
pub const CATALOG_SOURCE_UNHEALTHY: (&str, &str) = (
    "CatalogSourcesFoundUnhealthy",
    "CatalogSource was found but is unhealthy",
);
pub const CATALOG_SOURCE_NOT_FOUND: &str = "CatalogSourcesNotFound";
pub const CATALOG_SOURCE_UNKNOWN: (&str, &str) = (
    "LastObservedUnknown",
    "could not determine last observed state of CatalogSource",
);

pub const NOT_DEPRECATED: (&str, &str) = (
    "Recommended",
    "The requested package, channel, and bundle are all at the recommended versions",
);
/// The reason, and the word in the message.
pub const PACKAGE_DEPRECATED: (&str, &str) = ("PackageDeprecated", "Package");
pub const CHANNEL_DEPRECATED: (&str, &str) = ("ChannelDeprecated", "Channel");
pub const BUNDLE_DEPRECATED: (&str, &str) = ("BundleDeprecated", "Bundle");
pub const CHANNEL_SKIPPED: (&str, &str) = ("Skipped", "skipping check for minor channel upgrades");
pub const CHANNEL_RECOMMENDED: (&str, &str) = (
    "Recommended",
    "the subscription is on the recommended channel",
);
pub const CHANNEL_UPGRADE_AVAILABLE: &str = "UpgradeAvailable";

/// The policy counts as noncompliant, and there is no `PackageManifest` to tell why.
pub const DEPRECATIONS_UNKNOWN: &str =
    "the deprecations could not be determined because the PackageManifest was not found";
/// The same for newer channels.
pub const CHANNELS_UNKNOWN: &str =
    "newer channels could not be determined because the PackageManifest was not found";

/// The beginning of the message about a missing operator namespace, in lower case: the other parts of such a policy
/// are reported all the same.
pub const OPERATOR_NAMESPACE_PREFIX: &str = "the operator namespace";

pub fn undetermined(kind: &str) -> String {
    format!("the status of the {kind} could not be determined because the policy is invalid")
}

pub fn missing(kind: &str) -> String {
    format!("the {kind} required by the policy was not found")
}

pub fn not_present(kind: &str) -> String {
    format!("the {kind} is not present")
}

pub fn created(kind: &str) -> String {
    format!("the {kind} required by the policy was created")
}

pub fn present(what: &Named<'_>) -> String {
    what.with("is present", "are present")
}

pub fn deleted(what: &Named<'_>) -> String {
    what.with("was deleted", "were deleted")
}

pub fn deleting(what: &Named<'_>) -> String {
    what.with("has a deletion timestamp", "have a deletion timestamp")
}

pub fn kept(kind: &str) -> String {
    format!("the policy specifies to keep the {kind}")
}

pub fn matches(kind: &str) -> String {
    format!("the {kind} matches what is required by the policy")
}

pub fn mismatch(kind: &str) -> String {
    format!("the {kind} found on the cluster does not match the policy")
}

pub fn mismatch_forbidden(kind: &str) -> String {
    format!("the {kind} found on the cluster does not match the policy and can't be enforced")
}

pub fn updated(kind: &str) -> String {
    format!("the {kind} was updated to match the policy")
}

pub fn not_applicable(kind: &str) -> String {
    format!("MustNotHave policies ignore kind {kind}")
}

pub fn installed_elsewhere(namespace: &str) -> String {
    format!(
        "the operator is installed in namespace {namespace} and is available via AllNamespaces mode"
    )
}

/// Objects of one kind in a message: by their kind, and some kinds by their names too.
#[derive(Debug, Clone)]
pub struct Named<'a> {
    pub kind: &'a str,
    /// The names, if the message has them.
    pub names: Option<Vec<&'a str>>,
}

impl Named<'_> {
    fn with(&self, one: &str, several: &str) -> String {
        let kind = self.kind;
        match self.names.as_deref() {
            None => format!("the {kind} {one}"),
            Some([name]) => format!("the {kind} ({name}) {one}"),
            Some(names) => format!("the {kind}s ({}) {several}", names.join(", ")),
        }
    }
}

/// An upgrade waits. `unapproved` are those that no policy approves.
pub fn requires_approval(all: &[&str], unapproved: &[&str]) -> String {
    let available = format!(
        "an InstallPlan to update to [{}] is available for approval",
        all.join(", ")
    );
    if unapproved.is_empty() {
        return available;
    }
    let required = unapproved.join(", ");
    format!("{available} but approval for [{required}] is required")
}

pub fn approved(csv: &str) -> String {
    format!("the InstallPlan for {csv} was approved")
}

pub fn unapproved_version(csv: &str) -> String {
    format!("ClusterServiceVersion ({csv}) is not an approved version")
}

pub fn csv_state(csv: &str, message: &str) -> String {
    format!("ClusterServiceVersion ({csv}) - {message}")
}

pub fn deployments_unavailable(names: &[&str]) -> String {
    format!(
        "the deployments {} do not have their minimum availability",
        names.join(", ")
    )
}

/// Some Deployments are not there, and the rest is available.
pub fn deployments_missing(names: &[&str]) -> String {
    let (_, available) = DEPLOYMENTS_AVAILABLE;
    format!(
        "{available}, but these were not found: {}",
        names.join(", ")
    )
}

/// Another Subscription of the namespace installs the package.
pub fn subscribed_by_another(name: &str, package: &str) -> String {
    format!("the Subscription {name} found on the cluster is for the same package {package}")
}

pub fn catalog_source_not_found(name: &str) -> String {
    format!("CatalogSource '{name}' was not found")
}

/// `what` is `Package`, `Channel` or `Bundle`.
pub fn deprecated(what: &str, name: &str, message: &str) -> String {
    format!("the requested {name} {what} was deprecated. {message}")
}

pub fn newer_channels(names: &[String]) -> String {
    format!(
        "a newer version of the operator is available in channel(s): {}",
        names.join(", ")
    )
}
