//! Reads the model from what an API server publishes and from definitions of custom resources.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::MAX_DEPTH;
use super::go;
use super::model::{
    Additional, Checks, Edge, ListType, Node, Rule, Special, TypeId, Types, ValueType,
};

const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

/// Why a schema cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum SchemaError {
    /// It is no object.
    #[error("the schema is not an object")]
    NotAnObject,
    /// It is nested too deep.
    #[error("the schema is nested deeper than {MAX_DEPTH} levels")]
    TooDeep,
}

/// The schema of `ObjectMeta` and what it consists of.
pub fn root_metadata() -> Value {
    let text = json!({ "type": "string" });
    let number = json!({ "type": "integer", "format": "int64" });
    let time = json!({ "$ref": "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.Time" });
    let texts =
        json!({ "type": "object", "additionalProperties": { "type": "string", "default": "" } });
    json!({
        "io.k8s.apimachinery.pkg.apis.meta.v1.Time": { "type": "string", "format": "date-time" },
        "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1": { "type": "object" },
        "io.k8s.apimachinery.pkg.apis.meta.v1.OwnerReference": {
            "type": "object", "x-kubernetes-map-type": "atomic",
            "required": ["apiVersion", "kind", "name", "uid"],
            "properties": {
                "apiVersion": { "type": "string", "default": "" }, "kind": { "type": "string", "default": "" },
                "name": { "type": "string", "default": "" }, "uid": { "type": "string", "default": "" },
                "blockOwnerDeletion": { "type": "boolean" }, "controller": { "type": "boolean" },
            },
        },
        "io.k8s.apimachinery.pkg.apis.meta.v1.ManagedFieldsEntry": {
            "type": "object",
            "properties": {
                "apiVersion": text, "fieldsType": text, "manager": text, "operation": text, "subresource": text,
                "time": time,
                "fieldsV1": { "$ref": "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1" },
            },
        },
        OBJECT_META: {
            "type": "object",
            "properties": {
                "annotations": texts, "labels": texts,
                "creationTimestamp": time, "deletionTimestamp": time,
                "deletionGracePeriodSeconds": number, "generation": number,
                "finalizers": {
                    "type": "array", "items": { "type": "string", "default": "" },
                    "x-kubernetes-list-type": "set", "x-kubernetes-patch-strategy": "merge",
                },
                "generateName": text, "name": text, "namespace": text, "resourceVersion": text, "selfLink": text,
                "uid": text,
                "managedFields": {
                    "type": "array", "x-kubernetes-list-type": "atomic",
                    "items": { "default": {},
                        "$ref": "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ManagedFieldsEntry" },
                },
                "ownerReferences": {
                    "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["uid"],
                    "x-kubernetes-patch-merge-key": "uid", "x-kubernetes-patch-strategy": "merge",
                    "items": { "default": {},
                        "$ref": "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.OwnerReference" },
                },
            },
        },
    })
}

impl Types {
    /// Reads `components.schemas` of an API description (`/openapi/v3/...`) that a kube-apiserver has published.
    pub fn from_openapi(schemas: &Map<String, Value>) -> Self {
        let mut types = Self::default();
        // Named types come first, so that references may be cyclic.
        for name in schemas.keys() {
            let id = types.add(Node::default());
            types.names.insert(name.clone(), id);
        }
        let mut transport = Transport {
            types,
            overlays: Vec::new(),
        };
        for (name, schema) in schemas {
            let mut node = transport.node(schema, 0).unwrap_or_default();
            node.special = special(name).unwrap_or(node.special);
            learn_go(name, &mut node);
            node.name = Some(name.clone());
            if let Some(id) = transport.types.named(name) {
                transport.put(id, node);
            }
        }
        transport.lay_over();
        transport.types.metadata = transport.types.named(OBJECT_META);
        transport.types
    }

    /// Reads the `openAPIV3Schema` of one version of a definition; the id is that of the whole object.
    pub fn from_crd(schema: &Value) -> Result<(Self, TypeId), SchemaError> {
        Self::from_definition(schema, Transport::make_resource)
    }

    /// Reads a part of such a schema.
    pub(super) fn from_schema(schema: &Value) -> Result<(Self, TypeId), SchemaError> {
        Self::from_definition(schema, |_, _| {})
    }

    fn from_definition(
        schema: &Value,
        finish: fn(&mut Transport, &mut Node),
    ) -> Result<(Self, TypeId), SchemaError> {
        let types = match root_metadata() {
            Value::Object(schemas) => Self::from_openapi(&schemas),
            _ => Self::default(),
        };
        if !schema.is_object() {
            return Err(SchemaError::NotAnObject);
        }
        let mut transport = Transport {
            types,
            overlays: Vec::new(),
        };
        let mut root = transport.node(schema, 0)?;
        finish(&mut transport, &mut root);
        let id = transport.types.add(root);
        transport.types.has_rules = transport
            .types
            .nodes
            .iter()
            .any(|node| !node.rules.is_empty());
        Ok((transport.types, id))
    }
}

