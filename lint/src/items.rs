//! The objects of files: documents, items of lists, the templates of policies, and the objects that those are about.

use serde_json::Value;

use crate::file::{Document, File, join};

/// The API group of policies.
pub(crate) const POLICIES: &str = "policy.open-cluster-management.io";

/// An object, and where it is.
pub(crate) struct Item<'a> {
    pub(crate) file: &'a File,
    pub(crate) document: &'a Document,
    /// The pointer to it in its document.
    pub(crate) pointer: String,
    pub(crate) value: &'a Value,
    pub(crate) role: Role<'a>,
}

/// What an object is part of.
#[derive(Clone, Copy)]
pub(crate) enum Role<'a> {
    /// Nothing: it is a document, or an item of a list.
    Document,
    /// A Policy.
    Template,
    /// An object template of a ConfigurationPolicy.
    Desired {
        /// The object template.
        template: &'a Value,
        /// The ConfigurationPolicy.
        policy: &'a Value,
    },
}

/// All objects of files.
pub(crate) fn of_files(files: &[File]) -> Vec<Item<'_>> {
    let mut all = Vec::new();
    for file in files {
        for document in &file.documents {
            if let Ok(value) = &document.value {
                add(file, document, "", value, &mut all);
            }
        }
    }
    all
}

fn add<'a>(
    file: &'a File,
    document: &'a Document,
    pointer: &str,
    value: &'a Value,
    all: &mut Vec<Item<'a>>,
) {
    let is_list = text(value, "/kind").ends_with("List");
    if let (true, Some(items)) = (is_list, value["items"].as_array()) {
        for (index, item) in items.iter().enumerate() {
            add(
                file,
                document,
                &format!("{pointer}/items/{index}"),
                item,
                all,
            );
        }
        return;
    }
    let document_of = (file, document);
    all.push(item(document_of, pointer.to_owned(), value, Role::Document));
    match text(value, "/kind") {
        "Policy" => {
            let templates = value
                .pointer("/spec/policy-templates")
                .and_then(Value::as_array);
            for (index, template) in templates.into_iter().flatten().enumerate() {
                let Some(definition) = template.get("objectDefinition") else {
                    continue;
                };
                let pointer = format!("{pointer}/spec/policy-templates/{index}/objectDefinition");
                let role = Role::Template;
                all.push(item(document_of, pointer.clone(), definition, role));
                desired(document_of, &pointer, definition, all);
            }
        }
        _ => desired(document_of, pointer, value, all),
    }
}

/// The objects that a ConfigurationPolicy is about.
fn desired<'a>(
    of: (&'a File, &'a Document),
    pointer: &str,
    policy: &'a Value,
    all: &mut Vec<Item<'a>>,
) {
    if text(policy, "/kind") != "ConfigurationPolicy" {
        return;
    }
    let templates = policy
        .pointer("/spec/object-templates")
        .and_then(Value::as_array);
    for (index, template) in templates.into_iter().flatten().enumerate() {
        if let Some(definition) = template.get("objectDefinition") {
            let pointer = format!("{pointer}/spec/object-templates/{index}/objectDefinition");
            all.push(item(
                of,
                pointer,
                definition,
                Role::Desired { template, policy },
            ));
        }
    }
}

fn item<'a>(
    (file, document): (&'a File, &'a Document),
    pointer: String,
    value: &'a Value,
    role: Role<'a>,
) -> Item<'a> {
    Item {
        file,
        document,
        pointer,
        value,
        role,
    }
}

impl Item<'_> {
    pub(crate) fn kind(&self) -> &str {
        text(self.value, "/kind")
    }

    pub(crate) fn group(&self) -> &str {
        let api_version = text(self.value, "/apiVersion");
        api_version.split_once('/').map_or("", |(group, _)| group)
    }

    pub(crate) fn is(&self, group: &str, kind: &str) -> bool {
        self.kind() == kind && self.group() == group
    }

    pub(crate) fn name(&self) -> &str {
        text(self.value, "/metadata/name")
    }

    pub(crate) fn namespace(&self) -> &str {
        text(self.value, "/metadata/namespace")
    }

    /// The kind and name, as people call the object.
    pub(crate) fn described(&self) -> String {
        match (self.namespace(), self.name()) {
            (_, "") => self.kind().to_owned(),
            ("", name) => format!("{} {name}", self.kind()),
            (namespace, name) => format!("{} {namespace}/{name}", self.kind()),
        }
    }

    /// The pointer to a field, given as a pointer within the object.
    pub(crate) fn at(&self, field: &str) -> String {
        format!("{}{field}", self.pointer)
    }

    pub(crate) fn finding(
        &self,
        field: &str,
        id: &str,
        message: String,
    ) -> crate::finding::Finding {
        self.file
            .finding(self.document, &self.at(field), id, message)
    }

    /// The scalars of the object with their pointers within it.
    pub(crate) fn scalars(&self) -> Vec<(String, &Value)> {
        let mut all = Vec::new();
        scalars(self.value, String::new(), &mut all);
        all
    }
}

fn scalars<'v>(value: &'v Value, pointer: String, all: &mut Vec<(String, &'v Value)>) {
    match value {
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                scalars(item, format!("{pointer}/{index}"), all);
            }
        }
        Value::Object(fields) => {
            for (key, field) in fields {
                scalars(field, join(&pointer, key), all);
            }
        }
        scalar => all.push((pointer, scalar)),
    }
}

/// The text at a pointer, or an empty one.
pub(crate) fn text<'v>(value: &'v Value, pointer: &str) -> &'v str {
    let found = value.pointer(pointer).and_then(Value::as_str);
    found.unwrap_or_default()
}

/// Whether a value has templates anywhere.
pub(crate) fn is_templated(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains("{{") || text.contains("$ocm_encrypted:"),
        Value::Array(items) => items.iter().any(is_templated),
        Value::Object(fields) => fields
            .iter()
            .any(|(key, value)| key.contains("{{") || is_templated(value)),
        _ => false,
    }
}
