//! Functions that the engine lacks, has otherwise, or that could give more than an evaluation may.

mod dates;
mod documents;
mod external_data;
mod globs;
mod hashes;
mod networks;
mod numbers;
mod operators;
mod texts;
mod units;
mod uris;

use std::cell::Cell;
use std::cmp::Ordering;
use std::sync::{Arc, LazyLock};

use regorus::unstable::{BUILTINS, Expr, Ref, Span};
use regorus::{Engine, Source, Value};

use super::sprintf::sprintf;
use crate::external_data::ExternalData;
use crate::messages;

/// The function that texts with expressions in them are rewritten to.
pub const INTERPOLATE: &str = "__interpolate";

/// What all functions of one evaluation may make, in bytes.
const BUDGET: usize = 64 << 20;
/// The longest text that is searched with a pattern.
const PATTERN_TEXT: usize = 1 << 20;

/// Functions of the engine whose results may be long.
const CHARGED: [&str; 34] = [
    "array.concat",
    "array.reverse",
    "array.slice",
    "base64.encode",
    "base64url.encode",
    "base64url.encode_no_pad",
    "concat",
    "glob.match",
    "hex.encode",
    "indexof_n",
    "intersection",
    "json.filter",
    "json.patch",
    "json.remove",
    "object.filter",
    "object.keys",
    "object.remove",
    "object.union",
    "object.union_n",
    "regex.find_all_string_submatch_n",
    "regex.find_n",
    "regex.match",
    "regex.replace",
    "regex.split",
    "replace",
    "split",
    "strings.replace_n",
    "strings.reverse",
    "trim",
    "trim_left",
    "trim_right",
    "trim_space",
    "union",
    "urlquery.encode",
];

thread_local! {
    /// What the functions of the evaluation on this thread have made so far.
    static MADE: Cell<usize> = const { Cell::new(0) };
}

/// Begins the account of an evaluation.
pub fn begin_evaluation() {
    MADE.set(0);
}

fn charge(bytes: usize) -> anyhow::Result<()> {
    let made = MADE.get().saturating_add(bytes);
    MADE.set(made);
    if made > BUDGET {
        anyhow::bail!(messages::TEXT_TOO_LONG);
    }
    Ok(())
}

/// How many arguments a function takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arity {
    /// This many.
    Exact(usize),
    /// Any number.
    Any,
}

/// How many arguments a function takes; none when there is no such function.
pub fn arguments(name: &str) -> Option<Arity> {
    if name == "print" {
        return Some(Arity::Any);
    }
    let own = OWN.iter().find(|(own, _, _)| *own == name);
    if let Some((_, arguments, _)) = own {
        return Some(Arity::Exact(usize::from(*arguments)));
    }
    let (_, arguments) = BUILTINS.get(name)?;
    Some(Arity::Exact(usize::from(*arguments)))
}

type Function = fn(&[Value]) -> anyhow::Result<Value>;

