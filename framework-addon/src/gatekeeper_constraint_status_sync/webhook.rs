//! The watch of Gatekeeper's validating webhook.

use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use kube::Client;
use kube::api::Api;
use reeve_api::names::GATEKEEPER_WEBHOOK_CONFIGURATION as CONFIGURATION;
use reeve_runtime::object::ObjectKey;
use reeve_runtime::supervisor::Supervisor;
use reeve_runtime::watch::{Store, Watch};

use super::finding::WebhookValidation;

const ENTRY: &str = "validation.gatekeeper.sh";

/// The watch of Gatekeeper's webhook; clones share it.
#[derive(Clone)]
pub struct Webhook(Store<WebhookValidation>);

impl Webhook {
    /// Watches the one configuration, as the rights of the add-on allow no other. `on_change` is called after each change
    /// of the answer.
    pub fn start(
        client: &Client,
        on_change: impl Fn() + Send + 'static,
        tasks: &mut Supervisor,
    ) -> Self {
        let configurations: Api<_> = Api::all(client.clone());
        let watch = Watch::projected(configurations, |it| validation(&it));
        let watch = watch.fields(&format!("metadata.name={CONFIGURATION}"));
        let store = watch.store();
        let work = watch.run(tasks.stop(), move |change| {
            let (old, new) = change.valid();
            if old != new {
                on_change();
            }
        });
        tasks.spawn_infallible("the watch of Gatekeeper's webhook", work);
        Self(store)
    }

    /// Waits until the watch has delivered its first list.
    pub async fn wait_for_cache_sync(&self) {
        self.0.wait_for_cache_sync().await;
    }

    /// Whether the webhook validates objects.
    pub fn validates(&self) -> WebhookValidation {
        let known = self.0.get_valid(&ObjectKey::new("", CONFIGURATION));
        known.map_or(WebhookValidation::Disabled, |known| *known)
    }
}

/// Other entries of the configuration, such as that for the labels of namespaces, do not count.
fn validation(configuration: &ValidatingWebhookConfiguration) -> WebhookValidation {
    let mut entries = configuration.webhooks.iter().flatten();
    if entries.any(|entry| entry.name == ENTRY) {
        WebhookValidation::Enabled
    } else {
        WebhookValidation::Disabled
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::admissionregistration::v1::ValidatingWebhook;

    #[test]
    fn only_the_one_entry_counts() {
        let of = |names: &[&str]| {
            let entry = |name: &&str| ValidatingWebhook {
                name: (*name).to_owned(),
                ..ValidatingWebhook::default()
            };
            validation(&ValidatingWebhookConfiguration {
                webhooks: Some(names.iter().map(entry).collect()),
                ..ValidatingWebhookConfiguration::default()
            })
        };
        assert_eq!(
            of(&["check-ignore-label.gatekeeper.sh", ENTRY]),
            WebhookValidation::Enabled
        );
        let renamed = [
            "check-ignore-label.gatekeeper.sh",
            "not-validation.gatekeeper.sh",
        ];
        assert_eq!(of(&renamed), WebhookValidation::Disabled);
        assert_eq!(of(&[]), WebhookValidation::Disabled);
    }
}
