//! Policies with various kinds, and with kinds that the cluster does not serve.

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use reeve_scenarios::{Evaluator, same, spec, steadily, within};
use serde_json::{Value, json};

const RBAC: &str = "rbac.authorization.k8s.io/v1";

fn role(rules: &str) -> String {
    format!(
        "apiVersion: {RBAC}\nkind: Role\nmetadata: {{name: role, namespace: case2}}\nrules:\n{rules}"
    )
}

pub(crate) async fn roles(world: Arc<Evaluator>) -> Result<()> {
    world.namespaces(&["case2"]).await?;
    let rules = "- {apiGroups: [extensions, apps], resources: [deployments], verbs: [get, list, watch, delete]}
- {apiGroups: [''], resources: [pods], verbs: [get]}
";
    let informed = world.policy("case2-inform");
    informed
        .apply(&spec("inform", &[("musthave", &role(rules))]))
        .await?;
    informed.is("NonCompliant").await?;
    let enforced = world.policy("case2-enforce");
    enforced
        .apply(&spec("enforce", &[("musthave", &role(rules))]))
        .await?;
    enforced.is("Compliant").await?;
    informed.is("Compliant").await?;
    informed
        .apply(&spec("inform", &[("mustnothave", &role(rules))]))
        .await?;
    informed.is("NonCompliant").await?;
    let fewer = "- {apiGroups: [''], resources: [pods], verbs: [get]}\n";
    informed
        .apply(&spec("inform", &[("mustonlyhave", &role(fewer))]))
        .await?;
    informed.is("NonCompliant").await?;
    let reordered = "- {apiGroups: [''], resources: [pods], verbs: [get]}
- {apiGroups: [apps, extensions], resources: [deployments], verbs: [delete, watch, list, get]}
";
    informed
        .apply(&spec("inform", &[("mustonlyhave", &role(reordered))]))
        .await?;
    informed.is("Compliant").await?;
    Ok(())
}

pub(crate) async fn role_binding(world: Arc<Evaluator>) -> Result<()> {
    world.namespaces(&["case2"]).await?;
    let without = format!(
        "apiVersion: {RBAC}
kind: RoleBinding
metadata: {{name: binding, namespace: case2}}
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: Role, name: some}}
"
    );
    let with = format!(
        "{without}subjects: [{{apiGroup: rbac.authorization.k8s.io, kind: User, name: user}}]\n"
    );
    let policy = world.policy("case2-binding");
    policy
        .apply(&spec("enforce", &[("mustonlyhave", &with)]))
        .await?;
    policy.is("Compliant").await?;
    policy
        .apply(&spec("inform", &[("mustonlyhave", &without)]))
        .await?;
    let observed = policy.is("NonCompliant").await?;
    let read = || async {
        world
            .get(RBAC, "RoleBinding", Some("case2"), "binding")
            .await?
            .context("no RoleBinding")
    };
    let uid = read().await?.metadata.uid.context("no UID")?;
    let want = format!(
        "--- case2/binding : existing
+++ case2/binding : updated
@@ -8,10 +8,6 @@
   uid: {uid}
 roleRef:
   apiGroup: rbac.authorization.k8s.io
   kind: Role
   name: some
-subjects:
-- apiGroup: rbac.authorization.k8s.io
-  kind: User
-  name: user
 \n"
    );
    let related = observed.related();
    same(
        "the diff",
        related.first().context("no related object")?.diff(),
        want.as_str(),
    )?;
    policy.remediate("enforce").await?;
    policy.is("Compliant").await?;
    ensure!(
        read().await?.data.get("subjects").is_none(),
        "the subjects are still there"
    );
    Ok(())
}

fn unmapped(kind: &str, api_version: &str) -> String {
    format!(
        "couldn't find mapping resource with kind {kind} in API version {api_version}, please check if you have \
         CRD deployed"
    )
}

