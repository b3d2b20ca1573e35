//! Handles requests that watch objects.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::stream::{self, Stream};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::list::{Part, Selection};
use super::{ObjectRequest, Reply};
use crate::encode;
use crate::kinds::Kind;
use crate::request::Transport;
use crate::request::accept::{Form, Shape};
use crate::state::State;
use crate::status_error::{Cause, FieldError, StatusError};
use crate::store::{Change, ChangeKind, Cursor, Follower, Key, Stored, TooOld};

/// The number of changes that are read from the log at once.
const BATCH: usize = 128;
/// The interval of bookmarks.
const BOOKMARKS: Duration = Duration::from_mins(1);
/// The default timeout of a watch: as in a kube-apiserver, between half an hour and an hour.
const LIFETIME: Duration = Duration::from_mins(45);
/// In a second.
const NANOSECONDS: i64 = 1_000_000_000;

/// The lines of a watch.
pub(crate) type Lines = std::pin::Pin<Box<dyn Stream<Item = Bytes> + Send>>;

struct Watch {
    state: Arc<State>,
    kind: Arc<Kind>,
    selection: Selection,
    form: Form,
    cursor: Cursor,
    /// The progress of this watch for `watches_are_current`; none for clients behind sockets.
    follower: Option<Arc<Follower>>,
    ready: std::collections::VecDeque<Bytes>,
    bookmarks: bool,
    /// The first table has its columns, the later ones do not repeat them.
    first: bool,
    next_bookmark: Instant,
    /// When the watch ends; absent if the clock does not go that far.
    end: Option<Instant>,
    over: bool,
    seen: u64,
}

impl ObjectRequest {
    pub(crate) fn watch(self) -> Result<(Self, Reply), StatusError> {
        let selection = self.selection()?;
        let lifetime = lifetime(self.query.number("timeoutSeconds")?);
        if lifetime.is_zero() {
            return Ok((self, Reply::Lines(only_error(&StatusError::deadline()))));
        }
        let version = self.query.text("resourceVersion").unwrap_or_default();
        let initial_events = self
            .query
            .get("sendInitialEvents")
            .map(|_| self.query.on("sendInitialEvents"));
        self.check_initial(initial_events)?;
        let number: u64 = if version.is_empty() {
            0
        } else {
            version
                .parse()
                .map_err(|_| StatusError::internal_text(&super::list::no_version(version)))?
        };
        let state = initial_events.unwrap_or(number == 0);
        if initial_events == Some(true) && number > self.state.store.revision() {
            let failure = super::list::too_large(number, self.state.store.revision());
            return Ok((self, Reply::Lines(only_error(&failure))));
        }
        let (cursor, objects, revision) =
            self.follow(&selection, (!state && number > 0).then_some(number));
        let now = Instant::now();
        let cursor = match cursor {
            Ok(cursor) => cursor,
            Err(failure) => return Ok((self, Reply::Lines(only_error(&failure)))),
        };
        let mut watch = Watch {
            follower: match self.transport {
                Transport::InProcess => Some(self.state.store.observe(&cursor)),
                Transport::Remote => None,
            },
            cursor,
            state: Arc::clone(&self.state),
            kind: Arc::clone(&self.kind),
            selection,
            form: self.form,
            ready: std::collections::VecDeque::new(),
            bookmarks: self.query.on("allowWatchBookmarks"),
            first: true,
            next_bookmark: now + BOOKMARKS,
            end: now.checked_add(lifetime),
            over: false,
            seen: revision,
        };
        if state {
            for (_, stored) in &objects {
                let line = watch.line("ADDED", stored);
                watch.ready.push_back(line);
            }
            if initial_events == Some(true) && watch.bookmarks {
                let line = watch.bookmark(revision, true);
                watch.ready.push_back(line);
            }
        }
        let lines = stream::unfold(watch, |mut watch| async move {
            let line = watch.next().await?;
            Some((line, watch))
        });
        Ok((self, Reply::Lines(Box::pin(lines))))
    }

    fn check_initial(&self, wanted: Option<bool>) -> Result<(), StatusError> {
        let matching = self.query.text("resourceVersionMatch");
        let why = match (wanted, matching) {
            (Some(_), None) => {
                "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
            }
            (None, Some(_)) => {
                "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
            }
            _ => return Ok(()),
        };
        let error = FieldError::new(Cause::Forbidden, "resourceVersionMatch", why);
        Err(StatusError::invalid_options("ListOptions", &[error]))
    }

    /// A place in the log: after a revision, or after the objects that are there now.
    #[allow(clippy::type_complexity)]
    fn follow(
        &self,
        selection: &Selection,
        after: Option<u64>,
    ) -> (Result<Cursor, StatusError>, Vec<(Key, Arc<Stored>)>, u64) {
        let (table, namespace) = (&self.kind.table, selection.namespace.as_deref());
        if let Some(after) = after {
            let cursor = self.state.store.follow(table, namespace, after);
            return (cursor.map_err(too_old), Vec::new(), after);
        }
        // The list comes first: a change in between is sent twice rather than never.
        let page = selection.of(&self.state.store, &self.kind, &Part::default());
        // Only a list of an earlier revision can fail.
        let page = page.unwrap_or_default();
        let cursor = self.state.store.follow(table, namespace, page.revision);
        (cursor.map_err(too_old), page.objects, page.revision)
    }
}

