//! Writes the kubeconfig of a fleet or a server, and keeps the other entries of the file.
//!
//! A user may name a file with contexts of other clusters, or add such contexts to ours. Entries that Reeve wrote
//! carry a marker in their `extensions`; only they are replaced.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use crate::private::write_private;

/// The name of the extension that marks an entry as written by Reeve.
const MARKER: &str = "reeve.open-cluster-management.io";
/// How long to wait for another process's change of the file.
const LOCK_TIMEOUT: Duration = Duration::from_secs(1);
/// How often to try to take the lock meanwhile.
const POLL: Duration = Duration::from_millis(20);
/// The lists of a kubeconfig, each with the key of the value of an entry.
const LISTS: [(&str, &str); 3] = [
    ("clusters", "cluster"),
    ("users", "user"),
    ("contexts", "context"),
];

/// Why a kubeconfig was not written.
#[derive(Debug, thiserror::Error)]
pub enum KubeconfigError {
    /// The file cannot be read or written.
    #[error("cannot {doing} {path}")]
    File {
        /// `read` or `write`.
        doing: &'static str,
        /// The kubeconfig file.
        path: PathBuf,
        /// The error of the operating system.
        #[source]
        source: io::Error,
    },
    /// Another process holds kubectl's lock file, or was killed while it did.
    #[error("{path} is being changed: try again, or remove {} if nobody does", lock_path(.path).display())]
    Locked {
        /// The kubeconfig file.
        path: PathBuf,
    },
    /// The file is not a kubeconfig.
    #[error("{path} is not a kubeconfig: give another file with --kubeconfig")]
    Unreadable {
        /// The kubeconfig file.
        path: PathBuf,
    },
    /// A file without entries of Reeve exists, and may not be extended.
    #[error(
        "{path} exists and was not written by Reeve: give another file with --kubeconfig, or --force to add contexts to it"
    )]
    NotOurs {
        /// The kubeconfig file.
        path: PathBuf,
    },
    /// Another Reeve process wrote the file and still runs.
    #[error(
        "{path} is in use by {owner}: end that process, or give another file with --kubeconfig"
    )]
    InUse {
        /// The kubeconfig file.
        path: PathBuf,
        /// The command and the process that own it.
        owner: String,
    },
    /// The file has an entry of the same name without Reeve's marker.
    #[error("{path} has {kind} {name} of another origin: give another file with --kubeconfig")]
    Taken {
        /// The kubeconfig file.
        path: PathBuf,
        /// The kind of the entry: a cluster, a user or a context.
        kind: &'static str,
        /// The name of the entry.
        name: String,
    },
}

/// Whether contexts may be added to a file that has no entry of Reeve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Foreign {
    /// Contexts may be added.
    Extended,
    /// The file is rejected.
    Refused,
}

impl Foreign {
    /// The mode for a `--force` flag.
    #[must_use]
    pub fn forced(force: bool) -> Self {
        if force { Self::Extended } else { Self::Refused }
    }
}

/// A kubeconfig that no other Reeve process writes until this is dropped.
#[must_use]
pub struct Kubeconfig {
    _lock: File,
}

impl Kubeconfig {
    /// Writes `config`, the text of a kubeconfig, to a file: entries of an earlier Reeve process are replaced, all
    /// others stay; comments are lost. `command` names the owner in the error of a second process. A new file is
    /// readable by its owner only; an existing one keeps its owner and mode.
    pub fn write(
        path: &Path,
        config: &str,
        command: &str,
        foreign: Foreign,
    ) -> Result<Self, KubeconfigError> {
        let path = target(path).map_err(|source| KubeconfigError::File {
            doing: "find",
            path: path.to_owned(),
            source,
        })?;
        let file = |doing, source| KubeconfigError::File {
            doing,
            path: path.clone(),
            source,
        };
        let unreadable = || KubeconfigError::Unreadable { path: path.clone() };
        // kubectl takes the same lock, so that neither loses the other's changes.
        let _change = Change::begin(&path).map_err(|source| match source.kind() {
            io::ErrorKind::AlreadyExists => KubeconfigError::Locked { path: path.clone() },
            _ => file("lock", source),
        })?;
        let mut existing = existing(&path).map_err(|source| file("read", source))?;
        let before = match &mut existing {
            Some(existing) => {
                let mut text = String::new();
                existing
                    .read_to_string(&mut text)
                    .map_err(|_| unreadable())?;
                parse(&text).ok_or_else(unreadable)?
            }
            None => Map::new(),
        };
        if let Some(Err(std::fs::TryLockError::WouldBlock)) = existing.as_ref().map(File::try_lock)
        {
            let owner = owner(&before).unwrap_or_else(|| "another process".to_owned());
            return Err(KubeconfigError::InUse { path, owner });
        }
        let is_ours = before.is_empty() || owner(&before).is_some();
        if !is_ours && foreign == Foreign::Refused {
            return Err(KubeconfigError::NotOurs { path });
        }
        let owner = format!("{command} (process {})", std::process::id());
        let ours = parse(config).ok_or_else(unreadable)?;
        let merged =
            merge(before, ours, &owner).map_err(|(kind, name)| KubeconfigError::Taken {
                path: path.clone(),
                kind,
                name,
            })?;
        let text = serde_saphyr::to_string(&merged).map_err(|_| unreadable())?;
        let like = existing.as_ref().map(File::metadata).transpose();
        let lock = like.and_then(|like| write_private(&path, &text, like.as_ref()));
        let lock = lock.map_err(|source| file("write", source))?;
        Ok(Self { _lock: lock })
    }
}

