//! Predicates: PLC-33 to PLC-43.

use std::sync::Arc;

use reeve_api::ocm::ManagedCluster;
use reeve_apiserver::cel::Limits;
use rstest::rstest;
use serde_json::{Value, json};

use super::super::schedule::cel::{Expressions, LIMITS, Subject};
use super::super::schedule::{Scores, Verdict};
use super::fixture::{Case, chosen, cluster, labelled, score};

fn predicate(selector: Value) -> Value {
    json!({"predicates": [{"requiredClusterSelector": selector}]})
}

fn cel(expressions: &[&str]) -> Value {
    json!({"celSelector": {"celExpressions": expressions}})
}

fn clouds() -> Vec<Arc<ManagedCluster>> {
    vec![
        labelled("c1", json!({"cloud": "Amazon"})),
        labelled("c2", json!({"cloud": "Google"})),
    ]
}

fn claiming(name: &str, labels: Value, claims: Value) -> Arc<ManagedCluster> {
    cluster(
        name,
        json!({"metadata": {"labels": labels}, "status": {"clusterClaims": claims}}),
    )
}

fn claimed() -> Vec<Arc<ManagedCluster>> {
    let of = |cloud: &str| json!([{"name": "cloud", "value": cloud}]);
    vec![
        claiming("c1", json!({"region": "us"}), of("Amazon")),
        claiming("c2", json!({"region": "eu"}), of("Amazon")),
        claiming("c3", json!({"region": "us"}), of("Google")),
    ]
}

fn by_claim(cloud: &str) -> Value {
    json!({"matchExpressions": [{"key": "cloud", "operator": "In", "values": [cloud]}]})
}

#[rstest]
#[case::plc_33_label(json!({"labelSelector": {"matchLabels": {"region": "us"}}}), &["c1", "c3"])]
#[case::plc_33_claim(json!({"claimSelector": by_claim("Amazon")}), &["c1", "c2"])]
#[case::plc_33_both(
    json!({"labelSelector": {"matchLabels": {"region": "us"}}, "claimSelector": by_claim("Amazon")}), &["c1"]
)]
#[case::plc_33_cel_label(cel(&["managedCluster.metadata.labels['region'] == 'us'"]), &["c1", "c3"])]
#[case::plc_33_cel_claim(
    cel(&["managedCluster.status.clusterClaims.exists(c, c.name == 'cloud' && c.value == 'Google')"]), &["c3"]
)]
#[case::plc_33_two_expressions(
    cel(&["managedCluster.metadata.labels.region == 'us'",
          "managedCluster.status.clusterClaims.exists(c, c.value == 'Amazon')"]), &["c1"]
)]
#[case::plc_33_cel_and_label(
    json!({"labelSelector": {"matchLabels": {"region": "us"}},
           "celSelector": {"celExpressions": ["managedCluster.metadata.name == 'c3'"]}}), &["c3"]
)]
#[case::plc_33_no_expressions(cel(&[]), &["c1", "c2", "c3"])]
#[case::plc_33_label_matches(json!({"labelSelector": {"matchLabels": {"region": "eu"}}}), &["c2"])]
#[case::plc_33_label_does_not(json!({"labelSelector": {"matchLabels": {"region": "cn"}}}), &[])]
#[case::plc_33_claim_matches(json!({"claimSelector": by_claim("Google")}), &["c3"])]
#[case::plc_33_claim_does_not(json!({"claimSelector": by_claim("Azure")}), &[])]
#[case::plc_33_both_match(
    json!({"labelSelector": {"matchLabels": {"region": "us"}}, "claimSelector": by_claim("Google")}), &["c3"]
)]
#[case::plc_33_one_does_not(
    json!({"labelSelector": {"matchLabels": {"region": "eu"}}, "claimSelector": by_claim("Google")}), &[]
)]
#[case::plc_33_cel_matches(cel(&["managedCluster.metadata.name == 'c1'"]), &["c1"])]
#[case::plc_33_cel_does_not(cel(&["managedCluster.metadata.name == 'c9'"]), &[])]
#[case::plc_33_cel_and_label_match(
    json!({"labelSelector": {"matchLabels": {"region": "eu"}},
           "celSelector": {"celExpressions": ["managedCluster.metadata.name == 'c2'"]}}), &["c2"]
)]
#[case::plc_33_cel_and_label_do_not(
    json!({"labelSelector": {"matchLabels": {"region": "eu"}},
           "celSelector": {"celExpressions": ["managedCluster.metadata.name == 'c1'"]}}), &[]
)]
#[case::not_in_matches_cluster_without_label(
    json!({"labelSelector": {"matchExpressions": [{"key": "zone", "operator": "NotIn", "values": ["a"]}]}}),
    &["c1", "c2", "c3"]
)]
fn selectors_match_expected_clusters(#[case] selector: Value, #[case] expected: &[&str]) {
    let schedule = Case::new(predicate(selector), claimed()).run();
    assert_eq!(schedule.verdict, Verdict::Success);
    assert_eq!(chosen(&schedule), expected);
}

