//! TLS of servers: versions and cipher suites from flags, and certificates that may be replaced.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use parking_lot::Mutex;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert, ServerConfig};
use rustls::sign::CertifiedKey;
use rustls::{SupportedProtocolVersion, version};

use crate::flags::TlsArgs;

/// Why TLS cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// `--tls-min-version` is not a version.
    #[error("invalid --tls-min-version: unknown tls version {0:?}")]
    Version(String),
    /// `--tls-cipher-suites` names unknown or unsupported suites.
    #[error("unsupported cipher suites: [{0}]")]
    Suites(String),
    /// A certificate or key file cannot be read.
    #[error("cannot read {path}: {reason}")]
    File {
        /// The file.
        path: PathBuf,
        /// The reason, as the message shows it.
        reason: String,
    },
    /// rustls refuses the settings.
    #[error(transparent)]
    Rustls(#[from] rustls::Error),
}

/// The settings of a server with `tls.crt` and `tls.key` in `directory`.
pub(super) fn config(args: &TlsArgs, directory: &Path) -> Result<Arc<ServerConfig>, TlsError> {
    let certificates = Certificates::load(directory)?;
    let provider = Arc::new(provider(args)?);
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(versions(args)?)?
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(certificates));
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

static TLS12_AND_LATER: &[&SupportedProtocolVersion] = &[&version::TLS13, &version::TLS12];
static TLS13_ONLY: &[&SupportedProtocolVersion] = &[&version::TLS13];

fn versions(args: &TlsArgs) -> Result<&'static [&'static SupportedProtocolVersion], TlsError> {
    match args.tls_min_version.trim() {
        // The two oldest versions are a lower bound: rustls does not support them.
        "" | "VersionTLS10" | "VersionTLS11" | "VersionTLS12" | "TLSv1.0" | "TLSv1.1"
        | "TLSv1.2" => Ok(TLS12_AND_LATER),
        "VersionTLS13" | "TLSv1.3" => Ok(TLS13_ONLY),
        other => Err(TlsError::Version(other.to_owned())),
    }
}

/// Whether settings are supported.
pub(super) fn check(args: &TlsArgs) -> Result<(), TlsError> {
    versions(args)?;
    provider(args).map(|_| ())
}

/// The settings without known but unsupported suites, which a warning names. Unknown suites of TLS 1.2 are an error
/// even where the version excludes them.
pub(super) fn lenient(args: &TlsArgs) -> Result<TlsArgs, TlsError> {
    versions(args)?;
    let offered = offered(&ring::default_provider());
    let is_offered = |name: &&str| offered.iter().any(|known| known == name);
    let (kept, rest): (Vec<_>, Vec<_>) = split(&args.tls_cipher_suites).partition(is_offered);
    let (insecure, unknown): (Vec<_>, Vec<_>) =
        rest.into_iter().partition(|name| NOT_SERVED.contains(name));
    if !unknown.is_empty() {
        return Err(TlsError::Suites(unknown.join(" ")));
    }
    if !insecure.is_empty() {
        tracing::warn!(suites = %insecure.join(","), "these cipher suites are insecure and are not served");
    }
    Ok(TlsArgs {
        tls_min_version: args.tls_min_version.trim().to_owned(),
        tls_cipher_suites: kept.join(","),
    })
}

/// Suites of Go's library that rustls does not support, because they are insecure or nearly so.
const NOT_SERVED: [&str; 16] = [
    "TLS_RSA_WITH_RC4_128_SHA",
    "TLS_RSA_WITH_3DES_EDE_CBC_SHA",
    "TLS_RSA_WITH_AES_128_CBC_SHA",
    "TLS_RSA_WITH_AES_256_CBC_SHA",
    "TLS_RSA_WITH_AES_128_CBC_SHA256",
    "TLS_RSA_WITH_AES_128_GCM_SHA256",
    "TLS_RSA_WITH_AES_256_GCM_SHA384",
    "TLS_ECDHE_ECDSA_WITH_RC4_128_SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA",
    "TLS_ECDHE_RSA_WITH_RC4_128_SHA",
    "TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA",
    "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256",
];

/// The supported cipher suites of a list.
pub(super) fn known(suites: &str) -> String {
    let offered = offered(&ring::default_provider());
    let is_known = |name: &&str| offered.iter().any(|known| known == name);
    let known: Vec<&str> = split(suites).filter(is_known).collect();
    known.join(",")
}

fn split(suites: &str) -> impl Iterator<Item = &str> {
    let names = suites.split(',').map(str::trim);
    names.filter(|name| !name.is_empty())
}

/// rustls spells the names of TLS 1.3 suites its own way.
fn iana(suite: rustls::CipherSuite) -> String {
    format!("{suite:?}").replace("TLS13_", "TLS_")
}

fn offered(provider: &CryptoProvider) -> Vec<String> {
    let suites = provider.cipher_suites.iter();
    suites.map(|suite| iana(suite.suite())).collect()
}

fn provider(args: &TlsArgs) -> Result<CryptoProvider, TlsError> {
    let mut provider = ring::default_provider();
    let wanted: Vec<&str> = split(&args.tls_cipher_suites).collect();
    if wanted.is_empty() || matches!(args.tls_min_version.as_str(), "VersionTLS13" | "TLSv1.3") {
        return Ok(provider);
    }
    let known = offered(&provider);
    let unknown: Vec<&str> = wanted
        .iter()
        .copied()
        .filter(|name| !known.iter().any(|known| known == name))
        .collect();
    if !unknown.is_empty() {
        return Err(TlsError::Suites(unknown.join(" ")));
    }
    // As in Go, the list selects suites of TLS 1.2; those of 1.3 are always enabled.
    provider
        .cipher_suites
        .retain(|suite| suite.tls13().is_some() || wanted.contains(&iana(suite.suite()).as_str()));
    Ok(provider)
}

