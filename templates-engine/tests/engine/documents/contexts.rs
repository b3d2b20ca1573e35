//! Configuration, contexts and `skipObject`.

use reeve_go_compat::value::{Element, Key, List, Map, Value};
use reeve_templates_engine::resolver::{Config, Context, Input, Options, Resolver, SkipObject};

use super::check;
use crate::world::{outcome, resolve_with};

#[test]
fn configuration() {
    let half = Config {
        start_delimiter: "{{hub".to_owned(),
        ..Config::default()
    };
    assert_eq!(
        Resolver::new(half).expect_err("half").to_string(),
        "the configurations StartDelim and StopDelim cannot be set independently"
    );
    let hub = || Config {
        start_delimiter: "{{hub".to_owned(),
        stop_delimiter: "hub}}".to_owned(),
        additional_indentation: 8,
        ..Config::default()
    };
    check(
        "hub",
        |input| {
            outcome(resolve_with(
                hub(),
                Input::Json(input.as_bytes()),
                Options::default(),
            ))
        },
        &[
            (
                r#"{"a":"{{ .untouched }}"}"#,
                Ok(r#"{"a":"{{ .untouched }}"}"#),
            ),
            (
                r#"{"a":"{{hub \"x\" | base64enc hub}}"}"#,
                Ok(r#"{"a":"eA=="}"#),
            ),
            (
                r#"{"a":"{{ \"{{hub `x` | base64enc hub}}\" }}"}"#,
                Ok(r#"{"a":"{{ \"eA==\" }}"}"#),
            ),
            (
                r#"{"a":"|\n  {{hub \"x\\ny\" | indent 2 hub}}\n"}"#,
                Ok(r#"{"a":"|\n  x\n        y\n"}"#),
            ),
            (
                r#"{"a":"x:\n  {{hub \"x\\ny\" | autoindent hub}}\n"}"#,
                Ok(r#"{"a":"x:\n  x\n  y\n"}"#),
            ),
        ],
    );
    let disabled = Config {
        disabled_functions: vec!["fromSecret".to_owned()],
        ..Config::default()
    };
    check(
        "disabled",
        |input| {
            outcome(resolve_with(
                disabled.clone(),
                Input::Yaml(input),
                Options::default(),
            ))
        },
        &[(
            "{{ fromSecret \"a\" \"b\" \"c\" }}",
            Err(
                r#"failed to parse the template JSON string {{ fromSecret "a" "b" "c" }}: template: tmpl:1: function "fromSecret" not defined"#,
            ),
        )],
    );
    let denied = ["now".to_owned(), "printf".to_owned()];
    check(
        "denied",
        |input| {
            let options = Options {
                denied_functions: &denied,
                ..Options::default()
            };
            outcome(resolve_with(Config::default(), Input::Yaml(input), options))
        },
        &[
            (
                "{{ now }}",
                Err(
                    "error calling now: use of denylisted template function: function 'now' is not allowed",
                ),
            ),
            (
                "{{ printf \"x\" }}",
                Err("function 'printf' is not allowed"),
            ),
        ],
    );
}

#[test]
fn contexts() {
    let numbers = Map::typed(Element::Int, Element::Str);
    numbers.insert(Key::Int(1), Value::from("one"));
    let labels = Map::typed(Element::Str, Element::Str);
    labels.insert(Key::from("region"), Value::from("x"));
    let context = Context::new(
        "propagator.templateCtx",
        [
            ("ManagedClusterName", Value::from("cluster0001")),
            ("ManagedClusterLabels", Value::Map(labels)),
            ("Count", Value::Int(3)),
            ("Names", Value::strings(["a", "b"])),
            ("Numbers", Value::Map(numbers)),
            (
                "PolicyMetadata",
                Value::dict([("name", Value::from("p")), ("labels", Value::Nil)]),
            ),
        ],
    );
    check(
        "context",
        |input| {
            let options = Options {
                context: context.clone(),
                ..Options::default()
            };
            outcome(resolve_with(Config::default(), Input::Yaml(input), options))
        },
        &[
            ("{{ .ManagedClusterName }}", Ok(r#""cluster0001""#)),
            ("a: '{{ .Count | toInt }}'", Ok(r#"{"a":3}"#)),
            ("{{ index .Names 1 }}", Ok(r#""b""#)),
            ("{{ index .Numbers 1 }}", Ok(r#""one""#)),
            ("{{ .ManagedClusterLabels.region }}", Ok(r#""x""#)),
            (
                "{{ .ManagedClusterLabels.none }}",
                Ok(r#""\u003cno value\u003e""#),
            ),
            ("{{ .PolicyMetadata.name }}", Ok(r#""p""#)),
            (
                "hello {{ .PolicyMetadata.labels }}",
                Ok(r#""hello \u003cno value\u003e""#),
            ),
            (
                "{{ .Nope }}",
                Err("can't evaluate field Nope in type propagator.templateCtx"),
            ),
            (
                "{{ hasKey .ManagedClusterLabels \"region\" }}",
                Err(
                    "wrong type for value; expected map[string]interface {}; got map[string]string",
                ),
            ),
        ],
    );
    let object_only = Context::new(
        "struct { ObjectNamespace string }",
        [("ObjectNamespace", Value::from("ns"))],
    );
    check(
        "object",
        |input| {
            let options = Options {
                context: object_only.clone(),
                ..Options::default()
            };
            outcome(resolve_with(Config::default(), Input::Yaml(input), options))
        },
        &[(
            "a:\n  b: {{ .ObjectName }}",
            Err(
                "template: tmpl:2:8: executing \"tmpl\" at <.ObjectName>: can't evaluate field ObjectName in type struct { ObjectNamespace string }",
            ),
        )],
    );
    for (value, expected) in [
        (Value::Int(1), ", but found a parent of kind int"),
        (
            Value::dict([("a", Value::Int(1))]),
            ", but found a parent of kind map",
        ),
        (Value::strings(["a"]), ", but found a parent of kind slice"),
    ] {
        let options = Options {
            context: Context::Struct(value),
            ..Options::default()
        };
        let error = outcome(resolve_with(Config::default(), Input::Yaml("x"), options))
            .expect_err("refused");
        assert_eq!(
            error,
            format!(
                "the input context must be a struct that recurses to kinds bool, int, float, or string{expected}"
            )
        );
    }
    let structs = List::new(Element::Named("main.T"), []);
    let options = Options {
        context: Context::new("main.C", [("Things", Value::List(structs))]),
        ..Options::default()
    };
    let error =
        outcome(resolve_with(Config::default(), Input::Yaml("x"), options)).expect_err("refused");
    assert!(
        error.ends_with(", found an array with values of kind struct"),
        "{error}"
    );
}

#[test]
fn skip_object() {
    let run = |input: &str| {
        let skip = SkipObject::new();
        let options = Options {
            functions: vec![("skipObject".to_owned(), skip.function())],
            ..Options::default()
        };
        let result = outcome(resolve_with(Config::default(), Input::Yaml(input), options));
        (result, skip.is_marked())
    };
    assert_eq!(run("a{{ skipObject }}"), (Ok(r#""a""#.to_owned()), true));
    assert_eq!(
        run("a{{ skipObject false }}"),
        (Ok(r#""a""#.to_owned()), false)
    );
    assert!(run("a{{ skipObject (eq 1 1) }}").1);
    let (error, marked) = run("a{{ skipObject true }}{{ fail \"x\" }}");
    assert!(marked && error.is_err(), "the mark outlives a failure");
    let (error, marked) = run("a{{ skipObject true false }}");
    assert!(!marked);
    assert!(error.expect_err("two").ends_with("at <skipObject true false>: error calling skipObject: expected one optional boolean argument but received 2 arguments"));
    let (error, _) = run("a{{ skipObject \"yes\" }}");
    assert!(
        error
            .expect_err("text")
            .ends_with("expected boolean but received 'yes'")
    );
}
