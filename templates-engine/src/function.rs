//! Template functions: typed parameters, a body, and the errors of a call.
//!
//! The evaluator checks arity and types by the signature, with Go's texts, before it calls a
//! body. A body therefore finds what its signature promises; the accessors of [`Arguments`] fail
//! with a plain text instead of panicking should the two ever disagree.

use std::rc::Rc;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::budget::Meter;
use crate::lookup::LookupError;
use reeve_go_compat::value::{List, Map, Native, Str, Value};

/// The static type of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parameter {
    /// `interface {}`
    Any,
    /// `reflect.Value`, the parameters of Go's own functions.
    Reflect,
    /// `string`
    Str,
    /// `bool`
    Bool,
    /// `int`
    Int,
    /// `int64`
    Int64,
    /// `uint32`
    Uint32,
    /// `float64`
    Float,
    /// `map[string]interface {}`
    Dict,
    /// `[]interface {}`
    List,
    /// `[]string`
    Strings,
    /// `time.Time`
    Time,
    /// Another type, by its name as Go prints it.
    Named(&'static str),
}

impl Parameter {
    /// The name as Go prints it in errors.
    pub fn name(self) -> &'static str {
        match self {
            Self::Any => "interface {}",
            Self::Reflect => "reflect.Value",
            Self::Str => "string",
            Self::Bool => "bool",
            Self::Int => "int",
            Self::Int64 => "int64",
            Self::Uint32 => "uint32",
            Self::Float => "float64",
            Self::Dict => "map[string]interface {}",
            Self::List => "[]interface {}",
            Self::Strings => "[]string",
            Self::Time => "time.Time",
            Self::Named(name) => name,
        }
    }
}

/// The parameters of a function.
#[derive(Clone, Copy, Debug)]
pub struct Signature {
    /// The parameters that must be given.
    pub fixed: &'static [Parameter],
    /// The type of any further arguments, when there may be any.
    pub variadic: Option<Parameter>,
    /// Whether the declared result type is `interface {}`; it shows in a few errors.
    pub returns_any: bool,
}

/// A function's body.
pub type Body = fn(&mut Env<'_>, &Arguments<'_>) -> Result<Value, Failure>;

/// A function that every template may call, with its documentation.
#[derive(Debug)]
pub struct Function {
    /// What authors write.
    pub name: &'static str,
    /// What it takes.
    pub signature: Signature,
    /// What it does.
    pub body: Body,
    /// Its heading on the reference page, such as `Strings`.
    pub group: &'static str,
    /// The parameters as the reference page names them, such as `n text`.
    pub usage: &'static str,
    /// What it does, in a sentence or two of Markdown.
    pub help: &'static str,
}

/// The body of a function that one call of the engine adds, and that may hold state of that call.
pub type CustomBody = Rc<dyn Fn(&mut Env<'_>, &Arguments<'_>) -> Result<Value, Failure>>;

/// A function that one call of the engine adds.
#[derive(Clone)]
pub struct CustomFunction {
    /// What it takes.
    pub signature: Signature,
    /// What it does.
    pub body: CustomBody,
}

/// Checked arguments of one call.
#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a>(&'a [Value]);

impl<'a> Arguments<'a> {
    /// Wraps values that fit the signature.
    pub fn new(values: &'a [Value]) -> Self {
        Self(values)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All of them.
    pub fn all(&self) -> &'a [Value] {
        self.0
    }

