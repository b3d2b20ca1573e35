//! The API server's own record of the requests it served.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::PathBuf;

use anyhow::{Context, Result};
use jiff::Timestamp;
use serde::Deserialize;

/// Metadata of every request; the event at arrival has nothing that the later ones do not.
pub(crate) const POLICY: &str = "apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules: [{level: Metadata}]
";

/// How much of the end of a log is read first to find the end of its last line: some lines.
const TAIL_BYTES: u64 = 64 << 10;

/// The audit log of a plane.
#[derive(Debug, Clone)]
pub struct AuditLog {
    path: PathBuf,
}

/// A place in an [`AuditLog`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mark(u64);

/// One request, as far as it had come when the event was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditEvent {
    /// `ResponseStarted` (watches only), `ResponseComplete` or `Panic`.
    pub stage: String,
    /// The Kubernetes verb: `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`...
    pub verb: String,
    /// Plural name, with the subresource after a slash (`policies/status`); empty for requests
    /// that are not about objects, such as discovery.
    pub resource: String,
    /// Empty for cluster-scoped objects and for lists over all namespaces.
    pub namespace: String,
    /// Empty for lists, watches and generated names.
    pub name: String,
    /// Whether it was to be tried only: nothing was written then, whatever the answer.
    pub dry_run: bool,
    /// The client's `User-Agent`.
    pub user_agent: String,
    /// Who asked, as the API server names users.
    pub user: String,
    /// Which of the user's tokens or certificates it was, if the API server records it.
    pub credential: Option<String>,
    /// HTTP status code; 0 when there was none.
    pub code: u16,
    /// When the API server got the request.
    pub request_received: Timestamp,
    /// When it reached `stage`.
    pub stage_timestamp: Timestamp,
}

/// Which requests to count; an absent part matches all.
#[derive(Debug, Clone, Copy, Default)]
pub struct AuditQuery<'a> {
    /// Beginning of the `User-Agent`.
    pub user_agent: Option<&'a str>,
    /// Exact verb.
    pub verb: Option<&'a str>,
    /// Exact resource, as in [`AuditEvent::resource`].
    pub resource: Option<&'a str>,
}

impl AuditLog {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path }
    }

    /// The end of the log now. An event is written as its request ends: the last answers a client
    /// has seen may be written a moment after this.
    pub fn mark(&self) -> Result<Mark> {
        let metadata = std::fs::metadata(&self.path);
        let length = metadata.with_context(|| self.reading())?.len();
        // Who waits until a program is quiet marks the log again and again, and it can have gigabytes.
        let mut tail = TAIL_BYTES;
        loop {
            let from = Mark(length.saturating_sub(tail));
            let (lines, end) = self.read(from, None)?;
            if from == Mark(0) || !lines.is_empty() {
                return Ok(end);
            }
            tail *= 2;
        }
    }

    /// The events written after `from`, up to now.
    pub fn since(&self, from: Mark) -> Result<Vec<AuditEvent>> {
        self.parse(&self.read(from, None)?.0)
    }

    /// The events written between two marks.
    pub fn between(&self, from: Mark, to: Mark) -> Result<Vec<AuditEvent>> {
        self.parse(&self.read(from, Some(to))?.0)
    }

    fn reading(&self) -> String {
        format!("reading the audit log {}", self.path.display())
    }

    /// Whole lines from `from`, and the place where they end.
    fn read(&self, from: Mark, to: Option<Mark>) -> Result<(Vec<u8>, Mark)> {
        let what = || self.reading();
        let mut file = File::open(&self.path).with_context(what)?;
        file.seek(SeekFrom::Start(from.0)).with_context(what)?;
        let length = to.map_or(u64::MAX, |to| to.0.saturating_sub(from.0));
        let mut bytes = Vec::new();
        file.take(length)
            .read_to_end(&mut bytes)
            .with_context(what)?;
        // The server may be in the middle of a line.
        bytes.truncate(
            bytes
                .iter()
                .rposition(|byte| *byte == b'\n')
                .map_or(0, |end| end + 1),
        );
        let end = from.0 + u64::try_from(bytes.len()).context("an endless audit log")?;
        Ok((bytes, Mark(end)))
    }

    fn parse(&self, lines: &[u8]) -> Result<Vec<AuditEvent>> {
        let what = || format!("an event in {}", self.path.display());
        lines
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty())
            .map(|line| {
                Ok(serde_json::from_slice::<Line>(line)
                    .with_context(what)?
                    .into())
            })
            .collect()
    }
}

