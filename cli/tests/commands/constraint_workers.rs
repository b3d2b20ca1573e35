//! Hostile templates in worker processes of the program: each is stopped and quarantined, and other templates are evaluated.

#![allow(clippy::unwrap_used)] // a test says what failed

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use reeve_constraint_worker::{WorkerLimits, Workers};
use reeve_gatekeeper::client::{Cause, Client, Options, Violation};
use reeve_gatekeeper::enforcement::EnforcementPoint;
use reeve_gatekeeper::review::Review;
use reeve_gatekeeper::template::{ConstraintTemplate, ErrorCode};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

/// Within the limits of an evaluation, on a machine that is busy with other tests.
const SOON: Duration = Duration::from_mins(5);

fn workers(limits: WorkerLimits) -> Arc<Workers> {
    Arc::new(Workers::new(
        PathBuf::from(env!("CARGO_BIN_EXE_reeve")),
        limits,
    ))
}

pub(crate) fn client() -> Client {
    client_of(&workers(WorkerLimits::default()))
}

fn client_of(workers: &Arc<Workers>) -> Client {
    Client::with_evaluator(workers.evaluator(Options::default()))
}

pub(crate) fn template(kind: &str, target: Value) -> ConstraintTemplate {
    let mut target = target;
    target["target"] = json!("admission.k8s.gatekeeper.sh");
    let object = json!({
        "apiVersion": "templates.gatekeeper.sh/v1", "kind": "ConstraintTemplate",
        "metadata": {"name": kind.to_lowercase()},
        "spec": {
            "crd": {"spec": {
                "names": {"kind": kind},
                "validation": {"openAPIV3Schema": {
                    "type": "object", "x-kubernetes-preserve-unknown-fields": true,
                }},
            }},
            "targets": [target],
        },
    });
    ConstraintTemplate::parse(&object).unwrap()
}

pub(crate) fn rego(kind: &str, source: &str) -> ConstraintTemplate {
    template(kind, json!({"rego": source}))
}

/// The target of a CEL template with one validation, whose message is `m`.
pub(crate) fn cel(variables: &[Value], expression: &str) -> Value {
    let validations = json!([{"expression": expression, "message": "m"}]);
    let source = json!({"variables": variables, "validations": validations});
    json!({"code": [{"engine": "K8sNativeValidation", "source": source}]})
}

/// CEL variables: `v30` is a list of 2^30 leaves that takes 31 lists of memory, and `w30` an equal one.
pub(crate) fn doubling_variables() -> Vec<Value> {
    let levels = (0..=30_i32).flat_map(|level| {
        ["v", "w"].map(|name| {
            let before = format!("variables.{name}{}", level - 1);
            let expression = match level {
                0 => "[object.metadata.name]".to_owned(),
                _ => format!("[{before}, {before}]"),
            };
            json!({"name": format!("{name}{level}"), "expression": expression})
        })
    });
    levels.collect()
}

pub(crate) fn constraint(kind: &str) -> Value {
    json!({
        "apiVersion": "constraints.gatekeeper.sh/v1beta1", "kind": kind,
        "metadata": {"name": "one"}, "spec": {},
    })
}

pub(crate) fn review(client: &Client, name: &str) -> Vec<Violation> {
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "a"},
    });
    client.review(&Review::of_object(pod).unwrap(), EnforcementPoint::Audit)
}

