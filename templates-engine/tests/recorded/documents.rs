//! Whole documents against Go: JSON to YAML, the rewrites, parsing, execution and YAML to JSON in
//! one go. Output and error text are the same, line and column included, except where the engine
//! differs on purpose; there they are the result of Go's program with the same change.

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::tally::Tally;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use reeve_go_compat::value::{Element, Key, Map, Value};
use reeve_templates_engine::ambient::Fixed;
use reeve_templates_engine::resolver::{Config, Context, Input, Mode, Options, Resolver};
use serde::Deserialize;
use serde_json::json;

use crate::world::World;

/// What stands for the input in recorded errors.
const INPUT: &str = "%INPUT%";

#[derive(Deserialize)]
struct Case {
    #[serde(rename = "i")]
    input: String,
    #[serde(default, rename = "y")]
    yaml: bool,
    #[serde(default)]
    hub: bool,
    #[serde(default, rename = "n")]
    indent: u32,
    #[serde(default, rename = "c")]
    context: String,
    #[serde(rename = "o")]
    output: Option<String>,
    #[serde(rename = "e")]
    error: Option<String>,
    /// The numbers of the differences from upstream that the document touches.
    #[serde(default, rename = "edge")]
    edges: Vec<u8>,
    #[serde(rename = "b")]
    better: Option<String>,
    #[serde(rename = "be")]
    better_error: Option<String>,
}

type Outcome = Result<String, String>;

impl Case {
    fn outcome(&self, output: Option<&String>, error: Option<&String>) -> Outcome {
        output
            .cloned()
            .ok_or_else(|| error.expect("an outcome").replacen(INPUT, &self.input, 1))
    }

    fn upstream(&self) -> Outcome {
        self.outcome(self.output.as_ref(), self.error.as_ref())
    }

    fn wanted(&self) -> Outcome {
        if self.edges.is_empty() {
            return self.upstream();
        }
        self.outcome(self.better.as_ref(), self.better_error.as_ref())
    }

    fn resolve(&self) -> Outcome {
        let delimiters = if self.hub {
            ["{{hub", "hub}}"]
        } else {
            ["", ""]
        };
        let [start_delimiter, stop_delimiter] = delimiters.map(str::to_owned);
        let resolver = Resolver::new(Config {
            additional_indentation: self.indent,
            start_delimiter,
            stop_delimiter,
            ..Config::default()
        });
        let options = Options {
            context: context(&self.context),
            mode: match self.context.as_str() {
                "watch" => Mode::Watch,
                _ => Mode::Plain,
            },
            ..Options::default()
        };
        let input = if self.yaml {
            Input::Yaml(&self.input)
        } else {
            Input::Json(self.input.as_bytes())
        };
        let mut ambient = Fixed::new(Timestamp::UNIX_EPOCH, TimeZone::UTC, 1);
        resolver
            .expect("whole delimiters")
            .resolve(input, options, Rc::new(World::new()), &mut ambient)
            .map(|resolved| String::from_utf8(resolved.json).expect("JSON is text"))
            .map_err(|failed| failed.to_string())
    }
}

/// What `.` is: what `documentContext` in the recording program builds.
fn context(name: &str) -> Context {
    let namespace = ("ObjectNamespace", Value::from("ns1"));
    match name {
        "namespace" => Context::new("struct { ObjectNamespace string }", [namespace]),
        "object" => {
            let object = Value::from(&json!({
                "metadata": {"name": "web", "labels": {"app": "x"}},
                "spec": {
                    "replicas": 3, "ratio": 1.5, "nul": null, "big": 12_345_678,
                    "items": [{"name": "one"}, {"name": "two", "n": 2}],
                },
                "data": {"text": "l1\nl2\n", "quote": "it's", "colon": "a: b"},
            }));
            Context::new(
                "struct { Object map[string]interface {}; ObjectNamespace string; ObjectName string }",
                [
                    ("Object", object),
                    namespace,
                    ("ObjectName", Value::from("web")),
                ],
            )
        }
        "hub" => {
            let texts = |entries: &[(&str, &str)]| {
                let map = Map::typed(Element::Str, Element::Str);
                for (key, value) in entries {
                    map.insert(Key::from(*key), Value::from(*value));
                }
                map
            };
            let metadata = Value::dict([
                ("name", Value::from("p")),
                ("namespace", Value::from("policies")),
                ("labels", Value::Map(texts(&[]).nil_of_same_type())),
                ("annotations", Value::Map(texts(&[("a", "b")]))),
            ]);
            let labels = texts(&[("region", "eu"), ("env", "prod")]);
            Context::new(
                "main.templateContext",
                [
                    ("ManagedClusterName", Value::from("cluster1")),
                    ("ManagedClusterLabels", Value::Map(labels)),
                    ("PolicyMetadata", metadata),
                ],
            )
        }
        _ => Context::None,
    }
}

fn kind(outcome: &Outcome) -> &'static str {
    match outcome {
        Ok(_) => "resolved",
        Err(error) if error.starts_with("failed to parse") => "not parsed",
        Err(error) if error.starts_with("failed to resolve") => "not executed",
        Err(_) => "not converted",
    }
}

#[test]
fn every_recorded_document_gives_what_go_gives() {
    let mut tally = Tally::default();
    let mut kinds = BTreeMap::<_, u32>::new();
    let mut edges = BTreeMap::<_, u32>::new();
    for line in crate::cases::fixture("documents.jsonl").lines() {
        let case: Case = serde_json::from_str(line).expect("a recorded document");
        let (wanted, got) = (case.wanted(), case.resolve());
        *kinds.entry(kind(&wanted)).or_default() += 1;
        for edge in &case.edges {
            let mended = format!("{} to {}", kind(&case.upstream()), kind(&wanted));
            *edges.entry((*edge, mended)).or_default() += 1;
        }
        tally.count(got == wanted, || {
            format!(
                "{:?} yaml {} hub {} indent {} context {:?} edges {:?}\n   want {wanted:?}\n   got  {got:?}",
                case.input, case.yaml, case.hub, case.indent, case.context, case.edges
            )
        });
    }
    println!("{kinds:?}; differences {edges:?}");
    tally.finish("documents");
}
