//! Fields that are unknown, empty, zero or null.

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use reeve_scenarios::{Evaluator, Subject, same, spec, steadily, within};
use serde_json::{Value, json};

fn config_map(namespace: &str, name: &str, rest: &str) -> String {
    format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: {namespace}}}\n{rest}\n"
    )
}

const STRICT: &str = "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: strict decoding error: unknown \
                      field \"invalid\"";

pub(crate) async fn unknown_field(world: Arc<Evaluator>) -> Result<()> {
    world.namespaces(&["case23"]).await?;
    let policy = world.policy("case23-unknown");
    let want = config_map("case23", "case23", "invalid: field");
    policy
        .apply(&spec("enforce", &[("musthave", &want)]))
        .await?;
    let creating = format!(
        "configmaps [case23] in namespace case23 is missing, and cannot be created, reason: `{STRICT}`"
    );
    let observed = policy.reports(&creating).await?;
    same("the reason", observed.reason(0), "K8s creation error")?;
    let (history, reported) = (observed.history(), policy.parent_messages().await?);
    steadily("it is reported once", || async {
        same(
            "the history",
            policy.observed().await?.history(),
            history.clone(),
        )?;
        same(
            "the events of the parent",
            policy.parent_messages().await?,
            reported.clone(),
        )
    })
    .await?;

    world.apply(&config_map("case23", "case23", "")).await?;
    let updating = format!("Error validating the object case23, the error is `{STRICT}`");
    let observed = policy.reports(&updating).await?;
    let mut longer = vec![format!("NonCompliant; violation - {updating}")];
    longer.extend(history);
    same("the history", observed.history(), longer.clone())?;
    policy
        .stays("one entry more", |observed| observed.history() == longer)
        .await
}

