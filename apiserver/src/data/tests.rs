use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::{FileExt as _, MetadataExt as _};

use serde_json::{Value, json};

use super::record::HEAD;
use super::*;
use crate::store::{Key, Store, Write, WriteError};

const TABLE: &str = "/things";

fn object(name: &str, text: &str) -> Value {
    json!({ "metadata": { "name": name, "namespace": "ns", "uid": name }, "data": text })
}

fn key(name: &str) -> Key {
    Key::new("ns", name)
}

fn create(store: &Store, name: &str, text: &str) -> u64 {
    let write = Write::Create(object(name, text));
    let written = store.write(TABLE, &key(name), write).unwrap();
    written.stored.revision
}

/// What a store has, by name: the revision and the text.
fn content(store: &Store) -> BTreeMap<String, (u64, String)> {
    let all = store.all(TABLE).into_iter();
    all.map(|(key, stored)| {
        let text = stored.value()["data"].as_str().unwrap().to_owned();
        (key.name.to_string(), (stored.revision, text))
    })
    .collect()
}

fn opened(path: &Path) -> (Store, Data) {
    let data = Data::open(path, DataKind::ApiServer).unwrap();
    let store = Store::open(&data.folder("one").unwrap()).unwrap();
    (store, data)
}

/// Why a folder cannot be opened.
fn refusal(path: &Path) -> DataError {
    let data = Data::open(path, DataKind::ApiServer).unwrap();
    Store::open(&data.folder("one").unwrap()).err().unwrap()
}

/// The only log of a folder.
fn log(path: &Path) -> PathBuf {
    path.join("one/log.00000000000000000001")
}

fn names(path: &Path) -> Vec<String> {
    let all = std::fs::read_dir(path.join("one")).unwrap();
    let mut names: Vec<String> = all
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn reopened_store_has_all_objects() {
    let folder = tempfile::tempdir().unwrap();
    let (store, data) = opened(folder.path());
    let first = create(&store, "a", "1");
    create(&store, "b", "1");
    let gone = create(&store, "c", "1");
    let write = Write::Replace(first, object("a", "2"));
    store.write(TABLE, &key("a"), write).unwrap();
    let write = Write::Delete(gone, object("c", "1"));
    store.write(TABLE, &key("c"), write).unwrap();
    let (before, revision) = (content(&store), store.revision());
    drop((store, data));

    let (store, _data) = opened(folder.path());
    assert_eq!(content(&store), before);
    assert_eq!(store.revision(), revision);
    assert!(store.has_uid("a") && !store.has_uid("c"));
    // A watch that has seen everything continues, any other one expires, in every table.
    store.follow(TABLE, None, revision).unwrap();
    store.follow(TABLE, None, revision - 1).unwrap_err();
    store.follow("/others", None, revision - 1).unwrap_err();
    assert_eq!(create(&store, "d", "1"), revision + 1);
}

#[test]
fn files_are_readable_by_owner_only() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("made/here");
    let (store, data) = opened(&path);
    create(&store, "a", "1");
    secret(&data.folder("one").unwrap()).unwrap();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().mode() & 0o777;
    for place in [&path, &path.join("one")] {
        assert_eq!(mode(place), 0o700, "{}", place.display());
        for entry in std::fs::read_dir(place).unwrap() {
            let entry = entry.unwrap().path();
            if entry.is_file() {
                assert_eq!(mode(&entry), 0o600, "{}", entry.display());
            }
        }
    }
}

#[test]
fn folder_is_locked_until_last_server_is_dropped() {
    let folder = tempfile::tempdir().unwrap();
    let (store, data) = opened(folder.path());
    drop(data);
    let refused = Data::open(folder.path(), DataKind::ApiServer)
        .err()
        .unwrap();
    assert!(matches!(refused, DataError::InUse { .. }), "{refused}");
    assert!(refused.to_string().contains("in use by another process"));
    drop(store);
    Data::open(folder.path(), DataKind::ApiServer).unwrap();
}

/// The clusters of a fleet start side by side, and each asks for the folder of all clusters first.
#[test]
fn servers_of_a_group_start_side_by_side() {
    for _ in 0..50 {
        let folder = tempfile::tempdir().unwrap();
        let data = Data::open(folder.path(), DataKind::Fleet).unwrap();
        let start = std::sync::Barrier::new(4);
        std::thread::scope(|scope| {
            for name in ["a", "b", "c", "d"] {
                let (data, start) = (&data, &start);
                scope.spawn(move || {
                    start.wait();
                    data.folder_in("clusters", name).unwrap();
                });
            }
        });
        assert_eq!(data.names_in("clusters").unwrap(), ["a", "b", "c", "d"]);
    }
}

