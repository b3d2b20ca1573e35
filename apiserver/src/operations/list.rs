//! Handles requests that list objects.

use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use base64::{DecodeError, Engine as _};
use reeve_go_compat::labels::Selector;
use reeve_go_compat::runes::quote;
use serde_json::{Value, json};
use std::cell::LazyCell;

use super::{ObjectRequest, Reply};
use crate::builtin;
use crate::encode::ObjectList;
use crate::kinds::Kind;
use crate::request::selectors::FieldSelector;
use crate::status_error::{FieldError, StatusError};
use crate::store::{Key, Page, Range, Store, Stored, TooOld};

/// The version of continue tokens.
const TOKEN_VERSION: &str = "meta.k8s.io/v1";

/// A selection of objects of a resource.
#[derive(Clone, Debug, Default)]
pub(crate) struct Selection {
    pub(crate) namespace: Option<String>,
    labels: Selector,
    fields: FieldSelector,
}

/// Which part of what is selected is wanted.
#[derive(Debug, Default)]
pub(crate) struct Part<'a> {
    /// As it was at this revision.
    pub(crate) revision: Option<u64>,
    /// Objects after this key.
    pub(crate) after: Option<&'a Key>,
    /// So many at most.
    pub(crate) limit: Option<usize>,
}

impl Selection {
    /// Whether all objects of the namespace are selected.
    fn is_plain(&self) -> bool {
        self.labels.is_empty() && self.fields.0.is_empty()
    }

    /// Whether objects have to be read to know which are selected.
    fn reads_objects(&self) -> bool {
        let known = ["metadata.name", "metadata.namespace"];
        self.fields
            .0
            .iter()
            .any(|one| !known.contains(&one.field.as_str()))
    }

    /// The part of a table that is selected. Objects are not read while the table is held.
    pub(crate) fn of(&self, store: &Store, kind: &Kind, part: &Part<'_>) -> Result<Page, TooOld> {
        let reads = self.reads_objects();
        let range = Range {
            namespace: self.namespace.as_deref(),
            after: part.after,
            limit: part.limit.filter(|_| !reads),
            // The response has no such count for a selection, and each page would compare it with all objects that remain.
            counts_remaining: self.is_plain(),
        };
        let page = store.list_at(&kind.table, part.revision, range, |key, stored| {
            if reads {
                self.labels.matches(|key| stored.labels.get(key))
            } else {
                self.matches(kind, key, stored)
            }
        })?;
        if reads {
            return Ok(page.narrowed(part.limit, |key, stored| self.matches(kind, key, stored)));
        }
        Ok(page)
    }

    /// Whether an object is selected.
    pub(crate) fn matches(&self, kind: &Kind, key: &Key, stored: &Stored) -> bool {
        if self
            .namespace
            .as_deref()
            .is_some_and(|namespace| namespace != &*key.namespace)
        {
            return false;
        }
        if !self.labels.matches(|key| stored.labels.get(key)) {
            return false;
        }
        if self.fields.0.is_empty() {
            return true;
        }
        // Only other fields than these two are worth reading the object for.
        let object = LazyCell::new(|| stored.value());
        self.fields.matches(|field| match field {
            "metadata.name" => key.name.to_string(),
            "metadata.namespace" => key.namespace.to_string(),
            field => builtin::field(kind, &object, field),
        })
    }
}

impl ObjectRequest {
    /// The objects that the query selects.
    pub(crate) fn selection(&self) -> Result<Selection, StatusError> {
        let labels = self.query.get("labelSelector").unwrap_or_default();
        let labels = Selector::parse(labels).map_err(StatusError::bad_request)?;
        let fields = FieldSelector::parse(self.query.get("fieldSelector").unwrap_or_default())?;
        for one in &fields.0 {
            let known = ["metadata.name", "metadata.namespace"].contains(&one.field.as_str())
                || builtin::selectable(&self.kind, &one.field);
            if !known {
                return Err(StatusError::bad_request(builtin::unknown_field(
                    &self.kind, &one.field,
                )));
            }
        }
        let namespace = self
            .kind
            .namespaced
            .then(|| self.namespace.clone())
            .flatten();
        let mut selection = Selection {
            namespace,
            labels,
            fields,
        };
        // A watch or list of one object by its path.
        if let Some(name) = &self.name {
            selection
                .fields
                .0
                .push(crate::request::selectors::FieldRequirement {
                    field: "metadata.name".to_owned(),
                    value: name.clone(),
                    not: false,
                });
        }
        Ok(selection)
    }

    /// The objects that the query selects, a page of them if it asks for pages.
    pub(crate) fn selected(&self) -> Result<ObjectList, StatusError> {
        let selection = self.selection()?;
        let limit = self.query.number("limit")?.filter(|limit| *limit > 0);
        let limit = limit.and_then(|limit| usize::try_from(limit).ok());
        let start = self.query.text("continue").map(read_token).transpose()?;
        let version = self.query.text("resourceVersion");
        self.check_version(version, start.is_some())?;
        let at = start.as_ref().map(|(revision, _)| *revision);
        let exact = match (self.query.text("resourceVersionMatch"), version) {
            (Some("Exact"), Some(version)) => version.parse().ok(),
            _ => None,
        };
        let part = Part {
            revision: at.or(exact),
            after: start.as_ref().map(|(_, key)| key),
            limit,
        };
        let page = selection.of(&self.state.store, &self.kind, &part);
        let page = page.map_err(|_| expired_token(start.is_some()))?;
        let last = page.objects.last().map(|(key, _)| key.clone());
        let more = page.remaining > 0;
        Ok(ObjectList {
            next: last
                .filter(|_| more)
                .map(|key| write_token(page.revision, &key)),
            remaining: (more && selection.is_plain()).then_some(page.remaining),
            objects: page.objects,
            revision: page.revision,
        })
    }

