//! CFG-116: lists, whose order is nothing and whose items may have names.

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use reeve_scenarios::{Evaluator, indent, same, spec, steadily};
use reeve_testkit::Object;
use serde_json::{Value, json};

fn pod(name: &str, containers: &str) -> String {
    format!(
        "apiVersion: v1
kind: Pod
metadata: {{name: {name}, namespace: case12}}
spec:
  containers:
{}",
        indent(containers, 2)
    )
}

async fn read(world: &Evaluator, name: &str) -> Result<Object> {
    world
        .get("v1", "Pod", Some("case12"), name)
        .await?
        .context("no Pod")
}

pub(crate) async fn containers(world: Arc<Evaluator>) -> Result<()> {
    world.namespaces(&["case12"]).await?;
    let both = "- {name: one, image: 'one:1'}\n- {name: two, image: 'two:1', ports: [{containerPort: 80}]}";
    world.apply(&pod("containers", both)).await?;
    let policy = world.policy("case12-containers");
    // Two items of one name are one item, whatever other fields they have.
    let newer = pod("containers", "- {name: one, image: 'one:2'}");
    policy
        .apply(&spec("inform", &[("musthave", &newer)]))
        .await?;
    policy.is("NonCompliant").await?;
    policy.remediate("enforce").await?;
    policy.is("Compliant").await?;
    let live = read(&world, "containers").await?;
    let containers = live.data["spec"]["containers"]
        .as_array()
        .context("no containers")?;
    let images: Vec<&Value> = containers
        .iter()
        .map(|container| &container["image"])
        .collect();
    same(
        "the images",
        &images,
        &vec![&json!("one:2"), &json!("two:1")],
    )?;
    ensure!(
        containers[1]["ports"][0]["containerPort"] == 80,
        "{containers:?}"
    );
    Ok(())
}

fn role(name: &str, rules: &str) -> String {
    format!(
        "apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {{name: {name}, namespace: case12}}
rules:
{rules}"
    )
}

pub(crate) async fn rules(world: Arc<Evaluator>) -> Result<()> {
    world.namespaces(&["case12"]).await?;
    let pods = "- {apiGroups: [''], resources: [pods], verbs: [get, list]}\n";
    let both = format!("{pods}- {{apiGroups: [apps], resources: [deployments], verbs: [get]}}\n");
    world.apply(&role("rules", &both)).await?;
    let policy = world.policy("case12-rules");
    policy
        .apply(&spec("inform", &[("mustonlyhave", &role("rules", pods))]))
        .await?;
    policy.is("NonCompliant").await?;
    // The list in the cluster is shorter than the one in the policy, then it is as long.
    let three = format!("{both}- {{apiGroups: [''], resources: [secrets], verbs: [get]}}\n");
    policy
        .apply(&spec("inform", &[("mustonlyhave", &role("rules", &three))]))
        .await?;
    policy.is("NonCompliant").await?;
    policy
        .apply(&spec("enforce", &[("musthave", &role("rules", &three))]))
        .await?;
    policy.is("Compliant").await?;
    policy
        .apply(&spec("inform", &[("mustonlyhave", &role("rules", &three))]))
        .await?;
    policy.is("Compliant").await?;
    Ok(())
}

pub(crate) async fn empty_then_filled(world: Arc<Evaluator>) -> Result<()> {
    let oauth = |providers: &str| {
        format!(
            "apiVersion: config.openshift.io/v1
kind: OAuth
metadata: {{name: case12}}
spec:
  identityProviders: {providers}
"
        )
    };
    let policy = world.policy("case12-oauth");
    policy
        .apply(&spec("enforce", &[("musthave", &oauth("[]"))]))
        .await?;
    policy.is("Compliant").await?;
    let provider = "[{name: basic, mappingMethod: claim, type: BasicAuth, basicAuth: {url: 'https://example.com'}}]";
    let filled = oauth(provider);
    policy
        .apply(&spec("enforce", &[("musthave", &filled)]))
        .await?;
    policy.is("Compliant").await?;
    policy
        .apply(&spec("inform", &[("musthave", &filled)]))
        .await?;
    policy.is("Compliant").await?;
    policy
        .apply(&spec("inform", &[("mustonlyhave", &filled)]))
        .await?;
    policy.is("Compliant").await?;
    let live = world
        .get("config.openshift.io/v1", "OAuth", None, "case12")
        .await?
        .context("no OAuth")?;
    let providers = live.data["spec"]["identityProviders"]
        .as_array()
        .map(Vec::len);
    same("the number of providers", providers, Some(1))
}

