//! Differences from upstream that only a real API server shows.

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use reeve_scenarios::{Evaluator, same, spec, steadily, within};
use serde_json::{Value, json};

/// An object that a mustnothave template only compared is not pruned with the policy.
pub(crate) async fn unrelated_object(world: Arc<Evaluator>) -> Result<()> {
    world.namespaces(&["rough-3"]).await?;
    let map = |name: &str, data: &str| {
        format!(
            "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}, namespace: rough-3, \
             labels: {{rough3: chosen}}}}, data: {data}}}"
        )
    };
    world.apply(&map("innocent", "{bad: 'no'}")).await?;
    let policy = world.policy("rough-edge-3-innocent");
    policy
        .apply(
            "
remediationAction: enforce
pruneObjectBehavior: DeleteAll
namespaceSelector: {include: [rough-3]}
object-templates:
- complianceType: mustnothave
  objectSelector: {matchLabels: {rough3: chosen}}
  objectDefinition: {apiVersion: v1, kind: ConfigMap, data: {bad: 'yes'}}
- complianceType: musthave
  objectDefinition: {apiVersion: v1, kind: ConfigMap, data: {bad: 'no'}}
",
        )
        .await?;
    policy.is("Compliant").await?;
    policy.remove().await?;
    steadily("the innocent object is there", || async {
        let live = world
            .get("v1", "ConfigMap", Some("rough-3"), "innocent")
            .await?
            .context("it is gone")?;
        ensure!(
            live.metadata.deletion_timestamp.is_none(),
            "it is being deleted"
        );
        Ok(())
    })
    .await
}

/// The policy's own events have the whole message, up to its limit.
pub(crate) async fn own_events(world: Arc<Evaluator>) -> Result<()> {
    let policy = world.policy("rough-edge-25-events");
    let percent = "{apiVersion: example.com/v1, kind: Odd%dKind, metadata: {name: x}}";
    policy
        .apply(&spec("inform", &[("musthave", percent)]))
        .await?;
    policy.is("NonCompliant").await?;
    let want = "Policy status is NonCompliant: couldn't find mapping resource with kind Odd%dKind in API version \
                example.com/v1, please check if you have CRD deployed";
    within(want, || async {
        let messages = policy.own_messages().await?;
        ensure!(
            messages.iter().any(|message| message == want),
            "there are {messages:#?}"
        );
        Ok(())
    })
    .await?;

    let many: Vec<String> = (0..40)
        .map(|number| format!("{{apiVersion: v1, kind: ConfigMap, metadata: {{name: not-there-{number:02}, namespace: default}}}}"))
        .collect();
    let many: Vec<(&str, &str)> = many.iter().map(|map| ("musthave", map.as_str())).collect();
    policy.apply(&spec("inform", &many)).await?;
    within("the long message arrives, cut", || async {
        let messages = policy.own_messages().await?;
        let cut = |message: &&String| message.len() > 900 && message.contains("not-there-00");
        let found = messages
            .iter()
            .find(cut)
            .with_context(|| format!("there are {messages:#?}"))?;
        ensure!(found.len() <= 1024, "it has {} bytes", found.len());
        Ok(())
    })
    .await
}

/// A name that a template renders is the same in every namespace.
pub(crate) async fn templated_name(world: Arc<Evaluator>) -> Result<()> {
    let namespaces = ["rough-6-a", "rough-6-b", "rough-6-c"];
    world.namespaces(&namespaces).await?;
    let map = "{apiVersion: v1, kind: ConfigMap, metadata: {name: '{{ lower \"FIXED\" }}'}, data: {a: b}}";
    let policy = world.policy("rough-edge-6-name");
    policy
        .apply(
            &(spec("enforce", &[("musthave", map)])
                + "namespaceSelector: {include: ['rough-6-*']}\n"),
        )
        .await?;
    let observed = policy.is("Compliant").await?;
    let want = namespaces.map(|namespace| format!("ConfigMap {namespace}/fixed"));
    same(
        "the related objects",
        observed.related_objects(),
        want.to_vec(),
    )?;
    for namespace in namespaces {
        ensure!(
            world
                .get("v1", "ConfigMap", Some(namespace), "fixed")
                .await?
                .is_some(),
            "none in {namespace}"
        );
    }
    Ok(())
}

