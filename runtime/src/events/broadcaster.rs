//! Sends informational events to the API server: creates them one after another in the background, so that no status
//! and no compliance event ever waits behind one.

use std::future::pending;
use std::sync::Arc;

use k8s_openapi::api::events::v1::Event;
use kube::Client;
use parking_lot::Mutex;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use tokio::sync::Notify;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::SimilarEvents;
use super::correlation::EventCorrelator;
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
    "The number of informational events by what became of them: created, combined with others, failed or dropped",
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
        for fate in ["created", "combined", "failed", "dropped"] {
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
    holding: Arc<Holding>,
    metrics: EventBroadcasterMetrics,
}

/// The events that wait to be combined.
#[derive(Debug, Default)]
struct Holding {
    correlator: Mutex<EventCorrelator>,
    /// Notified when an event is held.
    held: Notify,
}

impl EventBroadcaster {
    /// Starts the task that creates them. `client` should have its own rate limit.
    pub fn start(client: Client, metrics: EventBroadcasterMetrics, tasks: &mut Supervisor) -> Self {
        let (queue, waiting) = channel(WAITING);
        let holding = Arc::<Holding>::default();
        let creator = EventCreator {
            client,
            holding: holding.clone(),
            metrics: metrics.clone(),
        };
        let work = creator.run(waiting, tasks.stop());
        tasks.spawn_infallible("informational events", work);
        Self {
            queue,
            holding,
            metrics,
        }
    }

    /// Queues an event or holds it for others like it, or counts it as dropped when too many wait.
    pub(super) fn send(&self, event: Event, similar: Option<SimilarEvents>) {
        let admitted = {
            let mut correlator = self.holding.correlator.lock();
            correlator.admit(event, similar, Instant::now())
        };
        let Some(event) = admitted else {
            self.metrics.count("combined");
            self.holding.held.notify_one();
            return;
        };
        if self.queue.try_send(Box::new(event)).is_err() {
            self.metrics.count("dropped");
        }
    }
}

/// Creates queued and combined events, one after another.
struct EventCreator {
    client: Client,
    holding: Arc<Holding>,
    metrics: EventBroadcasterMetrics,
}

impl EventCreator {
    async fn run(self, mut waiting: Receiver<Box<Event>>, stop: CancellationToken) {
        loop {
            let next_due = self.holding.correlator.lock().next_due();
            let due = async {
                match next_due {
                    Some(at) => sleep_until(at).await,
                    None => pending().await,
                }
            };
            tokio::select! {
                () = stop.cancelled() => return,
                event = waiting.recv() => match event {
                    // Boxed: most of the time nothing is created, and a request is large.
                    Some(event) => Box::pin(self.create(&event)).await,
                    // The senders live as long as the process works.
                    None => return stop.cancelled().await,
                },
                () = self.holding.held.notified() => {}
                () = due => {
                    let combined = self.holding.correlator.lock().take_due(Instant::now());
                    for event in combined {
                        Box::pin(self.create(&event)).await;
                    }
                }
            }
        }
    }

    async fn create(&self, event: &Event) {
        let namespace = event.metadata.namespace.as_deref().unwrap_or_default();
        match writes::create(&self.client, namespace, event).await {
            Ok(()) => self.metrics.count("created"),
            Err(error) => {
                self.metrics.count("failed");
                let (reason, about) = (&event.reason, &event.regarding);
                tracing::warn!(?reason, ?about, %error, "cannot create an informational event");
            }
        }
    }
}
