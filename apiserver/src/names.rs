//! The rules for names, with the texts that a kube-apiserver gives. Those for keys and values of labels are in [`reeve_go_compat::labels`].

/// The longest name of an object whose name is a subdomain.
const SUBDOMAIN_LENGTH: usize = 253;
/// The longest label.
const LABEL_LENGTH: usize = 63;

const LABEL_RULE: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and \
    must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is \
    '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const LABEL_1035_RULE: &str = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with \
    an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for \
    validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
const SUBDOMAIN_RULE: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' \
    or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
    '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const SEARCH_RULE: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' \
    or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
    '_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*')";
const CONFIG_KEY_RULE: &str = "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. \
    'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";

fn too_long(most: usize) -> String {
    format!("must be no more than {most} characters")
}

fn lower(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit()
}

/// Whether the ends are of one kind and the middle of another; not empty.
fn made_of(
    text: &str,
    first: impl Fn(u8) -> bool,
    middle: impl Fn(u8) -> bool,
    last: impl Fn(u8) -> bool,
) -> bool {
    let bytes = text.as_bytes();
    match (bytes.first(), bytes.last()) {
        (Some(start), Some(end)) => {
            first(*start) && last(*end) && bytes.iter().all(|byte| middle(*byte))
        }
        _ => false,
    }
}

fn is_label(text: &str) -> bool {
    made_of(text, lower, |byte| lower(byte) || byte == b'-', lower)
}

/// Validates a label as DNS has it (RFC 1123), such as a namespace's name.
pub fn label(text: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if text.len() > LABEL_LENGTH {
        errors.push(too_long(LABEL_LENGTH));
    }
    if !is_label(text) {
        errors.push(if text.split('.').all(is_label) {
            "must not contain dots".to_owned()
        } else {
            LABEL_RULE.to_owned()
        });
    }
    errors
}

/// Validates a label as DNS had it first (RFC 1035), such as a service's name.
pub fn label_1035(text: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if text.len() > LABEL_LENGTH {
        errors.push(too_long(LABEL_LENGTH));
    }
    let letter = |byte: u8| byte.is_ascii_lowercase();
    if !made_of(text, letter, |byte| lower(byte) || byte == b'-', lower) {
        errors.push(LABEL_1035_RULE.to_owned());
    }
    errors
}

/// Validates a subdomain, such as most objects' names.
pub fn subdomain(text: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if text.len() > SUBDOMAIN_LENGTH {
        errors.push(too_long(SUBDOMAIN_LENGTH));
    }
    if !text.split('.').all(is_label) {
        errors.push(SUBDOMAIN_RULE.to_owned());
    }
    errors
}

/// Validates a domain that names are searched in.
pub fn search_domain(text: &str) -> Vec<String> {
    let inner = |byte: u8| lower(byte) || byte == b'-' || byte == b'_';
    let part = |part: &str| {
        let part = part.strip_prefix('_').unwrap_or(part);
        made_of(part, lower, inner, lower)
    };
    let text = text.strip_suffix('.').unwrap_or(text);
    if text.split('.').all(part) {
        Vec::new()
    } else {
        vec![SEARCH_RULE.to_owned()]
    }
}

/// Validates a name that is a part of a path.
pub fn path_segment(text: &str) -> Vec<String> {
    if text == "." || text == ".." {
        return vec![format!("may not be '{text}'")];
    }
    ["/", "%"]
        .into_iter()
        .filter(|sign| text.contains(sign))
        .map(|sign| format!("may not contain '{sign}'"))
        .collect()
}

fn word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
}

fn wordy(byte: u8) -> bool {
    word(byte) || b"-_.".contains(&byte)
}

/// Validates a key of a ConfigMap or Secret.
pub fn config_key(text: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if text.len() > SUBDOMAIN_LENGTH {
        errors.push(too_long(SUBDOMAIN_LENGTH));
    }
    if !made_of(text, wordy, wordy, wordy) {
        errors.push(CONFIG_KEY_RULE.to_owned());
    } else if text == "." || text == ".." {
        errors.push(format!("must not be '{text}'"));
    } else if text.starts_with("..") {
        errors.push("must not start with '..'".to_owned());
    }
    errors
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn valid_names_are_accepted() {
        assert!(label("a-1").is_empty());
        assert!(label_1035("a-1").is_empty());
        assert!(subdomain("a.b-c.1").is_empty());
        assert!(config_key(".a").is_empty());
    }

    #[test]
    fn invalid_names_are_reported() {
        assert_eq!(label("A"), [LABEL_RULE]);
        assert_eq!(label_1035("1a"), [LABEL_1035_RULE]);
        assert_eq!(subdomain("a..b"), [SUBDOMAIN_RULE]);
        assert_eq!(
            subdomain(&"a".repeat(254)),
            ["must be no more than 253 characters"]
        );
        assert_eq!(config_key("..a"), ["must not start with '..'"]);
        assert_eq!(
            path_segment("a/b%"),
            ["may not contain '/'", "may not contain '%'"]
        );
    }
}
