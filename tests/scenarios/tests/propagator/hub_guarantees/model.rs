//! What a hub must look like, reported once more and simply: who is placed where, and what statuses say.

use std::collections::{BTreeMap, BTreeSet};

use reeve_scenarios::{policy_spec, wants};
use serde_json::{Value, json};

use crate::hub_guarantees::hub;

pub(crate) const CLUSTERS: [&str; 12] = [
    "m0", "m1", "m10", "m11", "m2", "m3", "m4", "m5", "m6", "m7", "m8", "m9",
];
pub(crate) const POLICIES: [&str; 6] = ["p0", "p1", "p2", "p3", "p4", "p5"];
/// It reads a `ConfigMap` and the cluster's name.
pub(crate) const TEMPLATES: &str = "p4";
/// It reads a Secret, is placed everywhere all the time, and has automations.
pub(crate) const STEADY: &str = "p5";
pub(crate) const SET: &str = "set";
/// The member that the set keeps from clusters.
pub(crate) const EXCLUDED: &str = "p2";

/// A binding: its placement has its name.
pub(crate) struct Binding {
    pub(crate) name: &'static str,
    pub(crate) subjects: &'static [(&'static str, &'static str)],
    pub(crate) enforces: bool,
    pub(crate) restricted: bool,
}

const fn binding(name: &'static str, subjects: &'static [(&'static str, &'static str)]) -> Binding {
    Binding {
        name,
        subjects,
        enforces: false,
        restricted: false,
    }
}

pub(crate) const BINDINGS: [Binding; 6] = [
    binding("direct", &[("Policy", "p0"), ("Policy", "p1")]),
    Binding {
        enforces: true,
        ..binding("enforced", &[("Policy", "p0"), ("Policy", "p3")])
    },
    binding("more", &[("Policy", "p3"), ("PolicySet", SET)]),
    Binding {
        enforces: true,
        restricted: true,
        ..binding("restricted", &[("Policy", "p1"), ("Policy", "p2")])
    },
    binding("set", &[("PolicySet", SET)]),
    binding("templates", &[("Policy", "p4")]),
];

type Clusters = BTreeSet<&'static str>;

/// A policy as its user wants it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wanted {
    pub(crate) disabled: bool,
    pub(crate) edit: usize,
    pub(crate) team: usize,
}

/// What users want.
#[derive(Clone, Debug, Default)]
pub(crate) struct Model {
    pub(crate) policies: BTreeMap<&'static str, Wanted>,
    pub(crate) bound: BTreeSet<&'static str>,
    pub(crate) decisions: BTreeMap<&'static str, Clusters>,
    pub(crate) members: BTreeSet<&'static str>,
    pub(crate) excluded: Clusters,
    /// The numbers of what templates read.
    pub(crate) setting: usize,
    pub(crate) secret: usize,
    /// What each cluster reports of each policy, as long as it has a replica.
    pub(crate) observed: BTreeMap<(&'static str, &'static str), &'static str>,
}

/// Where a policy is.
#[derive(Debug, Default)]
struct Reach {
    entries: Vec<Value>,
    /// The bindings that choose each cluster.
    chosen: BTreeMap<&'static str, BTreeSet<&'static str>>,
}

impl Model {
    fn wanted(&self, policy: &str) -> Wanted {
        self.policies.get(policy).cloned().unwrap_or_default()
    }

    fn clusters_of(&self, binding: &str) -> Clusters {
        self.decisions.get(binding).cloned().unwrap_or_default()
    }

    fn bindings(&self) -> impl Iterator<Item = &'static Binding> + '_ {
        let bindings: &'static [Binding] = &BINDINGS;
        bindings
            .iter()
            .filter(|binding| self.bound.contains(binding.name))
    }

    fn is_excluded(&self, policy: &str, cluster: &str) -> bool {
        policy == EXCLUDED && self.excluded.contains(cluster)
    }

    /// Whether a binding places a policy on a cluster that it chooses.
    fn selects(&self, binding: &Binding, policy: &str, cluster: &str) -> bool {
        binding.subjects.iter().any(|(kind, name)| match *kind {
            "Policy" => *name == policy,
            _ => self.members.contains(policy) && !self.is_excluded(policy, cluster),
        })
    }

    /// Whether a policy is on a cluster, and if so, whether it is enforced there.
    pub(crate) fn placed(&self, policy: &str, cluster: &str) -> Option<bool> {
        if policy == STEADY {
            return Some(false);
        }
        if self.wanted(policy).disabled {
            return None;
        }
        let matching: Vec<&Binding> = self
            .bindings()
            .filter(|binding| self.clusters_of(binding.name).contains(cluster))
            .filter(|binding| self.selects(binding, policy, cluster))
            .collect();
        if matching.iter().all(|binding| binding.restricted) {
            return None;
        }
        Some(matching.iter().any(|binding| binding.enforces))
    }

