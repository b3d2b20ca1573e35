//! Templates on the contexts that the controllers give them: maps of strings are Go's `map[string]string`.

use reeve_go_compat::value::{Map, Struct, Value};
use reeve_templates_engine::language::Delimiters;
use serde::Deserialize;

use crate::tally::Tally;

#[derive(Deserialize)]
struct Case {
    #[serde(rename = "t")]
    template: String,
    #[serde(rename = "c")]
    context: String,
    #[serde(rename = "o")]
    output: Option<String>,
    #[serde(rename = "e")]
    error: Option<String>,
}

fn strings(entries: &[(&str, &str)]) -> Value {
    let entries: Vec<(String, String)> = entries
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect();
    Value::string_map(entries.iter().map(|(key, value)| (key, value)))
}

fn structure(type_name: &str, fields: impl IntoIterator<Item = (&'static str, Value)>) -> Value {
    let fields = fields.into_iter();
    let fields = fields.map(|(name, value)| (name.to_owned(), value));
    Value::Struct(Struct::new(type_name, fields.collect()).into())
}

fn hub(clusters: Value, labels: Value, annotations: Value) -> Value {
    let metadata = Value::dict([
        ("name", Value::from("p")),
        ("namespace", Value::from("policies")),
        ("labels", labels),
        ("annotations", annotations),
    ]);
    structure(
        "main.templateContext",
        [
            ("ManagedClusterName", Value::from("cluster1")),
            ("ManagedClusterLabels", clusters),
            ("PolicyMetadata", metadata),
        ],
    )
}

/// What `contextNamed` in the recording program builds.
fn context(name: &str) -> Value {
    match name {
        "labels" => hub(
            strings(&[("region", "eu"), ("env", "prod"), ("empty", ""), ("n", "5")]),
            strings(&[("team", "a")]),
            strings(&[("note", "b")]),
        ),
        "none" => hub(strings(&[]), strings(&[]), strings(&[])),
        _ => structure(
            "main.objectContext",
            [
                ("Object", Value::Map(Map::nil())),
                ("ObjectNamespace", Value::from("ns1")),
                ("ObjectName", Value::from("web")),
                ("Anything", Value::Nil),
            ],
        ),
    }
}

#[test]
fn template_on_a_context_gives_what_go_gives() {
    let mut tally = Tally::default();
    for line in crate::cases::fixture("contexts.jsonl").lines() {
        let case: Case = serde_json::from_str(line).expect("a recorded case");
        let expected = case
            .output
            .ok_or_else(|| case.error.expect("an output or an error"));
        let got = crate::cases::render(
            &case.template,
            Delimiters::default(),
            context(&case.context),
        );
        let got = got.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        tally.count(got == expected, || {
            format!(
                "{:?} on {}\n   want {expected:?}\n   got  {got:?}",
                case.template, case.context
            )
        });
    }
    tally.finish("contexts");
}
