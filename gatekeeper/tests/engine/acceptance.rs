//! The acceptance cases of constraints in process.

use crate::support;
use std::time::{Duration, Instant};

use crate::support::{
    client, constraint, load, load_with, messages, messages_of, pod, rego_template, review,
};
use reeve_gatekeeper::audit::{Auditor, ConstraintAudit, Resource};
use reeve_gatekeeper::client::{Cause, Client, Engines, Options};
use reeve_gatekeeper::enforcement::EnforcementPoint;
use reeve_gatekeeper::matching::Source;
use reeve_gatekeeper::rego::Limits;
use reeve_gatekeeper::review::Review;
use reeve_gatekeeper::template::ConstraintTemplate;
use rstest::rstest;
use serde_json::json;

const NAMED: &str = "package probe\nviolation[{\"msg\": msg}] { msg := sprintf(\"%v is here\", [input.review.object.metadata.name]) }";

fn both_engines() -> serde_json::Value {
    support::template_of(json!({"code": [
        {"engine": "Rego", "source": {"rego": "package probe\nviolation[{\"msg\": \"from Rego\"}] { true }"}},
        {"engine": "K8sNativeValidation", "source": {"validations": [{"expression": "false", "message": "from CEL"}]}},
    ]}))
}

#[rstest]
#[case::cel_first(Engines::CelFirst, "from CEL")]
#[case::rego_only(Engines::RegoOnly, "from Rego")]
fn gk_102_one_engine_evaluates_a_template_with_both(
    #[case] engines: Engines,
    #[case] expected: &str,
) {
    let options = Options {
        engines,
        ..Options::default()
    };
    let mut client = load_with(&both_engines(), options).unwrap();
    client
        .add_constraint(&constraint("probe", json!({})))
        .unwrap();
    assert_eq!(messages(&review(&client, pod("p"))), [expected]);
}

#[rstest]
#[case::singular("matchCondition", 0)]
#[case::plural("matchConditions", 1)]
fn gk_125_only_the_singular_of_match_conditions_counts(#[case] key: &str, #[case] expected: usize) {
    let template = support::template_of(
        json!({"code": [{"engine": "K8sNativeValidation", "source": {
            key: [{"name": "never", "expression": "false"}],
            "validations": [{"expression": "false", "message": "m"}],
        }}]}),
    );
    assert_eq!(review(&client(&template), pod("p")).len(), expected);
}

#[test]
fn gk_102_template_without_an_engine_is_refused() {
    let template = support::template_of(json!({"code": [{"engine": "Other", "source": {}}]}));
    let error = load(&template).unwrap_err();
    assert!(
        error.message.starts_with("no language driver is installed"),
        "{error}"
    );
}

#[test]
fn replaced_template_keeps_the_constraints_that_are_still_valid() {
    let mut client = client(&rego_template(NAMED));
    let mut other = rego_template("package probe\nviolation[{\"msg\": \"other\"}] { true }");
    client
        .add_template(ConstraintTemplate::parse(&other).unwrap())
        .unwrap();
    assert_eq!(messages(&review(&client, pod("p"))), ["other"]);
    other["spec"]["targets"][0]["rego"] = json!("package probe");
    assert!(
        client
            .add_template(ConstraintTemplate::parse(&other).unwrap())
            .is_err()
    );
    assert_eq!(messages(&review(&client, pod("p"))), ["other"]);
    assert!(client.remove_template("Probe"));
    assert!(review(&client, pod("p")).is_empty());
}

#[test]
fn gk_102_legacy_rego_wins_over_code() {
    let template = support::template_of(json!({
        "rego": "package probe\nviolation[{\"msg\": \"legacy\"}] { true }",
        "code": [{"engine": "Rego", "source": {"rego": "package probe\nviolation[{\"msg\": \"code\"}] { true }"}}],
    }));
    assert_eq!(messages(&review(&client(&template), pod("p"))), ["legacy"]);
}

