//! The server as its clients see it.

#![allow(clippy::expect_used, clippy::unwrap_used)] // a helper that fails is a test that fails

mod deep_objects;
mod deletion;
mod fault_injection;
mod hostile;
mod in_process_webhooks;
mod large_numbers;
mod persistence;
mod services;
