//! Every text that a user sees.

/// So many add-ons are named.
const NAMED: usize = 5;

/// A Deployment that is not there.
pub(crate) const ABSENT: &str = "not there";

/// Not the reference of an image.
pub(crate) fn no_image(image: &str) -> String {
    format!("{image:?} is no image: name one as REGISTRY/reeve:TAG")
}

/// Not the name of a namespace.
pub(crate) fn no_namespace(name: &str) -> String {
    format!(
        "{name:?} is no name of a namespace: it must be a DNS label, such as open-cluster-management"
    )
}

/// A kind that a hub needs to serve.
pub(crate) fn not_served(api_version: &str, kind: &str) -> String {
    let group = api_version.split('/').next().unwrap_or_default();
    let advice = match group {
        "addon.open-cluster-management.io" => {
            "this cluster is no hub of Open Cluster Management: clusteradm init"
        }
        "cert-manager.io" => "the webhooks need cert-manager",
        "monitoring.coreos.com" => "monitoring needs the Prometheus operator",
        _ => "Kubernetes is too old",
    };
    format!("{kind} of {api_version} is not served: {advice}")
}

/// Helm has installed the components.
pub(crate) fn of_helm(object: &str, release: &str) -> String {
    format!("{object} belongs to the Helm release {release:?}: upgrade that, or uninstall it first")
}

/// Clusters have the add-ons.
pub(crate) fn add_ons_enabled(add_ons: &[String]) -> String {
    let named = add_ons
        .iter()
        .take(NAMED)
        .cloned()
        .collect::<Vec<_>>()
        .join(", ");
    let more = match add_ons.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!(
        "add-ons are enabled, and their agents cannot clean up without the components: {named}{more}: disable them first (clusteradm addon disable), or use --ignore-add-ons"
    )
}

/// Not everything became available.
pub(crate) fn not_available(seconds: u64, waiting: &[String]) -> String {
    format!("not available within {seconds} s: {}", waiting.join("; "))
}

/// What is waited for.
pub(crate) fn waiting_for(deployment: &str, why: &str) -> String {
    format!("{deployment}: {why}")
}

/// How many replicas are available.
pub(crate) fn available(available: i64, wanted: i64) -> String {
    format!("{available} of {wanted} available")
}

/// A Pod whose containers run and are not ready.
pub(crate) fn not_ready(pod: &str) -> String {
    format!("Pod {pod} runs and is not ready: see its log")
}

/// What keeps a container from running.
pub(crate) fn state(reason: &str, message: &str) -> String {
    let message = message.lines().next().unwrap_or_default();
    if message.is_empty() {
        reason.to_owned()
    } else {
        format!("{reason}: {message}")
    }
}
