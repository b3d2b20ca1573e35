//! OpenShift's TLS profile: `APIServer/cluster` has the TLS settings of the servers of a cluster.
//!
//! Flags take precedence, then the profile, then the defaults. Invalid flags are logged as ignored; they still
//! disable the watch of the profile, because a user has set them.

use std::time::Duration;

use kube::api::Api;
use kube::{Client, CustomResource};
use serde::{Deserialize, Serialize};

use super::drift::Drift;
use super::tls;
use crate::flags::TlsArgs;
use crate::object::{ObjectKey, StatusReason};
use crate::supervisor::Supervisor;
use crate::watch::Watch;

const NAME: &str = "cluster";
/// How long to wait for the profile at the start.
const TIMEOUT: Duration = Duration::from_secs(10);
const IGNORED: &str = "Invalid --tls-min-version/--tls-cipher-suites; ignoring the flags";
const CHANGED: &str =
    "The OpenShift APIServer TLS security profile changed; exiting to apply the new settings";

/// The TLS fields of OpenShift's kind.
#[derive(CustomResource, Serialize, Deserialize, Clone, Debug)]
#[kube(
    group = "config.openshift.io",
    version = "v1",
    kind = "APIServer",
    plural = "apiservers",
    schema = "disabled"
)]
#[serde(rename_all = "camelCase")]
struct APIServerSpec {
    #[serde(default)]
    tls_security_profile: Option<SecurityProfile>,
}

#[derive(Serialize, Deserialize, Clone, Debug)]
struct SecurityProfile {
    #[serde(default, rename = "type")]
    kind: Option<String>,
    #[serde(default)]
    custom: Option<Profile>,
}

/// What a profile asks for; suites by OpenSSL's names.
#[derive(Serialize, Deserialize, Clone, Debug, Default, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
struct Profile {
    #[serde(default)]
    ciphers: Vec<String>,
    #[serde(default, rename = "minTLSVersion")]
    min_tls_version: String,
}

/// OpenSSL's names of the suites of TLS 1.2 that can be served, with those that IANA gives them.
/// The profiles that are not custom name all of these; what else they name cannot be served.
const SUITES: [(&str, &str); 6] = [
    (
        "ECDHE-ECDSA-AES128-GCM-SHA256",
        "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
    ),
    (
        "ECDHE-RSA-AES128-GCM-SHA256",
        "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
    ),
    (
        "ECDHE-ECDSA-AES256-GCM-SHA384",
        "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
    ),
    (
        "ECDHE-RSA-AES256-GCM-SHA384",
        "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
    ),
    (
        "ECDHE-ECDSA-CHACHA20-POLY1305",
        "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
    ),
    (
        "ECDHE-RSA-CHACHA20-POLY1305",
        "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
    ),
];

impl Profile {
    fn of(spec: &APIServerSpec) -> Result<Self, &'static str> {
        let asked = spec.tls_security_profile.as_ref();
        let standard = |version: &str, suites: &[(&str, &str)]| Self {
            ciphers: suites.iter().map(|(name, _)| (*name).to_owned()).collect(),
            min_tls_version: version.to_owned(),
        };
        match asked.and_then(|asked| asked.kind.as_deref()) {
            Some("Custom") => asked
                .and_then(|asked| asked.custom.clone())
                .ok_or("spec.tlsSecurityProfile.custom is empty, though the type is Custom"),
            Some("Old") => Ok(standard("VersionTLS10", &SUITES)),
            // The suites of TLS 1.3 are always there.
            Some("Modern") => Ok(standard("VersionTLS13", &[])),
            _ => Ok(standard("VersionTLS12", &SUITES)),
        }
    }

    /// The profile as flags, as far as the TLS library supports it.
    fn settings(&self) -> TlsArgs {
        let suites = SUITES
            .iter()
            .filter(|(open_ssl, iana)| self.ciphers.iter().any(|c| c == open_ssl || c == iana));
        let suites: Vec<&str> = suites.map(|(_, iana)| *iana).collect();
        if suites.is_empty() && !self.ciphers.is_empty() {
            tracing::warn!(suites = %self.ciphers.join(","), "the TLS profile names no suite of TLS 1.2 that can be served: the default ones are");
        }
        let asked = TlsArgs {
            tls_min_version: self.min_tls_version.clone(),
            tls_cipher_suites: suites.join(","),
        };
        match tls::check(&asked) {
            Ok(()) => asked,
            Err(error) => {
                tracing::error!(%error, "the TLS profile cannot be followed: the default TLS settings are used");
                TlsArgs::default()
            }
        }
    }
}

