//! Reads the requested identity from a certificate request.

use x509_cert::attr::AttributeValue;
use x509_cert::der::oid::ObjectIdentifier;
use x509_cert::der::{self, Decode as _, DecodePem as _, Encode as _, Tag, Tagged as _};
use x509_cert::ext::pkix::SubjectAltName;
use x509_cert::ext::pkix::name::GeneralName;
use x509_cert::request::{CertReq, ExtensionReq};

const COMMON_NAME: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.4.3");
const ORGANIZATION: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.4.10");
const EXTENSIONS: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.113549.1.9.14");
const ALTERNATIVE_NAMES: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.29.17");

/// The content of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestedIdentity {
    /// The common names: the last is the user.
    pub common_names: Vec<String>,
    /// The organizations, which are the groups.
    pub organizations: Vec<String>,
    /// Alternative names: `DNS:<name>`, or another kind of name unchanged.
    pub alternative_names: Vec<String>,
}

/// Decodes `spec.request`, in PEM.
pub fn read(pem: &[u8]) -> Result<RequestedIdentity, der::Error> {
    let request = CertReq::from_pem(pem)?;
    let mut requested = RequestedIdentity::default();
    for attribute in request.info.subject.0.iter().flat_map(|name| name.0.iter()) {
        match attribute.oid {
            COMMON_NAME => requested.common_names.push(text(&attribute.value)?),
            ORGANIZATION => requested.organizations.push(text(&attribute.value)?),
            _ => {}
        }
    }
    for attribute in request.info.attributes.iter() {
        if attribute.oid != EXTENSIONS {
            continue;
        }
        for value in attribute.values.iter() {
            let extensions = ExtensionReq::from_der(&value.to_der()?)?;
            for extension in extensions.0 {
                if extension.extn_id == ALTERNATIVE_NAMES {
                    let names = SubjectAltName::from_der(extension.extn_value.as_bytes())?;
                    requested.alternative_names.extend(names.0.iter().map(name));
                }
            }
        }
    }
    Ok(requested)
}

fn text(value: &AttributeValue) -> Result<String, der::Error> {
    match value.tag() {
        Tag::Utf8String | Tag::PrintableString | Tag::Ia5String | Tag::TeletexString => {
            Ok(std::str::from_utf8(value.value())?.to_owned())
        }
        tag => Err(tag.unexpected_error(Some(Tag::Utf8String))),
    }
}

fn name(name: &GeneralName) -> String {
    match name {
        GeneralName::DnsName(dns) => format!("DNS:{dns}"),
        other => format!("{other:?}"),
    }
}
