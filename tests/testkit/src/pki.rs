//! The throw-away certificates of one plane.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fmt, fs};

use anyhow::{Context, Result};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType,
    ExtendedKeyUsagePurpose, IsCa, KeyPair, KeyUsagePurpose,
};

/// The object identifier of `organizationName`.
const ORGANIZATION: [u64; 4] = [2, 5, 4, 10];

/// A certificate authority with a key of its own.
#[derive(Clone)]
pub struct CertificateAuthority(Arc<CertifiedIssuer<'static, KeyPair>>);

impl fmt::Debug for CertificateAuthority {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Without the key.
        formatter.write_str("CertificateAuthority")
    }
}

impl CertificateAuthority {
    /// Makes a new one.
    pub fn generate() -> Result<Self> {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![
            KeyUsagePurpose::KeyCertSign,
            KeyUsagePurpose::DigitalSignature,
        ];
        params.distinguished_name = name("reeve-tests", &[]);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;
        Ok(Self(Arc::new(issuer)))
    }
}

/// A certificate authority and the files that the control plane's flags name.
pub(crate) struct Pki {
    ca: Arc<CertifiedIssuer<'static, KeyPair>>,
    pub(crate) ca_cert: PathBuf,
    pub(crate) ca_key: PathBuf,
    pub(crate) server_cert: PathBuf,
    pub(crate) server_key: PathBuf,
    pub(crate) accounts_key: PathBuf,
    pub(crate) accounts_public: PathBuf,
}

impl Pki {
    /// Makes the certificates of `authority` anew in `dir`.
    pub(crate) fn create(
        dir: &Path,
        CertificateAuthority(ca): CertificateAuthority,
    ) -> Result<Self> {
        let mut server = CertificateParams::new(["127.0.0.1".to_owned(), "localhost".to_owned()])?;
        server.distinguished_name = name("kube-apiserver", &[]);
        server.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let server_key = KeyPair::generate()?;
        let server_cert = server.signed_by(&server_key, &ca)?;

        // Signs the tokens of service accounts.
        let accounts = KeyPair::generate()?;
        Ok(Self {
            ca_cert: write(dir, "ca.crt", &ca.pem())?,
            ca_key: write(dir, "ca.key", &ca.key().serialize_pem())?,
            server_cert: write(dir, "server.crt", &server_cert.pem())?,
            server_key: write(dir, "server.key", &server_key.serialize_pem())?,
            accounts_key: write(dir, "accounts.key", &accounts.serialize_pem())?,
            accounts_public: write(dir, "accounts.pub", &accounts.public_key_pem())?,
            ca,
        })
    }

    /// The certificate of the authority, in PEM.
    pub(crate) fn ca_pem(&self) -> String {
        self.ca.pem()
    }

    /// Text of a kubeconfig that makes its bearer `user`, a member of `groups`: two at most.
    pub(crate) fn kubeconfig(&self, server: &str, user: &str, groups: &[&str]) -> Result<String> {
        let mut params = CertificateParams::default();
        params.distinguished_name = name(user, groups);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        let key = KeyPair::generate()?;
        let cert = params
            .signed_by(&key, &self.ca)
            .context("signing a client certificate")?;
        Ok(format!(
            "apiVersion: v1
kind: Config
clusters:
- name: plane
  cluster: {{server: '{server}', certificate-authority-data: {}}}
users:
- name: user
  user: {{client-certificate-data: {}, client-key-data: {}}}
contexts:
- name: plane
  context: {{cluster: plane, user: user}}
current-context: plane
",
            STANDARD.encode(self.ca.pem()),
            STANDARD.encode(cert.pem()),
            STANDARD.encode(key.serialize_pem()),
        ))
    }
}

/// Kubernetes reads the user from the common name and the groups from the organizations.
pub(crate) fn name(user: &str, groups: &[&str]) -> DistinguishedName {
    let mut name = DistinguishedName::new();
    name.push(DnType::CommonName, user);
    // A name of this library holds one value of a type. Written as a number the same type counts
    // as another one, which makes room for a second organization.
    let organizations = [
        DnType::OrganizationName,
        DnType::CustomDnType(ORGANIZATION.to_vec()),
    ];
    for (kind, group) in organizations.into_iter().zip(groups) {
        name.push(kind, *group);
    }
    name
}

fn write(dir: &Path, file: &str, text: &str) -> Result<PathBuf> {
    let path = dir.join(file);
    fs::write(&path, text).with_context(|| format!("writing {}", path.display()))?;
    Ok(path)
}

/// A certificate request in PEM.
pub(crate) fn request(
    user: &str,
    groups: &[&str],
    dns: &[String],
    key: &KeyPair,
) -> Result<String> {
    let mut params = CertificateParams::new(dns).context("naming a certificate")?;
    params.distinguished_name = name(user, groups);
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    let request = params.serialize_request(key);
    request
        .and_then(|request| request.pem())
        .with_context(|| format!("writing a certificate request of {user}"))
}
