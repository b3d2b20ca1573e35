//! The linter's rules, positions included.

use proptest::prelude::*;
use reeve_templates_engine::lint::{Violation, lint, lint_extended, to_sarif, to_text};

/// Line, column, rule and message of what is found.
fn found(text: &str) -> Vec<(usize, usize, &'static str, String)> {
    lint(text).into_iter().map(summary).collect()
}

fn summary(violation: Violation) -> (usize, usize, &'static str, String) {
    let Violation {
        line,
        column,
        rule,
        message,
        ..
    } = violation;
    (line, column, rule.id, message)
}

/// Asserts what one rule finds: line, column and message.
#[track_caller]
fn assert_found(rule: &str, text: &str, expected: &[(usize, usize, &str)]) {
    let found = found(text);
    let found: Vec<_> = found
        .iter()
        .filter(|(_, _, id, _)| *id == rule)
        .map(|(line, column, _, message)| (*line, *column, message.as_str()))
        .collect();
    assert_eq!(found, expected, "in {text:?}");
}

#[test]
fn trailing_whitespace_is_found_outside_blank_lines_and_comments() {
    let message = "Trailing whitespace detected.";
    let text = "a: b \n  c: d\t\n   \n# e \n  # f \ng: h\r\n";
    assert_found("GTUL001", text, &[(1, 0, message), (2, 0, message)]);
    assert_eq!(
        to_text(&lint("  a: b \n")),
        "line 1: trailingWhitespace: trailing whitespace detected:\n\ta: b <<<\n"
    );
}

#[test]
fn delimiters_are_paired_over_the_whole_document() {
    let of = |text: &str, expected: &[(usize, usize, &str)]| {
        assert_found("GTUL002", text, expected);
    };
    of("a: '{{ x }}'\nb: '{{hub y hub}}'\n", &[]);
    of("a: '{{ if x }}\n{{- end -}}'", &[]);
    of("a: '{{ x\n  }}'", &[]);
    of("  a: {{ x", &[(1, 6, "Unmatched opening delimiter '{{'.")]);
    of("a: x }}", &[(1, 6, "Unmatched closing delimiter '}}'.")]);
    of(
        "a: x -hub}}",
        &[(1, 6, "Unmatched closing delimiter '-hub}}'.")],
    );
    of(
        "a: {{hub x }}",
        &[(
            1,
            12,
            "Mismatched hub and managed cluster delimiters: {{hub ... }}",
        )],
    );
    of(
        "a: {{hub- x\nb: -}}",
        &[(
            1,
            4,
            "Mismatched hub and managed cluster delimiters: {{hub- ... -}}",
        )],
    );
    of("# {{\na: b", &[]);
    of("\té: {{ x", &[(1, 7, "Unmatched opening delimiter '{{'.")]);
}

#[test]
fn json_and_template_delimiters_are_distinguished() {
    let of = |text: &str, expected: &[(usize, usize, &str)]| {
        assert_found("GTUL002", text, expected);
    };
    of("a: {b: {c: d}}", &[]);
    of("a: {b: '{{ x }}'}", &[]);
    of(
        "a: {b: c}}",
        &[(1, 9, "Unmatched closing JSON delimiter '}'.")],
    );
    of(
        "a: {{ x }",
        &[(1, 9, "Mismatched JSON and template delimiters: {{ ... }")],
    );
    of(
        "a: {{ {x }}",
        &[(1, 11, "Mismatched JSON and template delimiters: {{ ... }")],
    );
    of("a: {", &[(1, 4, "Unmatched opening delimiter '{'.")]);
}

#[test]
fn short_texts_of_delimiters_leave_out_the_pair() {
    let violations = lint("a: '{{hub x }}'");
    assert_eq!(
        violations[0].short,
        "mismatched hub and managed cluster delimiters"
    );
}

#[test]
fn bare_templates_are_found() {
    let of = |text: &str, expected: &[(usize, usize, &str)]| {
        assert_found("GTUL003", text, expected);
    };
    let item = "Templates for array items should be single-quoted.";
    let value = "Templates should be single-quoted.";
    let extra = "Extra quote after closing template delimiter.";
    of("  - {{ x }}", &[(1, 5, item)]);
    of("  - '{{ x }}'", &[]);
    of("a: {{ x }} b", &[(1, 4, value)]);
    of("a: '{{ x }}'", &[]);
    of("- a: {{ x }}", &[(1, 6, value)]);
    of("a: \"{{ x }}\"", &[]);
    of("a: b {{ x }}", &[]);
    of("a: '{{ x }}''", &[(1, 10, extra)]);
    of("a: '{{ x }}'\"  ", &[(1, 10, extra)]);
    of("{{ x }}: b", &[]);
    of("{{- if x }}", &[]);
    let raw = "object-templates-raw: |\n  - a: {{ x }}\nobject-templates:\n- {{ y }}";
    of(raw, &[(4, 3, item)]);
}

