//! Every text of suites that a user sees.

use reeve_fleet::AssumedKind;
use reeve_report::plural;

/// A document of another kind.
pub(crate) fn other_kind(kind: &str, found: &str) -> String {
    format!("kind: expected {kind}, found {found:?}")
}

/// A document of another version.
pub(crate) fn other_version(expected: &str, found: &str) -> String {
    format!("apiVersion: expected {expected}, found {found:?}")
}

/// A cluster whose name no namespace of the hub can have.
pub(crate) fn no_cluster_name(name: &str) -> String {
    format!(
        "clusters: {name:?} is no name for one: use at most 63 small letters, digits and hyphens, with a letter or digit at both ends; hub is taken"
    )
}

/// A step names a cluster that the suite does not have.
pub(crate) fn no_cluster(name: &str, known: &str) -> String {
    format!("no cluster {name:?}: the suite has {known}")
}

/// A suite without an expectation.
pub(crate) const TESTS_NOTHING: &str = "no step of the suite expects anything, so it tests nothing";

/// A step without an expectation, in which nothing happens.
pub(crate) const EMPTY_STEP: &str = "nothing happens in this step, and nothing is expected";

/// The kinds that are taken to exist; nothing if there are none.
pub fn assumed_kinds(kinds: &[AssumedKind]) -> Option<String> {
    let described = kinds.iter().map(|one| {
        let scope = if one.namespaced {
            "namespaced"
        } else {
            "cluster-scoped"
        };
        let (kind, group, plural) = (&one.kind, &one.group, one.plural());
        format!("{kind} ({plural}.{group}, {scope})")
    });
    let described: Vec<String> = described.collect();
    let count = plural(kinds.len(), "kind");
    let verb = if kinds.len() == 1 { "is" } else { "are" };
    (!kinds.is_empty()).then(|| {
        let all = described.join(", ");
        format!(
            "{count} without a definition {verb} assumed, with any field (--assume-kinds): {all}"
        )
    })
}

/// An expectation that nothing fulfils.
pub(crate) const NOT_FOUND: &str = "not found";

/// A policy is on other clusters.
pub(crate) const NOT_ON_CLUSTER: &str = "not on this cluster";

/// A controller ended in the middle of a suite.
pub(crate) fn controllers_ended(why: &str) -> String {
    format!("the controllers of the fleet have ended: {why}")
}

/// The fleet does not come to rest.
pub(crate) fn not_idle(seconds: u64, waiting: &str) -> String {
    format!("the controllers are still busy after {seconds} s; waiting for {waiting}")
}

/// Steps behind one that could not be carried out.
pub(crate) const NOT_RUN: &str = "not run: an earlier step could not be carried out";

/// A suite among policies.
pub(crate) const SUITE: &str = "a suite: use reeve test";
/// A fleet file among policies.
pub(crate) const FLEET: &str = "a fleet: use --clusters";
/// A kustomization among policies, under another name than kustomize's.
pub(crate) const KUSTOMIZATION: &str = "use -k";
/// A document of the policy generator among the documents of standard input.
pub(crate) const GENERATOR_OF_STDIN: &str =
    "a generator: name its file, because its paths are relative to that";
/// A file that a generator reads.
pub(crate) const GENERATED: &str = "part of the policies of a generator";

/// A kustomization that has more than generators and resources.
pub(crate) fn beyond_generators(fields: &[&str]) -> String {
    format!(
        "{} beside generators: only kustomize can do that: kustomize build --enable-alpha-plugins --enable-exec, and pipe its output to -",
        fields.join(", ")
    )
}

/// A generator that is not ours.
pub(crate) fn other_generator(kind: &str) -> String {
    format!("generators: {kind} is not PolicyGenerator: only kustomize can run it")
}

/// A file that a suite gives to its clusters.
pub(crate) const FIXTURE: &str = "for a suite's clusters: --crds or --objects takes it";

/// A policy of a folder that no suite uses.
pub(crate) const UNUSED: &str = "no suite uses it";
