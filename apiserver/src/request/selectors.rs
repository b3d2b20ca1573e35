//! Selectors in queries: by labels and by fields.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::status_error::{StatusError, go_quoted};

/// The operator of a label requirement.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Wants {
    /// One of these values.
    In(Vec<String>),
    /// None of these values, or no such label.
    NotIn(Vec<String>),
    /// Any value.
    Exists,
    /// No such label.
    Absent,
    /// A number above this one.
    Above(i64),
    /// A number below this one.
    Below(i64),
}

/// A label selector: all requirements have to hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelSelector(Vec<(String, Wants)>);

impl LabelSelector {
    /// Reads a selector such as `a=b,c in (d,e),!f`.
    pub fn parse(text: &str) -> Result<Self, StatusError> {
        Transport::new(text)
            .selector()
            .map_err(StatusError::bad_request)
    }

    /// Reads the `matchLabels` and `matchExpressions` of an object; `None` if they make no sense.
    pub fn of_object(selector: &Value) -> Option<Self> {
        let mut all = Vec::new();
        for (key, value) in selector["matchLabels"].as_object().into_iter().flatten() {
            let value = value.as_str()?.to_owned();
            all.push((key.clone(), Wants::In(vec![value])));
        }
        for one in selector["matchExpressions"]
            .as_array()
            .into_iter()
            .flatten()
        {
            let values = one["values"].as_array().into_iter().flatten();
            let values: Option<Vec<_>> = values
                .map(|value| value.as_str().map(str::to_owned))
                .collect();
            let wants = match one["operator"].as_str()? {
                "In" => Wants::In(values?),
                "NotIn" => Wants::NotIn(values?),
                "Exists" => Wants::Exists,
                "DoesNotExist" => Wants::Absent,
                _ => return None,
            };
            all.push((one["key"].as_str()?.to_owned(), wants));
        }
        Some(Self(all))
    }

    /// Whether it asks nothing.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether an object with these labels is selected.
    pub fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        self.0.iter().all(|(key, wants)| {
            let value = labels.get(key);
            match wants {
                Wants::In(values) => value.is_some_and(|value| values.contains(value)),
                Wants::NotIn(values) => value.is_none_or(|value| !values.contains(value)),
                Wants::Exists => value.is_some(),
                Wants::Absent => value.is_none(),
                Wants::Above(limit) => number(value).is_some_and(|number| number > *limit),
                Wants::Below(limit) => number(value).is_some_and(|number| number < *limit),
            }
        })
    }
}

