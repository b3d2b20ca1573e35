//! Whether the components of the hub may do what they do: what `deploy/hub/rbac.yaml` grants, asked of the API server.

use futures::StreamExt as _;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::rbac::v1::PolicyRule;
use reeve_report::{Entry, Rule, State};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::components::{ADDON_CONTROLLER, PROPAGATOR, namespace};
use crate::observe::{Deployments, Hub, Read};
use crate::{bad, good, messages, rule};

/// The rights that the components are installed with.
const RBAC: &str = include_str!("../../deploy/hub/rbac.yaml");
const REVIEWS: &str = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
/// So many questions are asked at the same time.
const CONCURRENT: usize = 16;

/// The role of each component.
const ROLES: [(&str, &str); 2] = [
    (PROPAGATOR, "governance-policy-propagator"),
    (ADDON_CONTROLLER, "policy-addon-ctrl-manager-role"),
];

#[derive(Deserialize)]
struct Document {
    kind: String,
    metadata: Name,
    #[serde(default)]
    rules: Vec<PolicyRule>,
}

#[derive(Deserialize)]
struct Name {
    name: String,
}

/// Something that a component does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Right {
    pub(crate) verb: String,
    pub(crate) group: String,
    pub(crate) resource: String,
    pub(crate) name: Option<String>,
}

pub(crate) async fn checks(hub: &Hub, deployments: &Read<Deployments>) -> Vec<Entry> {
    let mut entries = Vec::new();
    for (component, role) in ROLES {
        let found = deployments.as_ref().ok().and_then(|all| all.get(component));
        let rules = match found.and_then(|all| all.first()) {
            None => vec![rule("", State::Skipped, messages::NOT_INSTALLED)],
            Some(deployment) => of_component(hub, deployment, role).await,
        };
        entries.push(Entry::of_rules(component, "rights", rules));
    }
    entries
}

async fn of_component(hub: &Hub, deployment: &Deployment, role: &str) -> Vec<Rule> {
    let rights = match rights(role) {
        Ok(rights) => rights,
        Err(why) => return vec![rule("", State::Error, why)],
    };
    let pod = deployment.spec.template.spec.as_ref();
    let account = pod.and_then(|pod| pod.service_account_name.as_deref());
    let account = account.unwrap_or("default");
    let user = format!("system:serviceaccount:{}:{account}", namespace(deployment));
    let count = rights.len();
    let asked = rights.into_iter().map(async |right| {
        let allowed = may(hub, &user, namespace(deployment), &right).await;
        (right, allowed)
    });
    let asked = futures::stream::iter(asked).buffered(CONCURRENT);
    let answers: Vec<(Right, Read<bool>)> = asked.collect().await;
    let mut rules = Vec::new();
    for (right, allowed) in answers {
        match allowed {
            Ok(true) => {}
            Ok(false) => rules.push(bad(&right.describe(), messages::not_allowed(&user))),
            Err(why) => {
                // The next question has the same answer.
                rules.push(rule("", State::Unknown, messages::not_reviewed(&why)));
                break;
            }
        }
    }
    if rules.is_empty() {
        rules.push(good("", messages::allowed(&user, count)));
    }
    rules
}

/// The rights of a `ClusterRole` of `deploy/hub/rbac.yaml`, each by itself.
pub(crate) fn rights(role: &str) -> Result<Vec<Right>, String> {
    let mut rights = Vec::new();
    for text in RBAC.split("\n---\n").filter(|text| text.contains("kind:")) {
        let document: Document = serde_saphyr::from_str(text).map_err(|error| error.to_string())?;
        if document.kind != "ClusterRole" || document.metadata.name != role {
            continue;
        }
        for one in &document.rules {
            rights.extend(each(one));
        }
    }
    rights.dedup();
    Ok(rights)
}

fn each(rule: &PolicyRule) -> Vec<Right> {
    let names: Vec<Option<String>> = match rule.resource_names.as_deref() {
        None | Some([]) => vec![None],
        Some(names) => names.iter().cloned().map(Some).collect(),
    };
    let mut all = Vec::new();
    for group in rule.api_groups.iter().flatten() {
        for resource in rule.resources.iter().flatten() {
            for verb in &rule.verbs {
                all.extend(names.iter().map(|name| Right {
                    verb: verb.clone(),
                    group: group.clone(),
                    resource: resource.clone(),
                    name: name.clone(),
                }));
            }
        }
    }
    all
}

impl Right {
    fn describe(&self) -> String {
        let group = match self.group.as_str() {
            "" => String::new(),
            group => format!(".{group}"),
        };
        let name = self.name.as_deref().map(|name| format!(" {name}"));
        format!(
            "{} {}{group}{}",
            self.verb,
            self.resource,
            name.unwrap_or_default()
        )
    }
}

/// Asks whether a user has a right in all namespaces; a named object is in the component's.
async fn may(hub: &Hub, user: &str, namespace: &str, right: &Right) -> Read<bool> {
    let (resource, sub) = match right.resource.split_once('/') {
        Some((resource, sub)) => (resource, sub),
        None => (right.resource.as_str(), ""),
    };
    let mut attributes = json!({
        "verb": right.verb, "group": right.group, "resource": resource, "subresource": sub,
    });
    if let Some(name) = &right.name {
        attributes["name"] = name.as_str().into();
        attributes["namespace"] = namespace.into();
    }
    let review = json!({
        "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
        "spec": {
            "user": user,
            "groups": ["system:serviceaccounts", "system:authenticated"],
            "resourceAttributes": attributes,
        },
    });
    let reviewed: Value = hub.post(REVIEWS, &review).await?;
    Ok(reviewed["status"]["allowed"] == true)
}