pub(crate) async fn single_item(world: Arc<Evaluator>) -> Result<()> {
    world.namespaces(&["case12"]).await?;
    let one = role(
        "single",
        "- {apiGroups: [''], resources: [pods], verbs: [get]}\n",
    );
    let policy = world.policy("case12-single");
    policy
        .apply(&spec("enforce", &[("musthave", &one)]))
        .await?;
    policy.is("Compliant").await?;
    let two = role(
        "single",
        "- {apiGroups: [''], resources: [pods], verbs: [get, list]}\n",
    );
    policy
        .apply(&spec("enforce", &[("mustonlyhave", &two)]))
        .await?;
    policy.is("Compliant").await?;
    let api = "rbac.authorization.k8s.io/v1";
    let live = world
        .get(api, "Role", Some("case12"), "single")
        .await?
        .context("no Role")?;
    let want = json!([{ "apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"] }]);
    same("the rules", &live.data["rules"], &want)
}

pub(crate) async fn whitespace(world: Arc<Evaluator>) -> Result<()> {
    world.namespaces(&["case12"]).await?;
    let want = pod(
        "whitespace",
        "- name: nginx\n  image: nginx\n  env: [{name: SPACED, value: '  a value\n\n  and more  '}]",
    );
    let policy = world.policy("case12-whitespace");
    policy
        .apply(&spec("enforce", &[("musthave", &want)]))
        .await?;
    policy.is("Compliant").await?;
    steadily("one container with one variable", || async {
        let live = read(&world, "whitespace").await?;
        let containers = &live.data["spec"]["containers"];
        let count = |list: &Value| list.as_array().map(Vec::len);
        same("the number of containers", count(containers), Some(1))?;
        same(
            "the number of variables",
            count(&containers[0]["env"]),
            Some(1),
        )?;
        same(
            "the compliance",
            policy.observed().await?.compliance(),
            "Compliant",
        )
    })
    .await
}

pub(crate) async fn quantities(world: Arc<Evaluator>) -> Result<()> {
    world.namespaces(&["case12"]).await?;
    let deployment = |memory: &str| {
        format!(
            "apiVersion: apps/v1
kind: Deployment
metadata: {{name: quantities, namespace: case12}}
spec:
  replicas: 0
  selector: {{matchLabels: {{app: quantities}}}}
  template:
    metadata: {{labels: {{app: quantities}}}}
    spec:
      containers:
      - {{name: c, image: c, resources: {{requests: {{memory: {memory}}}}}}}
"
        )
    };
    world.apply(&deployment("1Gi")).await?;
    let policy = world.policy("case12-quantities");
    policy
        .apply(&spec("enforce", &[("musthave", &deployment("1024Mi"))]))
        .await?;
    let observed = policy.is("Compliant").await?;
    policy
        .stays("Compliant, and never updated", |now| {
            now.history() == observed.history()
        })
        .await?;
    let requests = "- {name: c, image: c, resources: {requests: {memory: 1024Mi}}, \
                    imagePullPolicy: Always, terminationMessagePath: /dev/termination-log, \
                    terminationMessagePolicy: File}";
    let only = format!(
        "apiVersion: apps/v1
kind: Deployment
metadata: {{name: quantities, namespace: case12}}
spec:
  progressDeadlineSeconds: 600
  replicas: 0
  revisionHistoryLimit: 10
  selector: {{matchLabels: {{app: quantities}}}}
  strategy: {{type: RollingUpdate, rollingUpdate: {{maxSurge: 25%, maxUnavailable: 25%}}}}
  template:
    metadata: {{labels: {{app: quantities}}}}
    spec:
      containers:
      {requests}
      dnsPolicy: ClusterFirst
      restartPolicy: Always
      schedulerName: default-scheduler
      securityContext: {{}}
      terminationGracePeriodSeconds: 30
"
    );
    policy
        .apply(&spec("inform", &[("mustonlyhave", &only)]))
        .await?;
    policy.is("Compliant").await?;
    Ok(())
}
