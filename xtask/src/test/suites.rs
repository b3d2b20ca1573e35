//! The suites of scenarios, and what each of them is about.

/// The kind of API server that a suite runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Server {
    /// kube-apiserver with etcd.
    Real,
    /// The API server of this workspace.
    Embedded,
}

/// A suite: its name, the test program that has it, the kind of its server, and the crates that it is about.
pub(super) struct Suite {
    pub name: &'static str,
    pub program: &'static str,
    pub own: Server,
    pub subjects: &'static [&'static str],
}

const fn suite(
    name: &'static str,
    program: &'static str,
    own: Server,
    subjects: &'static [&'static str],
) -> Suite {
    Suite {
        name,
        program,
        own,
        subjects,
    }
}

const PROPAGATOR: &[&str] = &["reeve-propagator"];
const POLICIES: &[&str] = &["reeve-config-policy-controller"];
const SYNC: &[&str] = &["reeve-framework-addon"];
const ADDONS: &[&str] = &["reeve-addon-controller"];
const ALL: &[&str] = &["reeve-cli"];

/// All suites; of each kind of server those that take longest first.
pub(super) const SUITES: [Suite; 26] = [
    suite("hub_guarantees", "propagator", Server::Real, PROPAGATOR),
    suite("olm", "policies", Server::Real, POLICIES),
    suite("lifecycle", "agents", Server::Real, ALL),
    suite("guarantees", "policies", Server::Real, POLICIES),
    suite("install", "agents", Server::Real, ALL),
    suite("crashes", "whole", Server::Real, ALL),
    suite("configuration", "policies", Server::Real, POLICIES),
    suite("process", "policies", Server::Real, POLICIES),
    suite("addon_process", "agents", Server::Real, SYNC),
    suite("propagator_process", "propagator", Server::Real, PROPAGATOR),
    suite("runtime", "whole", Server::Real, &["reeve-runtime"]),
    suite("crds", "whole", Server::Real, &["reeve-api"]),
    suite("authoring", "whole", Server::Real, ALL),
    suite("packaging", "whole", Server::Real, ALL),
    suite("corpus", "policies", Server::Embedded, POLICIES),
    suite("addon_guarantees", "agents", Server::Embedded, SYNC),
    suite("addon", "agents", Server::Embedded, SYNC),
    suite("automation", "propagator", Server::Embedded, PROPAGATOR),
    suite("hub", "propagator", Server::Embedded, PROPAGATOR),
    suite("hostile", "whole", Server::Embedded, ALL),
    suite("apart", "policies", Server::Embedded, POLICIES),
    suite("operator", "policies", Server::Embedded, POLICIES),
    suite("flows", "whole", Server::Embedded, ALL),
    suite("unattended", "agents", Server::Embedded, ADDONS),
    suite("approvals", "agents", Server::Embedded, ADDONS),
    // Its oracle is Gatekeeper itself: by now that is built.
    suite(
        "gatekeeper",
        "agents",
        Server::Embedded,
        &["reeve-config-policy-controller", "reeve-framework-addon"],
    ),
];

/// The suites that do not run on the embedded server: one needs no API server, and the other one that passes requests on
/// to the API server of `PackageManifests`.
pub(super) const NEVER_EMBEDDED: [&str; 2] = ["packaging", "olm"];

/// The package that they are in.
pub(super) const PACKAGE: &str = "reeve-scenarios";
