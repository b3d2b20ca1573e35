//! Ends of namespaces: what is in them goes first.

use serde_json::{Value, json};

use super::Note;
use crate::meta;
use crate::server::Inner;
use crate::store::{Key, Stale, Write};

impl Inner {
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
