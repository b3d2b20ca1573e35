use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use super::frozen::Frozen;
use super::release::release;
use super::{Element, Key, List, Value};

impl Frozen {
    /// A value for one render.
    pub fn value(&self) -> Value {
        match self {
            Self::Nil => Value::Nil,
            Self::Bool(value) => Value::Bool(*value),
            Self::Int64(value) => Value::Int64(*value),
            Self::Float(value) => Value::Float(*value),
            Self::Str(value) => Value::Str(value.clone()),
            Self::List(items) => {
                Value::List(List::new(Element::Any, items.iter().map(Self::value)))
            }
            Self::Map(entries) => Value::Map(Map::backed_by(entries.clone())),
        }
    }
}

#[derive(Debug)]
struct Shape {
    key: Element,
    element: Element,
}

#[derive(Debug, Default)]
struct Entries {
    /// All of them; while there is a source, only the containers of it that were read:
    /// the next read must return the same.
    own: BTreeMap<Key, Value>,
    /// The frozen map that backs this one.
    source: Option<Arc<BTreeMap<Key, Frozen>>>,
}

impl Entries {
    /// The entries, without a source from now on.
    fn own(&mut self) -> &mut BTreeMap<Key, Value> {
        if let Some(source) = self.source.take() {
            for (key, value) in source.iter() {
                self.own.entry(key.clone()).or_insert_with(|| value.value());
            }
        }
        &mut self.own
    }

    fn len(&self) -> usize {
        self.source
            .as_ref()
            .map_or(self.own.len(), |source| source.len())
    }

    fn contains(&self, key: &Key) -> bool {
        self.source.as_ref().map_or_else(
            || self.own.contains_key(key),
            |source| source.contains_key(key),
        )
    }
}

#[derive(Debug, Default)]
struct Contents {
    entries: RefCell<Entries>,
    sensitive: Cell<bool>,
}

/// A map: nil or shared entries of one static type. Cloning shares.
#[derive(Clone, Debug)]
pub struct Map {
    /// `None`: `map[string]interface {}`, by far the most frequent.
    shape: Option<Rc<Shape>>,
    contents: Option<Rc<Contents>>,
}

impl Map {
    /// An empty `map[string]interface {}`.
    pub fn dict() -> Self {
        Self {
            shape: None,
            contents: Some(Rc::default()),
        }
    }

    /// A `map[string]interface {}` with these entries.
    pub fn from_entries(entries: BTreeMap<Key, Value>) -> Self {
        Self {
            shape: None,
            contents: Some(Rc::new(Contents {
                entries: RefCell::new(Entries {
                    own: entries,
                    source: None,
                }),
                sensitive: Cell::new(false),
            })),
        }
    }

    /// A `map[string]interface {}` with the entries of a frozen map.
    pub(super) fn backed_by(source: Arc<BTreeMap<Key, Frozen>>) -> Self {
        Self {
            shape: None,
            contents: Some(Rc::new(Contents {
                entries: RefCell::new(Entries {
                    own: BTreeMap::new(),
                    source: Some(source),
                }),
                sensitive: Cell::new(false),
            })),
        }
    }

    /// A nil `map[string]interface {}`.
    pub fn nil() -> Self {
        Self {
            shape: None,
            contents: None,
        }
    }

    /// An empty map of another type.
    pub fn typed(key: Element, element: Element) -> Self {
        Self {
            shape: Some(Rc::new(Shape { key, element })),
            contents: Some(Rc::default()),
        }
    }

    /// The same type as this map, nil.
    #[must_use]
    pub fn nil_of_same_type(&self) -> Self {
        Self {
            shape: self.shape.clone(),
            contents: None,
        }
    }

    /// Whether this is a `map[string]interface {}`.
    pub fn is_dict(&self) -> bool {
        self.shape
            .as_ref()
            .is_none_or(|shape| shape.key == Element::Str && shape.element == Element::Any)
    }

    /// The static type of the keys.
    pub fn key_element(&self) -> Element {
        self.shape
            .as_ref()
            .map_or(Element::Str, |shape| shape.key.clone())
    }

    /// The static type of the values.
    pub fn element(&self) -> Element {
        self.shape
            .as_ref()
            .map_or(Element::Any, |shape| shape.element.clone())
    }

    /// Whether this is a nil map.
    pub fn is_nil(&self) -> bool {
        self.contents.is_none()
    }

    /// The name as Go prints it.
    pub fn type_name(&self) -> Cow<'static, str> {
        match &self.shape {
            None => Cow::Borrowed("map[string]interface {}"),
            Some(shape) => Cow::Owned(format!("map[{}]{}", shape.key.name(), shape.element.name())),
        }
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.contents
            .as_ref()
            .map_or(0, |contents| contents.entries.borrow().len())
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value under a key.
    pub fn get(&self, key: &Key) -> Option<Value> {
        let contents = self.contents.as_ref()?;
        let source = {
            let entries = contents.entries.borrow();
            match (entries.own.get(key), &entries.source) {
                (Some(value), _) => return Some(value.clone()),
                (None, None) => return None,
                (None, Some(source)) => source.clone(),
            }
        };
        let value = source.get(key)?.value();
        if matches!(value, Value::Map(_) | Value::List(_)) {
            let mut entries = contents.entries.borrow_mut();
            entries.own.insert(key.clone(), value.clone());
        }
        Some(value)
    }

