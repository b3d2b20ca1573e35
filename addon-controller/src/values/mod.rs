//! Computes values from a `ManagedClusterAddOn`: layers, of which later ones take precedence.

mod annotations;
mod config;
mod images;
pub mod overlay;
mod tls;

use serde_json::Value;

use crate::addon::Addon;
use crate::facts::{Config, Inputs, VALUES_ANNOTATION};
use crate::messages;
use overlay::{Tree, at, merge};

const FRAMEWORK: &str = include_str!("../../manifests/framework/values.yaml");
const CONFIG_POLICY: &str = include_str!("../../manifests/config-policy/values.yaml");

/// Values, and the ignored settings of the layers.
#[derive(Debug, Default)]
pub struct Values {
    /// The values, by their keys.
    pub tree: Tree,
    /// Ignored settings, as messages for users.
    pub ignored_settings: Vec<String>,
}

/// Why the values could not be computed.
#[derive(Debug, thiserror::Error)]
pub enum ValuesError {
    /// The annotation is not a JSON object.
    #[error("the annotation {VALUES_ANNOTATION} is not a JSON object: {0}")]
    Annotation(String),
    /// The built-in values cannot be parsed.
    #[error("the built-in values cannot be read")]
    BuiltIn(#[source] serde_saphyr::Error),
    /// The configuration does not exist.
    #[error("{}", messages::config_missing(.0))]
    ConfigMissing(String),
    /// The status has no hash of the configuration.
    #[error("{}", messages::config_unhashed(*.0))]
    ConfigUnhashed(Addon),
}

/// The values of the two add-ons with an agent.
pub fn of(inputs: &Inputs) -> Result<Values, ValuesError> {
    let addon = inputs.installation.addon;
    let mut values = Values::default();
    let built_in = match addon {
        Addon::ConfigPolicy => CONFIG_POLICY,
        _ => FRAMEWORK,
    };
    values.tree = serde_saphyr::from_str(built_in).map_err(ValuesError::BuiltIn)?;
    let (layer, ignored_settings) = annotations::layer(inputs);
    merge(&mut values.tree, layer);
    values.ignored_settings.extend(ignored_settings);
    if let Some(text) = inputs.addon.annotation(VALUES_ANNOTATION) {
        let read = serde_json::from_str::<Tree>(text);
        let layer = read.map_err(|error| ValuesError::Annotation(error.to_string()))?;
        merge(&mut values.tree, layer);
    }
    check_config(inputs)?;
    if let Some(spec) = inputs.config.spec() {
        let (layer, ignored_settings) = config::layer(addon, spec);
        merge(&mut values.tree, layer);
        values.ignored_settings.extend(ignored_settings);
    }
    set_required_values(inputs, &mut values);
    Ok(values)
}

/// Sets the values that no user can change.
fn set_required_values(inputs: &Inputs, values: &mut Values) {
    let environment = &inputs.environment;
    let addon = inputs.installation.addon;
    if inputs.addon.is_deleting {
        merge(&mut values.tree, at("uninstallationAnnotation", "true"));
    }
    let path = format!("global.imageOverrides.{}", addon.image_key());
    let image = overlay::Reader(&values.tree)
        .text(&path)
        .unwrap_or_default();
    let (mirrored, ignored_settings) = images::mirrored(inputs, &image);
    values.ignored_settings.extend(ignored_settings);
    let image = match environment.image(addon) {
        "" => mirrored,
        forced => forced.to_owned(),
    };
    merge(&mut values.tree, at(&path, image));
    let switch = Value::Bool(environment.network_policies);
    merge(
        &mut values.tree,
        at("global.networkPolicies.enabled", switch),
    );
}

/// Whether the configuration can be used. A terminating add-on does not wait for one.
pub fn check_config(inputs: &Inputs) -> Result<(), ValuesError> {
    match &inputs.config {
        Config::None | Config::Some(_) => Ok(()),
        Config::Unhashed | Config::Missing { .. } if inputs.addon.is_deleting => Ok(()),
        Config::Unhashed => Err(ValuesError::ConfigUnhashed(inputs.installation.addon)),
        Config::Missing { name } => Err(ValuesError::ConfigMissing(name.clone())),
    }
}

/// The unknown settings in a configuration of the standalone add-on.
pub fn ignored_standalone_settings(inputs: &Inputs) -> Vec<String> {
    let spec = inputs.config.spec();
    spec.map(|spec| config::layer(Addon::Standalone, spec).1)
        .unwrap_or_default()
}
