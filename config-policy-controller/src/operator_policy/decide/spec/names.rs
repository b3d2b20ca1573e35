//! Names that Kubernetes accepts, and the sentences about those that it does not. Pure.

use reeve_go_compat::labels::is_dns_label;

use crate::messages::operator as messages;

const MAX_LABEL: usize = 63;

/// Why a text is not an RFC 1123 label, in the sentences of Kubernetes; empty if it is one.
pub fn label_faults(text: &str) -> Vec<&'static str> {
    let mut faults = Vec::new();
    if text.len() > MAX_LABEL {
        faults.push(messages::TOO_LONG);
    }
    if !is_dns_label(text) {
        let is_subdomain = text.split('.').all(is_dns_label);
        faults.push(if is_subdomain {
            messages::NO_DOTS
        } else {
            messages::LABEL_RULE
        });
    }
    faults
}

/// The label that OLM derives from an operator's Subscription: `<name>.<namespace>`, shortened to what a label may be.
pub fn olm_label(name: &str, namespace: &str) -> String {
    let label: String = format!("{name}.{namespace}")
        .chars()
        .take(MAX_LABEL)
        .collect();
    label.trim_end_matches(['.', '_', '-']).to_owned()
}
