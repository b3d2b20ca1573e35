//! Renders objects from values: fills YAML templates, parses them, and sorts the objects by dependency.

mod context;
mod version;

use std::sync::LazyLock;

use minijinja::syntax::SyntaxConfig;
use minijinja::{AutoEscape, Environment as Templates, UndefinedBehavior};
use serde_json::{Value, json};

use crate::addon::{Addon, DEFAULT_NAMESPACE};
use crate::facts::Inputs;
use crate::messages;
use crate::values::overlay::ValueTypeError;
use crate::values::{self, ValuesError};
use context::Context;

/// The objects for the agent's cluster, and the ignored settings.
#[derive(Debug, Default)]
pub struct Rendered {
    /// The objects, in an order in which they can be created.
    pub objects: Vec<Value>,
    /// Ignored settings, as messages for users.
    pub ignored_settings: Vec<String>,
    /// Whether the agent's cluster is the hub.
    pub on_hub: bool,
}

/// Why nothing was rendered.
#[derive(Debug, thiserror::Error)]
pub enum RenderError {
    /// A user has paused the add-on.
    #[error("{}", messages::PAUSED)]
    Paused,
    /// The values could not be computed.
    #[error(transparent)]
    Values(#[from] ValuesError),
    /// One of the values is invalid.
    #[error(transparent)]
    ValueTypeError(#[from] ValueTypeError),
    /// The two add-ons that share a Secret are in different namespaces.
    #[error("{}", messages::namespaces_differ(.own, .other))]
    NamespacesDiffer {
        /// The namespace of the standalone hub templating.
        own: String,
        /// The namespace of the configuration policy controller.
        other: String,
    },
    /// A template cannot be filled.
    #[error("the manifests {file} cannot be filled")]
    Template {
        /// The template.
        file: &'static str,
        /// The error of the template engine.
        #[source]
        source: Box<minijinja::Error>,
    },
    /// A filled template is not valid YAML.
    #[error("the manifests {file} cannot be read")]
    Yaml {
        /// The template.
        file: &'static str,
        /// The error of the YAML reader.
        #[source]
        source: Box<serde_saphyr::Error>,
    },
}

/// Templates by their names, with the templates that they include.
macro_rules! files {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../manifests/", $name)))),*]
    };
}

const FILES: &[(&str, &str)] = files![
    "shared/agent-namespace.yaml",
    "shared/common-args.yaml",
    "shared/container.yaml",
    "shared/metrics-args.yaml",
    "shared/metrics.yaml",
    "shared/network-policy.yaml",
    "shared/own-roles.yaml",
    "shared/service-account.yaml",
    "shared/uninstall.yaml",
    "framework/deployment.yaml",
    "framework/namespaces.yaml",
    "framework/rbac.yaml",
    "config-policy/deployment.yaml",
    "config-policy/rbac.yaml",
    "standalone/info.yaml",
];

const FRAMEWORK: &[&str] = &[
    "shared/agent-namespace.yaml",
    "framework/namespaces.yaml",
    "framework/rbac.yaml",
    "framework/deployment.yaml",
];
const CONFIG_POLICY: &[&str] = &[
    "shared/agent-namespace.yaml",
    "config-policy/rbac.yaml",
    "config-policy/deployment.yaml",
];
const BOTH: &[&str] = &[
    "shared/network-policy.yaml",
    "shared/service-account.yaml",
    "shared/own-roles.yaml",
    "shared/metrics.yaml",
    "shared/uninstall.yaml",
];
const STANDALONE: &[&str] = &["shared/agent-namespace.yaml", "standalone/info.yaml"];

static TEMPLATES: LazyLock<Templates<'static>> = LazyLock::new(|| {
    let mut templates = Templates::new();
    templates.set_undefined_behavior(UndefinedBehavior::Strict);
    // Every value goes through `tojson`, and JSON is valid YAML.
    templates.set_auto_escape_callback(|_| AutoEscape::None);
    // Lines with only a condition render to nothing.
    let syntax = SyntaxConfig::builder()
        .trim_blocks(true)
        .lstrip_blocks(true)
        .keep_trailing_newline(true)
        .build();
    // The delimiters are constants; invalid ones fail every test.
    if let Ok(syntax) = syntax {
        templates.set_syntax(syntax);
    }
    for (name, text) in FILES {
        // A template that does not parse is missing at its use, and the tests use all of them.
        let _ = templates.add_template(name, text);
    }
    templates
});

const POLICIES_CRD: &str =
    include_str!("../../../deploy/crds/policy.open-cluster-management.io_policies.yaml");
const CONFIGURATION_POLICIES_CRD: &str = include_str!(
    "../../../deploy/crds/policy.open-cluster-management.io_configurationpolicies.yaml"
);
const OPERATOR_POLICIES_CRD: &str =
    include_str!("../../../deploy/crds/policy.open-cluster-management.io_operatorpolicies.yaml");

