//! Which room may use which: arrows point one way.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};
use cargo_metadata::MetadataCommand;

/// Every room with the rooms that it may use. Rooms of proof (tests, benches, xtask) may use
/// anything and the product uses none of them.
const PRODUCT: &[(&str, &[&str])] = &[
    ("reeve-api", &[]),
    ("reeve-go-compat", &[]),
    ("reeve-manifests", &[]),
    ("reeve-report", &[]),
    ("reeve-serving", &[]),
    ("reeve-apiserver", &["reeve-go-compat", "reeve-serving"]),
    (
        "reeve-constraint-audit",
        &[
            "reeve-api",
            "reeve-constraint-worker",
            "reeve-gatekeeper",
            "reeve-runtime",
        ],
    ),
    ("reeve-constraint-worker", &["reeve-gatekeeper"]),
    ("reeve-gatekeeper", &["reeve-go-compat"]),
    (
        "reeve-gator",
        &[
            "reeve-constraint-worker",
            "reeve-gatekeeper",
            "reeve-go-compat",
        ],
    ),
    ("reeve-templates-engine", &["reeve-go-compat"]),
    (
        "reeve-policy-generator",
        &["reeve-go-compat", "reeve-manifests"],
    ),
    (
        "reeve-runtime",
        &["reeve-api", "reeve-go-compat", "reeve-serving"],
    ),
    (
        "reeve-template-reads",
        &["reeve-go-compat", "reeve-runtime", "reeve-templates-engine"],
    ),
    (
        "reeve-propagator",
        &[
            "reeve-api",
            "reeve-go-compat",
            "reeve-runtime",
            "reeve-template-reads",
            "reeve-templates-engine",
        ],
    ),
    ("reeve-framework-addon", &["reeve-api", "reeve-runtime"]),
    (
        "reeve-addon-controller",
        &["reeve-api", "reeve-go-compat", "reeve-runtime"],
    ),
    (
        "reeve-config-policy-controller",
        &[
            "reeve-api",
            "reeve-constraint-audit",
            "reeve-go-compat",
            "reeve-runtime",
            "reeve-template-reads",
            "reeve-templates-engine",
        ],
    ),
    (
        "reeve-fleet",
        &[
            "reeve-api",
            "reeve-apiserver",
            "reeve-go-compat",
            "reeve-manifests",
            "reeve-report",
            "reeve-runtime",
            "reeve-propagator",
            "reeve-framework-addon",
            "reeve-config-policy-controller",
            "reeve-constraint-audit",
        ],
    ),
    (
        "reeve-doctor",
        &["reeve-api", "reeve-report", "reeve-runtime"],
    ),
    (
        "reeve-install",
        &["reeve-api", "reeve-go-compat", "reeve-runtime"],
    ),
    (
        "reeve-suites",
        &[
            "reeve-api",
            "reeve-constraint-audit",
            "reeve-fleet",
            "reeve-gatekeeper",
            "reeve-go-compat",
            "reeve-manifests",
            "reeve-policy-generator",
            "reeve-report",
            "reeve-runtime",
        ],
    ),
    (
        "reeve-dryrun",
        &[
            "reeve-api",
            "reeve-apiserver",
            "reeve-config-policy-controller",
            "reeve-constraint-audit",
            "reeve-fleet",
            "reeve-framework-addon",
            "reeve-gatekeeper",
            "reeve-go-compat",
            "reeve-manifests",
            "reeve-runtime",
        ],
    ),
    (
        "reeve-resolve",
        &[
            "reeve-config-policy-controller",
            "reeve-go-compat",
            "reeve-manifests",
            "reeve-runtime",
            "reeve-template-reads",
            "reeve-templates-engine",
        ],
    ),
    (
        "reeve-lint",
        &[
            "reeve-api",
            "reeve-apiserver",
            "reeve-config-policy-controller",
            "reeve-fleet",
            "reeve-go-compat",
            "reeve-manifests",
            "reeve-report",
            "reeve-templates-engine",
        ],
    ),
    (
        "reeve-cli",
        &[
            "reeve-api",
            "reeve-apiserver",
            "reeve-constraint-worker",
            "reeve-dryrun",
            "reeve-doctor",
            "reeve-fleet",
            "reeve-gatekeeper",
            "reeve-gator",
            "reeve-install",
            "reeve-lint",
            "reeve-manifests",
            "reeve-report",
            "reeve-resolve",
            "reeve-runtime",
            "reeve-policy-generator",
            "reeve-suites",
            "reeve-propagator",
            "reeve-framework-addon",
            "reeve-addon-controller",
            "reeve-config-policy-controller",
        ],
    ),
];
const PROOF: &[&str] = &[
    "reeve-testkit",
    "reeve-scenarios",
    "reeve-conformance",
    "reeve-demo",
    "reeve-benches",
    "reeve-benches-addon",
    "reeve-benches-apiserver",
    "reeve-benches-fleet",
    "reeve-benches-hub",
    "reeve-benches-gatekeeper",
    "reeve-benches-installs",
    "reeve-benches-measuring",
    "reeve-benches-policies",
    "reeve-benches-templates",
    "reeve-fuzz",
    "xtask",
];
/// What rooms of proof share among themselves.
const SHARED_PROOF: &[&str] = &[
    "reeve-testkit",
    "reeve-scenarios",
    "reeve-benches-measuring",
];

pub(crate) fn check() -> Result<()> {
    let metadata = MetadataCommand::new()
        .no_deps()
        .exec()
        .context("cannot read cargo metadata")?;
    let product: BTreeMap<&str, &[&str]> = PRODUCT.iter().copied().collect();
    let known = |name: &str| product.contains_key(name) || PROOF.contains(&name);
    let mut wrong = Vec::new();
    for package in metadata.workspace_packages() {
        let from = package.name.as_str();
        if !known(from) {
            wrong.push(format!(
                "{from} is not on the list of rooms in xtask/src/arrows.rs"
            ));
        }
        for dependency in &package.dependencies {
            let to = dependency.name.as_str();
            if !known(to) {
                continue;
            }
            let allowed = match product.get(from) {
                Some(allowed) => allowed.contains(&to) || is_test_of_product(dependency, to),
                None => SHARED_PROOF.contains(&to) || product.contains_key(to),
            };
            if !allowed {
                wrong.push(format!("{from} must not use {to}"));
            }
        }
    }
    if !wrong.is_empty() {
        bail!(
            "arrows between rooms point the wrong way:\n  {}",
            wrong.join("\n  ")
        );
    }
    Ok(())
}

/// A crate's own tests may use the testkit.
fn is_test_of_product(dependency: &cargo_metadata::Dependency, to: &str) -> bool {
    dependency.kind == cargo_metadata::DependencyKind::Development && to == "reeve-testkit"
}
