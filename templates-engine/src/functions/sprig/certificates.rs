//! X.509 certificates with the contents that Go's `crypto/x509` gives those of Sprig.

use std::net::IpAddr;
use std::rc::Rc;
use std::time::Duration;

use sha2::{Digest as _, Sha256};
use x509_cert::certificate::{Certificate, TbsCertificate, Version};
use x509_cert::der::asn1::{Any, BitString, GeneralizedTime, Ia5String, OctetString, UtcTime};
use x509_cert::der::flagset::FlagSet;
use x509_cert::der::oid::{AssociatedOid, ObjectIdentifier};
use x509_cert::der::{self, Decode as _, Encode as _, Tag};
use x509_cert::ext::Extension;
use x509_cert::ext::pkix::name::GeneralName;
use x509_cert::ext::pkix::{
    AuthorityKeyIdentifier, BasicConstraints, ExtendedKeyUsage, KeyUsage, KeyUsages,
    SubjectAltName, SubjectKeyIdentifier,
};
use x509_cert::name::{Name, RdnSequence, RelativeDistinguishedName};
use x509_cert::serial_number::SerialNumber;
use x509_cert::spki::{AlgorithmIdentifierOwned, SubjectPublicKeyInfoOwned};
use x509_cert::time::{Time, Validity};

use super::keys::{Algorithm, PrivateKey, charge_use, generate_rsa, pem, pem_block};
use crate::function::Parameter::{Int, List, Named, Str};
use crate::function::{Arguments, Env, Failure, Function};
use crate::functions::define::{Answer, Group, charge_bytes, charge_items, charge_value, takes};
use reeve_go_compat::base64::decode;
use reeve_go_compat::printing;
use reeve_go_compat::runes;
use reeve_go_compat::value::{Struct, Value};

const CERTIFICATES: Group = Group("Keys and certificates");

const CERTIFICATE: &str = "sprig.certificate";

/// The table of this topic.
pub const FUNCTIONS: &[Function] = &[
    CERTIFICATES.function("genCA", takes(&[Str, Int]), gen_ca, "name days", "A new certificate authority with an RSA key. The result has the fields `.Cert` and `.Key` in PEM, and differs from one evaluation to the next, as that of the functions below."),
    CERTIFICATES.function("genCAWithKey", takes(&[Str, Int, Str]), gen_ca_with_key, "name days key", "A new certificate authority with this private key in PEM."),
    CERTIFICATES.function("genSelfSignedCert", takes(&[Str, List, List, Int]), gen_self_signed, "name ips hosts days", "A new certificate with an RSA key, signed by itself."),
    CERTIFICATES.function("genSelfSignedCertWithKey", takes(&[Str, List, List, Int, Str]), gen_self_signed_with_key, "name ips hosts days key", "A new certificate with this private key, signed by itself."),
    CERTIFICATES.function("genSignedCert", takes(&[Str, List, List, Int, Named(CERTIFICATE)]), gen_signed, "name ips hosts days ca", "A new certificate with an RSA key, signed by a certificate authority, that is, a result of `genCA` or `buildCustomCert`."),
    CERTIFICATES.function("genSignedCertWithKey", takes(&[Str, List, List, Int, Named(CERTIFICATE), Str]), gen_signed_with_key, "name ips hosts days ca key", "A new certificate with this private key, signed by a certificate authority."),
    CERTIFICATES.function("buildCustomCert", takes(&[Str, Str]), build_custom, "certificate key", "A certificate and its private key, both in PEM and then in base64, for use with the functions above."),
];

fn text(text: impl Into<String>) -> Failure {
    Failure::text(text)
}

fn result(certificate: &[u8], key: &[u8]) -> Value {
    Value::Struct(Rc::new(Struct::new(
        CERTIFICATE,
        vec![
            ("Cert".to_owned(), Value::str(certificate)),
            ("Key".to_owned(), Value::str(key)),
        ],
    )))
}

fn given_key(
    env: &mut Env<'_>,
    arguments: &Arguments<'_>,
    position: usize,
) -> Result<PrivateKey, Failure> {
    charge_use(env)?;
    PrivateKey::from_pem(arguments.str(position)?)
        .map_err(|problem| text(format!("parsing private key: {problem}")))
}

/// Who signs: the certificate itself or an authority.
struct Issuer {
    name: Name,
    key: PrivateKey,
    key_id: Option<OctetString>,
}