    /// The value under a string key.
    pub fn get_str(&self, key: &str) -> Option<Value> {
        self.get(&Key::from(key))
    }

    /// Whether there is such a key.
    pub fn contains(&self, key: &Key) -> bool {
        self.contents
            .as_ref()
            .is_some_and(|contents| contents.entries.borrow().contains(key))
    }

    /// Sets an entry for all holders of this map. False when the map is nil.
    pub fn insert(&self, key: Key, value: Value) -> bool {
        let Some(contents) = &self.contents else {
            return false;
        };
        contents.entries.borrow_mut().own().insert(key, value);
        true
    }

    /// Removes an entry for all holders of this map.
    pub fn remove(&self, key: &Key) -> Option<Value> {
        let contents = self.contents.as_ref()?;
        contents.entries.borrow_mut().own().remove(key)
    }

    /// The entries as they are now, sorted by key.
    pub fn entries(&self) -> Vec<(Key, Value)> {
        self.with(|entries| {
            entries
                .iter()
                .map(|(key, value)| (key.clone(), value.clone()))
                .collect()
        })
    }

    /// Calls a function with the entries, without copying them. It must not change the map.
    pub fn with<T>(&self, read: impl FnOnce(&BTreeMap<Key, Value>) -> T) -> T {
        match &self.contents {
            Some(contents) => {
                if contents.entries.borrow().source.is_some() {
                    contents.entries.borrow_mut().own();
                }
                read(&contents.entries.borrow().own)
            }
            None => read(&BTreeMap::new()),
        }
    }

    /// Whether both are the same shared map (or both nil).
    pub fn same(&self, other: &Self) -> bool {
        match (&self.contents, &other.contents) {
            (Some(a), Some(b)) => Rc::ptr_eq(a, b),
            (None, None) => true,
            _ => false,
        }
    }

    /// The same number for the same shared map, while somebody holds it.
    pub fn identity(&self) -> usize {
        self.contents
            .as_ref()
            .map_or(0, |contents| Rc::as_ptr(contents).addr())
    }

    /// Marks that a secret was put into this map.
    pub fn mark_sensitive(&self) {
        if let Some(contents) = &self.contents {
            contents.sensitive.set(true);
        }
    }

    /// Whether a secret was put into this map.
    pub fn is_sensitive(&self) -> bool {
        self.contents
            .as_ref()
            .is_some_and(|contents| contents.sensitive.get())
    }

    /// The frozen map that backs this one, if nothing in it can have been changed.
    fn untouched_source(&self) -> Option<Arc<BTreeMap<Key, Frozen>>> {
        let contents = self.contents.as_ref()?;
        let entries = contents.entries.borrow();
        let untouched = entries.own.is_empty() && !contents.sensitive.get();
        entries.source.clone().filter(|_| untouched)
    }

    pub(super) fn deep_equal(&self, other: &Self) -> bool {
        if self.type_name() != other.type_name() || self.is_nil() != other.is_nil() {
            return false;
        }
        if self.same(other) {
            return true;
        }
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
            self.with(|ours| {
                other.with(|theirs| {
                    ours.len() == theirs.len()
                        && ours
                            .iter()
                            .zip(theirs)
                            .all(|((a, x), (b, y))| a == b && x.deep_equal(y))
                })
            })
        })
    }

    /// A copy that shares no map with this one.
    #[must_use]
    pub fn deep_copy(&self) -> Self {
        if let Some(source) = self.untouched_source() {
            return Self::backed_by(source);
        }
        let copy = Self {
            shape: self.shape.clone(),
            contents: self.contents.as_ref().map(|_| Rc::default()),
        };
        for (key, value) in self.entries() {
            let value = stacker::maybe_grow(64 * 1024, 1024 * 1024, || value.deep_copy());
            copy.insert(key, value);
        }
        if self.is_sensitive() {
            copy.mark_sensitive();
        }
        copy
    }
}

impl Map {
    /// Whether a frozen map backs this one and nothing of it was read or changed.
    pub fn is_untouched(&self) -> bool {
        self.untouched_source().is_some()
    }

    /// The values that can have been changed since this map was frozen; all of them when it never
    /// was. No other value can hold something that a template made.
    pub fn materialized_values(&self) -> Vec<Value> {
        self.contents.as_ref().map_or_else(Vec::new, |contents| {
            contents.entries.borrow().own.values().cloned().collect()
        })
    }

    /// The entries, if nobody else holds them.
    pub(super) fn sole_entries(&mut self) -> Option<&mut BTreeMap<Key, Value>> {
        let contents = Rc::get_mut(self.contents.as_mut()?)?;
        Some(&mut contents.entries.get_mut().own)
    }
}

impl Drop for Contents {
    fn drop(&mut self) {
        release(self.entries.get_mut().own.values_mut());
    }
}
