//! Evaluates what a policy file has, against a world.

use reeve_config_policy_controller::Report;
use reeve_config_policy_controller::dryrun::DiffLength;

use crate::constraints;
use crate::error::Error;
use crate::evaluation::Evaluation;
use crate::paint::Paint;
use crate::policies::{Definition, Target};
use crate::world::World;
use crate::{messages, print};

/// How an evaluation is shown.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Style {
    pub(crate) length: DiffLength,
    pub(crate) paint: Paint,
}

/// Evaluates all targets. One that cannot be evaluated does not keep the others from it.
pub(crate) async fn all(
    world: &World,
    targets: &[Target],
    style: Style,
) -> Result<Vec<Result<Evaluation, Error>>, Error> {
    let mut of_gatekeeper = constraints::evaluate(world, targets).await?;
    let mut evaluations = Vec::new();
    for (index, target) in targets.iter().enumerate() {
        evaluations.push(match (&target.definition, of_gatekeeper.remove(&index)) {
            (_, Some(evaluation)) => evaluation,
            (Definition::ConfigurationPolicy(policy), None) => {
                of_report(world.evaluate(policy, style.length).await, style.paint)
            }
            (Definition::ConstraintTemplate(_) | Definition::Constraint(_), None) => {
                Err(Error::Evaluate(messages::NOT_AUDITED.to_owned()))
            }
        });
    }
    Ok(evaluations)
}

fn of_report(report: Report, paint: Paint) -> Result<Evaluation, Error> {
    let failures: Vec<&String> = report.failures.iter().chain(&report.unevaluated).collect();
    if let Some(text) = aggregate(&failures) {
        return Err(Error::Evaluate(text));
    }
    let status = serde_json::to_value(&report.status);
    Ok(Evaluation {
        status: status.map_err(|error| Error::SaveStatus(error.to_string()))?,
        diffs: print::diffs(&report.status, paint),
        messages: report.messages,
        state: report.status.compliant.unwrap_or_default(),
    })
}

/// Several errors as one, in the form of Kubernetes' libraries. Equal ones are one.
fn aggregate(errors: &[&String]) -> Option<String> {
    let mut all: Vec<&str> = Vec::new();
    for error in errors {
        if !all.contains(&error.as_str()) {
            all.push(error);
        }
    }
    match all.as_slice() {
        [] => None,
        [one] => Some((*one).to_owned()),
        several => Some(format!("[{}]", several.join(", "))),
    }
}