    fn check_version(&self, version: Option<&str>, continues: bool) -> Result<(), StatusError> {
        let refuse = |field: &str, why: &str| {
            let error = FieldError::new(crate::status_error::Cause::Forbidden, field, why);
            Err(StatusError::invalid_options("ListOptions", &[error]))
        };
        let matching = self.query.text("resourceVersionMatch");
        match (matching, version) {
            (Some(other), _) if !["Exact", "NotOlderThan"].contains(&other) => {
                let allowed = ["Exact", "NotOlderThan", ""];
                let field = "resourceVersionMatch";
                let error = FieldError::not_supported(field, &other.into(), &allowed);
                return Err(StatusError::invalid_options("ListOptions", &[error]));
            }
            (Some(_), None) if !continues => {
                return refuse(
                    "resourceVersionMatch",
                    "resourceVersionMatch is forbidden unless resourceVersion is provided",
                );
            }
            (Some("Exact"), Some("0")) => {
                return refuse(
                    "resourceVersionMatch",
                    "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"",
                );
            }
            _ => {}
        }
        if let Some(version) = version {
            if continues && version != "0" {
                return Err(StatusError::bad_request(
                    "specifying resource version is not allowed when using continue",
                ));
            }
            let number: u64 = version.parse().map_err(|_| {
                StatusError::bad_request(format!(
                    "invalid resource version: {}",
                    no_version(version)
                ))
            })?;
            if number > self.state.store.revision() {
                return Err(too_large(number, self.state.store.revision()));
            }
        }
        Ok(())
    }

    pub(crate) fn list(self) -> Result<(Self, Reply), StatusError> {
        let listed = self.selected()?;
        Ok((self, Reply::List(listed)))
    }
}

pub(super) fn too_large(asked: u64, newest: u64) -> StatusError {
    StatusError {
        code: 504,
        reason: "Timeout".into(),
        message: format!("Timeout: Too large resource version: {asked}, current: {newest}"),
        details: Some(json!({
            "causes": [{ "reason": "ResourceVersionTooLarge", "message": "Too large resource version" }],
            "retryAfterSeconds": 1,
        })),
    }
}

fn expired_token(continues: bool) -> StatusError {
    if continues {
        return StatusError::expired(
            "The provided continue parameter is too old to display a consistent list result. You can start a new list \
             without the continue parameter, or use the continue token in this response to retrieve the remainder of \
             the results. Continuing with the provided token results in an inconsistent list - objects that were \
             created, modified, or deleted between the time the first chunk was returned and now may show up in the list.",
        );
    }
    StatusError::expired("The resourceVersion for the provided list is too old.")
}

fn write_token(revision: u64, last: &Key) -> String {
    let text =
        json!({ "v": TOKEN_VERSION, "rv": revision, "ns": &*last.namespace, "start": &*last.name });
    URL_SAFE_NO_PAD.encode(text.to_string())
}

fn read_token(token: &str) -> Result<(u64, Key), StatusError> {
    let wrong = |why: String| {
        StatusError::bad_request(format!(
            "invalid continue token: continue key is not valid: {why}"
        ))
    };
    let bytes = URL_SAFE_NO_PAD.decode(token).map_err(|error| {
        let at = match error {
            DecodeError::InvalidByte(at, _) | DecodeError::InvalidLastSymbol(at, _) => at,
            DecodeError::InvalidLength(_) | DecodeError::InvalidPadding => token.len(),
        };
        wrong(format!("illegal base64 data at input byte {at}"))
    })?;
    let read: Value = serde_json::from_slice(&bytes).map_err(|error| wrong(error.to_string()))?;
    let text = |key: &str| read.get(key).and_then(Value::as_str).unwrap_or_default();
    let version = text("v");
    if version != TOKEN_VERSION {
        return Err(wrong(format!(
            "server does not recognize this encoded version {version}"
        )));
    }
    let revision = read.get("rv").and_then(Value::as_u64).unwrap_or_default();
    if revision == 0 {
        return Err(wrong(format!(
            "incorrect encoded start resourceVersion (version {TOKEN_VERSION})"
        )));
    }
    if text("start").is_empty() {
        return Err(wrong(format!(
            "encoded start key empty (version {TOKEN_VERSION})"
        )));
    }
    Ok((revision, Key::new(text("ns"), text("start"))))
}

/// The message for a resource version that is not a number.
pub(super) fn no_version(text: &str) -> String {
    let quoted = quote(text);
    format!(
        "resourceVersion: Invalid value: {quoted}: strconv.ParseUint: parsing {quoted}: invalid syntax"
    )
}
