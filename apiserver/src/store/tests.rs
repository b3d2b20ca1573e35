use std::time::Duration;

use serde_json::json;

use super::log::Log;
use super::*;

fn object(name: &str, text: &str) -> Value {
    json!({ "metadata": { "name": name, "labels": { "text": text } }, "data": text })
}

fn key(name: &str) -> Key {
    Key::new("ns", name)
}

#[test]
fn write_of_stale_revision_conflicts() {
    let store = Store::new();
    let first = store
        .write("/things", &key("a"), Write::Create(object("a", "1")))
        .unwrap();
    assert_eq!(
        store
            .write("/things", &key("a"), Write::Create(object("a", "2")))
            .unwrap_err(),
        WriteError::Conflict
    );
    let second = store
        .write(
            "/things",
            &key("a"),
            Write::Replace(first.stored.revision, object("a", "2")),
        )
        .unwrap();
    assert_eq!(second.stored.value()["metadata"]["resourceVersion"], "3");
    assert_eq!(
        store
            .write(
                "/things",
                &key("a"),
                Write::Delete(first.stored.revision, object("a", "2"))
            )
            .unwrap_err(),
        WriteError::Conflict
    );
    store
        .write(
            "/things",
            &key("a"),
            Write::Delete(second.stored.revision, object("a", "2")),
        )
        .unwrap();
    assert_eq!(
        store
            .write(
                "/things",
                &key("a"),
                Write::Replace(second.stored.revision, object("a", "3"))
            )
            .unwrap_err(),
        WriteError::NotFound
    );
    assert!(store.get("/things", &key("a")).is_none());
}

#[test]
fn cursor_sees_every_change_once_or_expires() {
    let store = Store::new();
    let mut cursor = store.follow("/things", None, store.revision()).unwrap();
    for number in 0..10 {
        let name = format!("o{number}");
        store
            .write("/things", &key(&name), Write::Create(object(&name, "x")))
            .unwrap();
    }
    let seen = cursor.changes(4).unwrap();
    assert_eq!(seen.len(), 4);
    let seen = cursor.changes(100).unwrap();
    assert_eq!(seen.len(), 6);
    assert!(cursor.changes(100).unwrap().is_empty());
    for number in 0..2000 {
        let name = format!("p{number}");
        store
            .write("/things", &key(&name), Write::Create(object(&name, "x")))
            .unwrap();
    }
    cursor.changes(100).unwrap_err();
}

#[test]
fn log_does_not_outgrow_the_objects() {
    let begin = Instant::now();
    // Versions of 10,000 bytes that replace each other, one a second; after which of them the first is forgotten.
    let forgotten_after = |current_bytes: usize| {
        let mut log = Log::new(0);
        let mut before = None;
        (1..200).find(|revision| {
            let bytes = Bytes::from(vec![b'x'; 10_000]);
            let object = Arc::new(summarized(
                &Value::Null,
                Compact::Plain(bytes),
                *revision,
                None,
            ));
            let change = Change {
                revision: *revision,
                at: begin + Duration::from_secs(*revision),
                kind: ChangeKind::Modified,
                key: key("a"),
                object: Arc::clone(&object),
                before: before.replace(object),
            };
            log.push(change, current_bytes);
            log.check(0).is_err()
        })
    };
    assert_eq!(forgotten_after(0), Some(76));
    assert_eq!(forgotten_after(1_000_000), Some(102));
    // Changes within the limit stay.
    assert_eq!(forgotten_after(usize::MAX), None);
}

#[test]
fn revisions_of_an_object_share_unchanged_metadata() {
    let store = Store::new();
    let mut labelled = object("a", "x");
    labelled["metadata"] = json!({ "name": "a", "uid": "u", "labels": { "l": "m" } });
    let write = |write| store.write("/things", &key("a"), write).unwrap().stored;
    let first = write(Write::Create(labelled.clone()));
    let second = write(Write::Replace(first.revision, labelled.clone()));
    assert!(Arc::ptr_eq(&first.labels.0, &second.labels.0) && Arc::ptr_eq(&first.uid, &second.uid));
    labelled["metadata"]["labels"]["l"] = json!("n");
    let third = write(Write::Replace(second.revision, labelled));
    assert_eq!(third.labels.get("l"), Some("n"));
}

