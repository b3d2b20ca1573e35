//! Tests of cached refusals.

use std::sync::Arc;
use std::time::Duration;

use kube::core::{ApiResource, Status};
use tokio::time::Instant;

use super::{Answer, Index, Limits, Lost, Output, Source, Target};
use crate::dependencies::watched::Versioned;
use crate::object::ObjectKey;

const REMEMBERED: Duration = Duration::from_secs(10);

/// An object without content.
pub(super) struct Thing;

impl Versioned for Thing {
    fn key(&self) -> ObjectKey {
        ObjectKey::default()
    }

    fn version(&self) -> (Option<&str>, Option<&str>) {
        (None, None)
    }

    fn label(&self, _: &str) -> Option<&str> {
        None
    }
}

pub(super) fn object(name: &str) -> Target {
    Target::Object {
        kind: Arc::new(ApiResource {
            group: String::new(),
            version: "v1".to_owned(),
            api_version: "v1".to_owned(),
            kind: "Thing".to_owned(),
            plural: "things".to_owned(),
        }),
        key: ObjectKey::new("n", name),
    }
}

fn refused(code: u16) -> Lost {
    let status = Status::failure("no", "").with_code(code);
    Lost::Refused(Arc::new(kube::Error::Api(Box::new(status))))
}

/// The watches that the index opens.
fn opened(index: &mut Index<u8, Thing>) -> Vec<Source> {
    let outputs = index.outputs().into_iter();
    outputs
        .filter_map(|output| match output {
            Output::Start(source) => Some(source),
            Output::Stop(_) | Output::Enqueue(_) => None,
        })
        .collect()
}

/// An index after a refusal of an object, with this code.
fn after_refusal(code: u16, now: Instant) -> Index<u8, Thing> {
    let mut index = Index::new(Limits::default(), now);
    index.remembers = REMEMBERED;
    index.begin(&0);
    assert!(matches!(index.read(&0, &object("a")), Answer::Pending));
    let asked = opened(&mut index);
    let [source] = asked.as_slice() else {
        panic!("{asked:?}")
    };
    index.lost(source, &refused(code));
    assert!(matches!(index.read(&0, &object("a")), Answer::Lost(_)));
    index
}

#[test]
fn refusal_answers_all_readers_for_a_while_without_another_request() {
    let now = Instant::now();
    let mut index = after_refusal(403, now);
    for reader in 0..100 {
        index.begin(&reader);
        let answer = index.read(&reader, &object("a"));
        assert!(matches!(answer, Answer::Lost(_)), "reader {reader}");
    }
    assert_eq!(opened(&mut index), [], "the API server is asked again");
    assert!(matches!(index.read(&0, &object("b")), Answer::Pending));
    assert_eq!(opened(&mut index).len(), 1, "nobody refused the other one");
    index.tick(now + REMEMBERED);
    assert!(matches!(index.read(&1, &object("a")), Answer::Pending));
    assert!(matches!(index.read(&2, &object("a")), Answer::Pending));
    assert_eq!(opened(&mut index).len(), 1, "once for all readers");
}

#[test]
fn invalid_credential_is_not_cached_as_refusal() {
    let mut index = after_refusal(401, Instant::now());
    index.begin(&1);
    assert!(matches!(index.read(&1, &object("a")), Answer::Pending));
    assert_eq!(opened(&mut index).len(), 1);
}
