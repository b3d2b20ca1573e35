//! What a failed test leaves behind: the whole logs of all processes, and every object of the control planes.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::SystemTime;

use anyhow::{Context, Result};
use kube::api::ListParams;
use kube::core::{ApiResource, GroupVersion};
use kube::discovery::Discovery;
use kube::{Api, Client};
use serde_json::Value;

use crate::{Object, yaml};

/// The folder of all logs, if they are kept.
static LOGS: OnceLock<PathBuf> = OnceLock::new();

/// How many logs there are: processes of one name have logs of their own.
static COUNT: AtomicUsize = AtomicUsize::new(0);

static PLANES: Mutex<Vec<RunningPlane>> = Mutex::new(Vec::new());

#[derive(Clone)]
struct RunningPlane {
    /// Distinguishes planes of one name.
    number: usize,
    name: &'static str,
    client: Client,
}

/// Has the logs of all processes that are started from now on written into a folder, where they stay when their processes
/// and planes are gone. Only the first call counts.
///
/// # Errors
/// When the folder cannot be created.
pub fn keep_logs(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("creating {}", folder.display()))?;
    LOGS.get_or_init(|| folder.to_owned());
    Ok(())
}

/// Makes `log` a link to a file in the folder of all logs, if they are kept and it does not exist.
pub(crate) fn keep_log(name: &str, log: &Path) -> Result<()> {
    let Some(folder) = LOGS.get() else {
        return Ok(());
    };
    if log.symlink_metadata().is_ok() {
        return Ok(());
    }
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let kept = folder.join(format!("{number:03}-{}.log", file_name(name)));
    symlink(kept, log).with_context(|| format!("linking {}", log.display()))
}

/// A name as that of a file.
pub fn file_name(name: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    name.chars()
        .map(|letter| if is_plain(letter) { letter } else { '-' })
        .collect()
}

/// Writes into a folder the logs that have grown since a time, and every object of each plane that runs.
///
/// # Errors
/// When the folder cannot be written. A plane that does not answer is a sentence in its file.
pub async fn collect(folder: &Path, since: SystemTime) -> Result<()> {
    let logs = folder.join("logs");
    fs::create_dir_all(&logs).with_context(|| format!("creating {}", logs.display()))?;
    link_logs(&logs, since)?;
    let planes = planes().clone();
    for plane in planes {
        let name = format!("objects-{}-{}.yaml", file_name(plane.name), plane.number);
        let file = folder.join(name);
        let text = match all_objects(plane.client).await {
            Ok(text) => text,
            Err(error) => format!("# {error:#}\n"),
        };
        fs::write(&file, text).with_context(|| format!("writing {}", file.display()))?;
    }
    Ok(())
}

/// Links and not copies: a log may have hundreds of megabytes. `folder` is beside the folder of all logs.
fn link_logs(folder: &Path, since: SystemTime) -> Result<()> {
    let Some(kept) = LOGS.get() else {
        return Ok(());
    };
    let entries = fs::read_dir(kept).with_context(|| format!("reading {}", kept.display()))?;
    for entry in entries {
        let entry = entry.context("reading the folder of the logs")?;
        let modified = entry.metadata().and_then(|metadata| metadata.modified());
        if modified.is_ok_and(|modified| modified >= since) {
            let link = folder.join(entry.file_name());
            fs::hard_link(entry.path(), &link)
                .with_context(|| format!("linking {}", link.display()))?;
        }
    }
    Ok(())
}

/// Every object that can be listed, as YAML. Of Secrets only the keys.
async fn all_objects(client: Client) -> Result<String> {
    let discovery = Discovery::new(client.clone()).run().await;
    let discovery = discovery.context("asking which kinds there are")?;
    let mut text = String::new();
    for (resource, capabilities) in discovery
        .groups()
        .flat_map(kube::discovery::ApiGroup::recommended_resources)
    {
        if !capabilities.supports_operation("list") {
            continue;
        }
        text.push_str(&objects_of_kind(&client, &resource).await);
    }
    Ok(text)
}

async fn objects_of_kind(client: &Client, resource: &ApiResource) -> String {
    let api: Api<Object> = Api::all_with(client.clone(), resource);
    let list = match api.list(&ListParams::default()).await {
        Ok(list) => list,
        Err(error) => return format!("# {}: {error}\n", resource.plural),
    };
    let version = GroupVersion::gv(&resource.group, &resource.version).api_version();
    let mut text = String::new();
    for mut object in list {
        object.types.get_or_insert_with(|| kube::core::TypeMeta {
            api_version: version.clone(),
            kind: resource.kind.clone(),
        });
        if resource.kind == "Secret" {
            hide_values(&mut object.data);
        }
        match yaml::render(&object) {
            Ok(object) => text = format!("{text}---\n{}\n", object.trim_end()),
            Err(error) => text = format!("{text}# {error:#}\n"),
        }
    }
    text
}

fn hide_values(secret: &mut Value) {
    for part in ["data", "stringData"] {
        let values = secret.get_mut(part).and_then(Value::as_object_mut);
        for value in values.into_iter().flat_map(|values| values.values_mut()) {
            *value = Value::from("(hidden)");
        }
    }
}

/// A running plane's entry in the list of those whose objects are collected. Dropping it removes the entry.
pub(crate) struct Registration {
    number: usize,
}

impl Registration {
    pub(crate) fn new(name: &'static str, client: Client) -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        planes().push(RunningPlane {
            number,
            name,
            client,
        });
        Self { number }
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        planes().retain(|plane| plane.number != self.number);
    }
}

fn planes() -> MutexGuard<'static, Vec<RunningPlane>> {
    PLANES.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_of_secrets_are_hidden() {
        let mut secret = json!({ "type": "Opaque", "data": { "key": "cGFzc3dvcmQ=" } });
        hide_values(&mut secret);
        assert_eq!(
            secret,
            json!({ "type": "Opaque", "data": { "key": "(hidden)" } })
        );
    }

    #[test]
    fn logs_that_have_grown_are_linked() {
        let suite = tempfile::tempdir().unwrap();
        let (logs, scenario) = (suite.path().join("logs"), suite.path().join("scenario"));
        keep_logs(&logs).unwrap();
        fs::create_dir(&scenario).unwrap();
        fs::write(logs.join("000-etcd.log"), "started").unwrap();
        link_logs(&scenario, SystemTime::UNIX_EPOCH).unwrap();
        let linked = fs::read_to_string(scenario.join("000-etcd.log")).unwrap();
        assert_eq!(linked, "started");
        let later = SystemTime::now() + std::time::Duration::from_mins(1);
        fs::remove_file(scenario.join("000-etcd.log")).unwrap();
        link_logs(&scenario, later).unwrap();
        assert!(!scenario.join("000-etcd.log").exists());
    }

    #[test]
    fn file_names_have_no_separators() {
        assert_eq!(file_name("etcd of the plane a/b"), "etcd-of-the-plane-a-b");
    }
}
