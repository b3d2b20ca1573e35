//! Tests of what needs no hub.

use crate::ocm::tag;
use crate::rights::rights;

#[test]
fn tag_of_image_is_behind_its_last_path() {
    for (image, wanted) in [
        ("quay.io/ocm/registration:v1.0.0", Some("v1.0.0")),
        ("localhost:5000/registration", None),
        ("localhost:5000/registration:v1@sha256:00", Some("v1")),
        ("", None),
    ] {
        assert_eq!(tag(image), wanted, "{image}");
    }
}

#[test]
fn rights_are_those_of_the_manifests() {
    for role in [
        "governance-policy-propagator",
        "policy-addon-ctrl-manager-role",
    ] {
        let rights = rights(role).unwrap();
        assert!(rights.len() > 10, "{role}: {rights:?}");
    }
    assert_eq!(rights("nobody"), Ok(vec![]));
}
