//! What is written, in the order in which it is: first what both clusters are given, then the requests whose answers are compared.

mod deletions;
mod own_kinds;
mod seen;
mod selected;
mod writes;

use serde_json::{Value, json};

use crate::clusters::{Prepared, Request};

/// A request whose answers are compared.
pub struct Case {
    pub name: &'static str,
    pub request: Request,
    /// What Gatekeeper's answer must be for the comparison to prove something.
    pub is_refused: Option<bool>,
}

/// Requests on what was prepared for them and before.
pub struct Phase {
    pub prepared: Prepared,
    pub cases: Vec<Case>,
}

/// All requests. Objects that a later phase needs are made by an earlier one.
pub const PHASES: [fn() -> Phase; 5] = [
    writes::phase,
    selected::phase,
    seen::phase,
    own_kinds::phase,
    deletions::phase,
];

fn denied(name: &'static str, request: Request) -> Case {
    Case {
        name,
        request,
        is_refused: Some(true),
    }
}

fn allowed(name: &'static str, request: Request) -> Case {
    Case {
        name,
        request,
        is_refused: Some(false),
    }
}

fn scoped(scopes: &[(&str, &[&str])]) -> Value {
    let scopes = scopes.iter().map(|(action, points)| {
        let points = points.iter().map(|point| json!({"name": point}));
        json!({"action": action, "enforcementPoints": points.collect::<Vec<_>>()})
    });
    scopes.collect()
}

/// Whatever Gatekeeper answers.
fn any(name: &'static str, request: Request) -> Case {
    Case {
        name,
        request,
        is_refused: None,
    }
}
