//! Certificate signing requests: parsing, the rules of signers, and signing.

#[cfg(test)]
mod tests;

use std::time::{Duration, SystemTime};

use rcgen::SigningKey;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::{PemObject as _, SectionKind};
use serde_json::Value;
use x509_cert::attr::AttributeTypeAndValue;
use x509_cert::certificate::{TbsCertificate, Version};
use x509_cert::der::asn1::{BitString, ObjectIdentifier, OctetString};
use x509_cert::der::{self, Decode as _, Encode as _, EncodePem as _, Tagged as _};
use x509_cert::ext::Extension;
use x509_cert::request::{CertReq, ExtensionReq};
use x509_cert::serial_number::SerialNumber;
use x509_cert::spki::AlgorithmIdentifierOwned;
use x509_cert::time::Validity;

/// The table of certificate signing requests.
pub(crate) const REQUESTS: &str = "certificates.k8s.io/certificatesigningrequests";
/// Vouches for clients of the API server.
pub(crate) const CLIENT: &str = "kubernetes.io/kube-apiserver-client";
/// Vouches for kubelets as clients.
pub(crate) const KUBELET: &str = "kubernetes.io/kube-apiserver-client-kubelet";

/// The default validity of a certificate.
const YEAR: Duration = Duration::from_hours(365 * 24);
/// How far a certificate is backdated, for clocks that are late.
const EARLIER: Duration = Duration::from_mins(5);

const COMMON_NAME: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.4.3");
const ORGANIZATION: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.4.10");
const ALTERNATIVE_NAMES: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.29.17");
const KEY_USAGE: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.29.15");
const EXTENDED_KEY_USAGE: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.29.37");
const BASIC_CONSTRAINTS: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.29.19");
const CLIENT_AUTH: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.6.1.5.5.7.3.2");
const EXTENSION_REQUEST: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.9.14");
const ECDSA_SHA256: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.4.3.2");

/// A certificate signing request.
pub(crate) struct Request {
    request: CertReq,
}

