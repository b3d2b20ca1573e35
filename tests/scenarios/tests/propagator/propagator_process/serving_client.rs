//! Certificates of servers, and clients that trust them.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use http::{HeaderMap, Request};
use k8s_openapi::ByteString;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, SupportedProtocolVersion};
use tempfile::TempDir;

/// A folder with `tls.crt` and `tls.key` of a server on this machine, its own authority.
pub(crate) struct Certificate {
    folder: TempDir,
    pub(crate) pem: String,
}

impl Certificate {
    pub(crate) fn new() -> Result<Self> {
        let mut made = Self {
            folder: tempfile::tempdir()?,
            pem: String::new(),
        };
        made.renew()?;
        Ok(made)
    }

    /// Puts another certificate in its place.
    pub(crate) fn renew(&mut self) -> Result<()> {
        let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()])?;
        let folder = self.folder.path();
        fs::write(folder.join("tls.key"), made.signing_key.serialize_pem())?;
        self.pem = made.cert.pem();
        fs::write(folder.join("tls.crt"), &self.pem)?;
        Ok(())
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn der(&self) -> Result<CertificateDer<'static>> {
        Ok(CertificateDer::from_pem_slice(self.pem.as_bytes())?)
    }

    /// What a webhook configuration calls `caBundle`.
    pub(crate) fn bundle(&self) -> ByteString {
        ByteString(self.pem.clone().into_bytes())
    }

    /// Sends a request to the server on a port, and reports what it answers: code, head and body.
    pub(crate) async fn send(
        &self,
        port: u16,
        request: Request<Vec<u8>>,
    ) -> Result<(u16, HeaderMap, String)> {
        let mut config = kube::Config::new(format!("https://127.0.0.1:{port}").parse()?);
        config.root_cert = Some(vec![self.der()?.to_vec()]);
        config.default_retry = false;
        let client = kube::Client::try_from(config)?;
        let (head, body) = request.into_parts();
        let request = Request::from_parts(head, kube::client::Body::from(body));
        let answer = client.send(request).await?;
        let (head, body) = answer.into_parts();
        let body = body.collect_bytes().await?;
        let body = String::from_utf8_lossy(&body).into_owned();
        Ok((head.status.as_u16(), head.headers, body))
    }

    /// Speaks one version of TLS to the server on a port.
    pub(crate) async fn handshake(
        &self,
        port: u16,
        version: &'static SupportedProtocolVersion,
    ) -> Result<()> {
        let mut roots = RootCertStore::empty();
        roots.add(self.der()?)?;
        let config = ClientConfig::builder_with_protocol_versions(&[version])
            .with_root_certificates(roots)
            .with_no_client_auth();
        let name = ServerName::try_from("127.0.0.1")?;
        let mut client = ClientConnection::new(Arc::new(config), name)?;
        let shaken = tokio::task::spawn_blocking(move || {
            let mut stream = std::net::TcpStream::connect(("127.0.0.1", port))?;
            while client.is_handshaking() {
                client.complete_io(&mut stream)?;
            }
            Ok::<_, std::io::Error>(())
        });
        shaken.await?.context("the handshake failed")
    }
}
