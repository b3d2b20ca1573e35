//! Small templates that would take all memory, all stack or all time end with an error instead.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use reeve_go_compat::yaml;
use reeve_templates_engine::ambient::{Ambient, Fixed};
use reeve_templates_engine::budget::Budget;
use reeve_templates_engine::function::Failure;
use reeve_templates_engine::lint::lint;
use reeve_templates_engine::resolver::{Config, Input, Options, Resolver};

use crate::world::{World, in_time, outcome, resolve_with, resolve_yaml};

/// Runs on a stack of the size that worker threads have.
fn on_a_small_stack<T: Send + 'static>(run: impl FnOnce() -> T + Send + 'static) -> T {
    std::thread::Builder::new()
        .stack_size(2 * 1024 * 1024)
        .spawn(run)
        .expect("a thread")
        .join()
        .expect("no overflow and no panic")
}

#[test]
fn many_references_to_one_long_text_are_not_written_out() {
    // A thousand times a hundred kilobytes.
    let start = "{{ $s := repeat 100000 \"x\" }}{{ $l := list }}{{ range until 100 }}{{ $l = append $l $s }}{{ end }}{{ $l = list $l $l $l $l $l $l $l $l $l $l }}";
    for action in [
        "{{ $l }}",
        "{{ print $l }}",
        "{{ println $l }}",
        "{{ printf \"%v\" $l }}",
        "{{ printf \"%q\" $l }}",
        "{{ html $l }}",
        "{{ js $l }}",
        "{{ urlquery $l }}",
        "{{ quote $l }}",
        "{{ cat $l }}",
        "{{ toString $l }}",
        "{{ toJson $l }}",
        "{{ toYaml $l }}",
        "{{ eq $l $l }}",
        "{{ dict $l 1 }}",
    ] {
        let input = format!("{start}{action}");
        let result = in_time(action, || resolve_yaml(&input));
        let error = result.map(|json| json.len()).expect_err(action);
        assert!(error.contains("the limit of"), "{action}: {error}");
    }
}

#[test]
fn copies_of_parts_of_a_long_text_are_charged() {
    for call in [
        "trunc 399999 $s",
        "trunc -399999 $s",
        "substr 1 -1 $s",
        "trim $s",
        "trimAll \"y\" $s",
        "trimPrefix \"x\" $s",
        "trimSuffix \"x\" $s",
        "abbrev 399999 $s",
        "abbrevboth 10 399999 $s",
        "base $s",
        "dir (print \"/\" $s \"/x\")",
        "clean $s",
        "ext (print \".\" $s)",
        "nospace (print \" \" $s)",
        "regexFind \".*\" $s",
        "initials $s",
        "htpasswd (print \":\" $s) \"\"",
        "genPrivateKey $s",
        "derivePassword 1 $s \"\" \"\" \"\"",
        "now.Format $s",
    ] {
        let input = format!(
            "{{{{ $s := repeat 400000 \"x\" }}}}{{{{ $l := list }}}}{{{{ range until 1000 }}}}{{{{ $l = append $l ({call}) }}}}{{{{ end }}}}"
        );
        let options = Options {
            budget: Budget {
                bytes: 4_000_000,
                ..Budget::default()
            },
            ..Options::default()
        };
        let result = in_time(call, || {
            outcome(resolve_with(
                Config::default(),
                Input::Yaml(&input),
                options,
            ))
        });
        let error = result.expect_err(call);
        assert!(
            error.contains("the limit of") || error.contains("the layout is too long"),
            "{call}: {error}"
        );
    }
}

#[test]
fn function_that_is_slow_per_byte_ends_with_the_limit() {
    for (what, action) in [
        (
            "every rune of a set",
            "{{ trimAll (print (repeat 2000000 \"a\") \"b\") (repeat 2000000 \"b\") }}",
        ),
        (
            "a template of groups",
            "{{ regexReplaceAll \"a+\" (repeat 100000 \"a\") (repeat 1000000 \"$0\") }}",
        ),
        (
            "beginnings of PEM blocks",
            "{{ buildCustomCert (b64enc (repeat 300000 \"-----BEGIN A-----\\n\")) \"\" }}",
        ),
        (
            "widths for every item",
            "{{ printf \"%01000000d\" (until 1000000) }}",
        ),
        ("random letters", "{{ randAlphaNum 60000000 }}"),
        (
            "a long pattern",
            "{{ mustRegexMatch (repeat 1000000 \"\\\\pL\") \"\" }}",
        ),
        (
            "patterns that are large",
            "{{ range until 30 }}{{ $_ := regexMatch (printf \"\\\\pL{%d}\" .) \"a\" }}{{ end }}",
        ),
        (
            "values of two bytes",
            "{{ $_ := fromJson (printf \"[%s0]\" (repeat 20000000 \"0,\")) }}",
        ),
        (
            "nodes of two bytes",
            "{{ $_ := fromYaml (printf \"[%s0]\" (repeat 20000000 \"0,\")) }}",
        ),
    ] {
        // Whether it fails is not the point.
        let _ = in_time(what, || resolve_yaml(action));
    }
}

