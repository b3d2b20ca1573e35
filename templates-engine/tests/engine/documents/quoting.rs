//! Quotes inside actions.

use super::check;
use crate::world::resolve_json;

/// Upstream doubles a quote inside an action and so corrupts what the action works on.
#[test]
fn rough_edge_3_quotes_inside_actions_are_the_authors() {
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

/// Upstream escapes the quotes inside actions of strings that YAML has to put into double quotes.
#[test]
fn rough_edge_4_actions_in_double_quoted_strings_work() {
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