#[test]
fn gk_109_unknown_namespace_auto_rejects_with_the_constraints_action() {
    let mut client = load(&rego_template(NAMED)).unwrap();
    let spec = json!({"enforcementAction": "warn", "match": {"namespaceSelector": {"matchLabels": {"a": "b"}}}});
    client.add_constraint(&constraint("probe", spec)).unwrap();
    let violations = review(&client, pod("p"));
    assert_eq!(
        messages(&violations),
        [
            "unable to match constraints: error matching the requested object: p :failed to run Match criteria: namespace selector for namespace-scoped object but missing Namespace"
        ]
    );
    assert_eq!(violations[0].enforcement_action, "warn");
    assert_eq!(violations[0].cause, Cause::MatchError);
    client.set_namespace(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default", "labels": {"a": "b"}}}));
    assert_eq!(messages(&review(&client, pod("p"))), ["p is here"]);
}

#[test]
fn gk_108_defaults_fill_parameters_but_do_not_make_them() {
    let mut template = rego_template(
        "package probe\nviolation[{\"msg\": msg}] { msg := sprintf(\"%v\", [input.parameters]) }",
    );
    template["spec"]["crd"]["spec"]["validation"]["openAPIV3Schema"] = json!({
        "type": "object",
        "properties": {"a": {"type": "string", "default": "x"}},
    });
    let mut client = load(&template).unwrap();
    client
        .add_constraint(&constraint("absent", json!({})))
        .unwrap();
    client
        .add_constraint(&constraint("empty", json!({"parameters": {}})))
        .unwrap();
    assert_eq!(
        messages(&review(&client, pod("p"))),
        ["{\"a\": \"x\"}", "{}"]
    );
}

#[test]
fn gk_104_conflict_is_an_error_of_each_constraint() {
    let mut client = load(&rego_template(
        "package probe\nviolation[{\"msg\": value}] { value }\nvalue = 1 { true }\nvalue = 2 { true }\n",
    ))
    .unwrap();
    client.add_constraint(&constraint("a", json!({}))).unwrap();
    client.add_constraint(&constraint("b", json!({}))).unwrap();
    let violations = review(&client, pod("p"));
    assert_eq!(violations.len(), 2);
    for violation in &violations {
        assert_eq!(
            violation.message,
            "template:4: eval_conflict_error: complete rules must not produce multiple outputs"
        );
        assert_eq!(violation.cause, Cause::EvaluationError);
        assert_eq!(violation.details, json!(null));
    }
}

#[test]
fn gk_104_message_that_is_no_text_is_an_error_of_its_constraint_only() {
    let mut client = load(&rego_template(
        "package probe\nviolation[{\"msg\": msg}] { msg := input.parameters.msg }",
    ))
    .unwrap();
    client
        .add_constraint(&constraint("number", json!({"parameters": {"msg": 5}})))
        .unwrap();
    client
        .add_constraint(&constraint("text", json!({"parameters": {"msg": "t"}})))
        .unwrap();
    let violations = review(&client, pod("p"));
    assert_eq!(
        messages(&violations),
        [
            ".msg accessor error: 5 is of the type json.Number, expected string",
            "t"
        ]
    );
}

fn audited(count: usize, message: &str, limit: usize) -> serde_json::Value {
    let client = client(&rego_template(&format!(
        "package probe\nviolation[{{\"msg\": \"{message}\"}}] {{ true }}"
    )));
    let mut audit = ConstraintAudit::new(limit);
    for index in 0..count {
        let object = pod(&format!("p{index:02}"));
        let resource = Resource::of(&object);
        for violation in review(&client, object) {
            audit.add(&resource, &violation);
        }
    }
    let auditor = Auditor {
        id: "pod-1".into(),
        constraint_uid: "u".into(),
        observed_generation: 3,
    };
    audit.status("2026-01-02T03:04:05Z", &auditor)
}

#[test]
fn gk_117_smallest_twenty_are_listed_in_descending_order() {
    let status = audited(25, "m", 20);
    assert_eq!(status["totalViolations"], 25);
    let names: Vec<String> = status["violations"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["name"].as_str().unwrap().to_owned())
        .collect();
    let expected: Vec<String> = (0..20).rev().map(|index| format!("p{index:02}")).collect();
    assert_eq!(names, expected);
}

#[test]
fn gk_117_limit_of_zero_counts_without_a_list() {
    let status = audited(3, "m", 0);
    assert_eq!(status["totalViolations"], 3);
    assert!(status.get("violations").is_none());
}

#[test]
fn gk_117_long_message_is_cut_between_characters() {
    let status = audited(1, &"x".repeat(300), 20);
    let message = status["violations"][0]["message"]
        .as_str()
        .unwrap()
        .to_owned();
    assert_eq!(message, format!("{}...", "x".repeat(253)));
    let status = audited(1, &"ä".repeat(150), 20);
    let message = status["violations"][0]["message"]
        .as_str()
        .unwrap()
        .to_owned();
    assert_eq!(message, format!("{}...", "ä".repeat(126)));
}

#[test]
fn gk_117_status_without_violations_has_a_total_and_no_list() {
    assert_eq!(
        audited(0, "m", 20).to_string(),
        r#"{"auditTimestamp":"2026-01-02T03:04:05Z","byPod":[{"constraintUID":"u","enforced":true,"id":"pod-1","observedGeneration":3,"operations":["audit","status"]}],"totalViolations":0}"#
    );
}

#[test]
fn status_of_one_violation_is_that_of_upstream() {
    let status = audited(1, "m", 20);
    assert_eq!(
        status["violations"].to_string(),
        r#"[{"enforcementAction":"deny","group":"","kind":"Pod","message":"m","name":"p00","namespace":"default","version":"v1"}]"#
    );
}

#[rstest]
#[case::itself("f(x) { f(x) }")]
#[case::others("f(x) { g(x) }\ng(x) { h(x) }\nh(x) { f(x) }")]
#[case::rules("a { b }\nb { a }\nf(x) { a }")]
#[case::set("f(x) { a[x] }\na[x] { x := 1; a[2] }")]
#[case::in_comprehension("f(x) { count([1 | f(x)]) == 1 }")]
#[case::in_negation("f(x) { not f(x) }")]
#[case::through_the_entry("f(x) { violation[x] }")]
fn gk_103_recursion_is_refused_at_load(#[case] rules: &str) {
    let rego = format!("package probe\nviolation[{{\"msg\": \"m\"}}] {{ f(1) }}\n{rules}");
    let error = load(&rego_template(&rego)).unwrap_err();
    assert!(
        error
            .message
            .contains("rego_recursion_error: rule data.template."),
        "{error}"
    );
}

#[test]
fn gk_103_recursion_through_libs_is_refused() {
    let template = support::template_of(json!({
        "rego": "package probe\nimport data.lib.a\nviolation[{\"msg\": \"m\"}] { a.f(1) }",
        "libs": ["package lib.a\nimport data.lib.b\nf(x) { b.g(x) }", "package lib.b\ng(x) { data.lib.a.f(x) }"],
    }));
    let error = load(&template).unwrap_err();
    assert_eq!(
        error.message,
        "unable to compile modules: 2 errors occurred:\nlibs[\"lib_0\"]:3: rego_recursion_error: rule data.libs.lib.a.f is recursive: data.libs.lib.a.f -> data.libs.lib.b.g -> data.libs.lib.a.f\nlibs[\"lib_1\"]:2: rego_recursion_error: rule data.libs.lib.b.g is recursive: data.libs.lib.b.g -> data.libs.lib.a.f -> data.libs.lib.b.g"
    );
}

#[test]
fn local_variable_with_the_name_of_a_rule_is_no_recursion() {
    let messages = messages_of(
        "package probe\nviolation[{\"msg\": msg}] { container := input.review.object.spec.containers[_]; msg := name(container) }\nname(container) = out { out := container.name }\ncontainer { name({\"name\": 1}) }",
        pod("p"),
    );
    assert_eq!(messages, ["main"]);
}

#[rstest]
#[case::reference("", "data.secret.x == 1", "disallowed ref data.secret.x")]
#[case::negated("", "not data.foo.bar", "disallowed ref data.foo.bar")]
#[case::import("import data.foo", "foo.x", "bad import: \"data.foo\"")]
#[case::function(
    "",
    "nothing(1)",
    "template:3: rego_type_error: undefined function nothing"
)]
#[case::network("", "http.send({})", "undefined function http.send")]
#[case::arity(
    "",
    "startswith(\"a\")",
    "startswith: arity mismatch: have 1 arguments, want 2"
)]
#[case::variable("", "x == unknown", "rego_unsafe_var_error")]
#[case::syntax("", "x := ", "rego_parse_error")]
fn gk_103_source_that_the_compiler_refuses_is_refused_at_load(
    #[case] import: &str,
    #[case] statement: &str,
    #[case] expected: &str,
) {
    let rego = format!("package probe\n{import}\nviolation[{{\"msg\": \"m\"}}] {{ {statement} }}");
    let error = load(&rego_template(&rego)).unwrap_err();
    assert!(error.message.contains(expected), "{error}");
    assert_eq!(error.code.as_str(), "ingest_error");
}

