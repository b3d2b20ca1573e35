//! The server as its clients see it.

mod deep_objects;
mod deletion;
mod fault_injection;
mod in_process_webhooks;
mod large_numbers;
mod persistence;
mod services;
