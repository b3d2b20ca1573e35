//! Negations with undefined operands.

use crate::support;
use crate::support::{messages_of, pod};
use rstest::rstest;
use serde_json::json;

fn fires(preamble: &str, statement: &str) -> bool {
    let rego = format!(
        "package probe\nimport future.keywords.in\n{preamble}\nviolation[{{\"msg\": \"fired\"}}] {{\n  object := input.review.object\n  {statement}\n}}\n"
    );
    let messages = messages_of(&rego, pod("p"));
    assert!(messages.iter().all(|one| one == "fired"), "{messages:?}");
    !messages.is_empty()
}

#[rstest]
#[case::call("f(x) { x == 1 }", "not f(input.review.object.absent)")]
#[case::wildcard_parameter("f(_) { 1 == 2 }", "not f(input.review.object.absent)")]
#[case::index("map := {\"a\": false}", "not map[input.review.object.absent]")]
#[case::nested_index(
    "map := {\"a\": {\"b\": false}}",
    "not map[\"a\"][input.review.object.absent]"
)]
#[case::index_in_index(
    "map := {\"a\": false}",
    "not map[input.review.object.metadata.labels[input.review.object.absent]]"
)]
#[case::builtin("", "not startswith(input.review.object.absent, \"x\")")]
#[case::nested_call("f(x) { x == 1 }", "not f(count(input.review.object.absent))")]
#[case::array_argument("f(x) { x == 1 }", "not f([input.review.object.absent])")]
#[case::object_argument("f(x) { x == 1 }", "not f({\"a\": input.review.object.absent})")]
#[case::local_parent("f(x) { x == 1 }", "not f(object.absent)")]
#[case::rule_name(
    "f(x) { x == 1 }\nabsent = x { x := input.review.object.absent }",
    "not f(absent)"
)]
#[case::arithmetic("", "not object.absent + 1 == 2")]
#[case::greater("", "not object.absent > 2")]
#[case::not_equal("", "not object.absent != 2")]
#[case::membership_left("", "not object.absent in [1, 2]")]
#[case::membership_right("", "not 1 in object.absent")]
#[case::in_comprehension(
    "f(x) { x == 1 }",
    "count([1 | not f(input.review.object.absent)]) > 0"
)]
#[case::call_in_equality("", "not count(object.absent) == 0")]
#[case::with_undefined("f(x) { x == 1 }", "not f(input.other) with input as {\"review\": 1}")]
fn gk_114_undefined_operand_fails_the_body(#[case] preamble: &str, #[case] statement: &str) {
    assert!(!fires(preamble, statement));
}

#[rstest]
#[case::reference("", "not object.absent")]
#[case::equality("", "not object.absent == \"a\"")]
#[case::unification("", "not object.absent = \"a\"")]
#[case::count_of_comprehension("", "not count([x | x := object.absent[_]]) > 0")]
#[case::with_defined_but_false(
    "f(x) { x == 1 }",
    "not f(input.other) with input as {\"other\": 2}"
)]
#[case::defined_operand("f(x) { x == 1 }", "not f(object.metadata.name)")]
#[case::local_variable("f(x) { x == 1 }", "x := 2; not f(x)")]
fn gk_114_undefined_reference_satisfies_the_negation(
    #[case] preamble: &str,
    #[case] statement: &str,
) {
    assert!(fires(preamble, statement));
}

#[test]
fn gk_114_braceless_negation_of_v1_is_rewritten() {
    let template = support::rego_v1_template(
        "package probe\n\nviolation contains {\"msg\": \"absent operand\"} if not f(input.review.object.absent)\n\nviolation contains {\"msg\": \"name\"} if not f(input.review.object.metadata.name)\n\nviolation contains {\"msg\": \"plain\"} if not input.review.object.absent\n\nf(x) if x == 1\n",
    );
    let client = support::client(&template);
    let violations = support::review(&client, pod("p"));
    assert_eq!(support::messages(&violations), ["name", "plain"]);
}

#[test]
fn wildcard_operand_of_a_negation_is_iterated_before_it() {
    let messages = messages_of(
        "package probe\nviolation[{\"msg\": \"some are not\"}] { not f(input.review.object.list[_]) }\nf(x) { x == 1 }",
        json!({"apiVersion": "v1", "kind": "X", "metadata": {"name": "x"}, "list": [1, 2]}),
    );
    assert_eq!(messages, ["some are not"]);
}