#[test]
fn template_without_violation_is_refused() {
    let error = load(&rego_template("package probe\ndeny { true }")).unwrap_err();
    assert!(
        error
            .message
            .contains("missing required rules: [violation]"),
        "{error}"
    );
}

#[test]
fn lib_outside_of_the_package_lib_is_refused() {
    let template = support::template_of(json!({
        "rego": "package probe\nviolation[{\"msg\": \"m\"}] { true }",
        "libs": ["package other\nx = 1"],
    }));
    let error = load(&template).unwrap_err();
    assert!(
        error
            .message
            .contains("invalid lib prefix: path data.other not found"),
        "{error}"
    );
}

#[test]
fn gk_122_long_evaluation_is_stopped_and_others_are_not_affected() {
    let limits = Limits {
        time: Duration::from_millis(500),
        ..Limits::default()
    };
    let options = Options {
        limits,
        ..Options::default()
    };
    let slow = rego_template(
        "package probe\nviolation[{\"msg\": \"m\"}] { input.parameters.slow; r := numbers.range(1, 10000); count([1 | r[_]; r[_]]) == 0 }\nviolation[{\"msg\": \"quick\"}] { not input.parameters.slow }",
    );
    let mut client = load_with(&slow, options).unwrap();
    client
        .add_constraint(&constraint("slow", json!({"parameters": {"slow": true}})))
        .unwrap();
    client
        .add_constraint(&constraint("quick", json!({})))
        .unwrap();
    let begin = Instant::now();
    let violations = review(&client, pod("p"));
    assert!(begin.elapsed() < Duration::from_mins(5));
    assert_eq!(
        messages(&violations),
        [
            "quick",
            "the evaluation was stopped after 500 ms, its limit"
        ]
    );
    assert_eq!(violations[1].cause, Cause::TimeLimit);
}

