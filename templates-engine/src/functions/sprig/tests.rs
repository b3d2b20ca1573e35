use jiff::Timestamp;
use jiff::tz::TimeZone;
use proptest::prelude::*;
use x509_cert::certificate::Certificate;
use x509_cert::der::{Decode as _, Encode as _};

use super::keys::{PrivateKey, pem_block};
use super::url::Url;
use super::words::joined_lower;
use super::{cast, tables};
use crate::ambient::Fixed;
use crate::budget::{Budget, Exceeded, Meter};
use crate::function::{Arguments, Env, Failure, Function, Parameter};
use crate::lookup::{Cluster, Snapshot};
use reeve_go_compat::regexp::{Regexp, Replacement};
use reeve_go_compat::semver::{Constraints, Version};
use reeve_go_compat::strconv::{parse_float, parse_int};
use reeve_go_compat::time::Time;
use reeve_go_compat::time::{self, Duration, Zone};
use reeve_go_compat::value::{Map, Value};

fn function(name: &str) -> &'static Function {
    tables()
        .iter()
        .flat_map(|table| table.iter())
        .find(|function| function.name == name)
        .unwrap_or_else(|| panic!("no function {name}"))
}

fn call(name: &str, arguments: &[Value]) -> Result<Value, Failure> {
    let mut env = Env {
        meter: &mut Meter::new(Budget::default()),
        ambient: &mut Fixed::new(Timestamp::UNIX_EPOCH, TimeZone::UTC, 7),
        cluster: &mut Cluster::new(std::rc::Rc::new(Snapshot::new().complete())),
    };
    (function(name).body)(&mut env, &Arguments::new(arguments))
}

fn text(value: &Value) -> Vec<u8> {
    match value {
        Value::Str(text) => text.to_vec(),
        other => panic!("{other:?} is no text"),
    }
}

#[test]
fn every_function_has_help_text() {
    for function in tables().iter().flat_map(|table| table.iter()) {
        assert!(!function.group.is_empty(), "{}", function.name);
        assert!(function.help.ends_with('.'), "{}", function.name);
        let needs_usage = !function.signature.fixed.is_empty();
        assert_eq!(
            needs_usage || function.signature.variadic.is_some(),
            !function.usage.is_empty(),
            "{}",
            function.name
        );
    }
}

#[test]
fn function_names_are_unique() {
    let mut names: Vec<&str> = tables()
        .iter()
        .flat_map(|table| table.iter().map(|function| function.name))
        .collect();
    let all = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), all);
}

#[test]
fn huge_result_ends_with_the_limit() {
    let huge = || Value::Int(1_000_000_000);
    let calls: [(&str, Vec<Value>); 9] = [
        ("until", vec![huge()]),
        ("untilStep", vec![Value::Int(0), huge(), Value::Int(1)]),
        ("seq", vec![huge()]),
        ("repeat", vec![huge(), Value::from("x")]),
        ("nindent", vec![huge(), Value::from("x")]),
        ("randAlphaNum", vec![huge()]),
        ("randBytes", vec![huge()]),
        (
            "wrapWith",
            vec![
                Value::Int(1),
                Value::from("x".repeat(10_000)),
                Value::from("y".repeat(10_000)),
            ],
        ),
        (
            "regexReplaceAll",
            vec![
                Value::from(""),
                Value::from("x".repeat(10_000)),
                Value::from("y".repeat(10_000)),
            ],
        ),
    ];
    for (name, arguments) in calls {
        let result = call(name, &arguments);
        assert!(
            matches!(
                result,
                Err(Failure::Limit(Exceeded::Steps(_) | Exceeded::Bytes(_)))
            ),
            "{name}: {result:?}"
        );
    }
}

#[test]
fn value_larger_than_memory_is_not_printed_or_compared() {
    let mut value = Value::list([Value::from("x"), Value::from("y")]);
    for _ in 0..40 {
        value = Value::list([value.clone(), value]);
    }
    let text = Value::from("x".repeat(30_000_000));
    let long = Value::list(vec![text; 20]);
    let list = Value::list([value.clone()]);
    for (name, arguments) in [
        ("toString", vec![value.clone()]),
        ("quote", vec![value.clone()]),
        ("cat", vec![long.clone()]),
        ("join", vec![Value::from(","), long.clone()]),
        ("toDecimal", vec![long]),
        ("has", vec![value.clone(), list]),
        ("deepEqual", vec![value.clone(), value.clone()]),
        ("deepCopy", vec![value]),
    ] {
        let result = call(name, &arguments);
        assert!(matches!(result, Err(Failure::Limit(_))), "{name}");
    }
}

