//! All texts at once, as users see them. A change here is a change that scripts and people notice.

use reeve_runtime::object::ObjectKey;

use super::*;

const REASONS: [Reason; 8] = [
    Reason::FoundAsExpected,
    Reason::Created,
    Reason::Updated,
    Reason::Deleted,
    Reason::Missing,
    Reason::Mismatched,
    Reason::AbsentAsExpected,
    Reason::Unexpected,
];

#[test]
fn reasons_and_phrases() {
    let lines: Vec<String> = REASONS
        .iter()
        .map(|reason| {
            let phrase = phrase(reason).unwrap_or_default();
            format!(
                "{} | {} | {phrase}",
                related_reason(reason),
                condition_reason(reason)
            )
        })
        .collect();
    insta::assert_snapshot!("reasons_and_phrases", lines.join("\n"));
    let reasons = [
        INVALID_SPEC,
        TEMPLATE_ERROR,
        HUB_TEMPLATE_FAILURE,
        DECODE_ERROR,
        MISSING_NAMESPACE,
        NAMESPACE_SELECTOR_ERROR,
        K8S_ERROR,
        UNWATCHABLE,
        API_ERROR,
        CREATION_ERROR,
        CREATED_STATUS_UNCHECKED,
        DELETION_ERROR,
        UPDATE_ERROR,
        NO_TEMPLATES_REASON,
        OBJECT_SELECTOR_ERROR,
        ENCRYPTION_ERROR,
        CLEANUP_ERROR,
    ];
    insta::assert_snapshot!("reasons_of_problems", reasons.join("\n"));
}

#[test]
fn templates_and_encryption() {
    let texts = [
        NO_REMEDIATION_ACTION.to_owned(),
        NAMESPACE_UNREADABLE.to_owned(),
        HUB_TEMPLATES_NEED_ADDON.to_owned(),
        no_managed_cluster("c1"),
        hub_resolution_unreadable("<err>"),
        INVALID_KEY.to_owned(),
        INVALID_VECTOR.to_owned(),
        vector_not_base64("<err>"),
        key_unreadable("managed", "<err>"),
        unwatchable_template("<err>"),
        raw_unparsable("<err>"),
        raw_no_list("<err>"),
        null_template(2),
        RAW_DISABLED.to_owned(),
        OTHER_NAMESPACE.to_owned(),
        OTHER_NAME.to_owned(),
        no_namespace_resolved("a", "Pod"),
        no_namespace_resolved("", "Pod"),
        no_namespace("a", "Pod"),
        no_namespace("", "Pod"),
        namespace_selector_error("<err>"),
        selector_unparsable(1, "<err>"),
        unlisted(1, "<err>"),
        unwatchable_list(1, "<err>"),
        all_skipped("Pod"),
        none_selected("Pod"),
        none_matched("Pod"),
        missing_as_expected("pods", &["a", "b"]),
        missing_as_expected("nodes", &[]),
        undecodable(1, "p", "<err>"),
        kind_and_version_required(1, "p"),
        unknown_compliance_type(1, "maybe"),
        no_mapping("Thing", "example.com/v1"),
        no_templates("p"),
    ];
    insta::assert_snapshot!("templates_and_encryption", texts.join("\n"));
}

#[test]
fn objects() {
    let object = object_name("pods", "a", "n");
    let fault = |key: Option<&str>| not_a_string_map(key, "1", "int64");
    let texts = [
        about_objects(
            "pods",
            &["a", "b"],
            &format!("not found{}", in_namespaces(&["n"])),
        ),
        about_objects(
            "pods",
            &[],
            &format!("not found{}", in_namespaces(&["n", "m"])),
        ),
        object_name("nodes", "a", ""),
        unwatchable(1, "<err>"),
        unreadable(1, "<err>"),
        cannot_create(&object, "<err>"),
        created_status_unchecked(&object),
        cannot_delete(&object, "<err>"),
        validation_error("a", "strict decoding error: unknown field \"x\""),
        gone("Pod"),
        dry_run_error("a", "<err>"),
        immutable(&object),
        cannot_update(&object, "<err>"),
        cannot_recreate(&object, "<err>"),
        cannot_delete_to_recreate(&object, "<err>"),
        recreate_timed_out(&object),
        different_types("spec"),
        SECRET_DATA.to_owned(),
        secret_decode("s"),
        fault(Some("k")),
        fault(None),
        unverified("<err>"),
        UNVERIFIED_NOTE.to_owned(),
        cannot_prune(&pruned_object("", "v1", "Pod", ("n", "a"))),
        cannot_prune(&pruned_object("apps", "v1", "Deployment", ("n", "a"))),
    ];
    insta::assert_snapshot!("objects", texts.join("\n"));
}

#[test]
fn diffs() {
    let (policy, object) = (ObjectKey::new("managed", "p"), ObjectKey::new("n", "a"));
    let texts = [
        DIFF_REDACTED.to_owned(),
        diff_existing("n/a"),
        diff_updated("n/a"),
        diff_truncated(50, 68),
        logged_diff(
            "--- n/a : existing\n+++ n/a : updated\n",
            &policy,
            &object,
            "pods",
        ),
    ];
    insta::assert_snapshot!("diffs", texts.join("\n"));
}

#[test]
fn statuses_and_events() {
    let texts = [
        NEVER_AGAIN_COMPLIANT.to_owned(),
        NEVER_AGAIN_NONCOMPLIANT.to_owned(),
        STATE_UNKNOWN.to_owned(),
        TRUNCATED.to_owned(),
        format!("{} | {}", STATUS_EVENT.0, STATUS_EVENT.1),
        status_note("Compliant", "<messages>"),
        INFO_EVENT.to_owned(),
        info_action("p"),
        custom_message_failed("<default>", "failed to parse custom template: <err>"),
    ];
    insta::assert_snapshot!("statuses_and_events", texts.join("\n"));
}
