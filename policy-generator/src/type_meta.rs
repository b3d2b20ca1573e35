//! The kinds of objects, and which of them kustomize takes for kinds without namespace.

use reeve_go_compat::value::Map;

use crate::values::text_field;

/// The kinds without namespace that kustomize knows, with the versions of their group. It takes all others for kinds with one.
const CLUSTER_SCOPED: [(&str, &[&str], &[&str]); 14] = [
    (
        "",
        &["v1"],
        &["ComponentStatus", "Node", "PersistentVolume"],
    ),
    (
        "admissionregistration.k8s.io",
        &["v1", "v1beta1"],
        &[
            "MutatingWebhookConfiguration",
            "ValidatingWebhookConfiguration",
        ],
    ),
    (
        "admissionregistration.k8s.io",
        &["v1"],
        &[
            "ValidatingAdmissionPolicy",
            "ValidatingAdmissionPolicyBinding",
        ],
    ),
    (
        "apiextensions.k8s.io",
        &["v1", "v1beta1"],
        &["CustomResourceDefinition"],
    ),
    (
        "apiregistration.k8s.io",
        &["v1", "v1beta1"],
        &["APIService"],
    ),
    (
        "certificates.k8s.io",
        &["v1", "v1beta1"],
        &["CertificateSigningRequest"],
    ),
    (
        "flowcontrol.apiserver.k8s.io",
        &["v1beta1"],
        &["FlowSchema", "PriorityLevelConfiguration"],
    ),
    ("networking.k8s.io", &["v1", "v1beta1"], &["IngressClass"]),
    ("node.k8s.io", &["v1", "v1beta1"], &["RuntimeClass"]),
    ("policy", &["v1beta1"], &["PodSecurityPolicy"]),
    (
        "rbac.authorization.k8s.io",
        &["v1", "v1beta1"],
        &["ClusterRole", "ClusterRoleBinding"],
    ),
    ("scheduling.k8s.io", &["v1", "v1beta1"], &["PriorityClass"]),
    (
        "storage.k8s.io",
        &["v1", "v1beta1"],
        &["CSIDriver", "CSINode", "StorageClass", "VolumeAttachment"],
    ),
    // Its name is the namespace.
    ("", &["v1"], &["Namespace"]),
];

/// The kind of an object.
pub(crate) struct TypeMeta {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) kind: String,
}

impl TypeMeta {
    pub(crate) fn of(object: &Map) -> Self {
        let api_version = text_field(object, "apiVersion").unwrap_or_default();
        let (group, version) = api_version.split_once('/').unwrap_or(("", &api_version));
        Self {
            group: group.to_owned(),
            version: version.to_owned(),
            kind: text_field(object, "kind").unwrap_or_default(),
        }
    }

    pub(crate) fn is(&self, group: &str, kind: &str) -> bool {
        self.group == group && self.kind == kind
    }

    pub(crate) fn is_cluster_scoped(&self) -> bool {
        CLUSTER_SCOPED.iter().any(|(group, versions, kinds)| {
            *group == self.group
                && versions.contains(&self.version.as_str())
                && kinds.contains(&self.kind.as_str())
        })
    }
}