#[test]
fn slow_pattern_ends_with_the_limit() {
    let pattern = Value::from("(a|b|[c-x]{20}|y.{50}){1,20}z|(.*){0,900}q");
    let text = Value::from("ab".repeat(5_000_000));
    let result = call("regexFindAll", &[pattern, text, Value::Int(-1)]);
    assert!(matches!(result, Err(Failure::Limit(_))), "{result:?}");
}

#[test]
fn overflowing_sequence_ends_with_the_limit() {
    let end = Value::Int(i64::MAX);
    let result = call("untilStep", &[Value::Int(1), end, Value::Int(i64::MAX - 7)]);
    assert!(matches!(result, Err(Failure::Limit(Exceeded::Steps(_)))));
}

#[test]
fn dict_inside_itself_is_refused() {
    let map = Map::dict();
    let list = Value::list([Value::dict([("inner", Value::Map(map.clone()))])]);
    for value in [Value::Map(map.clone()), list] {
        let result = call("set", &[Value::Map(map.clone()), Value::from("x"), value]);
        match result {
            Err(Failure::Text(text)) => assert_eq!(text, "a dict cannot be put into itself"),
            other => panic!("{other:?}"),
        }
    }
    assert!(map.is_empty());
}

#[test]
fn keys_keep_their_form_when_they_are_read_and_written() {
    for kind in ["ecdsa", "ed25519"] {
        let pem = text(&call("genPrivateKey", &[Value::from(kind)]).expect("a key"));
        let key = PrivateKey::from_pem(&pem).expect("readable");
        assert_eq!(key.to_pem().expect("writable").as_bytes(), pem);
    }
}

#[test]
fn an_elliptic_key_names_its_curve() {
    let pem = text(&call("genPrivateKey", &[Value::from("ecdsa")]).expect("a key"));
    let (label, bytes) = pem_block(&pem).expect("a block");
    assert_eq!(label, "EC PRIVATE KEY");
    let curve = [
        0xa0, 0x0a, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07,
    ];
    assert!(super::strings::find(&bytes, &curve).is_some());
}

#[test]
fn a_signed_certificate_names_its_issuer_and_verifies() {
    use p256::ecdsa::signature::Verifier as _;
    let key = call("genPrivateKey", &[Value::from("ecdsa")]).expect("a key");
    let authority = call(
        "genCAWithKey",
        &[Value::from("my-ca"), Value::Int(365), key.clone()],
    )
    .expect("an authority");
    let hosts = Value::list([Value::from("a.example.com")]);
    let addresses = Value::list([Value::from("10.0.0.1"), Value::from("::1")]);
    let arguments = [
        Value::from("www"),
        addresses,
        hosts,
        Value::Int(30),
        authority,
        key.clone(),
    ];
    let signed = call("genSignedCertWithKey", &arguments).expect("a certificate");
    let Value::Struct(fields) = signed else {
        panic!("{signed:?}");
    };
    let pem = text(fields.field("Cert").expect("a field"));
    let (_, bytes) = pem_block(&pem).expect("a block");
    let certificate = Certificate::from_der(&bytes).expect("a certificate");
    let contents = &certificate.tbs_certificate;
    assert_eq!(contents.issuer.to_string(), "CN=my-ca");
    assert_eq!(contents.subject.to_string(), "CN=www");
    assert_eq!(contents.extensions.as_ref().map(Vec::len), Some(5));
    let PrivateKey::P256(secret) = PrivateKey::from_pem(&text(&key)).expect("a key") else {
        panic!("another type");
    };
    let signature =
        p256::ecdsa::Signature::from_der(certificate.signature.raw_bytes()).expect("a signature");
    p256::ecdsa::VerifyingKey::from(secret.public_key())
        .verify(&contents.to_der().expect("bytes"), &signature)
        .expect("a good signature");
}

#[test]
fn same_randomness_generates_same_values() {
    for name in ["uuidv4", "randAlpha", "genPrivateKey"] {
        let argument = match name {
            "uuidv4" => vec![],
            "randAlpha" => vec![Value::Int(12)],
            _ => vec![Value::from("ed25519")],
        };
        let first = call(name, &argument).expect("a value");
        assert!(first.deep_equal(&call(name, &argument).expect("a value")));
    }
}

#[test]
fn pattern_cache_is_bounded() {
    let first = Regexp::compile(b"first").expect("a pattern");
    let again = Regexp::compile(b"first").expect("a pattern");
    assert!(std::rc::Rc::ptr_eq(&first, &again));
    for number in 0..200 {
        Regexp::compile(format!("x{number}").as_bytes()).expect("a pattern");
    }
    let later = Regexp::compile(b"first").expect("a pattern");
    assert!(!std::rc::Rc::ptr_eq(&first, &later));
}

fn some_bytes() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        any::<Vec<u8>>(),
        r"[-+0-9a-zA-Z.,:/?#@%_ \[\](){}*+|^$\\T]{0,24}".prop_map(String::into_bytes),
        ".{0,12}".prop_map(String::into_bytes),
    ]
}

