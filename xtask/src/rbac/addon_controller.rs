//! The rights of the controller that installs the two agents.

use super::{On, READ, READ_AND_CHANGE, READ_AND_WRITE, READ_WRITE_AND_DELETE, Rights, Rule};

const ADDONS: &[&str] = &[
    "config-policy-controller",
    "governance-policy-framework",
    "governance-standalone-hub-templating",
];

const GROUP: &str = "addon.open-cluster-management.io";
const ROLES: &str = "rbac.authorization.k8s.io";
const CREATE_AND_WATCH: &[&str] = &["create", "get", "list", "update", "watch"];
const CHANGE: &[&str] = &["delete", "get", "patch", "update"];

/// Who may grant rights must have them: much of this is what the agents need on the hub.
pub(super) const ADDON_CONTROLLER: &[Rights] = &[
    Rights {
        kind: "ClusterRole",
        name: "governance-policy-addon-controller",
        rules: CLUSTER,
    },
    Rights {
        kind: "Role",
        name: "governance-policy-addon-controller-leader-election",
        rules: &[
            (
                On::Resources("coordination.k8s.io", &["leases"]),
                READ_WRITE_AND_DELETE,
            ),
            (On::Resources("", &["events"]), &["create", "patch"]),
            (
                On::Resources("events.k8s.io", &["events"]),
                &["create", "patch"],
            ),
        ],
    },
];

const CLUSTER: &[Rule] = &[
    (On::Resources("", &["pods"]), READ),
    (
        On::Named("", &["secrets"], &["policy-encryption-key"]),
        READ,
    ),
    (On::Resources("", &["events"]), READ_AND_WRITE),
    (On::Resources("events.k8s.io", &["events"]), READ_AND_WRITE),
    (
        On::Resources(
            GROUP,
            &["addondeploymentconfigs", "clustermanagementaddons"],
        ),
        READ,
    ),
    (
        On::Named(
            GROUP,
            &[
                "clustermanagementaddons/finalizers",
                "managedclusteraddons/finalizers",
            ],
            ADDONS,
        ),
        &["update"],
    ),
    (
        On::Named(
            GROUP,
            &[
                "clustermanagementaddons/status",
                "managedclusteraddons/status",
            ],
            ADDONS,
        ),
        &["patch", "update"],
    ),
    (
        On::Resources(GROUP, &["managedclusteraddons"]),
        CREATE_AND_WATCH,
    ),
    (
        On::Named(GROUP, &["managedclusteraddons"], ADDONS),
        &["delete"],
    ),
    (
        On::Resources("authorization.k8s.io", &["subjectaccessreviews"]),
        &["create", "get"],
    ),
    (
        On::Resources(
            "certificates.k8s.io",
            &[
                "certificatesigningrequests",
                "certificatesigningrequests/approval",
            ],
        ),
        CREATE_AND_WATCH,
    ),
    // The agents are clients of the hub, and nothing else.
    (
        On::Named(
            "certificates.k8s.io",
            &["signers"],
            &["kubernetes.io/kube-apiserver-client"],
        ),
        &["approve"],
    ),
    (
        On::Named(
            "cluster.open-cluster-management.io",
            &["clusterclaims"],
            &["id.k8s.io"],
        ),
        &["get"],
    ),
    (
        On::Resources("cluster.open-cluster-management.io", &["managedclusters"]),
        READ,
    ),
    (
        On::Resources("config.openshift.io", &["infrastructures"]),
        READ,
    ),
    (
        On::Resources("coordination.k8s.io", &["leases"]),
        &["create"],
    ),
    (
        On::Named("coordination.k8s.io", &["leases"], ADDONS),
        READ_AND_CHANGE,
    ),
    (
        On::Resources("policy.open-cluster-management.io", &["policies"]),
        READ,
    ),
    (
        On::Resources("policy.open-cluster-management.io", &["policies/status"]),
        &["get", "patch", "update"],
    ),
    (
        On::Resources(
            ROLES,
            &["clusterrolebindings", "clusterroles", "rolebindings"],
        ),
        &["create"],
    ),
    (
        On::Named(
            ROLES,
            &["clusterroles", "rolebindings"],
            &[
                "open-cluster-management:config-policy-controller-hub",
                "open-cluster-management:governance-standalone-hub-templating",
                "open-cluster-management:policy-framework-hub",
            ],
        ),
        CHANGE,
    ),
    (
        On::Named(
            ROLES,
            &["clusterrolebindings"],
            &["open-cluster-management:governance-standalone-hub-templating"],
        ),
        CHANGE,
    ),
    (
        On::Resources("work.open-cluster-management.io", &["manifestworks"]),
        READ_WRITE_AND_DELETE,
    ),
];