/// The types that differ from their schema.
fn special(name: &str) -> Option<Special> {
    Some(match name.rsplit_once("pkg.")?.1 {
        "apis.meta.v1.Time" => Special::Time,
        "apis.meta.v1.MicroTime" => Special::MicroTime,
        "apis.meta.v1.Duration" => Special::Duration,
        "util.intstr.IntOrString" => Special::IntOrString,
        "api.resource.Quantity" => Special::Quantity,
        "apis.meta.v1.FieldsV1"
        | "runtime.RawExtension"
        | "apis.apiextensions.v1.JSON"
        | "apis.apiextensions.v1.JSONSchemaPropsOrArray"
        | "apis.apiextensions.v1.JSONSchemaPropsOrBool"
        | "apis.apiextensions.v1.JSONSchemaPropsOrStringArray" => Special::Raw,
        _ => return None,
    })
}

struct Transport {
    types: Types,
    /// Nodes that are another node with something changed; done when all others are there.
    overlays: Vec<(TypeId, TypeId, Node)>,
}

impl Transport {
    fn put(&mut self, id: TypeId, node: Node) {
        if let Some(place) = self.types.nodes.get_mut(id.0 as usize) {
            *place = node;
        }
    }

    fn lay_over(&mut self) {
        for (id, base, over) in std::mem::take(&mut self.overlays) {
            let mut node = self.types.node(base).clone();
            node.map_atomic |= over.map_atomic;
            if over.list_type != ListType::Unset {
                node.list_type = over.list_type;
            }
            node.nullable |= over.nullable;
            if !over.patch_strategy.is_empty() {
                node.patch_strategy = over.patch_strategy;
                node.patch_merge_key = over.patch_merge_key;
            }
            self.put(id, node);
        }
    }

    /// The type a schema only points to, with `$ref` or with `allOf` of one `$ref`.
    fn referred(&self, schema: &Map<String, Value>) -> Option<TypeId> {
        let target = schema.get("$ref").or_else(|| match schema.get("allOf") {
            Some(Value::Array(all)) if all.len() == 1 => all.first()?.get("$ref"),
            _ => None,
        })?;
        let name = target.as_str()?.strip_prefix("#/components/schemas/")?;
        self.types.named(name)
    }

    fn edge(&mut self, schema: &Value, depth: usize) -> Result<Edge, SchemaError> {
        let default = schema.get("default").cloned();
        let id = if let Some(base) = schema.as_object().and_then(|schema| self.referred(schema)) {
            let over = plain(schema);
            if over.map_atomic
                || over.nullable
                || over.list_type != ListType::Unset
                || !over.patch_strategy.is_empty()
            {
                let id = self.types.add(Node::default());
                self.overlays.push((id, base, over));
                id
            } else {
                base
            }
        } else {
            let node = self.node(schema, depth + 1)?;
            self.types.add(node)
        };
        Ok(Edge {
            default,
            ..Edge::to(id)
        })
    }

    fn node(&mut self, schema: &Value, depth: usize) -> Result<Node, SchemaError> {
        if depth > MAX_DEPTH {
            return Err(SchemaError::TooDeep);
        }
        let mut node = plain(schema);
        if let Some(Value::Object(properties)) = schema.get("properties") {
            for (name, property) in properties {
                let edge = self.edge(property, depth)?;
                node.properties.insert(name.clone(), edge);
            }
        }
        node.additional = match schema.get("additionalProperties") {
            Some(Value::Bool(true)) => Additional::Any,
            Some(inner @ Value::Object(_)) => Additional::Of(self.edge(inner, depth)?),
            _ => Additional::None,
        };
        if let Some(items @ Value::Object(_)) = schema.get("items") {
            node.items = Some(self.edge(items, depth)?);
        }
        self.junctions(&mut node, schema, depth)?;
        if node.embedded {
            self.make_resource(&mut node);
        }
        Ok(node)
    }

    fn junctions(
        &mut self,
        node: &mut Node,
        schema: &Value,
        depth: usize,
    ) -> Result<(), SchemaError> {
        let mut checks = checks(schema);
        for (key, list) in [("allOf", 0), ("anyOf", 1), ("oneOf", 2)] {
            let Some(Value::Array(all)) = schema.get(key) else {
                continue;
            };
            for one in all {
                let id = self.edge(one, depth)?.id;
                let checks = checks.get_or_insert_default();
                match list {
                    0 => checks.all_of.push(id),
                    1 => checks.any_of.push(id),
                    _ => checks.one_of.push(id),
                }
            }
        }
        if let Some(not @ Value::Object(_)) = schema.get("not") {
            let id = self.edge(not, depth)?.id;
            checks.get_or_insert_default().not = Some(id);
        }
        node.checks = checks.map(Box::new);
        Ok(())
    }

