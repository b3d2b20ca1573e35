//! The commands against what Gatekeeper's `gator` printed (`tests/record.sh` recorded it).

use std::ffi::OsString;
use std::fs;
use std::path::Path;

use reeve_gator::{Args, Outcome, run};
use reeve_go_compat::yaml;

/// The words of a command; some are in single quotes.
fn words(line: &str) -> Vec<OsString> {
    let mut words = vec![String::new()];
    let mut is_quoted = false;
    for character in line.chars() {
        match (character, words.last_mut()) {
            ('\'', _) => is_quoted = !is_quoted,
            (' ', _) if !is_quoted => words.push(String::new()),
            (other, Some(word)) => word.push(other),
            (_, None) => {}
        }
    }
    words.into_iter().map(OsString::from).collect()
}

fn without_times(text: &str) -> String {
    let is_time = |word: &str| {
        let word = word.trim_matches(['(', ')']);
        word.len() > 5 && word.ends_with('s') && word.trim_end_matches('s').parse::<f64>().is_ok()
    };
    let lines = text.split('\n').map(|line| {
        let parts = line.split('\t').map(|part| {
            if part.starts_with('(') && is_time(part) {
                "(0.000s)"
            } else if is_time(part) {
                "0.000s"
            } else {
                part
            }
        });
        parts.collect::<Vec<_>>().join("\t")
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn outcome(command: &str) -> Outcome {
    match Args::of_program(words(command)) {
        Ok(args) => run(&args, None),
        Err(error) => Outcome {
            error: error.to_string(),
            code: u8::MAX,
            ..Outcome::default()
        },
    }
}

#[test]
fn commands_print_what_gator_prints() {
    let folder = Path::new("tests/golden");
    let mut count = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let recorded = fs::read_to_string(&path).unwrap();
        let mut lines = recorded.splitn(3, '\n');
        let command = lines.next().unwrap();
        let code = lines.next().unwrap().trim_start_matches("exit ");
        let expected = lines.next().unwrap();
        let outcome = outcome(command);
        assert_eq!(
            outcome.code.to_string(),
            code,
            "{command}: {}",
            outcome.error
        );
        if command.ends_with("-o yaml") {
            let read = |text: &str| yaml::decode_sigs_json(text.as_bytes()).unwrap();
            assert_eq!(read(&outcome.output), read(expected), "{command}");
        } else {
            assert_eq!(
                without_times(&outcome.output),
                without_times(expected),
                "{command}"
            );
        }
        assert_eq!(
            outcome.error.is_empty(),
            code == "0" || !expected.is_empty() && command.starts_with("gator test"),
            "{command}: {}",
            outcome.error
        );
        count += 1;
    }
    assert!(count >= 25, "{count}");
}

#[test]
fn errors_say_what_is_wrong() {
    for (command, expected) in [
        (
            "gator verify tests/manifests/verify/absent.yaml",
            "Error: listing test files: stat tests/manifests/verify/absent.yaml: ",
        ),
        (
            "gator verify tests/manifests/verify/suite.yaml --run a//b//c",
            "Error: compiling filter: invalid test filter: ",
        ),
        (
            "gator verify tests/manifests/verify/suite.yaml/...",
            "Error: listing test files: can only recursively traverse directories",
        ),
        (
            "gator test -f tests/manifests/verify/empty.yaml",
            "no input data identified",
        ),
        (
            "gator test -f tests/absent",
            "reading: cannot read tests/absent: ",
        ),
        (
            "gator test -f tests/manifests/audit/warnings.yaml",
            "auditing objects: adding constraint \"x\": ",
        ),
        (
            "gator test -f tests/manifests/audit/policies.yaml -o xml",
            "unrecognized value for output flag: xml",
        ),
        (
            "gator test -i registry.example/policies",
            "images are not read",
        ),
        (
            "gator expand -n tests/manifests/expand -f xml",
            "unrecognized value for format flag: xml",
        ),
        (
            "gator expand -n tests/manifests/expand",
            "error expanding resources: expanding resource broken: ",
        ),
        (
            "gator bench -f tests/manifests/verify/template.yaml",
            "no input data identified",
        ),
    ] {
        let outcome = outcome(command);
        assert_eq!(outcome.code, 1, "{command}");
        assert!(
            outcome.error.starts_with(expected),
            "{command}: {}",
            outcome.error
        );
        assert!(outcome.error.ends_with('\n'), "{command}");
    }
}

#[test]
fn broken_suite_names_field_and_file() {
    let folder = tempfile::tempdir().unwrap();
    let head = "apiVersion: test.gatekeeper.sh/v1alpha1\nkind: Suite\n";
    for (body, expected) in [
        ("tests: 1\n", "tests must be of the type list, not a number"),
        (
            "tests: [{name: []}]\n",
            "name must be of the type string, not a list",
        ),
        (
            "tests: [{cases: [{assertions: [{violations: true}]}]}]\n",
            "violations must be of the type int or string, not a boolean",
        ),
        ("tests: [\n", "invalid yaml: parsing yaml file"),
    ] {
        let path = folder.path().join("suite.yaml");
        fs::write(&path, format!("{head}{body}")).unwrap();
        let outcome = outcome(&format!("gator verify {}", path.display()));
        assert_eq!(outcome.code, 1);
        assert!(outcome.error.contains(expected), "{}", outcome.error);
    }
}

#[test]
fn bench_measures_each_engine() {
    let command = "gator bench -f tests/manifests/audit -n 2 --warmup 0 -e all -o json";
    let folder = tempfile::tempdir().unwrap();
    for file in ["policies.yaml", "objects.yaml"] {
        fs::copy(
            Path::new("tests/manifests/audit").join(file),
            folder.path().join(file),
        )
        .unwrap();
    }
    let command = command.replace(
        "tests/manifests/audit",
        &folder.path().display().to_string(),
    );
    let outcome = outcome(&command);
    assert_eq!(outcome.code, 0, "{}", outcome.error);
    let measured = yaml::decode_sigs_json(outcome.output.as_bytes()).unwrap();
    let engines: Vec<&str> = measured
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|one| one["engine"].as_str())
        .collect();
    assert_eq!(engines, ["rego", "cel"]);
    assert_eq!(measured[0]["reviews"], 10);
    assert_eq!(measured[0]["violations"], measured[1]["violations"]);
}

#[test]
fn expanded_objects_are_written_to_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.yaml");
    let inputs =
        "-n tests/manifests/expand/expansion.yaml -n tests/manifests/expand/deployment.yaml";
    let outcome = outcome(&format!("gator expand {inputs} -o {}", path.display()));
    assert_eq!(
        outcome.output,
        format!("Writing output to file: {}\n", path.display())
    );
    assert!(
        fs::read_to_string(&path)
            .unwrap()
            .starts_with("apiVersion: v1\nkind: Pod\n")
    );
}

#[test]
fn objects_of_standard_input_are_added() {
    let words = words("gator test -f tests/manifests/audit/policies.yaml");
    let args = Args::of_program(words).unwrap();
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: piped}\n";
    let outcome = run(&args, Some(&mut pod.as_bytes()));
    assert_eq!(
        outcome.output,
        "v1/Pod piped: [\"pods\"] Message: \"saw <Pod> \\\"piped\\\"\"\n"
    );
    assert_eq!(outcome.code, 1);
    let broken = run(&args, Some(&mut "a: [".as_bytes()));
    assert!(
        broken.error.starts_with("reading: reading \"-\": "),
        "{}",
        broken.error
    );
}
