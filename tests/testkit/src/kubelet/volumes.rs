//! The volumes of a Pod: what is in them, and how it gets onto the disk.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::{
    DownwardAPIVolumeFile, KeyToPath, Pod, ServiceAccountTokenProjection, Volume, VolumeProjection,
};
use kube::ResourceExt as _;

use super::Blocked;
use super::environment::field;
use super::sources::{Data, Sources};

/// The tokens that a Pod has been given, by volume and path.
pub(super) type Tokens = BTreeMap<(String, String), String>;

/// What is in a volume.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// Files that the kubelet keeps as the cluster has them.
    Files(Data),
    /// A folder for the containers to write into.
    Scratch,
}

/// The tokens that a Pod's volumes want: the volume, and what of it.
pub(super) fn wanted_tokens(pod: &Pod) -> Vec<(String, ServiceAccountTokenProjection)> {
    let mut wanted = Vec::new();
    for volume in volumes(pod) {
        let sources = volume.projected.iter().flat_map(|all| all.sources.iter());
        for source in sources.flatten() {
            if let Some(token) = &source.service_account_token {
                wanted.push((volume.name.clone(), token.clone()));
            }
        }
    }
    wanted
}

pub(super) fn volumes(pod: &Pod) -> impl Iterator<Item = &Volume> {
    let spec = pod.spec.iter();
    spec.flat_map(|spec| spec.volumes.iter().flatten())
}

/// What a volume has to hold now.
///
/// # Errors
/// When something is not there and must be.
pub(super) fn content(
    pod: &Pod,
    volume: &Volume,
    sources: &Sources,
    tokens: &Tokens,
) -> Result<Content, Blocked> {
    let namespace = pod.namespace().unwrap_or_default();
    if volume.empty_dir.is_some() {
        return Ok(Content::Scratch);
    }
    if let Some(secret) = &volume.secret {
        let name = secret.secret_name.as_deref().unwrap_or_default();
        let data = sources.secret(&namespace, name);
        let place = format!("secret {namespace}/{name}");
        return chosen(data, secret.items.as_deref(), secret.optional, &place).map(Content::Files);
    }
    if let Some(map) = &volume.config_map {
        let data = sources.config_map(&namespace, &map.name);
        let place = format!("configmap {namespace}/{}", map.name);
        return chosen(data, map.items.as_deref(), map.optional, &place).map(Content::Files);
    }
    if let Some(downward) = &volume.downward_api {
        return fields(pod, downward.items.iter().flatten()).map(Content::Files);
    }
    let Some(projected) = &volume.projected else {
        return Err(Blocked::creating(format!(
            "the process kubelet does not know the kind of the volume {}",
            volume.name
        )));
    };
    let mut all = Data::new();
    for source in projected.sources.iter().flatten() {
        all.extend(projection(pod, &volume.name, source, sources, tokens)?);
    }
    Ok(Content::Files(all))
}

fn projection(
    pod: &Pod,
    volume: &str,
    source: &VolumeProjection,
    sources: &Sources,
    tokens: &Tokens,
) -> Result<Data, Blocked> {
    let namespace = pod.namespace().unwrap_or_default();
    if let Some(secret) = &source.secret {
        let data = sources.secret(&namespace, &secret.name);
        let place = format!("secret {namespace}/{}", secret.name);
        return chosen(data, secret.items.as_deref(), secret.optional, &place);
    }
    if let Some(map) = &source.config_map {
        let data = sources.config_map(&namespace, &map.name);
        let place = format!("configmap {namespace}/{}", map.name);
        return chosen(data, map.items.as_deref(), map.optional, &place);
    }
    if let Some(downward) = &source.downward_api {
        return fields(pod, downward.items.iter().flatten());
    }
    if let Some(token) = &source.service_account_token {
        let key = (volume.to_owned(), token.path.clone());
        let found = tokens.get(&key);
        let found = found.ok_or_else(|| Blocked::creating("the token is not there yet"))?;
        let file = (token.path.clone(), found.clone().into_bytes());
        return Ok(Data::from([file]));
    }
    Err(Blocked::creating(format!(
        "the process kubelet does not know a source of the volume {volume}"
    )))
}

