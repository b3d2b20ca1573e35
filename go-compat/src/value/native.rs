use std::any::Any;
use std::fmt;

use super::Kind;

/// A directive as a type that formats itself sees it: Go's `fmt.State` with the verb.
#[derive(Clone, Copy, Debug)]
#[allow(clippy::struct_excessive_bools)] // they are the flags of a directive
pub struct Directive {
    /// The verb.
    pub verb: char,
    /// `+`
    pub plus: bool,
    /// `-`
    pub minus: bool,
    /// `#`
    pub sharp: bool,
    /// A space.
    pub space: bool,
    /// `0`
    pub zero: bool,
    /// The least number of characters.
    pub width: Option<usize>,
    /// What follows the point.
    pub precision: Option<usize>,
}

/// A Go type with methods that templates can call.
pub trait Native: fmt::Debug {
    /// The name as Go's `%T` prints it, `time.Time` for instance.
    fn type_name(&self) -> &'static str;
    /// The name of what a pointer points to; of any other type its own.
    fn pointed_to(&self) -> &'static str {
        let name = self.type_name();
        name.strip_prefix('*').unwrap_or(name)
    }
    /// The kind underneath.
    fn kind(&self) -> Kind;
    /// What Go's `String()` answers; `None` for a type that has no such method.
    fn text(&self) -> Option<String>;
    /// What Go's `GoString()` answers, which `%#v` prints; `None` for a type that has no such method.
    fn go_string(&self) -> Option<String> {
        None
    }
    /// What Go's `Format` prints for a directive; `None` for a type that has no such method.
    fn format(&self, _: &Directive) -> Option<String> {
        None
    }
    /// The number underneath, for named integers such as durations.
    fn integer(&self) -> Option<i64> {
        None
    }
    /// What `encoding/json` writes for it.
    fn json(&self) -> String;
    /// Whether both are equal by Go's `reflect.DeepEqual`.
    fn equals(&self, other: &dyn Native) -> bool;
    /// Whether Go's `==` is true only of the very same value, as of two pointers.
    fn is_compared_by_address(&self) -> bool {
        false
    }
    /// For getting back to the type itself.
    fn as_any(&self) -> &dyn Any;
}
