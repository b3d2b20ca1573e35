//! A Kubernetes API server in memory. It knows nothing of policies: it stores objects of the built-in kinds and of
//! custom resources, and answers as a kube-apiserver does, to a client in the same process or over loopback HTTPS.

pub mod failure;
pub mod patch;
pub mod schema;