#[test]
fn keys_survive_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let read = || {
        let data = Data::open(folder.path(), DataKind::ApiServer).unwrap();
        let folder = data.folder("one").unwrap();
        let authority = folder.authority().unwrap();
        (authority.pem(), authority.key(), secret(&folder).unwrap())
    };
    assert_eq!(read(), read());
    let other = Authority::new().unwrap();
    std::fs::write(folder.path().join("one/authority.key"), other.key()).unwrap();
    let data = Data::open(folder.path(), DataKind::ApiServer).unwrap();
    let refused = data.folder("one").unwrap().authority().err().unwrap();
    assert!(matches!(
        refused,
        DataError::Authority(AuthorityError::Mismatch)
    ));
}

#[test]
fn torn_last_record_is_cut_off() {
    let folder = tempfile::tempdir().unwrap();
    let (store, data) = opened(folder.path());
    create(&store, "a", "1");
    let before = content(&store);
    let whole = std::fs::metadata(log(folder.path())).unwrap().len();
    create(&store, "b", "1");
    drop((store, data));
    let all = std::fs::read(log(folder.path())).unwrap();
    let whole = usize::try_from(whole).unwrap();
    for end in whole..all.len() {
        std::fs::write(log(folder.path()), &all[..end]).unwrap();
        let (store, data) = opened(folder.path());
        assert_eq!(content(&store), before, "torn at {end}");
        assert_eq!(create(&store, "c", "1"), 3);
        drop((store, data));
        assert!(content(&opened(folder.path()).0).contains_key("c"));
    }
    // Even in the title, when the process ended before it had kept anything.
    for end in 0..HEAD + 4 {
        std::fs::write(log(folder.path()), &all[..end]).unwrap();
        let (store, _data) = opened(folder.path());
        assert_eq!(create(&store, "c", "1"), 2);
    }
}

#[test]
fn zeros_after_the_last_record_are_cut_off() {
    let folder = tempfile::tempdir().unwrap();
    let (store, data) = opened(folder.path());
    create(&store, "a", "1");
    let before = content(&store);
    drop((store, data));
    let file = OpenOptions::new().append(true).open(log(folder.path()));
    file.unwrap().write_all(&[0; 4096]).unwrap();
    assert_eq!(content(&opened(folder.path()).0), before);
}

#[test]
fn damage_before_the_end_is_reported_with_its_offset() {
    let folder = tempfile::tempdir().unwrap();
    let (store, data) = opened(folder.path());
    let start = std::fs::metadata(log(folder.path())).unwrap().len();
    create(&store, "a", "1");
    let end = std::fs::metadata(log(folder.path())).unwrap().len();
    create(&store, "b", "1");
    drop((store, data));
    let all = std::fs::read(log(folder.path())).unwrap();
    // Every byte of the record counts: its length, its checksums, its body.
    for place in start..end {
        let mut file = all.clone();
        file[usize::try_from(place).unwrap()] ^= 0x20;
        std::fs::write(log(folder.path()), &file).unwrap();
        let refused = refusal(folder.path());
        match &refused {
            DataError::Damaged { path, offset, .. } => {
                assert_eq!((path, *offset), (&log(folder.path()), start), "at {place}");
            }
            other => panic!("at {place}: {other}"),
        }
        let message = refused.to_string();
        assert!(message.contains("log.0") && message.contains(&start.to_string()));
    }
}

#[test]
fn missing_change_is_damage() {
    let folder = tempfile::tempdir().unwrap();
    let (store, data) = opened(folder.path());
    let mut ends = Vec::new();
    for name in ["a", "b", "c"] {
        create(&store, name, "1");
        let end = std::fs::metadata(log(folder.path())).unwrap().len();
        ends.push(usize::try_from(end).unwrap());
    }
    drop((store, data));
    let mut file = std::fs::read(log(folder.path())).unwrap();
    file.drain(ends[0]..ends[1]);
    std::fs::write(log(folder.path()), &file).unwrap();
    let refused = refusal(folder.path()).to_string();
    assert!(
        refused.contains("change 4 stands where 3 should be"),
        "{refused}"
    );
}

#[test]
fn large_log_is_rotated_with_a_snapshot() {
    let folder = tempfile::tempdir().unwrap();
    let (store, data) = opened(folder.path());
    store.with_journal(|journal| journal.turn_early(20_000));
    for number in 0..300 {
        let revision = create(&store, &format!("o{number}"), &"x".repeat(100));
        if number % 3 == 0 {
            let name = format!("o{number}");
            let write = Write::Delete(revision, object(&name, ""));
            store.write(TABLE, &key(&name), write).unwrap();
        }
    }
    store.wait_for_snapshot();
    let (before, revision) = (content(&store), store.revision());
    let files = names(folder.path());
    assert_eq!(files.len(), 2, "{files:?}");
    assert!(files[0].starts_with("log.") && files[1].starts_with("snapshot."));
    assert_eq!(
        files[0].strip_prefix("log"),
        files[1].strip_prefix("snapshot")
    );
    assert!(!log(folder.path()).exists());
    drop((store, data));
    let (store, data) = opened(folder.path());
    assert_eq!((content(&store), store.revision()), (before, revision));
    drop((store, data));

    // A snapshot is whole or an error: nothing of it may be cut off.
    let path = folder.path().join("one").join(&files[1]);
    let mut all = Vec::new();
    File::open(&path).unwrap().read_to_end(&mut all).unwrap();
    for end in [0, 5, all.len() / 2, all.len() - 1] {
        std::fs::write(&path, &all[..end]).unwrap();
        let refused = refusal(folder.path());
        assert!(matches!(refused, DataError::Damaged { .. }), "{refused}");
    }
    std::fs::write(&path, &all).unwrap();
    // And the log after it has to be there.
    std::fs::remove_file(folder.path().join("one").join(&files[0])).unwrap();
    let refused = refusal(folder.path());
    assert!(matches!(refused, DataError::Missing { .. }), "{refused}");
}