/// What looking for the profile came to.
#[derive(Debug)]
enum Found {
    /// Neither the object nor its kind need exist.
    Absent,
    /// Nobody knows whether there is one.
    Unreadable,
    /// The object is there; its profile may not make sense.
    Profile(Result<Profile, &'static str>),
}

/// The settings in force.
#[derive(Clone, Debug)]
pub struct Settled {
    /// How the servers of this process speak TLS.
    pub tls: TlsArgs,
    /// Whether they were taken from the cluster's profile.
    pub from_profile: bool,
    /// Whether the profile is watched, and its change ends the process.
    pub watched: bool,
}

/// The TLS settings in force. If they may be the profile's, it is watched from now on, and `tasks`
/// are stopped when it changes.
pub async fn openshift_tls_settings(
    flags: &TlsArgs,
    client: &Client,
    tasks: &mut Supervisor,
) -> Settled {
    let (settled, found) = settle(flags, look(client)).await;
    if settled.watched {
        watch(client, found, tasks);
    }
    settled
}

/// Decides between flags and profile.
async fn settle(flags: &TlsArgs, look: impl Future<Output = Found>) -> (Settled, Found) {
    let is_blank = |text: &str| text.trim().is_empty();
    let overridden = !is_blank(&flags.tls_min_version) || !is_blank(&flags.tls_cipher_suites);
    if overridden {
        match tls::lenient(flags) {
            Ok(tls) => return (Settled::by_flags(tls), Found::Absent),
            Err(error) => tracing::error!(%error, "{IGNORED}"),
        }
    }
    let found = look.await;
    let mut settled = Settled {
        tls: TlsArgs::default(),
        from_profile: false,
        watched: !overridden && !matches!(found, Found::Absent),
    };
    match &found {
        Found::Profile(Ok(profile)) => {
            settled.tls = profile.settings();
            settled.from_profile = true;
        }
        Found::Profile(Err(error)) => {
            tracing::error!(%error, "cannot follow APIServer/{NAME}: the default TLS settings are used");
        }
        Found::Absent | Found::Unreadable => {}
    }
    (settled, found)
}

impl Settled {
    fn by_flags(tls: TlsArgs) -> Self {
        Self {
            tls,
            from_profile: false,
            watched: false,
        }
    }
}

async fn look(client: &Client) -> Found {
    let servers: Api<APIServer> = Api::all(client.clone());
    let unreadable = |error: &dyn std::fmt::Display| {
        tracing::error!(%error, "cannot read APIServer/{NAME}: the default TLS settings are used");
        Found::Unreadable
    };
    match tokio::time::timeout(TIMEOUT, servers.get_opt(NAME)).await {
        Ok(Ok(Some(server))) => Found::Profile(Profile::of(&server.spec)),
        Ok(Ok(None)) => Found::Absent,
        // Of a group that nobody serves, the answer is a page, which the client does not take for
        // an absent object.
        Ok(Err(error)) if StatusReason::of(&error) == StatusReason::NotFound => Found::Absent,
        Ok(Err(error)) => unreadable(&error),
        Err(elapsed) => unreadable(&elapsed),
    }
}

fn watch(client: &Client, found: Found, tasks: &mut Supervisor) {
    let servers: Api<_> = Api::all(client.clone());
    let watch = Watch::projected(servers, |server: APIServer| Profile::of(&server.spec))
        .fields(&format!("metadata.name={NAME}"));
    let changed = || tracing::info!("{CHANGED}");
    let drift = Drift::watch(watch, ObjectKey::new("", NAME), changed, tasks);
    drift.started_with(match found {
        Found::Profile(profile) => Some(profile),
        Found::Absent | Found::Unreadable => None,
    });
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn flags(version: &str, suites: &str) -> TlsArgs {
        TlsArgs {
            tls_min_version: version.to_owned(),
            tls_cipher_suites: suites.to_owned(),
        }
    }

    fn profile(value: &serde_json::Value) -> Result<Profile, &'static str> {
        Profile::of(&serde_json::from_value(json!({ "tlsSecurityProfile": value })).unwrap())
    }