/// Why a certificate was not signed.
#[derive(Debug, thiserror::Error)]
pub enum SignError {
    /// It cannot be put into its form.
    #[error(transparent)]
    Form(#[from] der::Error),
    /// The key does not sign.
    #[error(transparent)]
    Sign(#[from] rcgen::Error),
    /// The machine has no random numbers.
    #[error("no randomness for a serial number")]
    Random,
}

impl Request {
    /// Parses the decoded `spec.request`.
    pub(crate) fn read(pem: &[u8]) -> Result<Self, String> {
        let (kind, der) = <(SectionKind, Vec<u8>)>::from_pem_slice(pem)
            .map_err(|_| "PEM block type must be CERTIFICATE REQUEST".to_owned())?;
        if kind != SectionKind::Csr {
            return Err("PEM block type must be CERTIFICATE REQUEST".to_owned());
        }
        let request = CertReq::from_der(&der).map_err(|error| error.to_string())?;
        Ok(Self { request })
    }

    /// Whether the request is signed with its own key.
    pub(crate) fn is_signed(&self) -> bool {
        let contents = |algorithm: &AlgorithmIdentifierOwned| {
            // Without the head of the sequence, which is as long as that of all short ones.
            let der = algorithm.to_der().unwrap_or_default();
            der.get(2..).unwrap_or_default().to_vec()
        };
        let (Ok(message), Some(signature)) = (
            self.request.info.to_der(),
            self.request.signature.as_bytes(),
        ) else {
            return false;
        };
        let key = &self.request.info.public_key;
        let (of_key, of_signature) = (contents(&key.algorithm), contents(&self.request.algorithm));
        let provider = rustls::crypto::ring::default_provider();
        provider
            .signature_verification_algorithms
            .all
            .iter()
            .any(|one| {
                one.public_key_alg_id().as_ref() == of_key
                    && one.signature_alg_id().as_ref() == of_signature
                    && one
                        .verify_signature(key.subject_public_key.raw_bytes(), &message, signature)
                        .is_ok()
            })
    }

    fn names(&self, wanted: ObjectIdentifier) -> Vec<String> {
        let parts = self.request.info.subject.0.iter();
        let all = parts.flat_map(|part| part.0.iter());
        all.filter(|one| one.oid == wanted)
            .map(|one: &AttributeTypeAndValue| {
                debug_assert!(!one.value.tag().is_constructed());
                String::from_utf8_lossy(one.value.value()).into_owned()
            })
            .collect()
    }

    /// The groups that the bearer would have.
    pub(crate) fn organizations(&self) -> Vec<String> {
        self.names(ORGANIZATION)
    }

    /// Why a signer does not give this, if it does not.
    pub(crate) fn refusal(&self, signer: &str, usages: &[&str]) -> Option<String> {
        let allowed = ["client auth", "digital signature", "key encipherment"];
        if !usages.contains(&"client auth") || usages.iter().any(|one| !allowed.contains(one)) {
            return Some(format!(
                "usages did not match [client auth] and at most [key encipherment digital signature]: {}",
                usages.join(", ")
            ));
        }
        if signer != KUBELET {
            return None;
        }
        if self.organizations() != ["system:nodes"] {
            return Some("subject organization is not system:nodes".to_owned());
        }
        let name = self.names(COMMON_NAME);
        if !name.iter().all(|name| name.starts_with("system:node:")) || name.is_empty() {
            return Some("subject common name does not begin with system:node:".to_owned());
        }
        if !usages.contains(&"digital signature") {
            return Some("usages did not match [digital signature client auth]".to_owned());
        }
        (self.alternative_names().is_some())
            .then(|| "subject alternative names are not allowed".to_owned())
    }

    fn alternative_names(&self) -> Option<Extension> {
        let attributes = self.request.info.attributes.iter();
        let asked = attributes.filter(|one| one.oid == EXTENSION_REQUEST);
        asked
            .flat_map(|one| one.values.iter())
            .filter_map(|value| ExtensionReq::from_der(&value.to_der().ok()?).ok())
            .flat_map(|asked| asked.0)
            .find(|extension| extension.extn_id == ALTERNATIVE_NAMES)
    }

    /// The certificate, in PEM, signed with this certificate and this key.
    pub(crate) fn signed(
        &self,
        issuer: &CertificateDer<'_>,
        key: &impl SigningKey,
        usages: &[&str],
        seconds: Option<u64>,
    ) -> Result<String, SignError> {
        let issuer = x509_cert::Certificate::from_der(issuer)?.tbs_certificate;
        let mut serial = [0_u8; 16];
        getrandom::fill(&mut serial).map_err(|_| SignError::Random)?;
        let now = SystemTime::now();
        let length = seconds.map_or(YEAR, Duration::from_secs);
        // No certificate outlives its issuer, however long was asked for.
        let last = issuer.validity.not_after.to_system_time();
        let end = now.checked_add(length).map_or(last, |end| end.min(last));
        let algorithm = AlgorithmIdentifierOwned {
            oid: ECDSA_SHA256,
            parameters: None,
        };
        let info = &self.request.info;
        let mut extensions = vec![
            extension(KEY_USAGE, true, key_usage(usages))?,
            extension(EXTENDED_KEY_USAGE, false, vec![CLIENT_AUTH].to_der()?)?,
            // An empty sequence: no authority.
            extension(BASIC_CONSTRAINTS, true, vec![0x30, 0])?,
        ];
        extensions.extend(self.alternative_names());
        let certificate = TbsCertificate {
            version: Version::V3,
            serial_number: SerialNumber::new(&serial)?,
            signature: algorithm.clone(),
            issuer: issuer.subject,
            validity: Validity {
                not_before: (now - EARLIER).try_into()?,
                not_after: end.try_into()?,
            },
            subject: info.subject.clone(),
            subject_public_key_info: info.public_key.clone(),
            issuer_unique_id: None,
            subject_unique_id: None,
            extensions: Some(extensions),
        };
        let signature = key.sign(&certificate.to_der()?)?;
        let signed = x509_cert::Certificate {
            tbs_certificate: certificate,
            signature_algorithm: algorithm,
            signature: BitString::from_bytes(&signature)?,
        };
        Ok(signed.to_pem(der::pem::LineEnding::LF)?)
    }
}

fn extension(oid: ObjectIdentifier, critical: bool, value: Vec<u8>) -> der::Result<Extension> {
    Ok(Extension {
        extn_id: oid,
        critical,
        extn_value: OctetString::new(value)?,
    })
}

/// A bit string: the first bit is for signatures, the third for keys.
fn key_usage(usages: &[&str]) -> Vec<u8> {
    let signs = usages.contains(&"digital signature");
    let wraps = usages.contains(&"key encipherment");
    match (signs, wraps) {
        (true, true) => vec![3, 2, 5, 0xa0],
        (true, false) => vec![3, 2, 7, 0x80],
        (false, true) => vec![3, 2, 5, 0x20],
        (false, false) => vec![3, 1, 0],
    }
}

/// The texts of a list in an object.
pub(crate) fn texts<'a>(object: &'a Value, path: &str) -> Vec<&'a str> {
    let list = object.pointer(path).and_then(Value::as_array);
    list.into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect()
}
