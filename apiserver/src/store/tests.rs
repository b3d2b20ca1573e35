use std::time::Duration;

use rstest::rstest;
use serde_json::json;

use super::log::{Log, TableSize};
use super::*;

fn object(name: &str, text: &str) -> Value {
    json!({ "metadata": { "name": name, "labels": { "text": text } }, "data": text })
}

fn key(name: &str) -> Key {
    Key::new("ns", name)
}

/// Changes an object more often than the log of a small table remembers.
fn change_often(store: &Store, key: &Key) {
    let mut write = Write::Create(object(&key.name, "x"));
    for _ in 0..2000 {
        let revision = store.write("/things", key, write).unwrap().stored.revision;
        write = Write::Replace(revision, object(&key.name, "x"));
    }
}

/// A page of all namespaces, and how many objects remain after it.
fn range_after(after: Option<&Key>, limit: usize) -> Range<'_> {
    Range {
        after,
        limit: Some(limit),
        counts_remaining: true,
        ..Range::default()
    }
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
    change_often(&store, &key("p"));
    cursor.changes(100).unwrap_err();
}

/// The number of changes after which the log no longer has the first one. Each replaces a version of 10,000 bytes, `pause` after
/// the one before it.
fn forgotten_after(changes: u64, pause: Duration, size: TableSize) -> Option<u64> {
    let mut log = Log::new(0);
    let mut before = None;
    let mut at = Instant::now();
    (1..=changes).find(|revision| {
        let bytes = Bytes::from(vec![b'x'; 10_000]);
        let object = Arc::new(summarized(
            &Value::Null,
            Compact::Plain(bytes),
            *revision,
            None,
        ));
        at += pause;
        let change = Change {
            revision: *revision,
            at,
            kind: ChangeKind::Modified,
            key: key("a"),
            object: Arc::clone(&object),
            before: before.replace(object),
        };
        log.push(change, size);
        log.check(0).is_err()
    })
}

#[rstest]
#[case::few_bytes(0, Some(76))]
#[case::as_many_bytes_as_the_objects(1_000_000, Some(102))]
#[case::changes_within_the_limit(usize::MAX, None)]
fn log_does_not_outgrow_the_objects_after_a_while(
    #[case] bytes: usize,
    #[case] expected: Option<u64>,
) {
    let size = TableSize { objects: 1, bytes };
    let pause = Duration::from_secs(1);
    assert_eq!(forgotten_after(200, pause, size), expected);
}

#[rstest]
#[case::of_a_small_table(1, 0, Some(840))]
#[case::as_many_bytes_as_the_objects(2_000, 15_000_000, Some(1_502))]
#[case::as_many_changes_as_objects(2_000, usize::MAX, Some(2_001))]
#[case::never_fewer_than_the_limit(1, usize::MAX, Some(1_025))]
fn log_remembers_as_many_recent_changes_as_there_are_objects(
    #[case] objects: usize,
    #[case] bytes: usize,
    #[case] expected: Option<u64>,
) {
    let size = TableSize { objects, bytes };
    let pause = Duration::from_millis(1);
    assert_eq!(forgotten_after(3_000, pause, size), expected);
}

