//! Tests of results.

use super::shorten::short;

#[test]
fn reason_of_unresolved_template_begins_with_its_cause() {
    for (message, wanted) in [
        (
            "NonCompliant; violation - failed to resolve the template {{- range (lookup \"v1\" \"A\" \"\" \"\").items }} {{- end }}\n: \
             template: tmpl:2:11: executing \"tmpl\" at <lookup \"v1\" \"A\" \"\" \"\">: error calling lookup: one or more API \
             resources are not installed on the API server",
            "one or more API resources are not installed on the API server (template line 2: lookup \"v1\" \"A\" \"\" \"\")",
        ),
        (
            "failed to resolve the template: template: tmpl:12:23: executing \"tmpl\" at <fail \"no: name\">: error calling fail: no: name",
            "no: name (template line 12: fail \"no: name\")",
        ),
        (
            "failed to resolve the template {{ x }}: template: tmpl:1: function \"x\" not defined",
            "function \"x\" not defined (template line 1)",
        ),
        (
            "failed to resolve the template {{ .a.b }}: template: tmpl:1:5: executing \"tmpl\" at <.a.b>: nil pointer evaluating interface {}.b",
            "nil pointer evaluating interface {}.b (template line 1: .a.b)",
        ),
        (
            "violation - namespaces [prod] not found",
            "namespaces [prod] not found",
        ),
    ] {
        assert_eq!(short(message), wanted);
    }
}
