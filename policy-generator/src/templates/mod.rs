//! The policy templates of a policy, from the objects of its manifests.

mod classify;
mod configuration_policy;
mod expanders;

use std::collections::HashSet;

use reeve_go_compat::value::{Map, Value};

use crate::config::{Dependency, ManifestConfig, PolicyConfig, TemplateOptions};
use crate::error::Error;
use crate::kinds::CONSTRAINT_GROUP;
use crate::messages;
use crate::settings::Mode;
use crate::values::{map_field, name_of, ordered, set, text_field, text_of};

use classify::{Class, classify};
use configuration_policy::{Names, consolidated, object_template, of_object, of_raw};

/// An entry of `policy-templates`.
#[derive(Clone, Debug)]
pub struct Template(pub Map);

impl Template {
    fn plain(object: Map) -> Self {
        let entry = Map::dict();
        set(&entry, "objectDefinition", Value::Map(object));
        Self(entry)
    }

    fn with_options(object: Map, options: &TemplateOptions) -> Self {
        let template = Self::plain(object);
        if options.ignores_pending() {
            set(&template.0, "ignorePending", true);
        }
        let dependencies = options.extra_dependencies();
        if !dependencies.is_empty() {
            template.depend_on(dependencies);
        }
        template
    }

    fn depend_on(&self, dependencies: &[Dependency]) {
        let entries = dependencies.iter().map(dependency);
        set(&self.0, "extraDependencies", Value::list(entries));
    }

    /// The object that the template is.
    pub fn object(&self) -> Option<Map> {
        map_field(&self.0, "objectDefinition")
    }
}

/// A dependency as it is written.
pub fn dependency(of: &Dependency) -> Value {
    let all = [
        ("apiVersion", &of.api_version),
        ("compliance", &of.compliance),
        ("kind", &of.kind),
        ("name", &of.name),
    ];
    let [api_version, compliance, kind, name] =
        all.map(|(key, value)| (key, Value::str(value.as_str())));
    if of.namespace.is_empty() {
        return ordered([api_version, compliance, kind, name]);
    }
    let namespace = ("namespace", Value::str(of.namespace.as_str()));
    ordered([api_version, compliance, kind, name, namespace])
}

/// The templates of a policy: of objects as they are, raw, and one by one; then of those that share a configuration policy; then
/// those that inform on Gatekeeper and Kyverno.
pub fn templates(
    policy: &PolicyConfig,
    manifests: &[(&ManifestConfig, Vec<Map>)],
    mode: Mode,
) -> Result<Vec<Template>, Error> {
    let mut builder = Builder {
        policy,
        names: Names::default(),
        templates: Vec::new(),
        shared: Vec::new(),
        shared_name: None,
    };
    for (index, (manifest, objects)) in manifests.iter().enumerate() {
        for object in objects {
            builder.add(index, manifest, &object.deep_copy())?;
        }
    }
    builder.add_shared();
    for (manifest, objects) in manifests {
        for object in objects {
            let expanded = expanders::expand(policy, object, mode);
            let with_options = |one| Template::with_options(one, &manifest.template);
            builder
                .templates
                .extend(expanded.into_iter().map(with_options));
        }
    }
    if builder.templates.is_empty() {
        return Err(Error::new(messages::no_templates(&policy.name)));
    }
    if policy.policy.order_manifests == Some(true) {
        chain(&builder.templates);
    }
    Ok(builder.templates)
}

/// What the templates that inform on Gatekeeper and Kyverno do not do.
pub fn hints(
    policy: &PolicyConfig,
    manifests: &[(&ManifestConfig, Vec<Map>)],
    mode: Mode,
) -> Vec<String> {
    let objects = manifests.iter().flat_map(|(_, objects)| objects);
    objects
        .filter_map(|object| expanders::hint(policy, object, mode))
        .collect()
}

/// A warning for each template that has the kind and the name of one before it. The managed cluster has only one object for both.
pub fn repeated(policy: &PolicyConfig, templates: &[Template]) -> Vec<String> {
    let mut known = HashSet::new();
    let objects = templates.iter().filter_map(Template::object);
    let mut warnings = Vec::new();
    for object in objects {
        let kind = text_field(&object, "kind").unwrap_or_default();
        let name = name_of(&object).unwrap_or_default();
        if !known.insert((kind.clone(), name.clone())) {
            warnings.push(messages::repeated_template(&policy.name, &kind, &name));
        }
    }
    warnings
}

