//! Quotes inside actions.

use super::check;
use crate::world::resolve_json;

/// Upstream doubles a quote inside an action and so corrupts what the action works on.
#[test]
fn tmpl_26_quote_inside_action_is_not_doubled() {
    check(
        "quotes",
        resolve_json,
        &[
            (
                r#"{"a":"{{ \"it's\" | base64enc }}"}"#,
                Ok(r#"{"a":"aXQncw=="}"#),
            ),
            (
                r#"{"a":"{{ len \"it's\" }} isn't"}"#,
                Ok(r#"{"a":"4 isn't"}"#),
            ),
            (r#"{"a":"{{ 'a' }}"}"#, Ok(r#"{"a":"97"}"#)),
        ],
    );
}

/// What an action prints is within single quotes, where upstream's doubled apostrophes are right.
#[test]
fn tmpl_26_printed_apostrophe_is_kept() {
    check(
        "printed apostrophes",
        resolve_json,
        &[
            (r#"{"a":"{{ \"it's\" }}"}"#, Ok(r#"{"a":"it's"}"#)),
            (r#"{"a":"{{ \"x=''\" }}"}"#, Ok(r#"{"a":"x=''"}"#)),
            (
                r#"{"a":"{{ printf \"n='%s'\" \"\" }}"}"#,
                Ok(r#"{"a":"n=''"}"#),
            ),
            (
                r#"{"a":"{{ \"'\" }} # {{ \"it's\" }}"}"#,
                Ok(r#"{"a":"' # it's"}"#),
            ),
            (
                r#"{"a":"{{ $x := \"it's\" }}","b":"{{ $x }}"}"#,
                Ok(r#"{"a":"","b":"it's"}"#),
            ),
            (
                r#"{"a":"{{ with \"it's\" }}{{ . }}{{ end }}"}"#,
                Ok(r#"{"a":"it's"}"#),
            ),
            (
                r#"{"a":"{{ \"it's\" | toLiteral }}"}"#,
                Ok(r#"{"a":"it's"}"#),
            ),
        ],
    );
}

/// Behind a byte order mark go-yaml escapes everything: upstream leaves the template unresolved.
#[test]
fn tmpl_28_byte_order_mark_does_not_hide_templates() {
    check(
        "byte order mark",
        resolve_json,
        &[(
            "{\"a\":\"\u{feff}{{ upper `v1` }}\"}",
            Ok("{\"a\":\"\u{feff}V1\"}"),
        )],
    );
}

/// Upstream escapes the quotes inside actions of strings that YAML has to put into double quotes.
#[test]
fn tmpl_28_action_in_double_quoted_string_is_resolved() {
    check(
        "double quotes",
        resolve_json,
        &[
            (
                r#"{"a":"{{ upper \"v1\" }} \n x\n"}"#,
                Ok(r#"{"a":"V1 \n x\n"}"#),
            ),
            (r#"{"a":"{{ upper \"v1\" }}\tx"}"#, Ok(r#"{"a":"V1\tx"}"#)),
            (r#"{"a":"😱 {{ upper \"v1\" }}"}"#, Ok(r#"{"a":"😱 V1"}"#)),
            (
                r#"{"a":"{{ upper \"v1\" }}\r\nx"}"#,
                Ok(r#"{"a":"V1\r\nx"}"#),
            ),
        ],
    );
}