/// The parameters of a requested certificate.
struct Request {
    name: Name,
    names: Vec<GeneralName>,
    validity: Validity,
    serial: SerialNumber,
    authority: bool,
}

fn gen_ca(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let key = generate_rsa(env)?;
    authority(env, arguments, &key)
}

fn gen_ca_with_key(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let key = given_key(env, arguments, 2)?;
    authority(env, arguments, &key)
}

fn authority(env: &mut Env<'_>, arguments: &Arguments<'_>, key: &PrivateKey) -> Answer {
    let mut request = request(env, arguments.str(0)?, vec![], arguments.int(1)?)?;
    request.authority = true;
    issue(&request, key, None)
}

fn gen_self_signed(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let key = generate_rsa(env)?;
    self_signed(env, arguments, &key)
}

fn gen_self_signed_with_key(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let key = given_key(env, arguments, 4)?;
    self_signed(env, arguments, &key)
}

fn self_signed(env: &mut Env<'_>, arguments: &Arguments<'_>, key: &PrivateKey) -> Answer {
    let names = alternative_names(env, arguments)?;
    let request = request(env, arguments.str(0)?, names, arguments.int(3)?)?;
    issue(&request, key, None)
}

fn gen_signed(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let key = generate_rsa(env)?;
    signed(env, arguments, &key)
}

fn gen_signed_with_key(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    let key = given_key(env, arguments, 5)?;
    signed(env, arguments, &key)
}

fn signed(env: &mut Env<'_>, arguments: &Arguments<'_>, key: &PrivateKey) -> Answer {
    charge_use(env)?;
    let issuer = issuer(arguments.any(4))?;
    let names = alternative_names(env, arguments)?;
    let request = request(env, arguments.str(0)?, names, arguments.int(3)?)?;
    issue(&request, key, Some(&issuer))
}

