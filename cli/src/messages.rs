//! Texts that several commands have in common.

/// An argument names a cluster that is not there.
pub(crate) fn no_cluster(argument: &str, name: &str, known: &str) -> String {
    format!("{argument}: no cluster {name:?}: there are {known}")
}

/// The input has nothing that could be evaluated.
pub(crate) const NO_POLICY: &str =
    "the input has no Policy, so there is nothing to evaluate (-f names files and folders)";

/// The fleet has no Operator Lifecycle Manager.
pub(crate) const NO_OLM: &str = "the clusters have the kinds of OLM and no OLM: nothing installs what an OperatorPolicy subscribes to";