/// A client lists two thousand objects in pages. All of them are replaced before it has read them, some are deleted, and others
/// are made.
#[test]
fn paged_list_is_of_one_revision_however_much_changes_meanwhile() {
    let store = Store::new();
    let name = |number: usize| format!("o{number:04}");
    let make = |number: usize, text: &str| {
        let name = name(number);
        let made = store.write("/things", &key(&name), Write::Create(object(&name, text)));
        made.unwrap().stored.revision
    };
    let mut revisions: Vec<u64> = (0..2_000).map(|number| make(number * 2, "old")).collect();
    let begin = store.revision();

    let mut read = Vec::new();
    let mut after: Option<Key> = None;
    for number in (0..4_000).step_by(400) {
        let page = store
            .list_at(
                "/things",
                Some(begin),
                range_after(after.as_ref(), 200),
                |_, _| true,
            )
            .unwrap();
        assert_eq!(page.remaining, 2_000 - read.len() - page.objects.len());
        after = page.objects.last().map(|(key, _)| key.clone());
        read.extend(page.objects);
        for changed in (number..number + 400).step_by(2) {
            // From the end, so that what is read later is changed before.
            let place = 1_999 - changed / 2;
            let name = name(place * 2);
            let replaced = Write::Replace(revisions[place], object(&name, "new"));
            let written = store.write("/things", &key(&name), replaced).unwrap();
            revisions[place] = written.stored.revision;
        }
        make(number + 1, "new");
        let name = name(3_998 - number);
        let deleted = Write::Delete(revisions[1_999 - number / 2], object(&name, "new"));
        store.write("/things", &key(&name), deleted).unwrap();
    }
    let names: Vec<&str> = read.iter().map(|(key, _)| &*key.name).collect();
    let expected: Vec<String> = (0..2_000).map(|number| name(number * 2)).collect();
    assert_eq!(names, expected);
    let mut texts = read
        .iter()
        .map(|(_, stored)| stored.value()["data"].clone());
    assert!(texts.all(|text| text == "old"));
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
    change_often(&store, &Key::new("there", "o"));
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
    change_often(&store, &Key::new("here", "o"));
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
    let page = |after: Option<&Key>, limit: usize| {
        let range = Range {
            namespace: Some("b"),
            ..range_after(after, limit)
        };
        let page = store.list_at("/things", None, range, |_, _| true).unwrap();
        let names = page.objects.iter().map(|(key, _)| key.name.to_string());
        (names.collect::<Vec<_>>().join(" "), page.remaining)
    };
    assert_eq!(page(None, 2), ("1 2".to_owned(), 1));
    assert_eq!(page(Some(&Key::new("b", "2")), 2), ("3".to_owned(), 0));
    assert_eq!(page(None, 3), ("1 2 3".to_owned(), 0));
    assert_eq!(store.all_in("/things", Some("b")).len(), 3);
    assert_eq!(store.all("/things").len(), 5);
}

#[test]
fn page_without_a_count_evaluates_one_object_after_its_limit() {
    let store = Store::new();
    for number in 0..100 {
        let name = format!("o{number:02}");
        store
            .write("/things", &key(&name), Write::Create(object(&name, "x")))
            .unwrap();
    }
    let page = |limit: usize| {
        let mut seen = 0;
        let range = Range {
            counts_remaining: false,
            ..range_after(None, limit)
        };
        let page = store.list_at("/things", None, range, |_, _| {
            seen += 1;
            true
        });
        (page.unwrap().remaining, seen)
    };
    assert_eq!(page(10), (1, 11));
    assert_eq!(page(100), (0, 100));
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
            Range::default(),
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
            Range::default(),
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
        let range = Range {
            after,
            ..Range::default()
        };
        let all = store.list_at("/things", None, range, |_, _| true);
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

#[test]
fn dependents_follow_the_owners_that_an_object_names() {
    let owned = |name: &str, owners: &[&str]| {
        let owners: Vec<Value> = owners.iter().map(|uid| json!({ "uid": uid })).collect();
        json!({ "metadata": { "name": name, "uid": name, "ownerReferences": owners } })
    };
    let store = Store::new();
    let created = |table: &str, name: &str, owners: &[&str]| {
        let write = Write::Create(owned(name, owners));
        let written = store.write(table, &key(name), write);
        written.unwrap().stored.revision
    };
    let first = created("/things", "a", &["one", "two"]);
    created("/others", "b", &["one"]);
    created("/things", "c", &["one-more"]);
    let of = |uid: &str| -> Vec<String> {
        let found = store.dependents(uid).into_iter();
        found
            .map(|(table, key)| format!("{table}/{}", key.name))
            .collect()
    };
    assert_eq!(of("one"), ["/others/b", "/things/a"]);
    assert_eq!(
        (of("two"), of("on")),
        (vec!["/things/a".to_owned()], vec![])
    );
    let replaced = Write::Replace(first, owned("a", &["two"]));
    let replaced = store.write("/things", &key("a"), replaced).unwrap();
    assert_eq!((of("one").len(), of("two").len()), (1, 1));
    let deleted = Write::Delete(replaced.stored.revision, owned("a", &["two"]));
    store.write("/things", &key("a"), deleted).unwrap();
    assert_eq!(of("two"), [""; 0]);
    assert!(store.has_uid("b") && !store.has_uid("a"));
}
