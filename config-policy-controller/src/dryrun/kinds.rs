//! The kinds that Kubernetes itself serves, for an offline cluster.

use kube::core::ApiResource;
use reeve_runtime::discovery::{ServedKind, group_version_kind};

/// A kind as its CRD or the API server describes it. `api_version` is `group/version`.
pub fn kind(api_version: &str, kind: &str, plural: &str, namespaced: bool) -> ServedKind {
    let gvk = group_version_kind(api_version, kind);
    ServedKind {
        resource: ApiResource::from_gvk_with_plural(&gvk, plural),
        namespaced,
        watchable: true,
    }
}

/// The kinds of Kubernetes' own groups.
pub fn builtin() -> Vec<ServedKind> {
    let of = |namespaced| {
        move |(api_version, kinds): &(&str, &[(&str, &str)])| {
            let kinds = kinds.iter();
            kinds
                .map(|(name, plural)| kind(api_version, name, plural, namespaced))
                .collect::<Vec<_>>()
        }
    };
    let namespaced = NAMESPACED.iter().flat_map(of(true));
    namespaced
        .chain(CLUSTER_SCOPED.iter().flat_map(of(false)))
        .collect()
}

type Group = (&'static str, &'static [(&'static str, &'static str)]);

const NAMESPACED: &[Group] = &[
    (
        "v1",
        &[
            ("ConfigMap", "configmaps"),
            ("Endpoints", "endpoints"),
            ("Event", "events"),
            ("LimitRange", "limitranges"),
            ("PersistentVolumeClaim", "persistentvolumeclaims"),
            ("Pod", "pods"),
            ("PodTemplate", "podtemplates"),
            ("ReplicationController", "replicationcontrollers"),
            ("ResourceQuota", "resourcequotas"),
            ("Secret", "secrets"),
            ("Service", "services"),
            ("ServiceAccount", "serviceaccounts"),
        ],
    ),
    (
        "apps/v1",
        &[
            ("ControllerRevision", "controllerrevisions"),
            ("DaemonSet", "daemonsets"),
            ("Deployment", "deployments"),
            ("ReplicaSet", "replicasets"),
            ("StatefulSet", "statefulsets"),
        ],
    ),
    (
        "autoscaling/v1",
        &[("HorizontalPodAutoscaler", "horizontalpodautoscalers")],
    ),
    (
        "autoscaling/v2",
        &[("HorizontalPodAutoscaler", "horizontalpodautoscalers")],
    ),
    ("batch/v1", &[("CronJob", "cronjobs"), ("Job", "jobs")]),
    ("coordination.k8s.io/v1", &[("Lease", "leases")]),
    (
        "discovery.k8s.io/v1",
        &[("EndpointSlice", "endpointslices")],
    ),
    ("events.k8s.io/v1", &[("Event", "events")]),
    (
        "networking.k8s.io/v1",
        &[
            ("Ingress", "ingresses"),
            ("NetworkPolicy", "networkpolicies"),
        ],
    ),
    (
        "policy/v1",
        &[("PodDisruptionBudget", "poddisruptionbudgets")],
    ),
    (
        "policy.open-cluster-management.io/v1",
        &[
            ("ConfigurationPolicy", "configurationpolicies"),
            ("Policy", "policies"),
        ],
    ),
    (
        "rbac.authorization.k8s.io/v1",
        &[("Role", "roles"), ("RoleBinding", "rolebindings")],
    ),
    (
        "storage.k8s.io/v1",
        &[("CSIStorageCapacity", "csistoragecapacities")],
    ),
];

const CLUSTER_SCOPED: &[Group] = &[
    (
        "v1",
        &[
            ("Namespace", "namespaces"),
            ("Node", "nodes"),
            ("PersistentVolume", "persistentvolumes"),
        ],
    ),
    (
        "admissionregistration.k8s.io/v1",
        &[
            (
                "MutatingWebhookConfiguration",
                "mutatingwebhookconfigurations",
            ),
            ("ValidatingAdmissionPolicy", "validatingadmissionpolicies"),
            (
                "ValidatingAdmissionPolicyBinding",
                "validatingadmissionpolicybindings",
            ),
            (
                "ValidatingWebhookConfiguration",
                "validatingwebhookconfigurations",
            ),
        ],
    ),
    (
        "apiextensions.k8s.io/v1",
        &[("CustomResourceDefinition", "customresourcedefinitions")],
    ),
    (
        "apiregistration.k8s.io/v1",
        &[("APIService", "apiservices")],
    ),
    (
        "certificates.k8s.io/v1",
        &[("CertificateSigningRequest", "certificatesigningrequests")],
    ),
    (
        "flowcontrol.apiserver.k8s.io/v1",
        &[
            ("FlowSchema", "flowschemas"),
            ("PriorityLevelConfiguration", "prioritylevelconfigurations"),
        ],
    ),
    (
        "networking.k8s.io/v1",
        &[("IngressClass", "ingressclasses")],
    ),
    (
        "rbac.authorization.k8s.io/v1",
        &[
            ("ClusterRole", "clusterroles"),
            ("ClusterRoleBinding", "clusterrolebindings"),
        ],
    ),
    (
        "scheduling.k8s.io/v1",
        &[("PriorityClass", "priorityclasses")],
    ),
    (
        "storage.k8s.io/v1",
        &[
            ("CSIDriver", "csidrivers"),
            ("CSINode", "csinodes"),
            ("StorageClass", "storageclasses"),
            ("VolumeAttachment", "volumeattachments"),
        ],
    ),
];
