//! Differences between the recorded answers and those of the crate.

use reeve_gatekeeper::client::Engines;
use reeve_gatekeeper::template::ConstraintTemplate;

use super::answers::{Finding, Outcome, Reviewed};
use super::corpus::{Case, Corpus, Input};
use super::engine::Engine;
use super::known;

/// What is found at load here, and at the review by Gatekeeper (§1.2 of the behaviour reference).
const COMPILED_AT_LOAD: &str = "cel-compile-errors";
/// How many differences a failed test prints.
const PRINTED: usize = 60;

pub fn assert_none(what: &str, found: &[String]) {
    let found = known::without(what, found);
    let count = found.len();
    let shown: Vec<String> = found.into_iter().take(PRINTED).collect();
    assert!(
        count == 0,
        "{count} differences ({what}):\n{}",
        shown.join("\n")
    );
}

/// Each case with each engine and its answers.
fn outcomes(corpus: &Corpus) -> impl Iterator<Item = (String, &Case, Engines, &Outcome)> {
    corpus.cases.iter().flat_map(|(name, case)| {
        let answer = case.answer();
        let rego = answer.cel_disabled.as_ref().unwrap_or(&answer.cel_enabled);
        [
            (name.clone(), case, Engines::CelFirst, &answer.cel_enabled),
            (format!("{name} (Rego only)"), case, Engines::RegoOnly, rego),
        ]
    })
}

pub fn of_reviews(corpus: &Corpus) -> Vec<String> {
    let mut found = Vec::new();
    for (name, case, engines, outcome) in outcomes(corpus) {
        if name.starts_with(COMPILED_AT_LOAD) || case.point == "other.example" {
            continue;
        }
        let engine = Engine::of_case(case, engines);
        for (index, (input, recorded)) in case.reviews.iter().zip(&outcome.reviews).enumerate() {
            if !Engine::has_source(input) {
                continue;
            }
            let answered = engine.review(input, &case.point);
            for difference in of_review(&answered, recorded) {
                found.push(format!(
                    "{name}: reviews[{index}]{}: {difference}",
                    object_name(input)
                ));
            }
        }
    }
    found
}

fn object_name(input: &Input) -> String {
    let Input::Given(given) = input else {
        return String::new();
    };
    named(&given.object)
}

fn named(object: &serde_json::Value) -> String {
    format!(
        " {} {}",
        object["kind"].as_str().unwrap_or_default(),
        object["metadata"]["name"].as_str().unwrap_or_default()
    )
}

/// The differences of the answers to one object: what is missing, what is too much, the order.
pub fn of_review(answered: &Reviewed, recorded: &Reviewed) -> Vec<String> {
    let is_refused_here = !answered.error.is_empty();
    let mut found = Vec::new();
    if is_refused_here == recorded.error.is_empty() {
        // The error of one constraint poisons its siblings with Gatekeeper; here it is a result of that constraint.
        let is_isolated = recorded.error.contains(".msg accessor error");
        if !is_isolated {
            found.push(format!(
                "error {:?}, recorded {:?}",
                answered.error, recorded.error
            ));
        }
        return found;
    }
    let missing = without(&recorded.results, &answered.results);
    let surplus = without(&answered.results, &recorded.results);
    found.extend(missing.iter().map(|one| format!("missing {}", shown(one))));
    found.extend(surplus.iter().map(|one| format!("surplus {}", shown(one))));
    if found.is_empty() && answered.results != recorded.results {
        found.push("the order differs".to_owned());
    }
    found
}

fn without<'a>(all: &'a [Finding], others: &[Finding]) -> Vec<&'a Finding> {
    let mut others: Vec<&Finding> = others.iter().collect();
    let is_surplus = |one: &&Finding| match others.iter().position(|other| *other == *one) {
        Some(at) => {
            others.swap_remove(at);
            false
        }
        None => true,
    };
    all.iter().filter(is_surplus).collect()
}

fn shown(finding: &Finding) -> String {
    format!(
        "{} {} {:?} {:?} {}",
        finding.constraint,
        finding.enforcement_action,
        finding.scoped_actions,
        finding.msg,
        finding.details
    )
}

/// Templates and constraints that one side refuses and the other does not.
pub fn of_refusals(corpus: &Corpus) -> Vec<String> {
    let mut found = Vec::new();
    for (name, case, engines, outcome) in outcomes(corpus) {
        let engine = Engine::of_case(case, engines);
        let templates = (0_usize..).zip(engine.templates.iter().zip(&outcome.templates));
        for (index, (ours, theirs)) in templates {
            let theirs = match compile_error(&name, case, outcome, index) {
                Some(error) => error,
                None => theirs.clone(),
            };
            if ours.is_empty() != theirs.is_empty() {
                found.push(format!(
                    "{name}: templates[{index}]{}: {ours:?}, recorded {theirs:?}",
                    named(&case.templates[index])
                ));
            }
        }
        if name.starts_with(COMPILED_AT_LOAD) {
            continue;
        }
        let constraints = engine.constraints.iter().zip(&outcome.constraints);
        for (index, (ours, theirs)) in constraints.enumerate() {
            if ours.is_empty() != theirs.is_empty() {
                found.push(format!(
                    "{name}: constraints[{index}]{}: {ours:?}, recorded {theirs:?}",
                    named(&case.constraints[index])
                ));
            }
        }
    }
    found
}

