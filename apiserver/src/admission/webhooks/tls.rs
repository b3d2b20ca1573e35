//! Which certificates of webhooks are trusted: those that lead to one of the bundle, and those of the bundle themselves. The
//! latter is how tests and small webhooks have it, with one certificate that signs itself; Go takes that, and `webpki` takes
//! no authority for a server.

use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::verify_server_name;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use x509_cert::der::Decode as _;
use x509_cert::der::oid::ObjectIdentifier;
use x509_cert::ext::pkix::ExtendedKeyUsage;

const SERVER: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.6.1.5.5.7.3.1");
const ANY: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.29.37.0");

/// Trusts the certificates of a bundle as themselves and as authorities.
#[derive(Debug)]
pub(super) struct BundleVerifier {
    bundle: Vec<CertificateDer<'static>>,
    authorities: Arc<WebPkiServerVerifier>,
}

impl BundleVerifier {
    /// The error names the certificate that cannot be parsed, or that there is none.
    pub(super) fn new(
        bundle: Vec<CertificateDer<'static>>,
        provider: Arc<CryptoProvider>,
    ) -> Result<Self, String> {
        let mut roots = RootCertStore::empty();
        for certificate in &bundle {
            roots
                .add(certificate.clone())
                .map_err(|error| error.to_string())?;
        }
        let authorities =
            WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build();
        Ok(Self {
            bundle,
            authorities: authorities.map_err(|error| error.to_string())?,
        })
    }
}

impl ServerCertVerifier for BundleVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if self.bundle.contains(end_entity) {
            check_time_and_use(end_entity, now)?;
            verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name)?;
            return Ok(ServerCertVerified::assertion());
        }
        self.authorities.verify_server_cert(
            end_entity,
            intermediates,
            server_name,
            ocsp_response,
            now,
        )
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.authorities
            .verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.authorities
            .verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.authorities.supported_verify_schemes()
    }
}

/// Refuses a certificate that is not valid now, or not for servers.
fn check_time_and_use(certificate: &CertificateDer<'_>, now: UnixTime) -> Result<(), Error> {
    let unreadable = |_| Error::InvalidCertificate(CertificateError::BadEncoding);
    let certificate = x509_cert::Certificate::from_der(certificate).map_err(unreadable)?;
    let certificate = certificate.tbs_certificate;
    let validity = certificate.validity;
    if now.as_secs() < validity.not_before.to_unix_duration().as_secs() {
        return Err(CertificateError::NotValidYet.into());
    }
    if now.as_secs() > validity.not_after.to_unix_duration().as_secs() {
        return Err(CertificateError::Expired.into());
    }
    let usage = certificate.get::<ExtendedKeyUsage>();
    let usage = usage.map_err(unreadable)?;
    let is_for_servers =
        usage.is_none_or(|(_, usage)| usage.0.iter().any(|one| [SERVER, ANY].contains(one)));
    if is_for_servers {
        Ok(())
    } else {
        Err(CertificateError::InvalidPurpose.into())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rcgen::{
        BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, KeyPair, date_time_ymd,
    };

    use super::*;

    /// The parameters of an authority that is a server, too.
    fn params() -> CertificateParams {
        let mut params = CertificateParams::new(vec!["tea.example.com".to_owned()]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.not_before = date_time_ymd(2020, 1, 1);
        params.not_after = date_time_ymd(2030, 1, 1);
        params
    }

    fn self_signed(params: &CertificateParams) -> CertificateDer<'static> {
        let key = KeyPair::generate().unwrap();
        params.self_signed(&key).unwrap().der().clone()
    }

    /// What comes of a certificate in a year, under a name, if a bundle is trusted.
    fn verified(
        bundle: &CertificateDer<'static>,
        shown: &CertificateDer<'static>,
        name: &'static str,
        year: u64,
    ) -> Result<(), Error> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let trust = BundleVerifier::new(vec![bundle.clone()], provider).unwrap();
        let now = UnixTime::since_unix_epoch(Duration::from_secs((year - 1970) * 31_557_600));
        let name = ServerName::try_from(name).unwrap();
        let verified = trust.verify_server_cert(shown, &[], &name, &[], now);
        verified.map(|_| ())
    }

    #[test]
    fn self_signed_certificate_of_the_bundle_is_trusted_for_its_name_and_time_only() {
        let own = self_signed(&params());
        let of = |name, year| verified(&own, &own, name, year).map_err(|error| error.to_string());
        assert_eq!(of("tea.example.com", 2025), Ok(()));
        let wrong = of("coffee.example.com", 2025).unwrap_err();
        assert!(wrong.contains("not valid for name"), "{wrong}");
        let early = of("tea.example.com", 2019).unwrap_err();
        assert!(
            early.contains("NotValidYet") || early.contains("not valid yet"),
            "{early}"
        );
        let late = of("tea.example.com", 2031).unwrap_err();
        assert!(late.to_lowercase().contains("expired"), "{late}");
    }

    #[test]
    fn self_signed_certificate_outside_the_bundle_is_refused() {
        let (own, other) = (self_signed(&params()), self_signed(&params()));
        assert!(verified(&own, &other, "tea.example.com", 2025).is_err());
    }

    #[test]
    fn client_certificate_of_the_bundle_is_refused() {
        let mut params = params();
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        let own = self_signed(&params);
        let refused = verified(&own, &own, "tea.example.com", 2025);
        assert_eq!(
            refused,
            Err(Error::InvalidCertificate(CertificateError::InvalidPurpose))
        );
    }

    #[test]
    fn certificate_signed_by_one_of_the_bundle_is_trusted() {
        let key = KeyPair::generate().unwrap();
        let mut authority = params();
        authority
            .distinguished_name
            .push(rcgen::DnType::CommonName, "authority");
        let issuer = rcgen::CertifiedIssuer::self_signed(authority, key).unwrap();
        let mut server = params();
        server.is_ca = IsCa::NoCa;
        let key = KeyPair::generate().unwrap();
        let server = server.signed_by(&key, &issuer).unwrap().der().clone();
        let bundle = issuer.der().clone();
        assert_eq!(verified(&bundle, &server, "tea.example.com", 2025), Ok(()));
        assert!(verified(&bundle, &server, "coffee.example.com", 2025).is_err());
    }
}