/// Renders the objects of an add-on for the cluster of its agent.
pub fn render(inputs: &Inputs) -> Result<Rendered, RenderError> {
    if inputs.addon.is_paused() {
        return Err(RenderError::Paused);
    }
    let mut rendered = match inputs.installation.addon {
        Addon::Standalone => standalone(inputs)?,
        Addon::Framework => with_agent(inputs, FRAMEWORK)?,
        Addon::ConfigPolicy => with_agent(inputs, CONFIG_POLICY)?,
    };
    // A stable sort: within a rank the order of the templates stays.
    rendered.objects.sort_by_key(rank);
    Ok(rendered)
}

fn with_agent(inputs: &Inputs, files: &[&'static str]) -> Result<Rendered, RenderError> {
    let values = values::of(inputs)?;
    let context = Context::new(inputs, &values.tree)?;
    let mut objects = Vec::new();
    for file in files.iter().chain(BOTH) {
        objects.extend(fill(file, &context)?);
    }
    objects.extend(crds(inputs.installation.addon, context.on_hub)?);
    Ok(Rendered {
        objects,
        ignored_settings: values.ignored_settings,
        on_hub: context.on_hub,
    })
}

fn standalone(inputs: &Inputs) -> Result<Rendered, RenderError> {
    values::check_config(inputs)?;
    let own = inputs.namespace();
    if let Some(other) = &inputs.siblings.config_policy
        && *other != own
    {
        let other = other.clone();
        return Err(RenderError::NamespacesDiffer { own, other });
    }
    let addon = inputs.installation.addon;
    let [group, _] = addon.groups(&inputs.installation.cluster);
    let chart = format!("{addon}-{}", addon.version());
    let context = json!({
        "namespace": own,
        "default_namespace": DEFAULT_NAMESPACE,
        "cluster": inputs.installation.cluster,
        "prometheus": false,
        "openshift": false,
        "group": group,
        "labels": {
            "app": addon.name(), "chart": chart, "release": addon.name(), "heritage": "Helm",
            "addon.open-cluster-management.io/hosted-manifest-location": "hosting",
        },
    });
    let mut objects = Vec::new();
    for file in STANDALONE {
        objects.extend(fill(file, &context)?);
    }
    Ok(Rendered {
        objects,
        ignored_settings: values::ignored_standalone_settings(inputs),
        on_hub: false,
    })
}

fn fill(file: &'static str, context: &impl serde::Serialize) -> Result<Vec<Value>, RenderError> {
    let failed = |source| RenderError::Template {
        file,
        source: Box::new(source),
    };
    let template = TEMPLATES.get_template(file).map_err(failed)?;
    let context = minijinja::Value::from(minijinja::value::Serde(context));
    let text = template.render(context).map_err(failed)?;
    read(file, &text)
}

fn read(file: &'static str, text: &str) -> Result<Vec<Value>, RenderError> {
    let documents = serde_saphyr::from_multiple::<Value>(text);
    let documents = documents.map_err(|source| RenderError::Yaml {
        file,
        source: Box::new(source),
    })?;
    let objects = documents
        .into_iter()
        .filter(|object| object.get("kind").is_some());
    Ok(objects.map(without_empty_labels).collect())
}

/// Conditions in a template may leave a map without entries.
fn without_empty_labels(mut object: Value) -> Value {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut)
        && metadata.get("labels").is_some_and(Value::is_null)
    {
        metadata.remove("labels");
    }
    object
}

/// The CRDs of the agent's kinds.
fn crds(addon: Addon, on_hub: bool) -> Result<Vec<Value>, RenderError> {
    const LOCATION: &str = "addon.open-cluster-management.io/hosted-manifest-location";
    let files: &[(&'static str, &str)] = match addon {
        Addon::Framework => &[("policies", POLICIES_CRD)],
        Addon::ConfigPolicy => &[
            ("configurationpolicies", CONFIGURATION_POLICIES_CRD),
            ("operatorpolicies", OPERATOR_POLICIES_CRD),
        ],
        Addon::Standalone => &[],
    };
    let mut crds = Vec::new();
    for (name, text) in files {
        for mut crd in read(name, text)? {
            crd["metadata"]["labels"][LOCATION] = json!("hosting");
            if on_hub {
                let orphan = "addon.open-cluster-management.io/deletion-orphan";
                crd["metadata"]["annotations"][orphan] = json!("");
            }
            crds.push(crd);
        }
    }
    Ok(crds)
}

/// The rank of an object: dependencies of others come first.
fn rank(object: &Value) -> u8 {
    match object["kind"].as_str().unwrap_or_default() {
        "Namespace" => 0,
        "CustomResourceDefinition" => 1,
        "ServiceAccount" => 2,
        "ClusterRole" | "Role" => 3,
        "ClusterRoleBinding" | "RoleBinding" => 4,
        "Secret" | "NetworkPolicy" => 5,
        "Service" => 6,
        _ => 7,
    }
}

#[cfg(test)]
mod tests;
