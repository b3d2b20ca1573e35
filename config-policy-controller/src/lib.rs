//! Evaluates `ConfigurationPolicy` objects on the managed cluster.
//!
//! The modules in the order of the calls:
//!
//! - [`args`] are the flags; [`process`] checks them and starts what every process has; [`wiring`] starts the watches
//!   and the workers; [`cleanup`] knows whether the add-on is being removed; [`error`] is what can go wrong.
//! - [`wake`] says, for each change of a policy, whether it asks for a turn; [`throttle`] spaces the turns that
//!   changes of other objects ask for.
//! - [`controller`] is one policy's turn and calls all that follows; [`schedule`] says whether the turn is due and
//!   when the next one is; [`spec`] reads what the policy asks for.
//! - [`evaluate`] is what `controller` hands the templates to. For each object it lets [`observe`] read the cluster
//!   ([`namespaces`] chooses namespaces for it), asks [`memory`] what it knows of the object, and drives [`decide`]:
//!   `decide::first` gives a step, [`act`] carries it out, the matching `decide::after_…` takes the answer and gives
//!   the next step, until one is done.
//! - [`decide`] is pure; it uses [`compare`] for what differs and [`diff`] to show it.
//! - [`report`] is what an evaluation found, object by object; [`batches`] puts these findings into the order in which
//!   `controller` tells them, with the words of [`status_text`].
//! - [`status`] records such a verdict in the policy's status; [`publish`] writes the status and the events.
//! - [`messages`] has every text a user can see, [`metrics`] what is counted.

pub mod act;
pub mod args;
pub mod batches;
pub mod cleanup;
pub mod cluster;
pub mod compare;
pub mod controller;
pub mod custom;
pub mod decide;
pub mod described;
pub mod desired;
pub mod diff;
pub mod dryrun;
pub mod error;
pub mod evaluation;
pub mod finalizer;
pub mod hub;
pub mod keys;
pub mod labels;
pub mod memory;
pub mod messages;
pub mod metrics;
pub mod namespaces;
pub mod process;
pub mod prune;
pub mod publish;
pub mod raw;
pub mod report;
pub mod schedule;
pub mod secrets;
pub mod selections;
pub mod spec;
pub mod status;
pub mod status_text;
pub mod tell;
pub mod templates;
pub mod throttle;
pub mod turn;
pub mod uninstall;
pub mod wake;
pub mod warmup;
pub mod wiring;

pub use args::{Args, Command, ControllerArgs};
pub use dryrun::{Report, evaluate};
pub use error::Error;
pub use process::run;
