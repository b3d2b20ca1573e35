//! What a container finds in its environment, and its command line.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Container, EnvVar, EnvVarSource, ObjectFieldSelector, Pod};
use kube::ResourceExt as _;

use super::Blocked;
use super::sources::Sources;

/// Variables in the order of their definition, so that a later one may speak of an earlier one.
pub(super) type Variables = Vec<(String, String)>;

/// The variables of a container, without those that the kubelet gives to all.
///
/// # Errors
/// When a Secret, a `ConfigMap` or a key in it is not there and must be.
pub(super) fn variables(
    pod: &Pod,
    container: &Container,
    sources: &Sources,
    default_environment: Variables,
) -> Result<Variables, Blocked> {
    let mut all = default_environment;
    for variable in container.env.iter().flatten() {
        if let Some(value) = value(pod, variable, sources, &all)? {
            all.retain(|(name, _)| *name != variable.name);
            all.push((variable.name.clone(), value));
        }
    }
    Ok(all)
}

fn value(
    pod: &Pod,
    variable: &EnvVar,
    sources: &Sources,
    before: &Variables,
) -> Result<Option<String>, Blocked> {
    let Some(from) = &variable.value_from else {
        let value = variable.value.as_deref().unwrap_or_default();
        return Ok(Some(expand(value, before)));
    };
    let EnvVarSource {
        field_ref,
        secret_key_ref,
        config_map_key_ref,
        ..
    } = from;
    if let Some(field) = field_ref {
        return self::field(pod, field).map(Some);
    }
    let namespace = pod.namespace().unwrap_or_default();
    let found = if let Some(key) = secret_key_ref {
        let data = sources.secret(&namespace, &key.name);
        data.and_then(|data| data.get(&key.key).cloned())
            .ok_or((&key.name, &key.key, key.optional))
    } else if let Some(key) = config_map_key_ref {
        let data = sources.config_map(&namespace, &key.name);
        data.and_then(|data| data.get(&key.key).cloned())
            .ok_or((&key.name, &key.key, key.optional))
    } else {
        return Err(Blocked::config(format!(
            "the variable {} comes from something that the process kubelet does not know",
            variable.name
        )));
    };
    match found {
        Ok(value) => Ok(Some(String::from_utf8_lossy(&value).into_owned())),
        Err((_, _, Some(true))) => Ok(None),
        Err((name, key, _)) => Err(Blocked::config(format!(
            "the variable {} needs the key {key} of {namespace}/{name}, which is not there",
            variable.name
        ))),
    }
}

/// A field of the Pod, as the downward API gives it.
pub(super) fn field(pod: &Pod, field: &ObjectFieldSelector) -> Result<String, Blocked> {
    let path = field.field_path.as_str();
    let spec = pod.spec.as_ref();
    let of = |map: &BTreeMap<String, String>, key: &str| map.get(key).cloned().unwrap_or_default();
    if let Some(key) = quoted(path, "metadata.labels") {
        return Ok(of(pod.labels(), key));
    }
    if let Some(key) = quoted(path, "metadata.annotations") {
        return Ok(of(pod.annotations(), key));
    }
    let value = match path {
        "metadata.name" => pod.name_any(),
        "metadata.namespace" => pod.namespace().unwrap_or_default(),
        "metadata.uid" => pod.uid().unwrap_or_default(),
        "status.podIP" | "status.hostIP" => "127.0.0.1".to_owned(),
        "spec.nodeName" => spec
            .and_then(|spec| spec.node_name.clone())
            .unwrap_or_default(),
        "spec.serviceAccountName" => spec
            .and_then(|spec| spec.service_account_name.clone())
            .unwrap_or_default(),
        _ => {
            return Err(Blocked::config(format!(
                "the process kubelet does not know the field {path}"
            )));
        }
    };
    Ok(value)
}

/// The `x` of `metadata.labels['x']`.
fn quoted<'a>(path: &'a str, field: &str) -> Option<&'a str> {
    let key = path.strip_prefix(field)?.strip_prefix("['")?;
    key.strip_suffix("']")
}

/// Replaces `$(NAME)` by the variable, if there is one; `$$` stands for `$`.
pub(super) fn expand(text: &str, variables: &Variables) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let after = from.get(1..).unwrap_or_default();
        if let Some(tail) = after.strip_prefix('$') {
            out.push('$');
            rest = tail;
            continue;
        }
        let reference = after
            .strip_prefix('(')
            .and_then(|inner| inner.split_once(')'));
        let with_running = reference.and_then(|(name, tail)| {
            let found = variables
                .iter()
                .find(|(with_running, _)| with_running == name);
            found.map(|(_, value)| (value, tail))
        });
        if let Some((value, tail)) = with_running {
            out.push_str(value);
            rest = tail;
        } else {
            out.push('$');
            rest = after;
        }
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_replaced_and_escapes_kept() {
        let variables = vec![("A".to_owned(), "1".to_owned())];
        for (text, want) in [
            ("--x=$(A)", "--x=1"),
            ("$(A)$(A)", "11"),
            ("$(B)", "$(B)"),
            ("$$(A)", "$(A)"),
            ("$A $", "$A $"),
            ("$(A", "$(A"),
        ] {
            assert_eq!(expand(text, &variables), want, "{text}");
        }
    }

    #[test]
    fn labels_are_named_in_quotes() {
        assert_eq!(
            quoted("metadata.labels['app']", "metadata.labels"),
            Some("app")
        );
        assert_eq!(quoted("metadata.name", "metadata.labels"), None);
    }
}
