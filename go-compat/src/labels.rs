//! Label selectors as `k8s.io/apimachinery/pkg/labels` reads them, with its error texts.

use serde_json::Value as Json;

use crate::runes::quote;

/// Requirements on labels; all must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selector(Vec<Requirement>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Requirement {
    key: String,
    operator: Operator,
    values: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Exists,
    Absent,
    In,
    NotIn,
    Equals,
    NotEquals,
    Greater,
    Less,
}

impl Operator {
    fn is_numeric(self) -> bool {
        matches!(self, Self::Greater | Self::Less)
    }
}

impl Selector {
    /// Several selectors as one. If the first is empty, so is the result.
    pub fn join<S: AsRef<str>>(selectors: &[S]) -> String {
        let mut texts = selectors.iter().map(AsRef::as_ref).peekable();
        if texts.peek().is_none_or(|first| first.is_empty()) {
            return String::new();
        }
        texts.collect::<Vec<_>>().join(",")
    }

    /// Reads a selector; the error is the API machinery's text.
    pub fn parse(text: &str) -> Result<Self, String> {
        Parser {
            tokens: tokens(text),
            position: 0,
        }
        .requirements()
        .map(Self)
    }

    /// Reads the `matchLabels` and `matchExpressions` of an object that an API server has validated; `None` for an unknown
    /// operator.
    pub fn of_object(selector: &Json) -> Option<Self> {
        let items = |list: &Json| list.as_array().cloned().unwrap_or_default();
        let text = |value: &Json| value.as_str().map(str::to_owned);
        let equal = selector["matchLabels"].as_object().into_iter().flatten();
        let equal = equal.map(|(key, value)| {
            Some(Requirement {
                key: key.clone(),
                operator: Operator::Equals,
                values: vec![text(value)?],
            })
        });
        let expressions = items(&selector["matchExpressions"]).into_iter();
        let expressions = expressions.map(|one| {
            Some(Requirement {
                key: text(&one["key"])?,
                operator: match one["operator"].as_str()? {
                    "In" => Operator::In,
                    "NotIn" => Operator::NotIn,
                    "Exists" => Operator::Exists,
                    "DoesNotExist" => Operator::Absent,
                    _ => return None,
                },
                values: items(&one["values"])
                    .iter()
                    .map(text)
                    .collect::<Option<_>>()?,
            })
        });
        equal.chain(expressions).collect::<Option<_>>().map(Self)
    }

    /// Whether it selects everything.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a label can have this key and these values, and `misuse` is nothing: why the operator does not take the
    /// values. The error is the API machinery's text for a requirement of a selector that is no text. A selector that is
    /// put together as a text is made of nothing else: a comma in a value would begin another requirement.
    pub fn check(key: &str, misuse: Option<String>, values: &[String]) -> Result<(), String> {
        let errors = key_errors(key);
        let faulty_key = (!errors.is_empty()).then(|| invalid("key", key, &errors.join("; ")));
        let faulty_values = value_problems(key, Operator::In, values);
        let problems: Vec<_> = faulty_key
            .into_iter()
            .chain(misuse)
            .chain(faulty_values)
            .collect();
        aggregate(&problems)
    }

    /// Whether a requirement compares numbers (`>` or `<`).
    pub fn has_numeric_requirement(&self) -> bool {
        self.0
            .iter()
            .any(|requirement| requirement.operator.is_numeric())
    }

    /// Whether labels match; `label` returns the value of a key.
    pub fn matches<'a>(&self, label: impl Fn(&str) -> Option<&'a str>) -> bool {
        self.0
            .iter()
            .all(|requirement| requirement.matches(label(&requirement.key)))
    }

    /// Whether an object's labels match.
    pub fn matches_object(&self, object: &Json) -> bool {
        let labels = object.pointer("/metadata/labels");
        self.matches(|name| labels?.get(name)?.as_str())
    }
}