/// The last-applied annotation of kubectl stays.
pub(crate) async fn last_applied(world: Arc<Evaluator>) -> Result<()> {
    world.namespaces(&["rough-7"]).await?;
    let applied = r#"{"apiVersion":"v1","kind":"ConfigMap","data":{"a":"old"}}"#;
    let map = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {
            "name": "map", "namespace": "rough-7",
            "annotations": { "kubectl.kubernetes.io/last-applied-configuration": applied, "mine": "too" }
        },
        "data": { "a": "old" }
    });
    world.apply(&map.to_string()).await?;
    let read = || async {
        world
            .get("v1", "ConfigMap", Some("rough-7"), "map")
            .await?
            .context("absent")
    };
    let policy = world.policy("rough-edge-7-annotation");
    for (object, data, annotations) in [
        (
            "{apiVersion: v1, kind: ConfigMap, metadata: {name: map, namespace: rough-7}, data: {a: new}}",
            json!({ "a": "new" }),
            json!({ "kubectl.kubernetes.io/last-applied-configuration": applied, "mine": "too" }),
        ),
        (
            "{apiVersion: v1, kind: ConfigMap, metadata: {name: map, namespace: rough-7, annotations: {more: x}}, \
             data: {a: newer}}",
            json!({ "a": "newer" }),
            json!({ "kubectl.kubernetes.io/last-applied-configuration": applied, "mine": "too", "more": "x" }),
        ),
    ] {
        policy
            .apply(&spec("enforce", &[("musthave", object)]))
            .await?;
        policy.is("Compliant").await?;
        let live = read().await?;
        same("the data", &live.data["data"], &data)?;
        same(
            "the annotations",
            serde_json::to_value(live.metadata.annotations)?,
            annotations,
        )?;
    }
    Ok(())
}

/// A status is compared, but never written, also without a status subresource.
pub(crate) async fn status_is_not_written(world: Arc<Evaluator>) -> Result<()> {
    let (api, kind) = ("config.openshift.io/v1", "ClusterVersion");
    let version = |spec: &str, status: &str| {
        format!(
            "{{apiVersion: {api}, kind: {kind}, metadata: {{name: rough-14}}, spec: {spec}{status}}}"
        )
    };
    world
        .apply(&version("{clusterID: x, channel: stable}", ""))
        .await?;
    let policy = world.policy("rough-edge-14-status");
    let want = version("{clusterID: x, channel: fast}", ", status: {phase: Done}");
    policy
        .apply(&spec("enforce", &[("musthave", &want)]))
        .await?;
    within("the spec is enforced", || async {
        let live = world
            .get(api, kind, None, "rough-14")
            .await?
            .context("absent")?;
        same("the channel", &live.data["spec"]["channel"], &json!("fast"))
    })
    .await?;
    policy.is("NonCompliant").await?;
    policy.stays_with("NonCompliant").await?;
    let live = world
        .get(api, kind, None, "rough-14")
        .await?
        .context("absent")?;
    same("the status", live.data.get("status"), None::<&Value>)?;
    let status = json!({ "status": { "phase": "Done" } });
    world.patch(api, kind, None, "rough-14", status).await?;
    policy.is("Compliant").await?;
    Ok(())
}

