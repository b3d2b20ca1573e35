//! Values for a target with a Go type: what `yaml.v3` does for structs, with `KnownFields(true)`.
//!
//! Types have few levels, so this recurses; what is below a free map is decoded by the stack of the untyped decoder.

use std::collections::HashSet;

use super::{Decoder, Outcome, Target, missing};
use crate::value::{Element, Key, Map, Value};
use crate::yaml::compose::{Document, Node, NodeId, Shape};
use crate::yaml::error::YamlError;
use crate::yaml::resolve::{MERGE, Meaning};

/// The type of a place, as Go declares it.
#[derive(Clone, Copy, Debug)]
pub enum Type {
    /// `string`; takes the text of any scalar.
    Text,
    /// `bool`; takes the words of YAML 1.1, too.
    Bool,
    /// `map[string]string`
    TextMap,
    /// `map[string]interface {}`
    AnyMap,
    /// A slice.
    List(&'static Self),
    /// A struct.
    Struct(&'static StructType),
}

/// A Go struct.
#[derive(Debug)]
pub struct StructType {
    /// Its name with the package, as errors print it.
    pub name: &'static str,
    /// The structs whose fields are its own, too. They are declared before those of its own.
    pub inlined: &'static [&'static Self],
    /// The fields of its own in the order of declaration.
    pub fields: &'static [Field],
}

impl StructType {
    /// All fields in the order of declaration.
    pub fn all_fields(&self) -> impl Iterator<Item = &'static Field> {
        let inlined = self.inlined.iter().flat_map(|of| of.fields);
        inlined.chain(self.fields)
    }
}

/// A field of a struct.
#[derive(Debug)]
pub struct Field {
    /// Its YAML key.
    pub key: &'static str,
    /// Its type.
    pub of: Type,
}

impl Type {
    /// The type as errors print it.
    pub fn name(&self) -> String {
        match self {
            Self::Text => "string".to_owned(),
            Self::Bool => "bool".to_owned(),
            Self::TextMap => "map[string]string".to_owned(),
            Self::AnyMap => "map[string]interface {}".to_owned(),
            Self::List(element) => format!("[]{}", element.name()),
            Self::Struct(of) => of.name.to_owned(),
        }
    }
}

/// The fields that an entry has set, and merged mappings must not set again.
type Set = HashSet<String>;

/// What the entries of a mapping are.
#[derive(Clone, Copy)]
enum Entries {
    /// The fields of a struct.
    Fields(&'static StructType),
    /// Texts by any key.
    Texts,
}

impl Entries {
    /// The type of the value of a key; `None` if there is no such key.
    fn value_type(self, key: &str) -> Option<Type> {
        match self {
            Self::Fields(of) => Some(of.all_fields().find(|field| field.key == key)?.of),
            Self::Texts => Some(Type::Text),
        }
    }

    fn name(self) -> String {
        match self {
            Self::Fields(of) => of.name.to_owned(),
            Self::Texts => Type::TextMap.name(),
        }
    }
}

/// Decodes a document from its root.
pub(in crate::yaml) fn decode_typed(document: &Document, of: Type) -> Result<Value, YamlError> {
    let mut decoder = Decoder::new(document, None);
    let value = decoder.typed(0, of)?;
    decoder.end(value)
}

impl<'d> Decoder<'d, '_> {
    fn typed(&mut self, id: NodeId, of: Type) -> Result<Outcome, YamlError> {
        self.count()?;
        let node = self.node(id)?;
        match (&node.shape, of) {
            (Shape::Alias(name, to), _) => {
                if !self.aliases.insert(id) {
                    let text = format!("anchor '{name}' value contains itself");
                    return Err(YamlError::Text(text));
                }
                self.alias_depth += 1;
                let outcome = self.typed(*to, of)?;
                self.alias_depth -= 1;
                self.aliases.remove(&id);
                Ok(outcome)
            }
            (Shape::Scalar(text, _), _) => self.typed_scalar(node, text, of),
            (Shape::Sequence(items), Type::List(element)) => {
                let mut values = Vec::with_capacity(items.len());
                for item in items {
                    match self.typed(*item, *element)? {
                        // A nil map is an item; other types drop null.
                        None if self.is_null_map(*item, *element)? => values.push(Value::Nil),
                        outcome => values.extend(outcome),
                    }
                }
                Ok(Some(Value::list(values)))
            }
            (Shape::Mapping(children), Type::Struct(of)) => {
                let (map, mut set) = (Map::dict(), Set::new());
                let is_whole = self.entries(children, Entries::Fields(of), &map, &mut set)?;
                Ok(is_whole.then_some(Value::Map(map)))
            }
            (Shape::Mapping(children), Type::TextMap) => {
                let (map, mut set) = (Map::typed(Element::Str, Element::Str), Set::new());
                let is_whole = self.entries(children, Entries::Texts, &map, &mut set)?;
                Ok(is_whole.then_some(Value::Map(map)))
            }
            (Shape::Mapping(_), Type::AnyMap) => self.run(id, Target::Into(Map::dict())),
            (Shape::Sequence(_), _) => {
                self.mismatch(node, "!!seq", &of.name());
                Ok(None)
            }
            (Shape::Mapping(_), _) => {
                self.mismatch(node, "!!map", &of.name());
                Ok(None)
            }
        }
    }