pub(crate) async fn missing_kinds(world: Arc<Evaluator>) -> Result<()> {
    let olm = "operators.coreos.com/v1alpha1";
    for (name, object, api_version, kind) in [
        (
            "csv",
            "spec: {displayName: x}",
            olm,
            "ClusterServiceVersion",
        ),
        (
            "subscription",
            "metadata: {name: s, namespace: default}",
            olm,
            "Subscription",
        ),
        ("kind", "status: {a: b}", "example.com/v1", "NotThere"),
        (
            "named",
            "metadata: {name: x, namespace: default}",
            "example.com/v1",
            "NotThere",
        ),
    ] {
        let policy = world.policy(&format!("case3-{name}"));
        let object = format!("apiVersion: {api_version}\nkind: {kind}\n{object}\n");
        let selector = "namespaceSelector: {include: [default]}\n";
        policy
            .apply(&(spec("inform", &[("musthave", &object)]) + selector))
            .await?;
        let message = unmapped(kind, api_version);
        let observed = policy.reports(&message).await?;
        same("the reason", observed.reason(0), "K8s error")?;
        policy
            .stays(&message, |observed| {
                observed.compliance() == "NonCompliant" && observed.message(0) == message
            })
            .await?;
    }
    Ok(())
}

pub(crate) async fn cluster_version(world: Arc<Evaluator>) -> Result<()> {
    let version = |channel: &str| {
        format!(
            "apiVersion: config.openshift.io/v1
kind: ClusterVersion
metadata: {{name: version}}
spec: {{clusterID: 6f40a1b8-0d37-4d3b-8a52-4c3e4e8e0a11, channel: {channel}}}
"
        )
    };
    let policy = world.policy("case4-version");
    policy
        .apply(&spec("enforce", &[("musthave", &version("stable"))]))
        .await?;
    policy.is("Compliant").await?;
    let patch = "apiVersion: config.openshift.io/v1
kind: ClusterVersion
metadata: {name: version}
spec: {channel: fast}
";
    policy
        .apply(&spec("enforce", &[("musthave", patch)]))
        .await?;
    policy.is("Compliant").await?;
    let live = world
        .get("config.openshift.io/v1", "ClusterVersion", None, "version")
        .await?
        .context("absent")?;
    let want = json!({ "clusterID": "6f40a1b8-0d37-4d3b-8a52-4c3e4e8e0a11", "channel": "fast" });
    same("the spec", &live.data["spec"], &want)?;
    policy
        .apply(&spec("inform", &[("musthave", patch)]))
        .await?;
    let observed = policy
        .reports("clusterversions [version] found as specified")
        .await?;
    same("the compliance", observed.compliance(), "Compliant")
}

const SECURITY: &str = "security.openshift.io/v1";

fn constraints(priority: &str) -> String {
    format!(
        "apiVersion: {SECURITY}
kind: SecurityContextConstraints
metadata: {{name: case7}}
allowHostNetwork: false
allowPrivilegedContainer: false
priority: {priority}
readOnlyRootFilesystem: false
runAsUser: {{type: MustRunAsRange}}
users: []
volumes: [configMap, secret]
"
    )
}

pub(crate) async fn no_spec(world: Arc<Evaluator>) -> Result<()> {
    let read = || async {
        world
            .get(SECURITY, "SecurityContextConstraints", None, "case7")
            .await?
            .context("absent")
    };
    let policy = world.policy("case7-constraints");
    policy
        .apply(&spec("enforce", &[("musthave", &constraints("10"))]))
        .await?;
    policy.is("Compliant").await?;
    let version = read().await?.metadata.resource_version;
    steadily("it is not written again", || async {
        same(
            "the resource version",
            read().await?.metadata.resource_version,
            version.clone(),
        )
    })
    .await?;
    for (priority, want) in [("null", Value::Null), ("10", json!(10))] {
        policy
            .apply(&spec("enforce", &[("musthave", &constraints(priority))]))
            .await?;
        policy.is("Compliant").await?;
        same("the priority", read().await?.data["priority"].clone(), want)?;
    }
    for action in ["enforce", "inform"] {
        policy
            .apply(&spec(action, &[("musthave", &constraints("{}"))]))
            .await?;
        policy.is("NonCompliant").await?;
        policy.stays_with("NonCompliant").await?;
    }
    same(
        "the priority",
        read().await?.data["priority"].clone(),
        json!(10),
    )
}

