//! The two add-ons: whether the hub knows them, and whether each cluster has them.

use std::collections::BTreeMap;

use reeve_report::{Entry, Rule, State};
use serde_json::Value;

use crate::observe::{Hub, Read, condition, text};
use crate::{bad, good, messages, ocm, rule};

/// The add-ons that bring the two agents to clusters.
const ADDONS: [&str; 2] = ["governance-policy-framework", "config-policy-controller"];
const KNOWN: &str = "/apis/addon.open-cluster-management.io/v1alpha1/clustermanagementaddons";
const INSTALLED: &str = "/apis/addon.open-cluster-management.io/v1alpha1/managedclusteraddons";

pub(crate) async fn checks(hub: &Hub) -> Vec<Entry> {
    let known = names(hub.list(KNOWN).await);
    let clusters = names(hub.list(ocm::CLUSTERS).await);
    let installed = hub.list(INSTALLED).await;
    ADDONS
        .into_iter()
        .flat_map(|addon| {
            [
                Entry::of_rules(&title(addon), "definition", vec![definition(addon, &known)]),
                Entry::of_rules(
                    &title(addon),
                    "clusters",
                    on_clusters(addon, &clusters, &installed),
                ),
            ]
        })
        .collect()
}

fn title(addon: &str) -> String {
    format!("add-on {addon}")
}

fn names(objects: Read<Vec<Value>>) -> Read<Vec<String>> {
    let names = |objects: Vec<Value>| {
        let names = objects
            .iter()
            .map(|one| text(one, "/metadata/name").to_owned());
        names.collect()
    };
    objects.map(names)
}

fn definition(addon: &str, known: &Read<Vec<String>>) -> Rule {
    match known {
        Err(why) => rule(
            "",
            State::Error,
            messages::unread("ClusterManagementAddOns", why),
        ),
        Ok(known) if known.iter().any(|name| name == addon) => {
            good("", messages::addon_defined(addon))
        }
        Ok(_) => bad("", messages::addon_not_defined(addon)),
    }
}

fn on_clusters(
    addon: &str,
    clusters: &Read<Vec<String>>,
    installed: &Read<Vec<Value>>,
) -> Vec<Rule> {
    let (clusters, installed) = match (clusters, installed) {
        (Ok(clusters), Ok(installed)) => (clusters, installed),
        (Err(why), _) | (_, Err(why)) => {
            return vec![rule(
                "",
                State::Error,
                messages::unread("the add-ons of clusters", why),
            )];
        }
    };
    let own: BTreeMap<&str, &Value> = installed
        .iter()
        .filter(|one| text(one, "/metadata/name") == addon)
        .map(|one| (text(one, "/metadata/namespace"), one))
        .collect();
    if clusters.is_empty() {
        return vec![rule("", State::Skipped, messages::NO_CLUSTERS)];
    }
    let lacking = clusters.iter().map(String::as_str);
    let lacking: Vec<&str> = lacking.filter(|name| !own.contains_key(name)).collect();
    let of_cluster = |cluster: &String| match own.get(cluster.as_str()) {
        None => bad(cluster, messages::addon_not_enabled(addon, &lacking)),
        Some(found) => match condition(found, "Available") {
            ("True", _) => good(cluster, messages::AVAILABLE),
            ("", _) => bad(cluster, messages::addon_without_answer(addon)),
            (_, why) => bad(cluster, messages::addon_not_available(addon, why)),
        },
    };
    clusters.iter().map(of_cluster).collect()
}
