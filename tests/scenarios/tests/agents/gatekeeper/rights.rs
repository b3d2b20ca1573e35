//! The rights that the shipped manifests give are enough for Gatekeeper's policies.

use std::fs;
use std::sync::Arc;

use anyhow::{Result, ensure};
use kube::ResourceExt as _;
use reeve_scenarios::guarded::{Guarded, constraint, template};
use reeve_scenarios::script::{CONSTRAINTS, TEMPLATES, Violation, audit};
use reeve_scenarios::{ADDON, Addon, install, make_namespace};
use reeve_testkit::{parse, workspace};
use serde_json::json;

use crate::gatekeeper::flows::{CLEAN, made};

const USER: &str = "shipped";
const NAMESPACE: &str = "case-c17q-addon";
/// Where an addon outside a Pod takes itself to be.
const OWN: &str = "open-cluster-management-agent-addon";
const RBAC: &str = "rbac.authorization.k8s.io";

/// Binds a role, in a namespace or (empty) everywhere.
fn bound(role_kind: &str, role: &str, namespace: &str) -> String {
    let (kind, metadata) = if namespace.is_empty() {
        ("ClusterRoleBinding", json!({ "name": role }))
    } else {
        (
            "RoleBinding",
            json!({ "name": USER, "namespace": namespace }),
        )
    };
    json!({
        "apiVersion": format!("{RBAC}/v1"), "kind": kind, "metadata": metadata,
        "roleRef": { "apiGroup": RBAC, "kind": role_kind, "name": role },
        "subjects": [{ "apiGroup": RBAC, "kind": "User", "name": USER }]
    })
    .to_string()
}

async fn grant(world: &Guarded) -> Result<()> {
    for (objects, name) in [
        (&world.hub, NAMESPACE),
        (&world.managed, NAMESPACE),
        (&world.managed, OWN),
    ] {
        make_namespace(objects, name).await?;
    }
    let folder = workspace().join("deploy/rbac");
    let on_managed = fs::read_to_string(folder.join(format!("{ADDON}.yaml")))?;
    for mut role in parse(&on_managed)? {
        let name = role.name_any();
        let is_cluster_role = role
            .types
            .as_ref()
            .is_some_and(|types| types.kind == "ClusterRole");
        let (kind, namespace) = match (is_cluster_role, name.ends_with("-own")) {
            (true, _) => ("ClusterRole", ""),
            (false, true) => ("Role", OWN),
            (false, false) => ("Role", NAMESPACE),
        };
        if !is_cluster_role {
            role.metadata.namespace = Some(namespace.to_owned());
        }
        world.managed.apply_object(&role).await?;
        world.managed.apply(&bound(kind, &name, namespace)).await?;
    }
    let on_hub = fs::read_to_string(folder.join(format!("{ADDON}-hub.yaml")))?;
    for role in world.hub.apply(&on_hub).await? {
        world
            .hub
            .apply(&bound("ClusterRole", &role.name_any(), NAMESPACE))
            .await?;
    }
    Ok(())
}

pub(crate) async fn suffice(world: Arc<Guarded>) -> Result<()> {
    let (kind, name) = ("CaseC17q", "case-c17q");
    grant(&world).await?;
    let flags = [
        format!("--cluster-namespace={NAMESPACE}"),
        format!(
            "--hub-cluster-configfile={}",
            world.hub.kubeconfig_for(USER, None)?.display()
        ),
        format!(
            "--managed-cluster-configfile={}",
            world.managed.kubeconfig_for(USER, None)?.display()
        ),
    ];
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let mut addon = Addon::start(&flags, &[])?.ready().await?;
    let policy = world.policy_in(NAMESPACE, name);
    let alone = world.webhook().await;
    policy
        .apply("enforce", &[template(kind), constraint(kind, name)])
        .await?;
    policy.wait_for_remediation(kind, name, "deny").await?;
    let found = [Violation {
        namespace: "cups",
        name: "one",
        message: "no",
    }];
    audit(&world.managed, kind, name, &found).await?;
    policy
        .hub_reports(name, "NonCompliant; deny - no (on ConfigMap cups/one)")
        .await?;
    policy
        .apply("inform", &[template(kind), constraint(kind, name)])
        .await?;
    policy.wait_for_remediation(kind, name, "warn").await?;
    drop(alone);
    audit(&world.managed, kind, name, &[]).await?;
    policy.hub_reports(name, CLEAN).await?;
    policy.hub_reports("casec17q", &made(kind)).await?;
    policy.apply("inform", &[template(kind)]).await?;
    policy.lost(CONSTRAINTS, kind, name).await?;
    policy.remove().await?;
    policy
        .lost(TEMPLATES, "ConstraintTemplate", "casec17q")
        .await?;
    let log = addon.log();
    let denied: Vec<&str> = log
        .lines()
        .filter(|line| line.contains("forbidden"))
        .collect();
    ensure!(denied.is_empty(), "not allowed: {denied:#?}");
    // Kinds of templates that it has no rights for hinder nobody whose policies have none of them.
    install(&world.managed, "clusterrules.yaml").await?;
    policy.apply("inform", &[template(kind)]).await?;
    policy.hub_reports("casec17q", &made(kind)).await?;
    policy.remove().await?;
    addon.component().stop().await?;
    Ok(())
}
