//! What the propagator promises whatever happens.

fn main() {}
