//! What an answer has to be, whatever was asked.

use http::response::Parts;
use serde_json::Value as Json;

/// Holds an answer to what every client relies on: JSON is JSON, an object has a kind, a refusal is a `Status`.
pub(super) fn check(path: &str, parts: &Parts, body: &[u8]) {
    let code = parts.status.as_u16();
    let media = parts.headers.get("content-type");
    let media = media
        .and_then(|media| media.to_str().ok())
        .unwrap_or_default();
    let shown = || String::from_utf8_lossy(body.get(..300).unwrap_or(body)).into_owned();
    if code == 406 && body.is_empty() {
        // A kube-apiserver refuses other formats of this document so, too.
        assert!(
            path.starts_with("/openapi/v2"),
            "{path}: 406 without a Status"
        );
        return;
    }
    if !media.starts_with("application/json") {
        let known = media.starts_with("text/plain") || media.starts_with("application/");
        assert!(known && code < 500, "{code} {media:?}: {}", shown());
        return;
    }
    let Ok(json) = serde_json::from_slice::<Json>(body) else {
        assert!(body.is_empty(), "no JSON: {code} {}", shown());
        return;
    };
    let of = |key: &str| json.get(key).and_then(Json::as_str).unwrap_or_default();
    if code >= 400 {
        let code_in_body = json.get("code").and_then(Json::as_u64);
        let plain = of("kind") == "Status" && of("status") == "Failure";
        assert!(
            plain && code_in_body == Some(code.into()),
            "{code}: {}",
            shown()
        );
    } else if path.starts_with("/api/") || path.starts_with("/apis/") {
        assert!(!of("kind").is_empty(), "no kind: {}", shown());
    }
}

/// Holds the lines of a watch to it: every one that is whole is an event.
pub(super) fn check_lines(lines: &[u8]) {
    let mut whole: Vec<&[u8]> = lines.split(|byte| *byte == b'\n').collect();
    // What comes after the last line's end has not ended yet.
    whole.pop();
    for line in whole {
        let event = serde_json::from_slice::<Json>(line).unwrap_or_default();
        let is = event.get("type").is_some_and(Json::is_string)
            && event.get("object").is_some_and(Json::is_object);
        assert!(is, "no event: {}", String::from_utf8_lossy(line));
    }
}
