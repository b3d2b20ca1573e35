//! Strict writes and events.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::core::v1::{ConfigMap, Event, ObjectReference};
use kube::Api;
use kube::api::ListParams;
use kube::core::DynamicObject;
use reeve_api::Compliance;
use reeve_runtime::CancellationToken;
use reeve_runtime::events::{
    ComplianceEvent, EventRecorder, InformationalEvent, time_in_event_name,
};
use reeve_runtime::events::{EventBroadcaster, EventBroadcasterMetrics};
use reeve_runtime::object::{StatusReason, status_message};
use reeve_runtime::strict::{self, Write};
use reeve_runtime::supervisor::Supervisor;
use reeve_testkit::{Plane, eventually};
use serde_json::{Value, json};

const COLLECTION: &str = "/api/v1/namespaces/default/configmaps";

fn config_map(extra: Value) -> Result<DynamicObject> {
    let mut object = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": "strict", "namespace": "default" }, "data": { "k": "v" }
    });
    if let (Some(object), Value::Object(extra)) = (object.as_object_mut(), extra) {
        object.extend(extra);
    }
    Ok(serde_json::from_value(object)?)
}

pub(crate) async fn strict(plane: Arc<Plane>) -> Result<()> {
    // As a kube-apiserver answers: the field below the text is unknown, but the error of the type wins.
    let misplaced = config_map(json!({ "data": { "a": { "b": "c" } } }))?;
    let created = strict::create(&plane.client(), COLLECTION, &misplaced, Write::Real).await;
    let message = status_message(&created.err().context("a map was accepted as a text")?);
    let want = "json: cannot unmarshal object into Go struct field ConfigMap.data of type string";
    ensure!(message.ends_with(want), "{message}");
    let misspelt = config_map(json!({ "dataa": { "k": "v" } }))?;
    let created = strict::create(&plane.client(), COLLECTION, &misspelt, Write::Real).await;
    let error = created.err().context("a misspelt field was accepted")?;
    let message = status_message(&error);
    let want = "strict decoding error: unknown field \"dataa\"";
    ensure!(message.ends_with(want), "{message}");
    let mut stored = strict::create(
        &plane.client(),
        COLLECTION,
        &config_map(json!({}))?,
        Write::Real,
    )
    .await?;
    stored.data["dataa"] = json!({});
    let replaced =
        strict::replace(&plane.client(), COLLECTION, "strict", &stored, Write::Real).await;
    ensure!(status_message(&replaced.err().context("accepted")?).ends_with(want));
    stored = config_map(json!({}))?;
    stored.metadata.resource_version = Some("1".to_owned());
    let stale = strict::replace(&plane.client(), COLLECTION, "strict", &stored, Write::Real).await;
    ensure!(StatusReason::of(&stale.err().context("accepted")?) == StatusReason::Conflict);
    Ok(())
}

pub(crate) async fn dry_run(plane: Arc<Plane>) -> Result<()> {
    let mut object = config_map(json!({}))?;
    object.metadata.name = Some("dry".to_owned());
    let answer = strict::create(&plane.client(), COLLECTION, &object, Write::DryRun).await?;
    ensure!(
        answer.metadata.uid.is_some(),
        "the answer is what would be stored"
    );
    let api: Api<ConfigMap> = Api::namespaced(plane.client(), "default");
    ensure!(api.get_opt("dry").await?.is_none(), "it was stored");
    Ok(())
}

pub(crate) async fn events(plane: Arc<Plane>) -> Result<()> {
    let mut tasks = Supervisor::new(CancellationToken::new());
    let counted = EventBroadcasterMetrics::default();
    let broadcaster = EventBroadcaster::start(plane.client(), counted, &mut tasks);
    let writer = EventRecorder::new(plane.client(), "tester", broadcaster);
    let reference = |name: &str| ObjectReference {
        api_version: Some("policy.open-cluster-management.io/v1".to_owned()),
        kind: Some("Policy".to_owned()),
        name: Some(name.to_owned()),
        namespace: Some("default".to_owned()),
        uid: Some("u".to_owned()),
        ..ObjectReference::default()
    };
    let message = format!("NonCompliant; {}", "violation ".repeat(400));
    let event = ComplianceEvent {
        policy: reference("ns.pol"),
        template_namespace: Some("default".to_owned()),
        template_name: "tmpl".to_owned(),
        related: Some(reference("tmpl")),
        compliance: Compliance::NonCompliant,
        message: message.clone(),
    };
    let name = writer.compliance(&event).await?;
    let stored: Event = Api::namespaced(plane.client(), "default")
        .get(&name)
        .await?;
    ensure!(stored.message == Some(message), "the message was changed");
    ensure!(stored.reason.as_deref() == Some("policy: default/tmpl"));
    ensure!(stored.type_.as_deref() == Some("Warning") && stored.count == Some(1));
    ensure!(stored.action.as_deref() == Some("ComplianceStateUpdate"));
    ensure!(time_in_event_name(&name).is_some() && name.starts_with("ns.pol."));
    let reported = writer.already_emitted(&event).await?;
    ensure!(
        reported == time_in_event_name(&name),
        "the newest event is found: {reported:?}"
    );
    let other = ComplianceEvent {
        message: "Compliant".to_owned(),
        ..event
    };
    ensure!(
        writer.already_emitted(&other).await?.is_none(),
        "another message is not that one"
    );

    let note = "ä".repeat(2_000);
    let information = InformationalEvent {
        reason: "PolicyInfo",
        action: "tell",
        note: &note,
        warning: true,
    };
    writer.emit_event(&reference("ns.informed"), &information);
    let events: Api<Event> = Api::namespaced(plane.client(), "default");
    let about = ListParams::default().fields("involvedObject.name=ns.informed");
    let stored = eventually("the text arrives", Duration::from_secs(20), || async {
        let found = events.list(&about).await?.items.into_iter().next();
        found.context("not yet")
    })
    .await?;
    ensure!(
        stored.message.is_some_and(|text| text.len() == 1_024),
        "the text is cut"
    );
    Ok(())
}
