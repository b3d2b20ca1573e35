//! Templates that mean harm: they are refused or stopped, and others are not affected.

#![allow(clippy::unwrap_used)] // a test says what failed

use crate::support;
use std::time::{Duration, Instant};

use crate::support::{constraint, load, load_with, pod, rego_template, review};
use reeve_gatekeeper::client::{Cause, Options};
use reeve_gatekeeper::rego::Limits;
use rstest::rstest;
use serde_json::json;

fn with_rules(rules: &str, statement: &str) -> String {
    format!("package probe\nviolation[{{\"msg\": msg}}] {{ {statement}; msg := \"m\" }}\n{rules}")
}

fn options() -> Options {
    Options {
        limits: Limits {
            time: Duration::from_millis(500),
            ..Limits::default()
        },
        ..Options::default()
    }
}

/// A busy machine takes much longer than the limits.
const SOON: Duration = Duration::from_mins(5);

/// The source is refused at load, or its evaluation ends with an error in time.
fn is_harmless(rego: &str) {
    let begin = Instant::now();
    if let Ok(mut client) = load_with(&rego_template(rego), options()) {
        client
            .add_constraint(&constraint("probe", json!({})))
            .unwrap();
        let violations = review(&client, pod("p"));
        assert!(
            violations
                .iter()
                .all(|one| one.cause != Cause::Violation || one.message == "m"),
            "{violations:?}"
        );
    }
    let took = begin.elapsed();
    assert!(took < SOON, "{took:?}");
}

#[rstest]
#[case::brackets("[", "]")]
#[case::parentheses("(", ")")]
#[case::braces("{", "}")]
#[case::objects("{\"a\": ", "}")]
#[case::calls("count(", ")")]
#[case::comprehensions("[x | x := ", "]")]
#[case::indices("input[", "]")]
fn gk_122_deep_nesting_is_refused(#[case] open: &str, #[case] close: &str) {
    for depth in [20, 40, 200, 100_000] {
        let value = format!("{}1{}", open.repeat(depth), close.repeat(depth));
        is_harmless(&with_rules("", &format!("y := {value}")));
    }
    let depth = 60_000;
    let value = format!("{}1{}", open.repeat(depth), close.repeat(depth));
    let error = load(&rego_template(&with_rules("", &format!("y := {value}")))).unwrap_err();
    assert!(error.message.contains("levels deep"), "{error}");
}

#[rstest]
#[case::sums("1", " + 1")]
#[case::signs("1", " - -1")]
#[case::unions("{1}", " | {1}")]
#[case::members("1", " in [1]")]
#[case::paths("input", ".a")]
#[case::comparisons("1", " == 1")]
fn gk_122_long_chains_are_harmless(#[case] first: &str, #[case] next: &str) {
    for length in [50, 900, 50_000] {
        is_harmless(&with_rules(
            "",
            &format!("y := {first}{}", next.repeat(length)),
        ));
    }
}

#[test]
fn gk_122_long_chain_of_rules_is_harmless() {
    for length in [100, 500, 800, 990, 1_500, 20_000] {
        let mut rules = vec!["r0(x) = x { true }".to_owned()];
        for index in 1..length {
            rules.push(format!("r{index}(x) = y {{ y := r{}(x) }}", index - 1));
        }
        let rules = rules.join("\n");
        is_harmless(&with_rules(&rules, &format!("y := r{}(1)", length - 1)));
    }
}

#[rstest]
#[case::concat("concat(\"\", [@, @])")]
#[case::sprintf("sprintf(\"%v%v\", [@, @])")]
#[case::replace("replace(@, \"a\", \"aa\")")]
#[case::array("array.concat([@], [@])")]
#[case::urls("urlquery.encode(@)")]
#[case::hexadecimal("hex.encode(@)")]
#[case::json("json.marshal([@, @])")]
#[case::products("to_number(\"123456789\") * 1")]
fn gk_122_doubling_ends_within_the_limits(#[case] step: &str) {
    let mut statements = vec!["s0 := \"a%a\"".to_owned()];
    for index in 0..45 {
        let step = step.replace('@', &format!("s{index}"));
        statements.push(format!("s{} := {step}", index + 1));
    }
    is_harmless(&with_rules("", &statements.join("; ")));
}

