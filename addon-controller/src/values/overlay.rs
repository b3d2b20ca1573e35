//! Values as a tree: merges later layers over earlier ones, and reads values with the path in every error.

use serde_json::{Map, Value};

/// Values, by their keys.
pub type Tree = Map<String, Value>;

/// Merges `over` into `base`: maps are merged, everything else replaces, and a null removes the key.
pub fn merge(base: &mut Tree, over: Tree) {
    for (key, value) in over {
        match (base.get_mut(&key), value) {
            (_, Value::Null) => {
                base.remove(&key);
            }
            (Some(Value::Object(below)), Value::Object(above)) => merge(below, above),
            (_, value) => {
                base.insert(key, value);
            }
        }
    }
}

/// A value of the wrong type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the value {path} is {found}, not {expected}")]
pub struct ValueTypeError {
    /// Its keys, with dots between them.
    pub path: String,
    /// The value, shortened.
    pub found: String,
    /// The expected type.
    pub expected: &'static str,
}

/// Reads values out of a tree.
#[derive(Clone, Copy)]
pub struct Reader<'a>(pub &'a Tree);

impl<'a> Reader<'a> {
    /// The value at a path of keys with dots between them; `None` where it is absent.
    pub fn value(self, path: &str) -> Option<&'a Value> {
        let mut keys = path.split('.');
        let first = self.0.get(keys.next()?)?;
        let found = keys.try_fold(first, |value, key| value.get(key))?;
        (!found.is_null()).then_some(found)
    }

    /// A string; numbers and booleans are converted, and an absent value is empty.
    pub fn text(self, path: &str) -> Result<String, ValueTypeError> {
        match self.value(path) {
            None => Ok(String::new()),
            Some(Value::String(text)) => Ok(text.clone()),
            Some(Value::Number(number)) => Ok(number.to_string()),
            Some(Value::Bool(flag)) => Ok(flag.to_string()),
            Some(other) => Err(type_error(path, other, "a text")),
        }
    }

    /// A boolean, or a string with one; absent and empty are false.
    pub fn flag(self, path: &str) -> Result<bool, ValueTypeError> {
        match self.value(path) {
            None => Ok(false),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(Value::String(text)) if text.is_empty() => Ok(false),
            Some(other @ Value::String(text)) => reeve_go_compat::strconv::parse_bool(text)
                .ok_or_else(|| type_error(path, other, "a boolean")),
            Some(other) => Err(type_error(path, other, "a boolean")),
        }
    }

    /// An integer, or a string with one; absent is `default`.
    pub fn number(self, path: &str, default: i64) -> Result<i64, ValueTypeError> {
        match self.value(path) {
            None => Ok(default),
            Some(other @ Value::Number(number)) => number
                .as_i64()
                .ok_or_else(|| type_error(path, other, "a whole number")),
            Some(other @ Value::String(text)) => text
                .parse()
                .map_err(|_| type_error(path, other, "a whole number")),
            Some(other) => Err(type_error(path, other, "a whole number")),
        }
    }

    /// A list; absent is an empty one.
    pub fn list(self, path: &str) -> Result<Vec<Value>, ValueTypeError> {
        match self.value(path) {
            None => Ok(Vec::new()),
            Some(Value::Array(list)) => Ok(list.clone()),
            Some(other) => Err(type_error(path, other, "a list")),
        }
    }

    /// A map; absent is an empty one.
    pub fn map(self, path: &str) -> Result<Tree, ValueTypeError> {
        match self.value(path) {
            None => Ok(Tree::new()),
            Some(Value::Object(map)) => Ok(map.clone()),
            Some(other) => Err(type_error(path, other, "a map")),
        }
    }
}

fn type_error(path: &str, found: &Value, expected: &'static str) -> ValueTypeError {
    ValueTypeError {
        path: path.to_owned(),
        // Values of an annotation are not secret, but may be long.
        found: reeve_runtime::events::at_most(&found.to_string(), 80).to_owned(),
        expected,
    }
}

/// A tree with one value at a path of keys with dots between them.
pub fn at(path: &str, value: impl Into<Value>) -> Tree {
    let mut value = value.into();
    for key in path.rsplit('.') {
        value = Value::Object(Tree::from_iter([(key.to_owned(), value)]));
    }
    match value {
        Value::Object(tree) => tree,
        _ => Tree::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn tree(value: &Value) -> Tree {
        value.as_object().cloned().unwrap_or_default()
    }

    #[test]
    fn maps_merge_lists_replace_and_nulls_remove() {
        let mut base = tree(&json!({"a": {"x": 1, "y": [1, 2]}, "b": 2, "c": {"d": 1}}));
        merge(
            &mut base,
            tree(&json!({"a": {"y": [3]}, "b": null, "c": 5, "e": {"f": null, "g": 1}})),
        );
        // A null in a new map stays, as in Helm; readers treat it as absent.
        let expected = json!({"a": {"x": 1, "y": [3]}, "c": 5, "e": {"f": null, "g": 1}});
        assert_eq!(Value::Object(base), expected);
    }

    #[test]
    fn addon_43_string_false_is_false() {
        let tree = tree(&json!({"a": "false", "b": "T", "c": "maybe", "d": {"e": 1}}));
        let read = Reader(&tree);
        assert_eq!(read.flag("a"), Ok(false));
        assert_eq!(read.flag("b"), Ok(true));
        assert_eq!(read.flag("none"), Ok(false));
        assert_eq!(
            read.flag("c").unwrap_err().to_string(),
            "the value c is \"maybe\", not a boolean"
        );
        assert_eq!(
            read.flag("d.e").unwrap_err().to_string(),
            "the value d.e is 1, not a boolean"
        );
    }

    #[test]
    fn tree_has_one_value_at_path() {
        assert_eq!(Value::Object(at("a.b.c", 1)), json!({"a": {"b": {"c": 1}}}));
    }
}
