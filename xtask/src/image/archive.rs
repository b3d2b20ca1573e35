//! The archive: an OCI image layout in a tar file, as `skopeo`, `podman`, `docker` and `ctr` read it.

use std::fmt::Write as _;

use anyhow::Result;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tar::Builder;

use super::Image;
use super::elf::Machine;
use super::layer::{Layer, USER, file};

/// The beginning of time: images that say when they were made are not the same twice.
const CREATED: &str = "1970-01-01T00:00:00Z";

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Something in the archive that others refer to by what it is.
struct Blob {
    kind: &'static str,
    content: Vec<u8>,
    digest: String,
}

impl Blob {
    fn new(kind: &'static str, content: Vec<u8>) -> Self {
        let digest = digest(&content);
        Self {
            kind,
            content,
            digest,
        }
    }

    fn descriptor(&self) -> Value {
        json!({ "mediaType": self.kind, "digest": self.digest, "size": self.content.len() })
    }
}

pub(super) fn write(layer: &Layer, machine: Machine) -> Result<Image> {
    let config = config(&digest(&layer.plain), machine);
    let config = Blob::new(
        "application/vnd.oci.image.config.v1+json",
        serde_json::to_vec(&config)?,
    );
    let layer = Blob::new(
        "application/vnd.oci.image.layer.v1.tar+gzip",
        layer.compressed.clone(),
    );
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": config.descriptor(),
        "layers": [layer.descriptor()],
        "annotations": labels(),
    });
    let manifest = Blob::new(
        "application/vnd.oci.image.manifest.v1+json",
        serde_json::to_vec(&manifest)?,
    );
    let mut named = manifest.descriptor();
    named["annotations"] = json!({ "org.opencontainers.image.ref.name": VERSION });
    named["platform"] = json!({ "architecture": machine.as_str(), "os": "linux" });
    let index = json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.index.v1+json",
        "manifests": [named],
    });

    let mut tar = Builder::new(Vec::new());
    let layout = json!({ "imageLayoutVersion": "1.0.0" });
    file(&mut tar, "oci-layout", 0o644, &serde_json::to_vec(&layout)?)?;
    file(&mut tar, "index.json", 0o644, &serde_json::to_vec(&index)?)?;
    for blob in [&manifest, &config, &layer] {
        let path = format!("blobs/{}", blob.digest.replace(':', "/"));
        file(&mut tar, &path, 0o644, &blob.content)?;
    }
    Ok(Image {
        archive: tar.into_inner()?,
        digest: manifest.digest,
    })
}

fn config(layer: &str, machine: Machine) -> Value {
    json!({
        "created": CREATED,
        "architecture": machine.as_str(),
        "os": "linux",
        "config": {
            "User": format!("{USER}:{USER}"),
            "Env": ["PATH=/usr/local/bin"],
            "Entrypoint": ["reeve"],
            "WorkingDir": "/",
            "Labels": labels(),
        },
        "rootfs": { "type": "layers", "diff_ids": [layer] },
        "history": [{ "created": CREATED, "created_by": "cargo xtask image" }],
    })
}

fn labels() -> Value {
    json!({
        "org.opencontainers.image.title": "reeve",
        "org.opencontainers.image.description": "Policy governance for Open Cluster Management",
        "org.opencontainers.image.version": VERSION,
        "org.opencontainers.image.licenses": "Apache-2.0",
    })
}

fn digest(content: &[u8]) -> String {
    let mut text = "sha256:".to_owned();
    for byte in Sha256::digest(content) {
        // Writing into a String cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}
