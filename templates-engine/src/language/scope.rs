//! The state of the evaluator: variables, and values with their sensitivity.

use super::tree::Name;
use reeve_go_compat::value::Value;

/// How much a value reveals of secrets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sensitivity {
    /// Nothing sensitive was read.
    #[default]
    Open,
    /// Whether something is true of a secret: the value was chosen by a condition on one, or is such a condition.
    Chosen,
    /// It was computed from one.
    Derived,
}

impl Sensitivity {
    /// Of something that is, or is not, computed from a secret.
    pub(super) fn derived_if(derived: bool) -> Self {
        if derived { Self::Derived } else { Self::Open }
    }
}

/// A value with the two things that Go's `reflect.Value` and the engine know beside it.
#[derive(Clone, Debug)]
pub(super) struct Held {
    pub(super) value: Value,
    /// The static type is `interface {}`: it came out of a container or function of such a type.
    pub(super) boxed: bool,
    /// Its sensitivity.
    pub(super) sensitivity: Sensitivity,
}

impl Held {
    pub(super) fn plain(value: Value) -> Self {
        Self {
            value,
            boxed: false,
            sensitivity: Sensitivity::Open,
        }
    }

    pub(super) fn missing() -> Self {
        Self::plain(Value::Missing)
    }

    /// The name of the static type as errors show it.
    pub(super) fn type_name(&self) -> std::borrow::Cow<'static, str> {
        if self.boxed {
            "interface {}".into()
        } else {
            self.value.type_name()
        }
    }

    /// What is inside an interface; a nil interface holds nothing.
    pub(super) fn unboxed(mut self) -> Self {
        if self.boxed {
            self.boxed = false;
            if matches!(self.value, Value::Nil) {
                self.value = Value::Missing;
            }
        }
        self
    }
}

/// Variables, innermost last.
#[derive(Debug)]
pub(super) struct Variables(Vec<(Name, Held)>);

impl Variables {
    /// `$` alone. It is always the first name of a template that uses it at all.
    pub(super) fn new(root: Option<(Name, Held)>) -> Self {
        Self(root.into_iter().collect())
    }

    pub(super) fn mark(&self) -> usize {
        self.0.len()
    }

    pub(super) fn pop_to(&mut self, mark: usize) {
        self.0.truncate(mark);
    }

    pub(super) fn push(&mut self, name: Name, held: Held) {
        self.0.push((name, held));
    }

    pub(super) fn get(&self, name: Name) -> Option<&Held> {
        self.0
            .iter()
            .rev()
            .find_map(|(known, held)| (*known == name).then_some(held))
    }

    /// False when there is no such variable.
    pub(super) fn set(&mut self, name: Name, held: Held) -> bool {
        let variable = self.0.iter_mut().rev().find(|(known, _)| *known == name);
        if let Some((_, value)) = variable {
            *value = held;
            true
        } else {
            false
        }
    }

    /// Sets the variable so far from the top, 1 being the last declared.
    pub(super) fn set_from_top(&mut self, distance: usize, held: Held) {
        let place = self.0.len().checked_sub(distance);
        if let Some((_, value)) = place.and_then(|place| self.0.get_mut(place)) {
            *value = held;
        }
    }
}
