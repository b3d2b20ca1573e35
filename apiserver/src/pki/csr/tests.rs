use std::sync::Arc;
use std::time::Instant;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use k8s_openapi::api::certificates::v1::CertificateSigningRequest;
use kube::Client;
use kube::api::{Api, Patch, PatchParams, PostParams};
use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair};
use rustls::pki_types::UnixTime;
use rustls::server::WebPkiClientVerifier;
use serde_json::json;

use super::*;
use crate::pki::Authority;
use crate::pki::client::bearer;
use crate::{Identity, Options, Server};

/// A request for a certificate, in PEM.
fn asked(user: &str, group: &str) -> String {
    let mut name = DistinguishedName::new();
    name.push(DnType::CommonName, user);
    name.push(DnType::OrganizationName, group);
    let mut params = CertificateParams::default();
    params.distinguished_name = name;
    let key = KeyPair::generate().unwrap();
    params.serialize_request(&key).unwrap().pem().unwrap()
}

/// Whether clients that show a certificate are let in.
fn is_trusted(authority: &Authority, certificate: &CertificateDer<'_>) -> bool {
    let mut roots = rustls::RootCertStore::empty();
    let own = authority.pem();
    roots
        .add(CertificateDer::from_pem_slice(own.as_bytes()).unwrap())
        .unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
    let verifier = verifier.build().unwrap();
    verifier
        .verify_client_cert(certificate, &[], UnixTime::now())
        .is_ok()
}

#[test]
fn request_signed_with_another_key_is_detected() {
    let mut request = Request::read(asked("jane", "tea").as_bytes()).unwrap();
    assert!(request.is_signed());
    let other = Request::read(asked("jane", "tea").as_bytes()).unwrap();
    request.request.info.public_key = other.request.info.public_key;
    assert!(!request.is_signed());
}

#[test]
fn certificate_expires_after_requested_seconds() {
    let authority = Authority::new().unwrap();
    let request = Request::read(asked("jane", "tea").as_bytes()).unwrap();
    let pem = authority
        .sign(&request, &["client auth"], Some(600))
        .unwrap();
    let der = CertificateDer::from_pem_slice(pem.as_bytes()).unwrap();
    let read = x509_cert::Certificate::from_der(&der).unwrap();
    let end = read.tbs_certificate.validity.not_after.to_system_time();
    let left = end.duration_since(SystemTime::now()).unwrap().as_secs();
    assert!((590..=600).contains(&left), "{left}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_approved_is_signed_and_opens_the_door() {
    let authority = Arc::new(Authority::new().unwrap());
    let server = Server::start(Options {
        signer: Some(Arc::clone(&authority)),
        ..Options::default()
    })
    .unwrap();
    let client = Client::new(server.service(Identity::admin()), "default");
    let requests: Api<CertificateSigningRequest> = Api::all(client);
    let spec = json!({
        "request": STANDARD.encode(asked("jane", "tea")), "signerName": CLIENT, "usages": ["client auth"],
    });
    let decisions = [("signed", "Approved"), ("denied", "Denied")];
    for (name, decision) in decisions {
        let request = json!({ "metadata": { "name": name }, "spec": spec });
        let request = serde_json::from_value(request).unwrap();
        requests
            .create(&PostParams::default(), &request)
            .await
            .unwrap();
        let condition = json!({ "type": decision, "status": "True" });
        let change = Patch::Merge(json!({ "status": { "conditions": [condition] } }));
        let params = PatchParams::default();
        requests
            .patch_subresource("approval", name, &params, &change)
            .await
            .unwrap();
    }
    let start = Instant::now();
    let certificate = loop {
        let request = requests.get("signed").await.unwrap();
        if let Some(found) = request.status.and_then(|status| status.certificate) {
            break found.0;
        }
        assert!(start.elapsed().as_secs() < 20, "it is not signed");
        tokio::time::sleep(Duration::from_millis(10)).await;
    };
    let der = CertificateDer::from_pem_slice(&certificate).unwrap();
    assert!(is_trusted(&authority, &der));
    let bearer = bearer(&der).unwrap();
    let jane = Identity::new("jane", &["tea"]);
    assert_eq!((bearer.user, bearer.groups), (jane.user, jane.groups));
    let credential = &bearer.extra["authentication.kubernetes.io/credential-id"];
    assert!(credential[0].starts_with("X509SHA256="), "{credential:?}");
    assert!(!is_trusted(&Authority::new().unwrap(), &der));
    let denied = requests.get("denied").await.unwrap();
    assert!(denied.status.unwrap().certificate.is_none());
}
