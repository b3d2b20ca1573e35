//! Follows the objects of a kind.

use std::collections::HashSet;

use futures::StreamExt as _;
use kube::Client;
use kube::core::ApiResource;
use reeve_runtime::object::ObjectKey;
use reeve_runtime::object_stream::{self, ObjectEvent};
use serde_json::Value;

use crate::resources::{PAGE, key_of};

/// What has become of an object.
pub(crate) enum Change {
    /// It is listed, created or changed.
    Present(Value),
    /// The object was deleted, maybe while nothing was watched.
    Gone(ObjectKey),
    /// All objects that there are have been handed on.
    Synced,
}

/// Hands on every change. Never ends.
pub(crate) async fn follow(
    client: Client,
    resource: ApiResource,
    mut on_change: impl FnMut(Change),
) {
    let kind = resource.kind.clone();
    let events = object_stream::stream(client, resource, PAGE);
    let mut events = std::pin::pin!(events);
    let (mut known, mut listed) = (HashSet::new(), HashSet::new());
    while let Some(event) = events.next().await {
        match event {
            Ok(ObjectEvent::Listing) => listed.clear(),
            Ok(ObjectEvent::Listed(object)) => {
                let key = key_of(&object);
                listed.insert(key.clone());
                known.insert(key);
                on_change(Change::Present(object));
            }
            Ok(ObjectEvent::Applied(object)) => {
                known.insert(key_of(&object));
                on_change(Change::Present(object));
            }
            Ok(ObjectEvent::Synced) => {
                let gone: Vec<ObjectKey> = known.difference(&listed).cloned().collect();
                known = std::mem::take(&mut listed);
                for key in gone {
                    on_change(Change::Gone(key));
                }
                on_change(Change::Synced);
            }
            Ok(ObjectEvent::Deleted(key)) => {
                known.remove(&key);
                on_change(Change::Gone(key));
            }
            Ok(ObjectEvent::Undecodable(key)) => {
                tracing::error!(kind, name = key.name, "cannot decode object");
                // It is there: what is known of it stays.
                listed.insert(key);
            }
            Err(error) => tracing::warn!(kind, %error, "watch failed"),
        }
    }
}
