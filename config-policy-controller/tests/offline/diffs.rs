//! What differs: as text, and field by field.

use reeve_config_policy_controller::dryrun::DiffLength;
use reeve_config_policy_controller::dryrun::Options;
use rstest::rstest;

use crate::world::{diff, policy, properties, report, report_of};

const ROLE: &str = "
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: r, namespace: default}
rules:
- {apiGroups: [''], resources: [pods], verbs: [get, list]}
";

fn role(more: &str, verbs: &str) -> String {
    format!(
        "
object-templates:
- complianceType: mustonlyhave
  {more}
  objectDefinition:
    apiVersion: rbac.authorization.k8s.io/v1
    kind: Role
    metadata: {{name: r, namespace: default}}
    rules:
    - {{apiGroups: [''], resources: [pods], verbs: {verbs}}}
"
    )
}

#[test]
fn the_difference_is_a_unified_diff_of_yaml() {
    assert_eq!(
        diff(&report(&role("", "[get, watch]"), ROLE)),
        "--- default/r : existing
+++ default/r : updated
@@ -8,7 +8,7 @@
   - \"\"
   resources:
   - pods
   verbs:
   - get
-  - list
+  - watch
 
"
    );
}

#[rstest]
#[case::none("recordDiff: None")]
#[case::log("recordDiff: Log")]
fn differences_that_the_status_does_not_hold(#[case] more: &str) {
    let properties = properties(&report(&role(more, "[get, watch]"), ROLE));
    assert_eq!(properties.diff, None);
    assert_eq!(properties.fields, None);
}

#[test]
fn differing_fields_have_found_and_wanted_values() {
    let text = "
object-templates:
- complianceType: musthave
  objectDefinition:
    apiVersion: v1
    kind: Pod
    metadata: {name: p, namespace: default, labels: {app: wanted}}
    spec: {hostNetwork: true, containers: [{name: web, image: 'web:2'}]}
";
    let object = "
apiVersion: v1
kind: Pod
metadata: {name: p, namespace: default, labels: {app: found}}
spec: {containers: [{name: web, image: 'web:1'}]}
";
    let fields = properties(&report(text, object)).fields.unwrap();
    let reported: Vec<String> = fields
        .iter()
        .map(|field| {
            let text = |value: &Option<String>| value.clone().unwrap_or_else(|| "-".to_owned());
            format!(
                "{}: {} instead of {}",
                field.path,
                text(&field.wanted),
                text(&field.found)
            )
        })
        .collect();
    assert_eq!(
        reported,
        [
            "metadata.labels.app: \"wanted\" instead of \"found\"",
            "spec.containers[name=web].image: \"web:2\" instead of \"web:1\"",
            "spec.hostNetwork: true instead of -",
        ]
    );
}

fn many(count: usize) -> (String, String) {
    let data = |value: &str| {
        (0..count)
            .map(|number| format!("key{number}: {value}"))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let wanted = format!("
object-templates:
- complianceType: musthave
  objectDefinition: {{apiVersion: config.example.com/v1, kind: Widget, metadata: {{name: w, namespace: default}}, spec: {{{}}}}}
", data("wanted"));
    let live = format!(
        "
apiVersion: config.example.com/v1
kind: Widget
metadata: {{name: w, namespace: default}}
spec: {{{}}}
",
        data("found")
    );
    (wanted, live)
}

#[test]
fn long_diffs_are_truncated_unless_full_length_is_requested() {
    let (wanted, live) = many(60);
    let short = diff(&report(&wanted, &live));
    assert!(
        short.starts_with("# Truncated: showing 50/130 diff lines:\n--- default/w"),
        "{short}"
    );
    assert_eq!(short.lines().count(), 54);
    let options = Options {
        length: DiffLength::Full,
        ..Options::default()
    };
    let full = diff(&report_of(&policy(&wanted), &live, &options));
    assert!(!full.starts_with('#'));
    assert_eq!(full.split('\n').count(), 130);
    // Numbers in keys are compared as numbers.
    let place = |key: &str| full.find(&format!("-  {key}:")).unwrap();
    assert!(place("key9") < place("key10"));
}

#[test]
fn at_most_twenty_fields_are_listed() {
    let (wanted, live) = many(60);
    assert_eq!(
        properties(&report(&wanted, &live)).fields.unwrap().len(),
        20
    );
}

#[test]
fn status_is_compared_and_shown() {
    let text = "
object-templates:
- complianceType: musthave
  objectDefinition: {apiVersion: v1, kind: Pod, metadata: {name: p, namespace: default}, status: {phase: Running}}
";
    let object = "
apiVersion: v1
kind: Pod
metadata: {name: p, namespace: default}
status: {phase: Pending}
";
    let report = report(text, object);
    assert!(diff(&report).contains("-  phase: Pending\n+  phase: Running\n"));
    assert_eq!(properties(&report).fields.unwrap()[0].path, "status.phase");
}