#[test]
fn unused_variables_are_found_within_their_scope() {
    let of = |text: &str, expected: &[(usize, usize, &str)]| {
        assert_found("GTUL004", text, expected);
    };
    let x = "Variable x is defined but not used within scope.";
    let raw = |body: &str| format!("object-templates-raw: |\n{body}");
    of(&raw("  {{ $x := 1 }}\n"), &[(2, 4, x)]);
    of(&raw("  {{ $x := 1 }}{{ $x }}\n"), &[]);
    of(
        &raw("  {{ $x := 1 }}\n  {{ $x := 2 }}{{ $x }}\n"),
        &[(2, 4, x)],
    );
    of(
        &raw("  {{ range $x, $y := . }}{{ $y }}{{ end }}\n"),
        &[(2, 10, x)],
    );
    of(&raw("  {{ $_ := set . }}\n"), &[]);
    of(
        &raw("  {{ $x := 1 }}{{ \"$x\" }}{{/* $x */}}\n"),
        &[(2, 4, x)],
    );
    of(&raw("  {{ $x := 1 }}{{ $x.y }}\n"), &[]);
    of("{{ $x := 1 }}", &[]);
    // The position is that within the action, whatever stands before it on the line.
    let two = "  a:\n    objectDefinition:\n      b: '{{ $x := 1 }}'\n    objectDefinition:\n      c: '{{ $x }}'\n";
    of(two, &[(3, 4, x)]);
    let hub = "    objectDefinition:\n      b: '{{hub $x := 1 hub}}'\n    objectDefinition:\n      c: '{{hub $x hub}}{{ $x }}'\n";
    of(hub, &[]);
}

#[test]
fn references_inside_references_are_found() {
    let message = "Invalid variable reference inside dot operator.";
    let of = |text: &str, expected: &[(usize, usize, &str)]| {
        assert_found("GTUL005", text, expected);
    };
    of("a: {{ $x.$y }}", &[(1, 10, message)]);
    of("a: {{ $x.b.$.c }}", &[(1, 14, message)]);
    of("a: {{ $x.b $.c }}", &[]);
    of("  # {{ $x.$y }}", &[(1, 11, message)]);
    of("# {{ $x.$y }}", &[]);
}

#[test]
fn odd_quotes_are_found() {
    let message = "Unmatched or invalid quote detected.";
    let of = |text: &str, is_wrong: bool| {
        let wrong = [(1, 0, message)];
        assert_found("GTUL006", text, if is_wrong { &wrong } else { &[] });
    };
    of("a: '{{ \"b }}'", true);
    of("a: '{{ 'b }}'", true);
    of("a: '{{ \"b'\" }}'", false);
    of("a: '{{ \"b\" }}'", false);
    of("ab: \"x\"y\"\"", true);
    of("ab: \"x\\\"y\"", false);
    of("ab: ''x'", true);
    of("ab: 'x''", true);
    of("ab: 'x'", false);
    of("a: ''x'", false);
    // A raw string over two lines.
    assert_found("GTUL006", "a: {{ '\n' }}", &[]);
    assert_found("GTUL006", "a: {{ x\n' }}", &[(2, 0, message)]);
}

#[test]
fn violations_are_sorted_by_line_and_message() {
    let found = found("a: {{ x \nb: {{ y }} \n");
    let found: Vec<_> = found.iter().map(|(line, _, id, _)| (*line, *id)).collect();
    assert_eq!(
        found,
        [
            (1, "GTUL001"),
            (1, "GTUL002"),
            (2, "GTUL003"),
            (2, "GTUL001")
        ]
    );
}

#[test]
fn sarif_names_the_violated_rules_only() {
    let sarif = to_sarif(&lint("a: <b> \nc: '{{ x }}'\"\n"), "dir/in.yaml").unwrap();
    let expected = r#"{
  "version": "2.1.0",
  "$schema": "https://raw.githubusercontent.com/oasis-tcs/sarif-spec/main/sarif-2.1/schema/sarif-schema-2.1.0.json",
  "runs": [
    {
      "tool": {
        "driver": {
          "name": "Go Template Utils Linter",
          "informationUri": "https://github.com/stolostron/go-template-utils",
          "rules": [
            {
              "id": "GTUL001",
              "name": "trailingWhitespace",
              "shortDescription": {
                "text": "Lines should not have trailing whitespace."
              }
            },
            {
              "id": "GTUL003",
              "name": "unquotedTemplateValues",
              "shortDescription": {
                "text": "Template expressions should be single-quoted."
              },
              "fullDescription": {
                "text": "Single-quote wrapping around template expressions in YAML will ensure that the templates are properly interpreted and not interfere with the rest of the structure.",
                "markdown": "Single-quote wrapping around template expressions in YAML will ensure that the templates are properly interpreted and not interfere with the rest of the structure."
              }
            }
          ]
        }
      },
      "artifacts": [
        {
          "location": {
            "uri": "dir/in.yaml"
          }
        }
      ],
      "results": [
        {
          "level": "warning",
          "message": {
            "text": "Trailing whitespace detected."
          },
          "locations": [
            {
              "physicalLocation": {
                "artifactLocation": {
                  "uri": "dir/in.yaml",
                  "index": 0
                },
                "region": {
                  "startLine": 1
                }
              }
            }
          ],
          "ruleId": "GTUL001",
          "ruleIndex": 0
        },
        {
          "level": "warning",
          "message": {
            "text": "Extra quote after closing template delimiter."
          },
          "locations": [
            {
              "physicalLocation": {
                "artifactLocation": {
                  "uri": "dir/in.yaml",
                  "index": 0
                },
                "region": {
                  "startLine": 2,
                  "startColumn": 10
                }
              }
            }
          ],
          "ruleId": "GTUL003",
          "ruleIndex": 1
        }
      ]
    }
  ]
}
"#;
    assert_eq!(sarif, expected);
}

