//! Constraint templates that mean harm, one of each way that is known: all at once, beside an honest one whose violation is found.

use std::time::{Duration, Instant};

use reeve_gatekeeper::client::Cause;
use serde_json::json;

use crate::constraint_workers::{
    HONEST, cel, client, constraint, doubled, doubling_variables, rego, review, template,
};

/// The rule bodies of Rego templates. `s45` and `t45` are lists of 2^45 leaves that share their parts.
const RULES: &[&str] = &[
    "s45 == t45; msg := \"\"",
    "count({s45, t45}) == 3; msg := \"\"",
    "object.subset({\"a\": s45}, {\"a\": t45}); msg := \"\"",
    "walk(s45, [_, value]); value == \"no\"; msg := \"\"",
    "json.patch(s45, [{\"op\": \"add\", \"path\": \"/0/0\", \"value\": s45}]) == 1; msg := \"\"",
    "msg := json.marshal(s45)",
    "msg := yaml.marshal(s45)",
    "msg := sprintf(\"%v\", [s45])",
    "msg := base64.encode(json.marshal(s45))",
    "count(numbers.range(1, 1000000000000)) == 0; msg := \"\"",
    "r := numbers.range(1, 10000); count([1 | r[_] > 0; r[_] > 0]) == 0; msg := \"\"",
    "msg := sprintf(\"%v\", [numbers.range(1, 10000000)[_]])",
    "bits.lsh(1, 100000000000) == 0; msg := \"\"",
    "to_number(\"1e999999999\") % 7 == 1; msg := \"\"",
    "units.parse_bytes(\"1e999999999Ki\") == 1; msg := \"\"",
    "product([9999999999999999 | numbers.range(1, 100000)[_]]) == 1; msg := \"\"",
    "count(net.cidr_expand(\"::/0\")) == 1; msg := \"\"",
    "msg := sprintf(\"%1000000000d\", [1])",
    "msg := concat(\"\", [\"long text, long text\" | numbers.range(1, 1000000)[_]])",
    "text := concat(\"\", [\"[\" | numbers.range(1, 100000)[_]]); json.unmarshal(text); msg := \"\"",
    "regex.match(\"((a{1000}){1000}){100}\", \"a\"); msg := \"\"",
    "text := concat(\"\", [\"a\" | numbers.range(1, 30000)[_]]); glob.match(\"{{a,b}*,a}*{{a,b}*,a}*c\", [], text); msg := \"\"",
    "graph := {sprintf(\"%d\", [i]): [sprintf(\"%d\", [j]) | j := numbers.range(1, 60)[_]] | i := numbers.range(1, 60)[_]}
        count(graph.reachable_paths(graph, {\"1\"})) == 1; msg := \"\"",
];

/// The expressions of CEL templates. `variables.v30` and `variables.w30` are lists of 2^30 leaves that share their parts.
const EXPRESSIONS: &[&str] = &[
    "variables.v30 == variables.w30",
    "variables.v30 in [variables.w30]",
    "'%s'.format([variables.v30]) == ''",
    "variables.v30.flatten(30).size() == 0",
    "[variables.v30, variables.w30].distinct().size() == 0",
    "lists.range(1000000).all(a, lists.range(1000000).exists(b, true))",
    "lists.range(200000).map(a, object.metadata.name).join('text').size() == 0",
    "object.metadata.name.matches('((a{1000}){1000}){100}' + object.metadata.name)",
    "quantity('1e' + '9'.replace('9', '999999999')).isGreaterThan(quantity('1'))",
];

fn source(rule: &str) -> String {
    let doubled = doubled();
    format!("package hostile\n{doubled}\nviolation[{{\"msg\": msg}}] {{\n    {rule}\n}}")
}

#[test]
fn gk_136_no_hostile_template_hides_an_honest_violation() {
    let mut client = client();
    let rules = RULES.iter().map(|rule| json!({"rego": source(rule)}));
    let variables = doubling_variables();
    let expressions = EXPRESSIONS.iter().map(|one| cel(&variables, one));
    let hostile = rules.chain(expressions);
    let begin = Instant::now();
    let mut refused = Vec::new();
    for (number, target) in hostile.enumerate() {
        let kind = format!("Hostile{number}");
        match client.add_template(template(&kind, target)) {
            Ok(_) => drop(client.add_constraint(&constraint(&kind)).unwrap()),
            Err(error) => refused.push(error.message),
        }
    }
    client.add_template(rego("Honest", HONEST)).unwrap();
    client.add_constraint(&constraint("Honest")).unwrap();
    let violations = review(&client, "web");
    let (honest, hostile): (Vec<_>, Vec<_>) = violations
        .iter()
        .partition(|one| one.constraint.kind == "Honest");
    assert_eq!(honest[0].message, "web is forbidden");
    // Each was evaluated, refused or quarantined for what it did: none because something else had failed.
    assert!(refused.is_empty(), "{refused:?}");
    let unknown = hostile.iter().find(|one| one.cause == Cause::Overload);
    assert!(unknown.is_none(), "{unknown:?}");
    let again = Instant::now();
    assert_eq!(review(&client, "other").len(), violations.len());
    println!("all: {:?}, again: {:?}", begin.elapsed(), again.elapsed());
    // Alone, each of them takes gigabytes or hours.
    assert!(begin.elapsed() < Duration::from_mins(5));
}
