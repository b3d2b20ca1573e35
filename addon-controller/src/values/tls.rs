//! The valid TLS settings of the agents' servers.

/// The names of cipher suites in Go's TLS library, with those of TLS 1.3.
const SUITES: &[&str] = &[
    "TLS_AES_128_GCM_SHA256",
    "TLS_AES_256_GCM_SHA384",
    "TLS_CHACHA20_POLY1305_SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305",
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
    "TLS_ECDHE_ECDSA_WITH_RC4_128_SHA",
    "TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256",
    "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
    "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA",
    "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
    "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305",
    "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
    "TLS_ECDHE_RSA_WITH_RC4_128_SHA",
    "TLS_RSA_WITH_3DES_EDE_CBC_SHA",
    "TLS_RSA_WITH_AES_128_CBC_SHA",
    "TLS_RSA_WITH_AES_128_CBC_SHA256",
    "TLS_RSA_WITH_AES_128_GCM_SHA256",
    "TLS_RSA_WITH_AES_256_CBC_SHA",
    "TLS_RSA_WITH_AES_256_GCM_SHA384",
    "TLS_RSA_WITH_RC4_128_SHA",
];

const VERSIONS: &[&str] = &[
    "VersionTLS10",
    "VersionTLS11",
    "VersionTLS12",
    "VersionTLS13",
    "TLSv1.0",
    "TLSv1.1",
    "TLSv1.2",
    "TLSv1.3",
];

/// Whether this is a version of TLS. Empty is valid: the agent uses its default.
pub fn is_version(text: &str) -> bool {
    text.is_empty() || VERSIONS.contains(&text)
}

/// The first unknown cipher suite in a comma-separated list.
pub fn unknown_suite(text: &str) -> Option<&str> {
    let mut names = text.split(',').map(str::trim);
    names.find(|name| !name.is_empty() && !SUITES.contains(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addon_60_6_minimum_versions() {
        for good in ["VersionTLS13", "VersionTLS12", "TLSv1.2", ""] {
            assert!(is_version(good), "{good}");
        }
        for bad in ["not-a-real-version", "1.3", "VersionTLS14"] {
            assert!(!is_version(bad), "{bad}");
        }
    }

    #[test]
    fn addon_60_7_cipher_suites() {
        let two = "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384";
        assert_eq!(unknown_suite(two), None);
        assert_eq!(unknown_suite(""), None);
        let one = "TLS_AES_128_GCM_SHA256, TLS_MADE_UP";
        assert_eq!(unknown_suite(one), Some("TLS_MADE_UP"));
    }
}
