//! A template that would run away ends with an error that names the limit.

use std::time::Duration;

use crate::world::{in_time, resolve_with};
use reeve_templates_engine::budget::Budget;
use reeve_templates_engine::language::ExecCause;
use reeve_templates_engine::resolver::{Config, Input, Options, ResolveError};

fn failure(input: &str, budget: Budget) -> String {
    let options = Options {
        budget,
        ..Options::default()
    };
    let failed = in_time(input, || {
        resolve_with(Config::default(), Input::Yaml(input), options)
            .expect_err("it runs into a limit")
    });
    let ResolveError::Execute { source, .. } = &failed.error else {
        panic!("{failed}");
    };
    assert!(
        matches!(source.cause, Some(ExecCause::Limit(_))),
        "{failed}"
    );
    failed.to_string()
}

fn small() -> Budget {
    Budget {
        steps: 100_000,
        bytes: 1_000_000,
        depth: 500,
        time: Duration::from_secs(10),
        ..Budget::default()
    }
}

#[test]
fn tmpl_107_runaway_template_ends_with_the_limit() {
    for (input, expected) in [
        (
            "{{ range until 1000000000 }}x{{ end }}",
            "limit of 100000 evaluation steps",
        ),
        (
            "{{ range 1000000000 }}{{ end }}",
            "limit of 100000 evaluation steps",
        ),
        (
            "{{ untilStep 0 1000000000 1 }}",
            "limit of 100000 evaluation steps",
        ),
        ("{{ seq 1 1000000000 }}", "limit of"),
        (
            "{{ repeat 1000000000 \"x\" }}",
            "limit of 1000000 bytes of output",
        ),
        (
            "{{ $x := repeat 1000 \"x\" }}{{ range 2000 }}{{ $x }}{{ end }}",
            "limit of 1000000 bytes of output",
        ),
        (
            "{{ printf \"%9999999d\" 1 }}",
            "limit of 1000000 bytes of output",
        ),
        (
            "{{ indent 1000000000 \"x\" }}",
            "limit of 1000000 bytes of output",
        ),
        ("{{ randAlphaNum 1000000000 }}", "limit of"),
        (
            "{{ define \"r\" }}{{ template \"r\" }}{{ end }}{{ template \"r\" }}",
            "exceeded maximum template depth (500)",
        ),
        (
            "{{ $d := dict \"a\" (repeat 1000 \"x\") }}{{ $l := list $d $d $d $d $d $d $d $d $d $d }}{{ $m := list $l $l $l $l $l $l $l $l $l $l }}{{ $n := list $m $m $m $m $m $m $m $m $m $m }}{{ $n | toJson }}",
            "limit of 1000000 bytes of output",
        ),
        (
            "{{ $x := list 1 }}{{ range until 60 }}{{ $x = list $x $x }}{{ end }}{{ $x }}",
            "limit of 100000 evaluation steps",
        ),
        (
            "{{ $x := list 1 }}{{ range until 60 }}{{ $x = list $x $x }}{{ end }}{{ $y := deepCopy $x }}",
            "limit of 100000 evaluation steps",
        ),
        (
            "{{ $x := list 1 }}{{ range until 60 }}{{ $x = list $x $x }}{{ end }}{{ $x | toJson }}",
            "limit of",
        ),
        (
            "{{ $x := list 1 }}{{ range until 60 }}{{ $x = list $x $x }}{{ end }}{{ $x | toYaml }}",
            "limit of",
        ),
        (
            "{{ $x := list 1 }}{{ range until 60 }}{{ $x = list $x $x }}{{ end }}{{ $x | toString }}",
            "limit of",
        ),
        (
            "{{ $x := list 1 }}{{ $y := list 1 }}{{ range until 60 }}{{ $x = list $x $x }}{{ $y = list $y $y }}{{ end }}{{ deepEqual $x $y }}",
            "limit of",
        ),
        (
            "{{ $x := list }}{{ range until 5000 }}{{ $x = list $x }}{{ end }}{{ $x }}",
            "exceeded maximum template depth (500)",
        ),
    ] {
        let text = failure(input, small());
        assert!(text.contains(expected), "{input}: {text}");
    }
}

#[test]
fn a_deep_recursion_ends_at_the_default_limit() {
    let text = failure(
        "{{ define \"r\" }}{{ if true }}{{ with 1 }}{{ template \"r\" }}{{ end }}{{ end }}{{ end }}{{ template \"r\" }}",
        Budget::default(),
    );
    assert!(
        text.contains("exceeded maximum template depth (10000)"),
        "{text}"
    );
}

#[test]
fn a_slow_template_ends_in_time() {
    let budget = Budget {
        time: Duration::from_millis(200),
        steps: u64::MAX,
        ..Budget::default()
    };
    let text = failure("{{ range 1000000000 }}{{ end }}", budget);
    assert!(text.contains("limit of 200ms of evaluation time"), "{text}");
}

#[test]
fn template_that_computes_too_long_ends() {
    let budget = Budget {
        processor_time: Duration::from_millis(100),
        steps: u64::MAX,
        ..Budget::default()
    };
    let text = failure("{{ range 1000000000 }}{{ end }}", budget.clone());
    assert!(text.contains("limit of 100ms of processor time"), "{text}");
    // A key takes what it takes; after it there is nothing left for another one.
    let text = failure(
        "{{ genPrivateKey \"rsa\" | len }}{{ genPrivateKey \"ecdsa\" | len }}",
        budget,
    );
    assert!(text.contains("limit of 100ms of processor time"), "{text}");
}

/// As deep as Go allows, on a stack of the size that worker threads have.
#[test]
fn nesting_does_not_overflow_the_stack() {
    let run = |text: String| {
        std::thread::Builder::new()
            .stack_size(2 * 1024 * 1024)
            .spawn(move || {
                let result =
                    resolve_with(Config::default(), Input::Yaml(&text), Options::default());
                result.map(|_| ()).map_err(|failed| failed.to_string())
            })
            .expect("a thread")
            .join()
            .expect("no overflow")
    };
    let parens = |depth: usize| format!("{{{{ {}1{} }}}}", "(".repeat(depth), ")".repeat(depth));
    assert_eq!(run(parens(9_999)), Ok(()));
    let error = run(parens(10_001)).expect_err("too deep");
    assert!(error.ends_with("max expression depth exceeded"));
    let controls = "{{ if true }}".repeat(9_000) + &"{{ end }}".repeat(9_000);
    assert_eq!(run(controls), Ok(()));
    let chained = format!(
        "{{{{ if false }}}}{}{{{{ end }}}}",
        "{{ else if false }}".repeat(9_000)
    );
    assert_eq!(run(chained), Ok(()));
    let error = run("[".repeat(100_000)).expect_err("too deep");
    assert!(error.contains("failed to convert the resolved template to JSON"));
}
