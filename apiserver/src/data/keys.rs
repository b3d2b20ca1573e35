//! Keys that outlive the process: the authority's, and the one that signs tokens.

use std::io::Write as _;
use std::path::Path;

use super::files::{put_file, text};
use super::{DataError, Folder};
use crate::meta;
use crate::pki::Authority;

/// The authority of a folder: a new one if it has none.
pub(super) fn authority(folder: &Path) -> Result<Authority, DataError> {
    let (certificate, key) = (folder.join("authority.crt"), folder.join("authority.key"));
    // The key is written first: a key without a certificate was never used.
    let Some(pem) = text(&certificate)? else {
        let authority = Authority::new()?;
        put_file(&key, |file| file.write_all(authority.key().as_bytes()))?;
        put_file(&certificate, |file| {
            file.write_all(authority.pem().as_bytes())
        })?;
        return Ok(authority);
    };
    let key = text(&key)?.ok_or(DataError::Missing { path: key })?;
    Ok(Authority::read(&pem, &key)?)
}

/// The key that signs tokens. It is created in a new folder.
pub(crate) fn secret(folder: &Folder) -> Result<String, DataError> {
    let path = folder.path.join("tokens.key");
    match text(&path)? {
        Some(secret) if !secret.is_empty() => Ok(secret),
        Some(_) => Err(DataError::Damaged {
            path,
            offset: 0,
            why: "it is empty".to_owned(),
        }),
        None => {
            let secret = meta::secret()?;
            put_file(&path, |file| file.write_all(secret.as_bytes()))?;
            Ok(secret)
        }
    }
}
