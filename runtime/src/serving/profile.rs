//! The cluster's TLS profile: a `ConfigMap` with the minimum version and the cipher suites of servers.
//!
//! Flags take precedence, then the `ConfigMap`, then the defaults. A running server cannot change its TLS settings,
//! so a change of the `ConfigMap` ends the process, to be restarted.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec,
};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Client;
use kube::api::{Api, PostParams};

use super::drift::Drift;
use super::tls::{self, TlsError};
use crate::flags::TlsArgs;
use crate::object::ObjectKey;
use crate::supervisor::Supervisor;
use crate::watch::Watch;

/// The `ConfigMap`'s name.
pub const TLS_PROFILE: &str = "ocm-tls-profile";
/// The timeout of each request at the start.
const TIMEOUT: Duration = Duration::from_secs(10);

type Data = BTreeMap<String, String>;

/// The effective TLS settings. `namespace` is the process's own; outside of a cluster there is none and no profile.
/// Otherwise the profile is watched from now on, and `tasks` are stopped when it changes.
pub async fn tls_settings(
    flags: &TlsArgs,
    client: &Client,
    namespace: Option<&str>,
    tasks: &mut Supervisor,
) -> Result<TlsArgs, TlsError> {
    tls::check(flags)?;
    let is_set = !flags.tls_min_version.is_empty() || !flags.tls_cipher_suites.is_empty();
    let Some(namespace) = namespace.filter(|_| !is_set) else {
        return Ok(flags.clone());
    };
    for verb in ["list", "watch"] {
        let asked = tokio::time::timeout(TIMEOUT, may(client, verb, namespace)).await;
        match asked {
            Ok(Ok(true)) => {}
            Ok(Ok(false)) => {
                tracing::error!(
                    "missing permission to list/watch the {TLS_PROFILE} ConfigMap in namespace {namespace}"
                );
                return Ok(TlsArgs::default());
            }
            Ok(Err(error)) => return Ok(without_profile(&error)),
            Err(elapsed) => return Ok(without_profile(&elapsed)),
        }
    }
    let drift = watch(client, namespace, tasks);
    if let Err(elapsed) = tokio::time::timeout(TIMEOUT, drift.wait_for_cache_sync()).await {
        // If the profile is created later, the process restarts with it.
        drift.started_with(None);
        return Ok(without_profile(&elapsed));
    }
    Ok(settings(drift.at_start().as_deref()))
}

fn without_profile(reason: &dyn std::fmt::Display) -> TlsArgs {
    tracing::error!(%reason, "cannot read the {TLS_PROFILE} ConfigMap: the default TLS settings are used");
    TlsArgs::default()
}

async fn may(client: &Client, verb: &str, namespace: &str) -> Result<bool, kube::Error> {
    let attributes = ResourceAttributes {
        verb: Some(verb.to_owned()),
        resource: Some("configmaps".to_owned()),
        name: Some(TLS_PROFILE.to_owned()),
        namespace: Some(namespace.to_owned()),
        ..ResourceAttributes::default()
    };
    let review = SelfSubjectAccessReview {
        spec: SelfSubjectAccessReviewSpec {
            resource_attributes: Some(attributes),
            ..SelfSubjectAccessReviewSpec::default()
        },
        ..SelfSubjectAccessReview::default()
    };
    let reviews: Api<SelfSubjectAccessReview> = Api::all(client.clone());
    let review = reviews.create(&PostParams::default(), &review).await?;
    Ok(review.status.is_some_and(|status| status.allowed))
}

fn watch(client: &Client, namespace: &str, tasks: &mut Supervisor) -> Drift<Data> {
    let profiles: Api<_> = Api::namespaced(client.clone(), namespace);
    let watch = Watch::projected(profiles, |profile: ConfigMap| {
        profile.data.unwrap_or_default()
    })
    .fields(&format!("metadata.name={TLS_PROFILE}"));
    let changed = || {
        tracing::info!("the {TLS_PROFILE} ConfigMap has changed: stopping, to start with it");
    };
    Drift::watch(
        watch,
        ObjectKey::new(namespace, TLS_PROFILE),
        changed,
        tasks,
    )
}

/// The settings of a profile. Those that the TLS library does not support are left out.
fn settings(profile: Option<&Data>) -> TlsArgs {
    let Some(profile) = profile else {
        return TlsArgs::default();
    };
    let text = |key| profile.get(key).map(|text| text.trim().to_owned());
    let asked = TlsArgs {
        tls_min_version: text("minTLSVersion").unwrap_or_default(),
        tls_cipher_suites: text("cipherSuites").unwrap_or_default(),
    };
    let Err(error) = tls::check(&asked) else {
        return asked;
    };
    tracing::error!(%error, "the {TLS_PROFILE} ConfigMap cannot be followed in full");
    let only_version = TlsArgs {
        tls_cipher_suites: tls::known(&asked.tls_cipher_suites),
        ..asked
    };
    match tls::check(&only_version) {
        Ok(()) => only_version,
        Err(_) => TlsArgs::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(version: &str, suites: &str) -> TlsArgs {
        let data = [("minTLSVersion", version), ("cipherSuites", suites)];
        let data = data.map(|(key, value)| (key.to_owned(), value.to_owned()));
        settings(Some(&BTreeMap::from(data)))
    }

    #[test]
    fn unsupported_settings_of_profile_are_left_out() {
        let both = "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,TLS_RSA_WITH_AES_128_CBC_SHA";
        let some = asked("VersionTLS12", both);
        assert_eq!(some.tls_min_version, "VersionTLS12");
        assert_eq!(
            some.tls_cipher_suites,
            "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"
        );
        assert_eq!(asked("TLSv1.3", "").tls_min_version, "TLSv1.3");
        assert_eq!(asked("nonsense", "").tls_min_version, "");
        assert_eq!(settings(None).tls_min_version, "");
    }
}
