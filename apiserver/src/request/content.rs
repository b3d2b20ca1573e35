//! Reads the body of an authorized request.

use std::time::Duration;

use bytes::Bytes;
use futures::future::BoxFuture;
use http_body::Body;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use reeve_serving::{BodyError, Budget, Reservation};

use super::Transport;
use crate::identity::Identity;
use crate::status_error::StatusError;

/// The body of a request, of any client.
pub(crate) type RequestBody = UnsyncBoxBody<Bytes, Box<dyn std::error::Error + Send + Sync>>;

/// The limits of the bodies of requests.
#[derive(Clone, Copy, Debug)]
pub struct BodyLimits {
    /// The largest body in bytes.
    pub largest: usize,
    /// The bytes of all bodies of clients elsewhere, from before they are read until they are answered.
    pub total: usize,
    /// The part of `total` that one user may have.
    pub per_user: usize,
    /// How long a request waits for its part.
    pub wait: Duration,
}

impl Default for BodyLimits {
    fn default() -> Self {
        Self {
            largest: 3 << 20,
            total: 64 << 20,
            per_user: 16 << 20,
            wait: Duration::from_secs(10),
        }
    }
}

/// Reads bodies within the limits.
pub(crate) struct BodyReader {
    limits: BodyLimits,
    budget: Budget<String>,
}

/// A body in memory.
#[derive(Default)]
pub(crate) struct Content {
    pub(crate) bytes: Bytes,
    _reservation: Option<Reservation>,
}

impl BodyReader {
    pub(crate) fn new(limits: BodyLimits) -> Self {
        Self {
            limits,
            budget: Budget::new(limits.total, limits.per_user),
        }
    }

    /// Reads the body of a user's request.
    pub(crate) async fn read(
        &self,
        body: RequestBody,
        user: &Identity,
        transport: Transport,
    ) -> Result<Content, StatusError> {
        let largest = self.limits.largest;
        let declared = body.size_hint();
        if declared.lower() > u64::try_from(largest).unwrap_or(u64::MAX) {
            return Err(StatusError::too_large(largest));
        }
        let mut reservation = None;
        // The body of a client in this process is in memory already.
        if transport == Transport::Remote && !body.is_end_stream() {
            let declared = declared.exact().and_then(|size| usize::try_from(size).ok());
            let bytes = declared.unwrap_or(largest);
            let reserving = self.budget.reserve(user.user.clone(), bytes);
            let reserved = tokio::time::timeout(self.limits.wait, reserving).await;
            let reserved = reserved.ok().flatten();
            reservation = Some(reserved.ok_or_else(StatusError::too_many_requests)?);
        }
        // Boxed with its bounds: rustc 1.95 cannot prove that the whole future is Send.
        let collecting: BoxFuture<'_, _> = Box::pin(Limited::new(body, largest).collect());
        let collected = collecting.await;
        let bytes = collected.map_err(|error| self.unread(&*error))?.to_bytes();
        if let Some(reservation) = &mut reservation {
            reservation.shrink_to(bytes.len());
        }
        Ok(Content {
            bytes,
            _reservation: reservation,
        })
    }

    fn unread(&self, error: &(dyn std::error::Error + Send + Sync + 'static)) -> StatusError {
        if error.is::<LengthLimitError>() {
            return StatusError::too_large(self.limits.largest);
        }
        match error.downcast_ref::<BodyError>() {
            Some(BodyError::Timeout) => StatusError::slow_body(),
            _ => StatusError::bad_request(format!("unable to read the request body: {error}")),
        }
    }
}

/// The bytes of an unread body that are discarded, and the time for that. Otherwise a client that is still sending would
/// find its connection reset instead of the response.
const DISCARDED: usize = 256 << 10;
const DISCARDING: Duration = Duration::from_secs(1);

/// Discards the beginning of a body.
pub(crate) async fn discard(mut body: RequestBody) {
    let reading = async {
        let mut left = DISCARDED;
        while let Some(Ok(frame)) = body.frame().await {
            let length = frame.data_ref().map_or(0, Bytes::len);
            match left.checked_sub(length) {
                Some(rest) => left = rest,
                None => return,
            }
        }
    };
    let _ = tokio::time::timeout(DISCARDING, reading).await;
}