impl Requirement {
    fn matches(&self, label: Option<&str>) -> bool {
        let listed = |label: &str| self.values.iter().any(|value| value == label);
        match self.operator {
            Operator::Exists => label.is_some(),
            Operator::Absent => label.is_none(),
            Operator::In | Operator::Equals => label.is_some_and(listed),
            Operator::NotIn | Operator::NotEquals => !label.is_some_and(listed),
            Operator::Greater => self.compares(label, |label, value| label > value),
            Operator::Less => self.compares(label, |label, value| label < value),
        }
    }

    fn compares(&self, label: Option<&str>, holds: impl Fn(i64, i64) -> bool) -> bool {
        let label = label.and_then(|label| label.parse().ok());
        let value = self.values.first().and_then(|value| value.parse().ok());
        matches!((label, value), (Some(label), Some(value)) if holds(label, value))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Identifier,
    Open,
    Close,
    Comma,
    Not,
    Equals,
    DoubleEquals,
    NotEquals,
    Greater,
    Less,
    In,
    NotIn,
    Error,
    End,
}

const WHITESPACE: [char; 4] = [' ', '\t', '\r', '\n'];

/// A NUL ends the token before it; where a token would begin, it ends the text.
fn tokens(text: &str) -> Vec<(Kind, String)> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start_matches(WHITESPACE);
    while let Some(first) = rest.chars().next().filter(|first| *first != '\0') {
        let symbols = |character: char| "=!(),><".contains(character);
        let length = if symbols(first) {
            let two = rest.get(..2).unwrap_or_default();
            if matches!(two, "==" | "!=") { 2 } else { 1 }
        } else {
            let ends = |character: char| {
                character == '\0' || WHITESPACE.contains(&character) || symbols(character)
            };
            rest.find(ends).unwrap_or(rest.len())
        };
        let (token, after) = rest.split_at(length);
        let kind = match token {
            ")" => Kind::Close,
            "," => Kind::Comma,
            "!" => Kind::Not,
            "==" => Kind::DoubleEquals,
            "=" => Kind::Equals,
            "in" => Kind::In,
            "!=" => Kind::NotEquals,
            "notin" => Kind::NotIn,
            "(" => Kind::Open,
            ">" => Kind::Greater,
            "<" => Kind::Less,
            "" => Kind::Error,
            _ => Kind::Identifier,
        };
        tokens.push((kind, token.to_owned()));
        rest = after.strip_prefix('\0').unwrap_or(after);
        rest = rest.trim_start_matches(WHITESPACE);
    }
    tokens
}

struct Parser {
    tokens: Vec<(Kind, String)>,
    position: usize,
}

impl Parser {
    /// The next token; where values stand, `in` and `notin` are words like others.
    fn peek(&self, values: bool) -> (Kind, &str) {
        match self.tokens.get(self.position) {
            None => (Kind::End, ""),
            Some((Kind::In | Kind::NotIn, text)) if values => (Kind::Identifier, text),
            Some((kind, text)) => (*kind, text),
        }
    }

    fn next(&mut self, values: bool) -> (Kind, String) {
        let (kind, text) = self.peek(values);
        let token = (kind, text.to_owned());
        self.position += 1;
        token
    }

    fn requirements(mut self) -> Result<Vec<Requirement>, String> {
        let mut requirements = Vec::new();
        loop {
            let (kind, text) = self.peek(true);
            match kind {
                Kind::End => return Ok(requirements),
                Kind::Identifier | Kind::Not => {}
                _ => {
                    return Err(format!(
                        "found '{text}', expected: !, identifier, or 'end of string'"
                    ));
                }
            }
            let requirement = self
                .requirement()
                .map_err(|error| format!("unable to parse requirement: {error}"))?;
            requirements.push(requirement);
            let (kind, text) = self.next(true);
            match kind {
                Kind::End => return Ok(requirements),
                Kind::Comma => {
                    let (kind, text) = self.peek(true);
                    if !matches!(kind, Kind::Identifier | Kind::Not) {
                        return Err(format!("found '{text}', expected: identifier after ','"));
                    }
                }
                _ => return Err(format!("found '{text}', expected: ',' or 'end of string'")),
            }
        }
    }

