//! A Kubernetes API server in memory. It knows nothing of policies: it stores objects of the built-in kinds and of
//! custom resources, and answers as a kube-apiserver does, to a client in the same process or over loopback HTTPS.
//!
//! A request walks through the modules in this order: [`service`](crate::Service) reads who asks and what for (`request`,
//! `auth`), `operations` does it by the rules of the kind (`kinds`, `schema`, `builtin`, `patch`, `tracking`), `store`
//! keeps it, `answer` and `table` give it the form that was asked for, and `controllers` see to what follows.

mod admission;
mod aggregation;
mod answer;
pub mod apply;
mod audit;
mod auth;
mod authority;
mod builtin;
mod certificates;
mod client_certificates;
mod controllers;
mod convert;
mod data;
mod discovery;
pub mod failure;
mod faults;
mod json;
mod kinds;
mod listen;
mod meta;
mod names;
mod operations;
pub mod patch;
mod protobuf;
mod request;
pub mod schema;
mod server;
mod service;
mod stack;
mod store;
mod table;
mod tracking;
pub mod weaving;

pub use admission::{Action, Admission, Attributes};
pub use audit::AuditLog;
pub use auth::Identity;
pub use authority::{Access, Authority, AuthorityError, Certificate, kubeconfig};
pub use data::{Data, DataError, DataKind, Folder};
pub use faults::{Fault, Faults, Meets};
pub use kinds::Kind;
pub use listen::{ListenError, Listener};
pub use server::{Options, Server};
pub use service::Service;