fn number(value: Option<&String>) -> Option<i64> {
    value?.parse().ok()
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Word(String),
    Sign(&'static str),
    End,
}

impl Token {
    fn shown(&self) -> &str {
        match self {
            Self::Word(word) => word,
            Self::Sign(sign) => sign,
            Self::End => "",
        }
    }
}

struct Transport {
    tokens: Vec<Token>,
    at: usize,
}

impl Transport {
    fn new(text: &str) -> Self {
        const SIGNS: [&str; 10] = ["!=", "==", "=", "!", "(", ")", ",", ">", "<", ""];
        let mut tokens = Vec::new();
        let mut rest = text;
        loop {
            rest = rest.trim_start();
            if rest.is_empty() {
                break;
            }
            let sign = SIGNS.into_iter().find(|sign| rest.starts_with(sign));
            match sign {
                Some(sign) if !sign.is_empty() => {
                    tokens.push(Token::Sign(sign));
                    rest = rest.get(sign.len()..).unwrap_or_default();
                }
                _ => {
                    let ends = |letter: char| letter.is_whitespace() || "=!(),><".contains(letter);
                    let length = rest.find(ends).unwrap_or(rest.len());
                    let (word, after) = rest.split_at(length);
                    tokens.push(Token::Word(word.to_owned()));
                    rest = after;
                }
            }
        }
        Self { tokens, at: 0 }
    }

    fn peek(&self) -> Token {
        self.tokens.get(self.at).cloned().unwrap_or(Token::End)
    }

    fn next(&mut self) -> Token {
        let token = self.peek();
        self.at += 1;
        token
    }

    fn selector(mut self) -> Result<LabelSelector, String> {
        let mut all = Vec::new();
        loop {
            match self.peek() {
                Token::Word(_) | Token::Sign("!") => {
                    let requirement = self.requirement();
                    all.push(
                        requirement.map_err(|why| format!("unable to parse requirement: {why}"))?,
                    );
                    match self.next() {
                        Token::End => break,
                        Token::Sign(",") => {
                            if !matches!(self.peek(), Token::Word(_) | Token::Sign("!")) {
                                return Err(format!(
                                    "found '{}', expected: identifier after ','",
                                    self.peek().shown()
                                ));
                            }
                        }
                        other => {
                            return Err(format!(
                                "found '{}', expected: ',' or 'end of string'",
                                other.shown()
                            ));
                        }
                    }
                }
                Token::End => break,
                other @ Token::Sign(_) => {
                    return Err(format!(
                        "found '{}', expected: !, identifier, or 'end of string'",
                        other.shown()
                    ));
                }
            }
        }
        Ok(LabelSelector(all))
    }

    fn requirement(&mut self) -> Result<(String, Wants), String> {
        let negated = self.peek() == Token::Sign("!");
        if negated {
            self.next();
        }
        let key = match self.next() {
            Token::Word(word) => word,
            other => return Err(format!("found '{}', expected: identifier", other.shown())),
        };
        check_key(&key)?;
        if negated {
            return Ok((key, Wants::Absent));
        }
        if matches!(self.peek(), Token::End | Token::Sign(",")) {
            return Ok((key, Wants::Exists));
        }
        let wants = match self.next() {
            Token::Word(word) if word == "in" => Wants::In(self.values(&key)?),
            Token::Word(word) if word == "notin" => Wants::NotIn(self.values(&key)?),
            Token::Sign("=" | "==") => Wants::In(vec![self.value(&key)?]),
            Token::Sign("!=") => Wants::NotIn(vec![self.value(&key)?]),
            Token::Sign(">") => Wants::Above(self.limit(&key)?),
            Token::Sign("<") => Wants::Below(self.limit(&key)?),
            other => {
                return Err(format!(
                    "found '{}', expected: in, notin, =, ==, !=, gt, lt",
                    other.shown()
                ));
            }
        };
        Ok((key, wants))
    }

    fn value(&mut self, key: &str) -> Result<String, String> {
        match self.peek() {
            Token::Word(word) => {
                self.next();
                check_value(key, &word)?;
                Ok(word)
            }
            Token::End | Token::Sign(",") => Ok(String::new()),
            other @ Token::Sign(_) => {
                Err(format!("found '{}', expected: identifier", other.shown()))
            }
        }
    }

    fn limit(&mut self, key: &str) -> Result<i64, String> {
        let text = self.value(key)?;
        text.parse().map_err(|_| {
            format!(
                "values[0][{key}]: Invalid value: {}: for 'Gt', 'Lt' operators, the value must be an integer",
                go_quoted(&text)
            )
        })
    }

    fn values(&mut self, key: &str) -> Result<Vec<String>, String> {
        match self.next() {
            Token::Sign("(") => {}
            other => return Err(format!("found '{}' expected: '('", other.shown())),
        }
        let mut values = Vec::new();
        loop {
            match self.next() {
                Token::Word(word) => {
                    check_value(key, &word)?;
                    values.push(word);
                    match self.next() {
                        Token::Sign(",") => {
                            if self.peek() == Token::Sign(")") {
                                values.push(String::new());
                            }
                        }
                        Token::Sign(")") => break,
                        other => {
                            return Err(format!("found '{}', expected: ',' or ')'", other.shown()));
                        }
                    }
                }
                Token::Sign(",") => values.push(String::new()),
                Token::Sign(")") => {
                    if values.is_empty() {
                        values.push(String::new());
                    }
                    break;
                }
                other => {
                    return Err(format!(
                        "found '{}', expected: ',', ')' or identifier",
                        other.shown()
                    ));
                }
            }
        }
        Ok(values)
    }
}

fn check_key(key: &str) -> Result<(), String> {
    let errors: Vec<String> = crate::names::qualified_name(key)
        .into_iter()
        .map(|why| why.replace("a qualified name must", "a valid label key must"))
        .collect();
    if errors.is_empty() {
        return Ok(());
    }
    Err(format!(
        "<nil>: Invalid value: {}: {}",
        go_quoted(key),
        errors.join("; ")
    ))
}

fn check_value(key: &str, value: &str) -> Result<(), String> {
    let errors = crate::names::label_value(value);
    if errors.is_empty() {
        return Ok(());
    }
    Err(format!(
        "values[0][{key}]: Invalid value: {}: {}",
        go_quoted(value),
        errors.join("; ")
    ))
}

/// A field selector: each field has to have, or not to have, a value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldSelector(pub Vec<FieldRequirement>);

/// A requirement of a field selector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldRequirement {
    /// The field, such as `metadata.name`.
    pub field: String,
    /// The value.
    pub value: String,
    /// Whether it has to be another value.
    pub not: bool,
}

