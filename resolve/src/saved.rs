//! What was read for templates, for a file from which the same result can be made again.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use reeve_manifests::{Readers, replace_file};
use reeve_runtime::discovery::ServedKind;
use serde_json::Value;

use crate::kinds::{at, line};
use crate::{messages, yaml};

/// Where an object came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Origin {
    /// A local file.
    Local,
    /// The cluster.
    Cluster,
}

/// What was read.
#[derive(Debug, Default)]
pub(crate) struct Used {
    objects: BTreeMap<[String; 4], (Arc<Value>, Origin)>,
    kinds: BTreeMap<String, ServedKind>,
    /// Something was looked for where no cluster was.
    pub(crate) missed_cluster: bool,
}

impl Used {
    pub(crate) fn add_kind(&mut self, kind: &ServedKind) {
        self.kinds.insert(line(kind), kind.clone());
    }

    pub(crate) fn add(&mut self, object: &Arc<Value>, origin: Origin) {
        let key = [
            "/apiVersion",
            "/kind",
            "/metadata/namespace",
            "/metadata/name",
        ];
        let key = key.map(|pointer| at(object, pointer).to_owned());
        self.objects.insert(key, (Arc::clone(object), origin));
    }

    /// The text of the file: the objects in order, and at its end, as comments, the kinds.
    pub(crate) fn text(&self) -> Result<String, String> {
        let mut text = String::new();
        for (object, origin) in self.objects.values() {
            text.push_str("---\n");
            if *origin == Origin::Local {
                text.push_str(messages::LOCAL);
                text.push('\n');
            }
            text.push_str(&yaml::write_wide(object)?);
        }
        for kind in self.kinds.keys() {
            text.push_str(kind);
            text.push('\n');
        }
        Ok(text)
    }
}

/// Writes a file that may have secrets: only its owner can read it.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), String> {
    let written = replace_file(path, text.as_bytes(), Readers::Owner);
    written.map_err(|error| messages::unwritable(path, &error))
}
