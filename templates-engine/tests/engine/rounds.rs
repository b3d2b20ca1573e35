//! Rounds: a missing read ends a render, the caller makes it, and the template is rendered again.

use std::rc::Rc;

use crate::world::World;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use reeve_templates_engine::ambient::Fixed;
use reeve_templates_engine::lookup::{Needed, Reads, Snapshot};
use reeve_templates_engine::resolver::{Config, Input, Options, Prepared, Resolved, Resolver};

fn prepare(text: &str) -> Prepared {
    let resolver = Resolver::new(Config::default()).expect("whole delimiters");
    resolver
        .prepare(Input::Yaml(text), Options::default())
        .expect("it parses")
}

/// Asks the cluster, as a controller would.
fn fetch(needed: &Needed, snapshot: &mut Snapshot) {
    let world = World::new();
    match needed {
        Needed::Resource { api_version, kind } => {
            let resource = world.resource(api_version, kind).expect("it answers");
            snapshot.insert_resource(api_version, kind, resource);
        }
        Needed::Read(read) => {
            let mut asked = read.clone();
            if !["Secret", "ConfigMap"].contains(&read.kind.as_str()) {
                asked.namespace.clear();
            }
            let found = world.read(&asked).expect("it answers");
            snapshot.insert(read.clone(), found);
        }
    }
}

/// Renders until nothing is missing; with how many renders that took.
fn rounds(prepared: &Prepared, snapshot: &mut Snapshot) -> (Resolved, usize) {
    for round in 1..20 {
        let mut ambient = Fixed::new(Timestamp::UNIX_EPOCH, TimeZone::UTC, 1);
        match prepared.resolve(Rc::new(snapshot.clone()), &mut ambient) {
            Ok(resolved) => return (resolved, round),
            Err(failed) => {
                let needed = failed
                    .needed()
                    .unwrap_or_else(|| panic!("{failed}"))
                    .clone();
                assert!(!snapshot.contains(&needed), "{needed:?} is asked for twice");
                fetch(&needed, snapshot);
            }
        }
    }
    panic!("it does not converge");
}

const TEXT: &str = r#"
a: '{{ fromConfigMap "testns" "testconfigmap" "cmkey1" }}'
b: '{{ fromSecret "testns" "testsecret" "secretkey1" }}'
c: '{{ (lookup "v1" "ConfigMap" "testns" (printf "test%s" "configmap")).data.cmkey2 }}'
d: '{{ len (lookup "v1" "ConfigMap" "testns" "" "app=test").items }}'
e: '{{ fromClusterClaim "env" }}'
"#;

#[test]
fn reads_are_made_one_a_round_until_none_is_missing() {
    let prepared = prepare(TEXT);
    let mut snapshot = Snapshot::new();
    let (resolved, rounds) = rounds(&prepared, &mut snapshot);
    assert_eq!(
        String::from_utf8_lossy(&resolved.json),
        r#"{"a":"cmkey1Val","b":"c2VjcmV0a2V5MVZhbA==","c":"cmkey2Val","d":"2","e":"dev"}"#
    );
    // Three kinds and four reads (one object is read twice) are missing in turn, then nothing.
    assert_eq!(rounds, 8);
    assert_eq!(resolved.reads.len(), 4);
}

#[test]
fn constant_reads_are_known_before_the_first_round() {
    let prepared = prepare(TEXT);
    let needed = prepared.constant_reads();
    let resources = needed
        .iter()
        .take_while(|needed| matches!(needed, Needed::Resource { .. }))
        .count();
    assert_eq!((resources, needed.len()), (3, 7), "kinds come first");
    let mut snapshot = Snapshot::new();
    for needed in &needed {
        fetch(needed, &mut snapshot);
    }
    let (_, rounds) = rounds(&prepared, &mut snapshot);
    // Even the computed name is one that was fetched by its constant twin.
    assert_eq!(rounds, 1);
}

#[test]
fn constant_calls_that_cannot_succeed_are_not_fetched() {
    let prepared = prepare(
        r#"{{ fromSecret "" "" "" }}{{ lookup "" "" "" "" }}{{ fromClusterClaim "" }}{{ fromSecret "a" "b" }}"#,
    );
    assert_eq!(prepared.constant_reads(), []);
}

#[test]
fn recorded_run_replays_byte_for_byte() {
    let prepared = prepare(&format!(
        "{TEXT}\nf: '{{{{ now }}}} {{{{ randAlphaNum 8 }}}} {{{{ uuidv4 }}}} {{{{ shuffle \"abcdef\" }}}}'"
    ));
    let mut snapshot = Snapshot::new();
    let (first, _) = rounds(&prepared, &mut snapshot);
    let (second, renders) = rounds(&prepared, &mut snapshot);
    assert_eq!(renders, 1);
    assert_eq!(first.json, second.json);
}
