//! What no oracle answers: limits, and hostile expressions.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use serde_json::json;

use super::{Input, Program};
use crate::Json;

/// What other programs take of a busy machine does not count.
fn thread_cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::try_from(time).unwrap()
}

fn messages(source: &Json, object: &Json) -> Vec<String> {
    let program = Program::compile(source).unwrap();
    program.evaluate(&Input {
        object: Some(object),
        old_object: None,
        request: &json!({}),
        namespace_object: None,
        parameters: None,
        constraint: &json!({}),
    })
}

fn validation(expression: &str) -> Json {
    json!({"validations": [{"expression": expression, "message": "not so"}]})
}

fn error(expression: &str) -> String {
    let error = Program::compile(&validation(expression)).unwrap_err();
    error.to_string()
}

#[test]
fn expensive_expression_is_stopped() {
    let list: Vec<i64> = (0..20_000).collect();
    let object = json!({"list": list, "text": "a".repeat(10_000)});
    let begun = thread_cpu_time();
    for expression in [
        "object.list.all(a, object.list.all(b, a + b >= 0))",
        "object.list.map(a, object.text).join('').size() == 0",
        "object.list.map(a, object.list.map(b, object.list)).size() == 0",
        "object.text.replace('', object.text).size() == 0",
        "lists.range(900000).map(a, 'abcdefgh'.split('')).size() == 0",
        "lists.range(9000000000).size() == 0",
        "sets.equivalent(object.list, object.list)",
        "object.list.distinct().size() == 0",
        "object.list.exists(a, object.list.exists(b, a + b == 'x'))",
        "'%.900f'.format([1.5]).size() == 0 || object.list.map(a, '%.900f'.format([1.5])).size() == 0",
    ] {
        let found = messages(&validation(expression), &object);
        let expected = format!(
            "expression '{expression}' resulted in error: operation cancelled: actual cost limit exceeded"
        );
        assert_eq!(found, [expected]);
    }
    assert!(thread_cpu_time() < begun + Duration::from_mins(1));
}

#[test]
fn many_expensive_expressions_share_a_budget() {
    let list: Vec<i64> = (0..20_000).collect();
    let one = json!({"expression": "object.list.all(a, object.list.all(b, a + b >= 0))"});
    let source = json!({"validations": vec![one; 500]});
    let begun = thread_cpu_time();
    assert_eq!(messages(&source, &json!({"list": list})).len(), 500);
    assert!(thread_cpu_time() < begun + Duration::from_mins(1));
}

#[test]
fn doubling_variables_are_stopped() {
    let mut variables = vec![json!({"name": "v0", "expression": "'abcdefgh'"})];
    for level in 1..40 {
        let before = level - 1;
        let expression = format!("variables.v{before} + variables.v{before}");
        variables.push(json!({"name": format!("v{level}"), "expression": expression}));
    }
    let source = json!({
        "variables": variables,
        "validations": [{"expression": "variables.v39 == ''"}],
    });
    let found = messages(&source, &json!({}));
    assert_eq!(found.len(), 1);
    assert!(
        found[0].ends_with("operation cancelled: actual cost limit exceeded"),
        "{found:?}"
    );
}

/// Evaluates each of the expressions with these variables: all of them cost too much, and that is known soon.
fn all_cost_too_much(variables: &[Json], object: &Json, expressions: &[&str]) {
    let begun = thread_cpu_time();
    for expression in expressions {
        let source = json!({
            "variables": variables,
            "validations": [{"expression": expression, "message": "not so"}],
        });
        let found = messages(&source, object);
        let end = "operation cancelled: actual cost limit exceeded";
        assert!(
            found.len() == 1 && found[0].ends_with(end),
            "{expression}: {found:?}"
        );
    }
    // The exponential ones do not end in the life of the machine.
    assert!(thread_cpu_time() < begun + Duration::from_mins(1));
}

/// Two variables of 2^30 parts each, `variables.v30` and `variables.w30`, whose lists share their elements.
fn doubling_lists() -> Vec<Json> {
    let levels = (0..=30).flat_map(|level: i32| {
        ["v", "w"].map(|name| {
            let before = format!("variables.{name}{}", level - 1);
            let expression = match level {
                0 => "[object.text]".to_owned(),
                _ => format!("[{before}, {before}]"),
            };
            json!({"name": format!("{name}{level}"), "expression": expression})
        })
    });
    levels.collect()
}

#[test]
fn shared_parts_are_charged_as_often_as_they_are_reached() {
    let object = json!({"text": "a".repeat(2_000)});
    let expressions = [
        "variables.v30 == variables.w30",
        "variables.v30 != variables.w30",
        "variables.v30 in [variables.w30]",
        "{'a': variables.v30} == {'a': variables.w30}",
        "optional.of(variables.v30) == optional.of(variables.w30)",
        "'%s'.format([variables.v30]) == ''",
        "variables.v30.flatten(30).size() == 0",
        "[variables.v30].indexOf(variables.w30) == 1",
        "[variables.v30].lastIndexOf(variables.w30) == 1",
        "[variables.v30, variables.w30].distinct().size() == 0",
        "sets.contains([variables.v30], [variables.w30])",
        "lists.range(200000).map(a, object.text).join().size() == 0",
        "lists.range(200000).map(a, object.text).sort().size() == 0",
        "lists.range(200000).map(a, a).sortBy(a, object.text).size() == 0",
    ];
    all_cost_too_much(&doubling_lists(), &object, &expressions);
}

