//! Constraints and their templates, evaluated by the audit of clusters without Gatekeeper (DRY-25).

use std::collections::HashMap;

use reeve_api::Compliance;
use reeve_constraint_audit::{ConstraintKey, OneAudit};
use reeve_framework_addon::{WebhookValidation, constraint_finding, constraint_template_created};
use serde_json::{Value, json};

use crate::error::Error;
use crate::evaluation::Evaluation;
use crate::json::text;
use crate::messages;
use crate::policies::{Definition, Target};
use crate::world::World;

/// Evaluates the targets of Gatekeeper's kinds; the keys are their indices.
pub(crate) async fn evaluate(
    world: &World,
    targets: &[Target],
) -> Result<HashMap<usize, Result<Evaluation, Error>>, Error> {
    let mut evaluations = HashMap::new();
    let of_configuration =
        |target: &Target| matches!(target.definition, Definition::ConfigurationPolicy(_));
    if targets.iter().all(of_configuration) {
        return Ok(evaluations);
    }
    let audit = OneAudit::begin(world.objects()).await;
    let mut audit = audit.map_err(Error::Setup)?;
    // By the kind of their constraints.
    let mut invalid = HashMap::new();
    // A constraint may come before its template.
    for (index, target) in targets.iter().enumerate() {
        if let Definition::ConstraintTemplate(object) = &target.definition {
            let added = audit.add_template(object).map_err(Error::Evaluate);
            if added.is_err() {
                let kind = text(object, "/spec/crd/spec/names/kind");
                invalid.insert(kind, text(object, "/metadata/name"));
            }
            evaluations.insert(index, added.map(|()| created(object)));
        }
    }
    let mut keys: Vec<(usize, ConstraintKey)> = Vec::new();
    for (index, target) in targets.iter().enumerate() {
        if let Definition::Constraint(object) = &target.definition {
            match audit.add_constraint(object) {
                Ok(key) => keys.push((index, key)),
                Err(reason) => {
                    let reason = invalid
                        .get(text(object, "/kind"))
                        .map_or(reason, |template| messages::template_invalid(template));
                    evaluations.insert(index, Err(Error::Evaluate(reason)));
                }
            }
        }
    }
    if !keys.is_empty() {
        audit.run().await;
    }
    for (index, key) in keys {
        let audited = audit.audited(&key).and_then(|object| of_audit(&object));
        let audited = audited.ok_or_else(|| Error::Evaluate(messages::NOT_AUDITED.to_owned()));
        evaluations.insert(index, audited);
    }
    Ok(evaluations)
}

fn created(template: &Value) -> Evaluation {
    let finding = constraint_template_created(text(template, "/metadata/name"));
    let state = Compliance::Compliant.as_str().to_owned();
    Evaluation {
        status: json!({"created": true}),
        diffs: Vec::new(),
        messages: vec![format!("{state}; {finding}")],
        state,
    }
}

/// Whether a webhook refuses requests is no matter of a dry run: constraints are taken as they are with one.
fn of_audit(constraint: &Value) -> Option<Evaluation> {
    let finding = constraint_finding(constraint, WebhookValidation::Enabled)?;
    Some(Evaluation {
        status: constraint["status"].clone(),
        diffs: Vec::new(),
        messages: vec![finding.message()],
        state: finding.compliance.as_str().to_owned(),
    })
}
