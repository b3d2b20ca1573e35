//! What happens to the embedded server while it waits for a webhook: nobody else waits, and what others write meanwhile is
//! noticed. How it asks is compared with a real server elsewhere.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use futures::future::join_all;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::{Client, Error};
use reeve_apiserver::{Identity, Options, Server};
use reeve_conformance::hooks::{Authority, Hooks};
use serde_json::{Value, json};
use tokio::time::{Instant, timeout};

/// Longer than any of these takes, and shorter than the patience of the webhooks.
const SOON: Duration = Duration::from_secs(5);
/// The answer of a slow webhook takes so long, in milliseconds.
const SLOW: u64 = 4000;
/// Who does not wait for a slow webhook has long finished then, on a machine with other work, too.
const BEFORE_THE_SLOW: Duration = Duration::from_secs(2);

struct World {
    client: Client,
    hooks: Arc<Hooks>,
    authority: Authority,
}

impl World {
    fn start() -> Result<Self> {
        let authority = Authority::new()?;
        let hooks = Arc::new(Hooks::start(&authority)?);
        let server = Server::start(Options::default())?;
        let client = Client::new(server.service(Identity::admin()), "default");
        Ok(Self {
            client,
            hooks,
            authority,
        })
    }

    fn maps(&self) -> Api<ConfigMap> {
        Api::namespaced(self.client.clone(), "default")
    }

    /// Makes a configuration of one webhook on a path, which is asked about configmaps.
    async fn create_webhook(&self, kind: &str, path: &str, operation: &str) -> Result<()> {
        self.create_webhook_for(kind, path, operation, ("", "configmaps"))
            .await
    }

    async fn create_webhook_for(
        &self,
        kind: &str,
        path: &str,
        operation: &str,
        (group, resource): (&str, &str),
    ) -> Result<()> {
        let configuration = json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": format!("{kind}WebhookConfiguration"),
            "metadata": { "name": path },
            "webhooks": [{
                "name": format!("{path}.hooks.example.com"), "admissionReviewVersions": ["v1"], "sideEffects": "None",
                "clientConfig": {
                    "url": format!("https://{}/{path}", self.hooks.address), "caBundle": self.authority.bundle(),
                },
                "rules": [{
                    "apiGroups": [group], "apiVersions": ["v1"], "operations": [operation], "resources": [resource],
                }],
            }],
        });
        let kind = kind.to_lowercase();
        let path = format!("/apis/admissionregistration.k8s.io/v1/{kind}webhookconfigurations");
        let request = http::Request::post(path).body(configuration.to_string().into_bytes())?;
        self.client.request::<DynamicObject>(request).await?;
        Ok(())
    }

    /// Waits until the webhook has been asked so often.
    async fn wait_for_reviews(&self, often: usize) -> Result<Vec<Value>> {
        let mut seen = Vec::new();
        let start = Instant::now();
        while seen.len() < often {
            ensure!(start.elapsed() < SOON, "asked {} times only", seen.len());
            seen.extend(self.hooks.seen());
            tokio::task::yield_now().await;
        }
        Ok(seen)
    }
}

fn map(name: &str, value: &str) -> Result<ConfigMap> {
    let map = json!({ "metadata": { "name": name }, "data": { "a": value } });
    Ok(serde_json::from_value(map)?)
}

fn sleeping(milliseconds: u64) -> Value {
    json!({ "sleep": milliseconds, "response": { "allowed": true } })
}

#[tokio::test]
async fn request_does_not_wait_for_webhook_of_another() -> Result<()> {
    let world = World::start()?;
    world.hooks.set("/slow", sleeping(SLOW));
    world.create_webhook("Validating", "slow", "CREATE").await?;
    let maps = world.maps();
    let (post, map) = (PostParams::default(), map("waits", "1")?);
    // One thread has to do for all of this.
    let waiting = maps.create(&post, &map);
    let meanwhile = async {
        world.wait_for_reviews(1).await?;
        let start = Instant::now();
        maps.list(&ListParams::default()).await?;
        let absent = maps.get_opt("waits").await?.is_none();
        ensure!(absent, "it is there before the webhook has answered");
        ensure!(start.elapsed() < BEFORE_THE_SLOW, "others wait");
        Ok(())
    };
    let (made, others) = futures::join!(waiting, meanwhile);
    others?;
    made.context("creating")?;
    Ok(())
}

