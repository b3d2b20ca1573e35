//! The three kinds of patches that change an object on the server: JSON patches, merge patches and strategic merge
//! patches. What they make is not checked here.

mod json;
mod merge;
mod strategic;
#[cfg(test)]
mod tests;

pub use json::json_patch;
pub use merge::merge_patch;
pub use strategic::strategic;

use serde_json::Value;

use crate::json::{self as json_of, JsonError};
use crate::status_error::{Cause, FieldError, GroupResource, StatusError};

/// The server's answer to a patch that makes an object it cannot read. `shown` is what it shows: of strategic patches
/// the patch as Go prints it, of the others the object that came out, as JSON.
pub fn unreadable(shown: &str, error: &str) -> StatusError {
    let shown = Value::String(shown.to_owned());
    let error = FieldError::of_value(Cause::Invalid, "patch", &shown, error);
    StatusError::invalid(&GroupResource::default(), "", &[error])
}

/// The server's answer to a patch that makes an object deeper than any that can be read.
pub fn too_deep(made: &Value) -> Option<StatusError> {
    let error = JsonError::TooDeep(json_of::too_deep(made)?);
    let why = format!("couldn't get version/kind; json parse error: {error}");
    Some(unreadable(&made.to_string(), &why))
}

/// Parses the body of a patch, with the errors of Go. Of JSON and merge patches it is answered after
/// `error decoding patch: `, of strategic ones as it is.
pub fn parse(body: &[u8]) -> Result<Value, String> {
    json_of::parse(body).map_err(|error| {
        let JsonError::Syntax(error) = error else {
            return error.to_string();
        };
        if error.is_eof() {
            return "unexpected end of JSON input".to_owned();
        }
        let line = body
            .split(|byte| *byte == b'\n')
            .nth(error.line().saturating_sub(1));
        let at = line.and_then(|line| line.get(error.column().saturating_sub(1)));
        match at {
            Some(byte) => format!(
                "invalid character '{}' looking for beginning of value",
                char::from(*byte)
            ),
            None => "invalid JSON".to_owned(),
        }
    })
}

/// The patch is not what it should be: 400.
fn undecodable(error: &str) -> StatusError {
    StatusError::bad_request(format!("error decoding patch: {error}"))
}

/// The patch fails: 422 without a further reason.
fn rejected() -> StatusError {
    StatusError {
        code: 422,
        reason: "Invalid".into(),
        message: "the server rejected our request due to an error in our request".to_owned(),
        details: Some(Value::Object(serde_json::Map::new())),
    }
}
