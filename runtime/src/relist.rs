//! Relists a watch after an event that could not be decoded.

use std::fmt::Debug;

use futures::stream::{self, BoxStream};
use futures::{Stream, StreamExt};
use kube::api::Api;
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, Error, Event, watcher};
use kube::{Error as ClientError, Resource};
use serde::de::DeserializeOwned;

use crate::metrics;

/// Watches with the client library's backoff. After an event that is not valid JSON the library continues with the
/// next one, and the change would be lost: here the objects are listed again instead, so that every change is
/// delivered. The object of the event is unknown: the library drops the line. Objects that are JSON but not of their
/// type are reported where they are decoded ([`crate::guarded`]).
pub(crate) fn events<K>(
    api: Api<K>,
    config: watcher::Config,
    kind: &str,
) -> impl Stream<Item = Result<Event<K>, Error>> + Send + use<K>
where
    K: Resource + Clone + Debug + DeserializeOwned + Send + 'static,
{
    let kind = kind.to_owned();
    let start = move || watcher(api.clone(), config.clone()).boxed();
    let current: Option<BoxStream<'static, _>> = None;
    stream::unfold(current, move |current| {
        let mut events = current.unwrap_or_else(&start);
        let kind = kind.clone();
        async move {
            let event = events.next().await?;
            // From an undecodable line the library tries to decode a status, whose fields are all optional.
            let is_lost = matches!(
                &event,
                Err(Error::WatchFailed(
                    ClientError::SerdeError(_) | ClientError::Api(_)
                ))
            );
            if is_lost {
                metrics::undecodable(&kind);
                tracing::error!(kind, "cannot decode an event of a watch, listing again");
            }
            Some((event, (!is_lost).then_some(events)))
        }
    })
    .default_backoff()
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use http::{Request, Response};
    use k8s_openapi::api::core::v1::Secret;
    use kube::Client;
    use kube::api::Api;
    use kube::client::Body;
    use parking_lot::Mutex;
    use rstest::rstest;
    use tokio_util::sync::CancellationToken;
    use tracing_subscriber::EnvFilter;

    use crate::logging;
    use crate::watch::{Cached, Watch};

    const SECRET: &str = "hunter2";

    /// What is logged.
    #[derive(Clone, Default)]
    struct Log(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Log {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn list(version: &str) -> String {
        format!(
            r#"{{"metadata":{{"resourceVersion":"{version}"}},"items":[{{"metadata":{{"name":"a","namespace":"n","resourceVersion":"{version}"}},"stringData":{{"password":"{SECRET}"}}}}]}}"#
        )
    }

    /// An API server that answers with these lists, one after the other, and sends this line to the first watch.
    /// Later watches stay open.
    fn server(lists: Vec<String>, line: String) -> Client {
        let (listed, watched) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let answer = tower::service_fn(move |request: Request<Body>| {
            let query = request.uri().query().unwrap_or_default();
            let is_watch = query.contains("watch=true");
            let body = if !is_watch {
                let at = listed.fetch_add(1, Ordering::SeqCst).min(lists.len() - 1);
                Some(lists[at].clone())
            } else if watched.fetch_add(1, Ordering::SeqCst) == 0 {
                Some(line.clone())
            } else {
                None
            };
            async move {
                match body {
                    Some(body) => Ok::<_, io::Error>(Response::new(Body::from(body.into_bytes()))),
                    None => std::future::pending().await,
                }
            }
        });
        Client::new(answer, "default")
    }

    /// Watches until an object has version 2, and returns the log of that time at the most verbose level.
    async fn seen(lists: Vec<String>, line: String) -> String {
        let log = Log::default();
        let writer = log.clone();
        let filter = logging::filter("9", 9).unwrap();
        let subscriber = tracing_subscriber::fmt()
            .with_env_filter(EnvFilter::new(filter))
            .with_ansi(false)
            .with_writer(move || writer.clone())
            .finish();
        let logging = tracing::subscriber::set_default(subscriber);
        let watch = Watch::<Secret>::new(Api::all(server(lists, line)));
        let (store, stop) = (watch.store(), CancellationToken::new());
        let stopped = stop.clone();
        let run = watch.run(stop, move |change| {
            if let Some(Cached::Valid(secret)) = &change.new
                && secret.metadata.resource_version.as_deref() == Some("2")
            {
                stopped.cancel();
            }
        });
        let ended = tokio::time::timeout(Duration::from_mins(2), run).await;
        assert!(
            ended.is_ok(),
            "the change was lost; {} objects",
            store.keys().len()
        );
        drop(logging);
        let log = log.0.lock().clone();
        String::from_utf8(log).unwrap()
    }

    #[rstest]
    #[case::invalid_json(
        r#"{"type":"MODIFIED","object":{"metadata":{"name":"a"},"data":{"password":hunter2"}}}"#
    )]
    #[case::other_type(
        r#"{"type":"hunter2","object":{"metadata":{"name":"a"},"data":{"password":"hunter2"}}}"#
    )]
    #[case::not_an_event(r#"{"metadata":{"name":"a"},"data":{"password":"hunter2"}}"#)]
    #[tokio::test(start_paused = true)]
    async fn undecodable_event_is_relisted_and_not_quoted_in_log(#[case] event: &str) {
        let log = seen(vec![list("1"), list("2")], format!("{event}\n")).await;
        assert!(log.contains("cannot decode an event of a watch"), "{log}");
        assert!(log.contains(r#"kind="Secret""#), "{log}");
        assert!(!log.contains(SECRET), "{log}");
    }

    #[tokio::test(start_paused = true)]
    async fn undecodable_list_is_not_quoted_in_log() {
        let broken = list("1").replace("}]}", "}]");
        let log = seen(vec![broken, list("2")], String::new()).await;
        assert!(log.contains("watch failed"), "{log}");
        assert!(!log.contains(SECRET), "{log}");
    }

    #[tokio::test(start_paused = true)]
    async fn deep_event_is_delivered() {
        let deep = r#"{"a":"#.repeat(200) + "1" + &"}".repeat(200);
        let object = format!(
            r#"{{"metadata":{{"name":"a","namespace":"n","resourceVersion":"2"}},"unknown":{deep}}}"#
        );
        let event = format!(r#"{{"type":"MODIFIED","object":{object}}}"#) + "\n";
        let log = seen(vec![list("1")], event).await;
        assert!(!log.contains("cannot decode"), "{log}");
    }
}
