//! Many watches of the same objects: how many events they get a second, and how late.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use futures::{AsyncBufReadExt as _, StreamExt as _, TryStreamExt as _, stream};
use serde::Deserialize;
use serde_json::json;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::load::{Answer, Size, Timed, version};
use crate::server::Server;
use crate::table::{Figure, number};

/// How long an event may take.
const TIMEOUT: Duration = Duration::from_mins(2);

/// How updates follow one another.
#[derive(Clone, Copy)]
pub(crate) enum UpdateOrder {
    /// Each as soon as one of the writers is free.
    AtOnce,
    /// Each after all watches have got the one before.
    OneByOne,
}

pub(crate) const UPDATE_ORDERS: [UpdateOrder; 2] = [UpdateOrder::AtOnce, UpdateOrder::OneByOne];

/// A version of an object, and when a watch got it.
struct Seen {
    version: String,
    at: Instant,
}

/// What an event is read for.
#[derive(Deserialize)]
struct Event {
    object: Answer,
}

/// The watches of a namespace's `ConfigMap`s. They end when this is dropped.
struct Watches {
    seen: mpsc::UnboundedReceiver<Seen>,
    _tasks: JoinSet<Result<()>>,
}

/// When updates were answered.
struct Written {
    version: String,
    answered: Instant,
}

pub(crate) async fn measure(
    server: &Server,
    order: UpdateOrder,
    size: Size,
) -> Result<Vec<Figure>> {
    let (namespace, objects) = match order {
        UpdateOrder::AtOnce => ("fan-at-once", size.writers),
        UpdateOrder::OneByOne => ("fan-one-by-one", 1),
    };
    let namespace_object = json!({ "metadata": { "name": namespace } }).to_string();
    let body = namespace_object.into_bytes();
    server.send("POST", "/api/v1/namespaces", body).await?;
    let path = format!("/api/v1/namespaces/{namespace}/configmaps");
    for number in 0..objects {
        let body =
            json!({ "metadata": { "name": name(number) }, "data": { "filler": "a".repeat(1024) } });
        let body = body.to_string().into_bytes();
        server.send("POST", &path, body).await?;
    }
    let mut watches = Watches::open(server, &path, size.watches).await?;
    let timed = Timed::start(server)?;
    let (what, delays) = match order {
        UpdateOrder::AtOnce => {
            let written = write(server, &path, size).await?;
            let last = watches.last(written.len() * size.watches).await?;
            let what = format!("{} at once", size.writers);
            (what, delays(&written, &last)?)
        }
        UpdateOrder::OneByOne => {
            let mut delays = Vec::new();
            for change in 0..size.changes {
                let written = update(server, &path, 0, change).await?;
                let last = watches.last(size.watches).await?;
                delays.push(delay(&written, &last)?);
            }
            ("one by one".to_owned(), delays)
        }
    };
    let events = size.changes * size.watches;
    let title = format!(
        "{} updates {what} to {} watches: events",
        size.changes, size.watches
    );
    let mut figures = timed.end(&title, events)?;
    let delays = sorted(delays);
    let late = "  from the answer to the last watch";
    figures.push(Figure::new(format!("{late}, p50, ms"), at(&delays, 50)));
    figures.push(Figure::new(format!("{late}, p99, ms"), at(&delays, 99)));
    Ok(figures)
}

fn name(number: usize) -> String {
    format!("object-{number}")
}

async fn write(server: &Server, path: &str, size: Size) -> Result<Vec<Written>> {
    stream::iter(0..size.changes)
        .map(|change| update(server, path, change % size.writers, change))
        .buffer_unordered(size.writers)
        .try_collect()
        .await
}

async fn update(server: &Server, path: &str, object: usize, change: usize) -> Result<Written> {
    let body = json!({ "data": { "change": change.to_string() } }).to_string();
    let path = format!("{path}/{}", name(object));
    let answer = server.send("PATCH", &path, body.into_bytes()).await?;
    let answered = Instant::now();
    Ok(Written {
        version: version(&answer)?,
        answered,
    })
}

impl Watches {
    /// All of them are open when this returns.
    async fn open(server: &Server, path: &str, count: usize) -> Result<Self> {
        let now = version(&server.send("GET", path, Vec::new()).await?)?;
        let (sender, seen) = mpsc::unbounded_channel();
        let mut tasks = JoinSet::new();
        for _ in 0..count {
            let path = format!("{path}?watch=true&resourceVersion={now}");
            let request = http::Request::get(path).body(Vec::new())?;
            let mut lines = server.client().request_stream(request).await?.lines();
            let sender = sender.clone();
            tasks.spawn(async move {
                while let Some(line) = lines.try_next().await? {
                    let at = Instant::now();
                    let event: Event = serde_json::from_str(&line)?;
                    let version = event.object.metadata.resource_version;
                    if sender.send(Seen { version, at }).is_err() {
                        break;
                    }
                }
                Ok(())
            });
        }
        Ok(Self {
            seen,
            _tasks: tasks,
        })
    }

    /// Waits for so many events. Returns when the last watch got each version.
    async fn last(&mut self, events: usize) -> Result<HashMap<String, Instant>> {
        let mut last = HashMap::new();
        for _ in 0..events {
            let seen = tokio::time::timeout(TIMEOUT, self.seen.recv()).await;
            let Seen { version, at } = seen.context("an event is missing")?.context("no watch")?;
            let known = last.entry(version).or_insert(at);
            *known = at.max(*known);
        }
        Ok(last)
    }
}

fn delays(written: &[Written], last: &HashMap<String, Instant>) -> Result<Vec<f64>> {
    let delay = |written| delay(written, last);
    written.iter().map(delay).collect()
}

/// In milliseconds; negative if all watches got the version before the writer got its response.
fn delay(written: &Written, last: &HashMap<String, Instant>) -> Result<f64> {
    let last = last.get(&written.version);
    let last = *last.context("no watch got an update")?;
    let late = last.saturating_duration_since(written.answered);
    let early = written.answered.saturating_duration_since(last);
    Ok((late.as_secs_f64() - early.as_secs_f64()) * 1000.0)
}

fn sorted(mut delays: Vec<f64>) -> Vec<f64> {
    delays.sort_by(f64::total_cmp);
    delays
}

fn at(sorted: &[f64], part: usize) -> f64 {
    let at = sorted.len().saturating_sub(1) * part / 100;
    sorted.get(at).copied().unwrap_or(number(0))
}
