//! Tests of the outputs.

use crate::table::{Detail, cut, rows};
use crate::*;

fn reason(object: &str, text: &str) -> Reason {
    Reason {
        object: object.to_owned(),
        text: text.to_owned(),
        ..Reason::default()
    }
}

fn entry(subject: &str, place: &str, state: State, reasons: Vec<Reason>) -> Entry {
    Entry {
        subject: subject.to_owned(),
        place: place.to_owned(),
        state,
        rules: vec![Rule {
            name: "template".to_owned(),
            state,
            message: "NonCompliant; violation - x".to_owned(),
            reasons,
            severity: Some("High".to_owned()),
            source: None,
        }],
        source: Some(Source {
            path: "policies/a b.yaml".to_owned(),
            line: 3,
        }),
        ..Entry::default()
    }
}

fn field() -> Reason {
    Reason {
        object: "ConfigMap default/made".to_owned(),
        field: "data.hub".to_owned(),
        wanted: Some("\"a\"".to_owned()),
        found: Some("\"b\"".to_owned()),
        text: String::new(),
    }
}

fn policies() -> Report {
    let mut report = Report {
        entries: vec![
            entry("policies/ok", "cluster1", State::Compliant, vec![]),
            entry(
                "policies/ns",
                "cluster1",
                State::Violation,
                vec![reason("Namespace prod", "not found")],
            ),
            entry("policies/ns", "cluster2", State::Compliant, vec![]),
            entry(
                "policies/cfg",
                "cluster2",
                State::Violation,
                vec![field(), reason("Pod x", "not found")],
            ),
            entry(
                "policies/gk",
                "cluster1",
                State::Error,
                vec![Reason::text("kind <K> is not installed (--crds)")],
            ),
            entry(
                "policies/gk",
                "cluster2",
                State::Error,
                vec![Reason::text("kind <K> is not installed (--crds)")],
            ),
            entry(
                "policies/dev",
                "",
                State::Unplaced,
                vec![Reason::text("Placement p: no cluster with env in (dev)")],
            ),
        ],
        skipped: vec![Skip {
            path: "x.txt".to_owned(),
            reason: "not YAML or JSON".to_owned(),
        }],
        seconds: 0.42,
        ..Report::default()
    };
    report.sort();
    report
}

fn suites() -> Report {
    // The steps of a suite are in its file.
    let first = Entry {
        source: None,
        ..entry("maps", "at first", State::Compliant, vec![])
    };
    let failed = Entry {
        subject: "maps".to_owned(),
        place: "after the change".to_owned(),
        state: State::Violation,
        rules: vec![Rule {
            name: "ConfigMap default/made on cluster1".to_owned(),
            state: State::Violation,
            reasons: vec![Reason {
                object: String::new(),
                ..field()
            }],
            ..Rule::default()
        }],
        source: Some(Source {
            path: "maps.yaml".to_owned(),
            line: 12,
        }),
        ..Entry::default()
    };
    Report {
        subject: Subject::Suites,
        entries: vec![first, failed],
        seconds: 1.0,
        ..Report::default()
    }
}

#[test]
fn suites_of_one_name_in_two_files_are_two() {
    let step = |path: &str| Entry {
        subject: "maps".to_owned(),
        place: "at first".to_owned(),
        source: Some(Source {
            path: path.to_owned(),
            line: 3,
        }),
        ..Entry::default()
    };
    let report = Report {
        subject: Subject::Suites,
        entries: vec![step("a.yaml"), step("b.yaml"), step("a.yaml")],
        ..Report::default()
    };
    let text = print(&report, Output::Table, Style::default());
    assert!(text.contains("2 suites: "), "{text}");
    let junit = print(&report, Output::Junit, Style::default());
    assert_eq!(junit.matches("<testsuite name=\"maps\"").count(), 2);
    assert!(
        junit.contains("<testsuite name=\"maps\" tests=\"2\""),
        "{junit}"
    );
}

