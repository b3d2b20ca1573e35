//! What is printed of an evaluation.

use reeve_api::configuration_policy::{ConfigurationPolicyStatus, RelatedObject};

use crate::messages;
use crate::paint::{Color, Paint};

/// The differences of all related objects.
pub(crate) fn diffs(status: &ConfigurationPolicyStatus, paint: Paint) -> Vec<String> {
    let mut lines = vec![messages::DIFFS_TITLE.to_owned()];
    for related in status.related_objects.iter().flatten() {
        lines.push(object(related));
        let properties = related.properties.as_ref();
        match properties.and_then(|properties| properties.diff.as_deref()) {
            None | Some("") => lines.push(String::new()),
            Some(diff) => lines.extend(diff.lines().map(|line| painted(line, paint))),
        }
    }
    lines
}

fn object(related: &RelatedObject) -> String {
    let object = related.object.clone().unwrap_or_default();
    let metadata = object.metadata.unwrap_or_default();
    messages::object(
        &object.api_version.unwrap_or_default(),
        &object.kind.unwrap_or_default(),
        &metadata.namespace.unwrap_or_default(),
        &metadata.name.unwrap_or_default(),
    )
}

fn painted(line: &str, paint: Paint) -> String {
    if line.starts_with('-') && !line.starts_with("---") {
        paint.text(Color::Red, line)
    } else if line.starts_with('+') && !line.starts_with("+++") {
        paint.text(Color::Green, line)
    } else {
        line.to_owned()
    }
}

/// The compliance messages.
pub(crate) fn compliance(all: &[String]) -> Vec<String> {
    let title = messages::MESSAGES_TITLE.to_owned();
    std::iter::once(title).chain(all.iter().cloned()).collect()
}
