//! What a failing test prints: the objects and events involved.

use std::fmt::Write as _;

use crate::{Objects, yaml};

const POLICY_GROUP: &str = "policy.open-cluster-management.io/v1";
const KINDS: [(&str, &str); 3] = [
    (POLICY_GROUP, "Policy"),
    (POLICY_GROUP, "ConfigurationPolicy"),
    ("v1", "Event"),
];

/// The Policies, `ConfigurationPolicies` and Events of `namespaces` as YAML. A failed read is
/// noted in a comment: this runs when something is wrong already.
pub async fn dump(objects: &Objects, namespaces: &[&str]) -> String {
    let mut text = String::new();
    for namespace in namespaces {
        for (api_version, kind) in KINDS {
            let _ = writeln!(text, "# {kind} in {namespace}");
            match objects.list(api_version, kind, Some(namespace)).await {
                Ok(items) => {
                    for item in &items {
                        let item = yaml::render(item);
                        let item = item.unwrap_or_else(|error| format!("# {error:#}\n"));
                        let _ = writeln!(text, "---\n{}", item.trim_end());
                    }
                }
                Err(error) => {
                    let _ = writeln!(text, "# {error:#}");
                }
            }
        }
    }
    text
}