#[rstest]
#[case::unit("units.parse(\"1e999999999\")")]
#[case::bytes("units.parse_bytes(\"9e999999999Ei\")")]
#[case::small_unit("units.parse(\"1e-999999999\")")]
#[case::text("to_number(\"1e999999999\")")]
#[case::document("json.unmarshal(\"[1e999999999]\")")]
#[case::member(r#"json.unmarshal(`{"$serde_json::private::Number": "1e999999999"}`)"#)]
#[case::valid_member(r#"json.is_valid(`{"$serde_json::private::Number": "1e999999999"}`)"#)]
#[case::yaml_member(r#"yaml.is_valid(`{"$serde_json::private::Number": "1e999999999"}`)"#)]
#[case::yaml("yaml.unmarshal(\"[1e999999999]\")")]
#[case::literal("1e999999999")]
#[case::small_literal("1e-999999999")]
#[case::zero_step("numbers.range_step(1, 10, 0)")]
#[case::negative_step("numbers.range_step(1, 10, -1)")]
#[case::range("numbers.range(1, 1000000000000)")]
#[case::long_range("numbers.range(1e300, 1e308)")]
#[case::shift("bits.lsh(1, 9223372036854775807)")]
#[case::far_shift("bits.rsh(1, 18446744073709551616)")]
#[case::base("[format_int(n, 10) | n := 1e308 * 1e308 * 1e308; i := numbers.range(1, 100)[_]]")]
#[case::zeros("to_number(replace(sprintf(\"%01000000d\", [0]), \"-\", \"\"))")]
#[case::digits("units.parse(sprintf(\"%01000000d\", [1]))")]
fn gk_122_large_numbers_are_harmless(#[case] number: &str) {
    is_harmless(&with_rules("", &format!("y := {number}")));
}

#[test]
fn gk_122_many_exponents_do_not_make_a_source_long() {
    let list = vec!["1e308"; 100_000].join(", ");
    is_harmless(&with_rules("", &format!("y := [{list}]")));
}

#[test]
fn gk_122_squares_of_squares_are_stopped() {
    let mut statements = vec!["s0 := 123456789".to_owned()];
    for index in 0..45 {
        statements.push(format!("s{} := s{index} * s{index}", index + 1));
    }
    let statements = statements.join("; ");
    let mut client = load(&rego_template(&with_rules("", &statements))).unwrap();
    client
        .add_constraint(&constraint("probe", json!({})))
        .unwrap();
    let begin = Instant::now();
    let violations = review(&client, pod("p"));
    assert!(begin.elapsed() < SOON);
    assert_eq!(violations.len(), 1);
    assert_eq!(violations[0].cause, Cause::EvaluationError);
}

#[rstest]
#[case::violations(
    "violation[{\"msg\": msg}] { msg := sprintf(\"%d\", [numbers.range(1, 50000)[_]]) }"
)]
#[case::bytes(
    "violation[{\"msg\": msg}] { i := numbers.range(1, 200)[_]; msg := sprintf(\"%0100000d\", [i]) }"
)]
#[case::range("violation[{\"msg\": \"x\"}] { count(numbers.range(1, 1000000000000)) > 0 }")]
#[case::shift("violation[{\"msg\": \"x\"}] { bits.lsh(1, 100000000000) > 0 }")]
#[case::width(
    "violation[{\"msg\": msg}] { msg := sprintf(\"%999999d %999999d %999999d %999999d %999999d\", [1, 1, 1, 1, 1]) }"
)]
fn gk_122_too_much_output_is_an_error(#[case] rule: &str) {
    let mut client = load_with(
        &rego_template(&format!("package probe\n{rule}")),
        Options {
            limits: Limits {
                time: Duration::from_secs(20),
                ..Limits::default()
            },
            ..Options::default()
        },
    )
    .unwrap();
    client
        .add_constraint(&constraint("probe", json!({})))
        .unwrap();
    let violations = review(&client, pod("p"));
    assert_eq!(violations.len(), 1, "{}", violations.len());
    assert_eq!(
        violations[0].cause,
        Cause::EvaluationError,
        "{}",
        violations[0].message.len()
    );
}