proptest! {
    #[test]
    fn nothing_read_from_text_panics(bytes in some_bytes(), other in some_bytes()) {
        let _ = Duration::parse(&bytes);
        if let Ok(time) = time::parse(&bytes, &other, &Zone::Utc) {
            let _ = time.format(&bytes);
        }
        let _ = Version::parse(&bytes);
        let _ = Constraints::parse(&bytes);
        if let Ok(url) = Url::parse(&bytes) {
            let _ = (url.to_bytes(), url.host_name().to_vec());
        }
        let _ = joined_lower(&bytes, '_');
        let _ = PrivateKey::from_pem(&bytes);
        if let Ok(text) = std::str::from_utf8(&bytes) {
            let _ = (parse_int(text, 0), parse_int(text, 8), parse_float(text));
        }
    }

    #[test]
    fn no_pattern_panics(pattern in some_bytes(), text in some_bytes(), template in some_bytes()) {
        if let Ok(compiled) = Regexp::compile(&pattern) {
            let _ = compiled.find_all(&text, -1, || Ok::<(), ()>(()));
            let _ = compiled.split(&text, 3, || Ok::<(), ()>(()));
            let replaced: Result<_, ()> =
                compiled.replace_all(&text, &Replacement::Template(&template), |_| Ok(()));
            prop_assert!(replaced.is_ok());
        }
    }

    #[test]
    fn parts_of_a_split_are_the_whole(text in any::<Vec<u8>>()) {
        let compiled = Regexp::compile(b"a").expect("a pattern");
        let parts = compiled.split(&text, -1, || Ok::<(), ()>(())).expect("no limit");
        prop_assert_eq!(parts.join(&b'a'), text);
    }

    #[test]
    fn no_method_of_a_time_panics(
        seconds in prop_oneof![any::<i64>(), -100_000_000_000_i64..400_000_000_000],
        nanoseconds in 0_u32..1_000_000_000,
        numbers in prop::collection::vec(prop_oneof![any::<i64>(), -999_i64..999], 3),
    ) {
        let time = Time::from_unix(seconds, nanoseconds, Zone::Utc);
        let other = Time::from_unix(seconds.wrapping_add(numbers[0]), 0, Zone::Utc).into_value();
        let numbers: Vec<Value> = numbers.into_iter().map(Value::Int).collect();
        for name in [
            "Year", "Month", "Day", "Hour", "YearDay", "Weekday", "UnixNano", "UnixMilli",
            "String", "Add", "AddDate", "Truncate", "Round", "Sub", "Before", "Local", "IsDST",
        ] {
            let method = crate::methods::method(&time, name).expect("a method");
            let takes_time = method.signature.fixed == [Parameter::Time];
            let arguments = if takes_time { vec![other.clone()] } else { numbers.clone() };
            let result = (method.call)(&time, &Arguments::new(&arguments));
            if let Ok(Value::Native(native)) = result {
                let _ = (native.text(), native.json());
            }
        }
    }

    #[test]
    fn a_duration_reads_as_it_prints(nanoseconds in any::<i64>()) {
        let printed = Duration(nanoseconds).to_string();
        prop_assert_eq!(Duration::parse(printed.as_bytes()), Ok(Duration(nanoseconds)));
    }

    #[test]
    fn a_number_reads_as_it_prints(number in any::<i64>(), float in any::<f64>()) {
        prop_assert_eq!(parse_int(&number.to_string(), 0), Some(number));
        if float.is_finite() {
            prop_assert_eq!(parse_float(&format!("{float:e}")), Some(float));
        }
        let _ = cast::truncated(float);
    }

    #[test]
    fn no_function_panics_whatever_its_arguments(
        position in any::<prop::sample::Index>(),
        arguments in prop::collection::vec(some_value(), 0..5),
    ) {
        let functions: Vec<&Function> = tables()
            .iter()
            .flat_map(|table| table.iter())
            .filter(|function| !is_slow(function.name))
            .collect();
        let chosen = position.get(&functions);
        let _ = call(chosen.name, &arguments);
    }
}

fn is_slow(name: &str) -> bool {
    name.starts_with("gen") || matches!(name, "bcrypt" | "htpasswd" | "derivePassword")
}

fn some_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Nil),
        any::<bool>().prop_map(Value::Bool),
        prop_oneof![any::<i64>(), -9_i64..9].prop_map(Value::Int),
        any::<i64>().prop_map(Value::Int64),
        any::<f64>().prop_map(Value::Float),
        some_bytes().prop_map(Value::str),
        Just(Value::Map(Map::nil())),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::list),
            prop::collection::vec(("[a-c]", inner), 0..4).prop_map(Value::dict),
        ]
    })
}
