//! Requests for objects of one kind to one server.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use serde::Deserialize;

use crate::kinds::{Kind, PREFIX};
use crate::server::Server;
use crate::table::{Figure, number};

/// Objects in a page of a list.
const PAGE: usize = 500;
const MEBIBYTE: f64 = 1024.0 * 1024.0;

/// How much of everything there is.
#[derive(Clone, Copy)]
pub(crate) struct Size {
    pub(crate) objects: usize,
    pub(crate) writers: usize,
    pub(crate) gets: usize,
    pub(crate) updates: usize,
    pub(crate) lists: usize,
    pub(crate) watches: usize,
    pub(crate) changes: usize,
}

/// What is measured, in this order.
#[derive(Clone, Copy)]
pub(crate) enum Step {
    Create,
    Get,
    List,
    Pages,
    Update,
}

pub(crate) const STEPS: [Step; 5] = [
    Step::Create,
    Step::Get,
    Step::List,
    Step::Pages,
    Step::Update,
];

/// The objects of a kind on a server.
pub(crate) struct Load<'a> {
    server: &'a Server,
    kind: &'a Kind,
    /// The version of each.
    versions: Vec<String>,
}

/// What an answer is read for.
#[derive(Deserialize)]
pub(crate) struct Answer {
    pub(crate) metadata: Metadata,
    #[serde(default)]
    items: Vec<Item>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Metadata {
    pub(crate) resource_version: String,
    #[serde(default)]
    r#continue: String,
}

#[derive(Deserialize)]
struct Item {
    metadata: Named,
}

#[derive(Deserialize)]
struct Named {
    name: String,
}

impl Answer {
    /// How many objects of this program a list has: servers make some of their own.
    fn count(&self) -> usize {
        let names = self.items.iter().map(|item| &item.metadata.name);
        names.filter(|name| name.starts_with(PREFIX)).count()
    }
}

impl<'a> Load<'a> {
    pub(crate) fn new(server: &'a Server, kind: &'a Kind) -> Self {
        Self {
            server,
            kind,
            versions: Vec::new(),
        }
    }

    pub(crate) async fn run(&mut self, step: Step, size: Size) -> Result<Vec<Figure>> {
        match step {
            Step::Create => self.create(size).await,
            Step::Get => self.get(size).await,
            Step::List => self.list(size).await,
            Step::Pages => self.pages(size).await,
            Step::Update => self.update(size).await,
        }
    }

    async fn create(&mut self, size: Size) -> Result<Vec<Figure>> {
        let before = self.server.mebibytes()?;
        let timed = Timed::start(self.server)?;
        let versions = stream::iter(0..size.objects)
            .map(|at| self.post(at))
            // In order, for the versions.
            .buffered(size.writers)
            .try_collect()
            .await?;
        self.versions = versions;
        let what = format!("{} creates, {} at once", self.kind.name, size.writers);
        let mut figures = timed.end(&what, size.objects)?;
        let after = self.server.mebibytes()?;
        let name = self.kind.name;
        let bytes = (after - before) * MEBIBYTE / number(size.objects.max(1));
        figures.push(Figure::new("  memory before, MiB", before));
        figures.push(Figure::new("  memory after, MiB", after));
        figures.push(Figure::new(format!("  bytes a {name}"), bytes));
        Ok(figures)
    }

    async fn get(&self, size: Size) -> Result<Vec<Figure>> {
        let timed = Timed::start(self.server)?;
        let get = |at| async move {
            let path = self.kind.object_path(at % size.objects.max(1));
            self.server.send("GET", &path, Vec::new()).await
        };
        let answers = stream::iter(0..size.gets).map(get);
        let answers = answers.buffer_unordered(size.writers);
        answers.try_for_each(|_| async { Ok(()) }).await?;
        let what = format!("{} gets, {} at once", self.kind.name, size.writers);
        timed.end(&what, size.gets)
    }

    async fn list(&self, size: Size) -> Result<Vec<Figure>> {
        // Outside of the time, as it takes this program some of its own.
        let listed = self.server.send("GET", self.kind.path, Vec::new()).await?;
        let listed: Answer = serde_json::from_str(&listed)?;
        let count = listed.count();
        ensure!(count == size.objects, "a list of {count} objects");
        let timed = Timed::start(self.server)?;
        for _ in 0..size.lists {
            self.server.send("GET", self.kind.path, Vec::new()).await?;
        }
        let what = format!("{} lists of {}", self.kind.name, size.objects);
        timed.end(&what, size.lists)
    }

    async fn pages(&self, size: Size) -> Result<Vec<Figure>> {
        let timed = Timed::start(self.server)?;
        for _ in 0..size.lists {
            let (mut token, mut count) = (String::new(), 0);
            loop {
                let path = format!("{}?limit={PAGE}&continue={token}", self.kind.path);
                let page = self.server.send("GET", &path, Vec::new()).await?;
                let page: Answer = serde_json::from_str(&page)?;
                count += page.count();
                token = page.metadata.r#continue;
                if token.is_empty() {
                    break;
                }
            }
            ensure!(count == size.objects, "a list of {count} objects");
        }
        let name = self.kind.name;
        let what = format!("{name} lists of {} by pages of {PAGE}", size.objects);
        timed.end(&what, size.lists)
    }

    async fn update(&self, size: Size) -> Result<Vec<Figure>> {
        let timed = Timed::start(self.server)?;
        let updates = self.versions.iter().enumerate().take(size.updates);
        stream::iter(updates)
            .map(|(at, version)| self.put(at, version))
            .buffer_unordered(size.writers)
            .try_for_each(|()| async { Ok(()) })
            .await?;
        let what = format!("{} updates, {} at once", self.kind.name, size.writers);
        timed.end(&what, size.updates)
    }

    async fn post(&self, at: usize) -> Result<String> {
        let body = self.kind.body(at, None);
        version(&self.server.send("POST", self.kind.path, body).await?)
    }

    async fn put(&self, at: usize, version: &str) -> Result<()> {
        let body = self.kind.body(at, Some(version));
        let path = self.kind.object_path(at);
        self.server.send("PUT", &path, body).await?;
        Ok(())
    }
}

/// The version of an object or a list.
pub(crate) fn version(answer: &str) -> Result<String> {
    let answer: Answer = serde_json::from_str(answer)?;
    Ok(answer.metadata.resource_version)
}

/// Something that takes time, here and on the server.
pub(crate) struct Timed<'a> {
    server: &'a Server,
    started: Instant,
    cpu: Duration,
}

impl<'a> Timed<'a> {
    pub(crate) fn start(server: &'a Server) -> Result<Self> {
        Ok(Self {
            server,
            started: Instant::now(),
            cpu: server.cpu()?,
        })
    }

    /// How many a second there were, and what the server used for each.
    pub(crate) fn end(self, what: &str, count: usize) -> Result<Vec<Figure>> {
        let took = self.started.elapsed().as_secs_f64();
        let cpu = self.server.cpu()?.saturating_sub(self.cpu).as_secs_f64();
        let count = number(count.max(1));
        Ok(vec![
            Figure::new(format!("{what}: a second"), count / took),
            Figure::new("  CPU of the server for each, ms", 1000.0 * cpu / count),
        ])
    }
}
