//! Fills in what a Subscription leaves out, from the package manifest or from the Subscription on the cluster. Pure.

use reeve_api::operator_policy::OperatorPolicyStatus;
use serde_json::Value;

use super::Draft;
use crate::evaluate::cluster::text;
use crate::messages::operator as messages;
use crate::operator_policy::decide::package;

/// The annotation of a version with the namespace where its operator is meant to be.
const SUGGESTED_NAMESPACE: &str = "operatorframework.io/suggested-namespace";

/// Fills in the fields from the package manifest. The error is the message of the condition.
pub fn from_package(
    draft: &mut Draft,
    package: &Value,
    status: &OperatorPolicyStatus,
) -> Result<(), String> {
    let catalog = (
        text(package, "/status/catalogSource"),
        text(package, "/status/catalogSourceNamespace"),
    );
    if catalog.0.is_empty() || catalog.1.is_empty() {
        return Err(messages::NO_CATALOG.to_owned());
    }
    let (source, namespace) = (draft.field("source"), draft.field("sourceNamespace"));
    let differs = |given: &str, found: &str| !given.is_empty() && given != found;
    if differs(source, catalog.0) || differs(namespace, catalog.1) {
        return Err(messages::OTHER_CATALOG.to_owned());
    }
    if draft.field("channel").is_empty() {
        let channel = package::default_channel(package);
        let channel = channel.ok_or_else(|| messages::NO_DEFAULT_CHANNEL.to_owned())?;
        draft.set("channel", channel);
    }
    draft.set("source", catalog.0);
    draft.set("sourceNamespace", catalog.1);
    if draft.namespace.is_none() {
        let suggested = || suggested_namespace(package, draft.field("channel"));
        let known = related_namespace(status).or_else(suggested);
        draft.namespace = known.filter(|namespace| !namespace.is_empty());
    }
    Ok(())
}

/// Fills in the fields from the Subscription on the cluster, in the namespace where it was found.
pub fn from_existing(draft: &mut Draft, existing: &Value, namespace: &str) {
    for field in ["channel", "source", "sourceNamespace"] {
        let found = text(existing, &format!("/spec/{field}"));
        if draft.field(field).is_empty() && !found.is_empty() {
            draft.set(field, found);
        }
    }
    draft.namespace = Some(namespace.to_owned());
}

/// The namespace of the one Subscription that the policy's status lists.
pub fn related_namespace(status: &OperatorPolicyStatus) -> Option<String> {
    let objects = status.related_objects.iter();
    let mut subscriptions = objects
        .filter_map(|related| related.object.as_ref())
        .filter(|object| object.kind.as_deref() == Some("Subscription"));
    let (one, other) = (subscriptions.next()?, subscriptions.next());
    let namespace = one.metadata.as_ref()?.namespace.clone()?;
    (other.is_none() && !namespace.is_empty()).then_some(namespace)
}

fn suggested_namespace(package: &Value, channel: &str) -> Option<String> {
    let channel = package::channel(package, channel)?;
    let annotations = channel.pointer("/currentCSVDesc/annotations")?;
    Some(annotations.get(SUGGESTED_NAMESPACE)?.as_str()?.to_owned())
}
