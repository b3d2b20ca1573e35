//! The program, on files in a directory of its own: what it prints and its exit code. Cases are those of upstream's tests, by what they
//! are about.

#![allow(clippy::unwrap_used, clippy::panic)] // a helper that fails is a test that fails

mod configuration;
mod extended;
mod kustomize;
mod kustomize_recorded;
mod manifests;
mod merge;
mod names;
mod ordering;
mod placements;
mod templates;

use std::fs;
use std::path::Path;

use reeve_policy_generator::{Caller, Environment, Outcome, run, run_in};

/// A directory with files.
struct Dir(tempfile::TempDir);

impl Dir {
    /// Files by path.
    fn new(files: &[(&str, &str)]) -> Self {
        let dir = Self(tempfile::tempdir().unwrap());
        for (path, text) in files {
            dir.write(path, text);
        }
        dir
    }

    /// A directory with the ConfigMap of [`CONFIG_MAP`] in `cm.yaml`.
    fn with_config_map() -> Self {
        Self::new(&[("cm.yaml", CONFIG_MAP)])
    }

    fn write(&self, path: &str, text: &str) {
        let at = self.path().join(path);
        fs::create_dir_all(at.parent().unwrap()).unwrap();
        fs::write(at, text).unwrap();
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn run(&self, arguments: &[&str]) -> Outcome {
        self.run_as(Caller::Reeve, arguments)
    }

    fn run_as(&self, caller: Caller, arguments: &[&str]) -> Outcome {
        let arguments: Vec<String> = arguments.iter().map(|one| (*one).to_owned()).collect();
        let environment = Environment {
            caller,
            ..Environment::default()
        };
        run(&arguments, self.path(), environment)
    }

    /// The output for a document.
    fn generate(&self, document: &str) -> String {
        self.write("generator.yaml", document);
        let outcome = self.run(&["generator.yaml"]);
        assert_eq!(outcome.code, 0, "{document}{}", outcome.stderr);
        // Hints and warnings stand beside output that is upstream's.
        let is_notice = |line: &str| line.starts_with("hint: ") || line.starts_with("warning: ");
        assert!(outcome.stderr.lines().all(is_notice), "{}", outcome.stderr);
        String::from_utf8(outcome.stdout).unwrap()
    }

    /// The objects of a kind that are generated for a document with `--extended`, and what is on the standard error.
    fn extended(&self, document: &str, kind: &str) -> (Vec<serde_json::Value>, String) {
        self.write("generator.yaml", document);
        let outcome = self.run(&["--extended", "generator.yaml"]);
        assert_eq!(outcome.code, 0, "{document}{}", outcome.stderr);
        let mut objects = parsed(std::str::from_utf8(&outcome.stdout).unwrap());
        objects.retain(|object| object["kind"] == kind);
        (objects, outcome.stderr)
    }

    /// The warnings for a document, of which `--strict` makes errors.
    fn warnings(&self, document: &str) -> Vec<String> {
        self.write("generator.yaml", document);
        let plain = self.run(&["generator.yaml"]);
        assert_eq!(plain.code, 0, "{document}{}", plain.stderr);
        let texts = |stderr: &str, level: &str| -> Vec<String> {
            let of_level = |line: &str| {
                line.strip_prefix(&format!("{level}: generator.yaml: "))
                    .map(str::to_owned)
            };
            stderr.lines().filter_map(of_level).collect()
        };
        let warnings = texts(&plain.stderr, "warning");
        let strict = self.run(&["--strict", "generator.yaml"]);
        assert_eq!(texts(&strict.stderr, "error"), warnings);
        let fails = !warnings.is_empty();
        assert_eq!((strict.code == 2, strict.stdout.is_empty()), (fails, fails));
        warnings
    }

    /// The error for a document, without the text before it, which says where.
    fn refuse(&self, document: &str) -> String {
        self.write("generator.yaml", document);
        let outcome = self.run(&["generator.yaml"]);
        assert_eq!(outcome.code, 1, "{outcome:?}");
        assert!(outcome.stdout.is_empty(), "{outcome:?}");
        let (_, error) = outcome
            .stderr
            .split_once("PolicyGenerator file 'generator.yaml': ")
            .unwrap_or_else(|| panic!("{outcome:?}"));
        error.trim_end_matches('\n').to_owned()
    }

    /// The objects that are generated for a document, by kind.
    fn objects(&self, document: &str, kind: &str) -> Vec<serde_json::Value> {
        let mut objects = parsed(&self.generate(document));
        objects.retain(|object| object["kind"] == kind);
        objects
    }

    /// The entries of `policy-templates` of the only policy.
    fn templates(&self, document: &str) -> Vec<serde_json::Value> {
        let policies = self.objects(document, "Policy");
        assert_eq!(policies.len(), 1);
        policies[0]["spec"]["policy-templates"]
            .as_array()
            .unwrap()
            .clone()
    }
}

const CONFIG_MAP: &str = "apiVersion: v1
kind: ConfigMap
metadata:
  name: my-configmap
data:
  image: 'quay.io/potatos1'
";

/// The documents of an output.
fn parsed(output: &str) -> Vec<serde_json::Value> {
    let documents = reeve_go_compat::yaml::decode_all(output.as_bytes()).unwrap();
    documents
        .iter()
        .map(|document| {
            let json = reeve_go_compat::json::encode(document, reeve_go_compat::json::Escape::None);
            serde_json::from_slice(&json.unwrap()).unwrap()
        })
        .collect()
}

/// A document of one policy with these lines about it, indented by two.
fn one_policy(lines: &str) -> String {
    let lines = lines.replace('\n', "\n  ");
    format!("policyDefaults:\n  namespace: ns\npolicies:\n- name: p\n  {lines}\n")
}

#[test]
fn gen_1_command_line_is_checked() {
    let dir = Dir::with_config_map();
    let help = dir.run(&["--help"]);
    assert_eq!(
        (help.code, String::from_utf8(help.stdout).unwrap().as_str()),
        (
            0,
            "Usage: PolicyGenerator [flags] <policy-generator-config-file>...\n"
        )
    );
    assert!(help.stderr.contains("--version"));
    for (arguments, error) in [
        (vec![], "error: no policy generator config files provided\n"),
        (vec!["--foo"], "unknown flag: --foo\n"),
        (vec!["-d"], "unknown shorthand flag: 'd' in -d\n"),
        (vec!["--base-dir"], "flag needs an argument: --base-dir\n"),
    ] {
        let outcome = dir.run(&arguments);
        assert_eq!(outcome.code, 2);
        assert!(outcome.stderr.ends_with(error), "{outcome:?}");
        assert!(!outcome.stdout.is_empty());
    }
    for (file, error) in [
        (
            "none.yaml",
            "failed to read file 'none.yaml': open none.yaml: no such file or directory\n",
        ),
        (".", "failed to read file '.': read .: is a directory\n"),
    ] {
        let outcome = dir.run(&[file]);
        assert_eq!((outcome.code, outcome.stderr.as_str()), (1, error));
    }
}

#[test]
fn gen_2_paths_are_relative_to_the_base_directory() {
    let dir = Dir::new(&[
        ("team/cm.yaml", CONFIG_MAP),
        (
            "generators/generator.yaml",
            &one_policy("manifests:\n- path: cm.yaml"),
        ),
        ("outside.yaml", CONFIG_MAP),
    ]);
    for arguments in [
        &["--base-dir", "team", "generators/generator.yaml"][..],
        &["generators/generator.yaml", "--base-dir=team"],
    ] {
        let outcome = dir.run(arguments);
        assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""));
        assert!(!outcome.is_strict);
    }
    let without = dir.run(&["generators/generator.yaml"]);
    assert_eq!(without.code, 1, "{without:?}");
    let outside = one_policy("manifests:\n- path: ../outside.yaml");
    dir.write("generators/generator.yaml", &outside);
    let refused = dir.run(&["--base-dir=team", "generators/generator.yaml"]);
    assert!(
        refused
            .stderr
            .contains("is not in the same directory tree as the kustomization.yaml file"),
        "{refused:?}"
    );
    let missing = dir.run(&["--base-dir=none", "generators/generator.yaml"]);
    assert_eq!(missing.code, 1, "{missing:?}");
    assert!(missing.stderr.contains("none"), "{missing:?}");
}