    fn requirement(&mut self) -> Result<Requirement, String> {
        let (mut kind, mut key) = self.next(true);
        let negated = kind == Kind::Not;
        if negated {
            (kind, key) = self.next(true);
        }
        if kind != Kind::Identifier {
            return Err(format!("found '{key}', expected: identifier"));
        }
        check_key(&key)?;
        if negated {
            return Ok(Requirement {
                key,
                operator: Operator::Absent,
                values: Vec::new(),
            });
        }
        if matches!(self.peek(true).0, Kind::End | Kind::Comma) {
            return Ok(Requirement {
                key,
                operator: Operator::Exists,
                values: Vec::new(),
            });
        }
        let (kind, text) = self.next(false);
        let operator = match kind {
            Kind::In => Operator::In,
            Kind::NotIn => Operator::NotIn,
            Kind::Equals | Kind::DoubleEquals => Operator::Equals,
            Kind::NotEquals => Operator::NotEquals,
            Kind::Greater => Operator::Greater,
            Kind::Less => Operator::Less,
            _ => {
                return Err(format!(
                    "found '{text}', expected: in, notin, =, ==, !=, gt, lt"
                ));
            }
        };
        let mut values = match operator {
            Operator::In | Operator::NotIn => self.values()?,
            _ => vec![self.exact_value()?],
        };
        values.sort();
        values.dedup();
        check_values(&key, operator, &values)?;
        Ok(Requirement {
            key,
            operator,
            values,
        })
    }

    fn exact_value(&mut self) -> Result<String, String> {
        if matches!(self.peek(true).0, Kind::End | Kind::Comma) {
            return Ok(String::new());
        }
        let (kind, text) = self.next(true);
        if kind == Kind::Identifier {
            Ok(text)
        } else {
            Err(format!("found '{text}', expected: identifier"))
        }
    }

    fn values(&mut self) -> Result<Vec<String>, String> {
        let (kind, text) = self.next(true);
        if kind != Kind::Open {
            return Err(format!("found '{text}' expected: '('"));
        }
        let (kind, text) = self.peek(true);
        match kind {
            Kind::Identifier | Kind::Comma => {
                let values = self.identifiers()?;
                let (kind, text) = self.next(true);
                if kind == Kind::Close {
                    Ok(values)
                } else {
                    Err(format!("found '{text}', expected: ')'"))
                }
            }
            Kind::Close => {
                self.position += 1;
                Ok(vec![String::new()])
            }
            _ => Err(format!("found '{text}', expected: ',', ')' or identifier")),
        }
    }

    fn identifiers(&mut self) -> Result<Vec<String>, String> {
        let mut values = Vec::new();
        loop {
            let (kind, text) = self.next(true);
            match kind {
                Kind::Identifier => {
                    values.push(text);
                    let (kind, text) = self.peek(true);
                    match kind {
                        Kind::Comma => {}
                        Kind::Close => return Ok(values),
                        _ => return Err(format!("found '{text}', expected: ',' or ')'")),
                    }
                }
                Kind::Comma => {
                    if values.is_empty() {
                        values.push(String::new());
                    }
                    match self.peek(true).0 {
                        Kind::Close => {
                            values.push(String::new());
                            return Ok(values);
                        }
                        Kind::Comma => {
                            self.position += 1;
                            values.push(String::new());
                        }
                        _ => {}
                    }
                }
                _ => return Err(format!("found '{text}', expected: ',', or identifier")),
            }
        }
    }
}

const NAME_PART: &str = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const PREFIX_PART: &str = "prefix part a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const TWO_PARTS: &str = "a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";
const VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

