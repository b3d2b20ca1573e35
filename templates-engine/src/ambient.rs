//! Clock, randomness and host names: [`Ambient`] of this machine, and a deterministic one.

use std::net::ToSocketAddrs;

use jiff::Timestamp;
use jiff::tz::TimeZone;

pub use crate::function::Ambient;
use crate::function::Failure;

/// This machine's clock, zone, randomness and name service.
#[derive(Clone, Copy, Debug, Default)]
pub struct System;

impl Ambient for System {
    fn now(&mut self) -> Timestamp {
        Timestamp::now()
    }

    fn time_zone(&mut self) -> TimeZone {
        TimeZone::system()
    }

    fn random(&mut self, buffer: &mut [u8]) -> Result<(), Failure> {
        getrandom::fill(buffer)
            .map_err(|error| Failure::text(format!("no random bytes can be had: {error}")))
    }

    fn host_address(&mut self, name: &str) -> Option<String> {
        let mut addresses = (name, 0).to_socket_addrs().ok()?;
        addresses.next().map(|address| address.ip().to_string())
    }
}

/// A fixed clock and pseudo-random bytes, the same in every run: for replays and tests.
#[derive(Clone, Debug)]
pub struct Fixed {
    now: Timestamp,
    zone: TimeZone,
    state: u64,
}

impl Fixed {
    /// This moment in this zone, with random bytes that follow from the seed.
    pub fn new(now: Timestamp, zone: TimeZone, seed: u64) -> Self {
        Self {
            now,
            zone,
            state: seed | 1,
        }
    }
}

impl Ambient for Fixed {
    fn now(&mut self) -> Timestamp {
        self.now
    }

    fn time_zone(&mut self) -> TimeZone {
        self.zone.clone()
    }

    fn random(&mut self, buffer: &mut [u8]) -> Result<(), Failure> {
        for byte in buffer {
            self.state ^= self.state << 13;
            self.state ^= self.state >> 7;
            self.state ^= self.state << 17;
            *byte = self.state.to_be_bytes()[0];
        }
        Ok(())
    }

    fn host_address(&mut self, _: &str) -> Option<String> {
        None
    }
}
