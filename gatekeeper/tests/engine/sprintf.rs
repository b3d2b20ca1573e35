//! `sprintf` prints as Go does.

use crate::support::{messages_of, pod};
use rstest::rstest;

fn text(arguments: &str) -> String {
    let rego = format!("package probe\nviolation[{{\"msg\": m}}] {{ m := sprintf({arguments}) }}");
    messages_of(&rego, pod("p")).join("|")
}

#[rstest]
#[case::missing(r#""%v and %v", ["a"]"#, "a and %!v(MISSING)")]
#[case::extra(r#""%v", ["a", "b"]"#, "a%!(EXTRA string=b)")]
#[case::wrong_verb(r#""%d", ["a"]"#, "%!d(string=a)")]
#[case::float_as_whole(r#""%d", [1.5]"#, "%!d(float64=1.5)")]
#[case::boolean(r#""%t", [true]"#, "%!t(string=true)")]
#[case::boolean_value(r#""%v", [true]"#, "true")]
#[case::quoted(r#""%q", ["a\"b"]"#, r#""a\"b""#)]
#[case::padded(r#""[%-5s][%5s][%05d]", ["a", "b", 42]"#, "[a    ][    b][00042]")]
#[case::nested(
    r#""%v", [{"b": [1, "x", null], "a": {"c"}}]"#,
    r#"{"a": {"c"}, "b": [1, "x", null]}"#
)]
#[case::empty_set(r#""%v", [set()]"#, "set()")]
#[case::big(
    r#""%d %v", [123456789012345678901234567890, 123456789012345678901234567890]"#,
    "123456789012345678901234567890 123456789012345678901234567890"
)]
#[case::float(r#""%v %.2f", [0.25, 1.005]"#, "0.25 1.00")]
#[case::whole(r#""%v %s", [3, 3]"#, "3 %!s(int=3)")]
#[case::percent(r#""100%%", []"#, "100%")]
#[case::null(r#""%v", [null]"#, "null")]
fn gk_115_format_is_that_of_go(#[case] arguments: &str, #[case] expected: &str) {
    assert_eq!(text(arguments), expected);
}