#[test]
fn table_is_grouped_worst_first_and_hides_what_complies() {
    insta::assert_snapshot!(print(&policies(), Output::Table, Style::default()), @r#"
    ! skipped 1: x.txt (not YAML or JSON)
    POLICY        CLUSTER   STATE      WHY
    policies/gk   *         Error      kind <K> is not installed (--crds)
    policies/cfg  cluster2  Violation  ConfigMap default/made: data.hub wanted "a" found "b" (+1 more)
    policies/ns   cluster1  Violation  Namespace prod: not found
    policies/dev  -         Unplaced   Placement p: no cluster with env in (dev)
    1 compliant, 2 violations, 1 error, 1 unplaced   0.4 s
    "#);
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    for width in [1, 20, 40, 80, 200] {
        let style = Style {
            width: Some(width),
            ..Style::default()
        };
        let text = print(&policies(), Output::Table, style);
        let longest = text.lines().map(|line| line.chars().count()).max();
        // Below this the columns have no room at all.
        let most = width.max(45);
        assert!(longest <= Some(most), "{width}: {longest:?}\n{text}");
    }
    assert_eq!(cut("policies", 4), "pol…");
}

#[test]
fn rows_of_many_clusters_are_few_and_the_rest_is_counted() {
    let clusters = |range: std::ops::Range<usize>, state, why: &str| {
        range
            .map(|number| {
                let reasons = vec![Reason::text(why)];
                entry("policies/a", &format!("cluster{number}"), state, reasons)
            })
            .collect::<Vec<_>>()
    };
    let mut report = Report {
        entries: clusters(1..401, State::Violation, "not found"),
        ..Report::default()
    };
    report
        .entries
        .extend(clusters(401..501, State::Compliant, ""));
    let found: Vec<String> = rows(&report, Detail::Rows)
        .iter()
        .map(|row| format!("{} {}", row.cluster, row.state.word()))
        .collect();
    assert_eq!(found, ["400 of 500 Violation", "100 of 500 Compliant"]);
    report.entries = (0..50)
        .map(|number| {
            entry(
                &format!("policies/p{number}"),
                "c",
                State::Violation,
                vec![],
            )
        })
        .collect();
    let style = Style {
        rows: Some(10),
        ..Style::default()
    };
    let text = print(&report, Output::Table, style);
    assert_eq!(text.lines().count(), 12, "{text}");
    assert!(
        text.contains("… 41 rows more (-o wide shows all)"),
        "{text}"
    );
}

#[test]
fn failed_suite_names_suite_step_object_field_and_both_values_in_ten_lines() {
    let text = print(&suites(), Output::Table, Style::default());
    assert!(text.lines().count() <= 10);
    insta::assert_snapshot!(text, @r#"
    FAIL maps › after the change  (maps.yaml:12)
         ConfigMap default/made on cluster1
           data.hub expected "a" found "b"
    1 suite: 1 passed, 1 failed   1.0 s
    "#);
}

#[test]
fn junit_counts_and_escapes() {
    insta::assert_snapshot!(print(&policies(), Output::Junit, Style::default()));
}

#[test]
fn sarif_has_rules_levels_and_locations() {
    insta::assert_snapshot!(print(&policies(), Output::Sarif, Style::default()));
}

#[test]
fn github_commands_annotate_lines() {
    insta::assert_snapshot!(print(&policies(), Output::Github, Style::default()), @r#"
    ::error file=policies/a b.yaml,line=3,title=policies/gk on cluster1::kind <K> is not installed (--crds)
    ::error file=policies/a b.yaml,line=3,title=policies/gk on cluster2::kind <K> is not installed (--crds)
    ::error file=policies/a b.yaml,line=3,title=policies/cfg on cluster2::ConfigMap default/made: data.hub wanted "a" found "b"%0APod x: not found
    ::error file=policies/a b.yaml,line=3,title=policies/ns on cluster1::Namespace prod: not found
    ::warning file=policies/a b.yaml,line=3,title=policies/dev::Placement p: no cluster with env in (dev)
    1 compliant, 2 violations, 1 error, 1 unplaced
    "#);
}

#[test]
fn open_reports_have_results_and_an_exact_summary() {
    let now = "2026-01-02T03:04:05Z".parse().unwrap();
    let text = openreports::print_at(&policies(), now);
    insta::assert_snapshot!(text);
}

#[test]
fn exit_is_by_the_worst_state_that_counts() {
    let of = |states: &[State]| Report {
        entries: states
            .iter()
            .enumerate()
            .map(|(number, state)| entry(&number.to_string(), "c", *state, vec![]))
            .collect(),
        ..Report::default()
    };
    for (states, fails) in [
        (&[State::Compliant][..], [false, false, false, false]),
        (&[State::Skipped], [false, false, true, false]),
        (&[State::Violation], [true, false, true, false]),
        (&[State::Unplaced], [true, true, true, false]),
        (&[State::Error], [true, true, true, false]),
    ] {
        let all = [
            FailOn::Violation,
            FailOn::Error,
            FailOn::Skipped,
            FailOn::None,
        ];
        let found = all.map(|on| on.is_failure(&of(states)));
        assert_eq!(found, fails, "{states:?}");
    }
}

/// States, names and texts of every kind, also what an output has to escape.
fn wild() -> Report {
    let texts = [
        "",
        "a",
        "<&>\"'",
        "two\nlines\tand \u{7} \u{fffe}",
        "ü 🙂",
        "]]>",
        "%0A::error::",
    ];
    let mut entries = Vec::new();
    for (number, text) in texts.iter().enumerate() {
        for state in State::ALL {
            let mut one = entry(
                &format!("policies/p{number}{text}"),
                text,
                state,
                vec![reason("Pod x", text), field()],
            );
            one.annotations = [("categories".to_owned(), (*text).to_owned())].into();
            one.seconds = Some(1234.5678);
            entries.push(one);
            entries.push(Entry {
                subject: format!("suite {text}"),
                state,
                reasons: vec![Reason::text(*text)],
                ..Entry::default()
            });
        }
    }
    Report {
        entries,
        seconds: 98_765.432_1,
        ..policies()
    }
}

/// Reports of every kind, an empty one among them.
fn reports() -> [Report; 4] {
    [policies(), suites(), wild(), Report::default()]
}

#[test]
fn sarif_is_valid_by_its_schema() {
    // The bracket in the pattern of languages is not closed: only some readers take it for itself.
    let schema = include_str!("../tests/schemas/sarif-2.1.0.json").replace("{2}]?$", r"{2}\\]?$");
    let schema = serde_json::from_str(&schema).unwrap();
    let options = jsonschema::options().should_validate_formats(true);
    let validator = options.build(&schema).unwrap();
    for report in reports() {
        let text = print(&report, Output::Sarif, Style::default());
        let mut log: serde_json::Value = serde_json::from_str(&text).unwrap();
        let errors: Vec<String> = validator
            .iter_errors(&log)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert_eq!(errors, [""; 0]);
        // The validator sees what is wrong.
        log["runs"][0]["results"] = serde_json::json!([{ "level": "fatal" }]);
        assert!(!validator.is_valid(&log));
    }
}

/// What is wrong with a text by the schema of `JUnit`.
fn junit_errors(text: &str) -> Vec<String> {
    let schema = uppsala::parse(include_str!("../tests/schemas/junit-10.xsd")).unwrap();
    let validator = uppsala::XsdValidator::from_schema(&schema).unwrap();
    match uppsala::parse(text) {
        Err(error) => vec![error.to_string()],
        Ok(document) => {
            let errors = validator.validate(&document);
            errors.iter().map(|error| format!("{error:?}")).collect()
        }
    }
}

#[test]
fn junit_is_valid_by_its_schema() {
    for report in reports() {
        let text = print(&report, Output::Junit, Style::default());
        assert_eq!(junit_errors(&text), [""; 0], "{text}");
        // The validator sees what is wrong.
        for (right, wrong) in [
            ("<testsuites ", "<testsuites nope=\"1\" "),
            ("</testsuites>", "<other/></testsuites>"),
        ] {
            let broken = text.replace(right, wrong);
            assert!(!junit_errors(&broken).is_empty(), "{wrong}");
        }
    }
}

#[test]
fn results_beyond_a_thousand_are_in_further_reports() {
    let clusters = |subject: &str, count: usize| -> Vec<Entry> {
        let names = (0..count).map(|number| format!("cluster{number}"));
        names
            .map(|name| entry(subject, &name, State::Violation, vec![]))
            .collect()
    };
    let mut report = Report {
        entries: clusters("policies/big", 2500),
        ..Report::default()
    };
    report.entries.extend(clusters("policies/small", 1000));
    // A policy whose name is that of a further report.
    report.entries.extend(clusters("policies/big-2", 1));
    let mut long = entry("policies/long", "cluster1", State::Error, vec![]);
    long.rules[0].message = "x".repeat(700_000);
    long.rules.push(long.rules[0].clone());
    report.entries.push(long);
    let objects = openreports::objects(&report, jiff::Timestamp::UNIX_EPOCH);
    let counts: Vec<String> = objects
        .iter()
        .map(|object| {
            let name = object["metadata"]["name"].as_str().unwrap();
            let results = object["results"].as_array().unwrap().len();
            let summary = object["summary"].as_object().unwrap().values();
            let summed: u64 = summary.filter_map(serde_json::Value::as_u64).sum();
            assert_eq!(summed, results as u64, "{name}");
            format!("{name}: {results}")
        })
        .collect();
    let wanted = [
        "big: 1000",
        "big-2: 1000",
        "big-3: 500",
        "big-2-2: 1",
        "long: 1",
        "long-2: 1",
        "small: 1000",
    ];
    assert_eq!(counts, wanted);
}

#[test]
fn checks_have_a_heading_a_subject_and_share_lines_with_the_same_finding() {
    let rule = |name: &str, state, message: &str| Rule {
        name: name.to_owned(),
        state,
        message: message.to_owned(),
        ..Rule::default()
    };
    let step = |subject: &str, place: &str, state, rules| Entry {
        subject: subject.to_owned(),
        place: place.to_owned(),
        state,
        rules,
        ..Entry::default()
    };
    let chosen = ["c1", "c2", "c3", "c4"].map(|name| rule(name, State::Compliant, "chosen"));
    let mut clusters = chosen.to_vec();
    clusters.push(rule("c5", State::Skipped, "dropped by the predicate"));
    let mut evaluation = rule("template", State::Violation, "not shown");
    evaluation.reasons = vec![field(), reason("Pod x", "not found")];
    let report = Report {
        subject: Subject::Checks,
        entries: vec![
            step("policies/p", "clusters", State::Compliant, clusters),
            step("policies/p", "none", State::Compliant, vec![]),
            step(
                "policies/p on c1",
                "evaluation",
                State::Violation,
                vec![evaluation],
            ),
        ],
        seconds: 0.1,
        ..Report::default()
    };
    insta::assert_snapshot!(print(&report, Output::Table, Style::default()), @r#"
    policies/p
      ok         clusters    c1, c2, c3 and 1 more: chosen
                             c5: dropped by the predicate
      ok         none
    policies/p on c1
      Violation  evaluation  template: ConfigMap default/made: data.hub wanted "a" found "b"
                             template: Pod x: not found
    2 ok, 1 violation   0.1 s
    "#);
}
