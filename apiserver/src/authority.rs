//! Certificates for loopback HTTPS: an authority of one's own, whom clients trust and who vouches for them.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose,
};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use sha2::{Digest as _, Sha256};
use x509_cert::der::{Decode as _, Tagged as _, asn1::AnyRef};

use crate::auth::Identity;
use crate::certificates::{Request, SignError};
use crate::client_certificates::AnyOwned;
use crate::listen::Listener;

/// Why a certificate could not be made.
#[derive(Debug, thiserror::Error)]
pub enum AuthorityError {
    /// The library refused.
    #[error("cannot make a certificate of {of}")]
    Make {
        /// Of whom.
        of: String,
        /// The error of the certificate library.
        #[source]
        source: rcgen::Error,
    },
    /// What was made cannot be served.
    #[error("cannot serve with the certificate that was made")]
    Serve(#[source] rustls::Error),
    /// What was made cannot be read back.
    #[error("cannot read a certificate that was made")]
    Read(#[from] rustls::pki_types::pem::Error),
    /// Clients' certificates cannot be checked.
    #[error("cannot check certificates of clients")]
    Clients(#[from] rustls::server::VerifierBuilderError),
    /// What a client has requested cannot be signed.
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

/// A certificate authority. Nobody else has its key.
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

    /// Who decides which certificates of clients are trusted: those of this authority.
    pub(crate) fn client_verifier(&self) -> Result<Arc<dyn ClientCertVerifier>, AuthorityError> {
        let mut roots = rustls::RootCertStore::empty();
        roots
            .add(CertificateDer::from_pem_slice(self.pem().as_bytes())?)
            .map_err(AuthorityError::Serve)?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
        Ok(builder.allow_unauthenticated().build()?)
    }

    /// What a listener on this machine's own addresses needs. Clients are told whose certificates are `trusted`.
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
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(config)
    }
}

/// A cluster of a kubeconfig, with somebody who may use it.
pub struct Access {
    /// The context's name.
    pub name: String,
    /// `https://127.0.0.1:6443`.
    pub server: String,
    /// The authority's certificate, in PEM.
    pub authority: String,
    /// Who uses it; nobody, if whoever reads the kubeconfig has another way to the server.
    pub client: Option<Certificate>,
}

impl Access {
    /// Of somebody who may do everything.
    pub fn admin(
        name: &str,
        authority: &Authority,
        listener: &Listener,
    ) -> Result<Self, AuthorityError> {
        Ok(Self {
            name: name.to_owned(),
            server: listener.url(),
            authority: authority.pem(),
            client: Some(authority.client("admin", Some("system:masters"))?),
        })
    }

    /// Without a credential: it only says where the server is.
    pub fn anonymous(name: &str, authority: &Authority, listener: &Listener) -> Self {
        Self {
            name: name.to_owned(),
            server: listener.url(),
            authority: authority.pem(),
            client: None,
        }
    }
}

/// The text of a kubeconfig with a context for each; the first is the current one.
pub fn kubeconfig(all: &[Access]) -> String {
    let list = |entry: fn(&Access) -> serde_json::Value| all.iter().map(entry).collect::<Vec<_>>();
    let current = all
        .first()
        .map(|access| access.name.as_str())
        .unwrap_or_default();
    let config = serde_json::json!({
        "apiVersion": "v1", "kind": "Config", "current-context": current,
        "clusters": list(|access| serde_json::json!({
            "name": access.name,
            "cluster": {
                "server": access.server, "certificate-authority-data": STANDARD.encode(&access.authority),
            },
        })),
        "users": list(|access| serde_json::json!({
            "name": access.name,
            "user": match &access.client {
                Some(client) => serde_json::json!({
                    "client-certificate-data": STANDARD.encode(&client.certificate),
                    "client-key-data": STANDARD.encode(&client.key),
                }),
                None => serde_json::json!({}),
            },
        })),
        "contexts": list(|access| serde_json::json!({
            "name": access.name, "context": { "cluster": access.name, "user": access.name },
        })),
    });
    serde_saphyr::to_string(&config).unwrap_or_else(|_| config.to_string())
}

/// What an authority says of itself. What it signs depends on it: it has to stay as it is.
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

/// Who the bearer of a certificate is: the common name is the user, the organizations are the groups.
pub(crate) fn bearer(certificate: &CertificateDer<'_>) -> Option<Identity> {
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
