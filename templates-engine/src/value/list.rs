use std::borrow::Cow;
use std::ops::Deref;
use std::rc::Rc;

use super::release::release;
use super::{Element, Value};

/// A slice: nil or a run of values of one static type.
#[derive(Clone, Debug)]
pub struct List {
    element: Element,
    items: Option<Rc<[Value]>>,
}

impl List {
    /// A slice that is not nil, possibly empty.
    pub fn new(element: Element, items: impl IntoIterator<Item = Value>) -> Self {
        Self {
            element,
            items: Some(items.into_iter().collect()),
        }
    }

    /// A nil slice: empty, and `null` in JSON.
    pub fn nil(element: Element) -> Self {
        Self {
            element,
            items: None,
        }
    }

    /// The static type of the elements.
    pub fn element(&self) -> &Element {
        &self.element
    }

    /// Whether this is a nil slice.
    pub fn is_nil(&self) -> bool {
        self.items.is_none()
    }

    /// The same number for the same items in memory, while somebody holds them.
    pub fn identity(&self) -> usize {
        self.items
            .as_ref()
            .map_or(0, |items| Rc::as_ptr(items).cast::<u8>().addr())
    }

    /// The name as Go prints it.
    pub fn type_name(&self) -> Cow<'static, str> {
        match self.element {
            Element::Any => Cow::Borrowed("[]interface {}"),
            Element::Str => Cow::Borrowed("[]string"),
            _ => Cow::Owned(format!("[]{}", self.element.name())),
        }
    }

    pub(super) fn deep_equal(&self, other: &Self) -> bool {
        self.element == other.element
            && self.is_nil() == other.is_nil()
            && self.len() == other.len()
            && stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
                self.iter().zip(other.iter()).all(|(a, b)| a.deep_equal(b))
            })
    }

    pub(super) fn deep_copy(&self) -> Self {
        Self {
            element: self.element.clone(),
            items: self.items.as_ref().map(|items| {
                stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
                    items.iter().map(Value::deep_copy).collect()
                })
            }),
        }
    }
}

impl Deref for List {
    type Target = [Value];

    fn deref(&self) -> &[Value] {
        self.items.as_deref().unwrap_or_default()
    }
}

impl List {
    /// The items, if nobody else holds them.
    pub(super) fn sole_items(&mut self) -> Option<&mut [Value]> {
        self.items.as_mut().and_then(Rc::get_mut)
    }
}

impl Drop for List {
    fn drop(&mut self) {
        if let Some(items) = self.sole_items() {
            release(items.iter_mut());
        }
    }
}
