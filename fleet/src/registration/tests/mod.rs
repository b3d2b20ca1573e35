//! The rules of registration that need no API server.

// Values of `json!` are passed by value.
#![allow(clippy::needless_pass_by_value)]

mod admission;
mod clusters;
mod sets;

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use reeve_api::ocm::ManagedCluster;

fn now() -> Timestamp {
    "2026-08-01T12:00:00Z".parse().unwrap()
}

fn cluster(name: &str, rest: Value) -> Arc<ManagedCluster> {
    let mut object = json!({"metadata": {"name": name}, "spec": {}});
    for (field, value) in rest.as_object().unwrap() {
        if field == "metadata" {
            for (field, value) in value.as_object().unwrap() {
                object["metadata"][field] = value.clone();
            }
        } else {
            object[field] = value.clone();
        }
    }
    Arc::new(serde_json::from_value(object).unwrap())
}