/// What Gatekeeper finds in a template at the review.
fn compile_error(name: &str, case: &Case, outcome: &Outcome, template: usize) -> Option<String> {
    if name != COMPILED_AT_LOAD {
        return None;
    }
    let kind = case.templates[template]["spec"]["crd"]["spec"]["names"]["kind"].as_str()?;
    let of_kind = format!("{kind}/");
    let results = outcome.reviews.iter().flat_map(|review| &review.results);
    let error = results
        .filter(|one| one.constraint.starts_with(&of_kind))
        .find(|one| {
            one.msg.starts_with("compilation error") || one.msg.contains("fails to compile")
        });
    error.map(|one| one.msg.clone())
}

/// The texts of what both refuse.
pub fn of_texts(corpus: &Corpus) -> Vec<String> {
    let mut found = Vec::new();
    for (name, case, engines, outcome) in outcomes(corpus) {
        if engines == Engines::RegoOnly {
            continue;
        }
        let engine = Engine::of_case(case, engines);
        let templates = engine.templates.iter().zip(&outcome.templates);
        let constraints = engine.constraints.iter().zip(&outcome.constraints);
        let objects = case.templates.iter().chain(&case.constraints);
        for (object, (ours, theirs)) in objects.zip(templates.chain(constraints)) {
            let both_refuse = !ours.is_empty() && !theirs.is_empty();
            if both_refuse && !in_order_of_text(ours).contains(theirs.trim()) {
                found.push(format!(
                    "{name}:{}: {ours:?}, recorded {theirs:?}",
                    named(object)
                ));
            }
        }
    }
    found
}

/// A refusal by a schema with its errors in the order of the recorded ones.
fn in_order_of_text(refusal: &str) -> String {
    let several = "schema validation failed: [[]";
    let Some((head, errors)) = refusal.split_once(several) else {
        return refusal.to_owned();
    };
    let errors = errors.strip_suffix(']').unwrap_or(errors);
    let mut errors: Vec<&str> = errors.split(", []").collect();
    errors.sort_unstable();
    format!("{head}{several}{}]", errors.join(", []"))
}

pub fn of_crds(corpus: &Corpus) -> Vec<String> {
    let mut found = Vec::new();
    for (name, case) in &corpus.cases {
        let recorded = &case.answer().cel_enabled.crds;
        for (template, theirs) in case.templates.iter().zip(recorded) {
            let kind = &template["metadata"]["name"];
            match ConstraintTemplate::parse(template) {
                Ok(template) => {
                    let ours = reeve_gatekeeper::template::crd(&template);
                    differing(&format!("{name} {kind}"), &ours, theirs, &mut found);
                }
                Err(error) => found.push(format!("{name} {kind}: {error}")),
            }
        }
    }
    found
}

/// The paths at which two trees differ.
fn differing(
    at: &str,
    ours: &serde_json::Value,
    theirs: &serde_json::Value,
    found: &mut Vec<String>,
) {
    if let (Some(mine), Some(other)) = (ours.as_array(), theirs.as_array())
        && mine.len() == other.len()
    {
        for (index, (mine, other)) in mine.iter().zip(other).enumerate() {
            differing(&format!("{at}[{index}]"), mine, other, found);
        }
        return;
    }
    let (Some(mine), Some(other)) = (ours.as_object(), theirs.as_object()) else {
        if ours != theirs {
            found.push(format!("{at}: {ours}, recorded {theirs}"));
        }
        return;
    };
    let none = serde_json::Value::Null;
    let names: std::collections::BTreeSet<&String> = mine.keys().chain(other.keys()).collect();
    for name in names {
        let of = |all: &serde_json::Map<String, serde_json::Value>| {
            all.get(name).unwrap_or(&none).clone()
        };
        // What the API server sets, and prose.
        if name == "description" || (name == "creationTimestamp") {
            continue;
        }
        // The library leaves the type of the whole object to its caller.
        if other.get("apiVersion").is_none()
            && !at.contains('.')
            && matches!(name.as_str(), "apiVersion" | "kind")
        {
            continue;
        }
        differing(&format!("{at}.{name}"), &of(mine), &of(other), found);
    }
}
