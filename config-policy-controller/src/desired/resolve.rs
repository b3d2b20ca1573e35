//! Resolving the templates of a definition for every object that it may be about.

use std::sync::Arc;

use reeve_runtime::discovery::ServedKind;
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use super::{Around, Candidate};
use crate::cluster::Cluster;
use crate::described::{Described, Identity};
use crate::diff::{Origin, resolve as record_diff};
use crate::messages;
use crate::report::Place;
use crate::spec::{Problem, Wanted};
use crate::templates::{Frame, Outcome, Rendered};
use reeve_template_reads::Secrets;

/// The objects that are left, and whether a template left some out.
pub(super) struct Resolved {
    pub(super) objects: Vec<(Wanted, Option<Arc<Value>>)>,
    pub(super) skipped: bool,
}

pub(super) async fn resolve<C: Cluster>(
    around: &Around<'_, C>,
    described: &Described<'_>,
    kind: &ServedKind,
    candidates: Vec<Candidate>,
) -> Result<Resolved, Problem> {
    let outcomes = outcomes(around, described, kind, &candidates).await;
    let mut resolved = Resolved {
        objects: Vec::new(),
        skipped: false,
    };
    for (candidate, outcome) in candidates.into_iter().zip(outcomes) {
        if outcome.skipped {
            resolved.skipped = true;
            continue;
        }
        let rendered = outcome.result?;
        let wanted = wanted((described, around.policy), kind, &candidate.place, rendered)?;
        checked(around, described, kind, &candidate.place, &wanted)?;
        resolved.objects.push((wanted, candidate.object));
    }
    Ok(resolved)
}

/// What the definition comes to for each candidate. Where the templates do not look at what tells two candidates
/// apart, the answer for one is the answer for the other.
async fn outcomes<C: Cluster>(
    around: &Around<'_, C>,
    described: &Described<'_>,
    kind: &ServedKind,
    candidates: &[Candidate],
) -> Vec<Outcome> {
    let definition = &described.template.object_definition;
    let Some(uses) = described.uses else {
        let plain = || Outcome {
            skipped: false,
            result: Ok(Rendered {
                value: definition.clone(),
                origin: Origin::Plain,
                secrets: Secrets::default(),
            }),
        };
        return candidates.iter().map(|_| plain()).collect();
    };
    let mut frames: Vec<Frame> = Vec::new();
    let mut frame_of = Vec::new();
    for (at, candidate) in candidates.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|before| candidates.get(before));
        let same = before.is_some_and(|before| {
            !(uses.object || uses.name)
                && (!uses.namespace || before.place.namespace == candidate.place.namespace)
        });
        if !same {
            frames.push(candidate.frame(kind));
        }
        frame_of.push(frames.len().saturating_sub(1));
    }
    let resolved = around
        .templates
        .each(around.cluster, definition, frames)
        .await;
    let of = |at: usize| resolved.get(at).cloned();
    frame_of.into_iter().filter_map(of).collect()
}

fn wanted(
    (described, policy): (&Described<'_>, &str),
    kind: &ServedKind,
    place: &Place,
    rendered: Rendered,
) -> Result<Wanted, Problem> {
    let undecodable = |error: &str| {
        let message = messages::undecodable(described.index, policy, error);
        Problem::of_policy(messages::DECODE_ERROR, message)
    };
    let Value::Object(mut definition) = rendered.value else {
        return Err(undecodable("the definition is not an object"));
    };
    let Some(identity) = Identity::of(&definition) else {
        return Err(undecodable(
            "the kind, the name and the namespace must be strings",
        ));
    };
    trim(&mut definition);
    let filled = |text: String, known: &str| {
        if text.is_empty() {
            known.to_owned()
        } else {
            text
        }
    };
    let namespace = filled(identity.namespace, &place.namespace);
    let place = Place {
        namespace: if kind.namespaced {
            namespace
        } else {
            String::new()
        },
        name: filled(identity.name, &place.name),
    };
    let origin = described.origin.and(rendered.origin);
    let asked = described.template.record_diff.as_deref();
    Ok(Wanted {
        index: described.index,
        record_diff: record_diff(asked, &definition, origin),
        kind: described.kind.clone(),
        compliance: described.compliance,
        metadata_compliance: described.metadata_compliance,
        recreate: described.recreate,
        digest: digest(described, &definition),
        origin,
        secrets: described.secrets.union(&rendered.secrets),
        definition,
        place,
    })
}

/// What the policy says of names and namespaces holds for what templates make of them, too.
fn checked<C: Cluster>(
    around: &Around<'_, C>,
    described: &Described<'_>,
    kind: &ServedKind,
    candidate: &Place,
    wanted: &Wanted,
) -> Result<(), Problem> {
    let refused = |message: String| Err(Problem::of_policy(messages::TEMPLATE_ERROR, message));
    let place = &wanted.place;
    let selects = around.selection.is_some();
    if kind.namespaced && selects && place.namespace != candidate.namespace {
        return refused(messages::OTHER_NAMESPACE.to_owned());
    }
    if kind.namespaced && described.templated_namespace && place.namespace.is_empty() {
        let kind = &described.kind.kind;
        return refused(messages::no_namespace_resolved(&described.name, kind));
    }
    if described.selector().is_some() && place.name != candidate.name {
        return refused(messages::OTHER_NAME.to_owned());
    }
    Ok(())
}

/// Names and kinds often come from block scalars, with a line break at their end.
fn trim(definition: &mut Map<String, Value>) {
    let trimmed = |value: &mut Value| {
        if let Value::String(text) = value {
            let inner = text.trim();
            if inner.len() != text.len() {
                *value = Value::String(inner.to_owned());
            }
        }
    };
    definition.get_mut("kind").map(trimmed);
    if let Some(Value::Object(metadata)) = definition.get_mut("metadata") {
        metadata.get_mut("name").map(trimmed);
        metadata.get_mut("namespace").map(trimmed);
    }
}

/// Identifies what is wanted: the definition and everything that decides how it is compared and enforced.
fn digest(described: &Described<'_>, definition: &Map<String, Value>) -> [u8; 32] {
    let template = described.template;
    let how = (
        &template.compliance_type,
        &template.metadata_compliance_type,
        &template.record_diff,
        &template.recreate_option,
        described.index,
    );
    let text = serde_json::to_vec(&(how, definition)).unwrap_or_default();
    Sha256::digest(text).into()
}
