//! The kinds of policies, and whether their definitions are those of this version.

use reeve_report::{Entry, Rule, State};
use serde_json::Value;

use crate::observe::{Hub, text};
use crate::{bad, good, messages, ocm, rule};

const SUBJECT: &str = "kinds of policies";
/// The kinds that a hub has. The others come to managed clusters with the add-ons.
const ON_HUB: [&str; 4] = [
    "placementbindings",
    "policies",
    "policyautomations",
    "policysets",
];

pub(crate) async fn checks(hub: &Hub) -> Vec<Entry> {
    let all = match reeve_api::crds::all() {
        Ok(all) => all,
        Err(error) => {
            let why = rule("", State::Error, error.to_string());
            return vec![Entry::of_rules(SUBJECT, "definitions", vec![why])];
        }
    };
    let mut entries = Vec::new();
    for (_, crd) in all {
        let plural = text(&crd, "/spec/names/plural").to_owned();
        if ON_HUB.contains(&plural.as_str()) {
            let rules = vec![definition(hub, &crd).await];
            entries.push(Entry::of_rules(SUBJECT, &plural, rules));
        }
    }
    let (group, plural) = ("apps.open-cluster-management.io", "placementrules");
    let rules = ocm::served(hub, group, "v1", plural, messages::APPLY_CRDS).await;
    entries.push(Entry::of_rules(
        SUBJECT,
        plural,
        vec![Rule {
            name: String::new(),
            ..rules
        }],
    ));
    entries
}

/// Compares a definition of the hub with ours.
async fn definition(hub: &Hub, ours: &Value) -> Rule {
    let name = text(ours, "/metadata/name");
    let path = format!("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}");
    let found: Value = match hub.get(&path).await {
        Err(why) => return rule("", State::Error, messages::unread("its definition", &why)),
        Ok(None) => return bad("", messages::no_definition(name)),
        Ok(Some(found)) => found,
    };
    let established = crate::observe::condition(&found, "Established");
    if established.0 != "True" {
        return bad("", messages::not_established(established.1));
    }
    let served = versions(&found);
    let missing: Vec<String> = versions(ours)
        .into_iter()
        .filter(|version| !served.contains(version))
        .collect();
    if !missing.is_empty() {
        return bad("", messages::versions_missing(&missing));
    }
    let absent = absent_fields(ours, &found);
    if absent.is_empty() {
        good("", messages::served(&served.join(", ")))
    } else {
        bad("", messages::fields_missing(&absent))
    }
}

/// The versions that a definition serves.
fn versions(crd: &Value) -> Vec<String> {
    let all = crd["spec"]["versions"].as_array().into_iter().flatten();
    all.filter(|version| version["served"] == true)
        .map(|version| text(version, "/name").to_owned())
        .collect()
}

/// The fields that our definition has and that of the hub does not: the API server would drop what is in them.
fn absent_fields(ours: &Value, found: &Value) -> Vec<String> {
    let schema = |crd: &Value| {
        let versions = crd["spec"]["versions"].as_array().into_iter().flatten();
        let schemas = versions.map(|one| {
            (
                text(one, "/name").to_owned(),
                one["schema"]["openAPIV3Schema"].clone(),
            )
        });
        schemas.collect::<Vec<_>>()
    };
    let theirs = schema(found);
    let mut absent = Vec::new();
    for (version, ours) in schema(ours) {
        let other = theirs.iter().find(|(name, _)| *name == version);
        if let Some((_, other)) = other {
            compare("", &ours, other, 0, &mut absent);
        }
    }
    absent
}

fn compare(path: &str, ours: &Value, theirs: &Value, level: usize, absent: &mut Vec<String>) {
    /// Schemas of policies are far less deep.
    const MOST_LEVELS: usize = 50;
    if level > MOST_LEVELS || theirs["x-kubernetes-preserve-unknown-fields"] == true {
        return;
    }
    let fields = ours["properties"].as_object().into_iter().flatten();
    for (name, schema) in fields {
        let dot = if path.is_empty() { "" } else { "." };
        let path = format!("{path}{dot}{name}");
        match theirs["properties"].get(name) {
            None => absent.push(path),
            Some(other) => compare(&path, schema, other, level + 1, absent),
        }
    }
    if ours.get("items").is_some() {
        compare(
            &format!("{path}[]"),
            &ours["items"],
            &theirs["items"],
            level + 1,
            absent,
        );
    }
}