/// The files that a Secret or a `ConfigMap` gives.
fn chosen(
    data: Option<Data>,
    items: Option<&[KeyToPath]>,
    optional: Option<bool>,
    place: &str,
) -> Result<Data, Blocked> {
    let optional = optional == Some(true);
    let Some(data) = data else {
        return if optional {
            Ok(Data::new())
        } else {
            Err(Blocked::creating(format!("{place} not found")))
        };
    };
    let Some(items) = items.filter(|items| !items.is_empty()) else {
        return Ok(data);
    };
    let mut files = Data::new();
    for item in items {
        match data.get(&item.key) {
            Some(value) => {
                files.insert(item.path.clone(), value.clone());
            }
            None if optional => {}
            None => {
                let key = &item.key;
                return Err(Blocked::creating(format!("{place} has no key {key}")));
            }
        }
    }
    Ok(files)
}

fn fields<'a>(
    pod: &Pod,
    items: impl Iterator<Item = &'a DownwardAPIVolumeFile>,
) -> Result<Data, Blocked> {
    let mut files = Data::new();
    for item in items {
        if let Some(of) = &item.field_ref {
            files.insert(item.path.clone(), field(pod, of)?.into_bytes());
        }
    }
    Ok(files)
}

/// Brings a volume onto the disk, or up to date. All files change at once, as in a real Pod: they are links through
/// one link to the folder that holds this version.
pub(super) fn write(folder: &Path, content: &Content, version: u64) -> Result<()> {
    let what = || format!("writing the volume {}", folder.display());
    fs::create_dir_all(folder).with_context(what)?;
    let Content::Files(files) = content else {
        let open = fs::Permissions::from_mode(0o777);
        return fs::set_permissions(folder, open).with_context(what);
    };
    let name = format!("..{version}");
    let fresh = folder.join(&name);
    for (path, bytes) in files {
        let file = fresh.join(path);
        if let Some(parent) = file.parent() {
            fs::create_dir_all(parent).with_context(what)?;
        }
        fs::write(&file, bytes).with_context(what)?;
    }
    fs::create_dir_all(&fresh).with_context(what)?;
    let data = folder.join("..data");
    let before = fs::read_link(&data).ok();
    let next = folder.join("..data_next");
    symlink(&name, &next).with_context(what)?;
    fs::rename(&next, &data).with_context(what)?;
    let tops: std::collections::BTreeSet<&str> = files
        .keys()
        .filter_map(|path| path.split('/').next())
        .collect();
    for top in &tops {
        let link = folder.join(top);
        if fs::symlink_metadata(&link).is_err() {
            symlink(Path::new("..data").join(top), &link).with_context(what)?;
        }
    }
    for entry in fs::read_dir(folder).with_context(what)?.flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if !name.starts_with("..") && !tops.contains(name.as_ref()) {
            fs::remove_file(entry.path()).with_context(what)?;
        }
    }
    if let Some(before) = before {
        fs::remove_dir_all(folder.join(before)).with_context(what)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(folder: &Path) -> Data {
        let entries = fs::read_dir(folder).unwrap().flatten();
        let visible =
            entries.filter(|entry| !entry.file_name().to_string_lossy().starts_with(".."));
        let pairs = visible.map(|entry| {
            let name = entry.file_name().into_string().unwrap();
            (name, fs::read(entry.path()).unwrap())
        });
        pairs.collect()
    }

    #[test]
    fn a_volume_changes_as_a_whole() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("volume");
        let files = |pairs: &[(&str, &str)]| -> Data {
            let pairs = pairs.iter();
            pairs
                .map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec()))
                .collect()
        };
        let versions = [
            files(&[("a", "1"), ("b", "1")]),
            files(&[("b", "2"), ("c", "2")]),
            files(&[]),
        ];
        for (version, data) in (1..).zip(versions) {
            write(&folder, &Content::Files(data.clone()), version).unwrap();
            assert_eq!(read(&folder), data);
            let here = fs::read_link(folder.join("..data")).unwrap();
            assert_eq!(here, Path::new(&format!("..{version}")));
        }
    }

    #[test]
    fn a_missing_secret_blocks_unless_it_is_optional() {
        let blocked = chosen(None, None, None, "secret a/b").err().unwrap();
        assert_eq!(
            (blocked.reason, blocked.message.as_str()),
            ("ContainerCreating", "secret a/b not found")
        );
        assert_eq!(chosen(None, None, Some(true), "").ok(), Some(Data::new()));
    }
}