/// Our own functions, with the number of their arguments.
const OWN: &[(&str, u8, Function)] = &[
    (INTERPOLATE, 1, interpolated),
    ("__and", 2, operators::and),
    ("__div", 2, operators::div),
    ("__minus", 2, operators::minus),
    ("__mul", 2, operators::mul),
    ("__or", 2, operators::or),
    ("__plus", 2, operators::plus),
    ("__rem", 2, operators::rem),
    ("abs", 1, numbers::abs),
    ("all", 1, |args| Ok(quantified(args, true))),
    ("and", 2, operators::and),
    ("any", 1, |args| Ok(quantified(args, false))),
    ("array.flatten", 1, flattened),
    ("bits.and", 2, |args| numbers::bits("bits.and", args)),
    ("bits.lsh", 2, |args| numbers::bits("bits.lsh", args)),
    ("bits.negate", 1, |args| numbers::bits("bits.negate", args)),
    ("bits.or", 2, |args| numbers::bits("bits.or", args)),
    ("bits.rsh", 2, |args| numbers::bits("bits.rsh", args)),
    ("bits.xor", 2, |args| numbers::bits("bits.xor", args)),
    ("cast_array", 1, cast_array),
    ("cast_boolean", 1, |args| {
        cast(args, |value| matches!(value, Value::Bool(_)))
    }),
    ("cast_null", 1, |args| {
        cast(args, |value| matches!(value, Value::Null))
    }),
    ("cast_object", 1, |args| {
        cast(args, |value| matches!(value, Value::Object(_)))
    }),
    ("cast_set", 1, cast_set),
    ("cast_string", 1, |args| {
        cast(args, |value| matches!(value, Value::String(_)))
    }),
    ("ceil", 1, numbers::ceil),
    ("count", 1, numbers::count),
    ("crypto.hmac.equal", 2, hashes::equal),
    ("crypto.hmac.md5", 2, hashes::hmac_md5),
    ("crypto.hmac.sha1", 2, hashes::hmac_sha1),
    ("crypto.hmac.sha256", 2, hashes::hmac_sha256),
    ("crypto.hmac.sha512", 2, hashes::hmac_sha512),
    ("crypto.md5", 1, hashes::md5),
    ("crypto.sha1", 1, hashes::sha1),
    ("crypto.sha256", 1, hashes::sha256),
    ("div", 2, operators::div),
    ("eq", 2, |args| compared(args, Ordering::is_eq)),
    ("equal", 2, |args| compared(args, Ordering::is_eq)),
    ("floor", 1, numbers::floor),
    ("format_int", 2, numbers::format_int),
    ("glob.quote_meta", 1, texts::quote_glob),
    ("gt", 2, |args| compared(args, Ordering::is_gt)),
    ("gte", 2, |args| compared(args, Ordering::is_ge)),
    ("json.is_valid", 1, documents::is_valid_json),
    ("json.marshal", 1, documents::marshal),
    (
        "json.marshal_with_options",
        2,
        documents::marshal_with_options,
    ),
    ("json.unmarshal", 1, documents::unmarshal_json),
    ("lower", 1, texts::lower),
    ("lt", 2, |args| compared(args, Ordering::is_lt)),
    ("lte", 2, |args| compared(args, Ordering::is_le)),
    ("max", 1, numbers::max),
    ("min", 1, numbers::min),
    ("minus", 2, operators::minus),
    ("mul", 2, operators::mul),
    ("neq", 2, |args| compared(args, Ordering::is_ne)),
    ("net.cidr_contains_matches", 2, networks::contains_matches),
    ("net.cidr_expand", 1, networks::expand),
    ("net.cidr_intersects", 2, networks::intersects),
    ("net.cidr_merge", 1, networks::merge),
    ("net.cidr_overlap", 2, |args| {
        call("net.cidr_contains", args)
    }),
    ("net.lookup_ip_addr", 1, |_| Ok(Value::Undefined)),
    ("numbers.range", 2, numbers::range),
    ("numbers.range_step", 3, numbers::range_step),
    ("opa.runtime", 0, |_| Ok(Value::new_object())),
    ("or", 2, operators::or),
    ("plus", 2, operators::plus),
    ("product", 1, numbers::product),
    ("re_match", 2, |args| charged("regex.match", args)),
    ("regex.globs_match", 2, globs::intersect),
    ("regex.template_match", 4, texts::match_template),
    ("rem", 2, operators::rem),
    ("round", 1, numbers::round),
    ("set_diff", 2, set_diff),
    ("sort", 1, sorted),
    ("sprintf", 2, formatted),
    ("strings.count", 2, texts::count),
    ("substring", 3, numbers::substring),
    ("sum", 1, numbers::sum),
    ("time.add_date", 4, dates::add),
    ("to_number", 1, numbers::to_number),
    ("units.parse", 1, units::parse),
    ("units.parse_bytes", 1, units::parse_bytes),
    ("upper", 1, texts::upper),
    ("uri.is_valid", 1, uris::is_valid),
    ("uri.parse", 1, uris::parse),
    ("yaml.is_valid", 1, documents::is_valid_yaml),
    ("yaml.marshal", 1, documents::marshal_yaml),
    ("yaml.unmarshal", 1, documents::unmarshal_yaml),
];

