//! What a policy reports of itself: its status, read.

use std::fmt::{Debug, Display, Formatter, Result as FmtResult};

use anyhow::{Result, ensure};
use serde_json::Value;

/// The status of a `ConfigurationPolicy`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ObservedStatus(pub Value);

/// An entry of `relatedObjects`.
#[derive(Clone, Debug, PartialEq)]
pub struct Related {
    /// `Kind namespace/name`, or `Kind name`.
    pub object: String,
    /// `Compliant` or `NonCompliant`.
    pub compliant: String,
    /// The reason, as the message shows it.
    pub reason: String,
    /// `properties`, or null.
    pub properties: Value,
}

impl Related {
    /// `properties.diff`, or nothing.
    pub fn diff(&self) -> &str {
        self.properties["diff"].as_str().unwrap_or_default()
    }
}

impl Display for ObservedStatus {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> FmtResult {
        write!(formatter, "{:#}", self.0)
    }
}

impl ObservedStatus {
    /// The overall compliance; empty while unknown.
    pub fn compliance(&self) -> &str {
        self.text("/compliant")
    }

    /// How many object templates it publishes of.
    pub fn details(&self) -> usize {
        self.list("/compliancyDetails").len()
    }

    /// The compliance of an object template.
    pub fn compliance_of(&self, index: usize) -> &str {
        self.text(&format!("/compliancyDetails/{index}/Compliant"))
    }

    /// The reason of an object template's condition.
    pub fn reason(&self, index: usize) -> &str {
        self.text(&format!("/compliancyDetails/{index}/conditions/0/reason"))
    }

    /// The message of an object template's condition.
    pub fn message(&self, index: usize) -> &str {
        self.text(&format!("/compliancyDetails/{index}/conditions/0/message"))
    }

    /// When it was last evaluated.
    pub fn evaluated(&self) -> &str {
        self.text("/lastEvaluated")
    }

    /// The messages of the history, newest first.
    pub fn history(&self) -> Vec<String> {
        let entries = self.list("/history").iter();
        entries
            .map(|entry| entry["message"].as_str().unwrap_or_default().to_owned())
            .collect()
    }

    /// The related objects, in order.
    pub fn related(&self) -> Vec<Related> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let entries = self.list("/relatedObjects").iter();
        let related = entries.map(|entry| {
            let object = &entry["object"];
            let metadata = &object["metadata"];
            let namespace = match metadata["namespace"].as_str() {
                Some(namespace) if !namespace.is_empty() => format!("{namespace}/"),
                _ => String::new(),
            };
            Related {
                object: format!(
                    "{} {namespace}{}",
                    text(&object["kind"]),
                    text(&metadata["name"])
                ),
                compliant: text(&entry["compliant"]),
                reason: text(&entry["reason"]),
                properties: entry["properties"].clone(),
            }
        });
        related.collect()
    }

    /// What [`Related::object`] is of every related object.
    pub fn related_objects(&self) -> Vec<String> {
        self.related()
            .into_iter()
            .map(|related| related.object)
            .collect()
    }

    fn text(&self, path: &str) -> &str {
        self.0
            .pointer(path)
            .and_then(Value::as_str)
            .unwrap_or_default()
    }

    fn list(&self, path: &str) -> &[Value] {
        self.0
            .pointer(path)
            .and_then(Value::as_array)
            .map_or(&[], Vec::as_slice)
    }
}

/// That something is what it should be.
// By value: what is compared is mostly written in place.
#[allow(clippy::needless_pass_by_value)]
pub fn same<G: PartialEq<W> + Debug, W: Debug>(what: &str, got: G, want: W) -> Result<()> {
    ensure!(got == want, "{what} is\n{got:#?}\nand should be\n{want:#?}");
    Ok(())
}
