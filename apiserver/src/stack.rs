//! Room for deep objects on the stack. What walks an object recurses, also what copies and drops it, and an object has
//! up to 10,000 levels. The end of a stack is the end of the process, so everything that meets objects runs where there
//! is enough of it: on a thread with a large stack as it is, on any other on a stack of its own. Pages of a stack that
//! are not touched cost nothing.

use std::pin::Pin;
use std::task::{Context, Poll};

use futures::Stream;

/// The stack that is made where there is too little, in bytes: 25 KiB for a level.
const LARGE: usize = 256 << 20;
/// The stack that must be left to continue on it.
const ENOUGH: usize = 192 << 20;

/// Does something with enough stack for a deep object.
pub(crate) fn large<T>(work: impl FnOnce() -> T) -> T {
    stacker::maybe_grow(ENOUGH, LARGE, work)
}

/// A future or stream that runs, and ends, with enough stack for a deep object.
pub(crate) struct LargeStack<T>(Option<Pin<Box<T>>>);

impl<T> LargeStack<T> {
    pub(crate) fn new(inner: T) -> Self {
        Self(Some(Box::pin(inner)))
    }
}

impl<F: Future> Future for LargeStack<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let Some(inner) = &mut self.0 else {
            return Poll::Pending;
        };
        large(|| inner.as_mut().poll(context))
    }
}

impl<S: Stream> Stream for LargeStack<S> {
    type Item = S::Item;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<S::Item>> {
        let Some(inner) = &mut self.0 else {
            return Poll::Ready(None);
        };
        large(|| inner.as_mut().poll_next(context))
    }
}

impl<T> Drop for LargeStack<T> {
    fn drop(&mut self) {
        if let Some(inner) = self.0.take() {
            large(|| drop(inner));
        }
    }
}