    fn unasked() -> impl Future<Output = Found> {
        std::future::poll_fn(|_| panic!("the API server was asked"))
    }

    #[tokio::test]
    async fn flags_take_precedence_and_api_server_is_not_asked() {
        let (settled, _) = settle(&flags("VersionTLS13", ""), unasked()).await;
        assert_eq!(settled.tls.tls_min_version, "VersionTLS13");
        assert!(!settled.watched && !settled.from_profile);
        let (settled, _) = settle(&flags("", "TLS_RSA_WITH_AES_128_CBC_SHA"), unasked()).await;
        assert!(settled.tls.tls_cipher_suites.is_empty() && !settled.watched);
    }

    #[tokio::test]
    async fn invalid_flags_are_ignored_and_nothing_is_watched() {
        for wrong in [flags("bogus", ""), flags("VersionTLS13", "TLS_NONSENSE")] {
            let (settled, _) = settle(&wrong, async { Found::Unreadable }).await;
            assert!(settled.tls.tls_min_version.is_empty(), "{settled:?}");
            assert!(settled.tls.tls_cipher_suites.is_empty(), "{settled:?}");
            assert!(!settled.watched, "{settled:?}");
            let modern = profile(&json!({ "type": "Modern" }));
            let (settled, _) = settle(&wrong, async { Found::Profile(modern) }).await;
            assert_eq!(settled.tls.tls_min_version, "VersionTLS13");
            assert!(settled.from_profile && !settled.watched, "{settled:?}");
        }
    }

    #[tokio::test]
    async fn blank_flags_are_none() {
        let old = profile(&json!({ "type": "Old", "old": null })).unwrap();
        let found = Found::Profile(Ok(old));
        let (settled, _) = settle(&flags(" ", " "), async { found }).await;
        assert_eq!(settled.tls.tls_min_version, "VersionTLS10");
        assert!(settled.watched);
    }

    #[test]
    fn profiles_by_their_type() {
        let version = |value: serde_json::Value| profile(&value).unwrap().min_tls_version;
        assert_eq!(version(json!(null)), "VersionTLS12");
        assert_eq!(version(json!({})), "VersionTLS12");
        assert_eq!(version(json!({ "type": "Newest" })), "VersionTLS12");
        assert_eq!(version(json!({ "type": "Modern" })), "VersionTLS13");
        assert!(profile(&json!({ "type": "Custom" })).is_err());
        assert!(profile(&json!({ "type": "Custom", "custom": null })).is_err());
        let ciphers = ["ECDHE-RSA-AES128-GCM-SHA256", "AES128-SHA"];
        let custom = json!({ "ciphers": ciphers, "minTLSVersion": "VersionTLS12" });
        let custom = profile(&json!({ "type": "Custom", "custom": custom })).unwrap();
        let settings = custom.settings();
        assert_eq!(
            settings.tls_cipher_suites,
            "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"
        );
        let nonsense = json!({ "minTLSVersion": "VersionTLS99" });
        let nonsense = profile(&json!({ "type": "Custom", "custom": nonsense })).unwrap();
        assert!(nonsense.settings().tls_min_version.is_empty());
    }
}
