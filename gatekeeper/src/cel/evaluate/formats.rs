//! Named formats: what Kubernetes finds wrong with names, and the texts that it has for it.

use std::sync::LazyLock;

use regex::Regex;

use super::foreign;
use crate::cel::error::{EvalError, Evaluated};
use crate::cel::messages;
use crate::cel::signatures::FORMATS;
use crate::cel::value::Value;

const MAX_LABEL: usize = 63;
const MAX_SUBDOMAIN: usize = 253;

const LABEL: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const SUBDOMAIN: &str = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
const OLD_LABEL: &str = "[a-z]([-a-z0-9]*[a-z0-9])?";
const NAME: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const LABEL_VALUE: &str = "(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?";
const UUID: &str = "(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}";
const BYTE: &str = "(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?";

type Pattern = LazyLock<Option<Regex>>;

macro_rules! whole {
    ($pattern:expr) => {
        LazyLock::new(|| Regex::new(&format!("^(?:{})$", $pattern)).ok())
    };
}

static IS_LABEL: Pattern = whole!(LABEL);
static IS_SUBDOMAIN: Pattern = whole!(SUBDOMAIN);
static IS_OLD_LABEL: Pattern = whole!(OLD_LABEL);
static IS_NAME: Pattern = whole!(NAME);
static IS_LABEL_VALUE: Pattern = whole!(LABEL_VALUE);
static IS_UUID: Pattern = whole!(UUID);
static IS_BYTE: Pattern = whole!(BYTE);

fn matches(pattern: &Pattern, text: &str) -> bool {
    pattern
        .as_ref()
        .is_some_and(|pattern| pattern.is_match(text))
}

/// Calls the function if it is one of named formats.
pub fn call<'a>(name: &str, all: &[&Value<'a>]) -> Option<Evaluated<'a>> {
    let found = |name: &str| FORMATS.iter().find(|one| **one == name).copied();
    if let Some(format) = name.strip_prefix("format.").and_then(found) {
        return Some(Ok(Value::Format(format)));
    }
    match (name, all) {
        ("format.named", [Value::String(text)]) => {
            let format = found(text.as_str()).map(Value::Format);
            Some(Ok(format.map_or(Value::Optional(None), Value::some)))
        }
        ("validate", [Value::Format(format), Value::String(text)]) => {
            let problems = problems(format, text.as_str());
            if problems.is_empty() {
                return Some(Ok(Value::Optional(None)));
            }
            let problems = problems.into_iter().map(Value::text).collect();
            Some(Ok(Value::some(Value::list(problems))))
        }
        ("format.named" | "validate", _) => Some(Err(EvalError::no_overload_for(name, all))),
        _ => None,
    }
}

fn problems(format: &str, text: &str) -> Vec<String> {
    let problem = |is_fine: bool, text: String| if is_fine { Vec::new() } else { vec![text] };
    match format {
        "dns1123Label" => label(text),
        "dns1123LabelPrefix" => label(&completed(text)),
        "dns1123Subdomain" => subdomain(text),
        "dns1123SubdomainPrefix" => subdomain(&completed(text)),
        "dns1035Label" => old_label(text),
        "dns1035LabelPrefix" => old_label(&completed(text)),
        "qualifiedName" => qualified_name(text),
        "labelValue" => {
            let mut problems = too_many_bytes(text, "");
            if !matches(&IS_LABEL_VALUE, text) {
                problems.push(messages::not_a_label_value(LABEL_VALUE));
            }
            problems
        }
        "uri" => problem(is_uri(text), messages::not_a_uri(text)),
        "uuid" => problem(matches(&IS_UUID, text), messages::NOT_A_UUID.to_owned()),
        "byte" => problem(matches(&IS_BYTE, text), messages::NOT_BASE64.to_owned()),
        "date" => {
            let is_date = text.len() == "2006-01-02".len() && is_time(&format!("{text}T00:00:00Z"));
            problem(is_date, messages::NOT_A_DATE.to_owned())
        }
        _ => problem(is_time(text), messages::NOT_A_TIME.to_owned()),
    }
}

fn is_time(text: &str) -> bool {
    foreign::call("timestamp", None, &[&Value::text(text)]).is_ok()
}

fn is_uri(text: &str) -> bool {
    let is_uri = foreign::call("isURL", None, &[&Value::text(text)]);
    matches!(is_uri, Ok(Value::Bool(true)))
}

/// A prefix that ends with a hyphen, as a name that begins with it.
fn completed(prefix: &str) -> String {
    match prefix.strip_suffix('-') {
        Some(rest) if !rest.is_empty() => format!("{rest}a"),
        _ => prefix.to_owned(),
    }
}

fn too_long(text: &str, most: usize) -> Vec<String> {
    if text.len() > most {
        vec![messages::at_most(most, "characters")]
    } else {
        Vec::new()
    }
}

fn too_many_bytes(text: &str, part: &str) -> Vec<String> {
    if text.len() > MAX_LABEL {
        vec![format!("{part}{}", messages::at_most(MAX_LABEL, "bytes"))]
    } else {
        Vec::new()
    }
}

fn label(text: &str) -> Vec<String> {
    let mut problems = too_long(text, MAX_LABEL);
    if !matches(&IS_LABEL, text) {
        problems.push(if matches(&IS_SUBDOMAIN, text) {
            messages::NO_DOTS.to_owned()
        } else {
            messages::not_a_label(LABEL)
        });
    }
    problems
}

fn subdomain(text: &str) -> Vec<String> {
    let mut problems = too_long(text, MAX_SUBDOMAIN);
    if !matches(&IS_SUBDOMAIN, text) {
        problems.push(messages::not_a_subdomain(SUBDOMAIN));
    }
    problems
}

fn old_label(text: &str) -> Vec<String> {
    let mut problems = too_long(text, MAX_LABEL);
    if !matches(&IS_OLD_LABEL, text) {
        problems.push(messages::not_an_old_label(OLD_LABEL));
    }
    problems
}

fn qualified_name(text: &str) -> Vec<String> {
    let parts: Vec<&str> = text.split('/').collect();
    let (mut problems, name) = match parts.as_slice() {
        [name] => (Vec::new(), *name),
        ["", name] => (vec![messages::EMPTY_PREFIX.to_owned()], *name),
        [prefix, name] => {
            let problems = subdomain(prefix).into_iter();
            let problems = problems.map(|one| format!("{}{one}", messages::PREFIX_PART));
            (problems.collect(), *name)
        }
        _ => return vec![messages::not_a_qualified_name(NAME)],
    };
    if name.is_empty() {
        problems.push(messages::EMPTY_NAME.to_owned());
    } else {
        problems.extend(too_many_bytes(name, messages::NAME_PART));
    }
    if !matches(&IS_NAME, name) {
        problems.push(messages::not_a_name_part(NAME));
    }
    problems
}