/// Resolves links, so that a link stays a link when its file is replaced.
fn target(path: &Path) -> io::Result<PathBuf> {
    match path.canonicalize() {
        // Devices and pipes must not be replaced by a file, and opening one may block for ever.
        Ok(found) if !found.is_file() => Err(io::Error::other("it is no regular file")),
        Err(error) if error.kind() == io::ErrorKind::NotFound && !path.is_symlink() => {
            Ok(path.to_owned())
        }
        found => found,
    }
}

/// kubectl's lock file for a change of a kubeconfig.
fn lock_path(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".lock");
    path.with_file_name(name)
}

/// The lock for a change of a file; only one process holds it at a time.
struct Change(PathBuf);

impl Change {
    fn begin(path: &Path) -> io::Result<Self> {
        let lock = lock_path(path);
        let until = Instant::now() + LOCK_TIMEOUT;
        loop {
            match File::create_new(&lock) {
                Ok(_) => return Ok(Self(lock)),
                Err(error) => {
                    let is_held = error.kind() == io::ErrorKind::AlreadyExists;
                    if !is_held || Instant::now() >= until {
                        return Err(error);
                    }
                }
            }
            std::thread::sleep(POLL);
        }
    }
}

impl Drop for Change {
    fn drop(&mut self) {
        // The error of the next process asks the user to remove the file.
        let _ = std::fs::remove_file(&self.0);
    }
}

