//! The functions that expressions about clusters may call.

use std::sync::Arc;

use kube_cel::KubeCelExt as _;
use kube_cel::cel::extractors::{Arguments, This};
use kube_cel::cel::objects::{Key, Value};
use kube_cel::cel::{Context, ExecutionError};
use reeve_runtime::object::ObjectKey;

use super::super::Scores;
use super::values::{from_json, from_score};

/// The longest list of `lists.range`, and the most bytes that `replace` returns.
const LONGEST_RANGE: i64 = 10_000;
const LONGEST_TEXT: usize = 1024 * 1024;

/// The functions of the evaluator and the Kubernetes libraries, and the operators. Neither can be listed at run time.
const NAMES: &str = "\
    !_ -_ @in @not_strictly_false _!=_ _%_ _&&_ _*_ _+_ _-_ _/_ _<=_ _<_ _==_ _>=_ _>_ _?._ _?_:_ _[?_] \
    _[_] _||_ asApproximateFloat asInteger base64.decode base64.encode bytes charAt cidr compareTo \
    contains containsCIDR containsIP distinct double duration dyn endsWith family find findAll first \
    flatten format format.byte format.date format.datetime format.dns1035Label format.dns1035LabelPrefix \
    format.dns1123Label format.dns1123LabelPrefix format.dns1123Subdomain format.dns1123SubdomainPrefix \
    format.labelValue format.named format.qualifiedName format.uri format.uuid getDate getDayOfMonth \
    getDayOfWeek getDayOfYear getEscapedPath getFullYear getHost getHostname getHours getMilliseconds \
    getMinutes getMonth getPort getQuery getScheme getSeconds hasValue indexOf int ip ip.isCanonical \
    isCIDR isCIDRv4 isCIDRv6 isGlobalUnicast isGreaterThan isIP isIPv4 isIPv6 isInteger isLessThan \
    isLinkLocalMulticast isLinkLocalUnicast isLoopback isQuantity isSemver isSorted isURL isUnspecified \
    join jsonpatch.escapeKey last lastIndexOf lists.range lowerAscii major masked matches math.abs \
    math.bitAnd math.bitNot math.bitOr math.bitShiftLeft math.bitShiftRight math.bitXor math.ceil \
    math.floor math.greatest math.isFinite math.isInf math.isNaN math.least math.round math.sign \
    math.sqrt math.trunc max min minor optional.none optional.of optional.ofNonZeroValue or orValue \
    parseJSON patch prefixLength quantity replace reverse scores semver sets.contains sets.equivalent \
    sets.intersects sign size slice sort split startsWith string strings.quote sub substring sum \
    timestamp trim uint upperAscii url validate value";

/// Whether a function or operator exists.
pub(super) fn exists(name: &str) -> bool {
    NAMES.split(' ').any(|known| known == name)
}

/// The context with the functions, some of which read `scores`.
pub(super) fn context(scores: &Arc<Scores>) -> Context<'static> {
    let mut context = Context::default().with_all();
    reeve_apiserver::cel::register(&mut context);
    let scores = Arc::clone(scores);
    context.add_function(
        "scores",
        move |This(cluster): This<Value>, name: Arc<String>| scores_of(&scores, &cluster, &name),
    );
    context.add_function("parseJSON", |This(text): This<Arc<String>>| {
        parse_json(&text)
    });
    context.add_function("dyn", |value: Value| Ok::<_, ExecutionError>(value));
    context.add_function("lists.range", range);
    context.add_function("replace", replace);
    context
}

fn scores_of(scores: &Scores, cluster: &Value, name: &str) -> Result<Value, ExecutionError> {
    let wrong = |text: String| ExecutionError::function_error("scores", text);
    let Some(cluster) = name_of(cluster) else {
        return Err(wrong("asked of what is no cluster".to_owned()));
    };
    let found = scores.get(&ObjectKey::new(cluster, name));
    let found = found.ok_or_else(|| wrong(format!("{cluster} has no scores {name:?}")))?;
    let all = found.status.iter().flat_map(|status| &status.scores);
    Ok(Value::List(Arc::new(all.map(from_score).collect())))
}

fn name_of(cluster: &Value) -> Option<&str> {
    let Value::Map(cluster) = cluster else {
        return None;
    };
    let Value::Map(metadata) = cluster.map.get(&Key::from("metadata"))? else {
        return None;
    };
    match metadata.map.get(&Key::from("name"))? {
        Value::String(name) => Some(name),
        _ => None,
    }
}

fn parse_json(text: &str) -> Result<Value, ExecutionError> {
    serde_json::from_str(text)
        .map(from_json)
        .map_err(|error| ExecutionError::function_error("parseJSON", error))
}

fn range(count: i64) -> Result<Value, ExecutionError> {
    if count > LONGEST_RANGE {
        return Err(ExecutionError::function_error("lists.range", "too long"));
    }
    Ok(Value::List(Arc::new((0..count).map(Value::Int).collect())))
}

/// As in the library, but with a limit of the result's size.
fn replace(
    This(text): This<Arc<String>>,
    Arguments(arguments): Arguments,
) -> Result<Value, ExecutionError> {
    let wrong = |text: &str| ExecutionError::function_error("replace", text);
    let (old, new, limit) = match arguments.as_slice() {
        [Value::String(old), Value::String(new)] => (old, new, None),
        [Value::String(old), Value::String(new), Value::Int(limit)] => {
            (old, new, usize::try_from(*limit).ok())
        }
        _ => return Err(wrong("takes two texts and perhaps a number")),
    };
    let times = text.matches(old.as_str()).count();
    let times = limit.map_or(times, |limit| times.min(limit));
    if text.len().saturating_add(times.saturating_mul(new.len())) > LONGEST_TEXT {
        return Err(wrong("the result is too long"));
    }
    let replaced = text.replacen(old.as_str(), new, times);
    Ok(Value::String(Arc::new(replaced)))
}