/// Functions that version 1 of the language has no more.
pub const DEPRECATED: [&str; 11] = [
    "all",
    "any",
    "cast_array",
    "cast_boolean",
    "cast_null",
    "cast_object",
    "cast_set",
    "cast_string",
    "net.cidr_overlap",
    "re_match",
    "set_diff",
];

/// The function that asks a provider of external data.
pub const EXTERNAL_DATA: &str = "external_data";

/// Whether Open Policy Agent has the function and this room has not.
pub fn is_unsupported(name: &str) -> bool {
    const NAMES: [&str; 10] = [
        "json.match_schema",
        "json.verify_schema",
        "net.lookup_ip_addr",
        "providers.aws.sign_req",
        "rego.metadata.chain",
        "rego.metadata.rule",
        "rego.parse_module",
        "strings.render_template",
        "uuid.parse",
        "internal.print",
    ];
    const GROUPS: [&str; 3] = ["crypto.", "graphql.", "io.jwt."];
    NAMES.contains(&name) || GROUPS.iter().any(|group| name.starts_with(group))
}

/// Adds the functions whose names are in the sources to an engine. Each costs time whenever the engine is cloned.
pub fn register(
    engine: &mut Engine,
    sources: &[(String, String)],
    external_data: &ExternalData,
) -> anyhow::Result<()> {
    let is_used = |name: &str| sources.iter().any(|(_, source)| source.contains(name));
    for (name, arguments, function) in OWN.iter().copied().filter(|(name, _, _)| is_used(name)) {
        let extension = move |args: Vec<Value>| function(&args);
        engine.add_extension(name.to_owned(), arguments, Box::new(extension))?;
    }
    if !external_data.is_empty() && is_used(EXTERNAL_DATA) {
        let stubs = Arc::new(external_data.clone());
        let extension = move |args: Vec<Value>| match args.as_slice() {
            [request] => Ok(external_data::respond(&stubs, request)),
            _ => Ok(Value::Undefined),
        };
        engine.add_extension(EXTERNAL_DATA.to_owned(), 1, Box::new(extension))?;
    }
    for name in CHARGED.into_iter().filter(|name| is_used(name)) {
        let Some((_, arguments)) = BUILTINS.get(name) else {
            continue;
        };
        let extension = move |args: Vec<Value>| charged(name, &args);
        engine.add_extension(name.to_owned(), *arguments, Box::new(extension))?;
    }
    Ok(())
}

/// The functions of the engine want the expressions of their arguments, for errors that nobody sees.
static PLACEHOLDERS: LazyLock<Option<(Span, Vec<Ref<Expr>>)>> = LazyLock::new(|| {
    let source = Source::from_contents("function".to_owned(), String::new()).ok()?;
    let span = Span {
        source,
        line: 1,
        col: 1,
        start: 0,
        end: 0,
    };
    let expr = || {
        Ref::new(Expr::Null {
            span: span.clone(),
            value: Value::Null,
            eidx: 0,
        })
    };
    let exprs = (0..8).map(|_| expr()).collect();
    Some((span.clone(), exprs))
});

/// Calls a function of the engine. Its errors make it undefined, but for limits.
fn call(name: &str, args: &[Value]) -> anyhow::Result<Value> {
    let Some((function, _)) = BUILTINS.get(name) else {
        return Ok(Value::Undefined);
    };
    let Some((span, exprs)) = PLACEHOLDERS.as_ref() else {
        return Ok(Value::Undefined);
    };
    let exprs = exprs.get(..args.len()).unwrap_or_default();
    match function(span, exprs, args, false) {
        Ok(value) => Ok(value),
        Err(error) if error.downcast_ref::<regorus::LimitError>().is_some() => Err(error),
        Err(_) => Ok(Value::Undefined),
    }
}

