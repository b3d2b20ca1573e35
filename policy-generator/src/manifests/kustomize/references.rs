//! Which fields name other objects, as kustomize 5.8 knows them.

use crate::type_meta::TypeMeta;

/// A kind that is named.
pub(super) struct Target {
    /// Empty: any group.
    pub(super) group: &'static str,
    /// Empty: any version.
    pub(super) version: &'static str,
    pub(super) kind: &'static str,
    /// Fields of the specs of Pods.
    in_pods: &'static [&'static str],
    /// Kinds with Pods of which kustomize does not know these fields.
    except: &'static [&'static str],
    /// Other fields.
    fields: &'static [Field],
}

/// A field that names an object.
struct Field {
    kind: &'static str,
    /// Empty: any group.
    group: &'static str,
    /// The keys to it, with `~1` for a slash; lists on the way have it in each element.
    path: &'static str,
}

/// The kinds with Pods, and where the specs of those are.
const POD_SPECS: [(&str, &str); 9] = [
    ("Pod", "spec"),
    ("PodTemplate", "template/spec"),
    ("Deployment", "spec/template/spec"),
    ("ReplicaSet", "spec/template/spec"),
    ("ReplicationController", "spec/template/spec"),
    ("DaemonSet", "spec/template/spec"),
    ("StatefulSet", "spec/template/spec"),
    ("Job", "spec/template/spec"),
    ("CronJob", "spec/jobTemplate/spec/template/spec"),
];

const RBAC: &str = "rbac.authorization.k8s.io";
const ADMISSION: &str = "admissionregistration.k8s.io";

const NONE: Target = Target {
    group: "",
    version: "",
    kind: "",
    in_pods: &[],
    except: &[],
    fields: &[],
};

const fn field(kind: &'static str, path: &'static str) -> Field {
    in_group("", kind, path)
}

const fn in_group(group: &'static str, kind: &'static str, path: &'static str) -> Field {
    Field { kind, group, path }
}

const SCALED: &[Field] = &[field("HorizontalPodAutoscaler", "spec/scaleTargetRef/name")];