#[rstest]
#[case::counted("(a{1,500}){1,500}")]
#[case::nested("((((a{0,99}){0,99}){0,99}){0,99})")]
#[case::backtracking("(a+a+)+b")]
#[case::lookaround("(?=a)b")]
#[case::classes("[[:alpha:]]{1000}[[:alpha:]]{1000}")]
fn gk_122_patterns_are_harmless(#[case] pattern: &str) {
    let rego = with_rules(
        "",
        &format!(
            "text := concat(\"\", [\"a\" | numbers.range(1, 2000)[_]]); regex.match(`{pattern}`, text)"
        ),
    );
    is_harmless(&rego);
}

#[test]
fn gk_122_deeply_nested_object_is_refused() {
    let mut object = json!(1);
    for _ in 0..600 {
        object = json!({"a": object});
    }
    let mut outer = pod("p");
    outer["spec"] = object;
    let error = reeve_gatekeeper::review::Review::of_object(outer).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the object is nested too deeply to be evaluated"
    );
}

#[test]
fn gk_122_endless_work_is_stopped_and_the_next_review_is_not_affected() {
    let rego = "package probe\nviolation[{\"msg\": \"slow\"}] { input.review.object.metadata.name == \"slow\"; r := numbers.range(1, 2000); count([1 | r[_]; r[_]; r[_]]) == 0 }\nviolation[{\"msg\": \"quick\"}] { input.review.object.metadata.name == \"quick\" }";
    let mut client = load_with(&rego_template(rego), options()).unwrap();
    client
        .add_constraint(&constraint("probe", json!({})))
        .unwrap();
    let begin = Instant::now();
    let violations = review(&client, pod("slow"));
    assert!(begin.elapsed() < SOON);
    assert_eq!(violations[0].cause, Cause::TimeLimit);
    assert_eq!(support::messages(&review(&client, pod("quick"))), ["quick"]);
}

#[test]
fn gk_122_source_that_is_too_long_is_refused() {
    let rego = format!(
        "package probe\nviolation[{{\"msg\": \"m\"}}] {{ true }}\n# {}",
        "x".repeat(2 << 20)
    );
    let error = load(&rego_template(&rego)).unwrap_err();
    assert!(error.message.contains("bytes"), "{error}");
}

#[rstest]
#[case("")]
#[case("package")]
#[case("package a\nviolation")]
#[case("package a\nviolation[{\"msg\": \"")]
#[case("package a\nviolation[{\"msg\": `")]
#[case("package a\nviolation { \\ }")]
#[case("package a\n\u{0}")]
#[case("package a\nviolation[x] { x := $\"{\" }")]
#[case("package a\nviolation[x] { x := $\"{}\" }")]
#[case("package a } { } {")]
#[case("}}}}")]
#[case("package a\nviolation[x] { not }")]
#[case("package a\nviolation[x] { every }")]
#[case("package a\nviolation[x] { every x in { }")]
#[case("package a\nviolation[x] { x := 1 * }")]
#[case("package ä\nviolation[x] { x := \"ä\" }")]
#[case("import data.lib\npackage a")]
fn gk_122_broken_source_is_refused_without_a_panic(#[case] rego: &str) {
    let template = rego_template(rego);
    let _ = load(&template);
    let _ = load(&support::rego_v1_template(rego));
}