pub(crate) async fn partial_status(world: Arc<Evaluator>) -> Result<()> {
    world.namespaces(&["case23"]).await?;
    let fake = |rest: &str| {
        format!(
            "apiVersion: config-policy-controller.io/v1
kind: FakeAPI
metadata: {{name: partial, namespace: case23}}
{rest}"
        )
    };
    let live = "spec: {name: old}
status: {conditions: [{type: Ready, status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z'}]}
";
    world.apply(&fake(live)).await?;
    // The condition lacks a time, which its schema requires.
    let wanted = fake("spec: {name: new}\nstatus: {conditions: [{type: Ready, status: 'True'}]}\n");
    let policy = world.policy("case23-status");
    policy
        .apply(&spec("enforce", &[("musthave", &wanted)]))
        .await?;
    policy.is("Compliant").await?;
    let (api, kind) = ("config-policy-controller.io/v1", "FakeAPI");
    let live = world
        .get(api, kind, Some("case23"), "partial")
        .await?
        .context("absent")?;
    same("the spec", &live.data["spec"], &json!({ "name": "new" }))
}

pub(crate) async fn updated(world: Arc<Evaluator>) -> Result<()> {
    world.namespaces(&["case27"]).await?;
    let policy = world.policy("case27-update");
    for value in ["first", "second"] {
        let want = config_map("case27", "case27-map", &format!("data: {{a: {value}}}"));
        policy
            .apply(&spec("enforce", &[("musthave", &want)]))
            .await?;
        policy.is("Compliant").await?;
    }
    let updated = "configmaps [case27-map] was updated successfully in namespace case27";
    let found = "configmaps [case27-map] found as specified in namespace case27";
    policy.reports(found).await?;
    let history = policy.observed().await?.history();
    let want = [found, updated].map(|text| format!("Compliant; notification - {text}"));
    same("the newest history", history.get(..2), Some(&want[..]))?;
    within("the policy has an event of the update", || async {
        let messages = policy.own_messages().await?;
        let want = format!("Policy status is Compliant: {updated}");
        ensure!(messages.contains(&want), "it has {messages:#?}");
        Ok(())
    })
    .await
}

/// Settles without ever having gone to and fro: at most so many messages of violations.
async fn settles(world: &Evaluator, policy: &Subject<'_>, violations: usize) -> Result<()> {
    policy.is("Compliant").await?;
    let few = || async {
        let history = policy.observed().await?.history();
        let reported = policy.parent_messages().await?;
        for messages in [&history, &reported] {
            let bad = messages
                .iter()
                .filter(|message| message.starts_with("NonCompliant"))
                .count();
            ensure!(bad <= violations, "{messages:#?}");
        }
        same(
            "the compliance",
            policy.observed().await?.compliance(),
            "Compliant",
        )
    };
    steadily("it does not go to and fro", few).await?;
    world.settled(policy.name()).await?;
    few().await
}

pub(crate) async fn zero_values(world: Arc<Evaluator>) -> Result<()> {
    world.namespaces(&["case31"]).await?;
    let pod = "apiVersion: v1
kind: Pod
metadata: {name: pod, namespace: case31}
spec:
  hostIPC: false
  hostNetwork: false
  priority: 0
  affinity: null
  containers:
  - {name: c, image: c, resources: {}, securityContext: null, stdin: false}
";
    let binding = "apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: case31}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: some}
subjects: []
";
    for (name, object) in [("pod", pod), ("binding", binding)] {
        let policy = world.policy(&format!("case31-{name}"));
        policy
            .apply(&spec("enforce", &[("musthave", object)]))
            .await?;
        settles(&world, &policy, 1).await?;
    }
    Ok(())
}

pub(crate) async fn long_messages(world: Arc<Evaluator>) -> Result<()> {
    let names: Vec<String> = (0..80)
        .map(|number| {
            format!("case31-a-namespace-whose-name-is-quite-long-as-such-names-go-{number:02}")
        })
        .collect();
    for name in &names {
        world
            .apply(
                &json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } })
                    .to_string(),
            )
            .await?;
    }
    let policy = world.policy("case31-long");
    policy
        .apply(
            "
remediationAction: inform
namespaceSelector: {include: ['case31-a-namespace-*']}
object-templates:
- complianceType: musthave
  objectDefinition: {apiVersion: v1, kind: ConfigMap, metadata: {name: absent}}
",
        )
        .await?;
    policy
        .until("it names the last namespace", |observed| {
            observed.message(0).ends_with(&names[79])
        })
        .await?;
    let cut = |messages: &[String]| {
        messages
            .iter()
            .any(|message| message.len() == 4096 && message.ends_with("...[truncated]"))
    };
    within("the messages are cut", || async {
        let (history, reported) = (
            policy.observed().await?.history(),
            policy.parent_messages().await?,
        );
        ensure!(cut(&history), "the history is {history:#?}");
        ensure!(cut(&reported), "the events of the parent are {reported:#?}");
        Ok(())
    })
    .await
}

pub(crate) async fn string_data(world: Arc<Evaluator>) -> Result<()> {
    world.namespaces(&["case32"]).await?;
    let secret = "apiVersion: v1
kind: Secret
metadata: {name: secret, namespace: case32}
stringData: {user: admin, password: 'very secret'}
";
    let policy = world.policy("case32-secret");
    policy
        .apply(&spec("enforce", &[("musthave", secret)]))
        .await?;
    policy.is("Compliant").await?;
    world.settled(policy.name()).await?;
    let live = world
        .get("v1", "Secret", Some("case32"), "secret")
        .await?
        .context("absent")?;
    same(
        "the data",
        &live.data["data"],
        &json!({ "user": "YWRtaW4=", "password": "dmVyeSBzZWNyZXQ=" }),
    )?;
    policy
        .stays("never updated", |observed| {
            !observed
                .history()
                .iter()
                .any(|message| message.contains("updated"))
                && observed.compliance() == "Compliant"
        })
        .await
}

