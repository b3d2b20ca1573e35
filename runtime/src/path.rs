//! Paths of requests. Names and namespaces come from templates that any user may have written: nothing in them may change which
//! path is asked for.

use std::borrow::Cow;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// All but what a segment holds as it is. Names of Kubernetes have only these.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b':')
    .remove(b'@')
    .remove(b'$')
    .remove(b'&')
    .remove(b'+')
    .remove(b',')
    .remove(b';')
    .remove(b'=');

/// A name or a namespace as a segment of a path: everything that a path does not take is percent-encoded, as client-go does it.
///
/// client-go refuses a slash, a percent sign, `.` and `..` in a segment. Here they are encoded twice: an API server that decodes a
/// path once, and then splits or cleans it, finds no object of such a name.
///
/// ```
/// use reeve_runtime::path::segment;
///
/// assert_eq!(segment("system:node"), "system:node");
/// assert_eq!(segment("<no value>"), "%3Cno%20value%3E");
/// assert_eq!(segment("a?x=1"), "a%3Fx=1");
/// assert_eq!(segment("../b"), "..%252Fb");
/// ```
pub fn segment(name: &str) -> Cow<'_, str> {
    let name = match name {
        "." => Cow::Borrowed("%2E"),
        ".." => Cow::Borrowed("%2E%2E"),
        name if name.contains(['/', '%']) => {
            Cow::Owned(name.replace('%', "%25").replace('/', "%2F"))
        }
        name => Cow::Borrowed(name),
    };
    match name {
        Cow::Borrowed(name) => utf8_percent_encode(name, ESCAPED).into(),
        Cow::Owned(name) => Cow::Owned(utf8_percent_encode(&name, ESCAPED).to_string()),
    }
}

/// The field selector of the objects with a name, as `fields.OneTermEqualSelector` of apimachinery writes it.
///
/// ```
/// use reeve_runtime::path::name_selector;
///
/// assert_eq!(name_selector("web"), "metadata.name=web");
/// assert_eq!(name_selector("a,b=c"), r"metadata.name=a\,b\=c");
/// ```
pub fn name_selector(name: &str) -> String {
    let name = name.replace('\\', r"\\");
    let name = name.replace(',', r"\,").replace('=', r"\=");
    format!("metadata.name={name}")
}

#[cfg(test)]
mod tests {
    use http::Uri;

    use super::*;

    #[test]
    fn every_segment_is_one_segment_of_a_uri() {
        let names = [
            "a", "", " ", ".", "..", "/", "a/b", "../..", "%2e%2e", "%2F", "a?b", "a#b", "<NS>",
            "ä", "\u{0}", "\n", "a\\b", "a;b", "[x]", "{y}", "|", "^", "`", "\"",
        ];
        for name in names {
            let path = format!("/api/v1/namespaces/{}/configmaps", segment(name));
            let uri: Uri = path
                .parse()
                .unwrap_or_else(|error| panic!("{name:?} makes {path}: {error}"));
            assert_eq!(uri.query(), None, "{name:?}");
            let decoded = percent_encoding::percent_decode_str(uri.path()).decode_utf8();
            let decoded = decoded.unwrap();
            assert_eq!(decoded.split('/').count(), 6, "{name:?} makes {decoded}");
            assert!(
                decoded.split('/').all(|part| part != "." && part != ".."),
                "{name:?} makes {decoded}"
            );
        }
    }
}