/// The current certificate. kubelet replaces a mounted Secret by renaming a link, so the files' times are compared,
/// at most once a second and only on a connection: there is no timer.
#[derive(Debug)]
struct Certificates {
    directory: PathBuf,
    current: Mutex<Current>,
}

#[derive(Debug)]
struct Current {
    key: Arc<CertifiedKey>,
    modified: Option<SystemTime>,
    checked: Instant,
}

const CHECK_AT_MOST_EVERY: Duration = Duration::from_secs(1);

impl Certificates {
    fn load(directory: &Path) -> Result<Self, TlsError> {
        let current = Current {
            modified: modified(directory),
            key: read(directory)?,
            checked: Instant::now(),
        };
        Ok(Self {
            directory: directory.to_owned(),
            current: Mutex::new(current),
        })
    }
}

impl Certificates {
    /// The current certificate.
    fn current(&self, now: Instant) -> Arc<CertifiedKey> {
        let mut current = self.current.lock();
        if now.saturating_duration_since(current.checked) >= CHECK_AT_MOST_EVERY {
            current.checked = now;
            let modified = modified(&self.directory);
            if modified != current.modified {
                match read(&self.directory) {
                    Ok(key) => {
                        current.key = key;
                        current.modified = modified;
                    }
                    // Partly written files are read again at the next connection.
                    Err(error) => tracing::warn!(%error, "keeping the old certificate"),
                }
            }
        }
        Arc::clone(&current.key)
    }
}

impl ResolvesServerCert for Certificates {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.current(Instant::now()))
    }
}

fn modified(directory: &Path) -> Option<SystemTime> {
    std::fs::metadata(directory.join("tls.crt"))
        .and_then(|data| data.modified())
        .ok()
}

fn read(directory: &Path) -> Result<Arc<CertifiedKey>, TlsError> {
    let failed = |path: &Path, reason: &dyn std::fmt::Display| TlsError::File {
        path: path.to_owned(),
        reason: reason.to_string(),
    };
    let path = directory.join("tls.crt");
    let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_file_iter(&path)
        .and_then(Iterator::collect)
        .map_err(|error| failed(&path, &error))?;
    let path = directory.join("tls.key");
    let key = PrivateKeyDer::from_pem_file(&path).map_err(|error| failed(&path, &error))?;
    let key = CertifiedKey::from_der(chain, key, &ring::default_provider())?;
    Ok(Arc::new(key))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(version: &str, suites: &str) -> TlsArgs {
        TlsArgs {
            tls_min_version: version.to_owned(),
            tls_cipher_suites: suites.to_owned(),
        }
    }

    #[test]
    fn versions_and_suites_by_their_go_and_iana_names() {
        assert_eq!(versions(&args("", "")).unwrap().len(), 2);
        assert_eq!(versions(&args("VersionTLS13", "")).unwrap().len(), 1);
        assert!(versions(&args("VersionTLS9", "")).is_err());
        let one = provider(&args("", "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256")).unwrap();
        assert_eq!(
            one.cipher_suites
                .iter()
                .filter(|suite| suite.tls13().is_none())
                .count(),
            1
        );
        let error = provider(&args("", "TLS_NONSENSE")).unwrap_err().to_string();
        assert_eq!(error, "unsupported cipher suites: [TLS_NONSENSE]");
    }

    /// Replaces the certificate as the kubelet does: a new folder, and a link that is renamed.
    fn mount(volume: &Path, generation: u8) {
        let data = volume.join(format!("..{generation}"));
        std::fs::create_dir(&data).unwrap();
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        std::fs::write(data.join("tls.crt"), made.cert.pem()).unwrap();
        std::fs::write(data.join("tls.key"), made.signing_key.serialize_pem()).unwrap();
        // Files written within the same tick of the clock would look unchanged.
        let later = SystemTime::now() + Duration::from_secs(u64::from(generation));
        let file = std::fs::File::options()
            .write(true)
            .open(data.join("tls.crt"))
            .unwrap();
        file.set_modified(later).unwrap();
        let link = volume.join("..data_tmp");
        std::os::unix::fs::symlink(&data, &link).unwrap();
        std::fs::rename(&link, volume.join("..data")).unwrap();
    }

    #[test]
    fn replaced_certificate_is_used_after_a_second_and_invalid_one_is_not() {
        let volume = tempfile::tempdir().unwrap();
        mount(volume.path(), 1);
        let certificates = Certificates::load(&volume.path().join("..data")).unwrap();
        let started = certificates.current.lock().checked;
        let shown = |after: u64| {
            certificates
                .current(started + Duration::from_millis(after))
                .cert
                .clone()
        };
        let first = shown(0);
        mount(volume.path(), 2);
        assert_eq!(
            shown(500),
            first,
            "the files are not looked at for every connection"
        );
        let second = shown(1_500);
        assert_ne!(second, first);
        std::fs::write(volume.path().join("..data/tls.crt"), "half a certif").unwrap();
        assert_eq!(shown(3_000), second);
        mount(volume.path(), 3);
        assert_ne!(shown(5_000), second);
    }

    #[test]
    fn missing_certificate_is_named() {
        let error = config(&args("", ""), Path::new("/nonexistent"))
            .err()
            .unwrap()
            .to_string();
        assert!(
            error.starts_with("cannot read /nonexistent/tls.crt: "),
            "{error}"
        );
    }
}
