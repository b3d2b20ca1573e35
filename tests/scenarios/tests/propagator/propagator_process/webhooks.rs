//! The admission webhooks, asked by a real API server as the shipped manifest publishes it to.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use http::Request;
use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use kube::api::{Api, DynamicObject, PostParams};
use kube::core::Status;
use reeve_testkit::{Plane, SOON, eventually, free_port, parse, workspace};
use serde_json::{Value, json};

use crate::propagator_process::serving_client::Certificate;
use crate::propagator_process::{Hubs, Running, WRITER, reader};

const MANIFEST: &str = "deploy/webhook/governance-policy-propagator.yaml";
const NAMESPACE: &str = "admission";

/// A propagator whose webhooks the API server asks about one namespace, so that scenarios do not meet.
struct WebhookPropagator {
    running: Running,
    certificate: Certificate,
    port: u16,
    configuration: ValidatingWebhookConfiguration,
}

/// The shipped configuration for one namespace, with a URL in the place of the Service.
fn configuration(
    namespace: &str,
    port: u16,
    certificate: &Certificate,
) -> Result<ValidatingWebhookConfiguration> {
    let objects = parse(&fs::read_to_string(workspace().join(MANIFEST))?)?;
    let is_ours = |object: &&DynamicObject| {
        let types = object.types.as_ref();
        types.is_some_and(|types| types.kind == "ValidatingWebhookConfiguration")
    };
    let ours = objects
        .iter()
        .find(is_ours)
        .context("not in the manifest")?;
    let mut ours: ValidatingWebhookConfiguration =
        serde_json::from_value(serde_json::to_value(ours)?)?;
    ours.metadata.name = Some(format!("propagator-{namespace}"));
    for webhook in ours.webhooks.iter_mut().flatten() {
        let client = &mut webhook.client_config;
        let service = client.service.take().context("no service")?;
        let path = service.path.context("no path")?;
        client.url = Some(format!("https://127.0.0.1:{port}{path}"));
        client.ca_bundle = Some(certificate.bundle());
        let labels = json!({ "matchLabels": { "kubernetes.io/metadata.name": namespace } });
        webhook.namespace_selector = Some(serde_json::from_value(labels)?);
    }
    Ok(ours)
}

impl WebhookPropagator {
    /// The API server asks when this returns.
    async fn start(hub: &Plane, namespace: &str) -> Result<Self> {
        let name =
            json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": namespace } });
        hub.apply(&name.to_string()).await?;
        let certificate = Certificate::new()?;
        let port = free_port()?;
        let folder = format!("--webhook-cert-dir={}", certificate.folder().display());
        let flags = [
            "--enable-webhooks",
            &format!("--webhook-port={port}"),
            &folder,
        ];
        let running = Running::start(&reader(hub, namespace)?, &flags, &[]).await?;
        let configuration = configuration(namespace, port, &certificate)?;
        let asked = Self {
            running,
            certificate,
            port,
            configuration,
        };
        asked.configure(hub).await?;
        Ok(asked)
    }

    /// Has the API server ask, and waits until it does. The webhooks fail open: until then all pass.
    async fn configure(&self, hub: &Plane) -> Result<()> {
        hub.apply(&serde_json::to_string(&self.configuration)?)
            .await?;
        let namespace = self.namespace();
        eventually("the webhooks are asked", SOON, || async {
            let long = policy(namespace, &"n".repeat(60), json!({}));
            ensure!(tried(hub, &long, Try::Dry).await?.is_some(), "not asked");
            let stray = set(namespace, "asked", &["b"]);
            ensure!(tried(hub, &stray, Try::Dry).await?.is_some(), "not asked");
            Ok::<_, anyhow::Error>(())
        })
        .await
    }

    fn namespace(&self) -> &str {
        let name = self.configuration.metadata.name.as_deref();
        name.and_then(|name| name.strip_prefix("propagator-"))
            .unwrap_or_default()
    }

    /// Ends the propagator, which must have lived so long.
    async fn end(mut self, hub: &Plane) -> Result<()> {
        let log = self.running.component.log();
        ensure!(self.running.component.status()?.is_none(), "{log}");
        hub.delete(&serde_json::to_string(&self.configuration)?)
            .await?;
        self.running.component.stop().await?;
        Ok(())
    }
}

/// How an object is written.
#[derive(Clone, Copy)]
enum Try {
    Dry,
    Create,
    Replace,
}

