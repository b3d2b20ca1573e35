//! Planes, processes, Pods and Gatekeeper as tests use them.

mod components;
mod gatekeeper;
mod kubelet;
mod planes;
