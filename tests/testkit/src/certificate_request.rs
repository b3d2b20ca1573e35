//! A certificate request for any subject. rcgen knows two organizations at most, so this one is put together by hand.

use anyhow::{Context, Result};
use rcgen::{KeyPair, PublicKeyData as _, SigningKey as _};
use x509_cert::attr::{Attribute, AttributeTypeAndValue};
use x509_cert::der::asn1::{Any, BitString, Ia5String, OctetString, SetOfVec};
use x509_cert::der::oid::ObjectIdentifier;
use x509_cert::der::pem::LineEnding;
use x509_cert::der::{Decode as _, Encode as _, EncodePem as _, Tag};
use x509_cert::ext::Extension;
use x509_cert::ext::pkix::SubjectAltName;
use x509_cert::ext::pkix::name::GeneralName;
use x509_cert::name::{RdnSequence, RelativeDistinguishedName};
use x509_cert::request::{CertReq, CertReqInfo, ExtensionReq, Version};
use x509_cert::spki::{AlgorithmIdentifierOwned, SubjectPublicKeyInfoOwned};

const COMMON_NAME: &str = "2.5.4.3";
const ORGANIZATION: &str = "2.5.4.10";
const ALTERNATIVE_NAMES: &str = "2.5.29.17";
/// ECDSA with SHA-256, which is what rcgen's keys are for.
const ALGORITHM: &str = "1.2.840.10045.4.3.2";

/// A certificate request in PEM for a user, its groups and its DNS names. The key is thrown away: this is for those who
/// will not use the certificate.
///
/// # Errors
/// When one of the texts cannot be in a certificate.
pub fn certificate_request(user: &str, groups: &[&str], dns: &[&str]) -> Result<String> {
    request(user, groups, dns).context("writing a certificate request")
}

fn request(user: &str, groups: &[&str], dns: &[&str]) -> Result<String> {
    let mut names = vec![attribute(COMMON_NAME, user)?];
    for group in groups {
        names.push(attribute(ORGANIZATION, group)?);
    }
    let names: Vec<RelativeDistinguishedName> = names
        .into_iter()
        .map(|name| Ok(RelativeDistinguishedName(SetOfVec::try_from(vec![name])?)))
        .collect::<Result<_>>()?;
    let key = KeyPair::generate()?;
    let mut attributes = SetOfVec::new();
    if !dns.is_empty() {
        let attribute: Attribute = ExtensionReq(vec![alternative_names(dns)?]).try_into()?;
        attributes.insert(attribute)?;
    }
    let info = CertReqInfo {
        version: Version::V1,
        subject: RdnSequence(names),
        public_key: SubjectPublicKeyInfoOwned::from_der(&key.subject_public_key_info())?,
        attributes,
    };
    let signature = key.sign(&info.to_der()?)?;
    let request = CertReq {
        info,
        algorithm: AlgorithmIdentifierOwned {
            oid: ObjectIdentifier::new(ALGORITHM)?,
            parameters: None,
        },
        signature: BitString::from_bytes(&signature)?,
    };
    Ok(request.to_pem(LineEnding::LF)?)
}

fn attribute(oid: &str, text: &str) -> Result<AttributeTypeAndValue> {
    Ok(AttributeTypeAndValue {
        oid: ObjectIdentifier::new(oid)?,
        value: Any::new(Tag::Utf8String, text.as_bytes())?,
    })
}

fn alternative_names(dns: &[&str]) -> Result<Extension> {
    let names: Vec<GeneralName> = dns
        .iter()
        .map(|name| Ok(GeneralName::DnsName(Ia5String::new(name)?)))
        .collect::<Result<_>>()?;
    Ok(Extension {
        extn_id: ObjectIdentifier::new(ALTERNATIVE_NAMES)?,
        critical: false,
        extn_value: OctetString::new(SubjectAltName(names).to_der()?)?,
    })
}
