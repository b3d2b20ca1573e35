//! Rules that differ from upstream, and some that keep its behaviour because documents depend on
//! it. Other rules are tested beside their code.

use std::rc::Rc;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use reeve_go_compat::time::Time;
use reeve_go_compat::value::Value;
use reeve_templates_engine::ambient::{Ambient, Fixed};
use reeve_templates_engine::encryption::Encryption;
use reeve_templates_engine::lint::lint_extended;
use reeve_templates_engine::lookup::{Found, Object, Read, ReadError, Reads, Resource};
use reeve_templates_engine::resolver::{
    Config, Context, EncryptionConfig, Input, Mode, Options, Resolver,
};
use serde_json::json;

use crate::world::{World, outcome, resolve_json, resolve_with, resolve_yaml};

const KEY: [u8; 32] = [b'A'; 32];
const OTHER: [u8; 32] = [b'B'; 32];
const VECTOR: [u8; 16] = [b'I'; 16];

fn decrypted(input: &str, key: &[u8], fallback: Option<&[u8]>) -> Result<String, String> {
    let options = Options {
        encryption: Some(EncryptionConfig {
            key,
            fallback_key: fallback,
            initialization_vector: &VECTOR,
            decrypts: true,
            ..EncryptionConfig::default()
        }),
        ..Options::default()
    };
    outcome(resolve_with(Config::default(), Input::Yaml(input), options))
}

fn encryption(key: &[u8]) -> Encryption {
    Encryption::new(key, None, &VECTOR).expect("valid keys")
}

fn in_mode(mode: Mode, input: &str) -> Result<String, String> {
    let options = Options {
        mode,
        ..Options::default()
    };
    outcome(resolve_with(Config::default(), Input::Yaml(input), options))
}

