//! The crate's client with the templates, constraints and inventory of a case.

use reeve_gatekeeper::Json;
use reeve_gatekeeper::client::{Client, Engines, Options, Violation};
use reeve_gatekeeper::enforcement::EnforcementPoint;
use reeve_gatekeeper::matching::Source;
use reeve_gatekeeper::review::Review;
use reeve_gatekeeper::template::ConstraintTemplate;

use super::answers::{Finding, Reviewed};
use super::corpus::{Case, Given, Input};

pub struct Engine {
    pub client: Client,
    pub templates: Vec<String>,
    pub constraints: Vec<String>,
}

impl Engine {
    pub fn new(engines: Engines) -> Self {
        Self {
            client: Client::new(Options {
                engines,
                ..Options::default()
            }),
            templates: Vec::new(),
            constraints: Vec::new(),
        }
    }

    pub fn of_case(case: &Case, engines: Engines) -> Self {
        let mut engine = Self::new(engines);
        for template in &case.templates {
            let added = engine.add_template(template);
            engine.templates.push(added);
        }
        for constraint in &case.constraints {
            let added = engine.client.add_constraint(constraint);
            let error = added.err().map(|error| error.to_string());
            engine.constraints.push(error.unwrap_or_default());
        }
        engine.add_inventory(case);
        engine
    }

    /// Adds a template; the error, or nothing.
    pub fn add_template(&mut self, template: &Json) -> String {
        let added = ConstraintTemplate::parse(template)
            .and_then(|template| self.client.add_template(template));
        added
            .err()
            .map(|error| error.to_string())
            .unwrap_or_default()
    }

    pub fn add_inventory(&mut self, case: &Case) {
        for object in &case.inventory {
            self.client.set_object(object);
        }
    }

    /// Whether the source of an object is one that a review can have.
    pub fn has_source(input: &Input) -> bool {
        let Input::Given(given) = input else {
            return true;
        };
        matches!(
            given.source.as_deref(),
            None | Some("" | "Original" | "Generated")
        )
    }

    pub fn review(&self, input: &Input, point: &str) -> Reviewed {
        let Input::Given(given) = input else {
            panic!("the shared objects are resolved");
        };
        let point = match point {
            "" | "gator.gatekeeper.sh" => EnforcementPoint::Gator,
            "audit.gatekeeper.sh" => EnforcementPoint::Audit,
            "validation.gatekeeper.sh" => EnforcementPoint::Webhook,
            other => panic!("the enforcement point {other} cannot be asked for"),
        };
        match review_of(given) {
            Ok(review) => Reviewed {
                error: String::new(),
                results: findings(self.client.review(&review, point)),
            },
            Err(error) => Reviewed {
                error,
                results: Vec::new(),
            },
        }
    }
}

fn review_of(given: &Given) -> Result<Review, String> {
    let review = match &given.admission_review {
        Some(review) => Review::of_admission(review),
        None => Review::of_object(given.object.clone()),
    };
    let review = review.map_err(|error| error.to_string())?;
    let review = review.with_namespace(given.namespace.clone());
    Ok(match given.source.as_deref() {
        None | Some("Original") => review.with_source(Source::Original),
        Some("Generated") => review.with_source(Source::Generated),
        Some(_) => review,
    })
}

/// The findings in the order of the engine; Gatekeeper has none where action and message are equal.
fn findings(violations: Vec<Violation>) -> Vec<Finding> {
    let mut findings: Vec<Finding> = violations
        .into_iter()
        .map(|one| {
            let mut scoped_actions = one.scoped_actions;
            scoped_actions.sort();
            Finding {
                constraint: format!("{}/{}", one.constraint.kind, one.constraint.name),
                msg: one.message,
                details: one.details,
                enforcement_action: one.enforcement_action,
                scoped_actions,
            }
        })
        .collect();
    for equal in findings.chunk_by_mut(|one, other| {
        (&one.enforcement_action, &one.msg) == (&other.enforcement_action, &other.msg)
    }) {
        equal.sort_by_cached_key(|one| format!("{}\n{}", one.constraint, one.details));
    }
    findings
}
