//! The status of a work that the work agent writes on the hub.

use anyhow::{Context, Result};
use kube::api::DynamicObject;
use serde_json::{Value, json};

use super::super::condition::{Condition, is_true, list};
use super::apply::Outcome;
use super::feedback;
use super::manifest::Settings;
use crate::Objects;

/// Reads again those objects that are reported in detail.
pub(super) async fn refresh(
    objects: &Objects,
    settings: &Settings,
    outcomes: &mut [Outcome],
) -> Result<()> {
    for outcome in outcomes {
        let Some(resource) = &outcome.resource else {
            continue;
        };
        let config = settings.config(resource);
        if config.is_none_or(|config| config.feedback_rules.is_empty()) {
            continue;
        }
        let api_version = if resource.group.is_empty() {
            resource.version.clone()
        } else {
            format!("{}/{}", resource.group, resource.version)
        };
        let namespace = Some(resource.namespace.as_str());
        outcome.live = objects
            .get(&api_version, &resource.kind, namespace, &resource.name)
            .await
            .with_context(|| format!("looking at {} {}", resource.kind, resource.name))?;
    }
    Ok(())
}

/// The status of the work.
pub(super) fn status(work: &DynamicObject, settings: &Settings, outcomes: &[Outcome]) -> Value {
    let old = &work.data["status"];
    let generation = work.metadata.generation;
    let manifests: Vec<Value> = outcomes
        .iter()
        .enumerate()
        .map(|(ordinal, outcome)| manifest((ordinal, generation), outcome, settings, old))
        .collect();
    let all = |kind: &str| {
        manifests
            .iter()
            .filter(|manifest| !is_true(&manifest["conditions"], kind))
            .count()
    };
    let mut conditions = list(old);
    let applied = match all("Applied") {
        0 => Condition::new(
            "Applied",
            "True",
            "AppliedManifestWorkComplete",
            "Apply manifest work complete",
        ),
        _ => Condition::new(
            "Applied",
            "False",
            "AppliedManifestWorkFailed",
            "Failed to apply manifest work",
        ),
    };
    applied.at(generation).put(&mut conditions);
    let available = match all("Available") {
        0 => Condition::new(
            "Available",
            "True",
            "ResourcesAvailable",
            "All resources are available",
        ),
        missing => Condition::new(
            "Available",
            "False",
            "ResourcesNotAvailable",
            &format!(
                "{missing} of {} resources are not available",
                manifests.len()
            ),
        ),
    };
    available.at(generation).put(&mut conditions);
    json!({ "conditions": conditions, "resourceStatus": { "manifests": manifests } })
}

fn manifest(
    (ordinal, generation): (usize, Option<i64>),
    outcome: &Outcome,
    settings: &Settings,
    old: &Value,
) -> Value {
    let mut meta = json!({ "ordinal": ordinal });
    if let Some(resource) = &outcome.resource {
        meta = json!({
            "ordinal": ordinal,
            "group": resource.group,
            "version": resource.version,
            "kind": resource.kind,
            "resource": resource.plural,
            "namespace": resource.namespace,
            "name": resource.name,
        });
    }
    let old = old["resourceStatus"]["manifests"].as_array();
    let before = old
        .into_iter()
        .flatten()
        .find(|before| before["resourceMeta"] == meta);
    let mut conditions = before.map(list).unwrap_or_default();
    applied(outcome).at(generation).put(&mut conditions);
    available(outcome).put(&mut conditions);
    let config = outcome
        .resource
        .as_ref()
        .and_then(|resource| settings.config(resource));
    let rules = config.map_or(&[][..], |config| config.feedback_rules.as_slice());
    feedback_condition(rules).put(&mut conditions);
    let mut entry = json!({ "resourceMeta": meta, "conditions": conditions });
    let values = outcome
        .live
        .as_ref()
        .map(|live| feedback::values(live, rules))
        .unwrap_or_default();
    if !values.is_empty() {
        entry["statusFeedback"] = json!({ "values": values });
    }
    entry
}

fn applied(outcome: &Outcome) -> Condition<'static> {
    match &outcome.applied {
        Ok(()) => Condition::new(
            "Applied",
            "True",
            "AppliedManifestComplete",
            "Apply manifest complete",
        ),
        Err(error) => Condition::new(
            "Applied",
            "False",
            "AppliedManifestFailed",
            &format!("Failed to apply manifest: {error}"),
        ),
    }
}

fn available(outcome: &Outcome) -> Condition<'static> {
    if outcome.live.is_some() {
        Condition::new(
            "Available",
            "True",
            "ResourceAvailable",
            "Resource is available",
        )
    } else {
        let message = "Resource is not available";
        Condition::new("Available", "False", "ResourceNotAvailable", message)
    }
}

fn feedback_condition(rules: &[Value]) -> Condition<'static> {
    if rules.is_empty() {
        Condition::new(
            "StatusFeedbackSynced",
            "False",
            "NoStatusFeedbackSynced",
            "",
        )
    } else {
        Condition::new("StatusFeedbackSynced", "True", "StatusFeedbackSynced", "")
    }
}
