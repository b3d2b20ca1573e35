//! The model: nodes in an arena, so that types may be recursive.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use reeve_go_compat::regexp::Regexp;
use serde_json::Value;

use super::go::GoField;
use super::program::Compiled;

/// Names a node of one [`Types`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TypeId(pub(super) u32);

/// The JSON type that is allowed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ValueType {
    /// Every one.
    #[default]
    Any,
    /// An object.
    Object,
    /// An array.
    Array,
    /// A string.
    String,
    /// A number without a fraction.
    Integer,
    /// A number.
    Number,
    /// `true` or `false`.
    Boolean,
}

/// Types of Kubernetes that read and write JSON in a way of their own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Special {
    /// None of them.
    #[default]
    None,
    /// `metav1.Time`: whole seconds.
    Time,
    /// `metav1.MicroTime`.
    MicroTime,
    /// `metav1.Duration`.
    Duration,
    /// A port or a percentage.
    IntOrString,
    /// `resource.Quantity`.
    Quantity,
    /// Whatever there is: `RawExtension`, `FieldsV1`, `JSON`.
    Raw,
    /// Bytes, encoded in base64.
    Bytes,
}

/// The way from a node to another; the default stands on the way, not on the type.
#[derive(Clone, Debug)]
pub struct Edge {
    /// The target node.
    pub id: TypeId,
    /// The default.
    pub default: Option<Value>,
    /// What Go's type adds to the schema.
    pub(super) go: GoField,
}

impl Edge {
    pub(super) fn to(id: TypeId) -> Self {
        Self {
            id,
            default: None,
            go: GoField::default(),
        }
    }
}

/// Which further properties an object may have.
#[derive(Clone, Debug, Default)]
pub enum Additional {
    /// No other ones are known.
    #[default]
    None,
    /// Any, of any shape.
    Any,
    /// Any of this type: it is a map.
    Of(Edge),
}

/// The list type of an array.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ListType {
    /// Not declared: treated as atomic.
    #[default]
    Unset,
    /// The array is one value.
    Atomic,
    /// Items are identified by their value.
    Set,
    /// Items are identified by these fields.
    Map(Vec<String>),
}

/// The constraints on a value that most nodes do not have.
#[derive(Clone, Debug, Default)]
pub struct Checks {
    /// The regular expression as written, in Go's syntax.
    pub pattern: Option<String>,
    /// The compiled pattern, from its first use on; `None` if it cannot be compiled.
    pub(super) regexp: OnceLock<Option<Arc<Regexp>>>,
    /// Lowest number.
    pub minimum: Option<Value>,
    /// Highest number.
    pub maximum: Option<Value>,
    /// The lowest itself is too low.
    pub exclusive_minimum: bool,
    /// The highest itself is too high.
    pub exclusive_maximum: bool,
    /// The divisor of the number (`multipleOf`).
    pub multiple_of: Option<Value>,
    /// Fewest characters.
    pub min_length: Option<u64>,
    /// Most characters.
    pub max_length: Option<u64>,
    /// Fewest items.
    pub min_items: Option<u64>,
    /// Most items.
    pub max_items: Option<u64>,
    /// Fewest properties.
    pub min_properties: Option<u64>,
    /// Most properties.
    pub max_properties: Option<u64>,
    /// No item twice.
    pub unique_items: bool,
    /// All of these hold.
    pub all_of: Vec<TypeId>,
    /// One of these holds at least.
    pub any_of: Vec<TypeId>,
    /// Exactly one of these holds.
    pub one_of: Vec<TypeId>,
    /// This does not hold.
    pub not: Option<TypeId>,
}

/// One of `x-kubernetes-validations`.
#[derive(Clone, Debug, Default)]
pub struct Rule {
    /// The expression.
    pub rule: String,
    /// The message of a violation.
    pub message: String,
    /// An expression that makes the message.
    pub message_expression: String,
    /// The cause's reason; `FieldValueInvalid` if empty.
    pub reason: String,
    /// The path of the error below the node: `.a['b']`.
    pub field_path: String,
    /// A transition rule runs without an old value, too.
    pub optional_old_self: bool,
    pub(super) compiled: Compiled,
}

