//! A snapshot of reads: for callers that collect them in rounds, for replay, and for tests.

use std::collections::HashMap;

use super::{Found, Needed, Read, ReadError, Reads, Resource};

/// The results of reads.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    resources: HashMap<String, HashMap<String, Result<Resource, ReadError>>>,
    reads: HashMap<Read, Result<Found, ReadError>>,
    complete: bool,
}

impl Snapshot {
    /// An empty snapshot: everything is yet to be read.
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes this the whole cluster: other kinds are not installed, other objects are not found
    /// and other lists are empty.
    #[must_use]
    pub fn complete(mut self) -> Self {
        self.complete = true;
        self
    }

    /// Adds the result of discovery of a kind.
    pub fn insert_resource(
        &mut self,
        api_version: impl Into<String>,
        kind: impl Into<String>,
        resource: Result<Resource, ReadError>,
    ) {
        self.resources
            .entry(api_version.into())
            .or_default()
            .insert(kind.into(), resource);
    }

    /// Adds the result of a read.
    pub fn insert(&mut self, read: Read, found: Result<Found, ReadError>) {
        self.reads.insert(read, found);
    }

    /// Whether there is a result for this.
    pub fn contains(&self, needed: &Needed) -> bool {
        match needed {
            Needed::Resource { api_version, kind } => self.resource(api_version, kind).is_some(),
            Needed::Read(read) => self.reads.contains_key(read),
        }
    }
}

impl Reads for Snapshot {
    fn resource(&self, api_version: &str, kind: &str) -> Option<Result<Resource, ReadError>> {
        let known = self
            .resources
            .get(api_version)
            .and_then(|kinds| kinds.get(kind))
            .cloned();
        known.or_else(|| self.complete.then_some(Err(ReadError::NotInstalled)))
    }

    fn read(&self, read: &Read) -> Option<Result<Found, ReadError>> {
        if let Some(found) = self.reads.get(read) {
            return Some(found.clone());
        }
        self.complete.then(|| {
            Ok(if read.name.is_empty() {
                Found::List(Vec::new())
            } else {
                Found::Nothing
            })
        })
    }
}
