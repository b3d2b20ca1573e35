//! The templates of one document, by its kind.

use serde_json::{Map, Value};

use crate::error::Error;
use crate::hub::START;
use crate::kinds::at;
use crate::managed::Managed;
use crate::{fields, messages, operator};

const RAW: &str = "object-templates-raw";
const TEMPLATES: &str = "object-templates";
const CONFIGURATION_POLICY: &str = "policy.open-cluster-management.io/v1";
const OPERATOR_POLICY: &str = "policy.open-cluster-management.io/v1beta1";

/// What becomes of a document of another kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Others {
    /// It is an error.
    Refused,
    /// It is one text with templates.
    Resolved,
    /// It stays as it is.
    Kept,
}

/// Resolves the managed-cluster templates of a document. `text` is the document as it was written.
pub(crate) fn resolve(
    object: Value,
    text: &str,
    others: Others,
    managed: &Managed,
) -> Result<Value, Error> {
    match at(&object, "/kind") {
        "Policy" => policy(object, managed),
        "ConfigurationPolicy" => configuration_policy(object, managed),
        "OperatorPolicy" => {
            no_hub_templates(&object)?;
            operator::resolve(object, managed)
        }
        _ if object.get(RAW).is_some() => {
            no_hub_templates(&object)?;
            let Value::Object(mut fields) = object else {
                return Err(Error::Input(messages::UNSUPPORTED));
            };
            raw(&mut fields, managed)?;
            Ok(Value::Object(fields))
        }
        _ => match others {
            Others::Refused => Err(Error::Input(messages::UNSUPPORTED)),
            Others::Resolved => {
                no_hub_templates(&object)?;
                // What hub templates have changed is no longer in the text.
                let is_original = crate::yaml::read(text).is_ok_and(|read| read == object);
                if is_original {
                    managed.text(text)
                } else {
                    managed.plain(&object)
                }
            }
            Others::Kept => Ok(object),
        },
    }
}

fn policy(mut object: Value, managed: &Managed) -> Result<Value, Error> {
    let path = ["spec", "policy-templates"];
    let templates = fields::nested(&object, &path).map_err(Error::PolicyTemplates)?;
    let templates = match templates {
        None => return Err(Error::PolicyTemplates(messages::NO_TEMPLATES.to_owned())),
        Some(Value::Array(templates)) => templates.clone(),
        Some(_) => return Ok(object),
    };
    let templates = templates.into_iter().enumerate();
    let resolved = templates.map(|(index, template)| policy_template(index, template, managed));
    let resolved = resolved.collect::<Result<Vec<Value>, Error>>()?;
    if let Some(place) = object.pointer_mut("/spec/policy-templates") {
        *place = Value::Array(resolved);
    }
    Ok(object)
}

fn policy_template(index: usize, template: Value, managed: &Managed) -> Result<Value, Error> {
    let broken = |why: String| Error::PolicyTemplate { index, why };
    let Value::Object(mut fields) = template else {
        return Err(broken(messages::NO_MAP.to_owned()));
    };
    let definition = fields::map(&fields, "objectDefinition").map_err(broken)?;
    let definition = definition.ok_or_else(|| broken(messages::NO_DEFINITION.to_owned()))?;
    let definition = Value::Object(definition.clone());
    let resolved = match (at(&definition, "/apiVersion"), at(&definition, "/kind")) {
        (CONFIGURATION_POLICY, "ConfigurationPolicy") => configuration_policy(definition, managed),
        (OPERATOR_POLICY, "OperatorPolicy") => {
            no_hub_templates(&definition).and_then(|()| operator::resolve(definition, managed))
        }
        _ => Ok(definition),
    };
    let resolved = resolved.map_err(|error| error.in_template(index))?;
    fields.insert("objectDefinition".to_owned(), resolved);
    Ok(Value::Object(fields))
}

fn configuration_policy(mut policy: Value, managed: &Managed) -> Result<Value, Error> {
    no_hub_templates(&policy)?;
    // A wrong type of the spec is an error, whichever field it has.
    fields::nested(&policy, &["spec", TEMPLATES]).map_err(Error::Field)?;
    let Some(spec) = policy.get_mut("spec").and_then(Value::as_object_mut) else {
        return Ok(policy);
    };
    if spec.contains_key(RAW) {
        raw(spec, managed)?;
        return Ok(policy);
    }
    if let Some(Value::Array(templates)) = spec.get_mut(TEMPLATES) {
        let mut kept = Vec::new();
        for template in std::mem::take(templates) {
            kept.extend(managed.object_template(&template)?);
        }
        *templates = kept;
    }
    Ok(policy)
}

/// Replaces `object-templates-raw` by the list that it makes.
fn raw(fields: &mut Map<String, Value>, managed: &Managed) -> Result<(), Error> {
    let text = match fields.remove(RAW) {
        Some(Value::String(text)) => text,
        Some(other) => other.to_string(),
        None => String::new(),
    };
    let list = match managed.text(&text)? {
        Value::Null => Value::Array(Vec::new()),
        Value::Array(items) => Value::Array(items),
        _ => return Err(Error::Input(messages::RAW_NO_ARRAY)),
    };
    fields.insert(TEMPLATES.to_owned(), list);
    Ok(())
}

fn no_hub_templates(object: &Value) -> Result<(), Error> {
    if object.to_string().contains(START) {
        return Err(Error::Input(messages::UNRESOLVED));
    }
    Ok(())
}
