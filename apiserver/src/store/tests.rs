use serde_json::json;

use super::*;

fn object(name: &str, text: &str) -> Value {
    json!({ "metadata": { "name": name, "labels": { "text": text } }, "data": text })
}

fn key(name: &str) -> Key {
    Key::new("ns", name)
}

#[test]
fn a_change_is_made_from_the_newest_state_only() {
    let store = Store::new();
    let first = store
        .write("/things", &key("a"), Write::Create(object("a", "1")))
        .unwrap();
    assert_eq!(
        store
            .write("/things", &key("a"), Write::Create(object("a", "2")))
            .unwrap_err(),
        Stale::Changed
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
        Stale::Changed
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
        Stale::Gone
    );
    assert!(store.get("/things", &key("a")).is_none());
}

#[test]
fn a_cursor_sees_every_change_once_and_is_told_when_it_cannot() {
    let store = Store::new();
    let mut cursor = store.follow("/things", store.revision()).unwrap();
    for number in 0..10 {
        let name = format!("o{number}");
        store
            .write("/things", &key(&name), Write::Create(object(&name, "x")))
            .unwrap();
    }
    let seen = store.changes(&mut cursor, 4).unwrap();
    assert_eq!(seen.len(), 4);
    let seen = store.changes(&mut cursor, 100).unwrap();
    assert_eq!(seen.len(), 6);
    assert!(store.changes(&mut cursor, 100).unwrap().is_empty());
    for number in 0..2000 {
        let name = format!("p{number}");
        store
            .write("/things", &key(&name), Write::Create(object(&name, "x")))
            .unwrap();
    }
    store.changes(&mut cursor, 100).unwrap_err();
}

#[test]
fn lists_go_on_after_a_key_and_stay_in_their_namespace() {
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
fn a_list_may_be_of_an_earlier_revision() {
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
