//! Resolves the templates of a definition for every candidate.

use std::sync::Arc;

use reeve_runtime::discovery::ServedKind;
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use super::{Candidate, Deps};
use crate::evaluate::cluster::Cluster;
use crate::evaluate::desired::{DesiredObject, ObjectIdentity, ParsedTemplate};
use crate::evaluate::diff::{Sensitivity, effective_record_diff};
use crate::evaluate::spec::EvaluationError;
use crate::evaluate::templates::{Rendered, TemplateContext, TemplateResult};
use crate::messages;
use crate::status::finding::Location;
use reeve_runtime::secrets::Secrets;

/// The desired objects, and whether a template skipped some.
pub(super) struct Resolved {
    pub(super) objects: Vec<(DesiredObject, Option<Arc<Value>>)>,
    pub(super) skipped: bool,
}

pub(super) async fn resolve<C: Cluster>(
    deps: &Deps<'_, C>,
    parsed: &ParsedTemplate<'_>,
    kind: &ServedKind,
    candidates: Vec<Candidate>,
) -> Result<Resolved, EvaluationError> {
    let outcomes = outcomes(deps, parsed, kind, &candidates).await;
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
        let desired = desired((parsed, deps.policy), kind, &candidate.location, rendered)?;
        checked(deps, parsed, kind, &candidate.location, &desired)?;
        resolved.objects.push((desired, candidate.object));
    }
    Ok(resolved)
}

/// The resolved definition for each candidate. Where the templates do not use what distinguishes two candidates
/// they share one result.
async fn outcomes<C: Cluster>(
    deps: &Deps<'_, C>,
    parsed: &ParsedTemplate<'_>,
    kind: &ServedKind,
    candidates: &[Candidate],
) -> Vec<TemplateResult> {
    let definition = &parsed.template.object_definition;
    let Some(uses) = parsed.uses else {
        let plain = || TemplateResult {
            skipped: false,
            result: Ok(Rendered {
                value: Value::clone(definition),
                sensitivity: Sensitivity::Plain,
                secrets: Secrets::default(),
            }),
        };
        return candidates.iter().map(|_| plain()).collect();
    };
    let mut contexts: Vec<TemplateContext> = Vec::new();
    let mut frame_of = Vec::new();
    for (at, candidate) in candidates.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|before| candidates.get(before));
        let same = before.is_some_and(|before| {
            !(uses.object || uses.name)
                && (!uses.namespace || before.location.namespace == candidate.location.namespace)
        });
        if !same {
            contexts.push(candidate.frame(kind));
        }
        frame_of.push(contexts.len().saturating_sub(1));
    }
    let resolved = deps
        .templates
        .resolve_each(deps.cluster, definition, contexts)
        .await;
    let of = |at: usize| resolved.get(at).cloned();
    frame_of.into_iter().filter_map(of).collect()
}

fn desired(
    (parsed, policy): (&ParsedTemplate<'_>, &str),
    kind: &ServedKind,
    location: &Location,
    rendered: Rendered,
) -> Result<DesiredObject, EvaluationError> {
    let undecodable = |error: &str| {
        let message = messages::undecodable(parsed.index, policy, error);
        EvaluationError::permanent(messages::DECODE_ERROR, message)
    };
    let Value::Object(mut definition) = rendered.value else {
        return Err(undecodable("the definition is not an object"));
    };
    let Some(identity) = ObjectIdentity::of(&definition) else {
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
    let namespace = filled(identity.namespace, &location.namespace);
    let location = Location {
        namespace: if kind.namespaced {
            namespace
        } else {
            String::new()
        },
        name: filled(identity.name, &location.name),
    };
    let sensitivity = parsed.sensitivity.and(rendered.sensitivity);
    let asked = parsed.template.record_diff.as_deref();
    Ok(DesiredObject {
        index: parsed.index,
        record_diff: effective_record_diff(asked, &definition, sensitivity),
        kind: parsed.kind.clone(),
        compliance: parsed.compliance,
        metadata_compliance: parsed.metadata_compliance,
        recreate: parsed.recreate,
        digest: digest(parsed, &definition),
        sensitivity,
        secrets: parsed.secrets.union(&rendered.secrets),
        definition,
        location,
    })
}

/// Names and namespaces from templates must match the selectors.
fn checked<C: Cluster>(
    deps: &Deps<'_, C>,
    parsed: &ParsedTemplate<'_>,
    kind: &ServedKind,
    candidate: &Location,
    desired: &DesiredObject,
) -> Result<(), EvaluationError> {
    let refused = |message: String| {
        Err(EvaluationError::permanent(
            messages::TEMPLATE_ERROR,
            message,
        ))
    };
    let location = &desired.location;
    let selects = deps.selection.is_some();
    if kind.namespaced && selects && location.namespace != candidate.namespace {
        return refused(messages::OTHER_NAMESPACE.to_owned());
    }
    if kind.namespaced && parsed.templated_namespace && location.namespace.is_empty() {
        let kind = &parsed.kind.kind;
        return refused(messages::no_namespace_resolved(&parsed.name, kind));
    }
    if parsed.selector().is_some() && location.name != candidate.name {
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

/// A digest of the definition and of everything that decides how it is compared and enforced.
fn digest(parsed: &ParsedTemplate<'_>, definition: &Map<String, Value>) -> [u8; 32] {
    let template = parsed.template;
    let how = (
        &template.compliance_type,
        &template.metadata_compliance_type,
        &template.record_diff,
        &template.recreate_option,
        parsed.index,
    );
    let text = serde_json::to_vec(&(how, definition)).unwrap_or_default();
    Sha256::digest(text).into()
}
