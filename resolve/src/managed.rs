//! Resolves templates about a managed cluster.

use std::rc::Rc;

use reeve_go_compat::json;
use reeve_go_compat::value::Value as Data;
use reeve_template_reads::ReadCache;
use reeve_templates_engine::resolver::{Context, Input, Options, Resolver, SkipObject};
use serde_json::Value;

use crate::error::Error;
use crate::source::Source;

/// Resolves managed-cluster templates.
pub(crate) struct Managed {
    /// What they read.
    pub(crate) reads: Rc<ReadCache<Source>>,
    /// `.ObjectNamespace`.
    pub(crate) namespace: String,
    /// `.ObjectName`.
    pub(crate) name: String,
}

impl Managed {
    /// Resolves a value.
    pub(crate) fn plain(&self, value: &Value) -> Result<Value, Error> {
        let json = serde_json::to_vec(value).unwrap_or_default();
        self.resolve(Input::Json(&json), None)
    }

    pub(crate) fn text(&self, text: &str) -> Result<Value, Error> {
        self.resolve(Input::Yaml(text), None)
    }

    /// Resolves an object template; nothing if it calls `skipObject`, which counts before its errors do.
    pub(crate) fn object_template(&self, template: &Value) -> Result<Option<Value>, Error> {
        let json = serde_json::to_vec(template).unwrap_or_default();
        let skip = SkipObject::new();
        let resolved = self.resolve(Input::Json(&json), Some(&skip));
        if skip.is_marked() {
            return Ok(None);
        }
        resolved.map(Some)
    }

    fn resolve(&self, input: Input<'_>, skip: Option<&SkipObject>) -> Result<Value, Error> {
        let failed = |why: &dyn std::fmt::Display| Error::Template(why.to_string());
        let functions = skip.map(|skip| ("skipObject".to_owned(), skip.function()));
        let options = Options {
            context: Context::new(
                "templates.TemplateContext",
                [
                    ("ObjectNamespace", Data::str(&self.namespace)),
                    ("ObjectName", Data::str(&self.name)),
                ],
            ),
            functions: functions.into_iter().collect(),
            ..Options::default()
        };
        let prepared = Resolver::default().prepare(input, options);
        let prepared = prepared.map_err(|error| failed(&error))?;
        let resolved = self
            .reads
            .resolve(&prepared)
            .map_err(|error| failed(&error))?;
        json::tree(&resolved.json).map_err(|error| failed(&error))
    }
}
