use std::borrow::Cow;
use std::ops::Deref;
use std::rc::Rc;

use super::release::release;
use super::{Element, Value};

/// A slice: nil or a run of values of one static type. Cloning shares.
#[derive(Clone, Debug)]
pub struct List(Rc<Items>);

/// Behind one pointer, so that a [`Value`] stays small.
#[derive(Debug)]
struct Items {
    element: Element,
    values: Option<Box<[Value]>>,
}

impl List {
    /// A slice that is not nil, possibly empty.
    pub fn new(element: Element, items: impl IntoIterator<Item = Value>) -> Self {
        Self(Rc::new(Items {
            element,
            values: Some(items.into_iter().collect()),
        }))
    }

    /// A nil slice: empty, and `null` in JSON.
    pub fn nil(element: Element) -> Self {
        Self(Rc::new(Items {
            element,
            values: None,
        }))
    }

    /// The static type of the elements.
    pub fn element(&self) -> &Element {
        &self.0.element
    }

    /// Whether this is a nil slice.
    pub fn is_nil(&self) -> bool {
        self.0.values.is_none()
    }

    /// The same number for the same items in memory, while somebody holds them.
    pub fn identity(&self) -> usize {
        Rc::as_ptr(&self.0).addr()
    }

    /// The name as Go prints it.
    pub fn type_name(&self) -> Cow<'static, str> {
        match self.0.element {
            Element::Any => Cow::Borrowed("[]interface {}"),
            Element::Str => Cow::Borrowed("[]string"),
            _ => Cow::Owned(format!("[]{}", self.0.element.name())),
        }
    }

    pub(super) fn deep_equal(&self, other: &Self) -> bool {
        self.0.element == other.0.element
            && self.is_nil() == other.is_nil()
            && self.len() == other.len()
            && stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
                self.iter().zip(other.iter()).all(|(a, b)| a.deep_equal(b))
            })
    }

    pub(super) fn deep_copy(&self) -> Self {
        let values = self.0.values.as_ref().map(|values| {
            stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
                values.iter().map(Value::deep_copy).collect()
            })
        });
        Self(Rc::new(Items {
            element: self.0.element.clone(),
            values,
        }))
    }
}

impl Deref for List {
    type Target = [Value];

    fn deref(&self) -> &[Value] {
        self.0.values.as_deref().unwrap_or_default()
    }
}

impl List {
    /// The items, if nobody else holds them.
    pub(super) fn sole_items(&mut self) -> Option<&mut [Value]> {
        Rc::get_mut(&mut self.0)?.values.as_deref_mut()
    }
}

impl Drop for Items {
    fn drop(&mut self) {
        if let Some(values) = &mut self.values {
            release(values.iter_mut());
        }
    }
}
