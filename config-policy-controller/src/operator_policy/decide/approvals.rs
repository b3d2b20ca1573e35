//! Which versions of an install plan the policies approve. Pure.
//!
//! OLM puts all versions that are pending in a namespace into one install plan. It is approved if all of them are, each
//! by the policy of its Subscription.

use std::collections::{BTreeSet, HashMap, HashSet};

use serde_json::Value;

use super::object::{Object, is_copied, name};
use super::spec::Versions;
use crate::evaluate::cluster::text;

/// What an enforced, valid `musthave` policy approves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grants {
    pub versions: Versions,
    /// The starting version that the policy itself names. One that only the Subscription on the cluster has grants
    /// nothing.
    pub starting_csv: String,
    pub approves_upgrades: bool,
}

/// A policy that may approve, with its Subscription.
#[derive(Clone, Debug, PartialEq)]
pub struct Approver {
    pub grants: Grants,
    pub subscription: Object,
    /// The versions with OLM's label of the operator.
    pub csvs: Vec<Object>,
}

impl Grants {
    /// Whether this version may be installed.
    pub fn allow(&self, csv: &str) -> bool {
        self.versions.allowed.is_empty() || self.names(csv)
    }

    fn names(&self, csv: &str) -> bool {
        let mut allowed = self.versions.allowed.iter();
        allowed.any(|allowed| allowed == csv) || self.starting_csv == csv
    }

    /// Whether this version may be approved. Templates that came to nothing approve nothing.
    fn approve(&self, csv: &str) -> bool {
        if self.versions.unresolved {
            return self.names(csv);
        }
        self.allow(csv)
    }
}

impl Approver {
    /// The versions in the install plan that the policy approves: that of its Subscription, and what it depends on.
    pub fn approved(&self, install_plan: &Value) -> BTreeSet<String> {
        let current = text(&self.subscription, "/status/currentCSV");
        let is_allowed = self.is_first_installation(current) || self.grants.approves_upgrades;
        if !is_allowed || current.is_empty() || !self.grants.approve(current) {
            return BTreeSet::new();
        }
        with_dependencies(install_plan, current)
    }

    /// Whether nothing is upgraded. A Subscription that was created anew beside an installed version has no installed
    /// version in its status.
    fn is_first_installation(&self, current: &str) -> bool {
        let mut csvs = self.csvs.iter();
        text(&self.subscription, "/status/installedCSV").is_empty()
            && !csvs.any(|csv| name(csv) != current && !is_copied(csv))
    }
}

/// The versions of an install plan that no policy approves.
pub fn unapproved(
    install_plan: &Value,
    approvers: impl IntoIterator<Item = Approver>,
) -> Vec<&str> {
    let mut remaining: BTreeSet<&str> = versions(install_plan).into_iter().collect();
    for approver in approvers {
        if remaining.is_empty() {
            break;
        }
        let approved = approver.approved(install_plan);
        remaining.retain(|csv| !approved.contains(*csv));
    }
    remaining.into_iter().collect()
}

/// The versions of an install plan, sorted.
pub fn versions(install_plan: &Value) -> Vec<&str> {
    let names = install_plan.pointer("/spec/clusterServiceVersionNames");
    let names = names.and_then(Value::as_array).into_iter().flatten();
    let mut names: Vec<&str> = names.filter_map(Value::as_str).collect();
    names.sort_unstable();
    names
}

/// A version and all that it requires by `olm.package.required`, as far as the plan has it.
fn with_dependencies(install_plan: &Value, csv: &str) -> BTreeSet<String> {
    let (provided, required) = packages(install_plan);
    let mut found = BTreeSet::new();
    let mut seen = HashSet::new();
    let mut pending = vec![csv.to_owned()];
    while let Some(csv) = pending.pop() {
        if !seen.insert(csv.clone()) {
            continue;
        }
        let packages = required.get(&csv).into_iter().flatten();
        pending.extend(packages.filter_map(|package| provided.get(package).cloned()));
        found.insert(csv);
    }
    found
}

/// Which version provides a package, and which packages a version requires.
fn packages(install_plan: &Value) -> (HashMap<String, String>, HashMap<String, Vec<String>>) {
    let mut provided = HashMap::new();
    let mut required: HashMap<String, Vec<String>> = HashMap::new();
    let bundles = install_plan.pointer("/status/bundleLookups");
    for bundle in bundles.and_then(Value::as_array).into_iter().flatten() {
        let csv = text(bundle, "/identifier").to_owned();
        for (kind, value) in properties(text(bundle, "/properties")) {
            let package = text(&value, "/packageName").to_owned();
            match kind.as_str() {
                _ if package.is_empty() => {}
                "olm.package" => {
                    provided.insert(package, csv.clone());
                }
                "olm.package.required" => required.entry(csv.clone()).or_default().push(package),
                _ => {}
            }
        }
    }
    (provided, required)
}

/// The types and values in the JSON text of OLM's properties; none if it cannot be read. Values may be of any type.
pub fn properties(json: &str) -> Vec<(String, Value)> {
    let parsed: Value = serde_json::from_str(json).unwrap_or_default();
    let list = parsed.get("properties").and_then(Value::as_array);
    let property = |property: &Value| {
        let value = property.get("value").cloned().unwrap_or_default();
        (text(property, "/type").to_owned(), value)
    };
    list.into_iter().flatten().map(property).collect()
}