#[test]
fn gen_1_one_failing_file_leaves_the_output_empty() {
    let dir = Dir::with_config_map();
    dir.write("good.yaml", &one_policy("manifests:\n- path: cm.yaml"));
    dir.write("bad.yaml", "");
    let outcome = dir.run(&["good.yaml", "bad.yaml"]);
    assert_eq!(
        (outcome.code, outcome.stderr.as_str()),
        (
            1,
            "error processing the PolicyGenerator file 'bad.yaml': the PolicyGenerator configuration file is invalid: EOF\n"
        )
    );
    assert!(outcome.stdout.is_empty());
    let twice = dir.run(&["good.yaml", "good.yaml"]);
    assert_eq!(parsed(std::str::from_utf8(&twice.stdout).unwrap()).len(), 6);
    let debug = dir.run(&["--debug", "bad.yaml"]);
    assert_eq!(debug.code, 2);
    assert!(
        debug.stderr.starts_with("panic: error processing"),
        "{debug:?}"
    );
    let (_, stack) = debug.stderr.split_once(": EOF\n\n").unwrap();
    assert!(!stack.is_empty(), "{debug:?}");
}

#[test]
fn gen_1_flags_are_read_as_pflag_reads_them() {
    let dir = Dir::with_config_map();
    let wrong = |value: &str, flag: &str| {
        format!(
            "invalid argument \"{value}\" for \"{flag}\" flag: strconv.ParseBool: parsing \"{value}\": invalid syntax"
        )
    };
    for (arguments, error) in [
        (&["--debug=maybe", "x"][..], wrong("maybe", "--debug")),
        (&["--help=x"], wrong("x", "-h, --help")),
        (&["-h=x"], wrong("x", "-h, --help")),
        (&["--help", "--foo=1"], "unknown flag: --foo".to_owned()),
        (&["-hd"], "unknown shorthand flag: 'd' in -d".to_owned()),
        (&["---x"], "bad flag syntax: ---x".to_owned()),
        (
            &["--base-dir"],
            "flag needs an argument: --base-dir".to_owned(),
        ),
        (
            &["--help=false"],
            "error: no policy generator config files provided".to_owned(),
        ),
    ] {
        let outcome = dir.run(arguments);
        assert_eq!(outcome.code, 2, "{outcome:?}");
        assert_eq!(outcome.stderr.lines().last(), Some(error.as_str()));
    }
    let help = dir.run(&["x", "--help=1"]);
    assert_eq!(help.code, 0, "{help:?}");
    dir.write("good.yaml", &one_policy("manifests:\n- path: cm.yaml"));
    let debug = dir.run(&["--debug=t", "good.yaml", "--extended=F"]);
    assert_eq!(debug.code, 0, "{debug:?}");
}

