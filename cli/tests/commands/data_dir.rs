//! The folders that `--data` of `reeve up` and `reeve apiserver` accepts, and the errors for others.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::{Command, Output};

use anyhow::{Context as _, Result, ensure};
use tempfile::TempDir;

const MARKER: &str = "reeve-data.json";
/// The exit code of `reeve up` when it started, but did not reach the requested state.
const STARTED: i32 = 3;

/// Runs a fleet of one cluster on a folder, only as long as its start takes.
fn up(data: &Path) -> Result<Output> {
    let work = tempfile::tempdir()?;
    let output = Command::new(env!("CARGO_BIN_EXE_reeve"))
        .current_dir(work.path())
        .args(["up", "--log-level=error", "--clusters=1", "--once"])
        .args(["--wait=evaluated", "--timeout=0", "--data"])
        .arg(data)
        .output();
    output.context("running reeve up")
}

/// Runs an API server on a folder that it should reject.
fn apiserver(data: &Path) -> Result<Output> {
    let work = tempfile::tempdir()?;
    let output = Command::new("timeout")
        .current_dir(work.path())
        .args(["20", env!("CARGO_BIN_EXE_reeve"), "apiserver"])
        .args(["--log-level=error", "--data"])
        .arg(data)
        .output();
    output.context("running reeve apiserver")
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Checks that a command failed with this error.
fn assert_rejected(output: &Output, sentence: &str) -> Result<()> {
    let stderr = stderr(output);
    ensure!(
        output.status.code() == Some(1),
        "{:?}: {stderr}",
        output.status
    );
    ensure!(stderr.contains(sentence), "no {sentence:?} in {stderr}");
    Ok(())
}

/// A folder in which a fleet was started once.
fn started_data() -> Result<TempDir> {
    let folder = tempfile::tempdir()?;
    let output = up(folder.path())?;
    ensure!(output.status.code() == Some(STARTED), "{}", stderr(&output));
    Ok(folder)
}

/// Everything below a path, with its mode; links are not followed.
fn state(path: &Path) -> Result<BTreeMap<String, u32>> {
    let mut all = BTreeMap::new();
    let mode = fs::symlink_metadata(path)?.permissions().mode();
    all.insert(path.display().to_string(), mode);
    if fs::symlink_metadata(path)?.is_dir() {
        for entry in fs::read_dir(path)? {
            all.extend(state(&entry?.path())?);
        }
    }
    Ok(all)
}

/// Checks that no file below a path was created, deleted or got another mode.
fn unchanged(path: &Path, before: &BTreeMap<String, u32>) -> Result<()> {
    let now = state(path)?;
    ensure!(now == *before, "{now:?}");
    Ok(())
}

fn set_mode(path: &Path, mode: u32) -> Result<()> {
    Ok(fs::set_permissions(path, fs::Permissions::from_mode(mode))?)
}

fn mode(path: &Path) -> Result<u32> {
    Ok(fs::metadata(path)?.permissions().mode() & 0o777)
}

#[test]
fn data_dir_with_content_is_rejected_and_unchanged() -> Result<()> {
    let folder = tempfile::tempdir()?;
    fs::create_dir(folder.path().join("project"))?;
    fs::write(folder.path().join("notes.txt"), "mine")?;
    set_mode(&folder.path().join("project"), 0o755)?;
    set_mode(folder.path(), 0o755)?;
    let before = state(folder.path())?;
    let sentence = format!(
        "{path} is neither empty nor a data folder of Reeve, and nothing in it was changed: name a folder that is \
         empty or does not exist, for example {path}/reeve",
        path = folder.path().display()
    );
    assert_rejected(&up(folder.path())?, &sentence)?;
    assert_rejected(&apiserver(folder.path())?, &sentence)?;
    unchanged(folder.path(), &before)?;
    Ok(())
}

#[test]
fn data_dir_of_volume_with_lost_and_found_is_rejected() -> Result<()> {
    let folder = tempfile::tempdir()?;
    fs::create_dir(folder.path().join("lost+found"))?;
    let before = state(folder.path())?;
    assert_rejected(&up(folder.path())?, "for example")?;
    unchanged(folder.path(), &before)?;
    Ok(())
}

#[test]
fn data_dir_of_other_command_is_rejected() -> Result<()> {
    let folder = started_data()?;
    let before = state(folder.path())?;
    let sentence = "keeps the fleet of `reeve up`, not the API server of `reeve apiserver`";
    assert_rejected(&apiserver(folder.path())?, sentence)?;
    unchanged(folder.path(), &before)?;

    let folder = tempfile::tempdir()?;
    let marker = folder.path().join(MARKER);
    fs::write(&marker, r#"{"format":1,"keeps":"apiserver"}"#)?;
    let sentence = "keeps the API server of `reeve apiserver`, not the fleet of `reeve up`";
    assert_rejected(&up(folder.path())?, sentence)
}

#[test]
fn data_dir_of_later_version_is_rejected() -> Result<()> {
    let folder = started_data()?;
    let marker = r#"{"format":7,"keeps":"a fleet of fleets"}"#;
    fs::write(folder.path().join(MARKER), marker)?;
    let before = state(folder.path())?;
    let sentence = "has data of format 7, and this version of Reeve reads formats up to 1";
    assert_rejected(&up(folder.path())?, sentence)?;
    unchanged(folder.path(), &before)?;
    fs::write(folder.path().join(MARKER), "{}")?;
    assert_rejected(&up(folder.path())?, "is not the marker of a data folder")
}

#[test]
fn missing_data_dir_is_created_for_its_owner() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("not/yet");
    let output = up(&path)?;
    ensure!(output.status.code() == Some(STARTED), "{}", stderr(&output));
    for inner in ["", "hub", "clusters", "clusters/cluster1"] {
        let mode = mode(&path.join(inner))?;
        ensure!(mode == 0o700, "{inner} has mode {mode:o}");
    }
    for inner in ["hub/authority.key", "clusters/cluster1/authority.key"] {
        let mode = mode(&path.join(inner))?;
        ensure!(mode == 0o600, "{inner} has mode {mode:o}");
    }
    Ok(())
}

#[test]
fn empty_data_dir_keeps_its_mode() -> Result<()> {
    let folder = tempfile::tempdir()?;
    set_mode(folder.path(), 0o755)?;
    for _ in 0..2 {
        let output = up(folder.path())?;
        ensure!(output.status.code() == Some(STARTED), "{}", stderr(&output));
        let mode = mode(folder.path())?;
        ensure!(mode == 0o755, "its mode is {mode:o}");
    }
    Ok(())
}

#[test]
fn data_dir_of_interrupted_first_start_is_completed() -> Result<()> {
    let folder = tempfile::tempdir()?;
    fs::write(folder.path().join("lock"), "")?;
    fs::write(folder.path().join("reeve-data.draft"), r#"{"for"#)?;
    let output = up(folder.path())?;
    ensure!(output.status.code() == Some(STARTED), "{}", stderr(&output));
    let marker = fs::read_to_string(folder.path().join(MARKER))?;
    ensure!(marker.contains("fleet"), "{marker}");
    Ok(())
}

#[test]
fn data_dir_with_links_is_rejected_and_their_targets_are_unchanged() -> Result<()> {
    for place in [
        MARKER,
        "lock",
        "hub",
        "clusters",
        "clusters/cluster1",
        "hub/tokens.key",
        "clusters/cluster1/log.00000000000000000001",
    ] {
        let folder = started_data()?;
        let elsewhere = tempfile::tempdir()?;
        let (link, target) = (folder.path().join(place), elsewhere.path().join("it"));
        fs::rename(&link, &target)?;
        set_mode(&target, 0o755)?;
        symlink(&target, &link)?;
        let before = state(elsewhere.path())?;
        let sentence = format!("{} is a symbolic link", link.display());
        assert_rejected(&up(folder.path())?, &sentence).with_context(|| place.to_owned())?;
        ensure!(state(elsewhere.path())? == before, "{place}");
    }
    Ok(())
}

#[test]
fn data_dir_with_other_entry_among_its_clusters_is_rejected() -> Result<()> {
    let folder = started_data()?;
    let clusters = folder.path().join("clusters");
    let stray = clusters.join("Not_A_Cluster");
    fs::create_dir(&stray)?;
    let sentence = format!("{} cannot be the folder of a cluster", stray.display());
    assert_rejected(&up(folder.path())?, &sentence)?;
    fs::remove_dir(&stray)?;
    fs::write(clusters.join("notes"), "")?;
    assert_rejected(&up(folder.path())?, "clusters/notes is not a folder")?;
    fs::remove_file(clusters.join("notes"))?;
    fs::create_dir(clusters.join("hub"))?;
    assert_rejected(&up(folder.path())?, "no cluster can be called hub")?;
    fs::remove_dir(clusters.join("hub"))?;
    // Other entries beside hub and clusters are ignored.
    fs::create_dir(folder.path().join("lost+found"))?;
    let output = up(folder.path())?;
    ensure!(output.status.code() == Some(STARTED), "{}", stderr(&output));
    Ok(())
}

#[test]
fn data_dir_that_is_a_file_is_rejected() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("file");
    fs::write(&path, "mine")?;
    assert_rejected(&up(&path)?, "file is not a folder")?;
    ensure!(fs::read_to_string(&path)? == "mine");
    Ok(())
}
