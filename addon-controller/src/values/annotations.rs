//! Computes values from the annotations of an add-on and the facts of its cluster.

use serde_json::{Map, Value};

use super::overlay::{Tree, at, merge};
use crate::addon::Addon;
use crate::facts::{Inputs, ON_HUB_ANNOTATION, OPENSHIFT, SYNC_ANNOTATION};
use crate::messages;

/// The layer, and the annotations that could not be read.
pub fn layer(inputs: &Inputs) -> (Tree, Vec<String>) {
    let mut read = Read {
        inputs,
        tree: Tree::new(),
        ignored_settings: Vec::new(),
    };
    read.distribution();
    read.logging();
    read.rates();
    read.prometheus();
    match inputs.installation.addon {
        Addon::Framework => read.hub(),
        Addon::ConfigPolicy => read.operators(),
        Addon::Standalone => {}
    }
    (read.tree, read.ignored_settings)
}

struct Read<'a> {
    inputs: &'a Inputs,
    tree: Tree,
    ignored_settings: Vec<String>,
}

impl Read<'_> {
    fn set(&mut self, path: &str, value: impl Into<Value>) {
        merge(&mut self.tree, at(path, value));
    }

    /// The annotation's parsed value. An invalid one is reported, and left out.
    fn annotation<T>(
        &mut self,
        key: &str,
        read: impl Fn(&str) -> Result<T, &'static str>,
    ) -> Option<T> {
        let text = self.inputs.addon.annotation(key)?;
        match read(text) {
            Ok(value) => Some(value),
            Err(expected) => {
                let ignored_setting = messages::invalid_annotation(key, text, expected);
                self.ignored_settings.push(ignored_setting);
                None
            }
        }
    }

    fn distribution(&mut self) {
        let agent_cluster = self.inputs.agent_cluster();
        let vendor = agent_cluster.map_or("", crate::facts::ClusterFacts::vendor);
        let is_openshift = vendor == OPENSHIFT;
        self.set("hostingKubernetesDistribution", vendor);
        self.set("kubernetesDistribution", self.inputs.cluster.vendor());
        self.set("prometheus.enabled", is_openshift);
        if agent_cluster
            .is_some_and(|agent_cluster| agent_cluster.label("vendor") == Some(OPENSHIFT))
            && !is_openshift
        {
            let ignored_setting = messages::vendor_overridden(vendor);
            tracing::debug!(installation = %self.inputs.installation, "{ignored_setting}");
        }
    }

    fn logging(&mut self) {
        if let Some(level) = self.annotation("log-level", log_level) {
            merge(&mut self.tree, log_levels(level));
        }
    }

    fn rates(&mut self) {
        let concurrency = self.annotation("policy-evaluation-concurrency", concurrency);
        let burst = self.annotation("client-burst", positive);
        if let Some(qps) = self.annotation("client-qps", positive) {
            self.set("clientQPS", qps);
        }
        if let Some(concurrency) = concurrency {
            self.set("evaluationConcurrency", concurrency);
        }
        // Each concurrent evaluation may need this many requests.
        let derived = concurrency.map(|n| n.saturating_mul(22).saturating_add(1));
        let burst = burst.filter(|burst| *burst > 0).or(derived);
        if let Some(burst) = burst {
            self.set("clientBurst", burst);
        }
    }

    fn prometheus(&mut self) {
        if let Some(enabled) = self.annotation("prometheus-metrics-enabled", boolean) {
            self.set("prometheus.enabled", enabled);
        }
    }

    /// The annotations of the add-on take precedence over those of its cluster.
    fn hub(&mut self) {
        let inputs = self.inputs;
        let cluster = &inputs.cluster;
        let is_local = inputs.installation.cluster == "local-cluster"
            || inputs.addon.hosting(&inputs.installation.cluster) == Some("local-cluster")
            || cluster.label("local-cluster") == Some("true");
        let annotation = |key: &str| {
            let of_addon = inputs.addon.annotation(key).and_then(either);
            of_addon.or_else(|| cluster.annotation(key).and_then(either))
        };
        if annotation(ON_HUB_ANNOTATION).unwrap_or(is_local) {
            self.set("onMulticlusterHub", true);
        }
        if annotation(SYNC_ANNOTATION).unwrap_or(false) {
            self.set("syncPoliciesOnMulticlusterHub", true);
        }
    }

    fn operators(&mut self) {
        let inputs = self.inputs;
        if inputs.cluster.label("openshiftVersion-major") == Some("4") {
            self.set("operatorPolicy.defaultNamespace", "openshift-operators");
        }
        // A Secret of another namespace cannot be mounted.
        let beside = inputs.siblings.standalone.as_ref();
        if beside.is_some_and(|namespace| *namespace == inputs.namespace()) {
            let secret = format!("{}-hub-kubeconfig", Addon::Standalone);
            self.set("standaloneHubTemplatingSecret", secret);
        }
        let key = "operator-policy-disabled";
        let Some(text) = inputs.addon.annotation(key) else {
            return;
        };
        match boolean(text) {
            Ok(disabled) => self.set("operatorPolicy.disabled", disabled),
            Err(_) => self
                .ignored_settings
                .push(messages::operator_policy_disabled(text)),
        }
    }
}

/// `true` and `false` in any case; other values are ignored.
fn either(text: &str) -> Option<bool> {
    if text.eq_ignore_ascii_case("true") {
        Some(true)
    } else if text.eq_ignore_ascii_case("false") {
        Some(false)
    } else {
        None
    }
}

/// The log level of the agent and, two less, of the libraries in it.
pub(super) fn log_levels(level: i64) -> Map<String, Value> {
    Tree::from_iter([
        ("logLevel".to_owned(), level.into()),
        // A lower level disables nothing more.
        ("pkgLogLevel".to_owned(), (level - 2).max(-1).into()),
    ])
}

pub(super) fn log_level(text: &str) -> Result<i64, &'static str> {
    const EXPECTED: &str = "`error` or a whole number from -1 to 127";
    if text == "error" {
        return Ok(-1);
    }
    let level: i64 = text.parse().map_err(|_| EXPECTED)?;
    (-1..=127).contains(&level).then_some(level).ok_or(EXPECTED)
}

/// The number, up to the maximum of the agents' flag.
pub(super) fn concurrency(text: &str) -> Result<u32, &'static str> {
    let read = text.parse::<u8>().map(u32::from);
    read.map_err(|_| "a whole number from 0 to 255")
}

pub(super) fn positive(text: &str) -> Result<u32, &'static str> {
    let read = text.parse::<u16>().map(u32::from);
    read.map_err(|_| "a whole number from 0 to 65535")
}

pub(super) fn boolean(text: &str) -> Result<bool, &'static str> {
    reeve_go_compat::strconv::parse_bool(text).ok_or("`true` or `false`")
}
