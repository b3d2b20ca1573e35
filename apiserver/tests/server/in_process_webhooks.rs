//! Webhooks of this process: configurations reach them, and decide when they are called.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::FutureExt as _;
use futures::future::BoxFuture;
use kube::Client;
use parking_lot::Mutex;
use reeve_apiserver::status_error::StatusError;
use reeve_apiserver::{Identity, InProcessWebhook, Options, Server, WebhookAnswer, WebhookHandler};
use serde_json::{Value, json};

type Outcome = Result<(), Box<dyn std::error::Error>>;

const CONFIGURATIONS: &str = "/apis/admissionregistration.k8s.io/v1";
const MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// Refuses objects that are called `refused`, warns of `odd` ones, fails for `failing` and never answers for `endless` ones.
#[derive(Default)]
struct Judge(Mutex<Vec<(String, Value)>>);

impl WebhookHandler for Judge {
    fn handles(&self, _group: &str, kind: &str) -> bool {
        kind != "Secret"
    }

    fn review(
        self: Arc<Self>,
        path: &str,
        review: Value,
    ) -> BoxFuture<'static, Result<WebhookAnswer, String>> {
        let name = review["request"]["name"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        self.0.lock().push((path.to_owned(), review));
        async move {
            match name.as_str() {
                "failing" => Err("no idea".to_owned()),
                "endless" => std::future::pending().await,
                _ => Ok(WebhookAnswer {
                    warnings: (name == "odd")
                        .then(|| "it is odd".to_owned())
                        .into_iter()
                        .collect(),
                    refusal: (name == "refused").then(|| StatusError {
                        code: 422,
                        reason: "".into(),
                        message: "it must not be".to_owned(),
                        details: None,
                    }),
                }),
            }
        }
        .boxed()
    }
}

struct Cluster {
    client: Client,
    judge: Arc<Judge>,
}

impl Cluster {
    /// A server with a webhook of this process, which is configured for creations and deletions of everything in `resource`.
    async fn start(kind: &str, failure_policy: &str) -> Result<Self, kube::Error> {
        let judge = Arc::new(Judge::default());
        let server = Server::start(Options {
            webhooks: vec![InProcessWebhook {
                namespace: "default",
                service: "judge",
                handler: judge.clone(),
            }],
            ..Options::default()
        })
        .unwrap();
        let client = Client::new(server.service(Identity::admin()), "default");
        let cluster = Self { client, judge };
        let configuration = json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": "judge"},
            "webhooks": [{
                "name": "judge.example.com",
                "admissionReviewVersions": ["v1"],
                "clientConfig": {"service": {"namespace": "default", "name": "judge", "path": "/judge"}},
                "failurePolicy": failure_policy, "sideEffects": "None", "timeoutSeconds": 1,
                "rules": [{"apiGroups": [""], "apiVersions": ["*"], "operations": ["CREATE", "DELETE"], "resources": ["*"]}],
            }],
        });
        let path = format!("{CONFIGURATIONS}/{}s", kind.to_lowercase());
        cluster
            .send(http::Request::post(path), &configuration)
            .await?;
        Ok(cluster)
    }

    async fn send(&self, request: http::request::Builder, body: &Value) -> kube::Result<Value> {
        let request = request.header("content-type", "application/json");
        let body = if body.is_null() {
            Vec::new()
        } else {
            body.to_string().into_bytes()
        };
        let request = request.body(body).map_err(kube::Error::HttpError)?;
        self.client.request(request).await
    }

    async fn create(&self, name: &str) -> kube::Result<Value> {
        let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}});
        self.send(http::Request::post(MAPS), &map).await
    }

    fn calls(&self) -> usize {
        self.judge.0.lock().len()
    }
}

fn refusal(outcome: kube::Result<Value>) -> (u16, String, String) {
    match outcome {
        Err(kube::Error::Api(status)) => {
            (status.code, status.reason.clone(), status.message.clone())
        }
        other => (0, String::new(), format!("{other:?}")),
    }
}

#[tokio::test]
async fn webhook_of_the_process_is_sent_the_review_and_refuses() -> Outcome {
    let cluster = Cluster::start("ValidatingWebhookConfiguration", "Fail").await?;
    cluster.create("good").await?;
    let (path, review) = cluster.judge.0.lock()[0].clone();
    assert_eq!(path, "/judge");
    let request = &review["request"];
    assert_eq!(request["operation"], "CREATE");
    assert_eq!(request["object"]["metadata"]["name"], "good");
    assert_eq!(request["oldObject"], Value::Null);
    assert_eq!(request["userInfo"]["username"], "admin");
    assert_eq!(request["dryRun"], false);
    assert_eq!(
        refusal(cluster.create("refused").await),
        (
            422,
            String::new(),
            "admission webhook \"judge.example.com\" denied the request: it must not be".to_owned()
        )
    );
    let deleted = http::Request::delete(format!("{MAPS}/good?dryRun=All"));
    cluster.send(deleted, &Value::Null).await?;
    let (_, review) = cluster.judge.0.lock()[2].clone();
    assert_eq!(review["request"]["operation"], "DELETE");
    assert_eq!(review["request"]["dryRun"], true);
    assert_eq!(review["request"]["oldObject"]["metadata"]["name"], "good");
    Ok(())
}

#[tokio::test]
async fn webhook_of_the_process_warns() -> Outcome {
    let cluster = Cluster::start("ValidatingWebhookConfiguration", "Fail").await?;
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "odd"}});
    let request = http::Request::post(MAPS).header("content-type", "application/json");
    let request = request.body(kube::client::Body::from(map.to_string().into_bytes()))?;
    let response = cluster.client.send(request).await?;
    assert_eq!(response.status(), 201);
    assert_eq!(response.headers()["warning"], "299 - \"it is odd\"");
    Ok(())
}

#[tokio::test]
async fn failure_policy_decides_where_the_webhook_fails() -> Outcome {
    let cluster = Cluster::start("ValidatingWebhookConfiguration", "Fail").await?;
    let (code, _, message) = refusal(cluster.create("failing").await);
    assert_eq!(
        (code, message.as_str()),
        (
            500,
            "Internal error occurred: failed calling webhook \"judge.example.com\": failed to call webhook: no idea"
        )
    );
    let begun = Instant::now();
    let (code, _, message) = refusal(cluster.create("endless").await);
    assert!(
        code == 500 && message.ends_with("context deadline exceeded"),
        "{message}"
    );
    assert!(begun.elapsed() < Duration::from_mins(5));

    let cluster = Cluster::start("ValidatingWebhookConfiguration", "Ignore").await?;
    cluster.create("failing").await?;
    cluster.create("endless").await?;
    cluster
        .create("refused")
        .await
        .expect_err("a refusal is no failure");
    Ok(())
}

#[tokio::test]
async fn webhook_of_the_process_is_not_called_for_kinds_that_it_does_not_handle() -> Outcome {
    let cluster = Cluster::start("ValidatingWebhookConfiguration", "Fail").await?;
    let before = cluster.calls();
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "refused"}});
    let path = "/api/v1/namespaces/default/secrets";
    cluster.send(http::Request::post(path), &secret).await?;
    assert_eq!(cluster.calls(), before);
    Ok(())
}

#[tokio::test]
async fn webhook_of_the_process_may_be_among_the_mutating_ones() -> Outcome {
    let cluster = Cluster::start("MutatingWebhookConfiguration", "Fail").await?;
    cluster.create("good").await?;
    let (code, _, _) = refusal(cluster.create("refused").await);
    assert_eq!((code, cluster.calls()), (422, 2));
    Ok(())
}