    fn typed_scalar(&mut self, node: &Node, text: &str, of: Type) -> Result<Outcome, YamlError> {
        let (tag, meaning) = self.meaning(node, text)?;
        let value = match (of, meaning) {
            (_, Meaning::Null) => return Ok(None),
            (Type::Text, _) => return self.scalar(node, text, &Target::Text),
            (Type::Bool, Meaning::Bool(value)) => Some(value),
            (Type::Bool, Meaning::Text) => word(text),
            _ => None,
        };
        if value.is_none() {
            self.mismatch(node, &tag, &of.name());
        }
        Ok(value.map(Value::Bool))
    }

    fn is_null_map(&self, id: NodeId, of: Type) -> Result<bool, YamlError> {
        if !matches!(of, Type::AnyMap | Type::TextMap) {
            return Ok(false);
        }
        let node = self.node(id)?;
        let node = match node.shape {
            Shape::Alias(_, to) => self.node(to)?,
            _ => node,
        };
        let Shape::Scalar(text, _) = &node.shape else {
            return Ok(false);
        };
        Ok(matches!(self.meaning(node, text)?.1, Meaning::Null))
    }

    /// Decodes the entries of a mapping into a map. Answers whether the mapping has no key twice.
    fn entries(
        &mut self,
        children: &'d [NodeId],
        of: Entries,
        map: &Map,
        set: &mut Set,
    ) -> Result<bool, YamlError> {
        if self.note_duplicates(children)? {
            return Ok(false);
        }
        let mut merged = None;
        for (key, value) in pairs(children) {
            let node = self.node(key)?;
            if node.tag == MERGE {
                merged = Some(value);
                continue;
            }
            let Some(Value::Str(name)) = self.typed(key, Type::Text)? else {
                continue;
            };
            let Some(value_type) = of.value_type(&name.lossy()) else {
                let (line, name, type_name) = (node.line, name.lossy(), of.name());
                self.error(|| format!("line {line}: field {name} not found in type {type_name}"));
                continue;
            };
            if !set.insert(name.lossy().into_owned()) {
                continue;
            }
            let noted = self.errors.len();
            match self.typed(value, value_type)? {
                Some(value) => map.insert(Key::Str(name), value),
                // A null entry of a map of texts is empty text.
                None if matches!(of, Entries::Texts) && self.errors.len() == noted => {
                    map.insert(Key::Str(name), Value::str(""))
                }
                None => false,
            };
        }
        for source in self.merge_sources(merged)? {
            self.entries(source, of, map, set)?;
        }
        Ok(true)
    }

    /// The mappings that the value of `<<` names.
    fn merge_sources(&self, merged: Option<NodeId>) -> Result<Vec<&'d [NodeId]>, YamlError> {
        let Some(merged) = merged else {
            return Ok(Vec::new());
        };
        let ids = match &self.node(merged)?.shape {
            Shape::Sequence(items) => items.clone(),
            _ => vec![merged],
        };
        ids.into_iter().map(|id| self.merge_source(id)).collect()
    }

    fn merge_source(&self, id: NodeId) -> Result<&'d [NodeId], YamlError> {
        let node = self.node(id)?;
        let node = match node.shape {
            Shape::Alias(_, to) => self.document.node(to).ok_or_else(missing)?,
            _ => node,
        };
        match &node.shape {
            Shape::Mapping(children) => Ok(children),
            _ => Err(super::mapping::no_map()),
        }
    }
}

