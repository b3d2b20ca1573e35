//! Reads a hub. What may not be read is an error of the check that needs it, and never counts as absent.

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::apimachinery::pkg::version::Info;
use kube::{Client, Resource as _};
use reeve_runtime::object::{error_chain, status_message};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// The server does not answer, or is no Kubernetes API server.
#[derive(Debug)]
pub struct Unreachable(String);

impl std::fmt::Display for Unreachable {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "cannot reach the hub: {}", self.0)
    }
}

impl std::error::Error for Unreachable {}

/// Why a request failed: what the server says, or why there is no connection.
fn reason(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(_) => status_message(error),
        other => error_chain(other),
    }
}

/// A hub that answers.
pub(crate) struct Hub {
    client: Client,
    /// Its version of Kubernetes.
    pub(crate) version: Info,
}

/// A list, or why there is none.
pub(crate) type Read<T> = Result<T, String>;

#[derive(Deserialize)]
struct List<T> {
    items: Vec<T>,
}

impl Hub {
    pub(crate) async fn connect(client: &Client) -> Result<Self, Unreachable> {
        let version = client.apiserver_version().await;
        Ok(Self {
            client: client.clone(),
            version: version.map_err(|error| Unreachable(reason(&error)))?,
        })
    }

    /// The object or list at a path; `None` if there is none, or its kind is not served.
    pub(crate) async fn get<T: DeserializeOwned>(&self, path: &str) -> Read<Option<T>> {
        let request = http::Request::get(path).body(Vec::new());
        let request = request.map_err(|error| error.to_string())?;
        match self.client.request(request).await {
            Ok(found) => Ok(Some(found)),
            // Of a group that it does not know, the server says so without a status object.
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
            Err(error) => Err(status_message(&error)),
        }
    }

    /// The objects at a path; none if their kind is not served.
    pub(crate) async fn list<T: DeserializeOwned>(&self, path: &str) -> Read<Vec<T>> {
        let list: Option<List<T>> = self.get(path).await?;
        Ok(list.map(|list| list.items).unwrap_or_default())
    }

    /// What the server answers to an object.
    pub(crate) async fn post(&self, path: &str, object: &Value) -> Read<Value> {
        let request = http::Request::post(path)
            .header(http::header::CONTENT_TYPE, "application/json")
            .body(object.to_string().into_bytes());
        let request = request.map_err(|error| error.to_string())?;
        let sent = self.client.request(request).await;
        sent.map_err(|error| status_message(&error))
    }

    /// All Deployments by their names. Those of one name in several namespaces are all there.
    pub(crate) async fn deployments(&self) -> Read<Deployments> {
        let all: Vec<Deployment> = self.list(&Deployment::url_path(&(), None)).await?;
        let mut by_name = Deployments::new();
        for one in all {
            let name = one.metadata.name.clone().unwrap_or_default();
            by_name.entry(name).or_default().push(one);
        }
        Ok(by_name)
    }
}

/// Deployments by name.
pub(crate) type Deployments = BTreeMap<String, Vec<Deployment>>;

/// A text of a value; empty if there is none.
pub(crate) fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    let text = value.pointer(pointer).and_then(Value::as_str);
    text.unwrap_or_default()
}

/// The status of a condition: `True`, `False`, `Unknown`, or empty; and its message.
pub(crate) fn condition<'a>(object: &'a Value, kind: &str) -> (&'a str, &'a str) {
    let conditions = object.pointer("/status/conditions");
    let mut conditions = conditions.and_then(Value::as_array).into_iter().flatten();
    let found = conditions.find(|one| text(one, "/type") == kind);
    found.map_or(("", ""), |one| {
        (text(one, "/status"), text(one, "/message"))
    })
}