#[test]
fn gk_113_violations_are_ordered_by_action_and_message() {
    let mut client = load(&rego_template(
        "package probe\nviolation[{\"msg\": msg}] { msg := input.parameters.msgs[_] }",
    ))
    .unwrap();
    for (name, action, texts) in [
        ("a", "warn", json!(["b", "a"])),
        ("b", "deny", json!(["z", "c"])),
        ("c", "dryrun", json!(["k"])),
    ] {
        let spec = json!({"enforcementAction": action, "parameters": {"msgs": texts}});
        client.add_constraint(&constraint(name, spec)).unwrap();
    }
    assert_eq!(
        messages(&review(&client, pod("p"))),
        ["c", "z", "k", "a", "b"]
    );
}

#[test]
fn gk_104_equal_results_are_one_and_details_tell_them_apart() {
    let client = client(&rego_template(
        "package probe\nviolation[{\"msg\": \"m\", \"details\": {\"n\": n}}] { n := [1, 2][_] }\nviolation[{\"msg\": \"m\", \"details\": {\"n\": 1}, \"other\": true}] { true }\nviolation[{\"details\": {}}] { true }",
    ));
    let violations = review(&client, pod("p"));
    assert_eq!(violations.len(), 2);
    assert_eq!(violations[0].details, json!({"n": 1}));
}

