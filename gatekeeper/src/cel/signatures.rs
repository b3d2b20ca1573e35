//! The functions that expressions may call, with their types. Those of `math`, `base64` and `jsonpatch` are not among them:
//! Gatekeeper does not have them.

use super::types::{DURATION, TIMESTAMP, Type};

/// One overload: the receiver of a method, the arguments, the result.
pub struct Overload {
    pub receiver: Option<Type>,
    pub arguments: Vec<Type>,
    pub result: Result,
}

/// The type of a result.
pub enum Result {
    Fixed(Type),
    /// The type of the receiver.
    Receiver,
    /// The elements of the receiver.
    Element,
    /// An optional element of the receiver.
    OptionalElement,
    /// The first argument, in an optional.
    OptionalArgument,
    /// What the receiver, an optional, holds.
    Held,
}

/// The functions with their overloads: `receiver.(arguments) result`, with the letters of [`letter`].
const FUNCTIONS: &[(&str, &[&str])] = &[
    ("contains", &["s.s b"]),
    ("endsWith", &["s.s b"]),
    ("startsWith", &["s.s b"]),
    ("matches", &["s.s b", "ss b"]),
    (
        "size",
        &["s i", "y i", "L i", "M i", "s. i", "y. i", "L. i", "M. i"],
    ),
    ("charAt", &["s.i s"]),
    ("indexOf", &["s.s i", "s.si i", "L.D i"]),
    ("lastIndexOf", &["s.s i", "s.si i", "L.D i"]),
    ("lowerAscii", &["s. s"]),
    ("upperAscii", &["s. s"]),
    ("replace", &["s.ss s", "s.ssi s"]),
    ("split", &["s.s l", "s.si l"]),
    ("substring", &["s.i s", "s.ii s"]),
    ("trim", &["s. s"]),
    ("join", &["L. s", "L.s s"]),
    ("format", &["s.L s"]),
    ("strings.quote", &["s s"]),
    ("find", &["s.s s"]),
    ("findAll", &["s.s l", "s.si l"]),
    ("sum", &["L. e"]),
    ("min", &["L. e"]),
    ("max", &["L. e"]),
    ("isSorted", &["L. b"]),
    ("reverse", &["L. ="]),
    ("slice", &["L.ii ="]),
    ("distinct", &["L. ="]),
    ("sort", &["L. ="]),
    ("first", &["L. E"]),
    ("last", &["L. E"]),
    ("flatten", &["L. L", "L.i L"]),
    ("lists.range", &["i I"]),
    ("sets.contains", &["LL b"]),
    ("sets.equivalent", &["LL b"]),
    ("sets.intersects", &["LL b"]),
    ("bool", &["b b", "s b"]),
    ("bytes", &["y y", "s y"]),
    ("double", &["d d", "i d", "u d", "s d"]),
    ("int", &["i i", "u i", "d i", "s i", "T i"]),
    ("uint", &["u u", "i u", "d u", "s u"]),
    (
        "string",
        &[
            "s s", "b s", "i s", "u s", "d s", "y s", "T s", "N s", "P s", "C s",
        ],
    ),
    ("dyn", &["D D"]),
    ("type", &["D t"]),
    ("duration", &["s N", "N N"]),
    ("timestamp", &["s T", "T T", "i T"]),
    ("getDate", &["T. i", "T.s i"]),
    ("getDayOfMonth", &["T. i", "T.s i"]),
    ("getDayOfWeek", &["T. i", "T.s i"]),
    ("getDayOfYear", &["T. i", "T.s i"]),
    ("getFullYear", &["T. i", "T.s i"]),
    ("getMonth", &["T. i", "T.s i"]),
    ("getHours", &["T. i", "T.s i", "N. i"]),
    ("getMinutes", &["T. i", "T.s i", "N. i"]),
    ("getSeconds", &["T. i", "T.s i", "N. i"]),
    ("getMilliseconds", &["T. i", "T.s i", "N. i"]),
    ("optional.of", &["D o"]),
    ("optional.ofNonZeroValue", &["D o"]),
    ("optional.none", &[" O"]),
    ("hasValue", &["O. b"]),
    ("value", &["O. h"]),
    ("or", &["O.O ="]),
    ("orValue", &["O.D h"]),
    ("url", &["s U"]),
    ("isURL", &["s b"]),
    ("getScheme", &["U. s"]),
    ("getHost", &["U. s"]),
    ("getHostname", &["U. s"]),
    ("getPort", &["U. s"]),
    ("getEscapedPath", &["U. s"]),
    ("getQuery", &["U. Q"]),
    ("ip", &["s P", "C. P"]),
    ("isIP", &["s b"]),
    ("ip.isCanonical", &["s b"]),
    ("family", &["P. i"]),
    ("isUnspecified", &["P. b"]),
    ("isLoopback", &["P. b"]),
    ("isLinkLocalMulticast", &["P. b"]),
    ("isLinkLocalUnicast", &["P. b"]),
    ("isGlobalUnicast", &["P. b"]),
    ("cidr", &["s C"]),
    ("isCIDR", &["s b"]),
    ("containsIP", &["C.s b", "C.P b"]),
    ("containsCIDR", &["C.s b", "C.C b"]),
    ("prefixLength", &["C. i"]),
    ("masked", &["C. C"]),
    ("quantity", &["s q"]),
    ("isQuantity", &["s b"]),
    ("isInteger", &["q. b"]),
    ("asInteger", &["q. i"]),
    ("asApproximateFloat", &["q. d"]),
    ("add", &["q.q q", "q.i q"]),
    ("sub", &["q.q q", "q.i q"]),
    ("compareTo", &["q.q i", "v.v i"]),
    ("isGreaterThan", &["q.q b", "v.v b"]),
    ("isLessThan", &["q.q b", "v.v b"]),
    ("semver", &["s v", "sb v"]),
    ("isSemver", &["s b", "sb b"]),
    ("major", &["v. i"]),
    ("minor", &["v. i"]),
    ("patch", &["v. i"]),
    ("format.named", &["s F"]),
    ("validate", &["f.s G"]),
];

