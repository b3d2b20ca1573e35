//! Golden vectors of encryption, and raw YAML.

use reeve_templates_engine::resolver::{Config, Input, Mode, Options};

use super::check;
use crate::world::{outcome, resolve_json, resolve_with, resolve_yaml};

#[test]
fn golden_vectors_of_documents() {
    check(
        "documents",
        resolve_json,
        &[
            (
                r#"{"a":"{{ \"6\" | toInt }}","b":"{{ \"6\" }}"}"#,
                Ok(r#"{"a":6,"b":"6"}"#),
            ),
            (r#"{"a":["{{ \"6\" | toInt }}"]}"#, Ok(r#"{"a":["6"]}"#)),
            (r#"{"a":"{{ \"l1\\nl2\" }}"}"#, Ok(r#"{"a":"l1 l2"}"#)),
            (
                r#"{"a":"{{ (dict \"a\" 1) | toJson | toLiteral }}"}"#,
                Ok(r#"{"a":{"a":1}}"#),
            ),
            (
                r#"{"a":"{{ if true }} {{ 3 | toInt }} {{ else }} {{ 1 | toInt }} {{ end }}","b":"c"}"#,
                Ok(r#"{"a":3,"b":"c"}"#),
            ),
            (
                r#"{"a":"{{ \"2020-01-01\" | toLiteral }}"}"#,
                Ok(r#"{"a":"2020-01-01T00:00:00Z"}"#),
            ),
            (r#"{"{{ \"k\" }}":"v"}"#, Ok(r#"{"k":"v"}"#)),
            (
                r#"{"a":"{{hub .x hub}}"}"#,
                Err(r#"template: tmpl:1: function "hub" not defined"#),
            ),
            (
                r#"{"a":"{{ $x := 1 }}","b":"{{ $x }}"}"#,
                Ok(r#"{"a":"","b":"1"}"#),
            ),
            (
                r#"{"b":"{{ $x := 1 }}","a":"{{ $x }}"}"#,
                Err(r#"undefined variable "$x""#),
            ),
            (
                r#"{"a":"{{ .Foo }}"}"#,
                Err(
                    r#"template: tmpl:1:7: executing "tmpl" at <.Foo>: can't evaluate field Foo in type struct {}"#,
                ),
            ),
            (
                r#"{"a":"{{ lookup \"v1\" }}"}"#,
                Err("at <lookup>: wrong number of args for lookup: want at least 4 got 1"),
            ),
            (
                r#"{"a":"{{ (lookup \"v1\" \"Secret\" \"\" \"\").data.nul.x }}"}"#,
                Ok(r#"{"a":"\u003cno value\u003e"}"#),
            ),
            (
                "not json",
                Err(
                    "failed to convert the policy template to YAML: expected ident at line 1 column 2",
                ),
            ),
        ],
    );
    check(
        "raw YAML",
        resolve_yaml,
        &[
            ("", Ok("null")),
            ("{{/* c */}}", Ok("null")),
            ("a: {{ 1 }}{{ `1` }}", Ok(r#"{"a":11}"#)),
            ("a: 1\n---\nb: 2", Ok(r#"{"a":1}"#)),
            (
                "a: 0777\nb: yes\nc: 1e6",
                Ok(r#"{"a":511,"b":"yes","c":1000000}"#),
            ),
            (
                "a: {{ print \"x: y\" }}",
                Err(
                    "failed to convert the resolved template to JSON: yaml: mapping values are not allowed in this context",
                ),
            ),
            (
                "a: *b{{ \"\" }}",
                Err(
                    "failed to convert the resolved template to JSON: yaml: unknown anchor 'b' referenced",
                ),
            ),
        ],
    );
    let in_watch_mode = |input: &str| {
        let options = Options {
            mode: Mode::Watch,
            ..Options::default()
        };
        outcome(resolve_with(Config::default(), Input::Yaml(input), options))
    };
    check(
        "no context in watch mode",
        in_watch_mode,
        &[
            ("{{ .Foo }}", Ok(r#""\u003cno value\u003e""#)),
            ("{{ .Foo.Bar }}", Ok(r#""\u003cno value\u003e""#)),
            (
                "{{ lookup \"v1\" \"ComponentStatus\" \"\" \"\" }}",
                Err(
                    "/v1, Kind=ComponentStatus cannot be watched: watch not supported on this resource",
                ),
            ),
        ],
    );
}