fn existing(path: &Path) -> io::Result<Option<File>> {
    match File::open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// An empty file is an empty configuration, as for kubectl.
fn parse(text: &str) -> Option<Map<String, Value>> {
    if text.trim().is_empty() {
        return Some(Map::new());
    }
    let value: Value = serde_saphyr::from_str(text).ok()?;
    let Value::Object(config) = value else {
        return None;
    };
    let is_list = |(list, _): &(&str, &str)| {
        config
            .get(*list)
            .is_none_or(|value| value.is_array() || value.is_null())
    };
    let is_config = config.get("kind").is_none_or(|kind| kind == "Config");
    (is_config && LISTS.iter().all(is_list)).then_some(config)
}

/// The owner of the first entry with Reeve's marker.
fn owner(config: &Map<String, Value>) -> Option<String> {
    let mut marks = LISTS.iter().flat_map(|(list, kind)| {
        let entries = config.get(*list).and_then(Value::as_array);
        entries
            .into_iter()
            .flatten()
            .filter_map(|entry| mark(entry, kind))
    });
    marks.next()
}

/// The owner of an entry, if the entry has Reeve's marker.
fn mark(entry: &Value, kind: &str) -> Option<String> {
    let extensions = entry[kind]["extensions"].as_array()?;
    let ours = extensions.iter().find(|one| one["name"] == MARKER)?;
    let owner = ours["extension"]["owner"].as_str().unwrap_or("Reeve");
    Some(owner.to_owned())
}

/// Replaces the entries with Reeve's marker. Rejects an entry of the same name without it.
fn merge(
    mut before: Map<String, Value>,
    mut ours: Map<String, Value>,
    owner: &str,
) -> Result<Map<String, Value>, (&'static str, String)> {
    for (list, kind) in LISTS {
        let entries = |config: &mut Map<String, Value>| match config.remove(list) {
            Some(Value::Array(entries)) => entries,
            _ => Vec::new(),
        };
        let mut kept = entries(&mut before);
        kept.retain(|entry| mark(entry, kind).is_none());
        for mut entry in entries(&mut ours) {
            if let Some(taken) = kept.iter().find(|kept| kept["name"] == entry["name"]) {
                let name = taken["name"].as_str().unwrap_or_default().to_owned();
                return Err((kind, name));
            }
            entry[kind]["extensions"] =
                json!([{ "name": MARKER, "extension": { "owner": owner } }]);
            kept.push(entry);
        }
        before.insert(list.to_owned(), Value::Array(kept));
    }
    let names_one = before.get("current-context").is_some_and(|current| {
        let contexts = before.get("contexts").and_then(Value::as_array);
        contexts.is_some_and(|all| all.iter().any(|context| context["name"] == *current))
    });
    // A user who works with another cluster keeps their current context.
    for (key, value) in ours {
        if key != "current-context" || !names_one {
            before.insert(key, value);
        }
    }
    Ok(before)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(names: &[&str]) -> String {
        let entries = |kind: &str| -> Vec<Value> {
            let entry = |name: &&str| json!({ "name": name, kind: { "cluster": name } });
            names.iter().map(entry).collect()
        };
        json!({
            "apiVersion": "v1", "kind": "Config", "current-context": names[0],
            "clusters": entries("cluster"), "users": entries("user"), "contexts": entries("context"),
        })
        .to_string()
    }

    fn contexts(path: &Path) -> Vec<String> {
        let config = parse(&std::fs::read_to_string(path).unwrap()).unwrap();
        let contexts = config["contexts"].as_array().unwrap().iter();
        let name = |context: &Value| context["name"].as_str().unwrap().to_owned();
        contexts.map(name).collect()
    }

    fn current(path: &Path) -> String {
        let config = parse(&std::fs::read_to_string(path).unwrap()).unwrap();
        config["current-context"].as_str().unwrap().to_owned()
    }

    fn write(path: &Path, names: &[&str], foreign: Foreign) -> Result<Kubeconfig, KubeconfigError> {
        Kubeconfig::write(path, &config(names), "reeve up", foreign)
    }

    #[test]
    fn entries_with_marker_are_replaced_and_others_stay() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config");
        std::fs::write(&path, config(&["prod"])).unwrap();
        let refused = write(&path, &["hub", "cluster1"], Foreign::Refused)
            .err()
            .unwrap();
        assert!(refused.to_string().contains("--force"), "{refused}");
        assert_eq!(contexts(&path), ["prod"]);

        drop(write(&path, &["hub", "cluster1"], Foreign::Extended).unwrap());
        assert_eq!(contexts(&path), ["prod", "hub", "cluster1"]);
        assert_eq!(current(&path), "prod", "the user goes on where they were");
        // From here on the entry has the marker, too.
        drop(write(&path, &["hub"], Foreign::Refused).unwrap());
        assert_eq!(contexts(&path), ["prod", "hub"]);
    }

    #[test]
    fn entry_of_same_name_without_marker_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config");
        std::fs::write(&path, config(&["prod", "hub"])).unwrap();
        let refused = write(&path, &["hub"], Foreign::Extended).err().unwrap();
        assert!(
            refused.to_string().contains("has cluster hub of another"),
            "{refused}"
        );
        assert_eq!(contexts(&path), ["prod", "hub"]);
    }

    #[test]
    fn second_process_is_rejected_and_owner_is_named_while_first_runs() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config");
        let first = write(&path, &["hub"], Foreign::Refused).unwrap();
        let refused = write(&path, &["hub"], Foreign::Extended).err().unwrap();
        let want = format!("in use by reeve up (process {})", std::process::id());
        assert!(refused.to_string().contains(&want), "{refused}");
        drop(first);
        drop(write(&path, &["hub"], Foreign::Refused).unwrap());
    }

    #[test]
    fn one_of_many_concurrent_writers_owns_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config");
        let start = |_| {
            let path = path.clone();
            std::thread::spawn(move || write(&path, &["hub"], Foreign::Refused))
        };
        let all: Vec<_> = (0..8).map(start).collect();
        let all: Vec<_> = all.into_iter().map(|one| one.join().unwrap()).collect();
        assert_eq!(all.iter().filter(|one| one.is_ok()).count(), 1);
        assert!(!lock_path(&path).exists());
    }

    #[test]
    fn mode_and_links_of_existing_file_stay() {
        use std::os::unix::fs::PermissionsExt as _;

        let folder = tempfile::tempdir().unwrap();
        let (path, link) = (folder.path().join("config"), folder.path().join("link"));
        std::fs::write(&path, config(&["prod"])).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        drop(write(&link, &["hub"], Foreign::Extended).unwrap());
        assert!(link.is_symlink());
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o640);
        assert_eq!(contexts(&path), ["prod", "hub"]);
        std::fs::remove_file(&path).unwrap();
        assert!(
            write(&link, &["hub"], Foreign::Extended).is_err(),
            "it leads nowhere"
        );
        assert!(link.is_symlink());
        assert!(write(Path::new("/dev/null"), &["hub"], Foreign::Extended).is_err());
        drop(write(&path, &["hub"], Foreign::Refused).unwrap());
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn file_is_not_written_while_kubectl_holds_its_lock() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config");
        std::fs::write(lock_path(&path), "").unwrap();
        let refused = write(&path, &["hub"], Foreign::Refused).err().unwrap();
        assert!(refused.to_string().contains("config.lock"), "{refused}");
        assert!(lock_path(&path).exists() && !path.exists());
    }

    #[test]
    fn file_that_is_not_a_kubeconfig_is_rejected_and_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notes");
        for text in [
            "just words",
            "- a\n- list\n",
            "kind: Pod\n",
            "\u{0}\u{1}",
            "clusters: 1\n",
        ] {
            std::fs::write(&path, text).unwrap();
            let refused = write(&path, &["hub"], Foreign::Extended).err().unwrap();
            assert!(
                refused.to_string().contains("not a kubeconfig"),
                "{text:?}: {refused}"
            );
            assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        }
        std::fs::write(&path, "").unwrap();
        drop(write(&path, &["hub"], Foreign::Refused).unwrap());
        assert_eq!(contexts(&path), ["hub"]);
    }
}
