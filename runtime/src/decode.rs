//! JSON as an API server stores it, decoded however deeply it is nested.
//!
//! A kube-apiserver stores what Go's `encoding/json` reads: documents of up to [`MAX_DEPTH`] levels. `serde_json` stops at
//! 128 by default, so one deep object would make the list that holds it undecodable. Documents of more levels than that
//! are read on a stack that grows.

use std::borrow::Cow;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use kube::api::{Api, ListParams, ObjectList, PartialObjectMeta};
use kube::core::Request;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

/// The most levels of a document that Go's `encoding/json` reads, and so an API server stores.
pub const MAX_DEPTH: usize = 10_000;

/// How much stack a thread needs to drop, clone, compare or serialize objects of [`MAX_DEPTH`] levels, which
/// recurses. Memory is taken only as far as the stack is used.
pub const STACK_BYTES: usize = 256 * 1024 * 1024;

/// Up to here `serde_json` decodes on its own, with some room for the levels that a caller has opened already.
const SHALLOW: usize = 100;

/// Why a document cannot be decoded. It quotes nothing of the document, which may be secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// It is nested more deeply than an API server stores.
    #[error("nested more than {MAX_DEPTH} levels deep")]
    TooDeep,
    /// It is not valid JSON.
    #[error("invalid JSON: {0}")]
    Syntax(String),
    /// It is JSON of another type.
    #[error("{field}: {reason}")]
    Field {
        /// The field, such as `spec.disabled`.
        field: String,
        /// The type that was found and the expected one.
        reason: String,
    },
}

/// Decodes a document.
pub fn from_str<T: DeserializeOwned>(json: &str) -> Result<T, DecodeError> {
    T::deserialize(tree::<Value>(json)?).map_err(|error| located::<T>(json, &error))
}

/// Reads a document into a tree, on a stack that grows where the document is deep.
///
/// Types with fields are decoded from a tree of [`Value`], never from the text: for each deserializer that a type of Kubernetes
/// is decoded with, the program has one more copy of the code of all of its fields.
pub(crate) fn tree<T: DeserializeOwned>(json: &str) -> Result<T, DecodeError> {
    let depth = depth(json.as_bytes());
    let read = if depth <= SHALLOW {
        serde_json::from_str(json)
    } else if depth <= MAX_DEPTH {
        let mut deserializer = serde_json::Deserializer::from_str(json);
        deserializer.disable_recursion_limit();
        T::deserialize(serde_stacker::Deserializer::new(&mut deserializer))
            .and_then(|tree| deserializer.end().map(|()| tree))
    } else {
        return Err(DecodeError::TooDeep);
    };
    read.map_err(|error| DecodeError::of("", &error))
}

/// The error of a document that could not be decoded for this reason, with the field that is not of its type.
pub(crate) fn located<T: DeserializeOwned>(json: &str, error: &serde_json::Error) -> DecodeError {
    // Rare: the second time the field is kept.
    let Ok(tree) = tree::<Value>(json) else {
        return DecodeError::of("", error);
    };
    match serde_path_to_error::deserialize::<_, T>(tree) {
        Ok(_) => DecodeError::of("", error),
        Err(error) => DecodeError::of(&error.path().to_string(), error.inner()),
    }
}

impl DecodeError {
    /// From an error of the library at a path (`.` or empty for the whole document), less what it quotes.
    pub(crate) fn of(path: &str, error: &serde_json::Error) -> Self {
        let message = error.to_string();
        if error.is_syntax() || error.is_eof() {
            return Self::Syntax(message);
        }
        // The field is the position; line and column refer to a text that is not kept.
        let (line, column) = (error.line(), error.column());
        let place = format!(" at line {line} column {column}");
        let reason = without_values(message.strip_suffix(&place).unwrap_or(&message));
        match path {
            "" | "." => Self::Field {
                field: "the object".to_owned(),
                reason,
            },
            field => Self::Field {
                field: field.to_owned(),
                reason,
            },
        }
    }
}

