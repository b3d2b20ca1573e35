//! Answers of providers of external data that a test gives in their place. No provider is ever asked.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Json;
use crate::messages;

/// For each provider the values of its keys. Without any provider templates have no function `external_data`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExternalData(BTreeMap<String, BTreeMap<String, Json>>);

impl ExternalData {
    /// Reads `{provider: {key: value}}`. `field` is what errors call it.
    ///
    /// # Errors
    /// When it, or one of its providers, is no map.
    pub fn parse(field: &str, stubs: &Json) -> Result<Self, String> {
        let map = |path: &str, value: &Json| {
            let map = value.as_object().cloned();
            map.ok_or_else(|| messages::not_a_map(path))
        };
        let mut providers = BTreeMap::new();
        if stubs.is_null() {
            return Ok(Self(providers));
        }
        for (provider, values) in map(field, stubs)? {
            let values = map(&format!("{field}.{provider}"), &values)?;
            providers.insert(provider, values.into_iter().collect());
        }
        Ok(Self(providers))
    }

    /// These values for the keys of each provider.
    pub fn new(providers: BTreeMap<String, BTreeMap<String, Json>>) -> Self {
        Self(providers)
    }

    /// With the providers of another one, which replace those of the same name.
    #[must_use]
    pub fn with(&self, other: &Self) -> Self {
        let mut providers = self.0.clone();
        providers.extend(other.0.clone());
        Self(providers)
    }

    /// Whether there is no provider.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The values of the keys of a provider.
    pub(crate) fn provider(&self, name: &str) -> Option<&BTreeMap<String, Json>> {
        self.0.get(name)
    }
}