#[tokio::test]
async fn webhooks_are_called_concurrently() -> Result<()> {
    let world = World::start()?;
    world.hooks.set("/slow", sleeping(300));
    world.create_webhook("Mutating", "slow", "CREATE").await?;
    let maps = world.maps();
    let start = Instant::now();
    let made = (0..20).map(|number| {
        let maps = maps.clone();
        async move {
            let map = map(&format!("map-{number}"), "1")?;
            maps.create(&PostParams::default(), &map).await?;
            Ok::<_, anyhow::Error>(())
        }
    });
    join_all(made)
        .await
        .into_iter()
        .collect::<Result<Vec<()>>>()?;
    ensure!(start.elapsed() < SOON, "one after the other");
    Ok(())
}

#[tokio::test]
async fn replacement_of_changed_object_is_a_conflict() -> Result<()> {
    let world = World::start()?;
    let maps = world.maps();
    let made = maps
        .create(&PostParams::default(), &map("map", "1")?)
        .await?;
    world.hooks.set("/slow", sleeping(500));
    world.create_webhook("Validating", "slow", "UPDATE").await?;
    let mut late = map("map", "late")?;
    late.metadata.resource_version = made.metadata.resource_version;
    let post = PostParams::default();
    let replacing = maps.replace("map", &post, &late);
    let meanwhile = async {
        world.wait_for_reviews(1).await?;
        world.hooks.set("/slow", sleeping(0));
        let patch = Patch::Merge(json!({ "data": { "a": "early" } }));
        maps.patch("map", &PatchParams::default(), &patch).await?;
        Ok::<_, anyhow::Error>(())
    };
    let (replaced, others) = futures::join!(replacing, meanwhile);
    others?;
    let Err(Error::Api(refused)) = replaced else {
        anyhow::bail!("it is not refused");
    };
    assert_eq!((refused.code, refused.reason.as_str()), (409, "Conflict"));
    let kept = maps.get("map").await?.data.unwrap_or_default();
    assert_eq!(kept.get("a").map(String::as_str), Some("early"));
    Ok(())
}

#[tokio::test]
async fn patch_of_changed_object_is_reviewed_again() -> Result<()> {
    let world = World::start()?;
    let maps = world.maps();
    maps.create(&PostParams::default(), &map("map", "1")?)
        .await?;
    let adds = json!([{ "op": "add", "path": "/data/hook", "value": "x" }]);
    let adding =
        |sleep: u64| json!({ "sleep": sleep, "response": { "allowed": true, "patch": adds } });
    world.hooks.set("/slow", adding(500));
    world.create_webhook("Mutating", "slow", "UPDATE").await?;
    let (late, early) = (
        json!({ "data": { "b": "late" } }),
        json!({ "data": { "c": "early" } }),
    );
    let (late, early) = (Patch::Merge(late), Patch::Merge(early));
    let params = PatchParams::default();
    let patching = maps.patch("map", &params, &late);
    let meanwhile = async {
        world.wait_for_reviews(1).await?;
        world.hooks.set("/slow", adding(0));
        maps.patch("map", &params, &early).await?;
        Ok::<_, anyhow::Error>(())
    };
    let (patched, others) = timeout(SOON, async { futures::join!(patching, meanwhile) }).await?;
    others?;
    let data = patched?.data.unwrap_or_default();
    let data: Vec<(&str, &str)> = data.iter().map(|(key, value)| (&**key, &**value)).collect();
    assert_eq!(
        data,
        [("a", "1"), ("b", "late"), ("c", "early"), ("hook", "x")]
    );
    // Of the early one, and of the late one again: the webhook has seen what came between.
    let seen = world.wait_for_reviews(2).await?;
    let last = &seen[1]["review"]["request"]["object"]["data"];
    assert_eq!(
        *last,
        json!({ "a": "1", "b": "late", "c": "early", "hook": "x" })
    );
    Ok(())
}

