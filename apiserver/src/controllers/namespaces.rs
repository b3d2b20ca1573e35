//! Ends of namespaces: what is in them goes first.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::Note;
use crate::meta;
use crate::server::Inner;
use crate::store::{Key, Stale, Write};

/// How long a deleted namespace keeps its content. The namespace controller of Kubernetes waits for 5 s; a client that
/// deletes a namespace and then the objects of the same file needs a fraction of this.
const GRACE: Duration = Duration::from_secs(1);

/// The namespaces whose content is not deleted yet, and until when.
#[derive(Default)]
pub(crate) struct Graces(Mutex<HashMap<Arc<str>, Instant>>);

impl Graces {
    fn begin(&self, name: Arc<str>) -> Instant {
        let end = Instant::now() + GRACE;
        self.0.lock().insert(name, end);
        end
    }

    /// Whether the content stays. A grace that is over is forgotten.
    fn is_on(&self, name: &str) -> bool {
        let mut graces = self.0.lock();
        let is_on = graces.get(name).is_some_and(|end| Instant::now() < *end);
        if !is_on {
            graces.remove(name);
        }
        is_on
    }
}

impl Inner {
    /// Has the content of a namespace deleted that was just marked as deleted, after its grace.
    pub(super) fn terminate_namespace(&self, name: Arc<str>) {
        let end = self.graces.begin(Arc::clone(&name));
        // The timer keeps no server alive.
        let notes = self.notes.downgrade();
        tokio::spawn(async move {
            tokio::time::sleep_until(end).await;
            if let Some(notes) = notes.upgrade() {
                // The controllers are gone only if the server is.
                let _ = notes.send(Note::Ending(name));
            }
        });
    }

    /// Deletes what is in a namespace that is going, and lets it go when nothing is left.
    pub(super) fn end_namespace(&self, name: &str) {
        let key = Key::new("", name);
        // What is newer than this may be in a namespace that was made anew.
        let seen = self.store.revision();
        let stored = self.store.get("/namespaces", &key);
        if stored
            .as_ref()
            .is_some_and(|stored| !meta::is_deleted(&stored.value()))
        {
            return;
        }
        // The end of the grace comes with a note of its own.
        let is_kept = self.graces.is_on(name);
        if stored.is_some() && is_kept {
            return;
        }
        let mut all_gone = true;
        for kind in self.kinds().each_table() {
            if !kind.namespaced {
                continue;
            }
            let inside = self
                .store
                .list_at(&kind.table, None, Some(name), None, None, |_, _| true);
            for (key, object) in inside.map(|page| page.objects).unwrap_or_default() {
                let of_this = stored.is_some() || object.revision <= seen;
                all_gone &= of_this && self.remove(&kind.table, &key);
            }
        }
        // What was made while it went goes too.
        let Some(stored) = stored else {
            return;
        };
        let mut namespace = stored.value();
        if !all_gone {
            self.tell_content(&key, &stored, namespace);
            return;
        }
        let finalizers = namespace
            .pointer("/spec/finalizers")
            .and_then(Value::as_array);
        let mut others: Vec<Value> = finalizers.cloned().unwrap_or_default();
        others.retain(|one| one != "kubernetes");
        let done = others.is_empty() && meta::finalizers(&namespace).is_empty();
        namespace["spec"] = json!({ "finalizers": others });
        let write = if done {
            Write::Delete(stored.revision, namespace)
        } else if stored.value() == namespace {
            return;
        } else {
            Write::Replace(stored.revision, namespace)
        };
        match self.store.write("/namespaces", &key, write) {
            Ok(written) if done => {
                let uid = meta::text(&written.stored.value(), "uid").to_owned();
                self.note(Note::Gone(uid));
            }
            // Who is refused by the disk is refused again.
            Ok(_) | Err(Stale::Unwritten) => {}
            Err(_) => self.note(Note::Ending(key.name)),
        }
    }

    /// Says in a namespace's status that something in it does not go.
    fn tell_content(&self, key: &Key, stored: &crate::store::Stored, mut namespace: Value) {
        let now = meta::now();
        let condition = |of: &str, status: &str, reason: &str, message: &str| json!({ "type": of, "status": status, "reason": reason, "message": message, "lastTransitionTime": now });
        let conditions = json!([
            condition(
                "NamespaceDeletionDiscoveryFailure",
                "False",
                "ResourcesDiscovered",
                "All resources successfully discovered"
            ),
            condition(
                "NamespaceDeletionGroupVersionParsingFailure",
                "False",
                "ParsedGroupVersions",
                "All legacy kube types successfully parsed"
            ),
            condition(
                "NamespaceDeletionContentFailure",
                "False",
                "ContentDeleted",
                "All content successfully deleted, may be waiting on finalization"
            ),
            condition(
                "NamespaceContentRemaining",
                "True",
                "SomeResourcesRemain",
                "Some resources are remaining"
            ),
            condition(
                "NamespaceFinalizersRemaining",
                "True",
                "SomeFinalizersRemain",
                "Some content in the namespace has finalizers remaining"
            ),
        ]);
        if namespace.pointer("/status/conditions").is_some() {
            return;
        }
        namespace["status"]["conditions"] = conditions;
        let _ = self.store.write(
            "/namespaces",
            key,
            Write::Replace(stored.revision, namespace),
        );
    }
}