/// The formats of `format.NAME()`.
pub const FORMATS: &[&str] = &[
    "byte",
    "date",
    "datetime",
    "dns1035Label",
    "dns1035LabelPrefix",
    "dns1123Label",
    "dns1123LabelPrefix",
    "dns1123Subdomain",
    "dns1123SubdomainPrefix",
    "labelValue",
    "qualifiedName",
    "uri",
    "uuid",
];

fn letter(letter: char) -> Type {
    match letter {
        's' => Type::String,
        'i' => Type::Int,
        'u' => Type::UInt,
        'd' => Type::Double,
        'b' => Type::Bool,
        'y' => Type::Bytes,
        't' => Type::Meta,
        'L' => Type::list(Type::Dyn),
        'l' => Type::list(Type::String),
        'I' => Type::list(Type::Int),
        'M' => Type::map(Type::Dyn, Type::Dyn),
        'Q' => Type::map(Type::String, Type::list(Type::String)),
        'O' => Type::optional(Type::Dyn),
        'F' => Type::optional(Type::Named("kubernetes.NamedFormat")),
        'G' => Type::optional(Type::list(Type::String)),
        'T' => TIMESTAMP,
        'N' => DURATION,
        'U' => Type::Named("kubernetes.URL"),
        'P' => Type::Named("net.IP"),
        'C' => Type::Named("net.CIDR"),
        'q' => Type::Named("kubernetes.Quantity"),
        'v' => Type::Named("kubernetes.Semver"),
        'f' => Type::Named("kubernetes.NamedFormat"),
        _ => Type::Dyn,
    }
}

fn overload(text: &str) -> Overload {
    let (call, result) = text.split_once(' ').unwrap_or((text, "D"));
    let (receiver, arguments) = match call.split_once('.') {
        Some((receiver, arguments)) => (receiver.chars().next().map(letter), arguments),
        None => (None, call),
    };
    Overload {
        receiver,
        arguments: arguments.chars().map(letter).collect(),
        result: match result {
            "=" => Result::Receiver,
            "e" => Result::Element,
            "E" => Result::OptionalElement,
            "o" => Result::OptionalArgument,
            "h" => Result::Held,
            letters => Result::Fixed(letters.chars().next().map_or(Type::Dyn, letter)),
        },
    }
}

/// The overloads of a function; none if there is no such function.
pub fn overloads(name: &str) -> Option<Vec<Overload>> {
    if let Some(format) = name.strip_prefix("format.")
        && FORMATS.contains(&format)
    {
        return Some(vec![overload(" f")]);
    }
    let (_, overloads) = FUNCTIONS.iter().find(|(function, _)| *function == name)?;
    Some(overloads.iter().map(|text| overload(text)).collect())
}

/// Whether functions have names that begin with this and a point.
pub fn is_namespace(name: &str) -> bool {
    ["format", "ip", "lists", "optional", "sets", "strings"].contains(&name)
}

/// The name of a type as a value.
pub fn type_name(name: &str) -> Option<&'static str> {
    [
        "bool",
        "bytes",
        "double",
        "int",
        "list",
        "map",
        "null_type",
        "string",
        "type",
        "uint",
    ]
    .into_iter()
    .find(|one| *one == name)
}
