//! Certificates of clients. In TLS a client only proves that it has the key of the certificate it shows; whether the
//! server trusts the certificate is decided afterwards, so that a stranger is answered 401 as by a kube-apiserver and
//! not with a broken handshake.

use std::sync::Arc;

use rustls::client::danger::HandshakeSignatureValid;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{DigitallySignedStruct, DistinguishedName, Error, SignatureScheme};
use sha2::{Digest as _, Sha256};
use x509_cert::der::{Decode as _, Tagged as _, asn1::AnyRef};

use crate::identity::Identity;

/// The user of a client by the certificate of the handshake.
pub(crate) fn identity(
    trusted: &dyn ClientCertVerifier,
    shown: &[CertificateDer<'_>],
) -> Option<Identity> {
    let Some((own, others)) = shown.split_first() else {
        return Some(Identity::anonymous());
    };
    let verified = trusted.verify_client_cert(own, others, UnixTime::now());
    if let Err(error) = verified {
        tracing::debug!(%error, "a client certificate was not accepted");
        return None;
    }
    Some(bearer(own).unwrap_or_else(Identity::anonymous))
}

/// Accepts every certificate whose key the client has. What it trusts is asked by [`identity`].
#[derive(Debug)]
pub(crate) struct AnyOwned(pub(crate) Arc<dyn ClientCertVerifier>);

impl ClientCertVerifier for AnyOwned {
    fn client_auth_mandatory(&self) -> bool {
        false
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.0.root_hint_subjects()
    }

    fn verify_client_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0
            .verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0
            .verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}

/// The user of a certificate: the common name is the user, the organizations are the groups.
pub(super) fn bearer(certificate: &CertificateDer<'_>) -> Option<Identity> {
    const COMMON_NAME: &str = "2.5.4.3";
    const ORGANIZATION: &str = "2.5.4.10";
    let credential = format!("X509SHA256={:x}", Sha256::digest(certificate));
    let certificate = x509_cert::Certificate::from_der(certificate).ok()?;
    let (mut user, mut groups) = (String::new(), Vec::new());
    for part in &certificate.tbs_certificate.subject.0 {
        for attribute in part.0.iter() {
            let value: AnyRef<'_> = (&attribute.value).into();
            let text = match attribute.value.tag() {
                x509_cert::der::Tag::Utf8String | x509_cert::der::Tag::PrintableString => {
                    String::from_utf8_lossy(value.value()).into_owned()
                }
                _ => continue,
            };
            match attribute.oid.to_string().as_str() {
                COMMON_NAME => user = text,
                ORGANIZATION => groups.push(text),
                _ => {}
            }
        }
    }
    let groups: Vec<&str> = groups.iter().map(String::as_str).collect();
    (!user.is_empty()).then(|| Identity::new(&user, &groups).by(credential))
}