#[test]
fn plc_33_cluster_matches_one_of_two_predicates() {
    let clusters = vec![
        labelled("c1", json!({"cloud": "Amazon"})),
        claiming(
            "c2",
            json!({}),
            json!([{"name": "cloud", "value": "Amazon"}]),
        ),
        labelled("c3", json!({"cloud": "Google"})),
    ];
    let spec = json!({"predicates": [
        {"requiredClusterSelector": {"labelSelector": {"matchLabels": {"cloud": "Amazon"}}}},
        {"requiredClusterSelector": {"claimSelector": by_claim("Amazon")}},
    ]});
    assert_eq!(chosen(&Case::new(spec, clusters).run()), ["c1", "c2"]);
}

#[test]
fn plc_38_expressions_read_scores() {
    let expression =
        "managedCluster.scores('test-addon').filter(s, s.name == 'cpu').all(s, s.value > 80)";
    let scores = vec![
        score("c1", "test-addon", &[("cpu", 90), ("memory", 1)], None),
        score("c2", "test-addon", &[("cpu", 70)], None),
    ];
    let mut clusters = clouds();
    // An expression that reads an absent score fails, and so does not match.
    clusters.push(labelled("c3", json!({})));
    let schedule = Case::new(predicate(cel(&[expression])), clusters)
        .scored(scores)
        .run();
    assert_eq!(chosen(&schedule), ["c1"]);
}

#[rstest]
#[case::plc_39_unknown_variable("invalid.expression", "undeclared reference to 'invalid'")]
#[case::plc_39_unknown_function("nothing(managedCluster)", "undeclared reference to 'nothing'")]
#[case::plc_39_syntax("managedCluster.metadata.name ==", "Syntax error")]
#[case::message_of_syntax_error("Cluster{name: 'a'}", "struct literals")]
fn invalid_expression_is_rejected_with_message(#[case] expression: &str, #[case] issue: &str) {
    let schedule = Case::new(predicate(cel(&[expression])), clouds()).run();
    let Verdict::Misconfigured(plugin_status) = &schedule.verdict else {
        panic!("{:?}", schedule.verdict)
    };
    assert_eq!(plugin_status.plugin, "Predicate");
    assert!(
        plugin_status.message.starts_with("compilation failed: "),
        "{}",
        plugin_status.message
    );
    assert!(
        plugin_status.message.contains(issue),
        "{}",
        plugin_status.message
    );
    assert!(schedule.selected.is_empty() && schedule.filters.is_empty());
}

