//! The compliance of the policy as a whole: a walk over its conditions in a fixed order. Pure.

use reeve_api::Compliance;
use reeve_api::operator_policy::{OperatorCondition, OperatorPolicySpec};

use super::spec::Presence;
use super::state::{Part, Truth};
use crate::messages::operator as messages;
use crate::status::update::truncate;

/// The type of the condition about the whole policy.
pub const COMPLIANT: &str = "Compliant";

const ORDER: &[Part] = &[
    Part::OperatorGroup,
    Part::Subscription,
    Part::InstallPlan,
    Part::Csv,
    Part::Crd,
    Part::Deployment,
    Part::CatalogSource,
];

/// The compliance and its message, `<compliance>; <messages>`.
pub fn aggregate(
    spec: &OperatorPolicySpec,
    conditions: &[OperatorCondition],
) -> (Compliance, String) {
    let mut walk = Walk {
        conditions,
        messages: Vec::new(),
        is_compliant: true,
    };
    let validity = walk.take(Part::Spec);
    if let Some(validity) = validity.filter(|condition| condition.status != "True")
        && !waits_for_namespace(&validity.message)
    {
        return result(false, &[&validity.message]);
    }
    for part in ORDER {
        walk.take(*part);
    }
    let counts = |config: &Option<String>| {
        Presence::of(spec) == Presence::MustHave && config.as_deref() == Some("NonCompliant")
    };
    let config = &spec.compliance_config;
    if counts(&config.deprecations_present) && walk.take(Part::Deprecations).is_none() {
        walk.messages.push(messages::DEPRECATIONS_UNKNOWN);
    }
    if counts(&config.minor_channel_upgrade_available) {
        walk.take_if_bad(Part::MinorChannel, messages::CHANNELS_UNKNOWN);
    }
    result(walk.is_compliant, &walk.messages)
}

/// A policy that only waits for the operator's namespace reports its parts all the same.
fn waits_for_namespace(message: &str) -> bool {
    let message = message.to_ascii_lowercase();
    message.starts_with(messages::OPERATOR_NAMESPACE_PREFIX)
}

struct Walk<'c> {
    conditions: &'c [OperatorCondition],
    messages: Vec<&'c str>,
    is_compliant: bool,
}

impl<'c> Walk<'c> {
    fn find(&self, part: Part) -> Option<&'c OperatorCondition> {
        let mut conditions = self.conditions.iter();
        conditions.find(|condition| condition.type_ == part.condition_type())
    }

    /// Counts a condition and its message. One that is missing is bad.
    fn take(&mut self, part: Part) -> Option<&'c OperatorCondition> {
        let condition = self.find(part);
        self.is_compliant &= condition.is_some_and(|condition| is_good(part, condition));
        self.messages
            .extend(condition.map(|condition| condition.message.as_str()));
        condition
    }

    /// Counts a condition, and its message if it is bad.
    fn take_if_bad(&mut self, part: Part, missing: &'c str) {
        let message = match self.find(part) {
            Some(condition) if is_good(part, condition) => return,
            Some(condition) => &condition.message,
            None => missing,
        };
        self.is_compliant = false;
        self.messages.push(message);
    }
}

fn is_good(part: Part, condition: &OperatorCondition) -> bool {
    let good: Truth = part.good();
    condition.status == good.as_str()
}

fn result(is_compliant: bool, messages: &[&str]) -> (Compliance, String) {
    let compliance = if is_compliant {
        Compliance::Compliant
    } else {
        Compliance::NonCompliant
    };
    let message = if messages.is_empty() {
        format!("{compliance};")
    } else {
        format!("{compliance}; {}", messages.join(", "))
    };
    (compliance, truncate(&message))
}