/// Writes an object and reports why it was refused, if it was.
async fn tried(hub: &Plane, object: &Value, how: Try) -> Result<Option<Box<Status>>> {
    let object: DynamicObject = serde_json::from_value(object.clone())?;
    let types = object.types.clone().context("no kind")?;
    let (resource, _) = hub.kind(&types.api_version, &types.kind).await?;
    let namespace = object
        .metadata
        .namespace
        .as_deref()
        .context("no namespace")?;
    let api: Api<DynamicObject> = Api::namespaced_with(hub.client(), namespace, &resource);
    let params = PostParams {
        dry_run: matches!(how, Try::Dry),
        ..PostParams::default()
    };
    let name = object.metadata.name.as_deref().context("no name")?;
    let answer = match how {
        Try::Dry | Try::Create => api.create(&params, &object).await,
        Try::Replace => {
            let mut object = object.clone();
            object.metadata.resource_version = api.get(name).await?.metadata.resource_version;
            api.replace(name, &params, &object).await
        }
    };
    match answer {
        Ok(_) => Ok(None),
        Err(kube::Error::Api(status)) => Ok(Some(status)),
        Err(error) => Err(error.into()),
    }
}

async fn accepted(hub: &Plane, object: &Value, how: Try) -> Result<()> {
    let refused = tried(hub, object, how).await?;
    ensure!(refused.is_none(), "{object}: {refused:?}");
    Ok(())
}

async fn refused(hub: &Plane, object: &Value, how: Try, webhook: &str, text: &str) -> Result<()> {
    let status = tried(hub, object, how).await?;
    let status = status.with_context(|| format!("{object} was accepted"))?;
    let prefix = format!("admission webhook \"{webhook}\" denied the request: ");
    ensure!(status.message == format!("{prefix}{text}"), "{status:?}");
    ensure!(
        status.code == 403 && status.reason == "Forbidden",
        "{status:?}"
    );
    Ok(())
}

fn policy(namespace: &str, name: &str, spec: Value) -> Value {
    let mut whole = json!({ "disabled": false, "policy-templates": [] });
    if let (Some(whole), Value::Object(spec)) = (whole.as_object_mut(), spec) {
        whole.extend(spec);
    }
    json!({
        "apiVersion": "policy.open-cluster-management.io/v1", "kind": "Policy",
        "metadata": { "name": name, "namespace": namespace }, "spec": whole
    })
}

/// A policy with one configuration policy.
fn with_template(name: &str, root: Value, template: &Value) -> Value {
    let definition = json!({
        "apiVersion": "policy.open-cluster-management.io/v1", "kind": "ConfigurationPolicy",
        "metadata": { "name": name }, "spec": template
    });
    let mut spec = json!({ "policy-templates": [{ "objectDefinition": definition }] });
    if !root.is_null() {
        spec["remediationAction"] = root;
    }
    policy(NAMESPACE, name, spec)
}

/// A set of one policy, `a`, that excludes these.
fn set(namespace: &str, name: &str, excluded: &[&str]) -> Value {
    let exclusion = |policy: &&str| json!({ "policyName": policy, "clusterNames": ["managed1"] });
    let exclusions: Vec<Value> = excluded.iter().map(exclusion).collect();
    json!({
        "apiVersion": "policy.open-cluster-management.io/v1beta1", "kind": "PolicySet",
        "metadata": { "name": name, "namespace": namespace },
        "spec": { "policies": ["a"], "exclusions": exclusions }
    })
}

pub(crate) async fn policies(hubs: Arc<Hubs>) -> Result<()> {
    // A propagator that writes statuses would come between a read and a write of the same object.
    let _turn = WRITER.lock().await;
    let hub = &hubs.plain;
    let asked = WebhookPropagator::start(hub, NAMESPACE).await?;
    let webhook = "policy.open-cluster-management.io.webhook";
    let long = "the combined length of the policy namespace and name cannot exceed 62 characters";
    let name = "n".repeat(63 - NAMESPACE.len());
    let too_long = policy(NAMESPACE, &name, json!({}));
    refused(hub, &too_long, Try::Create, webhook, long).await?;
    let fits = policy(NAMESPACE, &name[1..], json!({}));
    accepted(hub, &fits, Try::Create).await?;
    let mut replica = too_long;
    replica["metadata"]["labels"] =
        json!({ "policy.open-cluster-management.io/root-policy": "any" });
    accepted(hub, &replica, Try::Create).await?;

    let unset = "RemediationAction field of the policy and policy template cannot both be unset";
    let inform = json!({ "remediationAction": "inform" });
    let neither = with_template("neither", json!(null), &json!({}));
    refused(hub, &neither, Try::Create, webhook, unset).await?;
    let root = with_template("root", json!("inform"), &json!({}));
    accepted(hub, &root, Try::Create).await?;
    let template = with_template("template", json!(null), &inform);
    accepted(hub, &template, Try::Create).await?;
    let removed = with_template("root", json!(null), &json!({}));
    refused(hub, &removed, Try::Replace, webhook, unset).await?;
    let added = with_template("template", json!("enforce"), &inform);
    accepted(hub, &added, Try::Replace).await?;
    asked.end(hub).await
}