impl Watch {
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(line) = self.ready.pop_front() {
                return Some(line);
            }
            if self.over || self.state.faults.drops_watch(&self.kind) {
                return None;
            }
            match self.cursor.changes(BATCH) {
                Err(old) => {
                    self.over = true;
                    return Some(error_line(&too_old(old)));
                }
                Ok(changes) if changes.is_empty() => {
                    if !self.wait().await {
                        return None;
                    }
                }
                Ok(changes) => {
                    for change in changes {
                        self.seen = change.revision;
                        let line = self.event_line(&change);
                        self.ready.extend(line);
                    }
                }
            }
        }
    }

    /// Waits for changes, the next bookmark, or the end.
    async fn wait(&mut self) -> bool {
        let dropped = self.state.faults.watch_dropped();
        // The reader of this watch polls for the next line only after it has processed the last one.
        let follower = self.follower.as_ref();
        let _waiting = follower.map(|follower| follower.wait(&self.cursor));
        tokio::select! {
            there = self.cursor.changed() => there,
            () = dropped => true,
            () = at(self.end) => false,
            () = tokio::time::sleep_until(self.next_bookmark), if self.bookmarks => {
                self.next_bookmark = Instant::now() + BOOKMARKS;
                // Not while changes are unsent: a client that resumes from the bookmark would never see them.
                if let Some(revision) = self.state.store.seen_up_to(&self.cursor) {
                    let line = self.bookmark(revision.max(self.seen), false);
                    self.ready.push_back(line);
                }
                true
            }
        }
    }

    /// The event of a change for the selected objects.
    fn event_line(&mut self, change: &Change) -> Option<Bytes> {
        let selects = |stored: &Stored| self.selection.matches(&self.kind, &change.key, stored);
        let is = selects(&change.object);
        let was = change.before.as_deref().is_some_and(selects);
        match (change.kind, was, is) {
            (_, false, false) => None,
            (ChangeKind::Deleted, _, true) | (ChangeKind::Deleted, true, false) => {
                Some(self.line("DELETED", &change.object))
            }
            (_, true, true) => Some(self.line("MODIFIED", &change.object)),
            (_, false, true) => Some(self.line("ADDED", &change.object)),
            (_, true, false) => {
                // The last state that was seen, at the revision at which it went out of sight.
                let before = change.before.as_deref()?;
                let mut object = before.value();
                if let Some(metadata) = crate::meta::metadata(&mut object) {
                    metadata.insert(
                        "resourceVersion".to_owned(),
                        change.revision.to_string().into(),
                    );
                }
                let seen = before.with_json(Bytes::from(crate::json::write(&object)));
                Some(self.line("DELETED", &seen))
            }
        }
    }

    fn line(&mut self, event: &str, stored: &Stored) -> Bytes {
        let object = match self.form.shape {
            Shape::Whole => crate::encode::sent(&self.kind, stored),
            Shape::Metadata | Shape::MetadataList => {
                Bytes::from(crate::meta::partial_object(&stored.value()).to_string())
            }
            Shape::Table => {
                let with_columns = std::mem::take(&mut self.first);
                let table =
                    encode::table_of_one(&self.kind, stored, with_columns, self.form.row_object);
                Bytes::from(table.to_string())
            }
        };
        line(event, &object)
    }

    fn bookmark(&self, revision: u64, ends_initial: bool) -> Bytes {
        let mut metadata = json!({ "resourceVersion": revision.to_string() });
        if ends_initial {
            metadata["annotations"] = json!({ "k8s.io/initial-events-end": "true" });
        }
        let (kind, api_version) = match self.form.shape {
            Shape::Metadata | Shape::MetadataList => (
                "PartialObjectMetadata".to_owned(),
                "meta.k8s.io/v1".to_owned(),
            ),
            Shape::Whole | Shape::Table => (self.kind.kind.clone(), self.kind.api_version()),
        };
        let object = json!({ "kind": kind, "apiVersion": api_version, "metadata": metadata });
        line("BOOKMARK", &Bytes::from(object.to_string()))
    }
}

/// How long a watch of `timeoutSeconds` lives. A kube-apiserver multiplies them in 64 bits, which wraps around: a number
/// that is too large may come out as a shorter time, or as one that is over.
fn lifetime(seconds: Option<i64>) -> Duration {
    match seconds.map(|seconds| seconds.wrapping_mul(NANOSECONDS)) {
        None | Some(0) => LIFETIME,
        Some(nanoseconds) => Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or_default()),
    }
}

/// Waits until a moment; for ever if there is none.
async fn at(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

fn too_old(old: TooOld) -> StatusError {
    StatusError::expired(format!(
        "too old resource version: {} ({})",
        old.asked, old.oldest
    ))
}

fn line(event: &str, object: &Bytes) -> Bytes {
    let mut line = Vec::with_capacity(object.len() + event.len() + 24);
    line.extend_from_slice(b"{\"type\":\"");
    line.extend_from_slice(event.as_bytes());
    line.extend_from_slice(b"\",\"object\":");
    line.extend_from_slice(object);
    line.extend_from_slice(b"}\n");
    Bytes::from(line)
}

fn error_line(failure: &StatusError) -> Bytes {
    line("ERROR", &Bytes::from(Value::to_string(&failure.status())))
}

fn only_error(failure: &StatusError) -> Lines {
    let line = error_line(failure);
    Box::pin(stream::once(async move { line }))
}
