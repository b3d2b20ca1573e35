//! Certificates for loopback HTTPS: the certificate authority of a server, which signs its own and its clients' certificates.

use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose,
};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{ServerSessionMemoryCache, WebPkiClientVerifier};
use x509_cert::der::Decode as _;

use super::client::AnyOwned;
use super::csr::{Request, SignError};

/// The TLS sessions that a listener remembers for clients that come again. Controllers of the process use no sockets.
const MAX_SESSIONS: usize = 32;

/// Why a certificate could not be made.
#[derive(Debug, thiserror::Error)]
pub enum AuthorityError {
    /// The library refused.
    #[error("cannot make a certificate of {of}")]
    Make {
        /// The subject of the certificate.
        of: String,
        /// The error of the certificate library.
        #[source]
        source: rcgen::Error,
    },
    /// The certificate cannot be served.
    #[error("cannot serve with the certificate that was made")]
    Serve(#[source] rustls::Error),
    /// The certificate cannot be read back.
    #[error("cannot read a certificate that was made")]
    Read(#[from] rustls::pki_types::pem::Error),
    /// Clients' certificates cannot be checked.
    #[error("cannot check certificates of clients")]
    Clients(#[from] rustls::server::VerifierBuilderError),
    /// The certificate signing request cannot be signed.
    #[error("cannot sign what was requested")]
    Request(#[source] SignError),
    /// A certificate and a key that were kept do not belong together.
    #[error("the certificate of the authority is not one of its key")]
    Mismatch,
}

impl AuthorityError {
    fn own(source: rcgen::Error) -> Self {
        Self::Make {
            of: "the authority".to_owned(),
            source,
        }
    }
}

/// A certificate authority with its private key.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    certificate: String,
}

/// A certificate with its key, in PEM.
pub struct Certificate {
    /// The certificate.
    pub certificate: String,
    /// Its key.
    pub key: String,
}

impl Authority {
    /// A new one.
    pub fn new() -> Result<Self, AuthorityError> {
        let make = || {
            let params = own_params();
            let key = KeyPair::generate()?;
            Ok(Self {
                certificate: params.self_signed(&key)?.pem(),
                issuer: Issuer::new(params, key),
            })
        };
        make().map_err(AuthorityError::own)
    }

    /// The one that has this certificate and this key, in PEM.
    pub fn read(certificate: &str, key: &str) -> Result<Self, AuthorityError> {
        let key = KeyPair::from_pem(key).map_err(AuthorityError::own)?;
        let der = CertificateDer::from_pem_slice(certificate.as_bytes())?;
        let read = x509_cert::Certificate::from_der(&der);
        let read = read.map_err(|_| AuthorityError::Mismatch)?;
        let public = &read.tbs_certificate.subject_public_key_info;
        if public.subject_public_key.raw_bytes() != key.public_key_raw() {
            return Err(AuthorityError::Mismatch);
        }
        Ok(Self {
            certificate: certificate.to_owned(),
            issuer: Issuer::from_ca_cert_pem(certificate, key).map_err(AuthorityError::own)?,
        })
    }

    /// Its key, in PEM.
    pub(crate) fn key(&self) -> String {
        self.issuer.key().serialize_pem()
    }

    /// Its certificate, in PEM.
    pub fn pem(&self) -> String {
        self.certificate.clone()
    }

    /// A certificate that makes its bearer `user`, a member of at most one group.
    pub fn client(&self, user: &str, group: Option<&str>) -> Result<Certificate, AuthorityError> {
        self.certificate(user, group, ExtendedKeyUsagePurpose::ClientAuth, Vec::new())
    }

    /// Signs what a client has asked for, in PEM. Without a number of seconds it is good for a year.
    pub(crate) fn sign(
        &self,
        request: &Request,
        usages: &[&str],
        seconds: Option<u64>,
    ) -> Result<String, AuthorityError> {
        let own = CertificateDer::from_pem_slice(self.certificate.as_bytes())?;
        let signed = request.signed(&own, self.issuer.key(), usages, seconds);
        signed.map_err(AuthorityError::Request)
    }

    fn certificate(
        &self,
        user: &str,
        group: Option<&str>,
        usage: ExtendedKeyUsagePurpose,
        names: Vec<String>,
    ) -> Result<Certificate, AuthorityError> {
        let make = || {
            let mut params = CertificateParams::new(names)?;
            params.distinguished_name = name(user, group.as_slice());
            params.extended_key_usages = vec![usage];
            let key = KeyPair::generate()?;
            let certificate = params.signed_by(&key, &self.issuer)?;
            Ok(Certificate {
                certificate: certificate.pem(),
                key: key.serialize_pem(),
            })
        };
        make().map_err(|source| AuthorityError::Make {
            of: user.to_owned(),
            source,
        })
    }

    /// Verifies client certificates: trusts those of this authority.
    pub(crate) fn client_verifier(&self) -> Result<Arc<dyn ClientCertVerifier>, AuthorityError> {
        let mut roots = rustls::RootCertStore::empty();
        roots
            .add(CertificateDer::from_pem_slice(self.pem().as_bytes())?)
            .map_err(AuthorityError::Serve)?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
        Ok(builder.allow_unauthenticated().build()?)
    }

    /// The TLS configuration of a listener on loopback addresses. Clients are sent the names of the `trusted` authorities.
    pub(crate) fn server_config(
        &self,
        trusted: Arc<dyn ClientCertVerifier>,
    ) -> Result<rustls::ServerConfig, AuthorityError> {
        let names = ["127.0.0.1", "::1", "localhost", "kubernetes.default.svc"]
            .map(str::to_owned)
            .to_vec();
        let own = self.certificate(
            "kube-apiserver",
            None,
            ExtendedKeyUsagePurpose::ServerAuth,
            names,
        )?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let certificate = CertificateDer::from_pem_slice(own.certificate.as_bytes())?;
        let key = PrivateKeyDer::from_pem_slice(own.key.as_bytes())?;
        let mut config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(AuthorityError::Serve)?
            .with_client_cert_verifier(Arc::new(AnyOwned(trusted)))
            .with_single_cert(vec![certificate], key)
            .map_err(AuthorityError::Serve)?;
        config.session_storage = ServerSessionMemoryCache::new(MAX_SESSIONS);
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(config)
    }
}

/// The subject of an authority. Signed certificates depend on it, so it must not change.
fn own_params() -> CertificateParams {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![
        KeyUsagePurpose::KeyCertSign,
        KeyUsagePurpose::DigitalSignature,
    ];
    params.distinguished_name = name("reeve-apiserver", &[]);
    params
}

fn name(user: &str, groups: &[&str]) -> DistinguishedName {
    let mut name = DistinguishedName::new();
    name.push(DnType::CommonName, user);
    if let Some(group) = groups.first() {
        name.push(DnType::OrganizationName, *group);
    }
    name
}