    /// Resources have a version, a kind and metadata, even if their schema does not declare them.
    fn make_resource(&mut self, node: &mut Node) {
        node.embedded = true;
        for name in ["apiVersion", "kind"] {
            if !node.properties.contains_key(name) {
                let id = self.types.add(Node {
                    value_type: ValueType::String,
                    ..Node::default()
                });
                node.properties.insert(name.to_owned(), Edge::to(id));
            }
        }
        if let Some(id) = self.types.metadata {
            let own = node.properties.insert("metadata".to_owned(), Edge::to(id));
            node.own_metadata = own.map(|edge| edge.id);
        }
    }
}

fn learn_go(name: &str, node: &mut Node) {
    let mut known = go::fields_of(name);
    for (field, edge) in &mut node.properties {
        if let Some(go) = known.remove(field.as_str()) {
            edge.go = go;
        }
    }
}

fn text(schema: &Value, key: &str) -> String {
    schema
        .get(key)
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned()
}

fn flag(schema: &Value, key: &str) -> bool {
    schema.get(key).and_then(Value::as_bool).unwrap_or(false)
}

fn texts(schema: &Value, key: &str) -> Vec<String> {
    let list = schema.get(key).and_then(Value::as_array);
    list.into_iter()
        .flatten()
        .filter_map(|one| one.as_str().map(str::to_owned))
        .collect()
}

/// All of a node that needs no other node.
fn plain(schema: &Value) -> Node {
    let format = text(schema, "format");
    let value_type = match schema.get("type").and_then(Value::as_str) {
        Some("object") => ValueType::Object,
        Some("array") => ValueType::Array,
        Some("string") => ValueType::String,
        Some("integer") => ValueType::Integer,
        Some("number") => ValueType::Number,
        Some("boolean") => ValueType::Boolean,
        _ => ValueType::Any,
    };
    let list_type = match schema.get("x-kubernetes-list-type").and_then(Value::as_str) {
        Some("atomic") => ListType::Atomic,
        Some("set") => ListType::Set,
        Some("map") => ListType::Map(texts(schema, "x-kubernetes-list-map-keys")),
        _ => ListType::Unset,
    };
    Node {
        value_type,
        nullable: flag(schema, "nullable"),
        required: texts(schema, "required"),
        enumeration: match schema.get("enum") {
            Some(Value::Array(all)) => all.clone(),
            _ => Vec::new(),
        },
        int_or_string: flag(schema, "x-kubernetes-int-or-string"),
        preserve_unknown: flag(schema, "x-kubernetes-preserve-unknown-fields"),
        embedded: flag(schema, "x-kubernetes-embedded-resource"),
        list_type,
        map_atomic: text(schema, "x-kubernetes-map-type") == "atomic",
        patch_strategy: text(schema, "x-kubernetes-patch-strategy"),
        patch_merge_key: text(schema, "x-kubernetes-patch-merge-key"),
        rules: rules(schema),
        format,
        ..Node::default()
    }
}

fn rules(schema: &Value) -> Vec<Rule> {
    let list = schema
        .get("x-kubernetes-validations")
        .and_then(Value::as_array);
    list.into_iter()
        .flatten()
        .map(|rule| Rule {
            rule: text(rule, "rule"),
            message: text(rule, "message"),
            message_expression: text(rule, "messageExpression"),
            reason: text(rule, "reason"),
            field_path: text(rule, "fieldPath"),
            optional_old_self: flag(rule, "optionalOldSelf"),
            ..Rule::default()
        })
        .collect()
}

/// The constraints of a schema, if there are any.
fn checks(schema: &Value) -> Option<Checks> {
    const KEYS: [&str; 11] = [
        "pattern",
        "minimum",
        "maximum",
        "multipleOf",
        "minLength",
        "maxLength",
        "minItems",
        "maxItems",
        "minProperties",
        "maxProperties",
        "uniqueItems",
    ];
    let object = schema.as_object()?;
    let given: BTreeMap<&str, &Value> = KEYS
        .iter()
        .filter_map(|key| Some((*key, object.get(*key)?)))
        .collect();
    if given.is_empty() {
        return None;
    }
    let number = |key| given.get(key).filter(|value| value.is_number()).copied();
    let count = |key| number(key).and_then(Value::as_u64);
    Some(Checks {
        pattern: given
            .get("pattern")
            .and_then(|value| value.as_str())
            .map(str::to_owned),
        minimum: number("minimum").cloned(),
        maximum: number("maximum").cloned(),
        exclusive_minimum: flag(schema, "exclusiveMinimum"),
        exclusive_maximum: flag(schema, "exclusiveMaximum"),
        multiple_of: number("multipleOf").cloned(),
        min_length: count("minLength"),
        max_length: count("maxLength"),
        min_items: count("minItems"),
        max_items: count("maxItems"),
        min_properties: count("minProperties"),
        max_properties: count("maxProperties"),
        unique_items: flag(schema, "uniqueItems"),
        ..Checks::default()
    })
}
