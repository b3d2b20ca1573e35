//! The debug endpoint: the API server reviews access.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use axum::body::{Body, to_bytes};
use axum::http::{Request, StatusCode};
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use kube::api::{Api, PostParams};
use reeve_fleet::placement::controller::Deps;
use reeve_fleet::placement::debug::{Debugger, User};
use reeve_testkit::eventually;
use serde_json::{Value, json};
use tower::ServiceExt as _;

use crate::hub::Hub;

impl Hub {
    async fn ask(
        &self,
        user: Option<&str>,
        method: &str,
        path: &str,
        body: &str,
    ) -> Result<(StatusCode, Value)> {
        let debugger = self.debugger.clone().context("nobody explains here")?;
        ask(debugger, user, method, path, body).await
    }
}

async fn ask(
    debugger: Debugger,
    user: Option<&str>,
    method: &str,
    path: &str,
    body: &str,
) -> Result<(StatusCode, Value)> {
    let mut request = Request::builder()
        .method(method)
        .uri(path)
        .body(Body::from(body.to_owned()))?;
    if let Some(name) = user {
        request.extensions_mut().insert(User {
            name: name.to_owned(),
            ..User::default()
        });
    }
    let answer = debugger.router().oneshot(request).await?;
    let status = answer.status();
    let body = to_bytes(answer.into_body(), usize::MAX).await?;
    let json = serde_json::from_slice(&body).with_context(|| format!("{status}: {body:?}"))?;
    Ok((status, json))
}

/// Grants a user `verbs` on placements of the scenario's namespace.
async fn allow(hub: &Hub, user: &str, verbs: &[&str]) -> Result<()> {
    let role: Role = serde_json::from_value(json!({
        "metadata": {"name": "debug"},
        "rules": [{"apiGroups": ["cluster.open-cluster-management.io"], "resources": ["placements"], "verbs": verbs}],
    }))?;
    let binding: RoleBinding = serde_json::from_value(json!({
        "metadata": {"name": "debug"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "debug"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}],
    }))?;
    let roles: Api<Role> = Api::namespaced(hub.client.clone(), &hub.name);
    roles.create(&PostParams::default(), &role).await?;
    let bindings: Api<RoleBinding> = Api::namespaced(hub.client.clone(), &hub.name);
    bindings.create(&PostParams::default(), &binding).await?;
    Ok(())
}

/// Repeats the request until the new access is effective.
async fn allowed(hub: &Hub, user: &str, method: &str, path: &str, body: &str) -> Result<Value> {
    eventually("the rights are known", Duration::from_secs(30), || async {
        let (status, answer) = hub.ask(Some(user), method, path, body).await?;
        ensure!(status == StatusCode::OK, "{status}: {answer}");
        Ok(answer)
    })
    .await
}

fn names(answer: &Value) -> Vec<&str> {
    let totals = answer["aggregatedScores"].as_array();
    let totals = totals.into_iter().flatten();
    totals
        .filter_map(|one| one["clusterName"].as_str())
        .collect()
}

pub async fn explains(hub: Hub) -> Result<()> {
    hub.filled("s1", 2).await?;
    hub.placement(json!({})).await?;
    hub.wait_for_cluster_count(2).await?;
    allow(&hub, "alice", &["get"]).await?;
    let path = format!("/debug/placements/{}/p1", hub.name);
    let answer = allowed(&hub, "alice", "GET", &path, "").await?;
    ensure!(answer["placement"]["metadata"]["name"] == "p1", "{answer}");
    let filters = &answer["filteredPipelineResults"];
    ensure!(filters[0]["name"] == "Predicate", "{answer}");
    ensure!(
        filters[1]["name"] == "Predicate,TaintToleration",
        "{answer}"
    );
    let clusters = [hub.full("s1-001"), hub.full("s1-002")];
    ensure!(
        filters[1]["filteredClusters"] == json!(clusters),
        "{answer}"
    );
    ensure!(
        answer["prioritizeResults"][0]["name"] == "Balance",
        "{answer}"
    );
    ensure!(answer["prioritizeResults"][0]["weight"] == 1, "{answer}");
    ensure!(names(&answer) == clusters, "{answer}");
    // The verb `get` does not imply `create`.
    let (status, answer) = hub
        .ask(Some("alice"), "POST", "/debug/placements/", "{}")
        .await?;
    ensure!(
        status == StatusCode::BAD_REQUEST || status == StatusCode::FORBIDDEN,
        "{answer}"
    );
    Ok(())
}

