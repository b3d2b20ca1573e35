//! Rough edge 5: a controller that may not do everything.

use std::sync::Arc;

use anyhow::Result;
use reeve_scenarios::{Controller, Pair, Subject, namespace, same, spec};

/// Everything that a controller needs, and no `LimitRange`.
const RIGHTS: &str = "apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: rough-5}
rules:
- apiGroups: [policy.open-cluster-management.io, events.k8s.io, apiextensions.k8s.io, apps, coordination.k8s.io]
  resources: ['*']
  verbs: ['*']
- apiGroups: ['']
  resources: [namespaces, events, secrets, configmaps, pods]
  verbs: ['*']
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: rough-5}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: rough-5}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: rough-5}]
";

pub(crate) async fn refused(world: Arc<Pair>) -> Result<()> {
    let policies = "rough-edge-5-policies";
    namespace(&world.managed, policies).await?;
    world.managed.apply(RIGHTS).await?;
    let identity = world.managed.kubeconfig_for("rough-5", None)?;
    let controller = Controller::start_as(identity, policies, &[]).await?;
    controller.vouch(may_not_list(&world, policies).await)
}

async fn may_not_list(world: &Pair, policies: &str) -> Result<()> {
    for (name, interval) in [
        ("watching", ""),
        (
            "polling",
            "evaluationInterval: {compliant: 5s, noncompliant: 5s}\n",
        ),
    ] {
        let unnamed = Subject::new(&world.managed, policies, &format!("rough-edge-5-{name}"));
        let object =
            format!("{{apiVersion: v1, kind: LimitRange, metadata: {{namespace: {policies}}}}}");
        unnamed
            .apply(&(spec("inform", &[("mustnothave", &object)]) + interval))
            .await?;
        let said = unnamed.mentions(&["limitranges is forbidden"]).await?;
        same("the compliance", said.compliance(), "NonCompliant")?;
        same("the reason", said.reason(0), "api error")?;

        let named = Subject::new(
            &world.managed,
            policies,
            &format!("rough-edge-5-named-{name}"),
        );
        let object = format!(
            "{{apiVersion: v1, kind: LimitRange, metadata: {{name: x, namespace: {policies}}}}}"
        );
        named
            .apply(&(spec("inform", &[("mustnothave", &object)]) + interval))
            .await?;
        let parts = [
            "Error retrieving an object for object-template at index [0]: ",
            "is forbidden",
        ];
        let said = named.mentions(&parts).await?;
        same("the compliance", said.compliance(), "NonCompliant")?;
    }
    Ok(())
}
