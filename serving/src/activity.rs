//! Whether a connection waits for its server or for its client, and since when.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::limits::{ClosedBecause, Limits};

/// The bytes that count as progress of a response. HTTP/2 sends fewer without one: pings and acknowledgements.
const PROGRESS: usize = 16 << 10;

/// The protocol of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    Http1,
    Http2,
}

/// What happens on a connection.
pub(crate) struct Activity {
    protocol: Protocol,
    state: Mutex<State>,
    /// The first byte of a request has arrived.
    pub(crate) head_started: Notify,
}

struct State {
    opened: Instant,
    /// The last request, or progress of a response.
    last: Instant,
    /// When the first byte of a head arrived that has not ended.
    head: Option<Instant>,
    /// Requests that have not been answered.
    requests: usize,
    /// Those of them that wait for the server.
    working: usize,
    had_request: bool,
    /// Bytes written since `last`.
    written: usize,
}

impl Activity {
    pub(crate) fn new(protocol: Protocol) -> Self {
        let now = Instant::now();
        Self {
            protocol,
            state: Mutex::new(State {
                opened: now,
                last: now,
                head: None,
                requests: 0,
                working: 0,
                had_request: false,
                written: 0,
            }),
            head_started: Notify::new(),
        }
    }

    /// The head of a request has arrived.
    pub(crate) fn begin(self: &Arc<Self>) -> Work {
        let mut state = self.state.lock();
        state.head = None;
        state.had_request = true;
        state.requests += 1;
        state.working += 1;
        state.touch();
        Work {
            activity: Arc::clone(self),
            waits_for: Mutex::new(WaitsFor::Server),
        }
    }

    /// Bytes have arrived.
    pub(crate) fn received(&self) {
        // In HTTP/2 there are bytes without a request: settings and pings.
        if self.protocol == Protocol::Http2 {
            return;
        }
        let mut state = self.state.lock();
        if state.requests == 0 && state.head.is_none() {
            state.head = Some(Instant::now());
            self.head_started.notify_one();
        }
    }

    /// Bytes were written to the socket.
    pub(crate) fn sent(&self, bytes: usize) {
        let mut state = self.state.lock();
        state.written = state.written.saturating_add(bytes);
        if state.written >= PROGRESS {
            state.touch();
        }
    }

    /// When the connection has to be closed unless something happens; nothing while the server works.
    pub(crate) fn deadline(&self, limits: &Limits) -> Option<(Instant, ClosedBecause)> {
        let state = self.state.lock();
        if state.working > 0 {
            return None;
        }
        let idle = (state.last + limits.idle, ClosedBecause::Idle);
        let first = (!state.had_request).then_some(state.opened);
        let head = first.or(state.head).map(|since| since + limits.head);
        let head = head.map(|at| (at, ClosedBecause::SlowHead));
        Some(head.map_or(idle, |head| if head.0 < idle.0 { head } else { idle }))
    }

    /// Since when the connection waits for its client; nothing while the server works.
    pub(crate) fn waits_since(&self) -> Option<Instant> {
        let state = self.state.lock();
        (state.working == 0).then_some(state.last)
    }
}

impl State {
    fn touch(&mut self) {
        self.last = Instant::now();
        self.written = 0;
    }
}

/// The side that a request waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WaitsFor {
    /// Its handler, or the next part of the response.
    Server,
    /// The next part of the request, or the reader of the response.
    Client,
}

/// A request until its response has ended.
pub(crate) struct Work {
    activity: Arc<Activity>,
    waits_for: Mutex<WaitsFor>,
}

impl Work {
    /// The request waits for this side from now on.
    pub(crate) fn wait_for(&self, side: WaitsFor) {
        let mut waits_for = self.waits_for.lock();
        if *waits_for == side {
            return;
        }
        *waits_for = side;
        let mut state = self.activity.state.lock();
        match side {
            WaitsFor::Server => state.working += 1,
            WaitsFor::Client => state.working = state.working.saturating_sub(1),
        }
        state.touch();
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        self.wait_for(WaitsFor::Client);
        let mut state = self.activity.state.lock();
        state.requests = state.requests.saturating_sub(1);
        state.touch();
    }
}
