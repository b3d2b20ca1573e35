//! Streams the objects of a kind, and holds none of them.

use futures::{Stream, StreamExt};
use kube::Client;
use kube::api::Api;
use kube::core::ApiResource;
use kube::runtime::watcher;
use serde_json::Value;

use crate::dependencies::plain::Plain;
use crate::object::ObjectKey;
use crate::{metrics, relist};

/// One event of the objects of a kind.
#[derive(Debug)]
pub enum ObjectEvent {
    /// All objects follow. Those that were there before and do not follow are gone.
    Listing,
    /// An object of the list.
    Listed(Value),
    /// All objects have followed.
    Synced,
    /// An object was created or changed.
    Applied(Value),
    /// An object was deleted.
    Deleted(ObjectKey),
    /// An object exists and its JSON cannot be decoded.
    Undecodable(ObjectKey),
}

/// Lists the objects of a kind in pages, then watches them, with backoff after errors. The objects have no
/// `managedFields`.
pub fn stream(
    client: Client,
    kind: ApiResource,
    page: u32,
) -> impl Stream<Item = Result<ObjectEvent, watcher::Error>> + Send {
    let api: Api<Plain> = Api::all_with(client, &kind);
    let config = watcher::Config::default().page_size(page);
    relist::events(api, config, &kind.kind).map(move |event| {
        let object = |object: Plain, wrap: fn(Value) -> ObjectEvent| {
            let key = ObjectKey::of(&object);
            object.into_json(&kind).map_or_else(
                |_| {
                    metrics::undecodable(&kind.kind);
                    ObjectEvent::Undecodable(key)
                },
                wrap,
            )
        };
        Ok(match event? {
            watcher::Event::Init => ObjectEvent::Listing,
            watcher::Event::InitApply(one) => object(one, ObjectEvent::Listed),
            watcher::Event::InitDone => ObjectEvent::Synced,
            watcher::Event::Apply(one) => object(one, ObjectEvent::Applied),
            watcher::Event::Delete(one) => ObjectEvent::Deleted(ObjectKey::of(&one)),
        })
    })
}
