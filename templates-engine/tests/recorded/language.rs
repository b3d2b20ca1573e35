//! The language against Go's `text/template`: every recorded case gives the same output or the
//! same error text, line and column included.

use crate::tally::Tally;
use reeve_go_compat::value::{Element, Key, Map, Value};
use reeve_templates_engine::language::Delimiters;
use serde::Deserialize;

#[derive(Deserialize)]
struct Case {
    t: String,
    #[serde(default)]
    hub: bool,
    o: Option<String>,
    e: Option<String>,
}

/// The dot of every case: what `languageData` in the recording program builds.
fn data() -> Value {
    let codes = Map::typed(Element::Int, Element::Str);
    for (key, value) in [(2, "two"), (10, "ten"), (1, "one")] {
        codes.insert(Key::Int(key), Value::from(value));
    }
    let labels = Map::typed(Element::Str, Element::Str);
    labels.insert(Key::from("env"), Value::from("prod"));
    labels.insert(Key::from("app"), Value::from("x"));
    let ints = reeve_go_compat::value::List::new(
        Element::Int,
        [Value::Int(3), Value::Int(1), Value::Int(2)],
    );
    let inner = Value::dict([("c", Value::from("deep")), ("n", Value::Nil)]);
    let map = Value::dict([
        ("a", Value::Int(1)),
        ("b", inner),
        ("10", Value::from("ten")),
        ("9", Value::from("nine")),
    ]);
    let item =
        |name: &str, n: i64| Value::dict([("name", Value::from(name)), ("n", Value::Int(n))]);
    Value::dict([
        ("s", Value::from("text")),
        ("empty", Value::from("")),
        ("i", Value::Int(3)),
        ("zero", Value::Int(0)),
        ("neg", Value::Int(-2)),
        ("i64", Value::Int64(4)),
        ("u64", Value::Uint64(5)),
        ("f", Value::Float(1.5)),
        ("big", Value::Float(1e6)),
        ("t", Value::Bool(true)),
        ("no", Value::Bool(false)),
        ("nul", Value::Nil),
        (
            "list",
            Value::list([
                Value::Int(1),
                Value::from("a"),
                Value::Nil,
                Value::Float(2.5),
                Value::list([Value::from("x")]),
                Value::dict([("k", Value::from("v"))]),
            ]),
        ),
        ("none", Value::list([])),
        ("strs", Value::strings(["b", "a", "c"])),
        ("ints", Value::List(ints)),
        ("m", map),
        ("labels", Value::Map(labels)),
        ("codes", Value::Map(codes)),
        (
            "items",
            Value::list([
                item("one", 1),
                item("two", 2),
                Value::dict([("name", Value::from("three"))]),
            ]),
        ),
    ])
}

#[test]
fn every_recorded_template_gives_what_go_gives() {
    let mut tally = Tally::default();
    for line in crate::cases::fixture("language.jsonl").lines() {
        let case: Case = serde_json::from_str(line).expect("a recorded case");
        let delimiters = if case.hub {
            Delimiters {
                left: "{{hub",
                right: "hub}}",
            }
        } else {
            Delimiters::default()
        };
        let expected = case.o.ok_or_else(|| case.e.unwrap_or_default());
        let got = crate::cases::render(&case.t, delimiters, data())
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        tally.count(got == expected, || {
            format!("{:?}\n   want {expected:?}\n   got  {got:?}", case.t)
        });
    }
    tally.finish("templates");
}