struct Builder<'a> {
    policy: &'a PolicyConfig,
    names: Names,
    templates: Vec<Template>,
    /// The object templates of the configuration policy that objects share.
    shared: Vec<Value>,
    /// The name that the first manifest gave it.
    shared_name: Option<&'a str>,
}

impl<'a> Builder<'a> {
    fn add(
        &mut self,
        index: usize,
        manifest: &'a ManifestConfig,
        object: &Map,
    ) -> Result<(), Error> {
        let options = &manifest.template;
        enforce_constraint(object, &options.gatekeeper_enforcement_action, index)?;
        let informs = self.policy.policy.inform_gatekeeper_policies == Some(true);
        let class = classify(object, informs)
            .map_err(|error| Error::new(messages::in_manifest(error, &manifest.path)))?;
        match class {
            Class::Raw(text) => {
                let name = self.name(manifest);
                let made = of_raw(&name, &text, options, &self.policy.policy);
                self.templates.push(Template::with_options(made, options));
            }
            Class::OcmPolicy => {
                if let Some(metadata) = map_field(object, "metadata") {
                    crate::values::unset(&metadata, "namespace");
                }
                self.templates
                    .push(Template::with_options(object.clone(), options));
            }
            Class::Gatekeeper => {
                annotate_severity(object, &options.severity)
                    .map_err(|error| Error::new(messages::in_manifest(&error, &manifest.path)))?;
                self.templates.push(Template::plain(object.clone()));
            }
            Class::Wrapped if self.policy.policy.consolidate_manifests == Some(true) => {
                self.shared.push(object_template(object, options));
                if self.shared_name.is_none() && !manifest.name.is_empty() {
                    self.shared_name = Some(&manifest.name);
                }
            }
            Class::Wrapped => {
                let name = self.name(manifest);
                let made = of_object(&name, object, options, &self.policy.policy);
                self.templates.push(Template::with_options(made, options));
            }
        }
        Ok(())
    }

    fn name(&mut self, manifest: &ManifestConfig) -> String {
        let base = if manifest.name.is_empty() {
            &self.policy.name
        } else {
            &manifest.name
        };
        self.names.next(base)
    }

    fn add_shared(&mut self) {
        if self.shared.is_empty() {
            return;
        }
        let name = self
            .names
            .next(self.shared_name.unwrap_or(&self.policy.name));
        let options = &self.policy.template;
        let shared = std::mem::take(&mut self.shared);
        let made = consolidated(&name, shared, options, &self.policy.policy);
        self.templates.push(Template::with_options(made, options));
    }
}

/// Sets the enforcement action of a constraint.
fn enforce_constraint(object: &Map, action: &str, index: usize) -> Result<(), Error> {
    let api_version = text_field(object, "apiVersion").unwrap_or_default();
    if action.is_empty() || !api_version.starts_with(CONSTRAINT_GROUP) {
        return Ok(());
    }
    let spec = match object.get_str("spec") {
        None => {
            let spec = Map::dict();
            set(object, "spec", Value::Map(spec.clone()));
            spec
        }
        Some(Value::Map(spec)) => spec,
        Some(_) => return Err(Error::new(messages::no_constraint_spec(index))),
    };
    set(&spec, "enforcementAction", action);
    Ok(())
}

/// Upstream's library loses all annotations of an object if one of them is not text, which is an error here.
fn annotate_severity(object: &Map, severity: &str) -> Result<(), String> {
    let Some(metadata) = map_field(object, "metadata") else {
        return Ok(());
    };
    let annotations = match metadata.get_str("annotations") {
        None | Some(Value::Nil) => Map::dict(),
        Some(Value::Map(map)) => map,
        Some(_) => return Err(messages::ANNOTATIONS_NOT_A_MAP.to_owned()),
    };
    for (key, value) in annotations.entries() {
        if !matches!(value, Value::Str(_)) {
            return Err(messages::annotation_not_text(&text_of(&key.to_value())));
        }
    }
    set(
        &annotations,
        "policy.open-cluster-management.io/severity",
        severity,
    );
    set(&metadata, "annotations", Value::Map(annotations));
    Ok(())
}

/// Has each template depend on the one before it.
fn chain(templates: &[Template]) {
    for pair in templates.windows(2) {
        let [before, template] = pair else { continue };
        let Some(object) = before.object() else {
            continue;
        };
        let text = |key| text_field(&object, key).unwrap_or_default();
        template.depend_on(&[Dependency {
            api_version: text("apiVersion"),
            compliance: "Compliant".to_owned(),
            kind: text("kind"),
            name: name_of(&object).unwrap_or_default(),
            namespace: String::new(),
        }]);
    }
}