#[test]
fn gk_112_inventory_reaches_referential_templates_and_changes_with_it() {
    let mut client = client(&rego_template(
        "package probe\nviolation[{\"msg\": msg}] { other := data.inventory.namespace[ns][\"v1\"][\"Pod\"][name]; msg := sprintf(\"%v/%v\", [ns, name]) }\nviolation[{\"msg\": msg}] { data.inventory.cluster[\"v1\"].Namespace[name]; msg := name }",
    ));
    assert!(client.is_referential("Probe"));
    assert!(review(&client, pod("p")).is_empty());
    client.set_object(&pod("q"));
    client
        .set_object(&json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ns"}}));
    assert_eq!(messages(&review(&client, pod("p"))), ["default/q", "ns"]);
    let key = reeve_gatekeeper::inventory::InventoryKey::of(&pod("q")).unwrap();
    assert!(client.remove_object(&key));
    assert_eq!(messages(&review(&client, pod("p"))), ["ns"]);
}

#[test]
fn gk_111_audit_document_has_the_keys_of_upstream() {
    let client = client(&rego_template(
        "package probe\nviolation[{\"msg\": msg}] { keys := sort([key | input.review[key]]); msg := sprintf(\"%v %v\", [concat(\",\", [k | k := keys[_]]), input.review.operation]) }",
    ));
    assert_eq!(
        messages(&review(&client, pod("p"))),
        [
            "kind,name,namespace,namespaceObject,object,oldObject,operation,options,resource,uid,userInfo "
        ]
    );
}

#[test]
fn gk_111_deletion_shows_the_old_object_and_needs_it() {
    let admission = |old: serde_json::Value| {
        json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
            "uid": "1", "operation": "DELETE", "kind": {"group": "", "version": "v1", "kind": "Pod"},
            "name": "p", "namespace": "default", "object": null, "oldObject": old,
        }})
    };
    let client = client(&rego_template(NAMED));
    let review = Review::of(admission(pod("p"))).unwrap();
    let violations = client.review(&review, EnforcementPoint::Webhook);
    assert_eq!(messages(&violations), ["p is here"]);
    let error = Review::of(admission(json!(null))).unwrap_err();
    assert_eq!(
        error.to_string(),
        "oldObject cannot be nil for DELETE operations"
    );
}

#[test]
fn gk_110_scoped_constraint_is_evaluated_only_at_its_points() {
    let mut client = load(&rego_template(NAMED)).unwrap();
    let spec = json!({
        "enforcementAction": "scoped",
        "scopedEnforcementActions": [{"action": "warn", "enforcementPoints": [{"name": "audit.gatekeeper.sh"}]}],
    });
    client.add_constraint(&constraint("probe", spec)).unwrap();
    let review = Review::of(pod("p")).unwrap().with_source(Source::Original);
    assert!(client.review(&review, EnforcementPoint::Gator).is_empty());
    let violations = client.review(&review, EnforcementPoint::Audit);
    assert_eq!(violations[0].enforcement_action, "scoped");
    assert_eq!(violations[0].scoped_actions, ["warn"]);
}

#[test]
fn prints_are_left_out() {
    let messages = messages_of(
        "package probe\nviolation[{\"msg\": \"m\"}] { print(input.review.object.absent, \"x\"); print() }",
        pod("p"),
    );
    assert_eq!(messages, ["m"]);
}

#[test]
fn gk_103_if_without_its_import_is_refused() {
    let error = load(&rego_template(
        "package probe\nviolation[{\"msg\": \"m\"}] if { true }",
    ))
    .unwrap_err();
    assert!(
        error.message.contains("template:2: rego_parse_error: `if`"),
        "{error}"
    );
    let messages = messages_of(
        "package probe\nviolation[{\"msg\": \"m\"}] { not input.review.object.if }",
        pod("p"),
    );
    assert_eq!(messages, ["m"]);
}

#[test]
fn client_and_review_are_shared_by_threads() {
    fn is_shared<T: Send + Sync>() {}
    is_shared::<Client>();
    is_shared::<Review>();
    let client = client(&rego_template(NAMED));
    std::thread::scope(|scope| {
        for index in 0..4 {
            let client = &client;
            scope.spawn(move || {
                let name = format!("p{index}");
                let violations = review(client, pod(&name));
                assert_eq!(messages(&violations), [format!("{name} is here")]);
            });
        }
    });
}
