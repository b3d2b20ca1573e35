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

pub use command::{Caller, Environment, Outcome, PROGRAM, run};
pub use error::Error;

use notices::Notices;
use settings::Settings;

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

    /// The output: each object behind `---`.
    pub(crate) fn generate(
        &self,
        settings: &Settings,
        notices: &mut Notices,
    ) -> Result<Vec<u8>, Error> {
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
            for hint in templates::hints(policy, &expanded, settings.mode) {
                notices.hint(hint);
            }
            let before = before
                .replace(policy)
                .filter(|_| generator.defaults.order_policies);
            let object = policy::policy(policy, &templates, namespace, before);
            write(&mut output, &object, "policy")?;
        }
        for set in &generator.policy_sets {
            write(
                &mut output,
                &policy::policy_set(set, namespace),
                "policyset",
            )?;
        }
        for object in placements::placements(generator, settings, notices)? {
            write(&mut output, &object, "placement")?;
        }
        Ok(output)
    }
}

fn write(output: &mut Vec<u8>, object: &Map, what: &str) -> Result<(), Error> {
    let text = yaml::encode_readable(&Value::Map(object.clone()), INDENT)
        .map_err(|error| Error::new(messages::cannot_convert(what, &error)))?;
    output.extend_from_slice(b"---\n");
    output.extend_from_slice(&text);
    Ok(())
}