fn field(certificate: &Value, name: &str) -> Vec<u8> {
    match certificate {
        Value::Struct(fields) => match fields.field(name) {
            Some(Value::Str(text)) => text.to_vec(),
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

fn parsed(pem: &[u8]) -> Result<Certificate, Failure> {
    let Some((_, bytes)) = pem_block(pem) else {
        return Err(text("unable to decode certificate"));
    };
    Certificate::from_der(&bytes).map_err(|_| {
        text("error parsing certificate: decodedCert.Bytes: x509: malformed certificate")
    })
}

fn issuer(authority: &Value) -> Result<Issuer, Failure> {
    let certificate = parsed(&field(authority, "Cert")).map_err(|failure| match failure {
        Failure::Text(problem) => text(problem.replace("decodedCert", "decodedSignerCert")),
        other => other,
    })?;
    let key = PrivateKey::from_pem(&field(authority, "Key"))
        .map_err(|problem| text(format!("error parsing private key: {problem}")))?;
    let certificate = certificate.tbs_certificate;
    let ours = key.public_key();
    let theirs = certificate.subject_public_key_info.to_der();
    if key.algorithm().is_ok() && ours.ok() != theirs.ok() {
        return Err(text(
            "error creating certificate: x509: provided PrivateKey doesn't match parent's PublicKey",
        ));
    }
    let key_id = certificate
        .get::<SubjectKeyIdentifier>()
        .ok()
        .flatten()
        .map(|(_, identifier)| identifier.0);
    Ok(Issuer {
        name: certificate.subject,
        key,
        key_id,
    })
}

fn build_custom(env: &mut Env<'_>, arguments: &Arguments<'_>) -> Answer {
    charge_use(env)?;
    charge_bytes(env, arguments.str(0)?.len() + arguments.str(1)?.len())?;
    let certificate =
        decode(arguments.str(0)?).map_err(|_| text("unable to decode base64 certificate"))?;
    let key = decode(arguments.str(1)?).map_err(|_| text("unable to decode base64 private key"))?;
    parsed(&certificate)?;
    PrivateKey::from_pem(&key)
        .map_err(|problem| text(format!("error parsing private key: {problem}")))?;
    Ok(result(&certificate, &key))
}

fn shown(env: &mut Env<'_>, value: &Value) -> Result<String, Failure> {
    charge_value(env, value)?;
    Ok(String::from_utf8_lossy(&printing::display(value)).into_owned())
}

/// The addresses of the second and the host names of the third argument.
fn alternative_names(
    env: &mut Env<'_>,
    arguments: &Arguments<'_>,
) -> Result<Vec<GeneralName>, Failure> {
    charge_items(env, arguments.list(1)?.len() + arguments.list(2)?.len())?;
    let mut addresses = Vec::new();
    for value in arguments.list(1)?.iter() {
        let Value::Str(address) = value else {
            let shown = shown(env, value)?;
            return Err(text(format!("error parsing ip: {shown} is not a string")));
        };
        let address = address.lossy();
        let Ok(parsed) = address.parse::<IpAddr>() else {
            return Err(text(format!("error parsing ip: {address}")));
        };
        let bytes = match parsed.to_canonical() {
            IpAddr::V4(address) => address.octets().to_vec(),
            IpAddr::V6(address) => address.octets().to_vec(),
        };
        addresses.push(GeneralName::IpAddress(
            OctetString::new(bytes).map_err(creating)?,
        ));
    }
    let mut names = Vec::new();
    for value in arguments.list(2)?.iter() {
        let Value::Str(name) = value else {
            return Err(text(format!(
                "error processing alternate dns name: {} is not a string",
                shown(env, value)?
            )));
        };
        let Ok(encoded) = Ia5String::new(&**name) else {
            return Err(text(format!(
                "error creating certificate: x509: {} cannot be encoded as an IA5String",
                runes::quote(name)
            )));
        };
        names.push(GeneralName::DnsName(encoded));
    }
    names.extend(addresses);
    Ok(names)
}

#[allow(clippy::needless_pass_by_value)] // for `map_err`
fn creating(error: impl std::fmt::Display) -> Failure {
    text(format!("error creating certificate: {error}"))
}

/// A moment in the form that its year asks for.
fn time(seconds: i64) -> Result<Time, Failure> {
    /// The beginning of 2050, from which on two digits are too few for the year.
    const LONG_YEARS: i64 = 2_524_608_000;
    let since = u64::try_from(seconds)
        .map_err(|_| creating("a certificate cannot be valid before 1970"))?;
    let since = Duration::from_secs(since);
    if seconds < LONG_YEARS {
        return UtcTime::from_unix_duration(since)
            .map(Time::UtcTime)
            .map_err(creating);
    }
    GeneralizedTime::from_unix_duration(since)
        .map(Time::GeneralTime)
        .map_err(creating)
}

fn request(
    env: &mut Env<'_>,
    name: &[u8],
    names: Vec<GeneralName>,
    days: i64,
) -> Result<Request, Failure> {
    /// Nanoseconds of a day, in which Go counts.
    const DAY: i64 = 86_400 * 1_000_000_000;
    let mut serial = [0; 16];
    env.ambient.random(&mut serial)?;
    let now = env.ambient.now().as_second();
    let length = days.wrapping_mul(DAY).div_euclid(1_000_000_000);
    Ok(Request {
        name: common_name(name).map_err(creating)?,
        names,
        validity: Validity {
            not_before: time(now)?,
            not_after: time(now.saturating_add(length))?,
        },
        serial: SerialNumber::new(positive(&serial)).map_err(creating)?,
        authority: false,
    })
}

/// A big-endian number without leading zeros.
fn positive(bytes: &[u8]) -> &[u8] {
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    bytes
        .get(zeros..)
        .filter(|rest| !rest.is_empty())
        .unwrap_or(&[0])
}

/// `CN=name`, as printable characters if they are such, else as UTF-8; nothing for no name.
fn common_name(name: &[u8]) -> der::Result<Name> {
    const COMMON_NAME: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.4.3");
    if name.is_empty() {
        return Ok(RdnSequence::default());
    }
    let printable = |byte: &u8| byte.is_ascii_alphanumeric() || b" '()+,-./:=?*&".contains(byte);
    let tag = if name.iter().all(printable) {
        Tag::PrintableString
    } else {
        Tag::Utf8String
    };
    let attribute = x509_cert::attr::AttributeTypeAndValue {
        oid: COMMON_NAME,
        value: Any::new(tag, name)?,
    };
    let set = der::asn1::SetOfVec::try_from(vec![attribute])?;
    Ok(RdnSequence(vec![RelativeDistinguishedName(set)]))
}

fn issue(request: &Request, key: &PrivateKey, issuer: Option<&Issuer>) -> Answer {
    let signer = issuer.map_or(key, |issuer| &issuer.key);
    let algorithm = signer.algorithm().map_err(creating)?;
    let public = key.public_key().map_err(creating)?;
    let certificate = assembled(request, &public, algorithm, issuer, signer).map_err(creating)?;
    let key = key.to_pem().map_err(creating)?;
    Ok(result(
        pem("CERTIFICATE", &certificate).as_bytes(),
        key.as_bytes(),
    ))
}

fn assembled(
    request: &Request,
    public: &[u8],
    algorithm: Algorithm,
    issuer: Option<&Issuer>,
    signer: &PrivateKey,
) -> Result<Vec<u8>, String> {
    let failed = |error: der::Error| error.to_string();
    let identifier = identifier(algorithm);
    let public = SubjectPublicKeyInfoOwned::from_der(public).map_err(failed)?;
    let issuer_name = issuer.map_or(&request.name, |issuer| &issuer.name);
    let foreign_key = issuer
        .filter(|issuer| issuer.name != request.name)
        .and_then(|issuer| issuer.key_id.clone());
    let extensions = extensions(request, &public, foreign_key).map_err(failed)?;
    let contents = TbsCertificate {
        version: Version::V3,
        serial_number: request.serial.clone(),
        signature: identifier.clone(),
        issuer: issuer_name.clone(),
        validity: request.validity,
        subject: request.name.clone(),
        subject_public_key_info: public,
        issuer_unique_id: None,
        subject_unique_id: None,
        extensions: Some(extensions),
    };
    let signature = signer.sign(&contents.to_der().map_err(failed)?)?;
    Certificate {
        tbs_certificate: contents,
        signature_algorithm: identifier,
        signature: BitString::from_bytes(&signature).map_err(failed)?,
    }
    .to_der()
    .map_err(failed)
}

fn identifier(algorithm: Algorithm) -> AlgorithmIdentifierOwned {
    let oid = match algorithm {
        Algorithm::Rsa => ObjectIdentifier::new_unwrap("1.2.840.113549.1.1.11"),
        Algorithm::P256 => ObjectIdentifier::new_unwrap("1.2.840.10045.4.3.2"),
        Algorithm::P384 => ObjectIdentifier::new_unwrap("1.2.840.10045.4.3.3"),
        Algorithm::Ed25519 => ObjectIdentifier::new_unwrap("1.3.101.112"),
    };
    AlgorithmIdentifierOwned {
        oid,
        parameters: (algorithm == Algorithm::Rsa).then(Any::null),
    }
}

fn extension<T: AssociatedOid + der::Encode>(value: &T, critical: bool) -> der::Result<Extension> {
    Ok(Extension {
        extn_id: T::OID,
        critical,
        extn_value: OctetString::new(value.to_der()?)?,
    })
}

/// In Go's order: usages, constraints, keys, names.
fn extensions(
    request: &Request,
    public: &SubjectPublicKeyInfoOwned,
    issuer_key: Option<OctetString>,
) -> der::Result<Vec<Extension>> {
    const SERVER: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.6.1.5.5.7.3.1");
    const CLIENT: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.6.1.5.5.7.3.2");
    let mut usages: FlagSet<KeyUsages> = KeyUsages::DigitalSignature | KeyUsages::KeyEncipherment;
    if request.authority {
        usages |= KeyUsages::KeyCertSign;
    }
    let constraints = BasicConstraints {
        ca: request.authority,
        path_len_constraint: None,
    };
    let mut found = vec![
        extension(&KeyUsage(usages), true)?,
        extension(&ExtendedKeyUsage(vec![SERVER, CLIENT]), false)?,
        extension(&constraints, true)?,
    ];
    if request.authority {
        let digest = Sha256::digest(public.subject_public_key.raw_bytes());
        let identifier = OctetString::new(digest.get(..20).unwrap_or_default())?;
        found.push(extension(&SubjectKeyIdentifier(identifier), false)?);
    }
    if let Some(key_identifier) = issuer_key {
        let authority = AuthorityKeyIdentifier {
            key_identifier: Some(key_identifier),
            authority_cert_issuer: None,
            authority_cert_serial_number: None,
        };
        found.push(extension(&authority, false)?);
    }
    if !request.names.is_empty() {
        let names = SubjectAltName(request.names.clone());
        found.push(extension(&names, request.name.is_empty())?);
    }
    Ok(found)
}
