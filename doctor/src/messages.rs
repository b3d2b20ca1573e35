//! Every text of the checks. A finding says what is wrong and then what to do.

/// Fields are named up to this count.
const NAMED: usize = 5;

pub(crate) const NO_MANAGER: &str = "no ClusterManager: Open Cluster Management is not installed, or not by its operator: run clusteradm init";
pub(crate) const INSTALL_OCM: &str = "install or upgrade Open Cluster Management: clusteradm init";
pub(crate) const APPLY_CRDS: &str = "apply the definitions: reeve install --image REGISTRY/reeve:TAG, or kubectl apply --server-side -k deploy/hub/crds";
pub(crate) const NO_CLUSTERS: &str =
    "no cluster has joined: clusteradm join, then clusteradm accept";
pub(crate) const NOT_JOINED: &str =
    "accepted, but not joined: see the logs of the klusterlet on the cluster";
pub(crate) const AVAILABLE: &str = "available";
pub(crate) const NOT_INSTALLED: &str = "not asked: the component is not installed";
pub(crate) const NO_IMAGE: &str =
    "not set: the image is that of the cluster's add-on settings, or the default";

/// Something could not be read.
pub(crate) fn unread(what: &str, why: &str) -> String {
    format!("cannot read {what}: {why}: use a kubeconfig with the right to")
}

/// The version of the API server.
pub(crate) fn kubernetes(version: &str) -> String {
    format!("Kubernetes {version}")
}

/// A cluster manager.
pub(crate) fn manager(version: &str, image: &str) -> String {
    match (version, image) {
        ("", "") => "version unknown: spec.registrationImagePullSpec is empty".to_owned(),
        ("", image) => format!("version unknown: image {image}"),
        (version, _) => format!("version {version}"),
    }
}

/// A cluster manager that its operator could not apply.
pub(crate) fn manager_not_applied(why: &str) -> String {
    format!("not applied: {why}: see the logs of the operator cluster-manager")
}

/// A kind is served.
pub(crate) fn served(version: &str) -> String {
    format!("{version} served")
}

/// A kind is not served.
pub(crate) fn not_served(version: &str, advice: &str) -> String {
    format!("{version} is not served: {advice}")
}

/// A cluster that was not accepted.
pub(crate) fn not_accepted(name: &str) -> String {
    format!("not accepted: clusteradm accept --clusters {name}")
}

/// A cluster that does not answer.
pub(crate) fn not_available(why: &str) -> String {
    let why = if why.is_empty() {
        ""
    } else {
        &format!(": {why}")
    };
    format!("not available{why}: policies are evaluated again when its agent renews its lease")
}

/// No definition.
pub(crate) fn no_definition(name: &str) -> String {
    format!("CustomResourceDefinition {name}: not found: {APPLY_CRDS}")
}

/// A definition that the API server does not serve.
pub(crate) fn not_established(why: &str) -> String {
    format!("not established: {why}: {APPLY_CRDS}")
}

/// Versions are missing.
pub(crate) fn versions_missing(versions: &[String]) -> String {
    format!("does not serve {}: {APPLY_CRDS}", versions.join(", "))
}

/// The definition is of another version.
pub(crate) fn fields_missing(fields: &[String]) -> String {
    let more = fields.len().saturating_sub(NAMED);
    let some: Vec<&str> = fields.iter().take(NAMED).map(String::as_str).collect();
    let more = match more {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!(
        "of another version: the API server drops {}{more}: {APPLY_CRDS}",
        some.join(", ")
    )
}

/// A component is missing.
pub(crate) fn no_deployment(name: &str) -> String {
    format!(
        "Deployment {name}: not found in any namespace: reeve install --image REGISTRY/reeve:TAG, or clusteradm install hub-addon --names governance-policy-framework"
    )
}

/// A component is there twice.
pub(crate) fn several(name: &str, namespaces: &[String]) -> String {
    format!(
        "Deployment {name} is in the namespaces {}: two of them work against each other, delete one",
        namespaces.join(", ")
    )
}

/// A component was scaled to zero.
pub(crate) fn scaled_down(namespace: &str) -> String {
    format!("in namespace {namespace}, scaled to 0 replicas: scale it to 1 or more")
}

/// A component does not run.
pub(crate) fn not_running(namespace: &str, name: &str, available: i32, wanted: i32) -> String {
    format!(
        "{available} of {wanted} replicas available: kubectl -n {namespace} describe deployment {name}"
    )
}

/// A component runs.
pub(crate) fn running(namespace: &str, available: i32) -> String {
    let noun = if available == 1 {
        "replica"
    } else {
        "replicas"
    };
    format!("in namespace {namespace}, {available} {noun} available")
}

/// A Pod does not start.
pub(crate) fn pod_waits(reason: &str, why: &str) -> String {
    let why = if why.is_empty() {
        ""
    } else {
        &format!(": {why}")
    };
    format!("{reason}{why}: check that the nodes can pull the image (docs/install.md)")
}

/// A right is missing.
pub(crate) fn not_allowed(user: &str) -> String {
    format!(
        "{user} is not allowed: reeve install --image REGISTRY/reeve:TAG, or kubectl apply --server-side -k deploy/hub"
    )
}

/// Nobody answers which rights there are.
pub(crate) fn not_reviewed(why: &str) -> String {
    format!("cannot be asked: {why}: use a kubeconfig that may create SubjectAccessReviews")
}

/// All rights are there.
pub(crate) fn allowed(user: &str, count: usize) -> String {
    format!("{user} has all {count}")
}

/// The hub knows an add-on.
pub(crate) fn addon_defined(addon: &str) -> String {
    format!("ClusterManagementAddOn {addon}")
}

/// The hub does not know an add-on.
pub(crate) fn addon_not_defined(addon: &str) -> String {
    format!(
        "ClusterManagementAddOn {addon}: not found: reeve install --image REGISTRY/reeve:TAG, or kubectl apply --server-side -k deploy/hub"
    )
}

/// Clusters do not have an add-on.
pub(crate) fn addon_not_enabled(addon: &str, clusters: &[&str]) -> String {
    let more = if clusters.len() > NAMED { ",…" } else { "" };
    let some: Vec<&str> = clusters.iter().take(NAMED).copied().collect();
    let clusters = some.join(",");
    format!("not enabled: clusteradm addon enable --names {addon} --clusters {clusters}{more}")
}

/// An add-on that has not reported.
pub(crate) fn addon_without_answer(addon: &str) -> String {
    format!(
        "no report from its agent yet: kubectl get pods on the cluster shows whether {addon} runs"
    )
}

/// An add-on does not work.
pub(crate) fn addon_not_available(addon: &str, why: &str) -> String {
    let why = if why.is_empty() {
        ""
    } else {
        &format!(": {why}")
    };
    format!("not available{why}: see the logs of {addon} on the cluster")
}
