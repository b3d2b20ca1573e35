//! The variables of the manifests' templates.

use std::collections::BTreeMap;

use regex::Regex;
use serde::Serialize;
use serde_json::{Value, json};

use super::version;
use crate::addon::{Addon, DEFAULT_NAMESPACE};
use crate::facts::{Inputs, OPENSHIFT};
use crate::values::overlay::{Reader, Tree, ValueTypeError};

/// The namespace of users' policies that come from no hub.
const POLICIES_NAMESPACE: &str = "open-cluster-management-policies";

type Texts = BTreeMap<&'static str, String>;

/// The variables of the templates.
// Each flag is a separate condition in some template.
#[allow(clippy::struct_excessive_bools)]
#[derive(Serialize)]
pub struct Context {
    chart: &'static str,
    chart_version: String,
    command: &'static str,
    fullname: String,
    org: String,
    cluster: String,
    namespace: String,
    default_namespace: &'static str,
    policy_namespace: String,
    additional_namespace: &'static str,
    account: String,
    labels: Texts,
    account_labels: Texts,
    pod_labels: Texts,
    hook_labels: Texts,
    selector: Texts,
    hosted: bool,
    pub(super) on_hub: bool,
    sync: bool,
    prometheus: bool,
    openshift: bool,
    monitor_namespace: String,
    scraped: Vec<&'static str>,
    asks_who_scrapes: bool,
    leader_event_groups: Vec<&'static str>,
    network_policies: bool,
    network_policy: &'static str,
    webhook_port: Option<u16>,
    orphan_cluster_namespace: bool,
    keeps_policies_namespace: bool,
    uninstalling: &'static str,
    has_hook: bool,
    hook_env: Vec<Value>,
    replicas: i64,
    log_level: String,
    verbosity: i64,
    log_encoder: String,
    evaluation_concurrency: i64,
    client_qps: i64,
    client_burst: i64,
    tls_min_version: String,
    tls_cipher_suites: String,
    image: String,
    image_pull_policy: String,
    image_pull_secret: String,
    affinity: Tree,
    tolerations: Vec<Value>,
    node_selector: Tree,
    resources: Option<Value>,
    proxies: Vec<Value>,
    has_startup_probes: bool,
    pod_security: Value,
    container_security: Value,
    hub_kubeconfig_secret: String,
    managed_kubeconfig_secret: String,
    standalone_secret: String,
    operator_policy: bool,
    operator_policy_namespace: String,
}

impl Context {
    /// Reads the values.
    pub fn new(inputs: &Inputs, tree: &Tree) -> Result<Self, ValueTypeError> {
        let read = Reader(tree);
        let addon = inputs.installation.addon;
        let names = Names::new(inputs, read)?;
        let hosted = inputs.hosting.is_some();
        let is_framework = addon == Addon::Framework;
        // A user's setting, or the hub itself: policies that the agent removes there are the hub's.
        let on_hub = is_framework && (read.flag("onMulticlusterHub")? || inputs.runs_on_hub());
        let sync = is_framework && read.flag("syncPoliciesOnMulticlusterHub")?;
        let is_openshift = read.text("hostingKubernetesDistribution")? == OPENSHIFT;
        let version = version::parse(
            inputs
                .agent_cluster()
                .map_or("", |agent_cluster| &agent_cluster.version[..]),
        );
        let proxies = proxies(read)?;
        let monitor = read.text("prometheus.serviceMonitor.namespace")?;
        let cluster = inputs.installation.cluster.clone();
        let policy_namespace = if hosted { &names.namespace } else { &cluster };
        let events = ["", "events.k8s.io"];
        Ok(Self {
            chart: names.chart,
            chart_version: format!("{}-{}", names.chart, addon.version()),
            command: addon.command(),
            org: read.text("org")?,
            default_namespace: DEFAULT_NAMESPACE,
            policy_namespace: policy_namespace.clone(),
            additional_namespace: match addon {
                Addon::ConfigPolicy if !hosted => POLICIES_NAMESPACE,
                _ => "",
            },
            account: format!("{}-sa", names.fullname),
            labels: names.labels(&names.fullname),
            account_labels: names.labels(names.chart),
            pod_labels: names.pod_labels(),
            hook_labels: names.labels(&format!("{}-uninstall", names.fullname)),
            selector: names.selector(),
            hosted,
            on_hub,
            sync,
            prometheus: read.flag("prometheus.enabled")?,
            openshift: is_openshift,
            monitor_namespace: if monitor.is_empty() {
                names.namespace.clone()
            } else {
                monitor
            },
            scraped: match addon {
                Addon::ConfigPolicy => vec!["services", "pods", "endpoints"],
                _ => vec!["services", "pods", "endpoints", "nodes", "secrets"],
            },
            // In other cases the configuration policy controller has cluster-admin access anyway.
            asks_who_scrapes: is_framework || hosted,
            leader_event_groups: if is_framework {
                vec![""]
            } else {
                events.to_vec()
            },
            network_policies: read.flag("networkPolicies")?
                && read.flag("global.networkPolicies.enabled")?,
            network_policy: match addon {
                Addon::ConfigPolicy => "config-policy-controller-network-policy",
                _ => "governance-policy-framework-addon",
            },
            webhook_port: (addon == Addon::ConfigPolicy).then_some(9443),
            orphan_cluster_namespace: read.flag("orphanClusterNamespace")?,
            keeps_policies_namespace: inputs.siblings.config_policy.is_some(),
            uninstalling: if read.flag("uninstallationAnnotation")? {
                "true"
            } else {
                "false"
            },
            has_hook: !is_framework || !on_hub || hosted || sync,
            hook_env: hook_env(addon, &proxies),
            replicas: read.number("replicas", 1)?,
            log_level: log_level(read)?,
            verbosity: read.number("pkgLogLevel", 0)?.max(-1),
            log_encoder: read.text("logEncoder")?,
            evaluation_concurrency: read.number("evaluationConcurrency", 2)?,
            client_qps: read.number("clientQPS", 30)?,
            client_burst: read.number("clientBurst", 45)?,
            tls_min_version: read.text("tlsMinVersion")?,
            tls_cipher_suites: read.text("tlsCipherSuites")?,
            image: read.text(&format!("global.imageOverrides.{}", addon.image_key()))?,
            image_pull_policy: read.text("global.imagePullPolicy")?,
            image_pull_secret: read.text("global.imagePullSecret")?,
            affinity: read.map("affinity")?,
            tolerations: read.list("tolerations")?,
            node_selector: read.map("global.nodeSelector")?,
            resources: resources(read, &names, addon)?,
            proxies,
            has_startup_probes: version >= version::STARTUP_PROBES,
            pod_security: pod_security(version),
            container_security: container_security(),
            hub_kubeconfig_secret: read.text("hubKubeConfigSecret")?,
            managed_kubeconfig_secret: managed_secret(read)?,
            standalone_secret: read.text("standaloneHubTemplatingSecret")?,
            operator_policy: !read.flag("operatorPolicy.disabled")?,
            operator_policy_namespace: read.text("operatorPolicy.defaultNamespace")?,
            fullname: names.fullname,
            namespace: names.namespace,
            cluster,
        })
    }
}

