//! Each fault as clients meet it, and how those who watch get over it.

use std::time::{Duration, Instant};

use futures::{Stream, StreamExt as _, TryStreamExt as _};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, ListParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams};
use kube::runtime::{WatchStreamExt as _, watcher};
use kube::{Client, ResourceExt as _};
use reeve_apiserver::status_error::{GroupResource, StatusError};
use reeve_apiserver::{Fault, FaultMatch, Identity, Options, Server};
use serde_json::json;

/// How long may be waited for what has to happen.
const DEADLINE: Duration = Duration::from_mins(5);

fn start() -> (Server, Api<ConfigMap>) {
    let server = Server::start(Options::default()).unwrap();
    let client = Client::new(server.service(Identity::admin()), "default");
    (server, Api::default_namespaced(client))
}

fn map(name: &str) -> ConfigMap {
    let mut map = ConfigMap::default();
    map.metadata.name = Some(name.to_owned());
    map
}

async fn create(maps: &Api<ConfigMap>, name: &str) -> kube::Result<ConfigMap> {
    maps.create(&PostParams::default(), &map(name)).await
}

/// Requests of a verb about `ConfigMaps`.
fn of(verb: &'static str) -> FaultMatch {
    FaultMatch {
        verb,
        resource: "configmaps",
        ..FaultMatch::default()
    }
}

fn conflict() -> StatusError {
    StatusError::conflict(
        &GroupResource::new("", "configmaps"),
        "a",
        "somebody was faster",
    )
}

/// The names of what a watcher sees, for as long as it goes on after errors. Watchers try again after a while that
/// grows; here it does not.
fn names(maps: Api<ConfigMap>) -> impl Stream<Item = String> {
    let events = watcher(maps, watcher::Config::default())
        .backoff(watcher_backoff())
        .filter_map(async |event| event.ok());
    events.filter_map(async |event| match event {
        watcher::Event::Apply(map) | watcher::Event::InitApply(map) => Some(map.name_any()),
        _ => None,
    })
}

#[derive(Debug)]
struct Soon;

impl Iterator for Soon {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        Some(Duration::from_millis(5))
    }
}

impl kube::runtime::utils::Backoff for Soon {
    fn reset(&mut self) {}
}

fn watcher_backoff() -> Soon {
    Soon
}

/// Whether a name is seen in time.
async fn sees(names: &mut (impl Stream<Item = String> + Unpin), wanted: &str) -> bool {
    let found = async {
        while let Some(name) = names.next().await {
            if name == wanted {
                return true;
            }
        }
        false
    };
    tokio::time::timeout(DEADLINE, found).await.unwrap_or(false)
}

