use k8s_openapi::ByteString;
use reeve_testkit::certificate_request;
use serde_json::json;

use super::*;
use crate::addon::{ADDON_NAME_LABEL, CLUSTER_NAME_LABEL};
use crate::csr::{claimed_installation, is_pending};

const USER: &str = "system:open-cluster-management:cluster:cluster1:addon:config-policy-controller:agent:config-policy-controller";
const OWN_GROUP: &str =
    "system:open-cluster-management:cluster:cluster1:addon:config-policy-controller";
const ALL_GROUP: &str = "system:open-cluster-management:addon:config-policy-controller";
const DNS: &str = "config-policy-controller.addon.open-cluster-management.io";

/// A request as the registration agent creates it; the tests forge single fields.
struct Request {
    signer: &'static str,
    usages: Vec<&'static str>,
    user: &'static str,
    groups: Vec<&'static str>,
    dns: Vec<&'static str>,
    username: &'static str,
    cluster: &'static str,
    name: &'static str,
    annotations: serde_json::Value,
    label: &'static str,
}

impl Default for Request {
    fn default() -> Self {
        Self {
            signer: SIGNER,
            usages: vec!["digital signature", "key encipherment", "client auth"],
            user: USER,
            groups: vec![OWN_GROUP, ALL_GROUP],
            dns: vec![DNS],
            username: "system:open-cluster-management:cluster1:agent1",
            cluster: "cluster1",
            name: "addon-cluster1-config-policy-controller-abcde",
            annotations: json!({}),
            label: "config-policy-controller",
        }
    }
}

impl Request {
    fn object(&self) -> CertificateSigningRequest {
        let pem = certificate_request(self.user, &self.groups, &self.dns).unwrap();
        let object = json!({
            "apiVersion": "certificates.k8s.io/v1",
            "kind": "CertificateSigningRequest",
            "metadata": {
                "name": self.name,
                "annotations": self.annotations,
                "labels": { ADDON_NAME_LABEL: self.label, CLUSTER_NAME_LABEL: self.cluster },
            },
            "spec": {
                "request": ByteString(pem.into_bytes()),
                "signerName": self.signer, "usages": self.usages, "username": self.username,
            },
        });
        serde_json::from_value(object).unwrap()
    }

    fn verdict(&self) -> Result<(), String> {
        let request = self.object();
        let installation = claimed_installation(&request).ok_or("nobody's business")?;
        check(&request, &installation)
    }
}

#[test]
fn request_of_agent_is_approved() {
    assert_eq!(Request::default().verdict(), Ok(()));
    let with_old_group = Request {
        groups: vec![OWN_GROUP, ALL_GROUP, AUTHENTICATED],
        dns: vec![],
        ..Request::default()
    };
    assert_eq!(with_old_group.verdict(), Ok(()));
    let by_grpc = Request {
        username: GRPC_SERVER,
        annotations: json!({ GRPC_USER: "system:open-cluster-management:cluster1:agent1" }),
        ..Request::default()
    };
    assert_eq!(by_grpc.verdict(), Ok(()));
}

/// ADDON-108 (a), (b) and (c), and similar forgeries.
// The table of forgeries is long.
#[allow(clippy::too_many_lines)]
fn forgeries() -> Vec<(&'static str, Request)> {
    vec![
        (
            "(a) an agent of cluster10",
            Request {
                username: "system:open-cluster-management:cluster10:agent1",
                ..Request::default()
            },
        ),
        (
            "an agent of another cluster",
            Request {
                username: "system:open-cluster-management:cluster2:agent1",
                ..Request::default()
            },
        ),
        (
            "somebody",
            Request {
                username: "jane",
                ..Request::default()
            },
        ),
        (
            "a user who only carries the annotation",
            Request {
                username: "jane",
                annotations: json!({ GRPC_USER: "system:open-cluster-management:cluster1:agent1" }),
                ..Request::default()
            },
        ),
        (
            "(b) the group of another cluster",
            Request {
                groups: vec![
                    OWN_GROUP,
                    ALL_GROUP,
                    "system:open-cluster-management:cluster:cluster2:addon:config-policy-controller",
                ],
                ..Request::default()
            },
        ),
        (
            "(b) administrators",
            Request {
                groups: vec![OWN_GROUP, ALL_GROUP, "system:masters"],
                ..Request::default()
            },
        ),
        (
            "(b) both",
            Request {
                groups: vec![OWN_GROUP, ALL_GROUP, AUTHENTICATED, "system:masters"],
                ..Request::default()
            },
        ),
        (
            "one group only",
            Request {
                groups: vec![OWN_GROUP],
                ..Request::default()
            },
        ),
        (
            "no group",
            Request {
                groups: vec![],
                ..Request::default()
            },
        ),
        (
            "another instead",
            Request {
                groups: vec![OWN_GROUP, "system:masters"],
                ..Request::default()
            },
        ),
        (
            "one group twice",
            Request {
                groups: vec![OWN_GROUP, OWN_GROUP, ALL_GROUP],
                ..Request::default()
            },
        ),
        (
            "another user",
            Request {
                user: "system:admin",
                ..Request::default()
            },
        ),
        (
            "(c) another signer",
            Request {
                signer: "kubernetes.io/kubelet-serving",
                ..Request::default()
            },
        ),
        (
            "(c) a signer of one's own",
            Request {
                signer: "example.com/x",
                ..Request::default()
            },
        ),
        (
            "(c) a server's certificate",
            Request {
                usages: vec!["digital signature", "server auth"],
                ..Request::default()
            },
        ),
        (
            "(c) a server's certificate too",
            Request {
                usages: vec!["client auth", "server auth"],
                ..Request::default()
            },
        ),
        (
            "(c) no usage",
            Request {
                usages: vec![],
                ..Request::default()
            },
        ),
        (
            "(c) another name",
            Request {
                dns: vec![DNS, "kubernetes.default"],
                ..Request::default()
            },
        ),
    ]
}

#[test]
fn addon_108_forged_request_is_not_approved() {
    let verdicts = forgeries().into_iter().map(|(what, request)| {
        let why = request.verdict().expect_err(what);
        format!("{what}: {why}")
    });
    let verdicts: Vec<String> = verdicts.collect();
    insta::assert_snapshot!(verdicts.join("\n"));
}

#[test]
fn unreadable_request_is_not_approved() {
    let mut request = Request::default().object();
    let installation = claimed_installation(&request).unwrap();
    for text in [
        "",
        "no PEM",
        "-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n",
        "-----BEGIN CERTIFICATE REQUEST-----\nMAA=\n-----END CERTIFICATE REQUEST-----\n",
    ] {
        request.spec.request = ByteString(text.as_bytes().to_vec());
        let why = check(&request, &installation).unwrap_err();
        assert!(why.starts_with("spec.request cannot be read: "), "{why}");
    }
}

#[test]
fn request_of_other_controller_is_ignored() {
    let of = |request: Request| claimed_installation(&request.object());
    assert_eq!(
        of(Request {
            name: "csr-abcde",
            ..Request::default()
        }),
        None
    );
    assert_eq!(
        of(Request {
            label: "search-collector",
            ..Request::default()
        }),
        None
    );
    let pending = Request::default().object();
    assert!(is_pending(&pending));
    for kind in ["Approved", "Denied"] {
        let mut decided = pending.clone();
        let condition = json!({ "conditions": [{ "type": kind, "status": "True" }] });
        decided.status = serde_json::from_value(condition).unwrap();
        assert!(!is_pending(&decided), "{kind}");
    }
}
