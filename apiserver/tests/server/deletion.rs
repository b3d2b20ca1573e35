//! How things end: definitions, owners, watches, connections that say nothing.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use futures::TryStreamExt as _;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{
    Api, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams, WatchEvent,
    WatchParams,
};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Client, ResourceExt as _};
use reeve_apiserver::{Authority, Identity, Options, Server};
use serde_json::{Value, json};
use tokio::io::AsyncReadExt as _;

fn start() -> (Server, Client) {
    let server = Server::start(Options::default()).unwrap();
    let client = Client::new(server.service(Identity::admin()), "default");
    (server, client)
}

async fn until(what: &str, mut so: impl AsyncFnMut() -> bool) {
    let start = Instant::now();
    while !so().await {
        let waited = start.elapsed();
        assert!(waited < Duration::from_secs(20), "waiting for {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

fn merge(change: Value) -> Patch<Value> {
    Patch::Merge(change)
}

fn definition() -> serde_json::Result<CustomResourceDefinition> {
    serde_json::from_value(json!({
        "metadata": { "name": "teas.example.com" },
        "spec": {
            "group": "example.com", "scope": "Namespaced", "names": { "plural": "teas", "kind": "Tea" },
            "versions": [{ "name": "v1", "served": true, "storage": true,
                "schema": { "openAPIV3Schema": { "type": "object" } } }],
        },
    }))
}

/// Defines teas, and makes one.
async fn with_a_tea(
    client: &Client,
) -> kube::Result<(Api<CustomResourceDefinition>, Api<DynamicObject>)> {
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    let post = PostParams::default();
    let definition = definition().map_err(kube::Error::SerdeError)?;
    definitions.create(&post, &definition).await?;
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("example.com", "v1", "Tea"));
    let teas: Api<DynamicObject> = Api::namespaced_with(client.clone(), "default", &resource);
    teas.create(&post, &DynamicObject::new("green", &resource))
        .await?;
    Ok((definitions, teas))
}

#[tokio::test(flavor = "multi_thread")]
async fn crd_without_served_version_is_deleted() {
    let (server, client) = start();
    let (definitions, _) = with_a_tea(&client).await.unwrap();
    let unserved = merge(
        json!({ "spec": { "versions": [{ "name": "v1", "served": false, "storage": true,
        "schema": { "openAPIV3Schema": { "type": "object" } } }] } }),
    );
    let name = "teas.example.com";
    definitions
        .patch(name, &PatchParams::default(), &unserved)
        .await
        .unwrap();
    assert_eq!(server.count("example.com", "teas"), 1);
    definitions
        .delete(name, &DeleteParams::default())
        .await
        .unwrap();
    until("the end of the definition", async || {
        definitions.get_opt(name).await.unwrap().is_none()
    })
    .await;
    assert_eq!(server.count("example.com", "teas"), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn watch_of_a_removed_resource_sends_last_changes_and_ends() {
    let (_server, client) = start();
    let (definitions, teas) = with_a_tea(&client).await.unwrap();
    let list = teas.list(&ListParams::default()).await.unwrap();
    let version = list.metadata.resource_version.unwrap();
    let stream = teas.watch(&WatchParams::default(), &version).await.unwrap();
    let events = tokio::spawn(stream.try_collect::<Vec<_>>());
    definitions
        .delete("teas.example.com", &DeleteParams::default())
        .await
        .unwrap();
    let events = tokio::time::timeout(Duration::from_secs(20), events).await;
    match events.unwrap().unwrap().unwrap().as_slice() {
        [WatchEvent::Deleted(tea)] => assert_eq!(tea.name_any(), "green"),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn owner_is_deleted_when_last_dependent_releases_it() {
    let (_server, client) = start();
    let maps: Api<ConfigMap> = Api::default_namespaced(client);
    let post = PostParams::default();
    let owner = serde_json::from_value(json!({ "metadata": { "name": "owner" } })).unwrap();
    let owner = maps.create(&post, &owner).await.unwrap();
    let dependent = serde_json::from_value(json!({ "metadata": {
        "name": "dependent", "finalizers": ["example.com/hold"],
        "ownerReferences": [{ "apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner.uid(),
            "blockOwnerDeletion": true }],
    } }));
    maps.create(&post, &dependent.unwrap()).await.unwrap();
    maps.delete("owner", &DeleteParams::foreground())
        .await
        .unwrap();
    until("the deletion of the dependent", async || {
        let dependent = maps.get("dependent").await.unwrap();
        dependent.metadata.deletion_timestamp.is_some()
    })
    .await;
    assert!(maps.get_opt("owner").await.unwrap().is_some());
    let change = merge(json!({ "metadata": { "ownerReferences": null } }));
    maps.patch("dependent", &PatchParams::default(), &change)
        .await
        .unwrap();
    until("the end of the owner", async || {
        maps.get_opt("owner").await.unwrap().is_none()
    })
    .await;
    assert!(maps.get_opt("dependent").await.unwrap().is_some());
}

/// The time stands still but for what is waited for: the namespace ends no sooner than its grace.
#[tokio::test(start_paused = true)]
async fn deleted_namespace_is_terminating_while_a_client_deletes_its_content() {
    let (_server, client) = start();
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let post = PostParams::default();
    let tea = serde_json::from_value(json!({ "metadata": { "name": "tea" } })).unwrap();
    namespaces.create(&post, &tea).await.unwrap();
    let maps: Api<ConfigMap> = Api::namespaced(client, "tea");
    for name in ["one", "two"] {
        let map = serde_json::from_value(json!({ "metadata": { "name": name } })).unwrap();
        maps.create(&post, &map).await.unwrap();
    }
    let now = DeleteParams::default();
    namespaces.delete("tea", &now).await.unwrap();
    tokio::time::sleep(Duration::from_millis(500)).await;
    maps.delete("one", &now).await.unwrap();
    tokio::time::sleep(Duration::from_millis(400)).await;
    maps.get("two").await.unwrap();
    let late = serde_json::from_value(json!({ "metadata": { "name": "late" } })).unwrap();
    match maps.create(&post, &late).await {
        Err(kube::Error::Api(status)) => assert_eq!(status.code, 403),
        other => panic!("{other:?}"),
    }
    let phase = namespaces.get("tea").await.unwrap().status.unwrap().phase;
    assert_eq!(phase.as_deref(), Some("Terminating"));
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert!(maps.get_opt("two").await.unwrap().is_none());
    assert!(namespaces.get_opt("tea").await.unwrap().is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_with_a_field_selector_are_full() {
    let (_server, client) = start();
    let secrets: Api<Secret> = Api::default_namespaced(client);
    for number in 0..10 {
        let of = if number % 2 == 0 {
            "example.com/even"
        } else {
            "example.com/odd"
        };
        let secret = json!({ "metadata": { "name": format!("s{number}") }, "type": of });
        let secret = serde_json::from_value(secret).unwrap();
        secrets
            .create(&PostParams::default(), &secret)
            .await
            .unwrap();
    }
    let mut params = ListParams::default()
        .fields("type=example.com/odd")
        .limit(2);
    let mut pages = Vec::new();
    loop {
        let page = secrets.list(&params).await.unwrap();
        pages.push(
            page.items
                .iter()
                .map(kube::ResourceExt::name_any)
                .collect::<Vec<_>>(),
        );
        match page.metadata.continue_ {
            Some(token) if !token.is_empty() => params = params.continue_token(&token),
            _ => break,
        }
    }
    assert_eq!(pages, [vec!["s1", "s3"], vec!["s5", "s7"], vec!["s9"]]);
}

#[tokio::test(flavor = "multi_thread")]
async fn idle_connection_is_closed_before_handshake() {
    let authority = Authority::new().unwrap();
    let server = Server::start(Options::default()).unwrap();
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let listener = server.listen(&authority, address).await.unwrap();
    let mut silent = tokio::net::TcpStream::connect(listener.address())
        .await
        .unwrap();
    let mut bytes = Vec::new();
    let closed = tokio::time::timeout(Duration::from_secs(15), silent.read_to_end(&mut bytes));
    // However it is closed.
    let _ = closed.await.expect("it is still open");
}
