//! The packages of all scenarios.

use crate::olm::catalog::{Bundle, Package};

/// Packages with one channel of one version.
const PLAIN: &[&str] = &[
    "adopted",
    "apart",
    "authorino",
    "argocd",
    "configured",
    "defaults",
    "defs",
    "empty",
    "finalized",
    "healthy",
    "lookup",
    "overlap",
    "owned",
    "partial",
    "pinned",
    "preinstalled",
    "removed",
    "selected",
    "shared",
    "single",
    "strimzi",
    "unselected",
    "unspecified",
    "validity",
    "competing",
];

/// Packages with an upgrade in the channel `stable`.
const UPGRADED: &[&str] = &["killed-a", "killed-b", "killed-c", "killed-d"];

pub(crate) fn all() -> Vec<Package> {
    let mut all: Vec<Package> = PLAIN.iter().map(|name| Package::plain(name)).collect();
    all.extend(UPGRADED.iter().map(|name| upgraded(name)));
    all.extend(["kafka"].map(minor_channels));
    all.extend(deprecated());
    let own = Bundle::new("0.9.4").own_namespace();
    all.push(Package::new("etcd").channel("stable", &[own]));
    all.push(Package::new("never").channel("stable", &[Bundle::new("0.0.1").never_ready()]));
    all.push(Package::plain("needed"));
    let needing = Bundle::new("0.0.3").requires("needed");
    all.push(Package::new("needing").channel("stable", &[needing]));
    all
}

fn upgraded(name: &str) -> Package {
    let versions = [Bundle::new("1.0.0"), Bundle::new("1.1.0").replaces("1.0.0")];
    Package::new(name).channel("stable", &versions)
}

/// A package with a channel for each minor version. The oldest has an upgrade.
fn minor_channels(name: &str) -> Package {
    let oldest = [
        Bundle::new("0.50.0"),
        Bundle::new("0.50.1").replaces("0.50.0"),
    ];
    let middle = [
        Bundle::new("0.50.1"),
        Bundle::new("0.51.0").replaces("0.50.1"),
    ];
    let newest = [
        Bundle::new("0.51.0"),
        Bundle::new("0.52.0").replaces("0.51.0"),
    ];
    Package::new(name)
        .channel("strimzi-0.50.x", &oldest)
        .channel("strimzi-0.51.x", &middle)
        .channel("strimzi-0.52.x", &newest)
}

/// A package that is deprecated with its channel and version, and two in which less is.
fn deprecated() -> [Package; 3] {
    let (package, channel, bundle) = ("olm.package", "olm.channel", "olm.bundle");
    [
        Package::plain("deprecation-operator")
            .deprecated(package, "", "deprecation-operator is old")
            .deprecated(channel, "stable", "stable is old")
            .deprecated(bundle, "deprecation-operator.v0.0.3", "0.0.3 is old"),
        Package::plain("dep-channel-operator")
            .deprecated(channel, "stable", "stable is old")
            .deprecated(bundle, "dep-channel-operator.v0.0.3", "0.0.3 is old"),
        Package::plain("dep-bundle-operator").deprecated(
            bundle,
            "dep-bundle-operator.v0.0.3",
            "0.0.3 is old",
        ),
    ]
}
