//! Expressions that have been checked, as they are evaluated.

use super::value::Value;

/// A checked expression.
#[derive(Debug)]
pub enum Expression {
    Literal(Value<'static>),
    /// A variable of a loop, by its place in the stack of loops.
    Local(usize),
    Root(Root),
    /// A variable of the template.
    Variable(usize),
    Select(Box<Self>, String, Select),
    Index(Box<Self>, Box<Self>, Select),
    List(Vec<Item>),
    Map(Vec<Entry>),
    And(Box<Self>, Box<Self>),
    Or(Box<Self>, Box<Self>),
    Not(Box<Self>),
    Negate(Box<Self>),
    If(Box<[Self; 3]>),
    Binary(Operator, Box<Self>, Box<Self>),
    Call {
        name: String,
        target: Option<Box<Self>>,
        arguments: Vec<Self>,
    },
    Loop(Box<Loop>),
    /// `optMap` and `optFlatMap`.
    OptionalMap {
        optional: Box<Self>,
        body: Box<Self>,
        is_flat: bool,
    },
}

/// What an expression can begin with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Root {
    Object,
    OldObject,
    Request,
    NamespaceObject,
    /// The whole constraint.
    Constraint,
    /// `variables.params`
    Parameters,
    /// `variables.anyObject`
    AnyObject,
}

/// How a field is selected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Select {
    Value,
    /// `has(a.b)`
    Presence,
    /// `a.?b`
    Optional,
}

#[derive(Debug)]
pub struct Item {
    pub value: Expression,
    pub is_optional: bool,
}

#[derive(Debug)]
pub struct Entry {
    pub key: Expression,
    pub value: Expression,
    pub is_optional: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    In,
}

impl Operator {
    /// The operator with this name in a parsed expression.
    pub fn of_name(name: &str) -> Option<Self> {
        Some(match name {
            "_+_" => Self::Add,
            "_-_" => Self::Subtract,
            "_*_" => Self::Multiply,
            "_/_" => Self::Divide,
            "_%_" => Self::Modulo,
            "_==_" => Self::Equal,
            "_!=_" => Self::NotEqual,
            "_<_" => Self::Less,
            "_<=_" => Self::LessEqual,
            "_>_" => Self::Greater,
            "_>=_" => Self::GreaterEqual,
            "@in" => Self::In,
            _ => return None,
        })
    }

    /// The name in errors.
    pub fn name(self) -> &'static str {
        match self {
            Self::Add => "_+_",
            Self::Subtract => "_-_",
            Self::Multiply => "_*_",
            Self::Divide => "_/_",
            Self::Modulo => "_%_",
            Self::Equal => "_==_",
            Self::NotEqual => "_!=_",
            Self::Less => "_<_",
            Self::LessEqual => "_<=_",
            Self::Greater => "_>_",
            Self::GreaterEqual => "_>=_",
            Self::In => "@in",
        }
    }
}

/// A macro over the elements of a list, or the keys of a map.
#[derive(Debug)]
pub struct Loop {
    pub kind: LoopKind,
    pub range: Expression,
    /// Whether the body has two variables: index and value, or key and value.
    pub has_pair: bool,
    /// Chooses the elements.
    pub condition: Option<Expression>,
    pub body: Expression,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoopKind {
    All,
    Exists,
    ExistsOne,
    /// `map` and `transformList`
    Map,
    Filter,
    TransformMap,
    TransformMapEntry,
    SortBy,
}
