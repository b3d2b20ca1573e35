//! A server that keeps what it has, ended and started again.

use std::path::Path;
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::{ConfigMap, Namespace, ServiceAccount};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{
    Api, DeleteParams, DynamicObject, ListParams, PostParams, WatchEvent, WatchParams,
};
use kube::core::{ApiResource, GroupVersionKind};
use kube::runtime::watcher;
use kube::{Client, ResourceExt as _};
use reeve_apiserver::{Data, DataError, DataKind, Identity, Options, Server};
use serde_json::{Value, json};

/// A server of a folder that nobody else has.
fn open(path: &Path) -> Result<(Server, Client), DataError> {
    let folder = Data::open(path, DataKind::ApiServer)?.folder("one")?;
    let options = Options {
        rbac: true,
        authority: folder.authority()?.pem(),
        ..Options::default()
    };
    let server = Server::open(options, &folder)?;
    let client = Client::new(server.service(Identity::admin()), "default");
    Ok((server, client))
}

/// Ends a server. Its controllers let it go a moment later.
async fn close(path: &Path, server: Server, client: Client) {
    drop((server, client));
    until("the folder to be free", async || {
        Data::open(path, DataKind::ApiServer).is_ok()
    })
    .await;
}

async fn until(what: &str, mut so: impl AsyncFnMut() -> bool) {
    let start = Instant::now();
    while !so().await {
        assert!(
            start.elapsed() < Duration::from_mins(5),
            "waiting for {what}"
        );
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

fn config_map(value: Value) -> serde_json::Result<ConfigMap> {
    serde_json::from_value(value)
}

fn definition() -> serde_json::Result<CustomResourceDefinition> {
    serde_json::from_value(json!({
        "metadata": { "name": "teas.example.com" },
        "spec": {
            "group": "example.com", "scope": "Namespaced", "names": { "plural": "teas", "kind": "Tea" },
            "versions": [{ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": {
                "type": "object", "properties": { "spec": { "type": "object", "properties": {
                    "cups": { "type": "integer", "default": 2 } } } } } } }],
        },
    }))
}

fn teas(client: &Client) -> Api<DynamicObject> {
    let kind = GroupVersionKind::gvk("example.com", "v1", "Tea");
    Api::namespaced_with(client.clone(), "default", &ApiResource::from_gvk(&kind))
}

fn tea(name: &str) -> DynamicObject {
    let kind = GroupVersionKind::gvk("example.com", "v1", "Tea");
    let mut tea = DynamicObject::new(name, &ApiResource::from_gvk(&kind));
    tea.data = json!({ "spec": {} });
    tea
}