/// All kinds that are named. `IngressClass` is not among them: kustomize looks for it in a group that does not exist.
pub(super) const TARGETS: [Target; 15] = [
    Target {
        group: "storage.k8s.io",
        version: "v1",
        kind: "StorageClass",
        fields: &[
            field("PersistentVolume", "spec/storageClassName"),
            field("PersistentVolumeClaim", "spec/storageClassName"),
            field(
                "StatefulSet",
                "spec/volumeClaimTemplates/spec/storageClassName",
            ),
        ],
        ..NONE
    },
    Target {
        kind: "ServiceAccount",
        version: "v1",
        in_pods: &["serviceAccountName"],
        except: &["ReplicaSet", "PodTemplate"],
        fields: &[
            in_group(RBAC, "RoleBinding", "subjects"),
            in_group(RBAC, "ClusterRoleBinding", "subjects"),
        ],
        ..NONE
    },
    Target {
        group: RBAC,
        kind: "Role",
        fields: &[in_group(RBAC, "RoleBinding", "roleRef/name")],
        ..NONE
    },
    Target {
        group: RBAC,
        kind: "ClusterRole",
        fields: &[
            in_group(RBAC, "RoleBinding", "roleRef/name"),
            in_group(RBAC, "ClusterRoleBinding", "roleRef/name"),
        ],
        ..NONE
    },
    Target {
        kind: "ConfigMap",
        version: "v1",
        in_pods: &[
            "volumes/configMap/name",
            "containers/env/valueFrom/configMapKeyRef/name",
            "initContainers/env/valueFrom/configMapKeyRef/name",
            "containers/envFrom/configMapRef/name",
            "initContainers/envFrom/configMapRef/name",
            "volumes/projected/sources/configMap/name",
        ],
        except: &["ReplicationController"],
        fields: &[
            field("Node", "spec/configSource/configMap"),
            field("Role", "rules/resourceNames"),
            field("ClusterRole", "rules/resourceNames"),
            field(
                "Ingress",
                "metadata/annotations/nginx.ingress.kubernetes.io~1fastcgi-params-configmap",
            ),
        ],
        ..NONE
    },
    Target {
        kind: "Secret",
        version: "v1",
        in_pods: &[
            "volumes/secret/secretName",
            "containers/env/valueFrom/secretKeyRef/name",
            "initContainers/env/valueFrom/secretKeyRef/name",
            "containers/envFrom/secretRef/name",
            "initContainers/envFrom/secretRef/name",
            "imagePullSecrets/name",
            "volumes/projected/sources/secret/name",
        ],
        except: &["ReplicationController"],
        fields: &[
            field("Ingress", "spec/tls/secretName"),
            field(
                "Ingress",
                "metadata/annotations/ingress.kubernetes.io~1auth-secret",
            ),
            field(
                "Ingress",
                "metadata/annotations/nginx.ingress.kubernetes.io~1auth-secret",
            ),
            field(
                "Ingress",
                "metadata/annotations/nginx.ingress.kubernetes.io~1auth-tls-secret",
            ),
            field("ServiceAccount", "imagePullSecrets/name"),
            field("StorageClass", "parameters/secretName"),
            field("StorageClass", "parameters/adminSecretName"),
            field("StorageClass", "parameters/userSecretName"),
            field("StorageClass", "parameters/secretRef"),
            field("Role", "rules/resourceNames"),
            field("ClusterRole", "rules/resourceNames"),
            in_group(
                "serving.knative.dev",
                "Service",
                "spec/template/spec/containers/env/valueFrom/secretKeyRef/name",
            ),
            field("PersistentVolume", "spec/azureFile/secretName"),
        ],
        ..NONE
    },
    Target {
        kind: "Service",
        version: "v1",
        fields: &[
            in_group("apps", "StatefulSet", "spec/serviceName"),
            field("Ingress", "spec/rules/http/paths/backend/serviceName"),
            field("Ingress", "spec/backend/serviceName"),
            field("Ingress", "spec/rules/http/paths/backend/service/name"),
            field("Ingress", "spec/defaultBackend/service/name"),
            in_group("apiregistration.k8s.io", "APIService", "spec/service/name"),
            in_group(
                ADMISSION,
                "ValidatingWebhookConfiguration",
                "webhooks/clientConfig/service",
            ),
            in_group(
                ADMISSION,
                "MutatingWebhookConfiguration",
                "webhooks/clientConfig/service",
            ),
        ],
        ..NONE
    },
    Target {
        group: "scheduling.k8s.io",
        version: "v1",
        kind: "PriorityClass",
        in_pods: &["priorityClassName"],
        except: &["ReplicaSet", "PodTemplate"],
        ..NONE
    },
    Target {
        kind: "PersistentVolume",
        version: "v1",
        fields: &[
            field("PersistentVolumeClaim", "spec/volumeName"),
            field("ClusterRole", "rules/resourceNames"),
        ],
        ..NONE
    },
    Target {
        kind: "PersistentVolumeClaim",
        version: "v1",
        in_pods: &["volumes/persistentVolumeClaim/claimName"],
        except: &["ReplicaSet", "PodTemplate"],
        ..NONE
    },
    Target {
        kind: "Deployment",
        fields: SCALED,
        ..NONE
    },
    Target {
        kind: "StatefulSet",
        fields: SCALED,
        ..NONE
    },
    Target {
        kind: "ReplicaSet",
        fields: SCALED,
        ..NONE
    },
    Target {
        kind: "ReplicationController",
        fields: SCALED,
        ..NONE
    },
    Target {
        group: ADMISSION,
        kind: "ValidatingAdmissionPolicy",
        fields: &[in_group(
            ADMISSION,
            "ValidatingAdmissionPolicyBinding",
            "spec/policyName",
        )],
        ..NONE
    },
];

impl Target {
    /// The keys to each field in which an object of a kind may name one of these.
    pub(super) fn paths(&self, of: &TypeMeta) -> Vec<Vec<String>> {
        let pods = POD_SPECS
            .iter()
            .find(|(kind, _)| *kind == of.kind && !self.except.contains(kind));
        let in_pods = pods.into_iter().flat_map(|(_, spec)| {
            let fields = self.in_pods.iter();
            fields.map(move |field| format!("{spec}/{field}"))
        });
        let others = self.fields.iter().filter(|field| {
            field.kind == of.kind && (field.group.is_empty() || field.group == of.group)
        });
        let paths = in_pods.chain(others.map(|field| field.path.to_owned()));
        paths
            .map(|path| path.split('/').map(|key| key.replace("~1", "/")).collect())
            .collect()
    }
}
