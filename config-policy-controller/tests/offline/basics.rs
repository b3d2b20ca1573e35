//! Whole policies: compliant, not, several templates, and what makes a policy invalid.

use reeve_api::Compliance;

use crate::world::{detail, diff, message, related, report};

const POD: &str = "
apiVersion: v1
kind: Pod
metadata: {name: nginx, namespace: default, labels: {app: web}, annotations: {team: a}}
spec:
  containers: [{name: nginx, image: 'nginx:1', ports: [{containerPort: 80}]}]
";

#[test]
fn a_compliant_pod() {
    let report = report(
        "
object-templates:
- complianceType: musthave
  objectDefinition:
    apiVersion: v1
    kind: Pod
    metadata: {name: nginx, namespace: default}
    spec: {containers: [{name: nginx}]}
",
        POD,
    );
    assert_eq!(report.compliance(), Some(Compliance::Compliant));
    assert_eq!(
        report.messages,
        ["Compliant; notification - pods [nginx] found as specified in namespace default"]
    );
    assert_eq!(
        related(&report),
        ["Pod default/nginx Compliant Resource found as expected"]
    );
    assert!(report.failures.is_empty());
}

#[test]
fn a_pod_with_another_image() {
    let report = report(
        "
object-templates:
- complianceType: musthave
  objectDefinition:
    apiVersion: v1
    kind: Pod
    metadata: {name: nginx, namespace: default}
    spec: {containers: [{name: nginx, image: 'nginx:2'}]}
",
        POD,
    );
    assert_eq!(report.compliance(), Some(Compliance::NonCompliant));
    assert_eq!(
        message(&report),
        "NonCompliant; violation - pods [nginx] found but not as specified in namespace default"
    );
    let diff = diff(&report);
    assert!(
        diff.starts_with("--- default/nginx : existing\n+++ default/nginx : updated\n@@ "),
        "{diff}"
    );
    assert!(
        diff.contains("\n-  - image: nginx:1\n+  - image: nginx:2\n"),
        "{diff}"
    );
}

#[test]
fn nothing_is_ever_changed_or_created() {
    let report = report(
        "
remediationAction: enforce
object-templates:
- complianceType: musthave
  objectDefinition: {apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default}}
- complianceType: musthave
  objectDefinition: {apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default}}
",
        "",
    );
    for index in [0, 1] {
        assert_eq!(
            detail(&report, index),
            "configmaps [a] not found in namespace default"
        );
    }
}

#[test]
fn must_not_have_and_must_have() {
    let report = report(
        "
object-templates:
- complianceType: mustnothave
  objectDefinition: {apiVersion: v1, kind: Pod, metadata: {name: nginx, namespace: default}}
- complianceType: musthave
  objectDefinition: {apiVersion: v1, kind: Pod, metadata: {name: other, namespace: default}}
- complianceType: mustnothave
  objectDefinition: {apiVersion: v1, kind: Pod, metadata: {name: gone, namespace: default}}
",
        POD,
    );
    assert_eq!(
        message(&report),
        "NonCompliant; violation - pods [nginx] found in namespace default; violation - pods [other] not found in namespace default; notification - pods [gone] missing as expected in namespace default"
    );
    assert_eq!(
        related(&report),
        [
            "Pod default/gone Compliant Resource not found as expected",
            "Pod default/nginx NonCompliant Resource found but should not exist",
            "Pod default/other NonCompliant Resource not found but should exist",
        ]
    );
}

#[test]
fn policy_without_templates_is_compliant() {
    let report = report("object-templates: []", "");
    assert_eq!(
        message(&report),
        "Compliant; notification - p contains no object templates to check, and thus has no violations"
    );
}

#[test]
fn unserved_kind_is_noncompliant() {
    let report = report(
        "
object-templates:
- complianceType: musthave
  objectDefinition: {apiVersion: x.example.com/v1, kind: Thing, metadata: {name: a}}
",
        "",
    );
    assert_eq!(
        detail(&report, 0),
        "couldn't find mapping resource with kind Thing in API version x.example.com/v1, please check if you have CRD deployed"
    );
}

#[test]
fn hub_templates_need_a_hub() {
    let report = report(
        "
object-templates:
- complianceType: musthave
  objectDefinition: {apiVersion: v1, kind: ConfigMap, metadata: {name: '{{hub .ManagedClusterName hub}}', namespace: default}}
",
        "",
    );
    assert_eq!(
        message(&report),
        "NonCompliant; violation - the governance-standalone-hub-templating addon must be enabled to resolve hub templates on the managed cluster"
    );
    assert_eq!(report.failures.len(), 1);
}

#[test]
fn cfg_68_later_template_reads_unmodified_objects() {
    let report = report(
        r#"
object-templates:
- complianceType: musthave
  objectDefinition:
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: a, namespace: default}
    data: {key: wanted}
- complianceType: musthave
  objectDefinition:
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: '{{ fromConfigMap "default" "a" "key" }}', namespace: default}
"#,
        "
apiVersion: v1
kind: ConfigMap
metadata: {name: a, namespace: default}
data: {key: found}
",
    );
    assert_eq!(
        detail(&report, 1),
        "configmaps [found] not found in namespace default"
    );
}