/// Calls a function of the engine whose result counts.
fn charged(name: &str, args: &[Value]) -> anyhow::Result<Value> {
    charge(estimate(name, args))?;
    let result = call(name, args)?;
    charge(size(&result))?;
    Ok(result)
}

fn size(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(list) => list.len().saturating_mul(size_of::<Value>()),
        Value::Set(set) => set.len().saturating_mul(64),
        Value::Object(object) => object.len().saturating_mul(96),
        _ => 0,
    }
}

fn text(value: Option<&Value>) -> &str {
    match value {
        Some(Value::String(text)) => text,
        _ => "",
    }
}

/// What a result may take that is longer than all arguments together.
fn estimate(name: &str, args: &[Value]) -> usize {
    let of = |index: usize| text(args.get(index));
    let count = |text: &str, part: &str| {
        if part.is_empty() {
            text.len() + 1
        } else {
            text.matches(part).count()
        }
    };
    match name {
        "replace" => count(of(0), of(1)).saturating_mul(of(2).len()),
        "regex.replace" if of(0).len() <= PATTERN_TEXT => {
            let matches = of(0).len() + 1;
            // A short replacement cannot make the result long; a long one may be put between all characters.
            matches.saturating_mul(of(2).len())
        }
        "regex.match" | "regex.split" | "regex.find_n" | "regex.find_all_string_submatch_n" => {
            let text = of(1);
            if text.len() > PATTERN_TEXT {
                usize::MAX
            } else {
                0
            }
        }
        "regex.replace" => usize::MAX,
        "concat" => match args.get(1) {
            Some(Value::Array(list)) => {
                let texts: usize = list.iter().map(size).fold(0, usize::saturating_add);
                texts.saturating_add(of(0).len().saturating_mul(list.len()))
            }
            Some(Value::Set(set)) => {
                let texts: usize = set.iter().map(size).fold(0, usize::saturating_add);
                texts.saturating_add(of(0).len().saturating_mul(set.len()))
            }
            _ => 0,
        },
        "strings.replace_n" => match args.first() {
            Some(Value::Object(pairs)) => {
                let longest = pairs.values().map(size).max().unwrap_or_default();
                (of(1).len() + 1).saturating_mul(longest)
            }
            _ => 0,
        },
        "array.concat" => args.iter().map(size).fold(0, usize::saturating_add),
        "urlquery.encode" => args
            .first()
            .map_or(0, |value| deep_size(value, &mut 1_000_000)),
        _ => 0,
    }
}

/// The size of a document, as far as `steps` suffice; a shared part counts each time it is printed.
fn deep_size(value: &Value, steps: &mut usize) -> usize {
    if *steps == 0 {
        return usize::MAX;
    }
    *steps -= 1;
    let mut sum = size(value);
    match value {
        Value::Array(list) => {
            for one in list.iter() {
                sum = sum.saturating_add(deep_size(one, steps));
            }
        }
        Value::Set(set) => {
            for one in set.iter() {
                sum = sum.saturating_add(deep_size(one, steps));
            }
        }
        Value::Object(object) => {
            for (key, one) in object.iter() {
                sum = sum.saturating_add(deep_size(key, steps));
                sum = sum.saturating_add(deep_size(one, steps));
            }
        }
        _ => {}
    }
    sum
}

fn formatted(args: &[Value]) -> anyhow::Result<Value> {
    let (Some(Value::String(format)), Some(Value::Array(operands))) = (args.first(), args.get(1))
    else {
        return Ok(Value::Undefined);
    };
    let operands: Vec<Value> = operands.iter().cloned().collect();
    let steps = &mut 1_000_000;
    let operands_size: usize = operands
        .iter()
        .map(|value| deep_size(value, steps))
        .fold(0, usize::saturating_add);
    charge(operands_size)?;
    let Some(text) = sprintf(format, &operands, BUDGET) else {
        anyhow::bail!(messages::TEXT_TOO_LONG);
    };
    charge(text.len())?;
    Ok(Value::from(text))
}

