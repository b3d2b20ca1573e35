//! Sends informational events to the API server: creates them one after another in the background, so that no status
//! and no compliance event ever waits behind one.

use k8s_openapi::api::events::v1::Event;
use kube::Client;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio_util::sync::CancellationToken;

use crate::metrics::{Description, Metrics};
use crate::supervisor::Supervisor;
use crate::writes;

/// The capacity of the queue. At five a second, the slowest client's rate, that is over three minutes of events;
/// older ones are of no use.
const WAITING: usize = 1_000;

/// Counts informational events.
pub const INFORMATIONAL_EVENTS: Description = Description::counter(
    "reeve_informational_events",
    &["fate"],
    "The number of informational events by what became of them: created, failed or dropped",
);

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Fate {
    fate: &'static str,
}

/// Counts the sent and dropped events; clones share it.
#[derive(Clone, Default)]
pub struct EventBroadcasterMetrics(Family<Fate, Counter>);

impl EventBroadcasterMetrics {
    /// The series, in a process's registry.
    pub fn new(metrics: &Metrics) -> Self {
        let ours = Self::default();
        metrics.register(&INFORMATIONAL_EVENTS, ours.0.clone());
        for fate in ["created", "failed", "dropped"] {
            let _ = ours.0.get_or_create(&Fate { fate });
        }
        ours
    }

    fn count(&self, fate: &'static str) {
        self.0.get_or_create(&Fate { fate }).inc();
    }
}

/// Takes informational events for one cluster; clones share the queue.
#[derive(Clone)]
pub struct EventBroadcaster {
    /// Boxed: a queue allocates several slots up front, and an event is large.
    queue: Sender<Box<Event>>,
    metrics: EventBroadcasterMetrics,
}

impl EventBroadcaster {
    /// Starts the task that creates them. `client` should have its own rate limit.
    pub fn start(client: Client, metrics: EventBroadcasterMetrics, tasks: &mut Supervisor) -> Self {
        let (queue, waiting) = channel(WAITING);
        let work = create(client, waiting, metrics.clone(), tasks.stop());
        tasks.spawn_infallible("informational events", work);
        Self { queue, metrics }
    }

    /// Queues an event, or counts it as dropped when too many wait.
    pub(crate) fn send(&self, event: Event) {
        if self.queue.try_send(Box::new(event)).is_err() {
            self.metrics.count("dropped");
        }
    }
}

async fn create(
    client: Client,
    mut waiting: Receiver<Box<Event>>,
    metrics: EventBroadcasterMetrics,
    stop: CancellationToken,
) {
    loop {
        let event = tokio::select! {
            () = stop.cancelled() => return,
            event = waiting.recv() => event,
        };
        // The senders live as long as the process works.
        let Some(event) = event else {
            return stop.cancelled().await;
        };
        let namespace = event.metadata.namespace.as_deref().unwrap_or_default();
        match writes::create(&client, namespace, &*event).await {
            Ok(()) => metrics.count("created"),
            Err(error) => {
                metrics.count("failed");
                let (reason, about) = (&event.reason, &event.regarding);
                tracing::warn!(?reason, ?about, %error, "cannot create an informational event");
            }
        }
    }
}
