//! What both clusters get: cases of the corpus by which the engine is compared with Gatekeeper's libraries, and what only a cluster
//! shows.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use reeve_testkit::workspace;
use serde_json::{Value, json};

/// The cases of `gatekeeper/tests/corpus`, by the begins of their names. Those that are left out differ by rule, and their answers are
/// compared one by one in the crate's own tests: functions that are not supported (GK-124), texts of numbers (GK-116), CEL that
/// Gatekeeper compiles at the review (GK-125), messages that are no texts (GK-104); or they print what no two clusters share.
const CASES: [&str; 34] = [
    "both-engines",
    "cel-failure-policy-fail",
    "cel-match-condition",
    "cel-messages",
    "cel-order",
    "cel-parameters",
    "cel-policy-",
    "cel-variables",
    "code-errors",
    "compile-errors-code",
    "constraint-defaults",
    "constraint-int-or-string",
    "constraint-parameters",
    "constraint-validation",
    "enforcement-actions",
    "inventory-counts",
    "inventory-unique-host",
    "language-conflict",
    "legacy-wins",
    "libs",
    "match-kinds",
    "match-label-selector",
    "match-name",
    "match-namespace-selector",
    "match-namespaces",
    "match-scope",
    "match-source",
    "order-of-results",
    "policy-",
    "results-elements",
    "results-long",
    "scopes-audit",
    "template-crd",
    "template-schema-errors",
];

/// The service accounts of the Pods: nothing else makes them.
const ACCOUNTS: [(&str, &str); 5] = [
    ("shop", "default"),
    ("shop", "batch"),
    ("blog", "default"),
    ("default", "default"),
    ("kube-system", "default"),
];

/// Everything, in the order in which it is created.
pub(crate) struct Workload {
    pub(crate) objects: Vec<Value>,
    pub(crate) templates: Vec<Value>,
    pub(crate) constraints: Vec<Value>,
    /// Gatekeeper's own configuration.
    pub(crate) configuration: Vec<Value>,
}

impl Workload {
    /// Reads the corpus, and the files beside this one.
    pub(crate) fn read() -> Result<Self> {
        let own = |name: &str| documents(include_folder().join(name).as_path());
        let mut all = Self {
            objects: own("objects.yaml")?,
            templates: own("templates.yaml")?,
            constraints: own("constraints.yaml")?,
            configuration: own("configuration.yaml")?,
        };
        all.objects.extend(ACCOUNTS.map(account));
        all.objects.extend(many());
        let corpus = workspace().join("gatekeeper/tests/corpus");
        let shared: BTreeMap<String, Value> =
            serde_json::from_value(document(&corpus.join("objects.yaml"))?)?;
        all.objects.extend(shared.into_values());
        let mut files = fs::read_dir(&corpus)?
            .map(|entry| Ok(entry?.path()))
            .collect::<Result<Vec<_>>>()?;
        files.sort();
        let mut templates = HashSet::new();
        for file in files {
            let name = file.file_stem().and_then(|name| name.to_str());
            let name = name.unwrap_or_default();
            let is_case = file.extension().is_some_and(|one| one == "yaml");
            if is_case && CASES.iter().any(|case| name.starts_with(case)) {
                all.add(name, &document(&file)?, &mut templates);
            }
        }
        all.objects.iter_mut().for_each(fix);
        Ok(all)
    }

    fn add(&mut self, case: &str, document: &Value, templates: &mut HashSet<String>) {
        let list = |field: &str| document[field].as_array().into_iter().flatten();
        for template in list("templates") {
            let name = template["metadata"]["name"].as_str().unwrap_or_default();
            // Several cases have the same one.
            if templates.insert(name.to_owned()) {
                self.templates.push(template.clone());
            }
        }
        let objects = list("inventory").filter(|one| one.is_object());
        self.objects.extend(objects.cloned());
        for constraint in list("constraints") {
            let mut constraint = constraint.clone();
            if let Some(name) = constraint["metadata"]["name"].as_str().map(str::to_owned) {
                constraint["metadata"]["name"] = json!(format!("{case}.{name}"));
            }
            narrow(&mut constraint);
            self.constraints.push(constraint);
        }
    }
}

/// Restricts a constraint on every kind to kinds of which both clusters have the same objects: not Gatekeeper's own, nor those that
/// Reeve audits only if they are named (GK-119).
fn narrow(constraint: &mut Value) {
    if !constraint["spec"].is_null() && !constraint["spec"].is_object() {
        return;
    }
    let matches = &constraint["spec"]["match"];
    if !matches.is_null() && !matches.is_object() {
        return;
    }
    let is_any = |list: &Value| {
        list.as_array()
            .is_none_or(|all| all.is_empty() || all.contains(&json!("*")))
    };
    let kinds = matches["kinds"].as_array();
    let is_wide = |entry: &Value| is_any(&entry["kinds"]);
    if kinds.is_none_or(|kinds| kinds.is_empty() || kinds.iter().any(is_wide)) {
        let names = [
            "Pod",
            "Service",
            "ConfigMap",
            "Namespace",
            "Ingress",
            "Deployment",
        ];
        constraint["spec"]["match"]["kinds"] = match kinds.and_then(|kinds| kinds.first()) {
            // An entry with groups only: the group stays.
            Some(entry) if !is_any(&entry["apiGroups"]) => {
                json!([{"apiGroups": entry["apiGroups"], "kinds": names}])
            }
            _ => json!([{"apiGroups": ["*"], "kinds": names}]),
        };
    }
}

/// Fixes what each API server would choose at random: generated names, and the names of volumes with tokens.
fn fix(object: &mut Value) {
    if let Some(prefix) = object["metadata"]["generateName"].as_str() {
        let name = format!("{prefix}fixed");
        let given = &mut object["metadata"]["name"];
        if given.is_null() {
            *given = json!(name);
        }
    }
    if object["kind"] == "Pod" && object["spec"].is_object() {
        let automount = &mut object["spec"]["automountServiceAccountToken"];
        if automount.is_null() {
            *automount = json!(false);
        }
    }
}

fn account((namespace, name): (&str, &str)) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": namespace}
    })
}

/// More violators than a status lists.
fn many() -> impl Iterator<Item = Value> {
    (0..30).map(|number| {
        json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": format!("many-{number:02}"), "namespace": "crowd"},
            "data": {"text": "long ".repeat(number * 3)},
        })
    })
}

fn include_folder() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/agents/gatekeeper/beside")
}

/// One document, read as Gatekeeper's own tools read it.
fn document(path: &Path) -> Result<Value> {
    let text = fs::read(path).with_context(|| format!("reading {}", path.display()))?;
    reeve_go_compat::yaml::decode_sigs_json(&text)
        .map_err(|error| anyhow::anyhow!("{}: {error}", path.display()))
}

fn documents(path: &Path) -> Result<Vec<Value>> {
    let text = fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
    let objects = reeve_testkit::parse(&text)?;
    objects
        .iter()
        .map(|object| Ok(serde_json::to_value(object)?))
        .collect()
}
