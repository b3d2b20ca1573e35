//! Examples in the help of commands whose arguments are defined elsewhere. A test parses each, and runs those that need
//! no cluster.

pub(crate) const PROPAGATOR: &str = "Example:
  reeve propagator --kubeconfig hub.kubeconfig --leader-elect=false
                                              next to a hub, for a trial";

pub(crate) const FRAMEWORK_ADDON: &str = "Example:
  reeve framework-addon --hub-cluster-configfile hub.kubeconfig --cluster-namespace cluster1 --leader-elect=false
                                              next to a managed cluster, for a trial";

pub(crate) const CONFIG_POLICY_CONTROLLER: &str = "Example:
  KUBECONFIG=cluster1.kubeconfig reeve config-policy-controller controller --leader-elect=false
                                              next to a managed cluster, for a trial";

pub(crate) const ADDON_CONTROLLER: &str = "Example:
  reeve addon-controller --kubeconfig hub.kubeconfig
                                              next to a hub, for a trial";

pub(crate) const GENERATE: &str = "Examples:
  reeve generate policy-generator.yaml        the policies of a document
  reeve generate policy-generator.yaml | reeve test -
                                              and what they come to";

pub(crate) const VERSION: &str = "Example:
  reeve version";
