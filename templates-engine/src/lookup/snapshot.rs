//! Reads kept in memory: for callers that collect them in rounds, for replay, and for tests.

use std::collections::HashMap;

use super::{Found, Needed, Read, ReadError, Reads, Resource};

/// What was read, by what was asked.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    resources: HashMap<String, HashMap<String, Result<Resource, ReadError>>>,
    reads: HashMap<Read, Result<Found, ReadError>>,
    closed: bool,
}

impl Snapshot {
    /// An empty snapshot: everything is yet to be read.
    pub fn new() -> Self {
        Self::default()
    }

    /// From now on, what is not in the snapshot does not exist: kinds are not installed, objects
    /// are not found and lists are empty.
    #[must_use]
    pub fn closed(mut self) -> Self {
        self.closed = true;
        self
    }

    /// Keeps what discovery said of a kind.
    pub fn learn(
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

    /// Keeps what a read found.
    pub fn keep(&mut self, read: Read, found: Result<Found, ReadError>) {
        self.reads.insert(read, found);
    }

    /// Whether this was answered.
    pub fn knows(&self, needed: &Needed) -> bool {
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
        known.or_else(|| self.closed.then_some(Err(ReadError::NotInstalled)))
    }

    fn read(&self, read: &Read) -> Option<Result<Found, ReadError>> {
        if let Some(found) = self.reads.get(read) {
            return Some(found.clone());
        }
        self.closed.then(|| {
            Ok(if read.name.is_empty() {
                Found::List(Vec::new())
            } else {
                Found::Nothing
            })
        })
    }
}
