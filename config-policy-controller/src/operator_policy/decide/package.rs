//! The fields of a package manifest. Pure.

use serde_json::Value;

use crate::evaluate::cluster::text;

/// The channel of those who name none.
pub fn default_channel(package: &Value) -> Option<&str> {
    Some(text(package, "/status/defaultChannel")).filter(|channel| !channel.is_empty())
}

/// The channels; `None` if the manifest has no list of them.
pub fn channels(package: &Value) -> Option<&Vec<Value>> {
    package.pointer("/status/channels")?.as_array()
}

/// The channel of this name.
pub fn channel<'p>(package: &'p Value, name: &str) -> Option<&'p Value> {
    let mut channels = channels(package)?.iter();
    channels.find(|channel| text(channel, "/name") == name)
}

/// The name of the package.
pub fn name(package: &Value) -> Option<&str> {
    Some(text(package, "/status/packageName")).filter(|name| !name.is_empty())
}

/// Why something is deprecated; `None` if it is not.
pub fn deprecation(of: &Value) -> Option<&str> {
    let deprecation = of.get("deprecation").filter(|given| !given.is_null())?;
    Some(text(deprecation, "/message"))
}