#[test]
fn steps_that_are_not_run_and_searched_keys_are_charged() {
    let expressions = [
        "lists.range(500000).all(a, variables.numbers.exists(b, true))",
        "lists.range(5000).transformMap(i, a, a).transformMapEntry(i, a, variables.map).size() == 0",
        "variables.numbers.all(a, variables.map[a % 5000] >= 0)",
        "variables.map == variables.map",
    ];
    let variables = [
        json!({"name": "numbers", "expression": "lists.range(500000)"}),
        json!({"name": "map", "expression": "lists.range(5000).transformMap(i, a, a)"}),
    ];
    all_cost_too_much(&variables, &json!({}), &expressions);
}

#[test]
fn comparisons_of_ordinary_objects_are_cheap_enough() {
    let container =
        json!({"name": "web", "image": "nginx:1.27", "args": ["-c", "/etc/nginx.conf"]});
    let object = json!({"spec": {"containers": vec![container; 200]}});
    let expression = "object.spec == object.spec && object.spec.containers.all(a, a in object.spec.containers) \
        && object.spec.containers.distinct().size() == 1";
    assert!(messages(&validation(expression), &object).is_empty());
}

#[test]
fn deep_and_long_expressions_are_refused() {
    for expression in [
        format!("{}true{}", "(".repeat(5_000), ")".repeat(5_000)),
        format!("object{} == 1", ".a".repeat(2_000)),
        format!("{}1{} == [1]", "[".repeat(200), "]".repeat(200)),
        format!("'{}' == ''", "a".repeat(20_000)),
        vec!["true"; 3_000].join(" && "),
    ] {
        let error = error(&expression);
        let is_limit = error.contains("limit exceeded") || error.contains("exceeds limit");
        assert!(is_limit, "{error}");
    }
}

#[test]
fn unreadable_expression_is_refused_without_panic() {
    for expression in [
        "",
        "&&",
        "'",
        "a.b.",
        "[1,",
        "{",
        "1 +",
        "has(1)",
        "object.all()",
        "object.map(1, 2, 3)",
        "\u{0}",
        "💥",
        "object.?",
        "Foo{a: 1}",
        "'''",
        "b'\\xzz'",
        "99999999999999999999999",
        "1u == -1u",
        "object.all(x, x, x, x)",
        "optional.frob()",
        "variables",
        "variables.all(x, true)",
        "@in(1)",
        "_+_(1, 2)",
    ] {
        assert!(!error(expression).is_empty(), "{expression}");
    }
}

#[test]
fn missing_object_is_null() {
    let program =
        Program::compile(&validation("object == null && variables.anyObject == null")).unwrap();
    let found = program.evaluate(&Input {
        object: None,
        old_object: None,
        request: &Json::Null,
        namespace_object: None,
        parameters: None,
        constraint: &Json::Null,
    });
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn variable_that_does_not_compile_is_an_error_of_its_user_only() {
    let variables = json!([{"name": "bad", "expression": "nope.x"}]);
    let unused = json!({"variables": variables, "validations": [{"expression": "true"}]});
    assert_eq!(messages(&unused, &json!({})), Vec::<String>::new());
    let used =
        json!({"variables": variables, "validations": [{"expression": "variables.bad == 1"}]});
    let error = Program::compile(&used).unwrap_err().to_string();
    assert_eq!(
        error,
        "compilation error: validations[0]: composited variable \"bad\" fails to compile: undeclared reference to 'nope' (in container '')"
    );
}

/// Numbers that are the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let limit = u64::try_from(limit.max(1)).unwrap();
        usize::try_from((self.0 >> 33) % limit).unwrap()
    }
}

#[test]
fn damaged_expressions_do_not_panic() {
    const PARTS: [&str; 48] = [
        "object.list",
        "object.text",
        "object.map",
        "object.absent",
        "variables.params",
        "request.name",
        "1",
        "-1",
        "2u",
        "1.5",
        "'a'",
        "b'a'",
        "null",
        "true",
        "[1, 'a']",
        "{'a': 1}",
        ".size()",
        ".all(x, x > 1)",
        ".exists(x, x == 'a')",
        ".map(x, [x])",
        ".filter(x, true)",
        ".exists(i, x, i == x)",
        ".transformMap(k, v, v)",
        ".sortBy(x, x)",
        ".split(',')",
        ".join('-')",
        ".substring(1)",
        ".charAt(9)",
        ".format([1])",
        ".find('[a')",
        ".sum()",
        ".min()",
        ".?a",
        "[?0]",
        ".orValue(1)",
        ".optMap(x, x)",
        "quantity('1')",
        "duration('1s')",
        "timestamp('2024-01-01T00:00:00Z')",
        "ip('::1')",
        "cidr('::1/8')",
        "semver('1.0.0')",
        "url('/a')",
        "format.uuid()",
        " + ",
        " == ",
        " && ",
        " ? 1 : ",
    ];
    let mut random = Random(7);
    let object =
        json!({"list": [1, "a", null, 1.5, {"a": 1}], "text": "päivää", "map": {"a": {"b": [1]}}});
    let mut compiled = 0;
    for _ in 0..4_000 {
        let mut expression = String::new();
        for _ in 0..=random.below(6) {
            expression.push_str(PARTS[random.below(PARTS.len())]);
        }
        if random.below(4) == 0 {
            let cut = random.below(expression.len());
            let cut = (0..=cut)
                .rev()
                .find(|at| expression.is_char_boundary(*at))
                .unwrap();
            expression.truncate(cut);
        }
        let source = json!({"validations": [
            {"expression": format!("[{expression}] == [dyn(1)]"), "messageExpression": format!("'%s'.format([{expression}])")},
        ]});
        if let Ok(program) = Program::compile(&source) {
            compiled += 1;
            let _ = program.evaluate(&Input {
                object: Some(&object),
                old_object: None,
                request: &json!({"name": "a"}),
                namespace_object: None,
                parameters: None,
                constraint: &json!({}),
            });
        }
    }
    assert!(compiled > 300, "{compiled}");
}
