//! Writes that the API server refuses.

use super::*;

const STRICT: &str = "Role in version \"v1\" cannot be handled as a Role: strict decoding error: unknown field \"x\"";

#[rstest]
#[case::misspelt(
    Server { dry_run: Some(WriteError::BadRequest(STRICT.to_owned())), ..Server::default() },
    vec![format!("NC | K8s update template error | Error validating the object r, the error is `{STRICT}`")],
    true
)]
#[case::gone(
    Server { dry_run: Some(WriteError::NotFound("gone".to_owned())), ..Server::default() },
    vec![
        format!("NC | {LACKS} | roles [r] found but not as specified in namespace default"),
        "NC | K8s update template error | `Role` is not present and must be created".to_owned(),
    ],
    false
)]
#[case::dry_run_forbidden(
    Server { dry_run: Some(WriteError::Other("no".to_owned())), ..Server::default() },
    vec![
        format!("NC | {LACKS} | roles [r] found but not as specified in namespace default"),
        "NC | K8s update template error | Error issuing a dry run update request for the object `r`, the error is `no`".to_owned(),
    ],
    false
)]
fn updates_that_fail(#[case] server: Server, #[case] expected: Vec<String>, #[case] memo: bool) {
    let desired = desired(MustHave, role(&["get"]));
    let target = target(&desired, Enforce);
    let decision = play(&target, &present(role(&["list"])), &server);
    assert_eq!(texts(&target, &decision), expected);
    // Either the answer holds until something changes, or it has to be tried again.
    assert_eq!(
        (decision.memo.is_some(), decision.failure.is_none()),
        (memo, memo)
    );
}

#[test]
fn update_that_fails_after_its_dry_run() {
    let desired = desired(MustHave, role(&["get"]));
    let target = target(&desired, Enforce);
    let mut without_rules = role(&[]);
    without_rules.as_object_mut().unwrap().remove("rules");
    let server = Server {
        update: Some(WriteError::Other("no".to_owned())),
        ..Server::default()
    };
    let decision = play(&target, &present(without_rules), &server);
    assert_eq!(
        texts(&target, &decision),
        [
            &*format!("NC | {LACKS} | roles [r] found but not as specified in namespace default"),
            "NC | K8s update template error | roles [r] in namespace default failed to update with the error `no`",
        ]
    );
    assert!(decision.memo.is_none() && decision.failure.is_some());
}

#[rstest]
#[case(
    RecreateError::StillThere,
    "roles [r] in namespace default timed out waiting for the object to delete during recreate, will retry on the next policy evaluation"
)]
#[case(RecreateError::Delete(WriteError::Other("no".to_owned())), "roles [r] in namespace default failed to delete when recreating with the error no")]
#[case(RecreateError::Create(WriteError::Other("no".to_owned())), "roles [r] in namespace default failed to recreate with the error `no`")]
fn recreations_that_fail(#[case] failure: RecreateError, #[case] expected: &str) {
    let mut desired = desired(MustHave, role(&["get"]));
    desired.recreate = Recreate::Always;
    let target = target(&desired, Enforce);
    let server = Server {
        recreate: Some(failure),
        ..Server::default()
    };
    let decision = play(&target, &present(role(&["list"])), &server);
    let texts = texts(&target, &decision);
    assert_eq!(
        texts.last().unwrap(),
        &format!("NC | K8s update template error | {expected}")
    );
    assert!(decision.failure.is_some());
}

#[test]
fn failed_creation_reports_reason() {
    let desired = desired(MustHave, role(&["get"]));
    let target = target(&desired, Enforce);
    let refused = WriteError::Other("denied".to_owned());
    let server = Server {
        create: Some(refused),
        ..Server::default()
    };
    let decision = play(&target, &Ok(None), &server);
    assert_eq!(
        texts(&target, &decision).last().unwrap(),
        "NC | K8s creation error | roles [r] in namespace default is missing, and cannot be created, reason: `denied`"
    );
    assert!(decision.failure.is_some());
}

#[test]
fn cfg_93_missing_namespace_is_watched_and_creation_not_reported() {
    let desired = desired(MustHave, role(&["get"]));
    let target = target(&desired, Enforce);
    let refused = WriteError::NoNamespace("namespaces \"default\" not found".to_owned());
    let server = Server {
        create: Some(refused),
        ..Server::default()
    };
    let decision = play(&target, &Ok(None), &server);
    assert!(decision.awaits_namespace && decision.failure.is_none());
    assert_eq!(decision.listed, RelatedEntry::Listed(None));
}

#[test]
fn failed_deletion_reports_reason() {
    let desired = desired(MustNotHave, role(&["get"]));
    let target = target(&desired, Enforce);
    let delete = |refused| {
        let server = Server {
            delete: Some(refused),
            ..Server::default()
        };
        texts(&target, &play(&target, &present(role(&["get"])), &server))
    };
    assert_eq!(
        delete(WriteError::Other("no".to_owned())),
        [
            "NC | K8s deletion error | roles [r] in namespace default exists, and cannot be deleted, reason: `no`"
        ]
    );
    assert!(
        delete(WriteError::NotFound("gone".to_owned()))[0].starts_with("C | K8s deletion success")
    );
}
