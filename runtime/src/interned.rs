//! Equal values that share one allocation in the process. In a fleet the controllers of many clusters keep the same specs and kinds.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, RandomState};
use std::sync::{Arc, LazyLock, Weak};

use kube::core::ApiResource;
use parking_lot::Mutex;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// The number of values at which those that nobody uses are dropped for the first time.
const FIRST_SWEEP: usize = 64;

static KINDS: LazyLock<Interner<ApiResource>> = LazyLock::new(Interner::default);
static VALUES: LazyLock<Interner<Value>> = LazyLock::new(Interner::default);

/// A kind, shared with all who intern an equal one.
pub(crate) fn kind(kind: &ApiResource) -> Arc<ApiResource> {
    KINDS.intern(kind, ApiResource::clone)
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
        Self(VALUES.intern(value, |value| value))
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

/// The values of a type that are in use. It keeps none of them.
struct Interner<T> {
    hasher: RandomState,
    known: Mutex<Known<T>>,
}

struct Known<T> {
    /// By hash, which different values seldom share.
    values: HashMap<u64, Vec<Weak<T>>>,
    /// The number of hashes at which unused values are dropped.
    sweep_at: usize,
}

impl<T> Default for Interner<T> {
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

impl<T: Eq + Hash> Interner<T> {
    /// The known value that equals this one; else this one, which `make` turns into an owned one.
    fn intern<Q: std::borrow::Borrow<T>>(&self, value: Q, make: impl FnOnce(Q) -> T) -> Arc<T> {
        let hash = self.hasher.hash_one(value.borrow());
        let mut known = self.known.lock();
        let alike = known.values.get(&hash).into_iter().flatten();
        let mut alike = alike.filter_map(Weak::upgrade);
        if let Some(shared) = alike.find(|one| **one == *value.borrow()) {
            return shared;
        }
        let created = Arc::new(make(value));
        if known.values.len() >= known.sweep_at {
            known.sweep();
        }
        known
            .values
            .entry(hash)
            .or_default()
            .push(Arc::downgrade(&created));
        created
    }
}

impl<T> Known<T> {
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
        let other = SharedValue::from(json!({"a": ["other"]}));
        assert!(!Arc::ptr_eq(&first.0, &other.0) && first != other);
        let last = Arc::downgrade(&first.0);
        drop((first, second));
        assert!(last.upgrade().is_none());
    }

    #[test]
    fn unused_values_are_dropped_from_the_table() {
        let interner = Interner::<String>::default();
        let kept = interner.intern("kept".to_owned(), |text| text);
        for number in 0..10 * FIRST_SWEEP {
            interner.intern(number.to_string(), |text| text);
        }
        assert!(interner.known.lock().values.len() <= 2 * FIRST_SWEEP);
        let again = interner.intern("kept".to_owned(), |text| text);
        assert!(Arc::ptr_eq(&kept, &again));
    }
}