fn interpolated(args: &[Value]) -> anyhow::Result<Value> {
    let mut out = String::new();
    for part in members(args.first()).into_iter().flatten() {
        match part {
            Value::String(text) => out.push_str(text),
            Value::Set(set) => match set.first() {
                None => out.push_str("<undefined>"),
                Some(Value::String(text)) => out.push_str(text),
                Some(value) => out.push_str(&super::text::of_term(value)),
            },
            _ => {}
        }
    }
    charge(out.len())?;
    Ok(Value::from(out))
}

#[allow(clippy::unnecessary_wraps)] // the functions have one signature
fn compared(args: &[Value], is_right: fn(Ordering) -> bool) -> anyhow::Result<Value> {
    let (Some(left), Some(right)) = (args.first(), args.get(1)) else {
        return Ok(Value::Undefined);
    };
    Ok(Value::from(is_right(super::text::compare(left, right))))
}

fn members(value: Option<&Value>) -> Option<Vec<&Value>> {
    match value? {
        Value::Array(list) => Some(list.iter().collect()),
        Value::Set(set) => Some(set.iter_sorted().collect()),
        _ => None,
    }
}

/// In the order of Open Policy Agent.
fn sorted(args: &[Value]) -> anyhow::Result<Value> {
    let Some(mut members) = members(args.first()) else {
        return Ok(Value::Undefined);
    };
    members.sort_by(|one, other| super::text::compare(one, other));
    let members: Vec<Value> = members.into_iter().cloned().collect();
    charge(members.len().saturating_mul(size_of::<Value>()))?;
    Ok(Value::from(members))
}

/// The members of lists in a list in their place, one level deep.
fn flattened(args: &[Value]) -> anyhow::Result<Value> {
    let Some(Value::Array(list)) = args.first() else {
        return Ok(Value::Undefined);
    };
    let mut all = Vec::new();
    for one in list.iter() {
        match one {
            Value::Array(inner) => all.extend(inner.iter().cloned()),
            other => all.push(other.clone()),
        }
    }
    charge(all.len().saturating_mul(size_of::<Value>()))?;
    Ok(Value::from(all))
}

fn quantified(args: &[Value], all: bool) -> Value {
    let Some(members) = members(args.first()) else {
        return Value::Undefined;
    };
    let is_true = |value: &&Value| matches!(value, Value::Bool(true));
    Value::from(if all {
        members.iter().all(is_true)
    } else {
        members.iter().any(is_true)
    })
}

#[allow(clippy::unnecessary_wraps)] // the functions have one signature
fn cast(args: &[Value], is_right: impl Fn(&Value) -> bool) -> anyhow::Result<Value> {
    let value = args.first().filter(|value| is_right(value));
    Ok(value.cloned().unwrap_or(Value::Undefined))
}

#[allow(clippy::unnecessary_wraps)] // the functions have one signature
fn cast_array(args: &[Value]) -> anyhow::Result<Value> {
    let members = members(args.first());
    Ok(members.map_or(Value::Undefined, |members| {
        Value::from(members.into_iter().cloned().collect::<Vec<Value>>())
    }))
}

#[allow(clippy::unnecessary_wraps)] // the functions have one signature
fn cast_set(args: &[Value]) -> anyhow::Result<Value> {
    let members = members(args.first());
    Ok(members.map_or(Value::Undefined, |members| {
        let set: regorus::value::Set = members.into_iter().cloned().collect();
        set.into()
    }))
}

#[allow(clippy::unnecessary_wraps)] // the functions have one signature
fn set_diff(args: &[Value]) -> anyhow::Result<Value> {
    let (Some(Value::Set(left)), Some(Value::Set(right))) = (args.first(), args.get(1)) else {
        return Ok(Value::Undefined);
    };
    Ok(left.difference(right).into())
}
