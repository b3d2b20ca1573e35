//! A certificate request for the tests. rcgen knows one organization only, so the subject is put together here.

use rcgen::{KeyPair, PublicKeyData as _, SigningKey as _};
use x509_cert::attr::{Attribute, AttributeTypeAndValue};
use x509_cert::der::asn1::{Any, BitString, Ia5String, SetOfVec};
use x509_cert::der::oid::ObjectIdentifier;
use x509_cert::der::pem::LineEnding;
use x509_cert::der::{Decode as _, Encode as _, EncodePem as _, Tag};
use x509_cert::ext::Extension;
use x509_cert::ext::pkix::SubjectAltName;
use x509_cert::ext::pkix::name::GeneralName;
use x509_cert::name::{RdnSequence, RelativeDistinguishedName};
use x509_cert::request::{CertReq, CertReqInfo, ExtensionReq, Version};
use x509_cert::spki::{AlgorithmIdentifierOwned, SubjectPublicKeyInfoOwned};

fn attribute(oid: &str, text: &str) -> AttributeTypeAndValue {
    AttributeTypeAndValue {
        oid: ObjectIdentifier::new_unwrap(oid),
        value: Any::new(Tag::Utf8String, text.as_bytes()).unwrap(),
    }
}

/// A request in PEM for a user, its groups and names.
pub fn pem(user: &str, groups: &[&str], dns: &[&str]) -> String {
    let mut names = vec![attribute("2.5.4.3", user)];
    names.extend(groups.iter().map(|group| attribute("2.5.4.10", group)));
    let each = |name| RelativeDistinguishedName(SetOfVec::try_from(vec![name]).unwrap());
    let key = KeyPair::generate().unwrap();
    let mut attributes = SetOfVec::new();
    if !dns.is_empty() {
        let names = dns
            .iter()
            .map(|name| GeneralName::DnsName(Ia5String::new(name).unwrap()));
        let names = SubjectAltName(names.collect());
        let extension = Extension {
            extn_id: ObjectIdentifier::new_unwrap("2.5.29.17"),
            critical: false,
            extn_value: x509_cert::der::asn1::OctetString::new(names.to_der().unwrap()).unwrap(),
        };
        let attribute: Attribute = ExtensionReq(vec![extension]).try_into().unwrap();
        attributes.insert(attribute).unwrap();
    }
    let info = CertReqInfo {
        version: Version::V1,
        subject: RdnSequence(names.into_iter().map(each).collect()),
        public_key: SubjectPublicKeyInfoOwned::from_der(&key.subject_public_key_info()).unwrap(),
        attributes,
    };
    let signature = key.sign(&info.to_der().unwrap()).unwrap();
    let request = CertReq {
        info,
        // ECDSA with SHA-256, which is what rcgen's keys are for.
        algorithm: AlgorithmIdentifierOwned {
            oid: ObjectIdentifier::new_unwrap("1.2.840.10045.4.3.2"),
            parameters: None,
        },
        signature: BitString::from_bytes(&signature).unwrap(),
    };
    request.to_pem(LineEnding::LF).unwrap()
}
