//! The engine as a whole: what it accepts, refuses, computes and bounds.

mod acceptance;
mod hostile;
mod negation;
mod numbers;
mod sprintf;
mod support;
