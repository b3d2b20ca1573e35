//! Which objects a patch is for: by regular expressions on what they are and were, and by selectors on labels and annotations.

use std::rc::Rc;

use reeve_go_compat::labels::Selector;
use reeve_go_compat::regexp::Regexp;
use reeve_go_compat::runes::quote;
use reeve_go_compat::value::Map;

use crate::error::Error;
use crate::merge::{Id, Resource};
use crate::messages;
use crate::type_meta::TypeMeta;
use crate::values::{map_field, nonempty_field, text_field, text_of};

/// The `target` of a patch.
pub(super) struct Target {
    shown: String,
    patterns: Result<Patterns, String>,
    labels: Metadata,
    annotations: Metadata,
}

/// A selector on labels or annotations. What is wrong with it counts only for an object that fits the patterns.
struct Metadata {
    field: &'static str,
    /// One without text selects all.
    selector: Option<Result<Selector, String>>,
}

/// The patterns on what an object is. One without text fits all.
struct Patterns {
    group: Option<Rc<Regexp>>,
    version: Option<Rc<Regexp>>,
    kind: Option<Rc<Regexp>>,
    name: Option<Rc<Regexp>>,
    namespace: Option<Rc<Regexp>>,
}

impl Target {
    /// The target as it is written.
    pub(super) fn read(target: &Map) -> Self {
        let text = |key| text_field(target, key).unwrap_or_default();
        let (group, version) = (text("group"), text("version"));
        let (labels, annotations) = (text("labelSelector"), text("annotationSelector"));
        let id = Id {
            api_version: if group.is_empty() {
                version
            } else {
                format!("{group}/{version}")
            },
            kind: text("kind"),
            name: text("name"),
            namespace: text("namespace"),
        };
        Self {
            shown: format!("{id}:a={annotations}:l={labels}"),
            patterns: Patterns::read(target),
            labels: Metadata::read("labels", &labels),
            annotations: Metadata::read("annotations", &annotations),
        }
    }

    /// Which of the objects it means, by position.
    pub(super) fn select(&self, resources: &[Resource]) -> Result<Vec<usize>, Error> {
        let words =
            |error: &str| Error::new(messages::no_target_of_patch(&quote(&self.shown), error));
        let patterns = self.patterns.as_ref().map_err(|error| words(error))?;
        let mut selected = Vec::new();
        for (position, resource) in resources.iter().enumerate() {
            if patterns.fit(resource) && self.has_labels(resource).map_err(|error| words(&error))? {
                selected.push(position);
            }
        }
        Ok(selected)
    }

    fn has_labels(&self, resource: &Resource) -> Result<bool, String> {
        Ok(self.labels.selects(resource)? && self.annotations.selects(resource)?)
    }
}

impl Metadata {
    fn read(field: &'static str, selector: &str) -> Self {
        // kustomize has a copy of the API machinery's parser, which lists the operators in other words.
        let in_words =
            |error: String| error.replace(messages::OPERATORS, messages::KUSTOMIZE_OPERATORS);
        let is_there = !selector.is_empty();
        Self {
            field,
            selector: is_there.then(|| Selector::parse(selector).map_err(in_words)),
        }
    }

    fn selects(&self, resource: &Resource) -> Result<bool, String> {
        let Some(selector) = &self.selector else {
            return Ok(true);
        };
        let selector = selector.as_ref().map_err(String::clone)?;
        let metadata = map_field(&resource.object, "metadata");
        let own = metadata.and_then(|metadata| map_field(&metadata, self.field));
        let texts: Vec<(String, String)> = own
            .iter()
            .flat_map(Map::entries)
            .map(|(key, value)| (text_of(&key.to_value()), text_of(&value)))
            .collect();
        let value = |key: &str| {
            let found = texts.iter().find(|(own, _)| own == key);
            found.map(|(_, value)| value.as_str())
        };
        Ok(selector.matches(value))
    }
}

impl Patterns {
    fn read(target: &Map) -> Result<Self, String> {
        let pattern = |key| -> Result<Option<Rc<Regexp>>, String> {
            let Some(text) = nonempty_field(target, key) else {
                return Ok(None);
            };
            let anchored = format!("^(?:{text})$");
            let compiled = Regexp::compile(anchored.as_bytes());
            compiled.map(Some).map_err(|error| error.to_string())
        };
        Ok(Self {
            group: pattern("group")?,
            version: pattern("version")?,
            kind: pattern("kind")?,
            name: pattern("name")?,
            namespace: pattern("namespace")?,
        })
    }

    /// The name and the namespace are the present or the first ones.
    fn fit(&self, resource: &Resource) -> bool {
        let fits = |pattern: &Option<Rc<Regexp>>, text: &str| {
            let pattern = pattern.as_ref();
            pattern.is_none_or(|pattern| pattern.is_match(text.as_bytes()))
        };
        let id = resource.id();
        let first = resource.previous.first().unwrap_or(&id);
        let kind = TypeMeta::of(&resource.object);
        let either = |pattern, now: &str, then: &str| fits(pattern, now) || fits(pattern, then);
        let (now, then) = (id.effective_namespace(), first.effective_namespace());
        either(&self.namespace, now, then)
            && either(&self.name, &id.name, &first.name)
            && fits(&self.group, &kind.group)
            && fits(&self.version, &kind.version)
            && fits(&self.kind, &kind.kind)
    }
}