#[test]
fn plc_34_claims_are_found_by_name() {
    let of = |claims: Value| claiming("c1", json!({}), claims).claims();
    let one = of(json!([{"name": "a", "value": "1"}]));
    assert_eq!(one, [("a".to_owned(), "1".to_owned())].into());
    assert!(of(json!([])).is_empty());
    let twice = of(json!([{"name": "a", "value": "1"}, {"name": "a", "value": "2"}]));
    assert_eq!(twice["a"], "2");
}

fn holds(expressions: &[&str], limits: Limits) -> Result<bool, String> {
    let texts: Vec<String> = expressions.iter().map(|text| (*text).to_owned()).collect();
    let subject = cluster(
        "c1",
        json!({
            "metadata": {"labels": {"version": "1.14.3"}},
            "status": {"clusterClaims": [{"name": "json", "value": "{\"nodes\": 3}"}], "version": {"kubernetes": "v1.30.1"}},
        }),
    );
    let compiled = Expressions::compile(&texts, &Arc::new(Scores::new()))?;
    Ok(compiled.hold(&Subject::of(&subject), limits))
}

#[rstest]
#[case::plc_37_equal_label("managedCluster.metadata.labels['version'] == '1.14.3'", true)]
#[case::plc_37_other_label("managedCluster.metadata.labels['version'] == '1.14.4'", false)]
#[case::plc_37_semver_is_less(
    "semver(managedCluster.metadata.labels['version']).isLessThan(semver('1.20.0'))",
    true
)]
#[case::plc_37_semver_is_not_greater(
    "semver(managedCluster.metadata.labels['version']).isGreaterThan(semver('1.20.0'))",
    false
)]
#[case::missing_field("managedCluster.metadata.labels['none'] == ''", false)]
#[case::result_is_not_boolean("managedCluster.metadata.name", false)]
#[case::parsed_json(
    "managedCluster.status.clusterClaims[0].value.parseJSON().nodes == 3",
    true
)]
#[case::invalid_json("managedCluster.metadata.name.parseJSON().nodes == 3", false)]
#[case::quantities("quantity('2Gi').isGreaterThan(quantity('500Mi'))", true)]
#[case::optional_field("managedCluster.metadata.?annotations.?none.orValue('x') == 'x'", true)]
#[case::fields_without_value_are_present("managedCluster.spec.hubAcceptsClient == false", true)]
#[case::has_macro("has(managedCluster.spec.taints)", false)]
#[case::string_functions(
    "managedCluster.status.version.kubernetes.replace('v', '').startsWith('1.30')",
    true
)]
#[case::list_functions("[1, 2, 3].map(x, x * 2).filter(x, x > 2) == [4, 6]", true)]
fn expression_matches_cluster(#[case] expression: &str, #[case] expected: bool) {
    assert_eq!(holds(&[expression], LIMITS), Ok(expected), "{expression}");
}

#[test]
fn plc_43_exceeded_budget_does_not_match() {
    let of = |total| Limits { total, ..LIMITS };
    let turns = "[1, 2, 3, 4].all(x, x > 0)";
    assert_eq!(holds(&[turns, turns], of(1_000)), Ok(true));
    assert_eq!(holds(&[turns, turns], of(10)), Ok(false));
    // Not even where the expression would ignore the error.
    assert_eq!(
        holds(&["[1, 2, 3, 4].all(x, x > 0) || true", "true"], of(3)),
        Ok(false)
    );
}

#[test]
fn plc_41_no_expressions_or_no_clusters() {
    assert_eq!(holds(&[], LIMITS), Ok(true));
    let texts = ["managedCluster.metadata.labels['a'] == 'b'".to_owned()];
    let compiled = Expressions::compile(&texts, &Arc::new(Scores::new())).unwrap();
    assert!(!compiled.hold(&Subject::of(&cluster("", json!({}))), LIMITS));
}