#[test]
fn sarif_of_nothing_has_empty_lists() {
    let sarif = to_sarif(&[], "<stdin>").unwrap();
    assert!(sarif.contains("\"rules\": []"));
    assert!(sarif.contains("\"results\": []"));
    assert!(sarif.contains("\"uri\": \"\\u003cstdin\\u003e\""));
}

#[test]
fn conversions_without_effect_are_found() {
    let of = |text: &str| -> Vec<(usize, usize, String)> {
        lint_extended(text, &|_| Ok(()))
            .into_iter()
            .map(|violation| (violation.line, violation.column, violation.message))
            .collect()
    };
    assert_eq!(of("a: '{{ \"6\" | toInt }}'\n- k: '{{ x | toBool }}'"), []);
    assert_eq!(
        of("a: {{ toInt \"6\" }}\nb: >-\n  '{{ x | toLiteral }}'"),
        []
    );
    let message =
        |function: &str, reason: &str| format!("`{function}` has no effect here: {reason}.");
    assert_eq!(
        of("- '{{ \"6\" | toInt }}'"),
        [(1, 13, message("toInt", "the value is an item of a list"))]
    );
    assert_eq!(
        of("a: '{{ toBool x }}'"),
        [(1, 8, message("toBool", "it does not stand behind a `|`"))]
    );
    assert_eq!(
        of("a: \"{{ 1 | toInt }}\""),
        [(1, 12, message("toInt", "the value is in double quotes"))]
    );
    assert_eq!(
        of("a: 'x{{ 1 | toLiteral }}'"),
        [(1, 13, message("toLiteral", "text stands before the action"))]
    );
    assert_eq!(of("a: '{{ \"toInt\" }}'"), []);
}

#[test]
fn lookup_by_name_in_any_namespace_is_reported() {
    let of = |text: &str| -> Vec<(usize, usize, &str)> {
        let found = lint_extended(text, &|_| Ok(())).into_iter();
        found
            .map(|violation| (violation.line, violation.column, violation.rule.id))
            .collect()
    };
    let found = |column| vec![(1, column, "GTUL102")];
    let named = r#"a: '{{ (lookup "v1" "ConfigMap" "" "x").data.y }}'"#;
    assert_eq!(of(named), found(9));
    assert_eq!(of("a: '{{ lookup `v1` `Secret` `` .Name }}'"), found(8));
    assert_eq!(
        of(r#"a: '{{ (lookup "policy.open-cluster-management.io/v1" "Policy" "" "x").spec }}'"#),
        found(9)
    );
    for quiet in [
        r#"a: '{{ lookup "v1" "ConfigMap" "ns" "x" }}'"#,
        r#"a: '{{ lookup "v1" "ConfigMap" "" "" }}'"#,
        r#"a: '{{ lookup "v1" "Node" "" "x" }}'"#,
        r#"a: '{{ lookup "example.com/v1" "ConfigMap" "" "x" }}'"#,
        r#"a: '{{hub lookup "v1" "ConfigMap" "" "x" hub}}'"#,
        r#"# {{ lookup "v1" "ConfigMap" "" "x" }}"#,
    ] {
        assert_eq!(of(quiet), [], "{quiet}");
    }
    let violations = lint_extended(named, &|_| Ok(()));
    assert_eq!(
        violations[0].message,
        "The lookup of a ConfigMap by name finds it in any namespace: name one."
    );
}

#[test]
fn parse_errors_name_their_line() {
    let parse = |_: &str| Err((2, "unclosed action".to_owned()));
    let violations = lint_extended("a: b\nc: {{", &parse);
    assert_eq!(violations.len(), 1);
    assert_eq!(violations[0].rule.id, "GTUL101");
    assert_eq!(violations[0].line, 2);
    assert_eq!(violations[0].shown, "c: {{");
    let message = "The template cannot be parsed: unclosed action.";
    assert_eq!(violations[0].message, message);
}

proptest! {
    #[test]
    fn any_text_is_linted(text in "[a-c$.:,=\\-'\"{}|# \n\t\rhubé]{0,60}") {
        let mut violations = lint(&text);
        violations.extend(lint_extended(&text, &|_| Ok(())));
        let _ = to_text(&violations);
        prop_assert!(to_sarif(&violations, "x").is_ok());
    }
}
