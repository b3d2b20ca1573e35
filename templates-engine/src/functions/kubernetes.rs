//! Functions that read the cluster, and `protect`.

use super::define::{Answer, Group, answer, charge_bytes, takes, takes_more};
use crate::function::Parameter::Str;
use crate::function::{Arguments, Env, Failure, Function};
use crate::lookup::{CLAIM, Lookup, LookupError};
use crate::messages;
use reeve_go_compat::json::{self, Escape};
use reeve_go_compat::value::{Key, Map, Value};

const KUBERNETES: Group = Group("Kubernetes");

const THREE: &[crate::function::Parameter] = &[Str, Str, Str];

/// The table of this topic.
pub(super) const FUNCTIONS: &[Function] = &[
    KUBERNETES.function("fromSecret", takes(THREE), from_secret, "namespace name key", "One entry of a Secret's data, still in base64. A key that is not there gives an empty text. In hub templates the value is encrypted."),
    KUBERNETES.function("fromConfigMap", takes(THREE), from_config_map, "namespace name key", "One entry of a ConfigMap's data. A key that is not there gives an empty text."),
    KUBERNETES.function("copySecretData", takes(&[Str, Str]), copy_secret_data, "namespace name", "The whole data of a Secret as JSON, for a field of its own: `data: '{{ copySecretData \"ns\" \"name\" }}'`. In hub templates every value is encrypted."),
    KUBERNETES.function("copyConfigMapData", takes(&[Str, Str]), copy_config_map_data, "namespace name", "The whole data of a ConfigMap as JSON, for a field of its own."),
    KUBERNETES.function("lookup", takes_more(&[Str, Str, Str, Str], Str), lookup, "apiVersion kind namespace name selector…", "An object, or without a name a map whose `items` are the objects that the label selectors choose. An object that does not exist gives an empty map; a list is never empty in `if`. With an empty namespace a name is looked for in all namespaces, in their order; hub templates without a service account look in the policy's own."),
    KUBERNETES.function("fromClusterClaim", takes(&[Str]), from_cluster_claim, "name", "The value of a ClusterClaim, which must exist."),
    KUBERNETES.function("lookupClusterClaim", takes(&[Str]), lookup_cluster_claim, "name", "The value of a ClusterClaim; an empty text where there is none."),
    KUBERNETES.function("getNodesWithExactRoles", takes_more(&[], Str), nodes_with_exact_roles, "role…", "A map whose `items` are the nodes that have all of these roles and no other, `worker` excepted."),
    KUBERNETES.function("hasNodesWithExactRoles", takes_more(&[], Str), has_nodes_with_exact_roles, "role…", "Whether there are any nodes with exactly these roles."),
    KUBERNETES.function("protect", takes(&[Str]), protect, "text", "The text encrypted for the managed cluster, which alone can read it. In hub templates only."),
];

const ROLE_LABEL: &str = "node-role.kubernetes.io";

/// A Secret or `ConfigMap`: its namespace as the author wrote it, and its name.
fn read(
    env: &mut Env<'_>,
    kind: &str,
    arguments: &Arguments<'_>,
    failed: fn(&str, &str) -> String,
) -> Result<Lookup, Failure> {
    let (namespace, name) = (arguments.text(0)?, arguments.text(1)?);
    env.cluster
        .get_or_list("v1", kind, &namespace, &name, &[])
        .map_err(|error| error.during(failed(&name, &namespace)).into())
}

/// Whether all arguments are given. The namespace may be left out where reads are limited to one.
fn complete(env: &Env<'_>, arguments: &Arguments<'_>) -> Result<bool, Failure> {
    for place in 0..arguments.len() {
        let spared = place == 0 && !env.cluster.namespace().is_empty();
        if arguments.str(place)?.is_empty() && !spared {
            return Ok(false);
        }
    }
    Ok(true)
}

fn entry(env: &mut Env<'_>, found: &Lookup, key: &str) -> Result<Vec<u8>, Failure> {
    let text = match found.field(&["data", key]) {
        Some(Value::Str(text)) => text.to_vec(),
        _ => Vec::new(),
    };
    charge_bytes(env, text.len())?;
    Ok(text)
}

fn from_secret(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    if !complete(env, arguments)? {
        return Err(Failure::text(messages::NAMESPACE_NAME_AND_KEY));
    }
    let found = read(env, "Secret", arguments, messages::secret_failed)?;
    let text = entry(env, &found, &arguments.text(2)?)?;
    let Some(encryption) = env.cluster.encryption() else {
        return answer(text);
    };
    env.cluster.call_is_encrypted();
    answer(encryption.protect(&text))
}

fn from_config_map(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    if !complete(env, arguments)? {
        return Err(Failure::text(messages::NAMESPACE_NAME_AND_KEY));
    }
    let found = read(env, "ConfigMap", arguments, messages::config_map_failed)?;
    let text = entry(env, &found, &arguments.text(2)?)?;
    answer(text)
}

