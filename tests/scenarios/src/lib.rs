//! What scenarios are written with: a world of real control planes and processes, and policies under
//! test.

mod addon;
mod documented_metrics;
mod evaluator;
mod failure;
mod governed;
pub mod guarded;
mod harness;
mod hub;
mod merge;
mod observed_status;
mod operator_subject;
mod random;
pub mod record;
mod replicated;
mod reported_status;
mod root;
pub mod script;
mod site;
mod subject;
mod suite;
mod text;
mod wait;

pub use addon::{ADDON, Addon, Agents, Mode, Place, holds, install, make_namespace};
pub use documented_metrics::all_metrics_are_documented;
pub use evaluator::{Controller, Evaluator, Pair, install_test_crds, namespace, serve};
pub use governed::{Governed, history};
pub use harness::{
    Dump, Scenario, run_beside, run_in_turns, run_on, run_on_agents, run_on_evaluator,
    run_on_guarded, run_on_hubs, run_on_job_hub, run_on_pair, run_on_plane, run_on_world, scenario,
};
pub use hub::{DENIED, Hub, HubKinds, Hubs, Propagator};
pub use merge::merge;
pub use observed_status::{ObservedStatus, Related, same};
pub use operator_subject::{OperatorSubject, apply_json};
pub use random::Random;
pub use replicated::{CONFIGURATION, POLICY, Replicated, configuration, rule};
pub use reported_status::{Entry, ReportedStatus};
pub use root::{Root, annotation, errors, label, objects, plain, policy_spec, version, wants};
pub use site::{Choice, Site, Via, on, refused};
pub use subject::Subject;
pub use suite::{Suite, SuiteRun, run_suites};
pub use text::{indent, spec};
pub use wait::{steadily, steadily_for, within};