impl FieldSelector {
    /// Reads a selector such as `metadata.name=x,status.phase!=Running`.
    pub fn parse(text: &str) -> Result<Self, StatusError> {
        let mut all = Vec::new();
        for part in terms(text) {
            let split = part
                .split_once("!=")
                .map(|(field, value)| (field, value, true))
                .or_else(|| {
                    part.split_once("==")
                        .map(|(field, value)| (field, value, false))
                })
                .or_else(|| {
                    part.split_once('=')
                        .map(|(field, value)| (field, value, false))
                });
            let Some((field, value, not)) = split else {
                return Err(StatusError::bad_request(format!(
                    "invalid selector: '{text}'; can't understand '{part}'"
                )));
            };
            all.push(FieldRequirement {
                field: field.to_owned(),
                value: unescaped(value),
                not,
            });
        }
        Ok(Self(all))
    }

    /// Whether an object is selected whose fields these are.
    pub fn matches(&self, of: impl Fn(&str) -> String) -> bool {
        self.0
            .iter()
            .all(|one| (of(&one.field) == one.value) != one.not)
    }
}

/// The terms of a field selector: commas may be escaped.
fn terms(text: &str) -> Vec<String> {
    let mut terms = Vec::new();
    let mut term = String::new();
    let mut escaped = false;
    for letter in text.chars() {
        if letter == ',' && !escaped {
            terms.push(std::mem::take(&mut term));
            continue;
        }
        escaped = letter == '\\' && !escaped;
        term.push(letter);
    }
    terms.push(term);
    terms.retain(|term| !term.is_empty());
    terms
}

fn unescaped(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => plain.extend(letters.next()),
            other => plain.push(other),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("", true)]
    #[case("a=1", true)]
    #[case("a == 1, b in (x, y)", true)]
    #[case("b notin (x,y)", false)]
    #[case("c notin (x)", true)]
    #[case("!c,a", true)]
    #[case("a!=2", true)]
    #[case("a>0,a<2", true)]
    #[case("b>0", false)]
    #[case("c=", false)]
    fn label_selectors_select(#[case] selector: &str, #[case] want: bool) {
        let labels = BTreeMap::from(
            [("a", "1"), ("b", "x")].map(|(key, value)| (key.to_owned(), value.to_owned())),
        );
        assert_eq!(
            LabelSelector::parse(selector).unwrap().matches(&labels),
            want
        );
    }

    #[rstest]
    #[case("a in x", "unable to parse requirement: found 'x' expected: '('")]
    #[case("a,", "found '', expected: identifier after ','")]
    fn broken_selectors_are_told(#[case] selector: &str, #[case] want: &str) {
        assert_eq!(LabelSelector::parse(selector).unwrap_err().message, want);
    }
}
