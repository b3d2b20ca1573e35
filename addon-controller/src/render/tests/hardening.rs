//! The containers that come to managed clusters.

use reeve_testkit::hardening;
use serde_json::json;

use super::{every_knob, hosted, inputs, objects, on_hub, openshift};
use crate::addon::Addon;
use crate::facts::Inputs;
use crate::testing::configured;

/// The agent and the Pod that cleans up before it goes.
fn variants() -> Vec<(&'static str, Inputs, usize)> {
    let agents = [Addon::Framework, Addon::ConfigPolicy];
    let of = |name, make: fn(Addon) -> Inputs| agents.map(|addon| (name, make(addon), 2));
    let mut all = vec![
        ("on the hub", on_hub(false), 1),
        ("synced", on_hub(true), 2),
    ];
    all.extend(of("default", inputs));
    all.extend(of("hosted", hosted));
    all.extend(of("OpenShift", openshift));
    all.extend(of("every knob", every_knob));
    all
}

#[test]
fn addon_70_all_containers_are_hardened() {
    for (name, inputs, containers) in variants() {
        let addon = inputs.installation.addon;
        let report = hardening::check(&objects(&inputs));
        assert_eq!(report.containers, containers, "{name}, {addon}: {report:?}");
        let faults = report.faults.join("\n");
        assert!(faults.is_empty(), "{name}, {addon}:\n{faults}");
    }
}

/// What an administrator sets for the agent holds for the Pod that cleans up as well: a quota may ask for it.
#[test]
fn addon_141_hook_has_the_resources_of_the_agent() {
    for addon in [Addon::Framework, Addon::ConfigPolicy] {
        let resources = json!({ "requests": { "memory": "1Mi" }, "limits": { "memory": "2Mi" } });
        let entry = json!({ "containerID": "*:*:*", "resources": resources });
        let objects = objects(&configured(
            addon,
            json!({ "resourceRequirements": [entry] }),
        ));
        let pods = objects.iter().filter(|object| object["kind"] == "Pod");
        let found: Vec<_> = pods
            .map(|pod| &pod["spec"]["containers"][0]["resources"])
            .collect();
        assert_eq!(found, [&resources]);
    }
}