#[test]
fn tmpl_33_3_conversion_without_effect_keeps_the_string_and_is_linted() {
    let item = r#"{"a":["{{ \"6\" | toInt }}"]}"#;
    assert_eq!(resolve_json(item).as_deref(), Ok(r#"{"a":["6"]}"#));
    let first = r#"{"a":"{{ toInt \"6\" }}"}"#;
    assert_eq!(resolve_json(first).as_deref(), Ok(r#"{"a":"6"}"#));
    let found = lint_extended(
        "a:\n- '{{ \"6\" | toInt }}'\nb: '{{ toInt \"6\" }}'",
        &|_| Ok(()),
    );
    let rules: Vec<_> = found.iter().map(|it| (it.line, it.rule.id)).collect();
    assert_eq!(rules, [(2, "GTUL100"), (3, "GTUL100")]);
}

/// Upstream replaces the first occurrence of a token's text, in the order in which its decryption
/// happens to end: a token that begins another one damages it.
#[test]
fn tmpl_96_token_that_is_prefix_of_another_does_not_corrupt_it() {
    // Ten bytes are missing to three whole blocks, and ten line feeds are what fills them.
    let (short, long) = (
        "x".repeat(38),
        format!("{}{}end", "x".repeat(38), "\n".repeat(10)),
    );
    let tokens = [&short, &long].map(|text| encryption(&KEY).protect(text.as_bytes()));
    let [short_token, long_token] = &tokens;
    assert!(long_token.starts_with(short_token.as_str()));
    let shown = format!("{short}{}end", r"\\n".repeat(10));
    for (input, expected) in [
        (
            format!("a: {short_token}\nb: {long_token}"),
            format!(r#"{{"a":"{short}","b":"{shown}"}}"#),
        ),
        (
            format!("a: {long_token}\nb: {short_token}"),
            format!(r#"{{"a":"{shown}","b":"{short}"}}"#),
        ),
    ] {
        assert_eq!(decrypted(&input, &KEY, None), Ok(expected));
    }
}

/// Upstream's cipher panics in a goroutine, which ends the process.
#[test]
fn tmpl_98_2_token_of_partial_block_is_an_error() {
    for token in ["YQ==", "YWJj", "QUFBQUFBQUFBQUFBQUFBQQ", ""] {
        let error = decrypted(&format!("a: $ocm_encrypted:{token}A="), &KEY, None);
        let error = error.expect_err("not whole blocks");
        assert!(
            error.starts_with("decryption of $ocm_encrypted:"),
            "{error}"
        );
    }
}

/// With a wrong key one value of 255 or so has a valid padding by chance.
#[test]
fn tmpl_98_4_wrong_key_with_valid_padding_falls_back_to_previous_key() {
    let mut by_chance = 0;
    for number in 0..2_000 {
        let text = format!("value {number}");
        let token = encryption(&KEY).protect(text.as_bytes());
        let input = format!("a: {token}");
        let expected = Ok(format!(r#"{{"a":"{text}"}}"#));
        assert_eq!(decrypted(&input, &OTHER, Some(&KEY)), expected);
        let error = decrypted(&input, &OTHER, None).expect_err("another key");
        by_chance += usize::from(error.contains("is not valid UTF-8"));
    }
    assert!(by_chance > 0, "some of so many have a valid padding");
}

#[test]
fn tmpl_14_missing_context_is_nil_in_watch_mode_and_empty_struct_in_plain_mode() {
    let input = "a: '{{ .Anything }}'";
    assert_eq!(
        in_mode(Mode::Watch, input).as_deref(),
        Ok(r#"{"a":"\u003cno value\u003e"}"#)
    );
    let error = in_mode(Mode::Plain, input).expect_err("no such field");
    assert!(
        error.ends_with("can't evaluate field Anything in type struct {}"),
        "{error}"
    );
}

/// Upstream checks the first context only, not what a transformer makes of it. Here callers make
/// the context before, and every one is checked.
#[test]
fn tmpl_13_invalid_context_is_refused_in_both_modes() {
    let moment = Timestamp::UNIX_EPOCH.to_zoned(TimeZone::UTC);
    for mode in [Mode::Plain, Mode::Watch] {
        let options = Options {
            mode,
            context: Context::new("x", [("T", Time::new(moment.clone()).into_value())]),
            ..Options::default()
        };
        let result = outcome(resolve_with(
            Config::default(),
            Input::Yaml("a: b"),
            options,
        ));
        assert_eq!(
            result.expect_err("a time is none of these"),
            "the input context must be a struct that recurses to kinds bool, int, float, or string, found value of kind struct"
        );
    }
}

/// Upstream's watches answer with the object of any namespace that was seen first.
#[test]
fn tmpl_71_lookup_by_name_without_namespace_finds_the_first_by_namespace() {
    for mode in [Mode::Plain, Mode::Watch] {
        let found = |name: &str| {
            let input =
                format!(r#"a: '{{{{ (lookup "v1" "ConfigMap" "" "{name}").data.from }}}}'"#);
            in_mode(mode, &input)
        };
        assert_eq!(found("shared").as_deref(), Ok(r#"{"a":"alpha"}"#));
        assert_eq!(
            found("none").as_deref(),
            Ok(r#"{"a":"\u003cno value\u003e"}"#)
        );
    }
}

/// Upstream remembers a missing object and gives an empty one without an error the second time.
#[test]
fn tmpl_72_missing_object_is_missing_every_time() {
    let input = r#"{{ $_ := lookup "v1" "Secret" "testns" "none" }}a: {{ fromSecret "testns" "none" "k" }}"#;
    let error = resolve_yaml(input).expect_err("there is no such secret");
    assert!(
        error.ends_with("failed to get the secret none from testns: secrets \"none\" not found"),
        "{error}"
    );
    let input = "a: {{ lookupClusterClaim \"none\" }}{{ fromClusterClaim \"none\" }}";
    let error = resolve_yaml(input).expect_err("there is no such claim");
    assert!(error.ends_with("\"none\" not found"), "{error}");
}

#[test]
fn tmpl_53_changed_lookup_result_does_not_affect_later_lookups() {
    let get = r#"lookup "v1" "ConfigMap" "testns" "testconfigmap""#;
    let input = format!(
        "{{{{ $d := {get} }}}}{{{{ $_ := set $d.data \"n\" \"7\" }}}}a: '{{{{ $d.data.n }}}}{{{{ ({get}).data.n }}}}'"
    );
    assert_eq!(resolve_yaml(&input).as_deref(), Ok(r#"{"a":"76"}"#));
    let list = r#"index (lookup "v1" "ConfigMap" "testns" "" "app=test").items 1"#;
    let input =
        format!("{{{{ $_ := set ({list}).data \"n\" \"7\" }}}}a: '{{{{ ({list}).data.n }}}}'");
    assert_eq!(resolve_yaml(&input).as_deref(), Ok(r#"{"a":"6"}"#));
    let object = Value::dict([("k", Value::from("before"))]);
    let options = || Options {
        context: Context::new("x", [("Object", object.clone())]),
        ..Options::default()
    };
    let input = "{{ $_ := set .Object \"k\" \"after\" }}a: {{ .Object.k }}";
    let result = resolve_with(Config::default(), Input::Yaml(input), options());
    assert_eq!(outcome(result).as_deref(), Ok(r#"{"a":"after"}"#));
    assert!(object.deep_equal(&Value::dict([("k", Value::from("before"))])));
}

/// Answers a list in one order or in the other.
struct Shuffled(bool);

impl Reads for Shuffled {
    fn resource(&self, api_version: &str, kind: &str) -> Option<Result<Resource, ReadError>> {
        World::new().resource(api_version, kind)
    }

    fn read(&self, _: &Read) -> Option<Result<Found, ReadError>> {
        let mut objects: Vec<_> = [("b", "x"), ("a", "z"), ("a", "y")]
            .map(|(namespace, name)| {
                Object::new(&json!({"metadata": {"namespace": namespace, "name": name}}))
            })
            .into();
        if self.0 {
            objects.reverse();
        }
        Some(Ok(Found::List(objects)))
    }
}

#[test]
fn tmpl_70_list_is_sorted_by_namespace_and_name() {
    let input = "a: '{{ range (lookup \"v1\" \"ConfigMap\" \"\" \"\").items }}{{ .metadata.namespace }}/{{ .metadata.name }} {{ end }}'";
    for reversed in [false, true] {
        let resolver = Resolver::new(Config::default()).expect("delimiters");
        let mut ambient = Fixed::new(Timestamp::UNIX_EPOCH, TimeZone::UTC, 1);
        let reads = Rc::new(Shuffled(reversed));
        let result = resolver.resolve(Input::Yaml(input), Options::default(), reads, &mut ambient);
        assert_eq!(outcome(result).as_deref(), Ok(r#"{"a":"a/y a/z b/x "}"#));
    }
}

/// Upstream's list grows by two with every call, and a name that is no identifier panics.
#[test]
fn tmpl_12_denylist_takes_any_name_and_denies_no_other() {
    let denied = ["now", "no identifier!", "", "now"].map(str::to_owned);
    for _ in 0..3 {
        let options = Options {
            denied_functions: &denied,
            ..Options::default()
        };
        let result = resolve_with(Config::default(), Input::Yaml("a: {{ now }}"), options);
        assert!(
            outcome(result)
                .expect_err("denied")
                .ends_with("use of denylisted template function: function 'now' is not allowed")
        );
    }
    assert_eq!(denied.len(), 4);
    let error = resolve_yaml("a: {{ env \"HOME\" }}").expect_err("always denied");
    assert!(error.ends_with("function 'env' is considered a security risk"));
}

#[test]
fn tmpl_10_error_quotes_truncated_template_without_decrypted_values() {
    let error = resolve_yaml("a: {{ fail \"x\" }}").expect_err("it fails");
    assert!(error.starts_with("failed to resolve the template a: {{ fail \"x\" }}: "));
    let long = format!("a: {{{{ fail \"x\" }}}}\nb: {}", "y".repeat(1_000_000));
    let error = resolve_yaml(&long).expect_err("it fails");
    assert!(error.len() < 40_000 && error.contains("(1000021 bytes in all)"));
    let token = encryption(&KEY).protect(b"hunter2");
    let error = decrypted(&format!("a: {token}\nb: {{{{ fail \"x\" }}}}"), &KEY, None);
    let error = error.expect_err("it fails");
    assert!(
        error.contains(&token) && !error.contains("hunter2"),
        "{error}"
    );
}

#[test]
fn tmpl_16_dates_octals_and_floats_decode_as_upstream() {
    for (input, expected) in [
        ("a: 2020-01-01", r#"{"a":"2020-01-01T00:00:00Z"}"#),
        ("a: '2020-01-01'", r#"{"a":"2020-01-01"}"#),
        ("a: 0777", r#"{"a":511}"#),
        ("a: 08", r#"{"a":8}"#),
        ("a: {{ 1000000.0 }}", r#"{"a":1000000}"#),
        ("a: '{{ 1000000.0 }}'", r#"{"a":"1e+06"}"#),
        ("a: yes", r#"{"a":"yes"}"#),
    ] {
        assert_eq!(resolve_yaml(input).as_deref(), Ok(expected), "{input}");
    }
}

#[test]
fn tmpl_50_list_without_items_is_true() {
    let input = "a: '{{ if lookup \"v1\" \"ConfigMap\" \"none\" \"\" }}yes{{ end }}{{ if getNodesWithExactRoles \"none\" }}yes{{ end }}{{ if lookup \"v1\" \"ConfigMap\" \"testns\" \"none\" }}no{{ end }}{{ if hasNodesWithExactRoles \"none\" }}no{{ end }}'";
    assert_eq!(resolve_yaml(input).as_deref(), Ok(r#"{"a":"yesyes"}"#));
}

#[test]
fn tmpl_83_keys_and_values_are_sorted() {
    let input = "a: '{{ keys (dict \"c\" 3 \"a\" 1 \"b\" 2) (dict \"z\" 1) }}{{ values (dict \"c\" 3 \"a\" 1 \"b\" 2) }}'";
    assert_eq!(
        resolve_yaml(input).as_deref(),
        Ok(r#"{"a":"[a b c z][1 2 3]"}"#)
    );
}

/// The controller that rotates keys writes one itself when it drops a bad previous key.
#[test]
fn tmpl_94_2_empty_fallback_key_is_ignored() {
    let token = encryption(&KEY).protect(b"Raleigh");
    let result = decrypted(&format!("a: {token}"), &KEY, Some(&[]));
    assert_eq!(result.as_deref(), Ok(r#"{"a":"Raleigh"}"#));
    let error = decrypted(&format!("a: {token}"), &KEY, Some(&[1]));
    assert!(error.expect_err("a bad key").contains("invalid key size 1"));
}

/// Counts what a template asks of the world.
struct Counting(Fixed, usize);

impl Ambient for Counting {
    fn now(&mut self) -> Timestamp {
        self.0.now()
    }

    fn time_zone(&mut self) -> TimeZone {
        self.0.time_zone()
    }

    fn random(
        &mut self,
        buffer: &mut [u8],
    ) -> Result<(), reeve_templates_engine::function::Failure> {
        self.0.random(buffer)
    }

    fn host_address(&mut self, _: &str) -> Option<String> {
        self.1 += 1;
        Some("192.0.2.1".to_owned())
    }
}

#[test]
fn tmpl_85_host_name_is_resolved_by_the_caller_and_can_be_denied() {
    let input = Input::Yaml("a: {{ getHostByName \"example.org\" }}");
    let resolver = Resolver::new(Config::default()).expect("delimiters");
    let fixed = Fixed::new(Timestamp::UNIX_EPOCH, TimeZone::UTC, 1);
    let mut ambient = Counting(fixed, 0);
    let reads = || Rc::new(World::new());
    let result = resolver.resolve(input, Options::default(), reads(), &mut ambient);
    assert_eq!(outcome(result).as_deref(), Ok(r#"{"a":"192.0.2.1"}"#));
    let denied = ["getHostByName".to_owned()];
    let options = Options {
        denied_functions: &denied,
        ..Options::default()
    };
    let result = resolver.resolve(input, options, reads(), &mut ambient);
    assert!(
        outcome(result)
            .expect_err("denied")
            .ends_with("is not allowed")
    );
    assert_eq!(ambient.1, 1);
}