#[rstest]
#[case::nested_loops(
    "lists.range(5000).all(a, lists.range(5000).all(b, lists.range(5000).all(c, a + b + c >= 0)))"
)]
#[case::nested_lists(
    "[0].map(a, [a,a,a,a,a,a,a,a,a,a]).map(a, [a,a,a,a,a,a,a,a,a,a]).map(a, [a,a,a,a,a,a,a,a,a,a])\
     .map(a, [a,a,a,a,a,a,a,a,a,a]).map(a, [a,a,a,a,a,a,a,a,a,a]).map(a, [a,a,a,a,a,a,a,a,a,a]).size() > 0"
)]
#[case::growing_strings(
    "'aaaaaaaaaa'.replace('a','aaaaaaaaaa').replace('a','aaaaaaaaaa').replace('a','aaaaaaaaaa')\
     .replace('a','aaaaaaaaaa').replace('a','aaaaaaaaaa').replace('a','aaaaaaaaaa').replace('a','aaaaaaaaaa').size() > 0"
)]
#[case::long_ranges("lists.range(1000000000000).size() > 0")]
fn expensive_expression_ends_without_match(#[case] expression: &str) {
    let started = std::time::Instant::now();
    assert_eq!(holds(&[expression], LIMITS), Ok(false));
    let took = started.elapsed();
    assert!(took < std::time::Duration::from_secs(10), "{took:?}");
}

#[test]
fn expression_that_is_too_deep_or_too_long_is_rejected() {
    let deep = format!("{}true", "1 + ".repeat(1_500));
    assert!(
        holds(&[&deep], LIMITS)
            .unwrap_err()
            .contains("recursion limit")
    );
    let nested = format!("{}true{}", "(".repeat(3_000), ")".repeat(3_000));
    assert!(holds(&[&nested], LIMITS).is_err());
    let long = format!("'{}' == ''", "a".repeat(9_000));
    assert!(
        holds(&[&long], LIMITS)
            .unwrap_err()
            .contains("exceeds limit")
    );
}

#[test]
fn expression_of_greatest_depth_is_evaluated() {
    let sum = format!("{}1 > 0", "1 + ".repeat(150));
    let schedule = Case::new(predicate(cel(&[&sum])), clouds()).run();
    assert_eq!(chosen(&schedule), ["c1", "c2"]);
}

#[rstest]
#[case(json!({"key": "a", "operator": "In"}), "values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty")]
#[case(json!({"key": "a", "operator": "Exists", "values": ["x"]}),
    "values: Invalid value: [\"x\"]: values set must be empty for exists and does not exist")]
#[case(json!({"key": "a", "operator": "Gte"}), "\"Gte\" is not a valid label selector operator")]
fn invalid_requirements_are_rejected(#[case] requirement: Value, #[case] message: &str) {
    let selector = json!({"claimSelector": {"matchExpressions": [requirement]}});
    let schedule = Case::new(predicate(selector), clouds()).run();
    assert_eq!(
        schedule.verdict,
        Verdict::misconfigured("Predicate", message)
    );
}

#[test]
fn several_errors_of_one_requirement_are_reported() {
    let selector = json!({"labelSelector": {"matchExpressions": [{"key": "a b", "operator": "In", "values": ["-"]}]}});
    let schedule = Case::new(predicate(selector), clouds()).run();
    let Verdict::Misconfigured(plugin_status) = &schedule.verdict else {
        panic!("{:?}", schedule.verdict)
    };
    let start = "[key: Invalid value: \"a b\": name part must consist of";
    assert!(
        plugin_status.message.starts_with(start),
        "{}",
        plugin_status.message
    );
    assert!(
        plugin_status
            .message
            .contains(", values[0][a b]: Invalid value: \"-\": a valid label must be")
    );
    assert!(plugin_status.message.ends_with(']'));
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(200))]

    #[test]
    fn arbitrary_text_does_not_panic(
        text in "(managedCluster|metadata|[a-z\\[\\]\\(\\)\\{\\}.,:?!&|<>=+*/%'\"0-9 -]){0,40}",
    ) {
        let _ = holds(&[&text], LIMITS);
    }
}
