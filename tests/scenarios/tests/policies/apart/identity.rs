//! CFG-151 and CFG-97: a controller that may not do everything.

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
    controller.with_log(may_not_list(&world, policies).await)
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
        let observed = unnamed.mentions(&["limitranges is forbidden"]).await?;
        same("the compliance", observed.compliance(), "NonCompliant")?;
        same("the reason", observed.reason(0), "api error")?;

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
        let observed = named.mentions(&parts).await?;
        same("the compliance", observed.compliance(), "NonCompliant")?;
    }
    Ok(())
}

/// The rights that a controller needs, without those for events.
const SILENT: &str = "apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: rough-2}
rules:
- {apiGroups: ['*'], resources: ['*'], verbs: [get, list, watch]}
- {apiGroups: [policy.open-cluster-management.io], resources: ['*'], verbs: ['*']}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: rough-2}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: rough-2}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: rough-2}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: rough-2-events}
rules:
- {apiGroups: ['', events.k8s.io], resources: [events], verbs: ['*']}
";

const VOICE: &str = "apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: rough-2-events}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: rough-2-events}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: rough-2}]
";

/// What the parent could not be reported is reported as soon as it can be, without anything else having changed.
pub(crate) async fn reported_later(world: Arc<Pair>) -> Result<()> {
    let policies = "rough-edge-2-policies";
    namespace(&world.managed, policies).await?;
    world.managed.apply(SILENT).await?;
    let identity = world.managed.kubeconfig_for("rough-2", None)?;
    let controller = Controller::start_as(identity, policies, &[]).await?;
    let story = async {
        let policy = Subject::new(&world.managed, policies, "rough-edge-2-events");
        let object = "{apiVersion: v1, kind: Namespace, metadata: {name: default}}";
        policy
            .apply(&spec("inform", &[("musthave", object)]))
            .await?;
        // The status publishes no more than the parent was reported.
        policy
            .stays("nothing is reported", |observed| {
                observed.compliance().is_empty()
            })
            .await?;
        same(
            "the events of the parent",
            policy.parent_messages().await?.len(),
            0,
        )?;
        world.managed.apply(VOICE).await?;
        policy.is("Compliant").await?;
        let message = "Compliant; notification - namespaces [default] found as specified";
        same(
            "the events of the parent",
            policy.parent_messages().await?,
            vec![message.to_owned()],
        )
    };
    let outcome = story.await;
    controller.with_log(outcome)
}