#[tokio::test]
async fn namespace_cursor_is_woken_only_by_its_namespace() {
    let store = Store::new();
    let make = |namespace: &str, name: &str| {
        let key = Key::new(namespace, name);
        let made = store.write("/things", &key, Write::Create(object(name, "x")));
        made.unwrap().stored.revision
    };
    let begin = store.revision();
    make("here", "before");
    let mut cursor = store.follow("/things", Some("here"), begin).unwrap();
    assert!(cursor.changed().await);
    assert_eq!(cursor.changes(10).unwrap().len(), 1);
    assert_eq!(store.seen_up_to(&cursor), Some(store.revision()));

    // More than is remembered.
    for number in 0..2000 {
        make("there", &format!("o{number}"));
    }
    let woken = tokio::time::timeout(std::time::Duration::ZERO, cursor.changed()).await;
    woken.unwrap_err();
    assert_eq!(store.seen_up_to(&cursor), Some(store.revision()));
    let revision = make("here", "after");
    assert_eq!(store.seen_up_to(&cursor), None);
    assert!(cursor.changed().await);
    let changes = cursor.changes(10).unwrap();
    let revisions: Vec<u64> = changes.iter().map(|change| change.revision).collect();
    assert_eq!(revisions, [revision]);

    // What is forgotten of the namespace itself is missed, one way or the other.
    let mut other = store.follow("/things", Some("here"), revision).unwrap();
    for number in 0..2000 {
        make("here", &format!("o{number}"));
    }
    cursor.changes(10).unwrap_err();
    other.changes(10).unwrap_err();
    let revision = make("here", "last");
    let mut cursor = store.follow("/things", Some("here"), revision - 1).unwrap();
    store.compact("/things");
    cursor.changes(10).unwrap_err();
    let mut cursor = store.follow("/things", Some("here"), revision).unwrap();
    store.compact("/things");
    assert!(cursor.changes(10).unwrap().is_empty());
}

#[test]
fn paged_list_continues_within_namespace() {
    let store = Store::new();
    for (namespace, name) in [("a", "1"), ("b", "1"), ("b", "2"), ("b", "3"), ("c", "1")] {
        let key = Key::new(namespace, name);
        store
            .write("/things", &key, Write::Create(object(name, "x")))
            .unwrap();
    }
    let page = store
        .list_at("/things", None, Some("b"), None, Some(2), |_, _| true)
        .unwrap();
    let names: Vec<&str> = page.objects.iter().map(|(key, _)| &*key.name).collect();
    assert_eq!((names, page.remaining), (vec!["1", "2"], 1));
    let page = store
        .list_at(
            "/things",
            None,
            Some("b"),
            Some(&Key::new("b", "2")),
            Some(2),
            |_, _| true,
        )
        .unwrap();
    assert_eq!((page.objects.len(), page.remaining), (1, 0));
    assert_eq!(store.all("/things").len(), 5);
}

#[test]
fn list_at_earlier_revision_has_old_objects() {
    let store = Store::new();
    let first = store
        .write("/things", &key("a"), Write::Create(object("a", "1")))
        .unwrap();
    store
        .write("/things", &key("b"), Write::Create(object("b", "1")))
        .unwrap();
    store
        .write(
            "/things",
            &key("a"),
            Write::Replace(first.stored.revision, object("a", "2")),
        )
        .unwrap();
    let page = store
        .list_at(
            "/things",
            Some(first.stored.revision),
            None,
            None,
            None,
            |_, _| true,
        )
        .unwrap();
    let found: Vec<Value> = page
        .objects
        .iter()
        .map(|(_, stored)| stored.value()["data"].clone())
        .collect();
    assert_eq!(found, ["1"]);
    store.compact("/things");
    store
        .list_at(
            "/things",
            Some(first.stored.revision),
            None,
            None,
            None,
            |_, _| true,
        )
        .unwrap_err();
}

#[tokio::test]
async fn cursor_of_a_removed_table_reaches_its_end() {
    let store = Store::new();
    let first = store
        .write("/things", &key("a"), Write::Create(object("a", "1")))
        .unwrap();
    let mut cursor = store.follow("/things", None, store.revision()).unwrap();
    // Not as long as there is anything.
    store.forget("/things");
    assert_eq!(store.count("/things"), 1);
    let revision = first.stored.revision;
    store
        .write(
            "/things",
            &key("a"),
            Write::Delete(revision, object("a", "1")),
        )
        .unwrap();
    store.forget("/things");
    assert!(cursor.changed().await);
    let changes = cursor.changes(10).unwrap();
    assert_eq!(changes.len(), 1);
    assert_eq!(changes[0].kind, ChangeKind::Deleted);
    assert!(!cursor.changed().await);
    // A table of the same name is another one.
    store.follow("/things", None, revision).unwrap_err();
    store.follow("/things", None, store.revision()).unwrap();
}

#[test]
fn narrowed_page_keeps_its_limit() {
    let store = Store::new();
    for number in 0..10 {
        let name = format!("o{number}");
        let text = if number % 2 == 0 { "even" } else { "odd" };
        store
            .write("/things", &key(&name), Write::Create(object(&name, text)))
            .unwrap();
    }
    let page = |after: Option<&Key>| {
        let all = store.list_at("/things", None, None, after, None, |_, _| true);
        all.unwrap()
            .narrowed(Some(3), |_, stored| stored.value()["data"] == "odd")
    };
    let names = |page: &Page| -> Vec<String> {
        let objects = page.objects.iter();
        objects.map(|(key, _)| key.name.to_string()).collect()
    };
    let first = page(None);
    assert_eq!(
        (names(&first), first.remaining),
        (vec!["o1".to_owned(), "o3".to_owned(), "o5".to_owned()], 1)
    );
    let last = page(Some(&first.objects[2].0));
    assert_eq!(
        (names(&last), last.remaining),
        (vec!["o7".to_owned(), "o9".to_owned()], 0)
    );
}
