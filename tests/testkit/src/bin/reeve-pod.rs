//! What holds the namespaces of one Pod of the process kubelet, as `pause` does in a real one.
//!
//! `unshare` has given it mounts and a network of its own. It makes them the Pod's, answers on the socket `in`, and
//! then carries connections in and out until it is killed:
//!
//! - out: `127.0.0.1:<port>` of the Pod leads to the socket `ways/<port>`, behind which the test listens;
//! - in: who connects to the socket `in` and sends `<port>\n` is connected to that port of the Pod.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::{env, fs};

use anyhow::{Context, Result, bail, ensure};
use rustix::mount::{MountFlags, mount, mount_bind, mount_remount};
use serde::Deserialize;
use tokio::io::{AsyncReadExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};

/// Where the Pod's folder is inside.
const INSIDE: &str = "/run/reeve-pod";

/// What the kubelet has written into `sandbox.json`.
#[derive(Deserialize)]
struct Sandbox {
    hostname: String,
    /// Ports that lead out.
    ports: Vec<u16>,
    /// Parts of the machine that the Pod's folder has as well: absolute, and relative to the folder.
    lent: Vec<(PathBuf, PathBuf)>,
    mounts: Vec<Mount>,
    /// Only what is mounted can be written.
    read_only_root: bool,
}

/// A volume: where it is in the Pod's folder, and where the containers see it.
#[derive(Deserialize)]
struct Mount {
    from: PathBuf,
    to: PathBuf,
    read_only: bool,
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("reeve-pod: {error:#}");
            ExitCode::FAILURE
        }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn run() -> Result<()> {
    let folder = env::args_os().nth(1).context("no folder is named")?;
    env::set_current_dir(&folder).context("entering the Pod's folder")?;
    let sandbox = fs::read("sandbox.json").context("reading sandbox.json")?;
    let sandbox: Sandbox = serde_json::from_slice(&sandbox).context("reading sandbox.json")?;
    set_up(&sandbox)?;
    for port in &sandbox.ports {
        let listener = TcpListener::bind(("127.0.0.1", *port)).await;
        let listener = listener.with_context(|| format!("listening on port {port}"))?;
        tokio::spawn(forward_out(listener, PathBuf::from(format!("ways/{port}"))));
    }
    let socket_in = UnixListener::bind("in").context("listening on the way in")?;
    loop {
        let (from, _) = socket_in.accept().await.context("waiting on the way in")?;
        tokio::spawn(forward_in(from));
    }
}

/// Makes the machine look as it does in the Pod.
fn set_up(sandbox: &Sandbox) -> Result<()> {
    rustix::system::sethostname(sandbox.hostname.as_bytes()).context("setting the host's name")?;
    let up = Command::new("ip")
        .args(["link", "set", "lo", "up"])
        .status();
    ensure!(
        up.context("starting `ip`")?.success(),
        "cannot bring up the network"
    );
    // While the paths of the machine still lead there.
    for (from, to) in &sandbox.lent {
        bind(from, to)?;
    }
    empty("/run")?;
    fs::create_dir(INSIDE).context("creating the folder inside")?;
    rustix::mount::mount_bind_recursive(".", INSIDE).context("mounting the Pod's folder")?;
    env::set_current_dir(INSIDE).context("entering the Pod's folder inside")?;
    empty("/tmp")?;
    for mount in &sandbox.mounts {
        if !mount.to.exists() {
            if !["/run", "/var/run", "/tmp"]
                .iter()
                .any(|root| mount.to.starts_with(root))
            {
                bail!(
                    "{} is not there, and would have to be made on this machine",
                    mount.to.display()
                );
            }
            make_place(&mount.from, &mount.to)?;
        }
        bind(&mount.from, &mount.to)?;
        if mount.read_only {
            seal(&mount.to)?;
        }
    }
    if sandbox.read_only_root {
        seal(Path::new("/tmp"))?;
        seal(Path::new("/"))?;
    }
    Ok(())
}

/// Something to mount onto: a folder for a folder, a file for a file.
fn make_place(from: &Path, to: &Path) -> Result<()> {
    let what = || format!("making {}", to.display());
    if from.is_dir() {
        return fs::create_dir_all(to).with_context(what);
    }
    if let Some(parent) = to.parent() {
        fs::create_dir_all(parent).with_context(what)?;
    }
    fs::write(to, "").with_context(what)
}

fn bind(from: &Path, to: &Path) -> Result<()> {
    mount_bind(from, to).with_context(|| format!("mounting {} as {}", from.display(), to.display()))
}

fn empty(folder: &str) -> Result<()> {
    mount("tmpfs", folder, "tmpfs", MountFlags::NODEV, c"mode=1777")
        .with_context(|| format!("emptying {folder}"))
}

fn seal(place: &Path) -> Result<()> {
    mount_remount(place, MountFlags::BIND | MountFlags::RDONLY, "")
        .with_context(|| format!("making {} read-only", place.display()))
}

async fn forward_out(listener: TcpListener, socket: PathBuf) {
    // An error ends one connection, which is what the other side then sees.
    while let Ok((mut from, _)) = listener.accept().await {
        let socket = socket.clone();
        tokio::spawn(async move {
            if let Ok(mut to) = UnixStream::connect(socket).await {
                let _ = copy_bidirectional(&mut from, &mut to).await;
            }
        });
    }
}

async fn forward_in(mut from: UnixStream) -> Option<()> {
    let mut port = String::new();
    loop {
        match from.read_u8().await.ok()? {
            b'\n' => break,
            digit => port.push(char::from(digit)),
        }
    }
    let mut to = TcpStream::connect(("127.0.0.1", port.parse().ok()?))
        .await
        .ok()?;
    copy_bidirectional(&mut from, &mut to).await.ok()?;
    None
}
