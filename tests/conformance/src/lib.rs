//! Conversations with an API server: files of requests, played to the embedded server and to a real one. What they answer
//! has to be the same, but for times, uids and resource versions. Likewise for the output of kubectl.

mod answer;
mod deep;
pub mod hooks;
mod kubectl;
mod script;

pub use answer::{Answer, difference};
pub use kubectl::{Call, Calls, CommandOutput, Kubectl, calls, listen};
pub use script::{Script, Step, run, scripts};
