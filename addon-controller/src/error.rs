//! Why the process ended.

pub use reeve_runtime::manager::ManagerError as Error;