/// A message of `serde` without the value that was found: `invalid type: string "hunter2", expected a boolean` names only
/// its type.
fn without_values(message: &str) -> String {
    // The type writes the expected part, a user the found one: so the last separator counts.
    let Some((found, expected)) = message.rsplit_once(", expected ") else {
        return match message.split_once('`') {
            // "unknown variant `…`" and "unknown field `…`" quote, too; "missing field `…`" names a field of the type.
            Some((what, _)) if what.starts_with("unknown ") => what.trim_end().to_owned(),
            _ => message.to_owned(),
        };
    };
    let kept = ["invalid type: ", "invalid value: ", "invalid length "]
        .into_iter()
        .find_map(|start| Some((start, found.strip_prefix(start)?)));
    match kept {
        Some((start, found)) => {
            let kind = found.split(['"', '`']).next().unwrap_or_default();
            format!("{start}{}, expected {expected}", kind.trim_end())
        }
        None => match found.split_once('`') {
            Some((what, _)) => format!("{}, expected {expected}", what.trim_end()),
            None => message.to_owned(),
        },
    }
}

/// How many levels of arrays and objects are nested in a document. Invalid JSON has some depth, too: decoding it
/// fails later.
fn depth(json: &[u8]) -> usize {
    let (mut now, mut deepest) = (0_usize, 0);
    let mut bytes = json.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'{' | b'[' => {
                now += 1;
                deepest = deepest.max(now);
            }
            b'}' | b']' => now = now.saturating_sub(1),
            b'"' => {
                // A string: brackets in it mean nothing.
                while let Some(byte) = bytes.next() {
                    match byte {
                        b'"' => break,
                        b'\\' => {
                            bytes.next();
                        }
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    deepest
}

/// An object of any depth in answers of an API server, for `Api<AnyDepth<K>>`.
#[derive(Clone, Debug)]
pub struct AnyDepth<K>(pub K);

impl<'de, K: DeserializeOwned> Deserialize<'de> for AnyDepth<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // Taking the text as it is nests nothing.
        let text = Box::<RawValue>::deserialize(deserializer)?;
        from_str(text.get())
            .map(Self)
            .map_err(serde::de::Error::custom)
    }
}

impl<K: Serialize> Serialize for AnyDepth<K> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<K: Resource> Resource for AnyDepth<K> {
    type DynamicType = K::DynamicType;
    type Scope = K::Scope;

    fn kind(dynamic: &K::DynamicType) -> Cow<'_, str> {
        K::kind(dynamic)
    }

    fn group(dynamic: &K::DynamicType) -> Cow<'_, str> {
        K::group(dynamic)
    }

    fn version(dynamic: &K::DynamicType) -> Cow<'_, str> {
        K::version(dynamic)
    }

    fn plural(dynamic: &K::DynamicType) -> Cow<'_, str> {
        K::plural(dynamic)
    }

    fn meta(&self) -> &ObjectMeta {
        self.0.meta()
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        self.0.meta_mut()
    }
}

