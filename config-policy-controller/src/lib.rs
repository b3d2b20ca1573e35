//! Evaluates `ConfigurationPolicy` objects: on a managed cluster as its controller, or over objects in memory by
//! [`evaluate()`].
//!
//! The modules in the order of the calls.
//!
//! **The process.** [`args`] are the flags; [`process`] checks them and starts what every process has; [`wiring`] starts
//! the watches and the workers, [`warmup`] the watches that many policies share; [`cleanup`] knows whether the add-on is
//! being removed, and [`uninstall`] has it removed; [`error`] is what can go wrong.
//!
//! **Whose turn it is.** [`wake`] says of each change of a policy whether it asks for a turn, [`selections`] of each change
//! of a namespace whom it concerns, [`throttle`] spaces the turns that changes of other objects ask for. [`controller`] is
//! one policy's turn: [`hub`] resolves its hub templates, [`finalizer`] holds it until its objects are gone, [`schedule`]
//! says whether the turn is due and when the next one is.
//!
//! **The turn.** [`turn`] is one evaluation from the spec to what is told, the same for every [`cluster`]: a live one, where
//! reading is watching and [`act`] writes, or one in memory, for [`dryrun`].
//!
//! 1. [`spec`] reads what the policy asks for; [`raw`] reads a list of object templates that is one text; [`keys`] are what
//!    decrypts values.
//! 2. [`described`] is one object template as it stands in the policy. [`desired`] turns it into the objects that it wants:
//!    [`namespaces`] and [`labels`] choose them, [`templates`] resolves what is templated.
//! 3. [`evaluation`] drives [`decide`] for each object: `decide::first` gives a step, the cluster carries it out, the
//!    matching `decide::after_…` takes the answer and gives the next one, until one is done. [`decide`] is pure; it uses
//!    [`compare`] for what differs, [`diff`] to show it, and [`memory`] of what was compared before.
//! 4. [`prune`] deletes what the policy no longer names.
//! 5. [`report`] is what was found, object by object; [`batches`] puts it into the order in which things happened, with the
//!    words of [`status_text`]; [`tell`] hands that on, [`status`] records it, [`custom`] lets the policy speak for itself,
//!    [`publication`] decides what is to be told, [`publish`] writes statuses and events.
//!
//! [`messages`] has every text a user can see, [`metrics`] what is counted.

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
pub mod publication;
pub mod publish;
pub mod raw;
pub mod report;
pub mod schedule;
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
