//! The cluster's TLS profile: a `ConfigMap` that says how servers are to speak TLS.
//!
//! Flags come first, then the `ConfigMap`, then the defaults. TLS settings cannot change in a
//! server that runs, so a change of the `ConfigMap` ends the process, to be started again.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec,
};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Client;
use kube::api::{Api, PostParams};

use super::tls::{self, TlsError};
use crate::flags::TlsArgs;
use crate::object::ObjectKey;
use crate::supervisor::Supervisor;
use crate::watch::{Store, Watch};

/// The `ConfigMap`'s name.
pub const TLS_PROFILE: &str = "ocm-tls-profile";
/// How long each question to the API server may take at the start.
const PATIENCE: Duration = Duration::from_secs(10);

type Data = BTreeMap<String, String>;
/// What the settings were taken from, once that is known.
type AtStart = OnceLock<Option<Arc<Data>>>;

/// The TLS settings in force. `namespace` is the process's own; outside of a cluster there is none
/// and no profile. Otherwise the profile is watched from now on, and `tasks` are stopped when it
/// changes.
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
        let asked = tokio::time::timeout(PATIENCE, may(client, verb, namespace)).await;
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
    let (store, at_start) = watch(client, namespace, tasks);
    if let Err(elapsed) = tokio::time::timeout(PATIENCE, store.ready()).await {
        // If there is one after all, the process starts again with it.
        at_start.get_or_init(|| None);
        return Ok(without_profile(&elapsed));
    }
    let profile = at_start.get_or_init(|| current(&store, namespace));
    Ok(settings(profile.as_deref()))
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

/// Watches the profile and stops all tasks when its data is not what the first list showed.
fn watch(client: &Client, namespace: &str, tasks: &mut Supervisor) -> (Store<Data>, Arc<AtStart>) {
    let profiles: Api<_> = Api::namespaced(client.clone(), namespace);
    let watch = Watch::projected(profiles, |profile: ConfigMap| {
        profile.data.unwrap_or_default()
    })
    .fields(&format!("metadata.name={TLS_PROFILE}"));
    let store = watch.store();
    let at_start: Arc<AtStart> = Arc::default();
    let compare = {
        let (store, stop, namespace) = (store.clone(), tasks.stop(), namespace.to_owned());
        move |at_start: &Option<Arc<Data>>| {
            if current(&store, &namespace) != *at_start && !stop.is_cancelled() {
                tracing::info!(
                    "the {TLS_PROFILE} ConfigMap has changed: stopping, to start with it"
                );
                stop.cancel();
            }
        }
    };
    let (known, compare_later) = (Arc::clone(&at_start), compare.clone());
    let run = watch.run(tasks.stop(), move |_| {
        if let Some(at_start) = known.get() {
            compare_later(at_start);
        }
    });
    tasks.spawn_infallible("the watch of the TLS profile", run);
    let (first, namespace) = (store.clone(), namespace.to_owned());
    let (started, stop) = (Arc::clone(&at_start), tasks.stop());
    tasks.spawn_infallible("the first look at the TLS profile", async move {
        tokio::select! { () = stop.cancelled() => return, () = first.ready() => {} }
        let seen = started.get_or_init(|| current(&first, &namespace));
        // What changed since then was compared with nothing.
        compare(seen);
        stop.cancelled().await;
    });
    (store, at_start)
}

fn current(store: &Store<Data>, namespace: &str) -> Option<Arc<Data>> {
    store.get_valid(&ObjectKey::new(namespace, TLS_PROFILE))
}

/// What a profile asks for, so far as it can be had. Nobody can be told that it cannot.
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
    fn a_profile_is_followed_as_far_as_it_can_be() {
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