pub(crate) async fn api_server(world: Arc<Evaluator>) -> Result<()> {
    let server = |spec: &str| {
        format!(
            "apiVersion: config.openshift.io/v1\nkind: APIServer\nmetadata: {{name: case11}}\nspec: {spec}\n"
        )
    };
    world.apply(&server("{}")).await?;
    let (encryption, tls) = (
        world.policy("case11-encryption"),
        world.policy("case11-tls"),
    );
    for (policy, bad, good) in [
        (
            &encryption,
            "{encryption: {type: invalid}}",
            "{encryption: {type: aescbc}}",
        ),
        (
            &tls,
            "{tlsSecurityProfile: {type: invalid, intermediate: {}}}",
            "{tlsSecurityProfile: {type: Intermediate, intermediate: {}}}",
        ),
    ] {
        policy
            .apply(&spec("inform", &[("musthave", &server(good))]))
            .await?;
        policy.is("NonCompliant").await?;
        policy
            .apply(&spec("enforce", &[("musthave", &server(bad))]))
            .await?;
        policy.is("NonCompliant").await?;
        policy.stays_with("NonCompliant").await?;
        policy
            .apply(&spec("enforce", &[("musthave", &server(good))]))
            .await?;
        policy.is("Compliant").await?;
    }
    steadily("both are content with the one object", || async {
        same(
            "the encryption",
            encryption.observed().await?.compliance(),
            "Compliant",
        )?;
        same(
            "the profile",
            tls.observed().await?.compliance(),
            "Compliant",
        )
    })
    .await
}

pub(crate) async fn user_errors(world: Arc<Evaluator>) -> Result<()> {
    let policy = world.policy("case26-metric");
    let object = "{apiVersion: example.com/v1, kind: NotThere, metadata: {name: x}}";
    policy
        .apply(&spec("inform", &[("musthave", object)]))
        .await?;
    policy.is("NonCompliant").await?;
    let count = || async {
        let labels = ["template=\"case26-metric\"", "type=\"no-object-CRD\""];
        let series = world
            .controller()
            .metric("policy_user_errors_total", &labels)
            .await?;
        anyhow::Ok(series.iter().map(|(_, value)| value).sum::<f64>())
    };
    // It is retried without anything having changed.
    within("the error is counted more than once", || async {
        let count = count().await?;
        ensure!(count > 1.0, "it is {count}");
        Ok(())
    })
    .await?;
    policy.remove().await?;
    within("the series is gone", || async {
        let labels = ["template=\"case26-metric\""];
        let series = world
            .controller()
            .metric("policy_user_errors_total", &labels)
            .await?;
        ensure!(series.is_empty(), "there is {series:?}");
        Ok(())
    })
    .await
}

pub(crate) async fn no_api_version(world: Arc<Evaluator>) -> Result<()> {
    let policy = world.policy("case35-nothing");
    let bad = "{kind: ConfigMap, metadata: {name: x, namespace: default}}";
    let unknown = "{apiVersion: example.com/v1, kind: NotThere, metadata: {name: x}}";
    policy
        .apply(&spec(
            "enforce",
            &[("musthave", bad), ("musthave", unknown)],
        ))
        .await?;
    let observed = policy
        .until("both templates are looked at", |observed| {
            observed.details() == 2
        })
        .await?;
    same("the compliance", observed.compliance(), "NonCompliant")?;
    let message = format!(
        "NonCompliant; violation - The kind and apiVersion fields are required on the object template at index 0 in \
         policy case35-nothing; violation - {}",
        unmapped("NotThere", "example.com/v1")
    );
    within("both are reported to the parent", || async {
        let reported = policy.parent_messages().await?;
        ensure!(
            reported.last() == Some(&message),
            "the events of the parent are {reported:#?}"
        );
        Ok(())
    })
    .await
}
