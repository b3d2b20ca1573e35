//! The image's one layer: its files, in their order, with nothing left to chance.

use std::fmt::Write as _;
use std::io::Write as _;

use anyhow::{Context, Result};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::{Compression, GzBuilder};
use tar::{Builder, EntryType, Header};

/// Who the image runs as. A number, as `runAsNonRoot` knows no names.
pub(super) const USER: u64 = 65532;

/// Where the programs are.
const PROGRAMS: &str = "usr/local/bin";

/// The names of the program: a component each.
pub(super) const COMPONENTS: &[&str] = &[
    "config-policy-controller",
    "governance-policy-addon-controller",
    "governance-policy-framework-addon",
    "governance-policy-propagator",
];

const PASSWD: &str =
    "root:x:0:0:root:/:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/:/sbin/nologin\n";
const GROUP: &str = "root:x:0:\nnonroot:x:65532:\n";

/// A layer as it is stored, and as it is unpacked.
pub(super) struct Layer {
    pub(super) compressed: Vec<u8>,
    pub(super) plain: Vec<u8>,
}

pub(super) fn write(program: &[u8]) -> Result<Layer> {
    let mut tar = Builder::new(Vec::new());
    folder(&mut tar, "etc", 0o755)?;
    file(&mut tar, "etc/group", 0o644, GROUP.as_bytes())?;
    file(&mut tar, "etc/passwd", 0o644, PASSWD.as_bytes())?;
    folder(&mut tar, "etc/ssl", 0o755)?;
    folder(&mut tar, "etc/ssl/certs", 0o755)?;
    let authorities = authorities()?;
    file(
        &mut tar,
        "etc/ssl/certs/ca-certificates.crt",
        0o644,
        authorities.as_bytes(),
    )?;
    folder(&mut tar, "tmp", 0o1777)?;
    for parent in ["usr", "usr/local", PROGRAMS] {
        folder(&mut tar, parent, 0o755)?;
    }
    for component in COMPONENTS {
        link(&mut tar, &format!("{PROGRAMS}/{component}"), "reeve")?;
    }
    file(&mut tar, &format!("{PROGRAMS}/reeve"), 0o755, program)?;
    let plain = tar.into_inner().context("cannot end the layer")?;
    Ok(Layer {
        compressed: compress(&plain)?,
        plain,
    })
}

fn compress(plain: &[u8]) -> Result<Vec<u8>> {
    // Of no system and no time.
    let builder = GzBuilder::new().mtime(0).operating_system(255);
    let mut gzip = builder.write(Vec::new(), Compression::best());
    gzip.write_all(plain).context("cannot compress the layer")?;
    gzip.finish().context("cannot compress the layer")
}

/// Mozilla's certificate authorities, as the version of `webpki-root-certs` in `Cargo.lock` has them.
fn authorities() -> Result<String> {
    let mut text = String::new();
    for authority in webpki_root_certs::TLS_SERVER_ROOT_CERTS {
        text.push_str("-----BEGIN CERTIFICATE-----\n");
        let encoded = STANDARD.encode(authority.as_ref());
        for line in encoded.as_bytes().chunks(64) {
            writeln!(text, "{}", std::str::from_utf8(line)?)?;
        }
        text.push_str("-----END CERTIFICATE-----\n");
    }
    Ok(text)
}

/// The header of something that belongs to root and has no age.
pub(super) fn header(kind: EntryType, mode: u32, size: usize) -> Result<Header> {
    let mut header = Header::new_ustar();
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_size(u64::try_from(size)?);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(0);
    Ok(header)
}

pub(super) fn file(
    tar: &mut Builder<Vec<u8>>,
    path: &str,
    mode: u32,
    content: &[u8],
) -> Result<()> {
    let mut header = header(EntryType::Regular, mode, content.len())?;
    tar.append_data(&mut header, path, content)
        .with_context(|| format!("cannot add {path}"))
}

fn folder(tar: &mut Builder<Vec<u8>>, path: &str, mode: u32) -> Result<()> {
    let mut header = header(EntryType::Directory, mode, 0)?;
    tar.append_data(&mut header, format!("{path}/"), std::io::empty())
        .with_context(|| format!("cannot add {path}"))
}

fn link(tar: &mut Builder<Vec<u8>>, path: &str, to: &str) -> Result<()> {
    let mut header = header(EntryType::Symlink, 0o777, 0)?;
    tar.append_link(&mut header, path, to)
        .with_context(|| format!("cannot add {path}"))
}