    /// Those from this position on.
    pub fn from(&self, position: usize) -> &'a [Value] {
        self.0.get(position..).unwrap_or_default()
    }

    /// An argument of any type; nil when there is none.
    pub fn any(&self, position: usize) -> &'a Value {
        self.0.get(position).unwrap_or(&Value::Nil)
    }

    /// An argument of type `string`.
    pub fn str(&self, position: usize) -> Result<&'a Str, Failure> {
        match self.any(position) {
            Value::Str(value) => Ok(value),
            other => Err(mismatch(position, "string", other)),
        }
    }

    /// An argument of type `string` as text, with `\u{fffd}` where it is not UTF-8.
    pub fn text(&self, position: usize) -> Result<std::borrow::Cow<'a, str>, Failure> {
        self.str(position).map(Str::lossy)
    }

    /// An argument of type `bool`.
    pub fn bool(&self, position: usize) -> Result<bool, Failure> {
        match self.any(position) {
            Value::Bool(value) => Ok(*value),
            other => Err(mismatch(position, "bool", other)),
        }
    }

    /// An argument of an integer type.
    pub fn int(&self, position: usize) -> Result<i64, Failure> {
        match self.any(position) {
            Value::Int(value) | Value::Int64(value) => Ok(*value),
            other => Err(mismatch(position, "int", other)),
        }
    }

    /// An argument of type `float64`.
    pub fn float(&self, position: usize) -> Result<f64, Failure> {
        match self.any(position) {
            Value::Float(value) => Ok(*value),
            other => Err(mismatch(position, "float64", other)),
        }
    }

    /// An argument of type `map[string]interface {}`.
    pub fn dict(&self, position: usize) -> Result<&'a Map, Failure> {
        match self.any(position) {
            Value::Map(value) => Ok(value),
            other => Err(mismatch(position, "map[string]interface {}", other)),
        }
    }

    /// An argument of a slice type.
    pub fn list(&self, position: usize) -> Result<&'a List, Failure> {
        match self.any(position) {
            Value::List(value) => Ok(value),
            other => Err(mismatch(position, "[]interface {}", other)),
        }
    }

    /// An argument of a type with methods.
    pub fn native<T: Native + 'static>(&self, position: usize) -> Result<&'a T, Failure> {
        match self.any(position) {
            Value::Native(value) => value
                .as_any()
                .downcast_ref()
                .ok_or_else(|| mismatch(position, "native type", self.any(position))),
            other => Err(mismatch(position, "native type", other)),
        }
    }
}

fn mismatch(position: usize, expected: &str, got: &Value) -> Failure {
    Failure::text(format!(
        "argument {position} should be of type {expected}, not {}",
        got.type_name()
    ))
}

/// Why a function failed.
#[derive(Debug)]
pub enum Failure {
    /// A text for the author, without any frame.
    Text(String),
    /// A read that was refused or failed.
    Lookup(LookupError),
    /// A limit that the template ran into.
    Limit(crate::budget::Exceeded),
}

impl Failure {
    /// A failure with this text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }
}

impl From<crate::budget::Exceeded> for Failure {
    fn from(limit: crate::budget::Exceeded) -> Self {
        Self::Limit(limit)
    }
}

impl From<LookupError> for Failure {
    fn from(error: LookupError) -> Self {
        Self::Lookup(error)
    }
}

/// The environment of functions beside the cluster: clock, time zone, randomness, name service.
/// Everything that makes two renders of one template differ goes through here, so that a recorded
/// run can be replayed.
pub trait Ambient {
    /// The present moment.
    fn now(&mut self) -> Timestamp;
    /// The local time zone.
    fn time_zone(&mut self) -> TimeZone;
    /// Fills the buffer with random bytes fit for keys. The caller must not use the
    /// buffer if this fails.
    fn random(&mut self, buffer: &mut [u8]) -> Result<(), Failure>;
    /// An address of this host name, if it can be found.
    fn host_address(&mut self, name: &str) -> Option<String>;
}

/// What a function body may use.
pub struct Env<'a> {
    /// What is left of the template's budget. Charge it before doing much.
    pub meter: &'a mut Meter,
    /// Clock, randomness, names.
    pub ambient: &'a mut dyn Ambient,
    /// The cluster, which records whether secrets were read.
    pub cluster: &'a mut crate::lookup::Cluster,
}

impl Env<'_> {
    /// Charges for walking all of these values. To be called before they are printed, compared
    /// or copied as a whole: as trees they may be larger than any memory.
    pub fn walk(&mut self, values: &[Value]) -> Result<(), Failure> {
        for value in values {
            self.meter.walk(value)?;
        }
        Ok(())
    }
}
