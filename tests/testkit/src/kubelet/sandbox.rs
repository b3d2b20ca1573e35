//! The namespaces of one Pod, and how a container gets into them.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::core::v1::{Container, Pod};
use kube::ResourceExt as _;
use serde_json::{Value, json};

use crate::child::{GOGC, Launch};

/// Where `reeve-pod` puts the Pod's folder inside.
const INSIDE: &str = "/run/reeve-pod";

const ADVICE: &str = "the process kubelet needs util-linux (unshare, nsenter, setpriv), iproute2 (ip), and the right \
    to make namespaces: run the tests as root, or allow unprivileged user namespaces";

/// What is the same for all Pods.
#[derive(Debug)]
pub(super) struct Machine {
    /// The helper inside.
    pub(super) helper: PathBuf,
    /// The sockets that lead to ports of this machine.
    pub(super) port_forward: PathBuf,
    pub(super) ports: Vec<u16>,
    /// Whether users can be changed: as an ordinary user, everybody inside is that user.
    root: bool,
}

impl Machine {
    /// # Errors
    /// When this machine cannot hold Pods.
    pub(super) fn new(helper: PathBuf, port_forward: PathBuf, ports: Vec<u16>) -> Result<Self> {
        let root = rustix::process::geteuid().is_root();
        let machine = Self {
            helper,
            port_forward,
            ports,
            root,
        };
        let tried = Command::new("unshare")
            .args(machine.unshare())
            .args(["ip", "link", "set", "lo", "up"])
            .output();
        let tried = tried.context(ADVICE)?;
        ensure!(
            tried.status.success(),
            "{ADVICE}; `unshare` prints: {}",
            String::from_utf8_lossy(&tried.stderr)
        );
        Ok(machine)
    }

    fn unshare(&self) -> Vec<&'static str> {
        let mut args = vec!["--mount", "--net", "--uts"];
        if !self.root {
            args.push("--map-root-user");
        }
        args
    }

    /// Prepares the folder of a Pod.
    pub(super) fn prepare(&self, pod: &Pod, folder: &Path, programs: &Programs) -> Result<()> {
        let what = || format!("preparing {}", folder.display());
        for part in ["ways", "programs", "volumes"] {
            fs::create_dir_all(folder.join(part)).with_context(what)?;
        }
        // The folders above are for the owner alone; inside they are not seen.
        let seen = fs::Permissions::from_mode(0o755);
        fs::set_permissions(folder, seen).with_context(what)?;
        let mut lent = vec![(self.port_forward.clone(), PathBuf::from("ways"))];
        for (index, (name, path)) in programs.iter().enumerate() {
            let place = PathBuf::from(format!("programs/.{index}"));
            fs::write(folder.join(&place), "").with_context(what)?;
            symlink(format!(".{index}"), folder.join("programs").join(name)).with_context(what)?;
            lent.push((path.clone(), place));
        }
        let sandbox = json!({
            "hostname": pod.name_any(), "ports": self.ports, "lent": lent, "mounts": mounts(pod),
            "read_only_root": containers(pod).all(read_only_root),
        });
        fs::write(folder.join("sandbox.json"), sandbox.to_string()).with_context(what)
    }

    /// What holds the namespaces of the Pod in a folder.
    pub(super) fn pause_process(&self, folder: &Path, log: PathBuf) -> Launch {
        let args = self.unshare().into_iter().map(OsString::from);
        let helper = [self.helper.clone().into_os_string(), folder.into()];
        Launch {
            name: "the sandbox of a Pod".to_owned(),
            program: "unshare".into(),
            args: args.chain(helper).collect(),
            env: Vec::new(),
            home: folder.to_owned(),
            log,
        }
    }

    /// A container's process in the namespaces that `pause_process` holds. It has the process id that the launch has: all that
    /// comes before it makes way for it.
    pub(super) fn inside(&self, pause_process: u32, process: &Process<'_>) -> Launch {
        let mut args: Vec<OsString> = vec![format!("--target={pause_process}").into()];
        args.extend(["--mount", "--net", "--uts"].map(OsString::from));
        if !self.root {
            args.extend(["--user", "--preserve-credentials"].map(OsString::from));
        }
        args.push("setpriv".into());
        args.push("--no-new-privs".into());
        if self.root {
            let user = process.user;
            args.push(format!("--reuid={user}").into());
            args.push(format!("--regid={user}").into());
            args.push("--clear-groups".into());
        }
        args.extend(["--inh-caps=-all", "--bounding-set=-all"].map(OsString::from));
        // As in `Launch::start`; a container may say otherwise.
        args.extend(["env", "-i"].map(OsString::from));
        args.push(format!("{}={}", GOGC.0, GOGC.1).into());
        for (name, value) in process.env {
            args.push(format!("{name}={value}").into());
        }
        args.push(format!("{INSIDE}/programs/{}", process.program).into());
        args.extend(process.args.iter().map(OsString::from));
        Launch {
            name: process.container.to_owned(),
            program: "nsenter".into(),
            args,
            env: Vec::new(),
            home: PathBuf::from("/"),
            log: process.log.to_owned(),
        }
    }
}

/// The programs of a Pod: by which name a container calls one, and where it is.
pub(super) type Programs = std::collections::BTreeMap<String, PathBuf>;

/// One start of a container.
pub(super) struct Process<'a> {
    pub(super) container: &'a str,
    pub(super) program: &'a str,
    pub(super) args: &'a [String],
    pub(super) env: &'a [(String, String)],
    pub(super) user: i64,
    pub(super) log: &'a Path,
}

/// The containers of a Pod.
pub(super) fn containers(pod: &Pod) -> impl Iterator<Item = &Container> {
    pod.spec.iter().flat_map(|spec| spec.containers.iter())
}

fn read_only_root(container: &Container) -> bool {
    let context = container.security_context.as_ref();
    context.and_then(|context| context.read_only_root_filesystem) == Some(true)
}

/// The mounts of all containers: they share one view of the machine.
fn mounts(pod: &Pod) -> Vec<Value> {
    let mut seen = std::collections::BTreeSet::new();
    let mut mounts = Vec::new();
    for mount in containers(pod).flat_map(|container| container.volume_mounts.iter().flatten()) {
        if !seen.insert(&mount.mount_path) {
            continue;
        }
        let mut from = PathBuf::from("volumes").join(&mount.name);
        if let Some(sub) = &mount.sub_path {
            from.push(sub);
        }
        let scratch = super::volumes::volumes(pod)
            .any(|volume| volume.name == mount.name && volume.empty_dir.is_some());
        mounts.push(json!({
            "from": from, "to": mount.mount_path,
            "read_only": !scratch || mount.read_only == Some(true),
        }));
    }
    mounts
}