/// The names of the rendered objects.
struct Names {
    chart: &'static str,
    fullname: String,
    namespace: String,
    addon: Addon,
}

impl Names {
    fn new(inputs: &Inputs, read: Reader<'_>) -> Result<Self, ValueTypeError> {
        let addon = inputs.installation.addon;
        let requested = read.text("fullnameOverride")?;
        let short = read.text("nameOverride")?;
        let release = addon.name();
        let fullname = match (requested.as_str(), short.as_str()) {
            ("", "") => release.to_owned(),
            ("", short) if release.contains(short) => release.to_owned(),
            ("", short) => format!("{release}-{short}"),
            (requested, _) => requested.to_owned(),
        };
        let fullname: String = fullname.chars().take(63).collect();
        Ok(Self {
            chart: release,
            fullname: fullname.trim_end_matches('-').to_owned(),
            namespace: inputs.namespace(),
            addon,
        })
    }

    fn labels(&self, app: &str) -> Texts {
        let mut labels = self.pod_labels();
        labels.insert("app", app.to_owned());
        let hosted = "addon.open-cluster-management.io/hosted-manifest-location";
        labels.insert(hosted, "hosting".to_owned());
        labels
    }

    fn pod_labels(&self) -> Texts {
        let mut labels = self.selector();
        let chart = format!("{}-{}", self.chart, self.addon.version());
        labels.insert("chart", chart);
        labels.insert("heritage", "Helm".to_owned());
        labels
    }

    fn selector(&self) -> Texts {
        Texts::from([
            ("app", self.fullname.clone()),
            ("release", self.addon.name().to_owned()),
        ])
    }
}

fn log_level(read: Reader<'_>) -> Result<String, ValueTypeError> {
    Ok(match read.number("logLevel", 0)? {
        level if level < 0 => "error".to_owned(),
        level => level.to_string(),
    })
}

fn managed_secret(read: Reader<'_>) -> Result<String, ValueTypeError> {
    let named = read.text("managedKubeConfigSecret")?;
    Ok(if named.is_empty() {
        format!("{}-managed-kubeconfig", Addon::ConfigPolicy)
    } else {
        named
    })
}

/// The resources of the last entry that matches the agent's container.
fn resources(
    read: Reader<'_>,
    names: &Names,
    addon: Addon,
) -> Result<Option<Value>, ValueTypeError> {
    let path = "global.resourceRequirements";
    let container = format!("deployments:{}:{}", names.fullname, addon.command());
    let mut found = None;
    for entry in read.list(path)? {
        let pattern = entry["containerIDRegex"].as_str().unwrap_or_default();
        let fits = Regex::new(&format!("^(?:{pattern})$")).map_err(|_| ValueTypeError {
            path: format!("{path}.containerIDRegex"),
            found: format!("{pattern:?}"),
            expected: "a regular expression",
        })?;
        if fits.is_match(&container) {
            found = Some(entry["resources"].clone());
        }
    }
    Ok(found.filter(|resources| !resources.is_null()))
}

/// The proxy variables with a value; empty ones would hide those of the image.
fn proxies(read: Reader<'_>) -> Result<Vec<Value>, ValueTypeError> {
    let mut variables = Vec::new();
    for name in ["HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"] {
        let value = read.text(&format!("global.proxyConfig.{name}"))?;
        if !value.is_empty() {
            variables.push(json!({ "name": name, "value": value }));
        }
    }
    Ok(variables)
}

fn hook_env(addon: Addon, proxies: &[Value]) -> Vec<Value> {
    let operator = (addon == Addon::Framework)
        .then(|| json!({ "name": "OPERATOR_NAME", "value": addon.command() }));
    operator
        .into_iter()
        .chain(proxies.iter().cloned())
        .collect()
}

fn pod_security(version: (u64, u64, u64)) -> Value {
    if version >= version::SECCOMP {
        json!({ "runAsNonRoot": true, "seccompProfile": { "type": "RuntimeDefault" } })
    } else {
        json!({ "runAsNonRoot": true })
    }
}

fn container_security() -> Value {
    json!({
        "allowPrivilegeEscalation": false,
        "capabilities": { "drop": ["ALL"] },
        "privileged": false,
        "readOnlyRootFilesystem": true
    })
}
