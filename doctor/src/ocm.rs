//! Open Cluster Management: its version, its kinds, its clusters.

use reeve_report::{Entry, Rule, State};
use serde_json::Value;

use crate::observe::{Hub, condition, text};
use crate::{bad, good, messages, rule};

const SUBJECT: &str = "Open Cluster Management";

/// The kinds that policies and add-ons need: group, version, plural.
const KINDS: [(&str, &str, &str); 8] = [
    (
        "cluster.open-cluster-management.io",
        "v1",
        "managedclusters",
    ),
    (
        "cluster.open-cluster-management.io",
        "v1beta2",
        "managedclustersets",
    ),
    (
        "cluster.open-cluster-management.io",
        "v1beta2",
        "managedclustersetbindings",
    ),
    (
        "cluster.open-cluster-management.io",
        "v1beta1",
        "placements",
    ),
    (
        "cluster.open-cluster-management.io",
        "v1beta1",
        "placementdecisions",
    ),
    (
        "addon.open-cluster-management.io",
        "v1alpha1",
        "clustermanagementaddons",
    ),
    (
        "addon.open-cluster-management.io",
        "v1alpha1",
        "managedclusteraddons",
    ),
    (
        "addon.open-cluster-management.io",
        "v1alpha1",
        "addondeploymentconfigs",
    ),
];
const MANAGERS: &str = "/apis/operator.open-cluster-management.io/v1/clustermanagers";
/// The clusters of the hub.
pub(crate) const CLUSTERS: &str = "/apis/cluster.open-cluster-management.io/v1/managedclusters";

pub(crate) async fn checks(hub: &Hub) -> Vec<Entry> {
    vec![
        Entry::of_rules(
            SUBJECT,
            "API server",
            vec![good("", messages::kubernetes(&hub.version.git_version))],
        ),
        Entry::of_rules(SUBJECT, "cluster manager", managers(hub).await),
        Entry::of_rules(SUBJECT, "kinds", kinds(hub).await),
        Entry::of_rules(SUBJECT, "managed clusters", clusters(hub).await),
    ]
}

async fn managers(hub: &Hub) -> Vec<Rule> {
    let managers: Vec<Value> = match hub.list(MANAGERS).await {
        Ok(managers) => managers,
        Err(why) => {
            return vec![rule(
                "",
                State::Error,
                messages::unread("ClusterManagers", &why),
            )];
        }
    };
    if managers.is_empty() {
        return vec![bad("", messages::NO_MANAGER)];
    }
    managers.iter().map(manager).collect()
}

/// The version of a cluster manager is the tag of the image of its registration.
fn manager(manager: &Value) -> Rule {
    let name = text(manager, "/metadata/name");
    let image = text(manager, "/spec/registrationImagePullSpec");
    let version = tag(image).unwrap_or("");
    match condition(manager, "Applied") {
        ("True" | "", _) => good(name, messages::manager(version, image)),
        (_, why) => bad(name, messages::manager_not_applied(why)),
    }
}

/// The tag of an image.
pub(crate) fn tag(image: &str) -> Option<&str> {
    let image = image.split_once('@').map_or(image, |(image, _)| image);
    let last = image.rsplit('/').next().unwrap_or_default();
    last.split_once(':').map(|(_, tag)| tag)
}

async fn kinds(hub: &Hub) -> Vec<Rule> {
    let mut rules = Vec::new();
    for (group, version, plural) in KINDS {
        rules.push(served(hub, group, version, plural, messages::INSTALL_OCM).await);
    }
    rules
}

/// Whether the hub serves a kind, and what to do if not.
pub(crate) async fn served(
    hub: &Hub,
    group: &str,
    version: &str,
    plural: &str,
    advice: &str,
) -> Rule {
    let name = format!("{plural}.{group}");
    let served: Value = match hub.get(&format!("/apis/{group}/{version}")).await {
        Ok(served) => served.unwrap_or_default(),
        Err(why) => return rule(&name, State::Error, messages::unread("the API group", &why)),
    };
    let resources = served["resources"].as_array().into_iter().flatten();
    let mut names = resources.map(|one| text(one, "/name"));
    if names.any(|name| name == plural) {
        good(&name, messages::served(version))
    } else {
        bad(&name, messages::not_served(version, advice))
    }
}

async fn clusters(hub: &Hub) -> Vec<Rule> {
    let clusters: Vec<Value> = match hub.list(CLUSTERS).await {
        Ok(clusters) => clusters,
        Err(why) => {
            return vec![rule(
                "",
                State::Error,
                messages::unread("ManagedClusters", &why),
            )];
        }
    };
    if clusters.is_empty() {
        return vec![rule("", State::Skipped, messages::NO_CLUSTERS)];
    }
    clusters.iter().map(cluster).collect()
}

fn cluster(cluster: &Value) -> Rule {
    let name = text(cluster, "/metadata/name");
    if cluster["spec"]["hubAcceptsClient"] != true {
        return bad(name, messages::not_accepted(name));
    }
    if condition(cluster, "ManagedClusterJoined").0 != "True" {
        return bad(name, messages::NOT_JOINED);
    }
    match condition(cluster, "ManagedClusterConditionAvailable") {
        ("True", _) => good(name, messages::AVAILABLE),
        (_, why) => bad(name, messages::not_available(why)),
    }
}