#[test]
fn deep_argument_does_not_overflow_the_stack() {
    for call in [
        "deepCopy $v",
        "toString $v",
        "toJson $v",
        "toYaml $v",
        "deepEqual $v (deepCopy $v)",
        "printf \"%#v\" $v",
        "has $v (list $v)",
        "set (dict) \"k\" $v",
        "merge (dict) (dict \"k\" $v)",
        "uniq (list $v (deepCopy $v))",
        "fromYaml (toJson $v)",
    ] {
        for text in [
            ("[", "]", "", 9_000),
            ("{\\\"a\\\":", "}", "1", 900),
            ("{\\\"a\\\":", "}", "1", 9_000),
        ] {
            let (open, close, middle, depth) = text;
            let input = format!(
                "{{{{ $v := fromJson (print (repeat {depth} \"{open}\") \"{middle}\" (repeat {depth} \"{close}\")) }}}}{{{{ $_ := {call} }}}}a: b"
            );
            let result = on_a_small_stack(move || resolve_yaml(&input));
            assert!(
                result.as_deref() == Ok(r#"{"a":"b"}"#)
                    || result
                        .as_ref()
                        .is_err_and(|error| error.contains("nested levels")
                            || error.contains("bytes of output")),
                "{call} {depth}: {}",
                result.unwrap_or_else(|error| error)
            );
        }
    }
    let merged = "{{ $a := dict }}{{ $b := dict }}{{ range until 900 }}{{ $a = dict \"k\" $a }}{{ $b = dict \"k\" $b }}{{ end }}{{ $_ := mergeOverwrite $a $b }}a: b";
    let result = on_a_small_stack(move || resolve_yaml(merged));
    assert_eq!(result.as_deref(), Ok(r#"{"a":"b"}"#));
}

#[test]
fn document_that_grows_when_decoded_is_refused() {
    let long_alias = format!(
        "a: &a {}\nb: [{}]",
        "x".repeat(100_000),
        "*a,".repeat(10_000)
    );
    let numbered = |start: &str, count: usize, end: &str| {
        let pieces: Vec<String> = (0..count)
            .map(|number| format!("{start}{number}{end}"))
            .collect();
        pieces.concat()
    };
    let duplicates = numbered("k", 100_000, ": 1\n");
    let duplicate = format!("k1: 0\n{duplicates}");
    let aliased = format!(
        "a: &a {{k0: 0, {}}}\nb: [{}]",
        numbered("k", 2_000, ": 1, "),
        "*a,".repeat(30_000)
    );
    let tags = format!(
        "%TAG !a! {}\n---\n[{}]",
        "x".repeat(100_000),
        "!a!x 1,".repeat(10_000)
    );
    let handles = numbered("%TAG !a", 20_000, "! x\n");
    let handles = format!("{handles}---\na: b");
    let many = format!("[{}]", "0,".repeat(2_100_000));
    for (what, text, problem) in [
        ("a long alias", &long_alias, Some("excessive aliasing")),
        ("one duplicate key", &duplicate, Some("already defined")),
        (
            "aliases of duplicate keys",
            &aliased,
            Some("already defined"),
        ),
        ("a long tag prefix", &tags, Some("a tag that is too long")),
        ("many tag handles", &handles, None),
        ("many values", &many, Some("too many values")),
    ] {
        let result = in_time(what, || yaml::decode(text.as_bytes()));
        match problem {
            Some(problem) => {
                let error = result.expect_err(what).to_string();
                assert!(error.contains(problem), "{what}");
            }
            None => assert!(result.is_ok(), "{what}"),
        }
    }
}

#[test]
fn a_long_line_is_linted_in_time() {
    for line in [
        "{}".repeat(300_000),
        "}}".repeat(300_000),
        "{{".repeat(300_000),
        "{{ $a := 1 }}".repeat(50_000),
        "$a.b.$c ".repeat(100_000),
    ] {
        let text = format!("object-templates-raw: |\n  {line}");
        let found = in_time("a long line", || lint(&text));
        assert!(found.len() <= 3_010, "{}", found.len());
        assert!(found.iter().all(|it| it.shown.len() < 5_000));
    }
}

/// A source of randomness that has run dry.
struct Dry(Fixed);

impl Ambient for Dry {
    fn now(&mut self) -> Timestamp {
        self.0.now()
    }

    fn time_zone(&mut self) -> TimeZone {
        self.0.time_zone()
    }

    fn random(&mut self, _: &mut [u8]) -> Result<(), Failure> {
        Err(Failure::text("no randomness today"))
    }

    fn host_address(&mut self, _: &str) -> Option<String> {
        None
    }
}

#[test]
fn failed_randomness_fails_the_function() {
    for call in [
        "genPrivateKey \"ecdsa\"",
        "genPrivateKey \"ed25519\"",
        "genCA \"x\" 1",
        "genSelfSignedCert \"x\" (list) (list) 1",
        "encryptAES \"p\" \"x\"",
        "bcrypt \"x\"",
        "htpasswd \"u\" \"p\"",
        "uuidv4",
        "randAlphaNum 5",
        "randAlpha 5",
        "randNumeric 5",
        "randAscii 5",
        "randBytes 5",
        "randInt 1 5",
        "shuffle \"abc\"",
    ] {
        let resolver = Resolver::new(Config::default()).expect("delimiters");
        let mut ambient = Dry(Fixed::new(Timestamp::UNIX_EPOCH, TimeZone::UTC, 1));
        let input = format!("a: {{{{ {call} }}}}");
        let result = resolver.resolve(
            Input::Yaml(&input),
            Options::default(),
            std::rc::Rc::new(World::new()),
            &mut ambient,
        );
        let error = outcome(result).expect_err(call);
        assert!(error.ends_with("no randomness today"), "{call}: {error}");
    }
    // What needs none goes on.
    let input = Input::Yaml("a: {{ upper \"x\" }}");
    assert!(resolve_with(Config::default(), input, Options::default()).is_ok());
}
