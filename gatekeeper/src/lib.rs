//! Constraint templates and constraints of Gatekeeper, evaluated in process with its verdicts, messages and order.
//!
//! The room is pure: no client, no runtime, no clock but the one that limits an evaluation. Callers list objects, give them to a
//! [`client::Client`] as [`review::Review`]s, and turn the [`client::Violation`]s into a status ([`audit`]), an admission response
//! ([`admission`]) or a report.

pub mod admission;
pub mod audit;
pub mod cel;
pub mod client;
pub mod configuration;
pub mod constraint;
pub mod enforcement;
pub mod evaluator;
pub mod expansion;
pub mod external_data;
pub mod inventory;
pub mod matching;
mod messages;
pub mod rego;
pub mod review;
mod schema;
pub mod template;

/// An object, or a part of one, as it is decoded from JSON.
pub type Json = serde_json::Value;

/// The API group of constraints.
pub const CONSTRAINT_GROUP: &str = "constraints.gatekeeper.sh";
/// The API group of constraint templates.
pub const TEMPLATE_GROUP: &str = "templates.gatekeeper.sh";