/// The keys and values of a mapping.
fn pairs(children: &[NodeId]) -> impl Iterator<Item = (NodeId, NodeId)> {
    children.chunks_exact(2).filter_map(|pair| match pair {
        [key, value] => Some((*key, *value)),
        _ => None,
    })
}

/// The words that YAML 1.1 has for booleans, which only a place of type `bool` takes.
fn word(text: &str) -> Option<bool> {
    match text {
        "y" | "Y" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" => Some(true),
        "n" | "N" | "no" | "No" | "NO" | "off" | "Off" | "OFF" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml::decode_typed;

    const INNER: StructType = StructType {
        name: "types.Inner",
        inlined: &[],
        fields: &[
            Field {
                key: "path",
                of: Type::Text,
            },
            Field {
                key: "patches",
                of: Type::List(&Type::AnyMap),
            },
        ],
    };
    const NAMED: StructType = StructType {
        name: "types.Named",
        inlined: &[],
        fields: &[Field {
            key: "name",
            of: Type::Text,
        }],
    };
    const OUTER: StructType = StructType {
        name: "types.Outer",
        inlined: &[&NAMED],
        fields: &[
            Field {
                key: "disabled",
                of: Type::Bool,
            },
            Field {
                key: "labels",
                of: Type::TextMap,
            },
            Field {
                key: "tags",
                of: Type::List(&Type::Text),
            },
            Field {
                key: "items",
                of: Type::List(&Type::Struct(&INNER)),
            },
        ],
    };

    fn read(text: &str) -> String {
        match decode_typed(text.as_bytes(), Type::Struct(&OUTER)) {
            Ok(Some(value)) => {
                let json = crate::json::encode(&value, crate::json::Escape::Html).unwrap();
                String::from_utf8_lossy(&json).into_owned()
            }
            Ok(None) => "EOF".to_owned(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn text_takes_any_scalar_and_bool_takes_words() {
        assert_eq!(
            read("name: 5\ndisabled: Yes"),
            r#"{"disabled":true,"name":"5"}"#
        );
        assert_eq!(
            read("name: 2024-01-02\ndisabled: \"off\""),
            r#"{"disabled":false,"name":"2024-01-02"}"#
        );
        assert_eq!(read("name: null\ndisabled: ~"), "{}");
        assert_eq!(
            read("disabled: yEs"),
            "yaml: unmarshal errors:\n  line 1: cannot unmarshal !!str `yEs` into bool"
        );
    }

    #[test]
    fn errors_come_in_the_order_of_the_document() {
        let text = "nam: x\ntags: foo\nitems: {a: b}\nlabels: [a]\nname: a\n";
        assert_eq!(
            read(text),
            "yaml: unmarshal errors:\n  line 1: field nam not found in type types.Outer\n  line 2: cannot unmarshal !!str `foo` into []string\n  line 3: cannot unmarshal !!map into []types.Inner\n  line 4: cannot unmarshal !!seq into map[string]string"
        );
        assert_eq!(
            read("name: a\nname: b"),
            "yaml: unmarshal errors:\n  line 2: mapping key \"name\" already defined at line 1"
        );
    }

    #[test]
    fn null_items_are_dropped_but_null_maps_stay() {
        assert_eq!(
            read("tags: [a, null, b]\nitems: [null, {path: p, patches: [null, {a: {b: 2}}]}]"),
            r#"{"items":[{"patches":[null,{"a":{"b":2}}],"path":"p"}],"tags":["a","b"]}"#
        );
    }

    #[test]
    fn merge_keys_set_what_is_not_set() {
        let text =
            "items: [&a {path: one, patches: []}, {<<: *a, path: two}]\nlabels: {a: null, b: 1}";
        assert_eq!(
            read(text),
            r#"{"items":[{"patches":[],"path":"one"},{"patches":[],"path":"two"}],"labels":{"a":"","b":"1"}}"#
        );
        assert_eq!(read(""), "EOF");
        assert_eq!(
            read("items: [{<<: 1}]"),
            "yaml: map merge requires map or sequence of maps as the value"
        );
    }
}
