//! Expressions with numbers are what the engine of Gatekeeper makes of them (`tests/gatekeeper/oracle` of the repository recorded
//! `numbers.json`). Those that stay different are in `numbers_known.json`, each with the reason and with what this crate makes of it.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // a test says what failed

use crate::support;
use std::collections::BTreeMap;
use std::path::Path;

use reeve_gatekeeper::Json;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::json;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Recorded {
    object: Json,
    parameters: Json,
    inventory: Json,
    expressions: Vec<Expression>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Expression {
    #[allow(dead_code)] // for readers
    group: String,
    rego: String,
    /// The value in a list, as `%v` prints it; absent where the expression is undefined.
    text: Option<String>,
    /// Whether a template with the expression does not load.
    #[serde(default)]
    refused: bool,
}

/// Expressions that stay different for one reason.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Known {
    reason: String,
    /// With what this crate makes of each: a text, or null where it is undefined or refused.
    expressions: BTreeMap<String, Option<String>>,
}

fn read<T: DeserializeOwned>(name: &str) -> T {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests")
        .join(name);
    let text = std::fs::read_to_string(path).unwrap();
    serde_json::from_str(&text).unwrap()
}

impl Recorded {
    /// What this crate makes of an expression, and whether it is refused.
    fn evaluate(&self, expression: &Expression) -> (Option<String>, bool) {
        let rego = format!(
            "package number\n\nviolation contains {{\"msg\": text}} if {{\n\ttext := sprintf(\"%v\", [[{}]])\n}}\n",
            expression.rego
        );
        let Ok(mut client) = support::load(&support::rego_v1_template(&rego)) else {
            return (None, true);
        };
        let spec = json!({"parameters": self.parameters});
        client
            .add_constraint(&support::constraint("number", spec))
            .unwrap();
        client.set_object(&self.inventory);
        let violations = support::review(&client, self.object.clone());
        let message = violations.into_iter().next().map(|one| one.message);
        (message, false)
    }
}

fn known() -> BTreeMap<String, Option<String>> {
    let known: Vec<Known> = read("numbers_known.json");
    let all = known.into_iter().flat_map(|one| {
        assert!(!one.reason.is_empty(), "{:?}", one.expressions.keys());
        one.expressions
    });
    all.collect()
}

#[test]
fn expressions_with_numbers_are_what_gatekeeper_makes_of_them() {
    let recorded: Recorded = read("numbers.json");
    let mut known = known();
    let mut found = Vec::new();
    for expression in &recorded.expressions {
        let ours = recorded.evaluate(expression);
        let stays = known.remove(&expression.rego);
        let is_same = ours == (expression.text.clone(), expression.refused);
        if is_same && stays.is_some() {
            found.push(format!("{}: differs no more", expression.rego));
        }
        if !is_same && stays.as_ref() != Some(&ours.0) {
            found.push(format!(
                "{}: {ours:?}, recorded {:?}",
                expression.rego,
                (&expression.text, expression.refused)
            ));
        }
    }
    found.extend(
        known
            .into_keys()
            .map(|one| format!("{one}: is not recorded")),
    );
    assert!(found.is_empty(), "{}:\n{}", found.len(), found.join("\n"));
}

#[test]
fn thousands_of_expressions_are_recorded() {
    let recorded: Recorded = read("numbers.json");
    assert!(recorded.expressions.len() > 4_000);
}
