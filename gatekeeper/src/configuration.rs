//! Gatekeeper's own configuration, `Config` and `SyncSet`: which kinds the inventory has, and which namespaces are left out (GK-161,
//! GK-162).

use crate::Json;
use crate::audit::ResourceKind;
use crate::matching::{group_and_kind, own_name, own_namespace, wildcard_matches};

/// What a process of Gatekeeper does with objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Process {
    /// It audits them.
    Audit,
    /// It puts them into the inventory.
    Sync,
}

impl Process {
    fn is_named(self, name: &str) -> bool {
        let own = match self {
            Self::Audit => "audit",
            Self::Sync => "sync",
        };
        name == own || name == "*"
    }
}

/// The namespaces that a `Config` leaves out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exclusions {
    audit: Vec<String>,
    sync: Vec<String>,
}

impl Exclusions {
    /// Those of `spec.match` of a `Config`.
    pub fn of_config(config: &Json) -> Self {
        let of = |process: Process| {
            let entries = config["spec"]["match"].as_array().into_iter().flatten();
            let entries = entries
                .filter(|entry| texts(&entry["processes"]).any(|name| process.is_named(name)));
            let patterns = entries.flat_map(|entry| texts(&entry["excludedNamespaces"]));
            patterns.map(str::to_owned).collect()
        };
        Self {
            audit: of(Process::Audit),
            sync: of(Process::Sync),
        }
    }

    /// Whether an object is left out: by its namespace, a Namespace by its own name.
    pub fn excludes(&self, process: Process, object: &Json) -> bool {
        let patterns = match process {
            Process::Audit => &self.audit,
            Process::Sync => &self.sync,
        };
        let name = if group_and_kind(object) == ("", "Namespace") {
            own_name(object)
        } else {
            own_namespace(object)
        };
        patterns.iter().any(|one| wildcard_matches(one, name))
    }
}

/// The kinds that a `Config` or a `SyncSet` puts into the inventory. An entry without a version or a kind names none.
pub fn synced_kinds(object: &Json) -> Vec<ResourceKind> {
    let spec = &object["spec"];
    let lists = [&spec["sync"]["syncOnly"], &spec["gvks"]];
    let entries = lists
        .into_iter()
        .filter_map(Json::as_array)
        .flatten()
        .map(|entry| {
            let text = |field: &str| entry[field].as_str().unwrap_or_default().to_owned();
            ResourceKind {
                group: text("group"),
                version: text("version"),
                kind: text("kind"),
            }
        });
    entries
        .filter(|kind| !kind.version.is_empty() && !kind.kind.is_empty())
        .collect()
}

fn texts(value: &Json) -> impl Iterator<Item = &str> {
    let list = value.as_array().into_iter().flatten();
    list.filter_map(Json::as_str)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn in_namespace(namespace: &str) -> Json {
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": namespace}})
    }

    #[test]
    fn gk_162_namespaces_are_left_out_by_process_and_pattern() {
        let config = json!({"spec": {"match": [
            {"processes": ["audit", "webhook"], "excludedNamespaces": ["kube-*", "shop"]},
            {"processes": ["*"], "excludedNamespaces": ["*-test"]},
            {"processes": ["sync"], "excludedNamespaces": ["blog"]},
            {"excludedNamespaces": ["nobody"]},
        ]}});
        let exclusions = Exclusions::of_config(&config);
        let left_out =
            |process: Process, name: &str| exclusions.excludes(process, &in_namespace(name));
        for (name, audit, sync) in [
            ("kube-system", true, false),
            ("shop", true, false),
            ("shop-test", true, true),
            ("blog", false, true),
            ("nobody", false, false),
            ("", false, false),
        ] {
            assert_eq!(left_out(Process::Audit, name), audit, "audit of {name:?}");
            assert_eq!(left_out(Process::Sync, name), sync, "sync of {name:?}");
        }
        let namespace =
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}});
        assert!(exclusions.excludes(Process::Audit, &namespace));
        assert!(!exclusions.excludes(Process::Sync, &namespace));
    }

    #[test]
    fn gk_161_kinds_of_configs_and_sync_sets_are_read() {
        let config = json!({"spec": {"sync": {"syncOnly": [
            {"version": "v1", "kind": "Pod"}, {"group": "apps", "version": "v1", "kind": "Deployment"},
            {"group": "apps", "kind": "StatefulSet"}, "odd",
        ]}}});
        let sync_set =
            json!({"spec": {"gvks": [{"group": "", "version": "v1", "kind": "Service"}]}});
        let shown = |object: &Json| -> Vec<String> {
            let kinds = synced_kinds(object).into_iter();
            kinds
                .map(|one| format!("{}/{} {}", one.group, one.version, one.kind))
                .collect()
        };
        assert_eq!(shown(&config), ["/v1 Pod", "apps/v1 Deployment"]);
        assert_eq!(shown(&sync_set), ["/v1 Service"]);
        assert!(synced_kinds(&json!({"spec": {"gvks": 7}})).is_empty());
    }
}