/// A type.
// Each flag is an extension of its own.
#[allow(clippy::struct_excessive_bools)]
#[derive(Clone, Debug, Default)]
pub struct Node {
    /// The name of the schema, of named ones: `io.k8s.api.core.v1.Pod`.
    pub name: Option<String>,
    /// The JSON type.
    pub value_type: ValueType,
    /// Whether it reads and writes itself in a way of its own.
    pub special: Special,
    /// `null` is a value.
    pub nullable: bool,
    /// The known fields.
    pub properties: BTreeMap<String, Edge>,
    /// Which fields there may be besides.
    pub additional: Additional,
    /// The type of an array's items.
    pub items: Option<Edge>,
    /// Fields that have to be there.
    pub required: Vec<String>,
    /// The allowed values, if they are counted.
    pub enumeration: Vec<Value>,
    /// `int32`, `date-time`...
    pub format: String,
    /// Further constraints.
    pub checks: Option<Box<Checks>>,
    /// `x-kubernetes-int-or-string`.
    pub int_or_string: bool,
    /// `x-kubernetes-preserve-unknown-fields`.
    pub preserve_unknown: bool,
    /// `x-kubernetes-embedded-resource`.
    pub embedded: bool,
    /// What a resource's schema adds to the standard metadata.
    pub own_metadata: Option<TypeId>,
    /// `x-kubernetes-list-type` with its keys.
    pub list_type: ListType,
    /// `x-kubernetes-map-type` is `atomic`.
    pub map_atomic: bool,
    /// `x-kubernetes-patch-strategy`, such as `merge,retainKeys`.
    pub patch_strategy: String,
    /// `x-kubernetes-patch-merge-key`.
    pub patch_merge_key: String,
    /// `x-kubernetes-validations`.
    pub rules: Vec<Rule>,
}

impl Node {
    /// The edge to a field: its own, or that of every field of a map.
    pub fn field(&self, name: &str) -> Option<&Edge> {
        self.properties.get(name).or(match &self.additional {
            Additional::Of(edge) => Some(edge),
            _ => None,
        })
    }

    /// The last part of the schema's name: Go's name of the type.
    pub(super) fn short_name(&self) -> &str {
        self.name
            .as_deref()
            .and_then(|name| name.rsplit('.').next())
            .unwrap_or("")
    }
}

/// All types of a source.
#[derive(Clone, Debug, Default)]
pub struct Types {
    pub(super) nodes: Vec<Node>,
    pub(super) names: BTreeMap<String, TypeId>,
    /// `ObjectMeta` as embedded resources and roots of custom resources have it.
    pub(super) metadata: Option<TypeId>,
    /// Some type has rules.
    pub(super) has_rules: bool,
}

/// What an id of another `Types` leads to: everything goes.
static ANYTHING: Node = Node {
    name: None,
    value_type: ValueType::Any,
    special: Special::None,
    nullable: true,
    properties: BTreeMap::new(),
    additional: Additional::Any,
    items: None,
    required: Vec::new(),
    enumeration: Vec::new(),
    format: String::new(),
    checks: None,
    int_or_string: false,
    preserve_unknown: true,
    embedded: false,
    own_metadata: None,
    list_type: ListType::Unset,
    map_atomic: false,
    patch_strategy: String::new(),
    patch_merge_key: String::new(),
    rules: Vec::new(),
};

impl Types {
    /// The node of an id.
    pub fn node(&self, id: TypeId) -> &Node {
        self.nodes.get(id.0 as usize).unwrap_or(&ANYTHING)
    }

    /// The type with a schema's name, such as `io.k8s.api.core.v1.Pod`.
    pub fn named(&self, name: &str) -> Option<TypeId> {
        self.names.get(name).copied()
    }

    /// `ObjectMeta`.
    pub fn metadata(&self) -> Option<TypeId> {
        self.metadata
    }

    pub(super) fn add(&mut self, node: Node) -> TypeId {
        let id = TypeId(u32::try_from(self.nodes.len()).unwrap_or(u32::MAX));
        self.nodes.push(node);
        id
    }
}