pub(crate) async fn empty_label(world: Arc<Evaluator>) -> Result<()> {
    world.namespaces(&["case33"]).await?;
    world
        .apply(&config_map("case33", "map", "data: {a: b}"))
        .await?;
    let want = "apiVersion: v1
kind: ConfigMap
metadata: {name: map, namespace: case33, labels: {empty: ''}}
";
    let policy = world.policy("case33-label");
    policy.apply(&spec("inform", &[("musthave", want)])).await?;
    policy.is("NonCompliant").await?;
    policy.remediate("enforce").await?;
    policy.is("Compliant").await?;
    let live = world
        .get("v1", "ConfigMap", Some("case33"), "map")
        .await?
        .context("absent")?;
    same(
        "the label",
        live.metadata
            .labels
            .unwrap_or_default()
            .get("empty")
            .map(String::as_str),
        Some(""),
    )
}

fn deployment(pod: &str) -> String {
    format!(
        "apiVersion: apps/v1
kind: Deployment
metadata: {{name: deployment, namespace: case36}}
spec:
  replicas: 0
  selector: {{matchLabels: {{app: case36}}}}
  template:
    metadata: {{labels: {{app: case36}}}}
    spec:
      containers: [{{name: c, image: c}}]
      {pod}
"
    )
}

pub(crate) async fn empty_maps(world: Arc<Evaluator>) -> Result<()> {
    world.namespaces(&["case36"]).await?;
    world.apply(&deployment("securityContext: {}")).await?;
    let policy = world.policy("case36-maps");
    policy
        .apply(&spec(
            "inform",
            &[("musthave", &deployment("nodeSelector: {}"))],
        ))
        .await?;
    let observed = policy.is("Compliant").await?;
    let related = observed.related();
    let properties = &related.first().context("no related object")?.properties;
    same(
        "matchesAfterDryRun",
        &properties["matchesAfterDryRun"],
        &json!(true),
    )?;
    policy
        .apply(&spec(
            "inform",
            &[(
                "musthave",
                &deployment("securityContext: {seLinuxOptions: {}}"),
            )],
        ))
        .await?;
    policy.is("NonCompliant").await?;

    world.apply("{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: case36}, \
                 roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: some}}").await?;
    let binding = "apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: case36}
subjects: []
";
    policy
        .apply(&spec("inform", &[("musthave", binding)]))
        .await?;
    policy.is("Compliant").await?;
    Ok(())
}

pub(crate) async fn zero_values_persist(world: Arc<Evaluator>) -> Result<()> {
    world.namespaces(&["case45"]).await?;
    let (api, kind) = ("config-policy-controller.io/v1", "FakeAPI");
    let fake = |spec: &str| {
        format!(
            "apiVersion: {api}\nkind: {kind}\nmetadata: {{name: fake, namespace: case45}}\nspec: {spec}\n"
        )
    };
    world
        .apply(&fake("{name: fake, nested: {name: inner}}"))
        .await?;
    let read = || async {
        anyhow::Ok(
            world
                .get(api, kind, Some("case45"), "fake")
                .await?
                .context("absent")?
                .data["spec"]
                .clone(),
        )
    };
    let policy = world.policy("case45a-zero");
    for (want, result) in [
        (
            "{enabled: false}",
            json!({ "name": "fake", "nested": { "name": "inner" }, "enabled": false }),
        ),
        (
            "{count: 0, nested: {enabled: false, count: 0}}",
            json!({
                "name": "fake", "enabled": false, "count": 0,
                "nested": { "name": "inner", "enabled": false, "count": 0 }
            }),
        ),
    ] {
        policy
            .apply(&spec("inform", &[("musthave", &fake(want))]))
            .await?;
        policy.is("NonCompliant").await?;
        policy.remediate("enforce").await?;
        policy.is("Compliant").await?;
        let live: Value = read().await?;
        same("the spec", live, result)?;
        policy.remediate("inform").await?;
        policy.is("Compliant").await?;
    }
    Ok(())
}