/// A dry run could not ask it.
#[tokio::test]
async fn webhook_with_side_effects_is_rejected() -> Result<()> {
    let world = World::start()?;
    world
        .create_webhook("Validating", "allow", "CREATE")
        .await?;
    let path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/allow";
    let changed = json!([{ "op": "replace", "path": "/webhooks/0/sideEffects", "value": "Some" }]);
    let request = http::Request::patch(path)
        .header("content-type", "application/json-patch+json")
        .body(changed.to_string().into_bytes())?;
    let Err(Error::Api(refused)) = world.client.request_text(request).await else {
        anyhow::bail!("it is taken");
    };
    assert_eq!(
        (refused.code, refused.message.as_str()),
        (
            422,
            "ValidatingWebhookConfiguration.admissionregistration.k8s.io \"allow\" is invalid: \
             webhooks[0].sideEffects: Unsupported value: \"Some\": supported values: \"None\", \"NoneOnDryRun\""
        )
    );
    let dry = PostParams {
        dry_run: true,
        ..PostParams::default()
    };
    world.maps().create(&dry, &map("map", "1")?).await?;
    ensure!(world.hooks.seen().len() == 1, "the webhook was not asked");
    Ok(())
}

#[tokio::test]
async fn changed_configuration_has_effect_at_once() -> Result<()> {
    let world = World::start()?;
    let maps = world.maps();
    world
        .hooks
        .set("/deny", json!({ "response": { "allowed": false } }));
    world.create_webhook("Validating", "deny", "CREATE").await?;
    let post = PostParams::default();
    ensure!(
        maps.create(&post, &map("map", "1")?).await.is_err(),
        "it is allowed"
    );
    let path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/deny";
    let request = http::Request::delete(path).body(Vec::new())?;
    world.client.request_text(request).await?;
    maps.create(&post, &map("map", "1")?).await?;
    Ok(())
}

#[tokio::test]
async fn objects_of_deleted_definition_are_deleted() -> Result<()> {
    let world = World::start()?;
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": "teas.hooks.example.com" },
        "spec": {
            "group": "hooks.example.com", "scope": "Namespaced", "names": { "plural": "teas", "kind": "Tea" },
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": { "openAPIV3Schema": { "type": "object", "x-kubernetes-preserve-unknown-fields": true } },
            }],
        },
    });
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let send = async |request: http::request::Builder, body: String| {
        let request = request.body(body.into_bytes())?;
        Ok::<_, anyhow::Error>(world.client.request_text(request).await)
    };
    send(http::Request::post(definitions), definition.to_string()).await??;
    world.hooks.set("/slow", sleeping(SLOW));
    world
        .create_webhook_for(
            "Validating",
            "slow",
            "CREATE",
            ("hooks.example.com", "teas"),
        )
        .await?;
    let teas = "/apis/hooks.example.com/v1/namespaces/default/teas";
    let tea = json!({ "apiVersion": "hooks.example.com/v1", "kind": "Tea", "metadata": { "name": "late" } });
    let making = send(http::Request::post(teas), tea.to_string());
    let meanwhile = async {
        world.wait_for_reviews(1).await?;
        let path = format!("{definitions}/teas.hooks.example.com");
        send(http::Request::delete(&path), String::new()).await??;
        let start = Instant::now();
        while send(http::Request::get(&path), String::new())
            .await?
            .is_ok()
        {
            ensure!(start.elapsed() < BEFORE_THE_SLOW, "the definition stays");
            tokio::task::yield_now().await;
        }
        Ok::<_, anyhow::Error>(())
    };
    let (made, others) = futures::join!(making, meanwhile);
    others?;
    ensure!(made?.is_err(), "it has been made");
    send(http::Request::post(definitions), definition.to_string()).await??;
    let list: Value = serde_json::from_str(&send(http::Request::get(teas), String::new()).await??)?;
    assert_eq!(list["items"], json!([]));
    Ok(())
}
