//! Certificates of clients. In TLS a client only proves that it has the key of the certificate it shows; whether the
//! server trusts the certificate is decided afterwards, so that a stranger is answered 401 as by a kube-apiserver and
//! not with a broken handshake.

use std::sync::Arc;

use rustls::client::danger::HandshakeSignatureValid;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{DigitallySignedStruct, DistinguishedName, Error, SignatureScheme};

use crate::auth::Identity;
use crate::authority::bearer;

/// Who a client is by what it showed in the handshake.
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
