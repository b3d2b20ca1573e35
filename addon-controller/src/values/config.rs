//! Computes values from an `AddOnDeploymentConfig`. Only fields that it sets have an effect.

use reeve_api::addon::DeploymentSettings;
use serde_json::{Value, json};

use super::annotations::{boolean, concurrency, log_level, log_levels, positive};
use super::overlay::{Tree, at};
use super::tls;
use crate::addon::Addon;
use crate::messages;

/// The layer, and the settings that were ignored.
pub fn layer(addon: Addon, config: &DeploymentSettings) -> (Tree, Vec<String>) {
    let mut tree = Tree::new();
    let mut ignored_settings = Vec::new();
    if let Some(placement) = &config.node_placement {
        let null = || Value::Null;
        let selector = placement.node_selector.clone().unwrap_or_else(null);
        let tolerations = placement.tolerations.clone().unwrap_or_else(null);
        merge_raw(&mut tree, at("global.nodeSelector", selector));
        merge_raw(&mut tree, at("tolerations", tolerations));
    }
    if !config.resource_requirements.is_empty() {
        let entries = config.resource_requirements.iter().map(|entry| {
            json!({ "containerIDRegex": pattern(&entry.container_id), "resources": entry.resources })
        });
        let entries: Vec<Value> = entries.collect();
        merge_raw(&mut tree, at("global.resourceRequirements", entries));
    }
    if let Some(proxies) = &config.proxy_config {
        let named = [
            ("HTTP_PROXY", &proxies.http),
            ("HTTPS_PROXY", &proxies.https),
            ("NO_PROXY", &proxies.none),
        ];
        for (name, value) in named {
            if !value.is_empty() {
                let path = format!("global.proxyConfig.{name}");
                merge_raw(&mut tree, at(&path, value.as_str()));
            }
        }
        if proxies.ca_bundle.is_some() {
            ignored_settings.push(messages::PROXY_CA.to_owned());
        }
    }
    for variable in &config.customized_variables {
        match self::variable(addon, &variable.name, &variable.value) {
            Ok(values) => merge_raw(&mut tree, values),
            Err(ignored_setting) => ignored_settings.push(ignored_setting),
        }
    }
    (tree, ignored_settings)
}

/// Like [`merge`](super::overlay::lay), but nulls stay: they remove keys of the layers below.
fn merge_raw(base: &mut Tree, over: Tree) {
    for (key, value) in over {
        match (base.get_mut(&key), value) {
            (Some(Value::Object(below)), Value::Object(above)) => merge_raw(below, above),
            (_, value) => {
                base.insert(key, value);
            }
        }
    }
}

/// `kind:name:container`, with stars as wildcards, as a regular expression.
fn pattern(container: &str) -> String {
    let part = |part: &str| {
        if part == "*" {
            ".+".to_owned()
        } else {
            regex::escape(part)
        }
    };
    let parts: Vec<String> = container.split(':').map(part).collect();
    parts.join(":")
}

fn variable(addon: Addon, name: &str, value: &str) -> Result<Tree, String> {
    let invalid = |expected| messages::invalid_variable(name, value, expected);
    let number = || positive(value).map_err(invalid);
    let flag = || boolean(value).map_err(invalid);
    Ok(match (addon, name) {
        (Addon::Framework | Addon::ConfigPolicy, "logLevel") => {
            log_levels(log_level(value).map_err(invalid)?)
        }
        (Addon::Framework | Addon::ConfigPolicy, "logEncoder") => match value {
            "console" | "json" => at("logEncoder", value),
            _ => return Err(invalid("`console` or `json`")),
        },
        (Addon::Framework | Addon::ConfigPolicy, "evaluationConcurrency") => {
            at(name, concurrency(value).map_err(invalid)?)
        }
        (Addon::Framework | Addon::ConfigPolicy, "clientQPS" | "clientBurst") => {
            at(name, number()?)
        }
        (Addon::Framework | Addon::ConfigPolicy, "prometheusEnabled") => {
            at("prometheus.enabled", flag()?)
        }
        (Addon::Framework | Addon::ConfigPolicy, "tlsMinVersion") => {
            if !tls::is_version(value) {
                return Err(invalid("a version such as VersionTLS12"));
            }
            at(name, value)
        }
        (Addon::Framework | Addon::ConfigPolicy, "tlsCipherSuites") => {
            if let Some(unknown) = tls::unknown_suite(value) {
                return Err(messages::unknown_cipher_suite(unknown));
            }
            at(name, value)
        }
        (Addon::Framework, "orphanClusterNamespace") => at(name, flag()?),
        (Addon::ConfigPolicy, "operatorPolicyDisabled") => at("operatorPolicy.disabled", flag()?),
        (Addon::ConfigPolicy, "managedKubeConfigSecret") => at(name, value),
        _ => return Err(messages::unknown_variable(name)),
    })
}
