//! Whether the package has a channel of a newer minor version. Pure.

use serde_json::Value;

use super::spec::{Presence, approves_upgrades};
use super::state::{Condition, Part, Related, State, Truth};
use super::{Context, Plan, package};
use crate::evaluate::cluster::text;
use crate::messages::operator as messages;

const PART: Part = Part::MinorChannel;

/// Adds the state to the plan.
pub fn decide(context: &Context<'_>, plan: &mut Plan) {
    let spec = &context.policy.spec;
    let settle = |plan: &mut Plan, condition| plan.settle(State::new(condition, Related::Keep));
    let skipped = Condition::fixed(PART, Truth::True, messages::CHANNEL_SKIPPED);
    let Some(desired) = &context.desired.subscription else {
        return settle(plan, skipped);
    };
    if context.presence == Presence::MustNotHave || !approves_upgrades(spec) {
        return settle(plan, skipped);
    }
    let Some(package) = plan.read(&context.observed.package) else {
        return;
    };
    let Some(package) = package else {
        return settle(plan, skipped);
    };
    let Some(channels) = package::channels(package) else {
        let error = messages::package_incomplete(&desired.name, "channels");
        plan.errors.push(error);
        return;
    };
    let channel = Some(desired.field("channel")).filter(|channel| !channel.is_empty());
    let channel = channel.or_else(|| package::default_channel(package));
    let newer = newer(channel.unwrap_or_default(), channels);
    if newer.is_empty() {
        let recommended = Condition::fixed(PART, Truth::True, messages::CHANNEL_RECOMMENDED);
        return settle(plan, recommended);
    }
    let counts = spec
        .compliance_config
        .minor_channel_upgrade_available
        .as_deref()
        == Some("NonCompliant");
    let message = messages::newer_channels(&newer);
    let reason = messages::CHANNEL_UPGRADE_AVAILABLE;
    settle(
        plan,
        Condition::new(PART, Truth::of(!counts), reason, message),
    );
}

/// The names of the channels of a newer minor version, sorted as texts.
pub fn newer(selected: &str, channels: &[Value]) -> Vec<String> {
    let Some(selected) = Channel::parse(selected) else {
        return Vec::new();
    };
    let names = channels.iter().map(|channel| text(channel, "/name"));
    let newer = names.filter(|name| {
        Channel::parse(name).is_some_and(|channel| {
            channel.line() == selected.line() && channel.is_newer_than(&selected)
        })
    });
    let mut newer: Vec<String> = newer.map(str::to_owned).collect();
    newer.sort();
    newer
}

/// A channel that is named after a version: `<letters and hyphens><major>.<minor>`, perhaps with `.x`.
struct Channel<'n> {
    prefix: &'n str,
    major: &'n str,
    minor: &'n str,
    suffix: &'n str,
}

impl<'n> Channel<'n> {
    fn parse(name: &'n str) -> Option<Self> {
        let is_letter = |c: char| c.is_ascii_alphabetic() || c == '-';
        let digits = name.trim_start_matches(is_letter);
        let prefix = name.strip_suffix(digits)?;
        let (rest, suffix) = match digits.strip_suffix(".x") {
            Some(rest) => (rest, ".x"),
            None => (digits, ""),
        };
        let (major, minor) = rest.split_once('.')?;
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        (is_number(major) && is_number(minor)).then_some(Self {
            prefix,
            major,
            minor,
            suffix,
        })
    }

    /// What channels of one line have in common.
    fn line(&self) -> (&str, &str, &str) {
        (self.prefix, self.major, self.suffix)
    }

    fn is_newer_than(&self, other: &Self) -> bool {
        self.minor_number() > other.minor_number()
    }

    /// The minor version in a form that sorts as numbers of any length do.
    fn minor_number(&self) -> (usize, &str) {
        let digits = self.minor.trim_start_matches('0');
        (digits.len(), digits)
    }
}