pub async fn denied(hub: Hub) -> Result<()> {
    hub.placement(json!({})).await?;
    let path = format!("/debug/placements/{}/p1", hub.name);
    let (status, answer) = hub.ask(Some("bob"), "GET", &path, "").await?;
    ensure!(status == StatusCode::FORBIDDEN, "{status}");
    let text = answer["error"].as_str().unwrap_or_default();
    ensure!(text.contains("\"bob\" may not get placements"), "{answer}");
    let body = json!({"metadata": {"namespace": hub.name}, "spec": {}}).to_string();
    let (status, answer) = hub
        .ask(Some("bob"), "POST", "/debug/placements/", &body)
        .await?;
    ensure!(status == StatusCode::FORBIDDEN, "{status}");
    let text = answer["error"].as_str().unwrap_or_default();
    ensure!(
        text.contains("\"bob\" may not create placements"),
        "{answer}"
    );
    Ok(())
}

pub async fn posted(hub: Hub) -> Result<()> {
    hub.filled("s1", 2).await?;
    hub.filled("s2", 1).await?;
    allow(&hub, "carol", &["create"]).await?;
    let body = |spec: Value, namespace: &str| {
        let metadata = json!({"name": "new", "namespace": namespace, "labels": {"a": "b"}});
        json!({"metadata": metadata, "spec": spec}).to_string()
    };
    let all = body(json!({}), &hub.name);
    let answer = allowed(&hub, "carol", "POST", "/debug/placements/", &all).await?;
    ensure!(names(&answer).len() == 3, "{answer}");
    ensure!(
        answer["placement"]["metadata"]["labels"]["a"] == "b",
        "{answer}"
    );
    let narrow = body(json!({"clusterSets": [hub.full("s2")]}), &hub.name);
    let answer = allowed(&hub, "carol", "POST", "/debug/placements/", &narrow).await?;
    ensure!(names(&answer) == [hub.full("s2-001")], "{answer}");
    hub.unbind("s1").await?;
    hub.unbind("s2").await?;
    eventually("nothing is bound", Duration::from_secs(30), || async {
        let (_, answer) = hub
            .ask(Some("carol"), "POST", "/debug/placements/", &all)
            .await?;
        ensure!(names(&answer).is_empty(), "{answer}");
        ensure!(
            answer["filteredPipelineResults"][0]["filteredClusters"] == json!([]),
            "{answer}"
        );
        Ok(())
    })
    .await?;
    // The request created nothing.
    let left = hub
        .own("Placement")
        .list(&kube::api::ListParams::default())
        .await?;
    ensure!(left.items.is_empty());
    Ok(())
}

pub async fn refusals(hub: Hub) -> Result<()> {
    allow(&hub, "dave", &["*"]).await?;
    let path = format!("/debug/placements/{}/none", hub.name);
    eventually(
        "what is not there is not found",
        Duration::from_secs(30),
        || async {
            let (status, answer) = hub.ask(Some("dave"), "GET", &path, "").await?;
            ensure!(status == StatusCode::NOT_FOUND, "{status}: {answer}");
            Ok(())
        },
    )
    .await?;
    let large = format!("{{\"spec\": {{\"a\": \"{}\"}}}}", "x".repeat(1024 * 1024));
    let posted = "/debug/placements/";
    for (user, method, path, body, expected) in [
        (None, "GET", path.as_str(), "", 401),
        (None, "POST", posted, "{}", 401),
        (Some("dave"), "DELETE", path.as_str(), "", 405),
        (Some("dave"), "PUT", path.as_str(), "{}", 405),
        (Some("dave"), "PATCH", path.as_str(), "{}", 405),
        (Some("dave"), "GET", "/debug/placements/only", "", 400),
        (Some("dave"), "GET", "/debug/placements/a/b/c", "", 400),
        (Some("dave"), "GET", "/debug/placements/", "", 400),
        (Some("dave"), "POST", posted, "{", 400),
        (Some("dave"), "POST", posted, large.as_str(), 400),
    ] {
        let (status, answer) = hub.ask(user, method, path, body).await?;
        ensure!(
            status.as_u16() == expected,
            "{method} {path}: {status}: {answer}"
        );
        ensure!(answer["error"].is_string(), "{answer}");
    }
    // Before the caches have synced, the endpoint answers with an error.
    let fresh = Deps::of(hub.client.clone());
    let body = json!({"metadata": {"namespace": hub.name}, "spec": {}}).to_string();
    let (status, answer) = ask(fresh.debugger(), Some("dave"), "POST", posted, &body).await?;
    ensure!(
        status == StatusCode::INTERNAL_SERVER_ERROR,
        "{status}: {answer}"
    );
    // Nor where no access can be reviewed.
    let nowhere = kube::Config::new("http://127.0.0.1:9".parse()?);
    let nowhere = Deps::of(kube::Client::try_from(nowhere)?);
    let (status, answer) = ask(nowhere.debugger(), Some("dave"), "POST", posted, &body).await?;
    ensure!(
        status == StatusCode::INTERNAL_SERVER_ERROR,
        "{status}: {answer}"
    );
    Ok(())
}
