//! Regular expressions in Go's RE2 syntax.

use std::rc::Rc;

use crate::function::Parameter::{Int, Str};
use crate::function::{Arguments, Env, Failure, Function};
use crate::functions::define::{Answer, Group, answer, charge_bytes, charge_items, part, takes};
use reeve_go_compat::regexp::{self, Regexp, Replacement};
use reeve_go_compat::value::{Element, List, Value};

const REGEX: Group = Group("Regular expressions");

/// The table of this topic.
pub const FUNCTIONS: &[Function] = &[
    REGEX.function("regexMatch", takes(&[Str, Str]), matches, "pattern text", "Whether the pattern matches some part of the text. A bad pattern matches nothing."),
    REGEX.function("mustRegexMatch", takes(&[Str, Str]), must_match, "pattern text", "Like `regexMatch`, but fails for a bad pattern."),
    REGEX.function("regexFind", takes(&[Str, Str]), find, "pattern text", "The first part of the text that the pattern matches; empty if there is none."),
    REGEX.function("mustRegexFind", takes(&[Str, Str]), must_find, "pattern text", "The same as `regexFind`."),
    REGEX.function("regexFindAll", takes(&[Str, Str, Int]), find_all, "pattern text count", "The parts that the pattern matches, at most so many, all if the count is negative."),
    REGEX.function("mustRegexFindAll", takes(&[Str, Str, Int]), must_find_all, "pattern text count", "The same as `regexFindAll`."),
    REGEX.function("regexReplaceAll", takes(&[Str, Str, Str]), replace_all, "pattern text replacement", "Replaces every match. In the replacement, `$1` or `${1}` stands for the first group; a letter after `$1` belongs to the name, so write `${1}x`."),
    REGEX.function("mustRegexReplaceAll", takes(&[Str, Str, Str]), must_replace_all, "pattern text replacement", "The same as `regexReplaceAll`."),
    REGEX.function("regexReplaceAllLiteral", takes(&[Str, Str, Str]), replace_literal, "pattern text replacement", "Replaces every match by the replacement as it is."),
    REGEX.function("mustRegexReplaceAllLiteral", takes(&[Str, Str, Str]), must_replace_literal, "pattern text replacement", "The same as `regexReplaceAllLiteral`."),
    REGEX.function("regexSplit", takes(&[Str, Str, Int]), split, "pattern text count", "The parts of the text between matches, at most so many, all if the count is negative."),
    REGEX.function("mustRegexSplit", takes(&[Str, Str, Int]), must_split, "pattern text count", "The same as `regexSplit`."),
    REGEX.function("regexQuoteMeta", takes(&[Str]), quote_meta, "text", "A pattern that matches just this text."),
];

/// The error of an invalid pattern.
#[derive(Clone, Copy)]
enum OnInvalidPattern {
    /// As Go's `MustCompile` panics.
    Panic,
    /// As Go's `Compile` answers.
    Error,
}

fn compile(
    env: &mut Env<'_>,
    arguments: &Arguments<'_>,
    on_invalid: OnInvalidPattern,
) -> Result<Rc<Regexp>, Failure> {
    let pattern = arguments.str(0)?;
    charge_items(env, pattern.len())?;
    env.meter.clock()?;
    let compiled = Regexp::compile(pattern).map_err(|error| {
        Failure::text(match on_invalid {
            OnInvalidPattern::Panic => regexp::panic_text(pattern, &error),
            OnInvalidPattern::Error => error.to_string(),
        })
    })?;
    charge_items(env, compiled.steps(arguments.str(1)?.len()))?;
    Ok(compiled)
}

/// What every further match costs.
fn tick(env: &mut Env<'_>) -> Result<(), Failure> {
    charge_items(env, 1)?;
    Ok(env.meter.clock()?)
}

fn matches(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    match compile(env, arguments, OnInvalidPattern::Error) {
        Ok(pattern) => Ok(Value::Bool(pattern.is_match(arguments.str(1)?))),
        Err(Failure::Text(_)) => Ok(Value::Bool(false)),
        Err(limit) => Err(limit),
    }
}

fn must_match(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let pattern = compile(env, arguments, OnInvalidPattern::Error)?;
    Ok(Value::Bool(pattern.is_match(arguments.str(1)?)))
}

fn found(env: &mut Env<'_>, arguments: &Arguments<'_>, on_invalid: OnInvalidPattern) -> Answer {
    let pattern = compile(env, arguments, on_invalid)?;
    part(env, pattern.find(arguments.str(1)?).unwrap_or_default())
}

fn find(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    found(env, arguments, OnInvalidPattern::Panic)
}

fn must_find(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    found(env, arguments, OnInvalidPattern::Error)
}

fn strings(env: &mut Env<'_>, parts: &[&[u8]]) -> Answer {
    charge_items(env, parts.len())?;
    Ok(Value::List(List::new(
        Element::Str,
        parts.iter().map(|part| Value::Str((*part).into())),
    )))
}

fn found_all(env: &mut Env<'_>, arguments: &Arguments<'_>, on_invalid: OnInvalidPattern) -> Answer {
    let pattern = compile(env, arguments, on_invalid)?;
    let text = arguments.str(1)?;
    charge_bytes(env, text.len())?;
    let parts = pattern.find_all(text, arguments.int(2)?, || tick(env))?;
    if parts.is_empty() {
        return Ok(Value::List(List::nil(Element::Str)));
    }
    strings(env, &parts)
}

fn find_all(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    found_all(env, arguments, OnInvalidPattern::Panic)
}

fn must_find_all(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    found_all(env, arguments, OnInvalidPattern::Error)
}

fn replaced(
    env: &mut Env<'_>,
    arguments: &Arguments<'_>,
    on_invalid: OnInvalidPattern,
    replacement: Replacement<'_>,
) -> Answer {
    let pattern = compile(env, arguments, on_invalid)?;
    let text = arguments.str(1)?;
    charge_bytes(env, text.len())?;
    answer(pattern.replace_all(text, &replacement, |count| {
        tick(env)?;
        charge_bytes(env, count)
    })?)
}

fn replace_all(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let template = Replacement::Template(arguments.str(2)?);
    replaced(env, arguments, OnInvalidPattern::Panic, template)
}

fn must_replace_all(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let template = Replacement::Template(arguments.str(2)?);
    replaced(env, arguments, OnInvalidPattern::Error, template)
}

fn replace_literal(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let literal = Replacement::Literal(arguments.str(2)?);
    replaced(env, arguments, OnInvalidPattern::Panic, literal)
}

fn must_replace_literal(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let literal = Replacement::Literal(arguments.str(2)?);
    replaced(env, arguments, OnInvalidPattern::Error, literal)
}

fn parts(env: &mut Env<'_>, arguments: &Arguments<'_>, on_invalid: OnInvalidPattern) -> Answer {
    let pattern = compile(env, arguments, on_invalid)?;
    let (text, count) = (arguments.str(1)?, arguments.int(2)?);
    if count == 0 {
        return Ok(Value::List(List::nil(Element::Str)));
    }
    charge_bytes(env, text.len())?;
    let parts = pattern.split(text, count, || tick(env))?;
    strings(env, &parts)
}

fn split(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    parts(env, arguments, OnInvalidPattern::Panic)
}

fn must_split(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    parts(env, arguments, OnInvalidPattern::Error)
}

fn quote_meta(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let text = arguments.str(0)?;
    charge_bytes(env, text.len().saturating_mul(2))?;
    answer(regexp::quote_meta(text))
}
