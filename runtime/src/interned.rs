//! Equal values that share one allocation in the process. In a fleet the controllers of many clusters keep the same specs and kinds.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, RandomState};
use std::sync::{Arc, LazyLock, Weak};

use kube::core::ApiResource;
use parking_lot::Mutex;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::decode;

/// The number of values at which those that nobody uses are dropped for the first time.
const FIRST_SWEEP: usize = 64;

static KINDS: LazyLock<Interner<ApiResource>> = LazyLock::new(Interner::default);
static VALUES: LazyLock<Interner<Value>> = LazyLock::new(Interner::default);
static TEXTS: LazyLock<Interner<str>> = LazyLock::new(Interner::default);

/// A kind, shared with all who intern an equal one.
pub(crate) fn kind(kind: &ApiResource) -> Arc<ApiResource> {
    KINDS.intern(kind, |kind| Arc::new(kind.clone()))
}

/// Makes this value the one that others have already, if an equal one is in use.
pub fn share(value: &mut Arc<Value>) {
    *value = VALUES.intern(Arc::clone(value), |value| value);
}

/// JSON that others may have, too: equal values are one.
#[derive(Clone, Debug, Eq)]
pub struct SharedValue(Arc<Value>);

impl SharedValue {
    /// The JSON, to be changed.
    pub fn into_value(self) -> Value {
        Arc::unwrap_or_clone(self.0)
    }
}

impl Default for SharedValue {
    fn default() -> Self {
        Value::Null.into()
    }
}

impl From<Value> for SharedValue {
    fn from(value: Value) -> Self {
        Self(VALUES.intern(value, Arc::new))
    }
}

impl std::ops::Deref for SharedValue {
    type Target = Value;

    fn deref(&self) -> &Value {
        &self.0
    }
}

impl PartialEq for SharedValue {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0 == other.0
    }
}

impl PartialEq<Value> for SharedValue {
    fn eq(&self, other: &Value) -> bool {
        *self.0 == *other
    }
}

impl<'de> Deserialize<'de> for SharedValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Value::deserialize(deserializer).map(Self::from)
    }
}

impl Serialize for SharedValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

/// JSON that is kept as text, which takes a fraction of the memory of decoded JSON, and is decoded when it is read. Equal texts are one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedText(Arc<str>);

impl SharedText {
    /// The JSON.
    pub fn value(&self) -> Value {
        // It was made by serializing JSON.
        decode::tree(&self.0).unwrap_or_default()
    }
}

impl From<&Value> for SharedText {
    fn from(value: &Value) -> Self {
        Self(TEXTS.intern(value.to_string(), Arc::from))
    }
}

impl<'de> Deserialize<'de> for SharedText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Value::deserialize(deserializer).map(|value| Self::from(&value))
    }
}

impl Serialize for SharedText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value().serialize(serializer)
    }
}

/// The values of a type that are in use. It keeps none of them.
struct Interner<T: ?Sized> {
    hasher: RandomState,
    known: Mutex<Known<T>>,
}

struct Known<T: ?Sized> {
    /// By hash, which different values seldom share.
    values: HashMap<u64, Vec<Weak<T>>>,
    /// The number of hashes at which unused values are dropped.
    sweep_at: usize,
}

impl<T: ?Sized> Default for Interner<T> {
    fn default() -> Self {
        Self {
            hasher: RandomState::new(),
            known: Mutex::new(Known {
                values: HashMap::new(),
                sweep_at: FIRST_SWEEP,
            }),
        }
    }
}

impl<T: ?Sized + Eq + Hash> Interner<T> {
    /// The known value that equals this one; else this one, which `make` turns into a shared one.
    fn intern<Q: Borrow<T>>(&self, value: Q, make: impl FnOnce(Q) -> Arc<T>) -> Arc<T> {
        let hash = self.hasher.hash_one(value.borrow());
        let mut known = self.known.lock();
        let alike = known.values.get(&hash).into_iter().flatten();
        let mut alike = alike.filter_map(Weak::upgrade);
        if let Some(shared) = alike.find(|one| **one == *value.borrow()) {
            return shared;
        }
        let created = make(value);
        if known.values.len() >= known.sweep_at {
            known.sweep();
        }
        known
            .values
            .entry(hash)
            .or_insert_with(|| Vec::with_capacity(1))
            .push(Arc::downgrade(&created));
        created
    }
}

impl<T: ?Sized> Known<T> {
    fn sweep(&mut self) {
        self.values.retain(|_, alike| {
            alike.retain(|one| one.strong_count() > 0);
            !alike.is_empty()
        });
        self.sweep_at = (self.values.len() * 2).max(FIRST_SWEEP);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn equal_values_are_one_until_the_last_is_dropped() {
        let first = SharedValue::from(json!({"a": ["shared"]}));
        let second: SharedValue = serde_json::from_str(r#"{"a": ["shared"]}"#).unwrap();
        assert!(Arc::ptr_eq(&first.0, &second.0));
        let mut third = Arc::new(json!({"a": ["shared"]}));
        share(&mut third);
        assert!(Arc::ptr_eq(&first.0, &third));
        let other = SharedValue::from(json!({"a": ["other"]}));
        assert!(!Arc::ptr_eq(&first.0, &other.0) && first != other);
        let last = Arc::downgrade(&first.0);
        drop((first, second, third));
        assert!(last.upgrade().is_none());
    }

    #[test]
    fn equal_texts_are_one_and_read_as_they_were() {
        let value = json!({"a": ["shared", 1, null]});
        let first = SharedText::from(&value);
        let second: SharedText = serde_json::from_value(value.clone()).unwrap();
        assert!(Arc::ptr_eq(&first.0, &second.0));
        assert_eq!(first.value(), value);
        assert_eq!(serde_json::to_value(&second).unwrap(), value);
    }

    #[test]
    fn unused_values_are_dropped_from_the_table() {
        let interner = Interner::<String>::default();
        let kept = interner.intern("kept".to_owned(), Arc::new);
        for number in 0..10 * FIRST_SWEEP {
            interner.intern(number.to_string(), Arc::new);
        }
        assert!(interner.known.lock().values.len() <= 2 * FIRST_SWEEP);
        let again = interner.intern("kept".to_owned(), Arc::new);
        assert!(Arc::ptr_eq(&kept, &again));
    }
}
