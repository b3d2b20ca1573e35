//! Who may do what, and what is admitted.

use crate::corpus::harness::Outcome::{Immutable, Updated};
use crate::corpus::harness::{Item, PLAIN};

pub(crate) const ROLE: Item = Item {
    text: "apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: reader, namespace: corpus, labels: {kind: reader}}
rules:
- {apiGroups: [''], resources: [pods, pods/log], verbs: [get, list, watch]}
- {apiGroups: [apps], resources: [deployments], resourceNames: [web], verbs: [get]}
",
    changes: &[
        // A rule of nothing but a verb is added, which is none.
        ("/rules/0/verbs/0", Immutable),
        ("/metadata/labels/kind", Updated),
    ],
    only: Updated,
    ..PLAIN
};

pub(crate) const CLUSTER_ROLE: Item = Item {
    text: "apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: corpus-reader, labels: {aggregate: 'true'}}
rules:
- {nonResourceURLs: [/healthz, /metrics], verbs: [get]}
- {apiGroups: ['*'], resources: ['*'], verbs: ['*']}
",
    changes: &[("/metadata/labels/aggregate", Updated)],
    only: Updated,
    ..PLAIN
};

pub(crate) const AGGREGATED: Item = Item {
    text: "apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: corpus-aggregated}
aggregationRule:
  clusterRoleSelectors: [{matchLabels: {corpus-none: 'true'}}]
rules: []
",
    changes: &[(
        "/aggregationRule/clusterRoleSelectors/0/matchLabels/corpus-none",
        Updated,
    )],
    only: Updated,
    ..PLAIN
};

pub(crate) const ROLE_BINDING: Item = Item {
    text: "apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: readers, namespace: corpus}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader}
subjects:
- {kind: ServiceAccount, name: default, namespace: corpus}
- {kind: User, name: 'system:admin'}
- {kind: Group, name: readers, apiGroup: rbac.authorization.k8s.io}
",
    changes: &[
        ("/subjects/1/apiGroup", Immutable),
        ("/roleRef/name", Immutable),
    ],
    ..PLAIN
};

pub(crate) const CLUSTER_ROLE_BINDING: Item = Item {
    text: "apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: corpus-nobody}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}
subjects: []
",
    changes: &[("/roleRef/name", Immutable)],
    ..PLAIN
};

pub(crate) const SERVICE_ACCOUNT: Item = Item {
    text: "apiVersion: v1
kind: ServiceAccount
metadata: {name: robot, namespace: corpus}
automountServiceAccountToken: false
imagePullSecrets: [{name: registry}]
",
    changes: &[
        ("/automountServiceAccountToken", Updated),
        ("/imagePullSecrets/0/name", Updated),
    ],
    only: Updated,
    ..PLAIN
};

pub(crate) const ADMISSION_POLICY: Item = Item {
    text: "apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: corpus-few-replicas}
spec:
  failurePolicy: Ignore
  matchConstraints:
    resourceRules:
    - {apiGroups: [corpus.example.com], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [nothings]}
  variables: [{name: few, expression: 'object.spec.replicas < 5'}]
  validations:
  - {expression: variables.few, message: too many}
  - expression: >-
      object.metadata.name != \"\" &&
      object.metadata.name.size() < 60
",
    changes: &[
        // A validation without an expression is added.
        ("/spec/validations/0/message", Immutable),
        ("/spec/failurePolicy", Immutable),
    ],
    ..PLAIN
};

pub(crate) const ADMISSION_BINDING: Item = Item {
    text: "apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: corpus-few-replicas}
spec:
  policyName: corpus-few-replicas
  validationActions: [Warn, Audit]
  matchResources: {namespaceSelector: {matchLabels: {corpus: none}}}
",
    changes: &[("/spec/policyName", Updated)],
    only: Updated,
    ..PLAIN
};

pub(crate) const WEBHOOK: Item = Item {
    text: "apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: corpus}
webhooks:
- name: corpus.example.com
  admissionReviewVersions: [v1]
  sideEffects: None
  failurePolicy: Ignore
  clientConfig: {service: {name: hook, namespace: corpus}}
  rules: [{apiGroups: [corpus.example.com], apiVersions: ['*'], operations: ['*'], resources: ['*/*']}]
",
    changes: &[
        ("/webhooks/0/timeoutSeconds", Updated),
        ("/webhooks/0/clientConfig/service/port", Updated),
    ],
    only: Updated,
    ..PLAIN
};
