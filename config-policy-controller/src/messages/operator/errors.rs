//! Errors of one reconcile, for the log and the retry.

pub fn listing(kinds: &str, error: &str) -> String {
    format!("error listing {kinds}: {error}")
}

pub fn getting(what: &str, error: &str) -> String {
    format!("error getting {what}: {error}")
}

pub fn creating(kind: &str, error: &str) -> String {
    format!("error creating the {kind}: {error}")
}

pub fn updating(what: &str, error: &str) -> String {
    format!("error updating {what}: {error}")
}

pub fn deleting_object(what: &str, error: &str) -> String {
    format!("error deleting {what}: {error}")
}

pub fn comparing(kind: &str, error: &str) -> String {
    format!("error checking if the {kind} needs an update: {error}")
}

/// The package manifest is needed, and cannot be read.
pub fn package_unreadable(error: &str) -> String {
    format!("failed to get the PackageManifest: {error}")
}

/// An object that was read has no UID, so that another one of its name could be deleted.
pub fn no_uid(namespace: &str, name: &str) -> String {
    format!("{namespace}/{name} has no UID")
}

/// The package manifest lacks a field.
pub fn package_incomplete(package: &str, what: &str) -> String {
    format!("failed to get {what} in the PackageManifest \"{package}\"")
}
