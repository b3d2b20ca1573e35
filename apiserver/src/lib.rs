//! A Kubernetes API server in memory. It knows nothing of policies: it stores objects of the built-in kinds and of
//! custom resources, and answers as a kube-apiserver does, to a client in the same process or over loopback HTTPS.
//!
//! A request passes the modules in this order: [`service`](crate::Service) authenticates and authorizes it (`request`,
//! `auth`), `operations` performs it by the rules of the kind (`decode`, `kinds`, `schema`, `builtin`, `patch`, `apply`,
//! `admission`), `store` stores the object, `encode` and `table` write the response, and `controllers` reconcile what follows.

mod admission;
mod aggregation;
mod apply;
mod audit;
mod auth;
mod builtin;
pub mod cel;
mod compact;
mod controllers;
mod conversion;
mod data;
mod decode;
mod discovery;
mod encode;
mod fault_injection;
mod identity;
mod json;
mod kinds;
mod kubeconfig;
mod listener;
mod meta;
mod names;
mod operations;
mod patch;
mod pki;
mod printing;
mod protobuf;
mod queue;
mod request;
pub mod schema;
mod server;
mod service;
mod stack;
mod state;
pub mod status_error;
mod store;
mod stored;
mod table;

pub use admission::{
    AdmissionPlugin, Attributes, InProcessWebhook, Operation, WebhookAnswer, WebhookHandler,
};
pub use audit::AuditLog;
pub use data::{Data, DataError, DataKind, Folder};
pub use fault_injection::{Fault, FaultMatch, Faults};
pub use identity::Identity;
pub use kinds::{Kind, Kinds};
pub use kubeconfig::{KubeconfigContext, kubeconfig};
pub use listener::{ListenError, Listener};
pub use meta::NoRandomness;
pub use pki::{Authority, AuthorityError, Certificate};
pub use request::content::BodyLimits;
pub use server::Server;
pub use service::Service;
pub use state::{Options, ServerLimits};