/// The metadata of all objects of a kind and namespace. `managedFields` of a deep object are as deep as the object.
pub async fn list_metadata<K>(api: &Api<K>) -> Result<Vec<PartialObjectMeta<K>>, kube::Error>
where
    K: Resource + Clone,
{
    let request = Request::new(api.resource_url()).list_metadata(&ListParams::default());
    let request = request.map_err(kube::Error::BuildRequest)?;
    let client = api.clone().into_client();
    let listed: ObjectList<AnyDepth<PartialObjectMeta<K>>> = client.request(request).await?;
    Ok(listed
        .items
        .into_iter()
        .map(|AnyDepth(item)| item)
        .collect())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    fn nested(levels: usize) -> String {
        let half = levels / 2;
        let open = r#"{"a":["#.repeat(half) + if levels % 2 == 1 { "[" } else { "" };
        let close = if levels % 2 == 1 { "]" } else { "" }.to_owned() + &"]}".repeat(half);
        open + "1" + &close
    }

    /// On a stack as the process has it.
    fn on_large_stack(test: impl FnOnce() + Send + 'static) {
        let thread = std::thread::Builder::new().stack_size(STACK_BYTES);
        thread.spawn(test).unwrap().join().unwrap();
    }

    #[rstest]
    #[case(1)]
    #[case(SHALLOW)]
    #[case(SHALLOW + 1)]
    #[case(128)]
    #[case(200)]
    #[case(MAX_DEPTH)]
    fn document_is_decoded_as_deep_as_an_api_server_stores_it(#[case] levels: usize) {
        on_large_stack(move || {
            let text = nested(levels);
            assert_eq!(depth(text.as_bytes()), levels);
            let value: Value = from_str(&text).unwrap();
            // What controllers do with objects.
            assert_eq!(value.clone(), value);
            assert_eq!(value.to_string(), text);
            let typed: AnyDepth<Value> = serde_json::from_str(&text).unwrap();
            assert_eq!(typed.0, value);
        });
    }

    #[rstest]
    #[case(MAX_DEPTH + 1)]
    #[case(1_000_000)]
    fn deeper_document_is_an_error(#[case] levels: usize) {
        for text in [nested(levels), "[".repeat(levels)] {
            let error = from_str::<Value>(&text).unwrap_err();
            assert_eq!(error.to_string(), "nested more than 10000 levels deep");
        }
    }

    #[rstest]
    #[case(
        r#"{"spec": {"disabled": "hunter2, expected a secret"}}"#,
        "spec.disabled: invalid type: string, expected a boolean"
    )]
    #[case(
        r#"{"spec": {"disabled": 7}}"#,
        "spec.disabled: invalid type: integer, expected a boolean"
    )]
    #[case(
        r#"{"spec": []}"#,
        "spec: invalid length 0, expected struct Spec with 2 elements"
    )]
    #[case(
        r#"{"spec": {"disabled": true, "mode": "hunter2"}}"#,
        "spec.mode: unknown variant, expected `a` or `b`"
    )]
    #[case(r#"{"spec": {"disabled": true}}"#, "spec: missing field `mode`")]
    #[case(
        r#""hunter2""#,
        "the object: invalid type: string, expected struct Object"
    )]
    #[case(
        r#"{"spec": hunter2}"#,
        "invalid JSON: expected value at line 1 column 10"
    )]
    #[case(
        r#"{"spec": "#,
        "invalid JSON: EOF while parsing a value at line 1 column 9"
    )]
    fn error_names_the_field_and_quotes_no_value(#[case] text: &str, #[case] want: &str) {
        #[derive(Deserialize, Debug)]
        #[allow(dead_code)]
        struct Object {
            spec: Spec,
        }
        #[derive(Deserialize, Debug)]
        #[allow(dead_code)]
        struct Spec {
            disabled: bool,
            mode: Mode,
        }
        #[derive(Deserialize, Debug)]
        #[serde(rename_all = "lowercase")]
        enum Mode {
            A,
            B,
        }
        assert_eq!(from_str::<Object>(text).unwrap_err().to_string(), want);
    }

    #[test]
    fn brackets_in_strings_are_no_levels() {
        let text = json!({ "a": "[[[[\"{{\\", "b": ["]", { "c\"[": 1 }] }).to_string();
        assert_eq!(depth(text.as_bytes()), 3);
    }

    proptest! {
        #[test]
        fn any_text_is_decoded_as_serde_json_does_or_refused(text in r#"[\[\]{}",:\\a1 ]{0,40}"#) {
            let ours = from_str::<Value>(&text).ok();
            prop_assert_eq!(ours, serde_json::from_str::<Value>(&text).ok());
        }
    }
}
