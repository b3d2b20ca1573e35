//! A Role under each compliance type, in each mode, message for message.

use std::sync::Arc;

use anyhow::{Result, ensure};
use reeve_scenarios::Governed;
use reeve_testkit::World;
use serde_json::{Value, json};

const ROLE: (&str, &str) = ("rbac.authorization.k8s.io/v1", "Role");

fn role(name: &str, verbs: &[&str]) -> Value {
    json!({
        "apiVersion": ROLE.0, "kind": ROLE.1,
        "metadata": { "name": name, "namespace": "default" },
        "rules": [{ "apiGroups": ["apps"], "resources": ["deployments"], "verbs": verbs }]
    })
}

fn violation(name: &str, phrase: &str) -> String {
    format!("NonCompliant; violation - roles [{name}] {phrase} in namespace default")
}

fn notification(name: &str, phrase: &str) -> String {
    format!("Compliant; notification - roles [{name}] {phrase} in namespace default")
}

pub(crate) async fn must_have(world: Arc<World>) -> Result<()> {
    let name = "role-musthave";
    let wanted = role(name, &["get", "list"]);
    let template = Governed::template(name, "musthave", &wanted);
    let policy = Governed::apply(&world, name, "inform", vec![template]).await?;
    policy.place(&["c1"]).await?;
    policy
        .reports("c1", name, &violation(name, "not found"))
        .await?;
    policy.remediate("enforce").await?;
    policy
        .observed("c1", name, &notification(name, "was created successfully"))
        .await?;
    policy
        .reports("c1", name, &notification(name, "found as specified"))
        .await?;

    // More rules than asked for are no violation; other verbs in the rule are.
    policy.remediate("inform").await?;
    policy.wait_for_remediation("c1", name, "inform").await?;
    let plane = &world.cluster("c1")?.plane;
    let mut extended = role(name, &["list", "get"]);
    let extra = json!({ "apiGroups": [""], "resources": ["pods"], "verbs": ["get"] });
    extended["rules"]
        .as_array_mut()
        .into_iter()
        .for_each(|rules| rules.insert(0, extra.clone()));
    plane.apply(&extended.to_string()).await?;
    policy
        .reports("c1", name, &notification(name, "found as specified"))
        .await?;
    plane.apply(&role(name, &["get"]).to_string()).await?;
    policy
        .reports("c1", name, &violation(name, "found but not as specified"))
        .await?;
    policy.remediate("enforce").await?;
    policy
        .observed("c1", name, &notification(name, "was updated successfully"))
        .await?;
    policy
        .reports("c1", name, &notification(name, "found as specified"))
        .await?;
    policy.root_is("Compliant").await?;
    Ok(())
}

pub(crate) async fn must_not_have(world: Arc<World>) -> Result<()> {
    let name = "role-mustnothave";
    let plane = &world.cluster("c1")?.plane;
    plane.apply(&role(name, &["get"]).to_string()).await?;
    // Existence decides; what else the definition reports does not matter.
    let template = Governed::template(name, "mustnothave", &role(name, &["delete"]));
    let policy = Governed::apply(&world, name, "inform", vec![template]).await?;
    policy.place(&["c1"]).await?;
    policy
        .reports("c1", name, &violation(name, "found"))
        .await?;
    policy.root_is("NonCompliant").await?;
    policy.remediate("enforce").await?;
    policy
        .observed("c1", name, &notification(name, "was deleted successfully"))
        .await?;
    policy
        .reports("c1", name, &notification(name, "missing as expected"))
        .await?;
    ensure!(
        plane
            .get(ROLE.0, ROLE.1, Some("default"), name)
            .await?
            .is_none()
    );
    policy.remediate("inform").await?;
    policy.root_is("Compliant").await?;
    Ok(())
}

pub(crate) async fn must_only_have(world: Arc<World>) -> Result<()> {
    let name = "deployments-role";
    let policy = Governed::ready_made(&world, "role.yaml", "policy-role").await?;
    let template = "policy-role-example";
    let placement = "placement-policy-role";
    reeve_testkit::world::decide(&world.hub, "policies", placement, &["c1"]).await?;
    policy
        .reports("c1", template, &violation(name, "not found"))
        .await?;
    policy.remediate("enforce").await?;
    policy
        .observed(
            "c1",
            template,
            &notification(name, "was created successfully"),
        )
        .await?;
    policy
        .reports("c1", template, &notification(name, "found as specified"))
        .await?;

    policy.remediate("inform").await?;
    policy
        .wait_for_remediation("c1", template, "inform")
        .await?;
    let plane = &world.cluster("c1")?.plane;
    let exact = ["get", "list", "watch", "delete", "patch"];
    let mut reordered = exact;
    reordered.reverse();
    plane.apply(&role(name, &reordered).to_string()).await?;
    policy
        .reports("c1", template, &notification(name, "found as specified"))
        .await?;
    let more = [exact.as_slice(), &["create"]].concat();
    plane.apply(&role(name, &more).to_string()).await?;
    policy
        .reports(
            "c1",
            template,
            &violation(name, "found but not as specified"),
        )
        .await?;
    policy.remediate("enforce").await?;
    policy
        .observed(
            "c1",
            template,
            &notification(name, "was updated successfully"),
        )
        .await?;
    policy
        .reports("c1", template, &notification(name, "found as specified"))
        .await?;
    let live = policy.exists("c1", ROLE, Some("default"), name).await?;
    ensure!(
        live.data["rules"][0]["verbs"] == json!(exact),
        "the rules are {}",
        live.data["rules"]
    );
    policy.root_is("Compliant").await?;
    Ok(())
}