fn data_as_json(env: &mut Env<'_>, data: Option<Value>) -> Answer {
    let data = data.unwrap_or(Value::Nil);
    let text =
        json::encode(&data, Escape::Html).map_err(|error| Failure::text(error.to_string()))?;
    charge_bytes(env, text.len())?;
    answer(text)
}

fn copy_secret_data(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    if !complete(env, arguments)? {
        return Err(Failure::text(messages::NAMESPACE_AND_NAME));
    }
    let found = read(env, "Secret", arguments, messages::secret_failed)?;
    let data = found.field(&["data"]);
    let Some(encryption) = env.cluster.encryption() else {
        return data_as_json(env, data);
    };
    env.cluster.call_is_encrypted();
    let Some(Value::Map(entries)) = data else {
        return data_as_json(env, None);
    };
    let encrypted = Map::dict();
    for (key, value) in entries.entries() {
        let value = match value {
            Value::Str(text) => Value::from(encryption.protect(&text)),
            _ => Value::from(""),
        };
        encrypted.insert(key, value);
    }
    data_as_json(env, Some(Value::Map(encrypted)))
}

fn copy_config_map_data(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    if !complete(env, arguments)? {
        return Err(Failure::text(messages::NAMESPACE_AND_NAME));
    }
    let found = read(env, "ConfigMap", arguments, messages::config_map_failed)?;
    data_as_json(env, found.field(&["data"]))
}

fn texts(values: &[Value]) -> Vec<String> {
    values
        .iter()
        .map(|value| match value {
            Value::Str(text) => text.lossy().into_owned(),
            _ => String::new(),
        })
        .collect()
}

fn lookup(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let found = env.cluster.get_or_list(
        &arguments.text(0)?,
        &arguments.text(1)?,
        &arguments.text(2)?,
        &arguments.text(3)?,
        &texts(arguments.from(4)),
    );
    match found {
        Ok(found) => Ok(found.into_value()),
        Err(LookupError::NotFound { .. }) => Ok(Value::Map(Map::nil())),
        Err(error) => Err(error.into()),
    }
}

fn claim(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let name = arguments.text(0)?;
    if name.is_empty() {
        return Err(Failure::text(messages::CLAIM_NAME));
    }
    let (api_version, kind) = CLAIM;
    let found = env.cluster.get_or_list(api_version, kind, "", &name, &[])?;
    if !matches!(found.field(&["spec"]), Some(Value::Map(_))) {
        return Err(Failure::text(messages::unexpected_claim(&name)));
    }
    match found.field(&["spec", "value"]) {
        Some(Value::Str(text)) => answer(text),
        _ => answer(""),
    }
}

fn from_cluster_claim(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    claim(env, arguments)
}

fn lookup_cluster_claim(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    match claim(env, arguments) {
        Err(Failure::Lookup(LookupError::NotFound { .. })) => answer(""),
        other => other,
    }
}

fn nodes(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Result<Vec<Value>, Failure> {
    let roles: Vec<String> = texts(arguments.all())
        .iter()
        .filter(|role| !role.trim().is_empty())
        .map(|role| format!("{ROLE_LABEL}/{role}"))
        .collect();
    if roles.is_empty() {
        return Err(Failure::text(messages::AT_LEAST_ONE_NAME));
    }
    let found = env.cluster.get_or_list("v1", "Node", "", "", &roles)?;
    let Lookup::List(mut nodes) = found else {
        return Ok(Vec::new());
    };
    nodes.retain(|node| has_no_other_role(node, &roles));
    Ok(nodes)
}

fn has_no_other_role(node: &Value, roles: &[String]) -> bool {
    let Value::Map(node) = node else {
        return false;
    };
    let Some(Value::Map(metadata)) = node.get_str("metadata") else {
        return false;
    };
    let Some(Value::Map(labels)) = metadata.get_str("labels") else {
        return false;
    };
    labels.with(|labels| {
        labels.keys().all(|label| match label {
            Key::Str(label) => {
                let label = label.lossy();
                !label.starts_with(ROLE_LABEL)
                    || label == "node-role.kubernetes.io/worker"
                    || roles.iter().any(|role| *role == label)
            }
            _ => true,
        })
    })
}

fn nodes_with_exact_roles(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let nodes = nodes(env, arguments)?;
    Ok(Lookup::List(nodes).into_value())
}

fn has_nodes_with_exact_roles(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    Ok(Value::Bool(!nodes(env, arguments)?.is_empty()))
}

fn protect(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let text = arguments.str(0)?;
    let Some(encryption) = env.cluster.encryption() else {
        return Err(Failure::text(messages::PROTECT_NOT_ENABLED));
    };
    charge_bytes(env, text.len().saturating_mul(2))?;
    answer(encryption.protect(text))
}