#[tokio::test(flavor = "multi_thread")]
async fn delay_affects_only_matching_requests() {
    let (server, maps) = start();
    let time = Duration::from_millis(300);
    let number = server.faults().add(of("create"), Fault::Delay(time));
    let began = Instant::now();
    create(&maps, "a").await.unwrap();
    assert!(began.elapsed() >= time, "{:?}", began.elapsed());
    server.faults().remove(number);
    server
        .faults()
        .add(of("create"), Fault::Delay(DEADLINE * 10));
    let others = async {
        maps.get("a").await.unwrap();
        maps.list(&ListParams::default()).await.unwrap();
    };
    tokio::time::timeout(DEADLINE, others).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn refusal_is_answered_the_given_number_of_times() {
    let (server, maps) = start();
    let meets = FaultMatch {
        times: Some(2),
        ..of("get")
    };
    let failure = StatusError::internal("the disk is full");
    server.faults().add(meets, Fault::Refuse(failure));
    create(&maps, "a").await.unwrap();
    for _ in 0..2 {
        match maps.get("a").await {
            Err(kube::Error::Api(status)) => {
                assert_eq!(status.code, 500);
                assert!(status.message.contains("the disk is full"), "{status}");
            }
            other => panic!("{other:?}"),
        }
    }
    maps.get("a").await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn watcher_recovers_from_refused_lists_and_watches() {
    let (server, maps) = start();
    create(&maps, "before").await.unwrap();
    for verb in ["list", "watch"] {
        let meets = FaultMatch {
            times: Some(3),
            ..of(verb)
        };
        let failure = StatusError::internal("not now");
        server.faults().add(meets, Fault::Refuse(failure));
    }
    let mut names = Box::pin(names(maps.clone()));
    assert!(sees(&mut names, "before").await);
    create(&maps, "after").await.unwrap();
    assert!(sees(&mut names, "after").await);
}

#[tokio::test(flavor = "multi_thread")]
async fn watcher_recovers_from_dropped_watches() {
    let (server, maps) = start();
    create(&maps, "before").await.unwrap();
    let mut names = Box::pin(names(maps.clone()));
    assert!(sees(&mut names, "before").await);
    let number = server.faults().add(of("watch"), Fault::DropWatches);
    create(&maps, "meanwhile").await.unwrap();
    server.faults().remove(number);
    assert!(sees(&mut names, "meanwhile").await);
    create(&maps, "after").await.unwrap();
    assert!(sees(&mut names, "after").await);
}

#[tokio::test(flavor = "multi_thread")]
async fn dropped_watches_end_at_once_without_an_error() {
    let (server, maps) = start();
    // What the cluster itself makes is another matter.
    let params = WatchParams::default().fields("metadata.name=a");
    let version = maps.list(&ListParams::default()).await.unwrap().metadata;
    let version = version.resource_version.unwrap();
    let stream = maps.watch(&params, &version).await.unwrap();
    let ended = tokio::spawn(stream.try_collect::<Vec<WatchEvent<ConfigMap>>>());
    // Others do not end.
    let other = FaultMatch {
        resource: "secrets",
        ..of("watch")
    };
    server.faults().add(other, Fault::DropWatches);
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(!ended.is_finished());
    server.faults().add(of("watch"), Fault::DropWatches);
    let ended = tokio::time::timeout(DEADLINE, ended).await.unwrap();
    assert!(ended.unwrap().unwrap().is_empty());
    // New ones neither begin.
    let stream = maps.watch(&params, &version).await.unwrap();
    let ended = tokio::time::timeout(DEADLINE, stream.try_collect::<Vec<_>>()).await;
    assert!(ended.unwrap().unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn watcher_recovers_from_an_expired_resource_version() {
    let (server, maps) = start();
    create(&maps, "before").await.unwrap();
    let mut names = Box::pin(names(maps.clone()));
    assert!(sees(&mut names, "before").await);
    let expired = FaultMatch {
        times: Some(2),
        ..of("watch")
    };
    server.faults().add(expired, Fault::ExpireWatches);
    // The watch that there is has to end before another one gets the error.
    let number = server.faults().add(of("watch"), Fault::DropWatches);
    create(&maps, "meanwhile").await.unwrap();
    server.faults().remove(number);
    assert!(sees(&mut names, "meanwhile").await);
    // It has listed again: existing objects are delivered again.
    create(&maps, "after").await.unwrap();
    assert!(sees(&mut names, "after").await);
}

#[tokio::test(flavor = "multi_thread")]
async fn expired_watch_is_answered_with_410() {
    let (server, maps) = start();
    server.faults().add(of("watch"), Fault::ExpireWatches);
    match maps.watch(&WatchParams::default(), "1").await.map(|_| ()) {
        Err(kube::Error::Api(status)) => {
            assert_eq!((status.code, &*status.reason), (410, "Expired"));
        }
        other => panic!("{other:?}"),
    }
    maps.list(&ListParams::default()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn watcher_lists_again_after_compaction() {
    let (server, maps) = start();
    let first = create(&maps, "a")
        .await
        .unwrap()
        .resource_version()
        .unwrap();
    create(&maps, "b").await.unwrap();
    server.compact("", "configmaps");
    let stream = maps.watch(&WatchParams::default(), &first).await.unwrap();
    let events: Vec<_> = stream.try_collect().await.unwrap();
    assert!(
        matches!(events.as_slice(), [WatchEvent::Error(status)] if status.code == 410),
        "{events:?}"
    );
    let mut names = Box::pin(names(maps));
    assert!(sees(&mut names, "b").await);
}

#[tokio::test(flavor = "multi_thread")]
async fn retries_succeed_after_injected_conflicts() {
    let (server, maps) = start();
    create(&maps, "a").await.unwrap();
    let storm = FaultMatch {
        times: Some(20),
        ..of("update")
    };
    server.faults().add(storm, Fault::Refuse(conflict()));
    let mut tries = 0;
    loop {
        tries += 1;
        let mut current = maps.get("a").await.unwrap();
        let labels = current.labels_mut();
        labels.insert("tries".to_owned(), tries.to_string());
        match maps.replace("a", &PostParams::default(), &current).await {
            Ok(_) => break,
            Err(kube::Error::Api(status)) => {
                assert_eq!(
                    (status.code, &*status.reason),
                    (409, "Conflict"),
                    "{status}"
                );
            }
            Err(other) => panic!("{other}"),
        }
    }
    assert_eq!(tries, 21);
    assert_eq!(maps.get("a").await.unwrap().labels()["tries"], "21");
}

#[tokio::test(flavor = "multi_thread")]
async fn watcher_sees_the_result_of_retried_writes_once() {
    let (server, maps) = start();
    create(&maps, "a").await.unwrap();
    // What the cluster itself makes is another matter.
    let of_a = names(maps.clone()).filter(|name| std::future::ready(name == "a"));
    let mut names = Box::pin(of_a);
    assert!(sees(&mut names, "a").await);
    let storm = FaultMatch {
        times: Some(5),
        ..of("patch")
    };
    server.faults().add(storm, Fault::Refuse(conflict()));
    let change = Patch::Merge(json!({ "data": { "a": "b" } }));
    let params = PatchParams::default();
    let mut refused = 0;
    while maps.patch("a", &params, &change).await.is_err() {
        refused += 1;
    }
    assert_eq!(refused, 5);
    assert!(sees(&mut names, "a").await);
    let more = tokio::time::timeout(Duration::from_millis(100), names.next()).await;
    assert!(more.is_err(), "{more:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn removed_fault_affects_no_request() {
    let (server, maps) = start();
    let number = server
        .faults()
        .add(FaultMatch::default(), Fault::Refuse(conflict()));
    assert!(create(&maps, "a").await.is_err());
    server.faults().remove(number);
    create(&maps, "a").await.unwrap();
}