#[test]
fn gen_1_unknown_working_directory_is_an_error() {
    let gone = std::io::Error::from(std::io::ErrorKind::NotFound);
    let run = |argument: &str| {
        let arguments = [argument.to_owned()];
        run_in(&arguments, Err(&gone), Environment::default())
    };
    let outcome = run("x.yaml");
    assert_eq!(
        (outcome.code, outcome.stderr.as_str()),
        (
            1,
            "failed to determine the current directory: getwd: no such file or directory\n"
        )
    );
    assert_eq!(run("--help").code, 0);
}

#[test]
fn gen_33_objects_that_several_files_generate_are_named() {
    let dir = Dir::with_config_map();
    let document = one_policy("manifests:\n- path: cm.yaml");
    dir.write("one.yaml", &document);
    dir.write("two.yaml", &document.replace("name: p", "name: q"));
    let apart = dir.run(&["one.yaml", "two.yaml"]);
    assert_eq!((apart.code, apart.stderr.as_str()), (0, ""));
    let warning = "two.yaml: the Policy p is also generated from one.yaml, and the one applied last replaces the other; give it another name";
    dir.write(
        "two.yaml",
        &document.replace("name: p", "name: p\n  severity: high"),
    );
    let outcome = dir.run(&["one.yaml", "two.yaml"]);
    assert_eq!(
        (outcome.code, outcome.stderr),
        (0, format!("warning: {warning}\n"))
    );
    let strict = dir.run(&["--strict", "one.yaml", "two.yaml"]);
    assert_eq!(
        (strict.code, strict.stderr),
        (2, format!("error: {warning}\n"))
    );
}

#[test]
fn gen_32_smallest_policy_is_written_byte_for_byte() {
    let output = Dir::with_config_map().generate(&one_policy("manifests:\n- path: cm.yaml"));
    assert_eq!(
        output,
        "---
apiVersion: policy.open-cluster-management.io/v1
kind: Policy
metadata:
    annotations:
        policy.open-cluster-management.io/categories: CM Configuration Management
        policy.open-cluster-management.io/controls: CM-2 Baseline Configuration
        policy.open-cluster-management.io/description: \"\"
        policy.open-cluster-management.io/standards: NIST SP 800-53
    name: p
    namespace: ns
spec:
    disabled: false
    policy-templates:
        - objectDefinition:
            apiVersion: policy.open-cluster-management.io/v1
            kind: ConfigurationPolicy
            metadata:
                name: p
            spec:
                object-templates:
                    - complianceType: musthave
                      objectDefinition:
                        apiVersion: v1
                        data:
                            image: quay.io/potatos1
                        kind: ConfigMap
                        metadata:
                            name: my-configmap
                remediationAction: inform
                severity: low
    remediationAction: inform
---
apiVersion: cluster.open-cluster-management.io/v1beta1
kind: Placement
metadata:
    name: placement-p
    namespace: ns
spec:
    predicates:
        - requiredClusterSelector:
            labelSelector:
                matchExpressions: []
    tolerations:
        - key: cluster.open-cluster-management.io/unavailable
          operator: Exists
        - key: cluster.open-cluster-management.io/unreachable
          operator: Exists
---
apiVersion: policy.open-cluster-management.io/v1
kind: PlacementBinding
metadata:
    name: binding-p
    namespace: ns
placementRef:
    apiGroup: cluster.open-cluster-management.io
    kind: Placement
    name: placement-p
subjects:
    - apiGroup: policy.open-cluster-management.io
      kind: Policy
      name: p
"
    );
}
