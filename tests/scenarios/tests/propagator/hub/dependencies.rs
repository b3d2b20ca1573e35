//! PROP-98: dependencies on sets and policies, as clusters see them.

use std::sync::Arc;

use anyhow::Result;
use reeve_scenarios::{Hubs, Root, Via, plain};
use serde_json::{Value, json};

use crate::hub::V1;

const V1BETA1: &str = "policy.open-cluster-management.io/v1beta1";

fn item(api_version: &str, kind: &str, name: &str, compliance: &str) -> Value {
    json!({ "apiVersion": api_version, "kind": kind, "name": name, "compliance": compliance })
}

fn policy(name: &str, compliance: &str) -> Value {
    item(V1, "Policy", name, compliance)
}

fn set(name: &str, namespace: Option<&str>, compliance: &str) -> Value {
    let mut item = item(V1BETA1, "PolicySet", name, compliance);
    if let Some(namespace) = namespace {
        item["namespace"] = json!(namespace);
    }
    item
}

/// A spec with dependencies of the policy or of its template.
fn spec(extra: bool, dependencies: &[Value]) -> Value {
    let mut spec = plain();
    if extra {
        spec["policy-templates"][0]["extraDependencies"] = json!(dependencies);
    } else {
        spec["dependencies"] = json!(dependencies);
    }
    spec
}

async fn becomes(root: &Root<'_>, extra: bool, want: &[Value]) -> Result<()> {
    root.spec_is("m1", &spec(extra, want)).await
}

pub(crate) async fn sets(world: Arc<Hubs>, name: &'static str, extra: bool) -> Result<()> {
    let site = world.site(name, &["m1"]).await?;
    let other = world.site(&format!("{name}-other"), &[]).await?;
    let root = site.root("policy");
    site.set("near", &["one", "two"]).await?;
    root.apply(spec(extra, &[set("near", None, "Compliant")]))
        .await?;
    site.placed(Via::Placement, "choice", "policy", &["m1"])
        .await?;
    let (one, two) = (format!("{name}.one"), format!("{name}.two"));
    let near = [policy(&one, "Compliant"), policy(&two, "Compliant")];
    becomes(&root, extra, &near).await?;
    // A second one, elsewhere, that is not there yet.
    let far = set("far", Some(&other.name), "NonCompliant");
    let both = [set("near", None, "Compliant"), far.clone()];
    root.apply(spec(extra, &both)).await?;
    let [first, second] = near.clone();
    becomes(&root, extra, &[first, second, far]).await?;
    other.set("far", &["three"]).await?;
    let three = policy(&format!("{}.three", other.name), "NonCompliant");
    let [first, second] = near;
    becomes(&root, extra, &[first, second, three.clone()]).await?;
    site.set("near", &["two"]).await?;
    becomes(&root, extra, &[policy(&two, "Compliant"), three.clone()]).await?;
    // An empty set asks for nothing; one that is gone asks for itself.
    site.set("near", &[]).await?;
    becomes(&root, extra, std::slice::from_ref(&three)).await?;
    site.remove("PolicySet", "near").await?;
    let kept = set("near", Some(&site.name), "Compliant");
    becomes(&root, extra, &[kept, three]).await
}

/// U32 on a hub, and PROP-98: a name with a dot is taken for a whole one.
pub(crate) async fn policies(world: Arc<Hubs>) -> Result<()> {
    let site = world.site("rough-edge-26", &["m1"]).await?;
    let root = site.root("policy");
    let mut elsewhere = policy("there", "Pending");
    elsewhere["namespace"] = json!("elsewhere");
    let mut dotted = policy("there.too", "Compliant");
    dotted["namespace"] = json!("elsewhere");
    let foreign = item("example.com/v1", "Policy", "foreign", "Compliant");
    let mut old = item(
        "policy.open-cluster-management.io/v1",
        "PolicySet",
        "old",
        "Compliant",
    );
    old["namespace"] = json!("elsewhere");
    let configuration = item(V1, "ConfigurationPolicy", "local", "Compliant");
    let given = [
        policy("here", "Compliant"),
        policy("whole.name", "NonCompliant"),
        elsewhere,
        dotted,
        foreign.clone(),
        old.clone(),
        configuration.clone(),
        policy("here", "Compliant"),
    ];
    let here = format!("{}.here", site.name);
    let want = [
        policy(&here, "Compliant"),
        policy("whole.name", "NonCompliant"),
        policy("elsewhere.there", "Pending"),
        policy("elsewhere.there.too", "Compliant"),
        foreign,
        old,
        configuration,
        policy(&here, "Compliant"),
    ];
    root.apply(spec(false, &given)).await?;
    site.placed(Via::Placement, "choice", "policy", &["m1"])
        .await?;
    becomes(&root, false, &want).await?;
    root.apply(spec(true, &given)).await?;
    becomes(&root, true, &want).await
}
