//! What a file has and nobody reads: the documents after the first, and null entries of lists.

use reeve_go_compat::value::Value;
use reeve_go_compat::yaml::{self, StructType, Type};

use crate::messages;
use crate::notices::Notices;

/// Warns of all of it. `document` is the first one of the text.
pub(super) fn warn(text: &[u8], document: &Value, of: &StructType, warnings: &mut Notices) {
    // What cannot be read after the first document is not read, either.
    let has_more = yaml::decode_all(text).map_or(true, |documents| {
        documents.iter().skip(1).any(|document| !document.is_nil())
    });
    if has_more {
        warnings.warn(messages::FURTHER_DOCUMENTS.to_owned());
    }
    of_struct(document, of, "", warnings);
}

/// Types have few levels, so this recurses.
fn of_struct(value: &Value, of: &StructType, path: &str, warnings: &mut Notices) {
    let Value::Map(map) = value else { return };
    for field in of.all_fields() {
        let Some(value) = map.get_str(field.key) else {
            continue;
        };
        let path = format!("{path}{}", field.key);
        match (field.of, &value) {
            (Type::Struct(of), value) => of_struct(value, of, &format!("{path}."), warnings),
            (Type::List(Type::Struct(of)), Value::List(items)) => {
                for (index, item) in items.iter().enumerate() {
                    let path = format!("{path}[{index}]");
                    if item.is_nil() {
                        warnings.warn(messages::null_entry(&path));
                    }
                    of_struct(item, of, &format!("{path}."), warnings);
                }
            }
            _ => {}
        }
    }
}
