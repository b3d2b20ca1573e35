//! The `PolicyGenerator`: a short document and manifests become policies, policy sets, placements and bindings.
//!
//! It is a program of its own and the exec plugin of kustomize with the same name, and `reeve generate`. Output and error texts are
//! upstream's (`open-cluster-management-io/policy-generator-plugin`), byte for byte; where they differ,
//! `docs/behaviour/policy-generator.md` says why.

mod command;
mod config;
mod error;
mod kinds;
mod manifests;
mod merge;
mod messages;
mod notices;
mod paths;
mod placements;
mod policy;
mod selectors;
mod settings;
mod templates;
mod type_meta;
mod values;

use reeve_go_compat::value::{Map, Value};
use reeve_go_compat::yaml;

pub use command::{Caller, Environment, Outcome, PROGRAM, run, run_in};
pub use error::Error;

use notices::Notices;
use settings::Settings;
use values::{name_of, namespace_of, text_field};

/// How far each level of the output is indented, as the default of go-yaml's encoder.
const INDENT: usize = 4;

/// What was read from a document.
pub(crate) struct Prepared {
    generator: config::Generator,
}

impl Prepared {
    /// Reads a document, fills in what it inherits and refuses what cannot be generated.
    pub(crate) fn read(
        text: &[u8],
        settings: &Settings,
        notices: &mut Notices,
    ) -> Result<Self, Error> {
        let mut generator = config::read(text, settings.mode, notices)?;
        generator.inherit();
        config::validate(&generator, &settings.base)?;
        Ok(Self { generator })
    }

    /// The objects in the order of the output.
    pub(crate) fn generate(
        &self,
        settings: &Settings,
        notices: &mut Notices,
    ) -> Result<Vec<Generated>, Error> {
        let generator = &self.generator;
        let namespace = generator.defaults.namespace.as_str();
        let mut output = Vec::new();
        let mut before = None;
        for policy in &generator.policies {
            let mut expanded = Vec::with_capacity(policy.manifests.len());
            for manifest in &policy.manifests {
                let objects = manifests::expand(manifest, settings)?;
                for warning in manifests::warnings(manifest, &objects, settings) {
                    notices.warn(warning);
                }
                expanded.push((manifest, objects));
            }
            let templates = templates::templates(policy, &expanded, settings.mode)?;
            for warning in templates::repeated(policy, &templates) {
                notices.warn(warning);
            }
            for hint in templates::hints(policy, &expanded, settings.mode) {
                notices.hint(hint);
            }
            let before = before
                .replace(policy)
                .filter(|_| generator.defaults.order_policies);
            let object = policy::policy(policy, &templates, namespace, before);
            output.push(Generated::of(&object, "policy")?);
        }
        for set in &generator.policy_sets {
            let object = policy::policy_set(set, namespace);
            output.push(Generated::of(&object, "policyset")?);
        }
        for object in placements::placements(generator, settings, notices)? {
            output.push(Generated::of(&object, "placement")?);
        }
        Ok(output)
    }
}

/// A generated object.
pub(crate) struct Generated {
    kind: String,
    namespace: String,
    name: String,
    /// The object behind `---`.
    yaml: Vec<u8>,
}

impl Generated {
    fn of(object: &Map, what: &str) -> Result<Self, Error> {
        let text = yaml::encode_readable(&Value::Map(object.clone()), INDENT)
            .map_err(|error| Error::new(messages::cannot_convert(what, &error)))?;
        Ok(Self {
            kind: text_field(object, "kind").unwrap_or_default(),
            namespace: namespace_of(object).unwrap_or_default(),
            name: name_of(object).unwrap_or_default(),
            yaml: [b"---\n", text.as_slice()].concat(),
        })
    }

    /// Whether two files generate one object. The same placement of both is no mistake.
    pub(crate) fn replaces(&self, other: &Self) -> bool {
        let has_same_id =
            self.kind == other.kind && self.namespace == other.namespace && self.name == other.name;
        let is_policy = self.kind.starts_with(kinds::POLICY_KIND);
        has_same_id && (is_policy || self.yaml != other.yaml)
    }
}