pub(crate) async fn policy_sets(hubs: Arc<Hubs>) -> Result<()> {
    // A propagator that writes statuses would come between a read and a write of the same object.
    let _turn = WRITER.lock().await;
    let (hub, namespace) = (&hubs.plain, "admission-of-sets");
    let asked = WebhookPropagator::start(hub, namespace).await?;
    let webhook = "policyset.open-cluster-management.io.webhook";
    accepted(hub, &set(namespace, "s", &["a"]), Try::Create).await?;
    let foreign = "policy in spec.exclusions is not listed in spec.policies: b";
    let unknown = set(namespace, "s", &["b"]);
    refused(hub, &unknown, Try::Replace, webhook, foreign).await?;
    let duplicate = "policy in spec.exclusions has a duplicate entry: a";
    let twice = set(namespace, "s", &["a", "a"]);
    refused(hub, &twice, Try::Replace, webhook, duplicate).await?;
    let both = format!("{duplicate}\n{foreign}");
    let all = set(namespace, "s", &["a", "b", "a"]);
    refused(hub, &all, Try::Replace, webhook, &both).await?;
    // A set that was stored while nobody asked may go.
    hub.delete(&set(namespace, "s", &[]).to_string()).await?;
    asked.end(hub).await
}

pub(crate) async fn warnings(hubs: Arc<Hubs>) -> Result<()> {
    let (hub, namespace) = (&hubs.plain, "admission-warns");
    let asked = WebhookPropagator::start(hub, namespace).await?;
    let warned = async |path: &str, object: Value| {
        let group = "/apis/policy.open-cluster-management.io";
        let request = Request::post(format!("{group}/{path}"))
            .header("content-type", "application/json")
            .body(kube::client::Body::from(object.to_string().into_bytes()))?;
        let answer = hub.client().send(request).await?;
        ensure!(answer.status() == 201, "{answer:?}");
        let all = answer.headers().get_all("warning").iter();
        let all: Vec<&str> = all.map(|text| text.to_str()).collect::<Result<_, _>>()?;
        Ok::<_, anyhow::Error>(all.join("\n"))
    };
    let templates = json!({ "policy-templates": [{ "objectDefinition": { "spec": {} } }] });
    let path = format!("v1/namespaces/{namespace}/policies");
    let text = warned(&path, policy(namespace, "kindless", templates)).await?;
    let want = "spec.policy-templates[0].objectDefinition has no kind";
    ensure!(text.contains(want), "{text}");
    let mut misspelt = set(namespace, "misspelt", &["a"]);
    misspelt["spec"]["exclusions"][0]["clusterNames"] = json!(["Managed1"]);
    let path = format!("v1beta1/namespaces/{namespace}/policysets");
    let text = warned(&path, misspelt).await?;
    ensure!(text.contains("cannot be the name of a cluster"), "{text}");
    asked.end(hub).await
}

pub(crate) async fn nonsense_and_renewal(hubs: Arc<Hubs>) -> Result<()> {
    let (hub, namespace) = (&hubs.plain, "admission-renewed");
    let mut asked = WebhookPropagator::start(hub, namespace).await?;
    let ask = |path: &str, body: Vec<u8>| Request::post(path).body(body);
    let policies = "/validate-policy-open-cluster-management-io-v1-policy";
    for body in ["", "nonsense", "{\"kind\": \"AdmissionReview\"}"] {
        let request = ask(policies, body.as_bytes().to_vec())?;
        let (code, _, text) = asked.certificate.send(asked.port, request).await?;
        ensure!(code == 400, "{body}: {code}: {text}");
        let want = "not an AdmissionReview of a Policy: ";
        ensure!(text.starts_with(want), "{text}");
    }
    let huge = ask(policies, vec![b' '; 8 << 20])?;
    let (code, _, text) = asked.certificate.send(asked.port, huge).await?;
    ensure!(code == 413, "{code}: {text}");
    let (code, _, text) = asked
        .certificate
        .send(asked.port, ask("/elsewhere", Vec::new())?)
        .await?;
    ensure!(code == 404, "{code}: {text}");

    asked.certificate.renew()?;
    let (certificate, port) = (&asked.certificate, asked.port);
    eventually("the new certificate is shown", SOON, || async {
        let request = ask(policies, Vec::new())?;
        let answer = tokio::time::timeout(Duration::from_secs(5), certificate.send(port, request));
        answer.await??;
        Ok::<_, anyhow::Error>(())
    })
    .await?;
    asked.configuration = configuration(namespace, asked.port, &asked.certificate)?;
    asked.configure(hub).await?;
    asked.end(hub).await
}