pub(crate) const HONEST: &str = "package honest
violation[{\"msg\": msg, \"details\": {\"name\": name}}] {
    name := input.review.object.metadata.name
    msg := sprintf(\"%v is forbidden\", [name])
}";

/// `s45` is a tree of 2^45 leaves that takes 46 lists of memory, and `t45` an equal one.
pub(crate) fn doubled() -> String {
    let of = |name: &str| {
        let rules = (1..=45).map(|number| {
            let before = number - 1;
            format!("{name}{number} := [{name}{before}, {name}{before}]")
        });
        let first = format!("{name}0 := [1]");
        let rules: Vec<String> = std::iter::once(first).chain(rules).collect();
        rules.join("\n")
    };
    format!("{}\n{}", of("s"), of("t"))
}

fn hostile(rule: &str) -> String {
    // Only with an input, or its compilation would be what is stopped.
    format!(
        "package hostile\n{}\nviolation[{{\"msg\": msg, \"details\": details}}] {{
    input.review.object.kind == \"Pod\"\n    {rule}\n}}",
        doubled()
    )
}

/// Reviews a Pod by a hostile and an honest template. Returns the violation of the hostile one.
fn beside_honest(hostile: ConstraintTemplate) -> Violation {
    let mut client = client();
    client.add_template(rego("Honest", HONEST)).unwrap();
    client.add_constraint(&constraint("Honest")).unwrap();
    let kind = hostile.kind.clone();
    client.add_template(hostile).unwrap();
    client.add_constraint(&constraint(&kind)).unwrap();
    let begin = Instant::now();
    let violations = review(&client, "web");
    assert!(begin.elapsed() < SOON, "{:?}", begin.elapsed());
    assert_eq!(violations.len(), 2, "{violations:?}");
    let (honest, hostile): (Vec<_>, Vec<_>) = violations
        .into_iter()
        .partition(|one| one.constraint.kind == "Honest");
    assert_eq!(honest[0].message, "web is forbidden");
    assert_eq!(honest[0].details, json!({"name": "web"}));
    // What is quarantined takes no time again.
    let begin = Instant::now();
    let again = review(&client, "other");
    assert!(
        begin.elapsed() < Duration::from_secs(10),
        "{:?}",
        begin.elapsed()
    );
    assert_eq!(again.len(), 2, "{again:?}");
    hostile.into_iter().next().unwrap()
}

fn is_quarantined(hostile: ConstraintTemplate, reason: &str) {
    let violation = beside_honest(hostile);
    assert_eq!(violation.cause, Cause::Quarantine, "{violation:?}");
    let kind = &violation.constraint.kind;
    let expected = format!(
        "template {kind} is quarantined: {reason}; it is not evaluated until it is changed"
    );
    assert_eq!(violation.message, expected);
}

#[test]
fn gk_136_shared_values_that_are_compared_are_stopped() {
    let source = hostile("s45 == t45; msg := \"m\"; details := {}");
    is_quarantined(
        rego("Hostile", &source),
        "it took more than 1250 ms of processor time",
    );
}

#[test]
fn gk_136_shared_value_as_details_is_too_much_output() {
    let violation = beside_honest(rego("Hostile", &hostile("msg := \"m\"; details := s45")));
    assert_eq!(violation.cause, Cause::EvaluationError, "{violation:?}");
    assert!(
        violation.message.contains("4 MiB") || violation.message.contains("4194304"),
        "{violation:?}"
    );
}

/// Rules that take memory, stack or time, each in its own way. None may end otherwise than by an error or the quarantine.
const GREEDY: [(&str, &str); 9] = [
    (
        "walk",
        "walk(s45, [_, details]); details == 2; msg := \"m\"",
    ),
    (
        "walk into a set",
        "details := {x | walk(s45, [x, _])}; msg := \"m\"",
    ),
    (
        "paths",
        "details := graph.reachable_paths({x: [y | y := numbers.range(0, 12)[_]; y != x] | x := numbers.range(0, 12)[_]}, {0}); msg := \"m\"",
    ),
    (
        "text of a value",
        "msg := sprintf(\"%v\", [s45]); details := {}",
    ),
    ("JSON of a value", "msg := json.marshal(s45); details := {}"),
    (
        "a set of both",
        "count({s45, t45}) == 1; msg := \"m\"; details := {}",
    ),
    (
        "a key of an object",
        "details := {s45: 1, t45: 2}; msg := \"m\"",
    ),
    ("sorted", "details := sort([s45, t45, s45]); msg := \"m\""),
    (
        "ranges",
        "details := [x | x := numbers.range(0, 1000000)[_]; y := numbers.range(0, 1000000)[_]; y == -1]; msg := \"m\"",
    ),
];

#[test]
fn gk_136_greedy_rules_are_stopped() {
    for (name, rule) in GREEDY {
        let mut client = client();
        if let Err(error) = client.add_template(rego("Hostile", &hostile(rule))) {
            println!("{name}: {error}");
            continue;
        }
        client.add_constraint(&constraint("Hostile")).unwrap();
        client.add_template(rego("Honest", HONEST)).unwrap();
        client.add_constraint(&constraint("Honest")).unwrap();
        let begin = Instant::now();
        let violations = review(&client, "web");
        let hostile: Vec<_> = violations
            .iter()
            .filter(|one| one.constraint.kind == "Hostile")
            .collect();
        println!("{name}: {:?}: {hostile:?}", begin.elapsed());
        assert!(begin.elapsed() < SOON, "{name}: {:?}", begin.elapsed());
        assert!(
            hostile.iter().all(|one| one.cause != Cause::Violation),
            "{name}: {hostile:?}"
        );
        let honest = violations
            .iter()
            .any(|one| one.message == "web is forbidden");
        assert!(honest, "{name}: {violations:?}");
    }
}

#[test]
fn gk_136_deep_details_are_returned() {
    let mut client = client();
    let nested = |inner: &str| format!("{}{inner}{}", "[".repeat(10), "]".repeat(10));
    // Sixteen values in each other, of ten levels each: more than serde_json decodes by itself.
    let rules = (1..16).map(|number| {
        let inner = nested(&format!("v{}", number - 1));
        format!("v{number} := {inner}")
    });
    let rules: Vec<String> = rules.collect();
    let source = format!(
        "package deep\nv0 := {}\n{}\nviolation[{{\"msg\": \"m\", \"details\": v15}}] {{ true }}",
        nested("1"),
        rules.join("\n")
    );
    client.add_template(rego("Deep", &source)).unwrap();
    client.add_constraint(&constraint("Deep")).unwrap();
    let violations = review(&client, "web");
    assert_eq!(violations[0].cause, Cause::Violation, "{violations:?}");
    let mut depth = 0;
    let mut details = &violations[0].details;
    while let Some(inner) = details.get(0) {
        (details, depth) = (inner, depth + 1);
    }
    assert_eq!(depth, 160);
}

#[test]
fn gk_136_memory_is_bounded() {
    // A list of lists that nothing shares.
    let rule = "details := [[x, y, z] | x := numbers.range(0, 9999)[_]; y := numbers.range(0, 9999)[_]; z := \"text\"]; msg := \"m\"";
    let violation = beside_honest(rego("Hostile", &hostile(rule)));
    assert_ne!(violation.cause, Cause::Violation, "{violation:?}");
}

#[test]
fn gk_136_cel_has_a_time_limit() {
    let code = cel(&doubling_variables(), "variables.v30 != variables.w30");
    let violation = beside_honest(template("Hostile", code));
    assert!(
        violation.cause == Cause::Quarantine || violation.message.contains("cost"),
        "{violation:?}"
    );
}

/// A template that harms while it is compiled: without an input it is evaluated once. It is quarantined for `reason`, beside an honest one.
fn stopped_while_it_is_compiled(body: &str, reason: &str) {
    let mut client = client();
    let doubled = doubled();
    let source = format!("package hostile\n{doubled}\nviolation[{{\"msg\": \"m\"}}] {{ {body} }}");
    for (kind, source) in [("Hostile", source.as_str()), ("Honest", HONEST)] {
        client.add_template(rego(kind, source)).unwrap();
        client.add_constraint(&constraint(kind)).unwrap();
    }
    let mut violations = review(&client, "web");
    violations.sort_by_key(|one| one.cause);
    let causes: Vec<_> = violations
        .iter()
        .map(|one| (one.constraint.kind.as_str(), one.cause))
        .collect();
    let expected = [("Honest", Cause::Violation), ("Hostile", Cause::Quarantine)];
    assert_eq!(causes, expected);
    assert!(
        violations[1].message.contains(reason),
        "{}",
        violations[1].message
    );
}

#[test]
fn gk_136_compiling_is_stopped_too() {
    stopped_while_it_is_compiled("s45 == t45", "1250 ms of processor time");
}

#[test]
fn gk_136_memory_of_the_first_compilation_is_bounded() {
    let body = "walk(s45, [_, value]); value == 2";
    stopped_while_it_is_compiled(body, "too much memory or stack");
}

#[test]
fn gk_136_new_processes_have_the_memory_to_compile() {
    let code = cel(&[], "object.metadata.name == 'x'");
    // What a process has mapped when its memory is limited must not depend on which of its threads is faster.
    for _ in 0..40 {
        let mut client = client();
        client
            .add_template(template("Honest", code.clone()))
            .unwrap();
        client.add_constraint(&constraint("Honest")).unwrap();
        assert_eq!(review(&client, "web")[0].message, "m");
    }
}

#[test]
fn gk_136_edit_lifts_the_quarantine() {
    let mut client = client();
    let source = hostile("s45 == t45; msg := \"m\"; details := {}");
    client.add_template(rego("Probe", &source)).unwrap();
    client.add_constraint(&constraint("Probe")).unwrap();
    assert_eq!(review(&client, "web")[0].cause, Cause::Quarantine);
    let evaluator = client.evaluator();
    assert!(evaluator.quarantined("Probe").is_some());
    let harmless = HONEST.replace("honest", "hostile");
    client.add_template(rego("Probe", &harmless)).unwrap();
    assert!(evaluator.quarantined("Probe").is_none());
    assert_eq!(review(&client, "web")[0].message, "web is forbidden");
    // A quarantine that was remembered runs no code.
    evaluator.quarantine("Probe", "as before");
    assert_eq!(review(&client, "web")[0].message, "as before");
}

#[test]
fn gk_136_processes_know_templates_constraints_and_inventory() {
    let workers = workers(WorkerLimits {
        processes: 1,
        ..WorkerLimits::default()
    });
    let source = "package inventory
violation[{\"msg\": msg}] {
    other := data.inventory.namespace[\"a\"][\"v1\"].Service[name]
    msg := sprintf(\"%v beside %v\", [input.parameters.who, name])
}";
    let mut first = client_of(&workers);
    first.add_template(rego("Inventory", source)).unwrap();
    let mut object = constraint("Inventory");
    object["spec"] = json!({"parameters": {"who": "this"}});
    first.add_constraint(&object).unwrap();
    let service = |name: &str| json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "namespace": "a"}});
    assert!(first.is_referential("Inventory"));
    assert!(review(&first, "web").is_empty());
    first.set_object(&service("one"));
    first.set_object(&service("two"));
    let messages = |client: &Client| -> Vec<String> {
        let violations = review(client, "web").into_iter();
        violations.map(|one| one.message).collect()
    };
    assert_eq!(messages(&first), ["this beside one", "this beside two"]);
    let key = reeve_gatekeeper::inventory::InventoryKey::of(&service("one")).unwrap();
    assert!(first.remove_object(&key) && !first.remove_object(&key));
    assert_eq!(messages(&first), ["this beside two"]);
    // Another client of the same process sees nothing of that.
    let mut second = client_of(&workers);
    second.add_template(rego("Inventory", source)).unwrap();
    second.add_constraint(&object).unwrap();
    assert!(review(&second, "web").is_empty());
    // Neither does a process that is new.
    let hostile = hostile("s45 == t45; msg := \"m\"; details := {}");
    second.add_template(rego("Hostile", &hostile)).unwrap();
    second.add_constraint(&constraint("Hostile")).unwrap();
    assert_eq!(review(&second, "web").len(), 1);
    assert_eq!(messages(&first), ["this beside two"]);
    object["spec"] = json!({"parameters": {"who": "that"}});
    first.add_constraint(&object).unwrap();
    assert_eq!(messages(&first), ["that beside two"]);
    first.remove_template("Inventory");
    assert!(review(&first, "web").is_empty());
    assert_eq!(workers.count(), 1);
}

#[test]
fn idle_processes_end() {
    let workers = workers(WorkerLimits {
        idle: Duration::from_millis(500),
        ..WorkerLimits::default()
    });
    let mut client = client_of(&workers);
    client.add_template(rego("Honest", HONEST)).unwrap();
    client.add_constraint(&constraint("Honest")).unwrap();
    assert_eq!(workers.count(), 1);
    let begin = Instant::now();
    while workers.count() > 0 {
        assert!(begin.elapsed() < SOON, "a process does not end");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(review(&client, "web").len(), 1);
}

/// The worker processes of this process, whichever test has started them.
fn process_ids() -> Vec<i32> {
    let own = format!("PPid:\t{}\n", std::process::id());
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let ids = processes.filter_map(|one| one.file_name().to_str()?.parse().ok());
    ids.filter(|id| {
        let read = |file: &str| std::fs::read_to_string(format!("/proc/{id}/{file}"));
        let is_child = read("status").is_ok_and(|status| status.contains(&own));
        is_child && read("cmdline").is_ok_and(|line| line.contains("constraint-worker"))
    })
    .collect()
}

#[test]
fn gk_139_process_that_is_killed_is_no_fault_of_a_template() {
    let mut client = client();
    client.add_template(rego("Honest", HONEST)).unwrap();
    client.add_constraint(&constraint("Honest")).unwrap();
    assert_eq!(review(&client, "web")[0].message, "web is forbidden");
    let ids = process_ids();
    assert!(!ids.is_empty());
    for id in ids.into_iter().filter_map(Pid::from_raw) {
        // It may have ended meanwhile.
        let _ = kill_process(id, Signal::KILL);
    }
    assert_eq!(review(&client, "web")[0].message, "web is forbidden");
    assert_eq!(client.evaluator().quarantined("Honest"), None);
}

#[test]
fn program_that_does_not_start_is_no_fault_of_a_template() {
    let workers = Arc::new(Workers::new(
        "/nowhere/reeve".into(),
        WorkerLimits::default(),
    ));
    let mut client = client_of(&workers);
    let error = client.add_template(rego("Honest", HONEST)).unwrap_err();
    assert_eq!(error.code, ErrorCode::Unavailable);
    assert!(
        error
            .message
            .starts_with("no process can evaluate constraints: "),
        "{error}"
    );
    assert_eq!(client.evaluator().quarantined("Honest"), None);
}
