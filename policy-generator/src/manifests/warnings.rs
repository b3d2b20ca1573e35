//! What upstream's generator does with manifests that their author cannot have meant.

use std::collections::BTreeSet;

use reeve_go_compat::value::{Key, Map, Value};

use super::{KUSTOMIZATIONS, UNKNOWN_KUSTOMIZATION, lists};
use crate::config::ManifestConfig;
use crate::messages;
use crate::settings::Settings;
use crate::values::{name_of, text_field};

/// Keys with `$` that are not directives of patches: those of JSON Schema, which CRDs and custom resources may have.
const SCHEMA_KEYS: [&str; 9] = [
    "$anchor",
    "$comment",
    "$defs",
    "$dynamicAnchor",
    "$dynamicRef",
    "$id",
    "$ref",
    "$schema",
    "$vocabulary",
];

/// The warnings for a manifest entry and its objects.
pub fn warnings(manifest: &ManifestConfig, objects: &[Map], settings: &Settings) -> Vec<String> {
    let path = manifest.path.as_str();
    let mut warnings = Vec::new();
    if !settings.mode.is_extended() {
        let dir = settings.base.join(path);
        let found = KUSTOMIZATIONS.iter().find(|name| dir.join(name).is_file());
        if found == Some(&UNKNOWN_KUSTOMIZATION) {
            warnings.push(messages::unread_kustomization(path));
        }
        if objects.iter().any(lists::is_list) {
            warnings.push(messages::unopened_list(path));
        }
    }
    for object in objects {
        let kind = text_field(object, "kind").unwrap_or_default();
        let name = name_of(object).unwrap_or_default();
        for key in directives(object) {
            let object = format!("{kind} {name}");
            warnings.push(messages::leaked_directive(path, &object, &key));
        }
    }
    warnings
}

/// The directives of patches that are left in an object, with their places. What is nested deeply is on a stack of its own.
fn directives(object: &Map) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut rest = vec![(Value::Map(object.clone()), String::new())];
    while let Some((value, place)) = rest.pop() {
        match value {
            Value::Map(map) => {
                for (key, child) in map.entries() {
                    let Key::Str(key) = key else { continue };
                    let key = key.lossy();
                    let place = format!("{place}{key}");
                    if key.starts_with('$') && !SCHEMA_KEYS.contains(&&*key) {
                        found.insert(place);
                    } else {
                        rest.push((child, format!("{place}.")));
                    }
                }
            }
            Value::List(list) => {
                let place = place.trim_end_matches('.');
                let items = list.iter().cloned().enumerate();
                rest.extend(items.map(|(index, item)| (item, format!("{place}[{index}]."))));
            }
            _ => {}
        }
    }
    found
}
