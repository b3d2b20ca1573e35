//! Definitions of kinds that are installed and removed, that of the policies among them.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use reeve_scenarios::{Controller, Pair, Subject, namespace, same, spec, steadily, within};
use serde_json::json;

fn definition(kind: &str, plural: &str) -> String {
    format!(
        "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {{name: {plural}.case18.example.com}}
spec:
  group: case18.example.com
  scope: Namespaced
  names: {{kind: {kind}, plural: {plural}}}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema: {{type: object, x-kubernetes-preserve-unknown-fields: true}}
"
    )
}

fn object(kind: &str) -> String {
    format!(
        "apiVersion: case18.example.com/v1
kind: {kind}
metadata: {{name: first, namespace: case18-objects}}
spec: {{word: hello}}
"
    )
}

const BROKEN: &str = "apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1.broken.example.com}
spec:
  group: broken.example.com
  version: v1
  groupPriorityMinimum: 1000
  versionPriority: 15
  service: {name: nobody, namespace: case18-objects}
";

pub(crate) async fn kind_and_object(world: Arc<Pair>) -> Result<()> {
    let policies = "case18-policies";
    namespace(&world.managed, policies).await?;
    namespace(&world.managed, "case18-objects").await?;
    let controller = Controller::start(&world.managed, policies, &[]).await?;
    controller.with_log(later_kinds(&world, policies).await)
}

async fn later_kinds(world: &Pair, policies: &str) -> Result<()> {
    let cluster = &world.managed;
    let both = Subject::new(cluster, policies, "case18-both");
    let (kind, first) = (definition("Pamphlet", "pamphlets"), object("Pamphlet"));
    both.apply(&spec(
        "enforce",
        &[("musthave", &kind), ("musthave", &first)],
    ))
    .await?;
    both.is("Compliant").await?;
    let read = cluster
        .get(
            "case18.example.com/v1",
            "Pamphlet",
            Some("case18-objects"),
            "first",
        )
        .await?;
    read.context("the object was not made")?;

    // An API that does not answer is no reason not to learn of others.
    cluster.apply(BROKEN).await?;
    let reading = Subject::new(cluster, policies, "case18-reading");
    let map = r#"apiVersion: v1
kind: ConfigMap
metadata: {name: map, namespace: case18-objects}
data:
  word: '{{ (lookup "case18.example.com/v1" "Booklet" "case18-objects" "first").spec.word }}'
"#;
    reading
        .apply(&spec("enforce", &[("musthave", map)]))
        .await?;
    reading.is("NonCompliant").await?;
    cluster.apply(&definition("Booklet", "booklets")).await?;
    within("the object can be made", || async {
        cluster.apply(&object("Booklet")).await?;
        Ok(())
    })
    .await?;
    // Between the kind and the object there is nothing to say, which is a word too.
    within("the word has arrived", || async {
        let live = cluster
            .get("v1", "ConfigMap", Some("case18-objects"), "map")
            .await?
            .context("absent")?;
        same("the data", &live.data["data"], &json!({ "word": "hello" }))
    })
    .await?;
    reading.is("Compliant").await?;
    Ok(())
}

pub(crate) async fn deleted(world: Arc<Pair>) -> Result<()> {
    let policies = "case20-policies";
    namespace(&world.other, policies).await?;
    namespace(&world.other, "case20-objects").await?;
    // For every namespace.
    let controller = Controller::start(&world.other, "", &[]).await?;
    controller.with_log(definition_of_policies(&world, policies).await)
}

const POD: &str = "apiVersion: v1
kind: Pod
metadata: {name: pod, namespace: case20-objects}
spec:
  containers: [{name: c, image: c}]
";

async fn definition_of_policies(world: &Pair, policies: &str) -> Result<()> {
    let cluster = &world.other;
    let pod = || async {
        cluster
            .get("v1", "Pod", Some("case20-objects"), "pod")
            .await?
            .context("no Pod")
    };
    let policy = Subject::new(cluster, policies, "case20-definition");
    let prunes = spec("enforce", &[("musthave", POD)]) + "pruneObjectBehavior: DeleteAll\n";
    policy.apply(&prunes).await?;
    policy.is("Compliant").await?;
    let uid = pod().await?.metadata.uid;

    let name = "configurationpolicies.policy.open-cluster-management.io";
    let (api, kind) = ("apiextensions.k8s.io/v1", "CustomResourceDefinition");
    cluster
        .delete(
            &json!({ "apiVersion": api, "kind": kind, "metadata": { "name": name } }).to_string(),
        )
        .await?;
    cluster
        .gone(api, kind, None, name, Duration::from_mins(1))
        .await?;
    steadily("the Pod is the same", || async {
        same("its UID", pod().await?.metadata.uid, uid.clone())
    })
    .await?;

    cluster.install_crds().await?;
    within("the policy can be made again", || async {
        if let Err(error) = policy.apply(&prunes).await {
            bail!("{error:#}");
        }
        Ok(())
    })
    .await?;
    policy.is("Compliant").await?;
    same("the Pod's UID", pod().await?.metadata.uid, uid)
}
