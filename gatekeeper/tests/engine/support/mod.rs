//! Templates and clients for tests.

#![allow(dead_code, missing_docs)] // each test binary uses a part
#![allow(clippy::panic, clippy::needless_pass_by_value)] // a test says what failed, and is short

use reeve_gatekeeper::Json;
use reeve_gatekeeper::client::{Client, Options, Violation};
use reeve_gatekeeper::enforcement::EnforcementPoint;
use reeve_gatekeeper::matching::Source;
use reeve_gatekeeper::review::Review;
use reeve_gatekeeper::template::{ConstraintTemplate, TemplateError};
use serde_json::json;

/// A template of the kind `Probe` with a target.
pub fn template_of(target: Json) -> Json {
    let mut target = target;
    target["target"] = json!("admission.k8s.gatekeeper.sh");
    json!({
        "apiVersion": "templates.gatekeeper.sh/v1",
        "kind": "ConstraintTemplate",
        "metadata": {"name": "probe"},
        "spec": {
            "crd": {"spec": {
                "names": {"kind": "Probe"},
                "validation": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
            }},
            "targets": [target],
        },
    })
}

/// A template with Rego v0 at the older place.
pub fn rego_template(rego: &str) -> Json {
    template_of(json!({"rego": rego}))
}

/// A template with Rego v1.
pub fn rego_v1_template(rego: &str) -> Json {
    template_of(json!({"code": [{"engine": "Rego", "source": {"version": "v1", "rego": rego}}]}))
}

pub fn constraint(name: &str, spec: Json) -> Json {
    json!({
        "apiVersion": "constraints.gatekeeper.sh/v1beta1",
        "kind": "Probe",
        "metadata": {"name": name},
        "spec": spec,
    })
}

pub fn load(template: &Json) -> Result<Client, TemplateError> {
    load_with(template, Options::default())
}

pub fn load_with(template: &Json, options: Options) -> Result<Client, TemplateError> {
    let mut client = Client::new(options);
    client.add_template(ConstraintTemplate::parse(template)?)?;
    Ok(client)
}

/// A client with one template and one constraint without parameters.
pub fn client(template: &Json) -> Client {
    let mut client = load(template).unwrap_or_else(|error| panic!("{error}"));
    client
        .add_constraint(&constraint("probe", json!({})))
        .unwrap_or_else(|error| panic!("{error}"));
    client
}

pub fn review(client: &Client, object: Json) -> Vec<Violation> {
    let review = Review::of(object).unwrap_or_else(|error| panic!("{error}"));
    client.review(
        &review.with_source(Source::Original),
        EnforcementPoint::Audit,
    )
}

pub fn messages(violations: &[Violation]) -> Vec<&str> {
    violations.iter().map(|one| one.message.as_str()).collect()
}

/// The messages of a template with Rego v0 for an object.
pub fn messages_of(rego: &str, object: Json) -> Vec<String> {
    let client = client(&rego_template(rego));
    let violations = review(&client, object);
    violations.into_iter().map(|one| one.message).collect()
}

pub fn pod(name: &str) -> Json {
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "labels": {"app": "web"}},
        "spec": {"containers": [{"name": "main", "image": "nginx:1"}]},
    })
}