#[test]
fn crash_at_any_step_of_a_rotation_is_recovered() {
    let folder = tempfile::tempdir().unwrap();
    let (store, data) = opened(folder.path());
    for name in ["a", "b"] {
        create(&store, name, "1");
    }
    let old = std::fs::read(log(folder.path())).unwrap();
    store.with_journal(|journal| journal.turn_early(1));
    create(&store, "c", "1");
    store.wait_for_snapshot();
    let files = names(folder.path());
    let before = content(&store);
    drop((store, data));

    // The other log has begun, and there is no snapshot yet, or the beginning of one.
    let snapshot = folder.path().join("one").join(&files[1]);
    let all = std::fs::read(&snapshot).unwrap();
    std::fs::remove_file(&snapshot).unwrap();
    let mut whole = old;
    let (entry, mut record) = (before.get("c").unwrap(), Vec::new());
    let mut kept = object("c", "1");
    kept["metadata"]["resourceVersion"] = entry.0.to_string().into();
    let kept = kept.to_string();
    let entry = Entry {
        table: TABLE,
        namespace: "ns",
        name: "c",
        revision: entry.0,
        object: kept.as_bytes(),
    };
    entry.frame(&mut record).unwrap();
    whole.extend_from_slice(&record);
    std::fs::write(log(folder.path()), &whole).unwrap();
    std::fs::write(folder.path().join("one/snapshot.draft"), &all[..20]).unwrap();
    let (store, data) = opened(folder.path());
    assert_eq!(content(&store), before);
    drop((store, data));

    // The snapshot is there, and the old log still is, too.
    std::fs::write(&snapshot, &all).unwrap();
    let (store, _data) = opened(folder.path());
    assert_eq!(content(&store), before);
    assert!(!log(folder.path()).exists());
}

#[test]
fn writes_continue_during_a_snapshot() {
    let folder = tempfile::tempdir().unwrap();
    let (store, data) = opened(folder.path());
    store.with_journal(|journal| journal.turn_early(2_000));
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let store = &store;
            scope.spawn(move || {
                for number in 0..200 {
                    create(store, &format!("o{writer}-{number}"), "x");
                }
            });
        }
    });
    let before = content(&store);
    assert_eq!(before.len(), 800);
    drop((store, data));
    let (store, _data) = opened(folder.path());
    assert_eq!(content(&store), before);
}

#[test]
fn full_disk_refuses_writes() {
    let folder = tempfile::tempdir().unwrap();
    let (store, data) = opened(folder.path());
    create(&store, "a", "1");
    let (before, revision) = (content(&store), store.revision());
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    store.with_journal(|journal| journal.write_to(full));
    let mut follower = store.follow(TABLE, None, revision).unwrap();
    let refused = |name: &str| {
        let write = Write::Create(object(name, "1"));
        store.write(TABLE, &key(name), write).unwrap_err()
    };
    assert_eq!(refused("b"), WriteError::NotPersisted);
    // The disk has space again, but its content is uncertain.
    let file = OpenOptions::new().append(true).open(log(folder.path()));
    store.with_journal(|journal| journal.write_to(file.unwrap()));
    assert_eq!(refused("c"), WriteError::NotPersisted);
    // No watch has seen an unwritten change.
    assert_eq!(
        (content(&store), store.revision()),
        (before.clone(), revision)
    );
    assert!(follower.changes(10).unwrap().is_empty());
    drop((store, data));
    assert_eq!(content(&opened(folder.path()).0), before);
}

#[test]
fn unknown_accept_form_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    drop(opened(folder.path()));
    let path = log(folder.path());
    let title = std::fs::read(&path).unwrap();
    let at = title.windows(8).position(|part| part == b"\"form\":1");
    let at = u64::try_from(at.unwrap()).unwrap() + 7;
    let file = OpenOptions::new().write(true).open(&path).unwrap();
    file.write_all_at(b"2", at).unwrap();
    let mut all = std::fs::read(&path).unwrap();
    let check = crc32fast::hash(&all[12..]).to_le_bytes();
    all[4..8].copy_from_slice(&check);
    let check = crc32fast::hash(&all[..8]).to_le_bytes();
    all[8..12].copy_from_slice(&check);
    std::fs::write(&path, &all).unwrap();
    let refused = refusal(folder.path()).to_string();
    assert!(refused.contains("its form is 2"), "{refused}");
}