    /// The spec of the root policy.
    pub(crate) fn root_spec(&self, policy: &str) -> Value {
        let wanted = self.wanted(policy);
        let edit = wanted.edit.to_string();
        let data = match policy {
            TEMPLATES => json!({
                "edit": edit,
                "value": hub(r#"fromConfigMap "" "settings" "key""#),
                "cluster": hub(".ManagedClusterName")
            }),
            STEADY => json!({ "edit": edit, "value": hub(r#"fromSecret "" "source" "key""#) }),
            _ => json!({ "edit": edit }),
        };
        let mut spec = policy_spec(&[wants(policy, data)]);
        spec["disabled"] = json!(wanted.disabled);
        spec
    }

    /// The spec of a replica; that of the steady policy has the plaintext where the token is.
    pub(crate) fn replica_spec(&self, policy: &str, cluster: &str, full: &str) -> Option<Value> {
        let enforced = self.placed(policy, cluster)?;
        let mut spec = self.root_spec(policy);
        if enforced {
            spec["remediationAction"] = json!("enforce");
        }
        let data =
            "/policy-templates/0/objectDefinition/spec/object-templates/0/objectDefinition/data";
        let data = spec.pointer_mut(data)?;
        match policy {
            TEMPLATES => {
                data["value"] = json!(setting(self.setting));
                data["cluster"] = json!(full);
            }
            STEADY => data["value"] = json!(secret(self.secret)),
            _ => {}
        }
        Some(spec)
    }

    fn compliance(&self, policy: &'static str, cluster: &'static str) -> &'static str {
        if self.placed(policy, cluster).is_none() {
            return "";
        }
        self.observed.get(&(policy, cluster)).copied().unwrap_or("")
    }

    fn reach(&self, policy: &str) -> Reach {
        let mut reach = Reach::default();
        let mut restricted = Vec::new();
        for binding in self.bindings() {
            let mut entries = Vec::new();
            for (kind, name) in binding.subjects {
                let mut entry =
                    json!({ "placementBinding": binding.name, "placement": binding.name });
                match *kind {
                    "Policy" if *name == policy => entries.push(entry),
                    "PolicySet" if self.members.contains(policy) => {
                        entry["policySet"] = json!(SET);
                        if policy == EXCLUDED && !self.excluded.is_empty() {
                            let excluded = self.excluded.iter();
                            let excluded: Vec<Value> = excluded
                                .map(|cluster| json!({ "clusterName": cluster }))
                                .collect();
                            entry["exclusions"] = json!(excluded);
                        }
                        entries.push(entry);
                    }
                    _ => {}
                }
            }
            if entries.is_empty() {
                continue;
            }
            let clusters = if self.wanted(policy).disabled {
                Clusters::new()
            } else {
                self.clusters_of(binding.name)
            };
            if binding.restricted {
                restricted.push((entries, clusters));
                continue;
            }
            reach.entries.extend(entries);
            for cluster in clusters {
                reach
                    .chosen
                    .entry(cluster)
                    .or_default()
                    .insert(binding.name);
            }
        }
        for (entries, clusters) in restricted {
            if clusters
                .iter()
                .any(|cluster| reach.chosen.contains_key(cluster))
            {
                reach.entries.extend(entries);
            }
        }
        reach.entries.sort_by_key(|entry| {
            let text = |key: &str| entry[key].as_str().unwrap_or_default().to_owned();
            format!(
                "{} {}  {}",
                text("placementBinding"),
                text("placement"),
                text("policySet")
            )
        });
        reach
    }

    /// The status of a root policy, with short names of clusters.
    pub(crate) fn root_status(&self, policy: &'static str) -> Value {
        let mut reach = self.reach(policy);
        if policy == STEADY {
            reach.entries = vec![json!({ "placementBinding": "steady", "placement": "steady" })];
            reach.chosen = CLUSTERS.map(|name| (name, ["steady"].into())).into();
        }
        let mut status = json!({});
        if !reach.entries.is_empty() {
            status["placement"] = json!(reach.entries);
        }
        let clusters: Vec<Value> = reach
            .chosen
            .iter()
            .map(|(cluster, bindings)| self.entry(policy, cluster, bindings, &reach.entries))
            .collect();
        if !clusters.is_empty() {
            status["status"] = json!(clusters);
        }
        let verdicts = reach.chosen.keys().copied();
        let verdicts: Vec<&str> = verdicts
            .filter(|cluster| self.placed(policy, cluster).is_some())
            .map(|cluster| self.compliance(policy, cluster))
            .collect();
        let worst = ["NonCompliant", "Pending", "", "Compliant"];
        let worst = worst.iter().find(|state| verdicts.contains(state));
        if let Some(worst) = worst.filter(|state| !state.is_empty()) {
            status["compliant"] = json!(worst);
        }
        status
    }

    fn entry(
        &self,
        policy: &'static str,
        cluster: &'static str,
        bindings: &BTreeSet<&'static str>,
        entries: &[Value],
    ) -> Value {
        let mut observed = reeve_scenarios::on(cluster, self.compliance(policy, cluster));
        if self.is_excluded(policy, cluster) {
            let excluding: Vec<&str> = entries
                .iter()
                .filter(|entry| entry.get("exclusions").is_some())
                .filter_map(|entry| entry["placementBinding"].as_str())
                .collect();
            let remaining: Vec<Value> = bindings
                .iter()
                .filter(|binding| !excluding.contains(binding))
                .map(|binding| json!({ "placementBinding": binding }))
                .collect();
            if !excluding.is_empty() && !remaining.is_empty() {
                observed["remainingBindings"] = json!(remaining);
            }
        }
        observed
    }

    /// The status of the set, with short names of clusters.
    pub(crate) fn set_status(&self) -> Value {
        if self.members.is_empty() {
            return json!({});
        }
        let bindings: Vec<&Binding> = self
            .bindings()
            .filter(|binding| binding.subjects.contains(&("PolicySet", SET)))
            .collect();
        let mut status = json!({});
        if !bindings.is_empty() {
            let entries = bindings.iter().map(
                |binding| json!({ "placementBinding": binding.name, "placement": binding.name }),
            );
            status["placement"] = entries.collect();
        }
        let relevant: Clusters = bindings
            .iter()
            .flat_map(|binding| self.clusters_of(binding.name))
            .collect();
        let mut lists: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        let mut verdicts = BTreeSet::new();
        for policy in &self.members {
            if self.wanted(policy).disabled {
                lists.entry("Disabled policies").or_default().push(policy);
                continue;
            }
            let chosen = self.reach(policy).chosen;
            let relevant = relevant.iter().filter(|cluster| {
                !self.is_excluded(policy, cluster) && chosen.contains_key(*cluster)
            });
            let found: BTreeSet<&str> = relevant
                .map(|cluster| self.compliance(policy, cluster))
                .filter(|state| !state.is_empty())
                .collect();
            let worst = ["NonCompliant", "Pending", "Compliant"];
            match worst.into_iter().find(|state| found.contains(state)) {
                None => lists
                    .entry("No status provided while awaiting policy status")
                    .or_default()
                    .push(policy),
                Some(state) => {
                    verdicts.insert(state);
                    if state == "Pending" {
                        let pending = lists.entry("Policies awaiting pending dependencies");
                        pending.or_default().push(policy);
                    }
                }
            }
        }
        let unknown = lists.contains_key("No status provided while awaiting policy status");
        let worst = ["NonCompliant", "Pending", "Compliant"];
        let worst = worst.into_iter().find(|state| verdicts.contains(state));
        if let Some(worst) = worst.filter(|_| !unknown) {
            status["compliant"] = json!(worst);
        }
        let order = [
            "Policies awaiting pending dependencies",
            "Disabled policies",
            "No status provided while awaiting policy status",
        ];
        let parts = order
            .iter()
            .filter_map(|part| Some(format!("{part}: {}", lists.get(part)?.join(", "))));
        let mut message = parts.collect::<Vec<_>>().join("; ");
        if message.is_empty() {
            "All policies are reporting status".clone_into(&mut message);
        }
        if !self.excluded.is_empty() {
            message.push_str(
                "; One or more policies were excluded. For details, see status.exclusions.",
            );
            status["exclusions"] = json!([{ "policyName": EXCLUDED, "clusters": self.excluded }]);
        }
        status["statusMessage"] = json!(message);
        status
    }
}

/// What the `ConfigMap` reports.
pub(crate) fn setting(number: usize) -> String {
    format!("setting {number}")
}

/// What the Secret's data is.
pub(crate) fn secret(number: usize) -> String {
    let bytes = k8s_openapi::ByteString(format!("secret {number}").into_bytes());
    let value = serde_json::to_value(bytes).unwrap_or_default();
    value.as_str().unwrap_or_default().to_owned()
}