/// The number of requests among `events` that match; a watch counts once, when it starts.
pub fn count(events: &[AuditEvent], query: &AuditQuery<'_>) -> usize {
    let matching = events.iter().filter(|event| {
        is_request(event)
            && query
                .user_agent
                .is_none_or(|prefix| event.user_agent.starts_with(prefix))
            && query.verb.is_none_or(|verb| event.verb == verb)
            && query
                .resource
                .is_none_or(|resource| event.resource == resource)
    });
    matching.count()
}

/// Requests by (program, verb, resource); the program is the `User-Agent` up to its first slash.
pub fn tally(events: &[AuditEvent]) -> BTreeMap<(String, String, String), usize> {
    let mut table = BTreeMap::new();
    for event in events.iter().filter(|event| is_request(event)) {
        let program = event
            .user_agent
            .split('/')
            .next()
            .unwrap_or_default()
            .to_owned();
        *table
            .entry((program, event.verb.clone(), event.resource.clone()))
            .or_default() += 1;
    }
    table
}

/// A watch has two events, and its second comes when it ends, which may be much later.
fn is_request(event: &AuditEvent) -> bool {
    (event.verb == "watch") == (event.stage == "ResponseStarted")
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Line {
    stage: String,
    verb: String,
    #[serde(rename = "requestURI")]
    request_uri: String,
    #[serde(default)]
    user_agent: String,
    #[serde(default)]
    user: User,
    #[serde(default)]
    object_ref: ObjectRef,
    #[serde(default)]
    response_status: ResponseStatus,
    request_received_timestamp: Timestamp,
    stage_timestamp: Timestamp,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ObjectRef {
    resource: String,
    subresource: String,
    namespace: String,
    name: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct User {
    username: String,
    extra: BTreeMap<String, Vec<String>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ResponseStatus {
    code: u16,
}

impl From<Line> for AuditEvent {
    fn from(line: Line) -> Self {
        let ObjectRef {
            mut resource,
            subresource,
            namespace,
            name,
        } = line.object_ref;
        if !subresource.is_empty() {
            resource = format!("{resource}/{subresource}");
        }
        let mut extra = line.user.extra;
        let credential = extra.remove("authentication.kubernetes.io/credential-id");
        let query = line.request_uri.split_once('?').map(|(_, query)| query);
        let mut parameters = query.unwrap_or_default().split('&');
        Self {
            stage: line.stage,
            verb: line.verb,
            resource,
            namespace,
            name,
            dry_run: parameters.any(|parameter| parameter == "dryRun=All"),
            user_agent: line.user_agent,
            user: line.user.username,
            credential: credential.and_then(|ids| ids.into_iter().next()),
            code: line.response_status.code,
            request_received: line.request_received_timestamp,
            stage_timestamp: line.stage_timestamp,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn line(name: &str) -> String {
        let event = serde_json::json!({
            "stage": "ResponseComplete",
            "requestURI": "/api/v1/namespaces/default/pods/any",
            "verb": "get",
            "objectRef": { "resource": "pods", "name": name },
            "requestReceivedTimestamp": "2026-01-01T00:00:00Z",
            "stageTimestamp": "2026-01-01T00:00:00Z",
        });
        event.to_string()
    }

    fn names(events: &[AuditEvent]) -> Vec<&str> {
        events.iter().map(|event| &*event.name).collect()
    }

    #[test]
    fn mark_is_at_the_end_of_the_last_whole_line_however_long_the_next_one_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.log");
        let mut file = File::create(&path).unwrap();
        let log = AuditLog::new(path);
        assert_eq!(log.mark().unwrap(), Mark(0));

        let written_in_parts = line(&"n".repeat(200_000));
        let (written, to_come) = written_in_parts.split_at(150_000);
        write!(file, "{}\n{written}", line("before")).unwrap();
        let mark = log.mark().unwrap();
        assert_eq!(names(&log.between(Mark(0), mark).unwrap()), ["before"]);
        assert!(log.since(mark).unwrap().is_empty());

        write!(file, "{to_come}\n{}\n", line("after")).unwrap();
        let events = log.since(mark).unwrap();
        assert_eq!(names(&events), [&"n".repeat(200_000), "after"]);
        assert!(log.since(log.mark().unwrap()).unwrap().is_empty());
    }
}