/// No name of a key and no value may be longer, in bytes.
const MAX_LENGTH: usize = 63;
/// No DNS-1123 subdomain may be longer, in bytes: neither the prefix of a key nor a name.
const MAX_SUBDOMAIN_LENGTH: usize = 253;

/// Why no label can have this key, in the words of the API machinery; nothing if one can.
pub fn key_errors(key: &str) -> Vec<String> {
    let mut errors = Vec::new();
    let name = match key.split_once('/') {
        None => key,
        Some((_, name)) if name.contains('/') => return vec![TWO_PARTS.to_owned()],
        Some((prefix, name)) => {
            if prefix.is_empty() {
                errors.push("prefix part must be non-empty".to_owned());
            } else {
                if prefix.len() > MAX_SUBDOMAIN_LENGTH {
                    errors.push(format!("prefix part {}", too_long(MAX_SUBDOMAIN_LENGTH)));
                }
                if !prefix.split('.').all(is_dns_label) {
                    errors.push(PREFIX_PART.to_owned());
                }
            }
            name
        }
    };
    if name.is_empty() {
        errors.push("name part must be non-empty".to_owned());
    } else if name.len() > MAX_LENGTH {
        errors.push(format!("name part {}", too_long(MAX_LENGTH)));
    }
    if !is_name(name) {
        errors.push(NAME_PART.to_owned());
    }
    errors
}

/// Why no label can have this value, in the words of the API machinery; nothing if one can.
pub fn value_errors(value: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if value.len() > MAX_LENGTH {
        errors.push(too_long(MAX_LENGTH));
    }
    if !value.is_empty() && !is_name(value) {
        errors.push(VALUE.to_owned());
    }
    errors
}

fn too_long(limit: usize) -> String {
    format!("must be no more than {limit} bytes")
}

fn is_name(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let edge = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = text.as_bytes();
    edge(bytes.first()) && edge(bytes.last()) && bytes.iter().all(|byte| inner(*byte))
}

/// Whether the API machinery takes a text for a DNS-1123 subdomain, such as the name of an object.
pub fn is_dns_subdomain(text: &str) -> bool {
    text.len() <= MAX_SUBDOMAIN_LENGTH && text.split('.').all(is_dns_label)
}

/// Whether a text has the letters of a DNS-1123 label. Its length is not checked.
pub fn is_dns_label(text: &str) -> bool {
    let lower = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let edge = |byte: Option<&u8>| byte.is_some_and(|byte| lower(*byte));
    let bytes = text.as_bytes();
    edge(bytes.first())
        && edge(bytes.last())
        && bytes.iter().all(|byte| lower(*byte) || *byte == b'-')
}

/// Checks the key of a requirement in a text. The parser of texts names no field.
fn check_key(key: &str) -> Result<(), String> {
    let errors = key_errors(key);
    if errors.is_empty() {
        return Ok(());
    }
    Err(invalid("<nil>", key, &errors.join("; ")))
}

fn check_values(key: &str, operator: Operator, values: &[String]) -> Result<(), String> {
    aggregate(&value_problems(key, operator, values))
}

fn value_problems(key: &str, operator: Operator, values: &[String]) -> Vec<String> {
    let mut problems = Vec::new();
    for (place, value) in values.iter().enumerate() {
        if operator.is_numeric() && value.parse::<i64>().is_err() {
            problems.push(invalid(
                &format!("values[{place}]"),
                value,
                "for 'Gt', 'Lt' operators, the value must be an integer",
            ));
        }
        let errors = value_errors(value);
        if !errors.is_empty() {
            let field = format!("values[{place}][{key}]");
            problems.push(invalid(&field, value, &errors.join("; ")));
        }
    }
    problems
}

fn aggregate(problems: &[String]) -> Result<(), String> {
    match problems {
        [] => Ok(()),
        [one] => Err(one.clone()),
        several => Err(format!("[{}]", several.join(", "))),
    }
}

fn invalid(field: &str, value: &str, why: &str) -> String {
    format!("{field}: Invalid value: {}: {why}", quote(value))
}
