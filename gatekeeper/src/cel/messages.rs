//! What is wrong with expressions and sources, in the words of Gatekeeper where it has some.

pub const UNREADABLE: &str = "the expression cannot be parsed";
pub const NOT_A_NAME: &str = "argument must be a simple name";
pub const SOURCE_NOT_AN_OBJECT: &str = "could not recognize the type";
pub const GENERATE_VAP_NOT_A_BOOLEAN: &str = "unrecognized type: bool";

pub fn too_long(size: usize, limit: usize) -> String {
    format!("expression code point size exceeds limit: size: {size}, limit {limit}")
}

pub fn too_deep(limit: usize) -> String {
    format!("expression recursion limit exceeded: {limit}")
}

pub fn not_of_type(wanted: &str, given: &str) -> String {
    format!("must evaluate to {wanted} but got {given}")
}

pub fn undeclared(name: &str) -> String {
    format!("undeclared reference to '{name}' (in container '')")
}

pub fn undefined_field(name: &str) -> String {
    format!("undefined field '{name}'")
}

pub fn no_fields(of: &str) -> String {
    format!("type '{of}' does not support field selection")
}

pub fn no_overload(name: &str, types: &str) -> String {
    format!("found no matching overload for '{name}' applied to '{types}'")
}

pub fn expected_type(expected: &str, given: &str) -> String {
    format!("expected type '{expected}' but found '{given}'")
}

pub fn not_iterable(of: &str) -> String {
    format!(
        "expression of type '{of}' cannot be range of a comprehension (must be list, map, or dynamic)"
    )
}

pub fn invalid_argument(function: &str) -> String {
    format!("invalid {function} argument")
}

pub fn variable_not_compiled(name: &str, error: &str) -> String {
    format!("composited variable \"{name}\" fails to compile: {error}")
}

pub fn compilation(at: &str, error: &str) -> String {
    format!("compilation error: {at}: {error}")
}

pub fn reserved_variable(name: &str) -> String {
    format!(
        "invalid variable definition: {name} an invalid variable name, \"{name}\" is a reserved keyword"
    )
}

pub fn prefixed_variable(name: &str, prefix: &str) -> String {
    format!(
        "invalid variable definition: {name} is not a valid variable; cannot have \"{prefix}\" as a prefix"
    )
}

pub fn prefixed_condition(name: &str, prefix: &str) -> String {
    format!(
        "invalid match condition: {name} is not a valid match condition; cannot have \"{prefix}\" as a prefix"
    )
}

pub fn unknown_failure_policy(policy: &str) -> String {
    format!("invalid failure policy: unrecognized failure policy: {policy}")
}

pub fn not_a_list(given: &str) -> String {
    format!("cannot restore slice from {given}")
}

pub fn not_a_text(at: &str, given: &str) -> String {
    format!("{at}: cannot restore string from {given}")
}

pub fn failed(expression: &str) -> String {
    format!("failed expression: {expression}")
}

pub fn error_of_expression(expression: &str, error: impl std::fmt::Display) -> String {
    format!("expression '{expression}' resulted in error: {error}")
}

pub const NO_DOTS: &str = "must not contain dots";
pub const EMPTY_PREFIX: &str = "prefix part must be non-empty";
pub const EMPTY_NAME: &str = "name part must be non-empty";
pub const PREFIX_PART: &str = "prefix part ";
pub const NAME_PART: &str = "name part ";
pub const NOT_A_UUID: &str = "does not match the UUID format";
pub const NOT_BASE64: &str = "invalid base64";
pub const NOT_A_DATE: &str = "invalid date";
pub const NOT_A_TIME: &str = "invalid datetime";

pub fn at_most(most: usize, unit: &str) -> String {
    format!("must be no more than {most} {unit}")
}

pub fn not_a_label(pattern: &str) -> String {
    format!(
        "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '{pattern}')"
    )
}

pub fn not_a_subdomain(pattern: &str) -> String {
    format!(
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '{pattern}')"
    )
}

pub fn not_an_old_label(pattern: &str) -> String {
    format!(
        "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '{pattern}')"
    )
}

pub fn not_a_label_value(pattern: &str) -> String {
    format!(
        "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '{pattern}')"
    )
}

/// What the parts of a qualified name consist of.
fn name_rule(pattern: &str) -> String {
    format!(
        "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '{pattern}')"
    )
}

pub fn not_a_name_part(pattern: &str) -> String {
    format!("{NAME_PART}{}", name_rule(pattern))
}

pub fn not_a_qualified_name(pattern: &str) -> String {
    let rule = name_rule(pattern);
    format!(
        "a valid label key {rule} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
    )
}

pub fn not_a_uri(text: &str) -> String {
    format!("parse \"{text}\": invalid URI for request")
}

pub const UNEXPECTED_END: &str = "unexpected end of string";

pub fn unknown_clause(verb: char) -> String {
    format!("could not parse formatting clause: unrecognized formatting clause \"{verb}\"")
}

pub fn no_argument(index: usize) -> String {
    format!("index {index} out of range")
}

pub fn clause_mismatch(expected: &str, given: &str) -> String {
    format!("error during formatting: {expected}, was given {given}")
}

pub const INVALID_UTF8: &str = "invalid UTF-8 in bytes, cannot convert to string";

/// What a clause shows, in errors.
pub fn clause_name(verb: char) -> Option<&'static str> {
    Some(match verb {
        's' => {
            "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps"
        }
        'd' => "decimal clause can only be used on integers",
        'f' => "fixed-point clause can only be used on doubles",
        'e' => "scientific clause can only be used on doubles",
        'b' => "only integers and bools can be formatted as binary",
        'o' => "octal clause can only be used on integers",
        'x' | 'X' => "only integers, byte buffers, and strings can be formatted as hex",
        _ => return None,
    })
}