/// An object whose pruning failed is pruned later.
pub(crate) async fn failed_prune(world: Arc<Evaluator>) -> Result<()> {
    world.namespaces(&["rough-19"]).await?;
    let wanting = |name: &str| {
        let map = format!(
            "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}, namespace: rough-19}}}}"
        );
        spec("enforce", &[("musthave", &map)]) + "pruneObjectBehavior: DeleteAll\n"
    };
    let policy = world.policy("rough-edge-19-prune");
    policy.apply(&wanting("before")).await?;
    policy.is("Compliant").await?;
    let hold = json!({ "metadata": { "finalizers": ["example.com/hold"] } });
    world
        .patch("v1", "ConfigMap", Some("rough-19"), "before", hold)
        .await?;
    policy.apply(&wanting("after")).await?;
    policy.is("Compliant").await?;
    let before = "ConfigMap rough-19/before".to_owned();
    let after = "ConfigMap rough-19/after".to_owned();
    policy
        .stays("it remembers the old object", |observed| {
            let related = observed.related_objects();
            related.contains(&before) && related.contains(&after)
        })
        .await?;
    let release = json!({ "metadata": { "finalizers": null } });
    world
        .patch("v1", "ConfigMap", Some("rough-19"), "before", release)
        .await?;
    policy
        .until("the old object is forgotten", |observed| {
            observed.related_objects() == [after.clone()]
        })
        .await?;
    Ok(())
}

/// An object whose creation failed does not count as created by the policy.
pub(crate) async fn failed_creation(world: Arc<Evaluator>) -> Result<()> {
    let map =
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: map, namespace: rough-20-absent}}";
    let policy = world.policy("rough-edge-20-creation");
    policy
        .apply(&(spec("enforce", &[("musthave", map)]) + "pruneObjectBehavior: DeleteIfCreated\n"))
        .await?;
    let observed = policy.mentions(&["cannot be created", "not found"]).await?;
    let related = observed.related();
    same("the number of related objects", related.len(), 1)?;
    let properties = &related[0].properties;
    ensure!(
        properties["createdByPolicy"] != true && properties["uid"] != "",
        "they are {properties}"
    );
    policy.remove().await
}

/// Invalid items of `object-templates-raw` are reported.
pub(crate) async fn raw_nonsense(world: Arc<Evaluator>) -> Result<()> {
    let policy = world.policy("rough-edge-16-raw");
    let sound = "- complianceType: musthave
  objectDefinition: {apiVersion: v1, kind: Namespace, metadata: {name: default}}
";
    for nonsense in [
        "- null\n".to_owned(),
        "- just a text\n".to_owned(),
        sound.replace("musthave", "mustwant"),
    ] {
        let raw = reeve_scenarios::indent(&format!("{sound}{nonsense}"), 2);
        policy
            .apply(&format!(
                "remediationAction: inform\nobject-templates-raw: |\n{raw}"
            ))
            .await?;
        let observed = policy
            .is("NonCompliant")
            .await
            .with_context(|| nonsense.clone())?;
        same(
            "the reason",
            observed.reason(observed.details() - 1),
            "Error processing template",
        )?;
    }
    let raw = reeve_scenarios::indent(sound, 2);
    policy
        .apply(&format!(
            "remediationAction: inform\nobject-templates-raw: |\n{raw}"
        ))
        .await?;
    policy.is("Compliant").await?;
    Ok(())
}

/// A removed kind is unserved, and a restored one is served again.
pub(crate) async fn removed_kind(world: Arc<Evaluator>) -> Result<()> {
    let definition = "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: leaflets.rough30.example.com}
spec:
  group: rough30.example.com
  scope: Cluster
  names: {kind: Leaflet, plural: leaflets}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}
";
    let policy = world.policy("rough-edge-30-kind");
    let leaflet = "{apiVersion: rough30.example.com/v1, kind: Leaflet, metadata: {name: leaflet}}";
    policy
        .apply(&spec("inform", &[("musthave", leaflet)]))
        .await?;
    let unknown = "couldn't find mapping resource with kind Leaflet in API version rough30.example.com/v1, please \
                   check if you have CRD deployed";
    for _ in 0..2 {
        policy.reports(unknown).await?;
        world.apply(definition).await?;
        policy.reports("leaflets [leaflet] not found").await?;
        world.delete(definition).await?;
    }
    policy.reports(unknown).await?;
    Ok(())
}
