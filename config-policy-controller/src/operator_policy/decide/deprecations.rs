//! Whether the package, the channel or the installed version is deprecated. Pure.

use serde_json::Value;

use super::object::{Object, name};
use super::spec::Presence;
use super::state::{Condition, Part, Related, State, Truth};
use super::{Context, Plan, package};
use crate::evaluate::cluster::text;
use crate::messages::operator as messages;

const PART: Part = Part::Deprecations;

/// Adds the state to the plan. `csv` is the installed version, if there is one.
pub fn decide(context: &Context<'_>, plan: &mut Plan, csv: Option<&Object>) {
    let Some(desired) = &context.desired.subscription else {
        return;
    };
    if context.presence == Presence::MustNotHave {
        return;
    }
    let Some(Some(package)) = plan.read(&context.observed.package) else {
        return;
    };
    match deprecation(package, desired.field("channel"), csv) {
        Ok(Some(condition)) => plan.settle(State::new(condition, Related::Keep)),
        Ok(None) => {}
        Err(missing) => plan
            .errors
            .push(messages::package_incomplete(&desired.name, &missing)),
    }
}

/// The condition, `None` if it depends on a version that is not there. The error is what the manifest lacks.
fn deprecation(
    package: &Value,
    channel: &str,
    csv: Option<&Object>,
) -> Result<Option<Condition>, String> {
    let deprecated = |(reason, what): (&str, &str), name: &str, message: &str| {
        let message = messages::deprecated(what, name, message);
        Ok(Some(Condition::new(PART, Truth::False, reason, message)))
    };
    let package_name = package::name(package).ok_or("packageName")?;
    let of_package = package.get("status").and_then(package::deprecation);
    if let Some(message) = of_package {
        return deprecated(messages::PACKAGE_DEPRECATED, package_name, message);
    }
    let channel = Some(channel).filter(|channel| !channel.is_empty());
    let channel = channel.or_else(|| package::default_channel(package));
    let channel = channel.ok_or(messages::NO_DEFAULT_CHANNEL)?;
    package::channels(package).ok_or("channels")?;
    let entry = package::channel(package, channel);
    if let Some(message) = entry.and_then(package::deprecation) {
        return deprecated(messages::CHANNEL_DEPRECATED, channel, message);
    }
    let Some(csv) = csv else { return Ok(None) };
    if let Some(entry) = entry {
        let entries = entry.get("entries").and_then(Value::as_array);
        let entries = entries.ok_or_else(|| format!("the entries of channel \"{channel}\""))?;
        let mut entries = entries.iter();
        let bundle = entries.find(|bundle| text(bundle, "/name") == name(csv));
        if let Some(message) = bundle.and_then(package::deprecation) {
            return deprecated(messages::BUNDLE_DEPRECATED, name(csv), message);
        }
    }
    let fine = Condition::fixed(PART, Truth::True, messages::NOT_DEPRECATED);
    Ok(Some(fine))
}