#[tokio::test(flavor = "multi_thread")]
async fn objects_and_custom_kinds_are_restored_before_the_first_request() {
    let folder = tempfile::tempdir().unwrap();
    let (server, client) = open(folder.path()).unwrap();
    let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let kept = config_map(json!({ "metadata": { "name": "kept" }, "data": { "a": "b" } })).unwrap();
    let kept = maps.create(&PostParams::default(), &kept).await.unwrap();
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    definitions
        .create(&PostParams::default(), &definition().unwrap())
        .await
        .unwrap();
    let tea = teas(&client)
        .create(&PostParams::default(), &tea("green"))
        .await
        .unwrap();
    let all = maps.list(&ListParams::default()).await.unwrap();
    let before = all.metadata.resource_version.unwrap();
    drop((maps, definitions));
    close(folder.path(), server, client).await;

    let (_server, client) = open(folder.path()).unwrap();
    // No waiting: what was served is served.
    let again = teas(&client).get("green").await.unwrap();
    assert_eq!((again.uid(), &again.data), (tea.uid(), &tea.data));
    let made = teas(&client)
        .create(&PostParams::default(), &self::tea("black"))
        .await;
    assert_eq!(made.unwrap().data["spec"]["cups"], 2);
    let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
    assert_eq!(maps.get("kept").await.unwrap(), kept);
    let all = maps.list(&ListParams::default()).await.unwrap();
    let after = all.metadata.resource_version.unwrap();
    let number = |text: &str| text.parse::<u64>().unwrap();
    assert!(number(&after) > number(&before), "{after} after {before}");
    let definitions: Api<CustomResourceDefinition> = Api::all(client);
    let status = definitions
        .get("teas.example.com")
        .await
        .unwrap()
        .status
        .unwrap();
    let conditions = status.conditions.unwrap();
    assert!(
        conditions
            .iter()
            .any(|one| one.type_ == "Established" && one.status == "True")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn bootstrap_objects_are_not_recreated() {
    let folder = tempfile::tempdir().unwrap();
    let (server, client) = open(folder.path()).unwrap();
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let accounts: Api<ServiceAccount> = Api::default_namespaced(client.clone());
    until("the account", async || {
        accounts.get("default").await.is_ok()
    })
    .await;
    let first = (
        namespaces.get("default").await.unwrap(),
        accounts.get("default").await.unwrap(),
    );
    drop((namespaces, accounts));
    close(folder.path(), server, client).await;
    let (_server, client) = open(folder.path()).unwrap();
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let accounts: Api<ServiceAccount> = Api::default_namespaced(client);
    let again = (
        namespaces.get("default").await.unwrap(),
        accounts.get("default").await.unwrap(),
    );
    assert_eq!(again, first);
}

#[tokio::test(flavor = "multi_thread")]
async fn service_account_tokens_survive_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let (server, client) = open(folder.path()).unwrap();
    let accounts: Api<ServiceAccount> = Api::default_namespaced(client.clone());
    until("the account", async || {
        accounts.get("default").await.is_ok()
    })
    .await;
    let request = serde_json::from_value(json!({ "spec": { "audiences": [] } })).unwrap();
    let made = accounts
        .create_token_request("default", &PostParams::default(), &request)
        .await
        .unwrap();
    let token = made.status.unwrap().token;
    drop(accounts);
    close(folder.path(), server, client).await;
    let (_server, client) = open(folder.path()).unwrap();
    let review = http::Request::post("/apis/authentication.k8s.io/v1/tokenreviews");
    let body = json!({ "spec": { "token": token } })
        .to_string()
        .into_bytes();
    let answer: Value = client.request(review.body(body).unwrap()).await.unwrap();
    let user = &answer["status"]["user"]["username"];
    assert_eq!(user, "system:serviceaccount:default:default", "{answer}");
}

#[tokio::test(flavor = "multi_thread")]
async fn watch_from_before_a_restart_expires() {
    use futures::TryStreamExt as _;
    let folder = tempfile::tempdir().unwrap();
    let (server, client) = open(folder.path()).unwrap();
    let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let one = config_map(json!({ "metadata": { "name": "one" } })).unwrap();
    let one = maps.create(&PostParams::default(), &one).await.unwrap();
    maps.delete("one", &DeleteParams::default()).await.unwrap();
    drop(maps);
    close(folder.path(), server, client).await;
    let (_server, client) = open(folder.path()).unwrap();
    let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let version = one.resource_version().unwrap();
    let stream = maps.watch(&WatchParams::default(), &version).await.unwrap();
    let events: Vec<_> = stream.try_collect().await.unwrap();
    match events.as_slice() {
        [WatchEvent::Error(status)] => assert_eq!(status.code, 410, "{status:?}"),
        other => panic!("{other:?}"),
    }
    // One that lists again sees what there is.
    let mut seen = Box::pin(watcher(maps.clone(), watcher::Config::default()));
    let two = config_map(json!({ "metadata": { "name": "two" } })).unwrap();
    maps.create(&PostParams::default(), &two).await.unwrap();
    let found = async {
        while let Some(event) = seen.try_next().await.unwrap() {
            if let watcher::Event::Apply(map) | watcher::Event::InitApply(map) = event
                && map.name_any() == "two"
            {
                return true;
            }
        }
        false
    };
    assert!(
        tokio::time::timeout(Duration::from_secs(20), found)
            .await
            .unwrap()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn deletions_continue_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let (server, client) = open(folder.path()).unwrap();
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let tea = serde_json::from_value(json!({ "metadata": { "name": "tea" } })).unwrap();
    namespaces
        .create(&PostParams::default(), &tea)
        .await
        .unwrap();
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), "tea");
    let held =
        config_map(json!({ "metadata": { "name": "held", "finalizers": ["example.com/hold"] } }))
            .unwrap();
    maps.create(&PostParams::default(), &held).await.unwrap();
    namespaces
        .delete("tea", &DeleteParams::default())
        .await
        .unwrap();
    until("the deletion of what is in it", async || {
        maps.get("held")
            .await
            .unwrap()
            .metadata
            .deletion_timestamp
            .is_some()
    })
    .await;
    drop((namespaces, maps));
    close(folder.path(), server, client).await;

    let (_server, client) = open(folder.path()).unwrap();
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let maps: Api<ConfigMap> = Api::namespaced(client, "tea");
    let mut held = maps.get("held").await.unwrap();
    assert!(namespaces.get("tea").await.is_ok());
    held.metadata.finalizers = None;
    maps.replace("held", &PostParams::default(), &held)
        .await
        .unwrap();
    until("the end of the namespace", async || {
        namespaces.get_opt("tea").await.unwrap().is_none()
    })
    .await;
}
