//! What services are given: addresses and ports that no other service has.

use std::collections::BTreeSet;

use futures::future::try_join_all;
use http::Request;
use kube::Client;
use reeve_apiserver::{Identity, Options, Server};
use serde_json::{Value, json};

const SERVICES: &str = "/api/v1/namespaces/default/services";
/// With `kubernetes`, as many as there are addresses.
const ALL: usize = 253;

#[tokio::test(flavor = "multi_thread", worker_threads = 8)]
async fn concurrent_services_get_distinct_addresses_and_ports()
-> Result<(), Box<dyn std::error::Error>> {
    let server = Server::start(Options::default()).unwrap();
    let client = Client::new(server.service(Identity::admin()), "default");
    let requests = (0..ALL).map(|number| {
        let client = client.clone();
        let service = json!({
            "apiVersion": "v1", "kind": "Service",
            "metadata": { "name": format!("service-{number}") },
            "spec": { "type": "NodePort", "ports": [{ "port": 80 }] },
        });
        let request = Request::post(SERVICES).header("content-type", "application/json");
        let request = request.body(service.to_string().into_bytes());
        tokio::spawn(async move {
            let request = request.map_err(kube::Error::HttpError)?;
            client.request::<Value>(request).await
        })
    });
    let mut made = Vec::new();
    for answer in try_join_all(requests).await? {
        made.push(answer?);
    }
    let different = |pointer: &str| {
        let values = made.iter().map(|service| service.pointer(pointer));
        values
            .map(|value| format!("{value:?}"))
            .collect::<BTreeSet<_>>()
            .len()
    };
    assert_eq!(different("/spec/clusterIP"), ALL);
    assert_eq!(different("/spec/ports/0/nodePort"), ALL);
    Ok(())
}
