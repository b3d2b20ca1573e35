//! CFG-155: what is reported to the parent, what the policy's own events say, and the history.

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use reeve_scenarios::{Evaluator, Subject, same, spec, within};

fn pod(name: &str) -> String {
    format!(
        "apiVersion: v1
kind: Pod
metadata: {{name: {name}, namespace: case15}}
spec:
  containers: [{{name: nginx, image: nginx}}]
"
    )
}

/// Waits until the parent was reported exactly this, oldest first, and the history reports the same. Then it
/// stays so.
async fn reported(policy: &Subject<'_>, want: &[&str]) -> Result<()> {
    let exactly = || async {
        let reported = policy.parent_messages().await?;
        ensure!(
            reported == want,
            "the events of the parent are {reported:#?}"
        );
        let mut history = policy.observed().await?.history();
        history.reverse();
        ensure!(
            history == want,
            "the history, oldest first, is {history:#?}"
        );
        Ok(())
    };
    within(
        format!("{} reported {want:#?} to its parent", policy.name()),
        exactly,
    )
    .await?;
    reeve_scenarios::steadily("no more events are emitted", exactly).await?;
    for event in policy.parent_events().await? {
        let type_ = if event
            .message
            .as_deref()
            .unwrap_or_default()
            .starts_with("Compliant")
        {
            "Normal"
        } else {
            "Warning"
        };
        same("the event's type", event.type_.as_deref(), Some(type_))?;
        same("the event's count", event.count, Some(1))?;
        same(
            "the action",
            event.action.as_deref(),
            Some("ComplianceStateUpdate"),
        )?;
        let component = event.source.and_then(|source| source.component);
        same(
            "the source",
            component.as_deref(),
            Some("configuration-policy-controller"),
        )?;
        let related = event.related.and_then(|related| related.name);
        same(
            "the related object",
            related.as_deref(),
            Some(policy.name()),
        )?;
    }
    Ok(())
}

/// Waits until the policy's own events are these, oldest first: state and message.
async fn own_events(policy: &Subject<'_>, want: &[&str]) -> Result<()> {
    within(
        format!("{} has the events {want:#?}", policy.name()),
        || async {
            let mut messages = policy.own_messages().await?;
            messages.sort();
            let mut want: Vec<String> = want
                .iter()
                .map(|it| format!("Policy status is {it}"))
                .collect();
            want.sort();
            ensure!(messages == want, "they are {messages:#?}");
            Ok(())
        },
    )
    .await
}

pub(crate) async fn always_compliant(world: Arc<Evaluator>) -> Result<()> {
    world.namespaces(&["case15"]).await?;
    let policy = world.policy("case15-always");
    policy
        .apply(&spec("inform", &[("mustnothave", &pod("always"))]))
        .await?;
    policy.is("Compliant").await?;
    let text = "pods [always] missing as expected in namespace case15";
    reported(&policy, &[&format!("Compliant; notification - {text}")]).await?;
    own_events(&policy, &[&format!("Compliant: {text}")]).await
}

pub(crate) async fn never_compliant(world: Arc<Evaluator>) -> Result<()> {
    world.namespaces(&["case15"]).await?;
    let policy = world.policy("case15-never");
    policy
        .apply(&spec("inform", &[("musthave", &pod("never"))]))
        .await?;
    policy.is("NonCompliant").await?;
    let text = "pods [never] not found in namespace case15";
    reported(&policy, &[&format!("NonCompliant; violation - {text}")]).await?;
    own_events(&policy, &[&format!("NonCompliant: {text}")]).await
}

pub(crate) async fn becomes_compliant(world: Arc<Evaluator>) -> Result<()> {
    world.namespaces(&["case15"]).await?;
    let policy = world.policy("case15-becomes");
    policy
        .apply(&spec("enforce", &[("musthave", &pod("becomes"))]))
        .await?;
    policy.is("Compliant").await?;
    let missing = "pods [becomes] not found in namespace case15";
    let created = "pods [becomes] was created successfully in namespace case15";
    let found = "pods [becomes] found as specified in namespace case15";
    reported(
        &policy,
        &[
            &format!("NonCompliant; violation - {missing}"),
            &format!("Compliant; notification - {created}"),
            &format!("Compliant; notification - {found}"),
        ],
    )
    .await?;
    let compliant = [
        format!("Compliant: {created}"),
        format!("Compliant: {found}"),
    ];
    own_events(
        &policy,
        &[
            &format!("NonCompliant: {missing}"),
            &compliant[0],
            &compliant[1],
        ],
    )
    .await
}

pub(crate) async fn becomes_non_compliant(world: Arc<Evaluator>) -> Result<()> {
    world.namespaces(&["case15"]).await?;
    let policy = world.policy("case15-falls");
    policy
        .apply(&spec("inform", &[("mustnothave", &pod("falls"))]))
        .await?;
    policy.is("Compliant").await?;
    let mut pods = world.apply(&pod("falls")).await?;
    pods.pop().context("no Pod was made")?;
    policy.is("NonCompliant").await?;
    let missing = "pods [falls] missing as expected in namespace case15";
    let found = "pods [falls] found in namespace case15";
    reported(
        &policy,
        &[
            &format!("Compliant; notification - {missing}"),
            &format!("NonCompliant; violation - {found}"),
        ],
    )
    .await?;
    own_events(
        &policy,
        &[
            &format!("Compliant: {missing}"),
            &format!("NonCompliant: {found}"),
        ],
    )
    .await
}
