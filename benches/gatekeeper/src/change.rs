//! One pod that changes among all, with the audit of a cluster in memory.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use kube::Client;
use kube::api::PostParams;
use kube::core::Request;
use reeve_apiserver::{Identity, Options as ServerOptions, Server};
use reeve_benches_measuring::Used;
use reeve_constraint_audit::{Mode, Options, run as audit};
use reeve_runtime::CancellationToken;
use reeve_runtime::metrics::ControllerMetrics;
use serde_json::{Value, json};

use crate::evaluate::objects;
use crate::workload;

const TEMPLATES: &str = "/apis/templates.gatekeeper.sh/v1/constrainttemplates";
const CONSTRAINTS: &str = "/apis/constraints.gatekeeper.sh/v1beta1";
const SOON: Duration = Duration::from_mins(10);

/// Prints how long the first audit took, and the CPU time of one change: that of the API server in memory, which is in the same
/// process, included.
#[tokio::main]
pub(crate) async fn run(setup: &Path, pods: &Path, changes: usize) -> Result<()> {
    let server = Server::start(ServerOptions {
        rbac: true,
        ..ServerOptions::default()
    })?;
    let client = Client::new(server.service(Identity::admin()), "default");
    for number in 0..20 {
        let name = workload::namespace(number);
        let namespace =
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        create(&client, "/api/v1/namespaces", &namespace).await?;
    }
    let pods = objects(pods)?;
    for pod in &pods {
        let namespace = pod["metadata"]["namespace"].as_str().unwrap_or_default();
        create(
            &client,
            &format!("/api/v1/namespaces/{namespace}/pods"),
            pod,
        )
        .await?;
    }
    let stop = CancellationToken::new();
    let options = Options {
        mode: Mode::Materialised,
        ..Options::default()
    };
    let work = audit(
        client.clone(),
        options,
        ControllerMetrics::default(),
        stop.clone(),
    );
    let work = tokio::spawn(work);
    let (started, before) = (Instant::now(), Used::by(std::process::id())?);
    let constraints = set_up(&client, setup).await?;
    for path in &constraints {
        audited(&client, path).await?;
    }
    let used = Used::by(std::process::id())?;
    println!(
        "first audit: {:.2} s, CPU {:.2} s with the API server",
        started.elapsed().as_secs_f64(),
        used.cpu.saturating_sub(before.cpu).as_secs_f64()
    );
    one_by_one(&client, &pods, changes).await?;
    stop.cancel();
    work.await??;
    Ok(())
}

/// Changes a label of pods, one after the other. Every change is reviewed by all constraints, and changes what some of them count.
async fn one_by_one(client: &Client, pods: &[Value], changes: usize) -> Result<()> {
    let before = Used::by(std::process::id())?;
    for pod in pods.iter().take(changes) {
        let metadata = &pod["metadata"];
        let path = format!(
            "/api/v1/namespaces/{}/pods/{}",
            metadata["namespace"].as_str().unwrap_or_default(),
            metadata["name"].as_str().unwrap_or_default()
        );
        let owner = match metadata["labels"].get("owner") {
            Some(_) => Value::Null,
            None => json!("team"),
        };
        let change = json!({"metadata": {"labels": {"owner": owner}}});
        let request = http::Request::patch(path)
            .header("content-type", "application/merge-patch+json")
            .body(change.to_string().into_bytes())?;
        client.request_text(request).await?;
        // Longer than changes are gathered for one status: each has statuses of its own.
        tokio::time::sleep(Duration::from_millis(150)).await;
    }
    let used = Used::by(std::process::id())?.cpu.saturating_sub(before.cpu);
    println!(
        "{changes} pods changed one after the other: CPU {:.2} ms each with the API server",
        used.as_secs_f64() * 1000.0 / f64::from(u32::try_from(changes.max(1))?)
    );
    Ok(())
}

/// Creates the templates and constraints. Returns the paths of the constraints.
async fn set_up(client: &Client, setup: &Path) -> Result<Vec<String>> {
    let mut paths = Vec::new();
    for object in objects(setup)? {
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        let kind = object["kind"].as_str().unwrap_or_default().to_lowercase();
        if kind == "constrainttemplate" {
            until(&format!("template {name}"), || {
                create(client, TEMPLATES, &object)
            })
            .await?;
            continue;
        }
        let folder = format!("{CONSTRAINTS}/{kind}");
        until(&format!("constraint {name}"), || {
            create(client, &folder, &object)
        })
        .await?;
        paths.push(format!("{folder}/{name}"));
    }
    Ok(paths)
}

/// Waits until a constraint has been audited.
async fn audited(client: &Client, path: &str) -> Result<()> {
    until(path, || async {
        let request = http::Request::get(path).body(Vec::new())?;
        let text = client.request_text(request).await?;
        let object: Value = serde_json::from_str(&text)?;
        let is_counted = object["status"]["totalViolations"].is_u64();
        ensure!(is_counted, "it is not audited");
        Ok(())
    })
    .await
}

/// Tries until it is done.
async fn until<Fut: Future<Output = Result<()>>>(what: &str, step: impl Fn() -> Fut) -> Result<()> {
    let started = Instant::now();
    loop {
        match step().await {
            Ok(()) => return Ok(()),
            Err(error) if started.elapsed() > SOON => return Err(error).context(what.to_owned()),
            Err(_) => tokio::time::sleep(Duration::from_millis(5)).await,
        }
    }
}

async fn create(client: &Client, path: &str, object: &Value) -> Result<()> {
    let request = Request::new(path);
    let request = request.create(&PostParams::default(), object.to_string().into_bytes())?;
    client.request_text(request).await?;
    Ok(())
}
