//! The helper that ends our children when we are killed and cannot.
//!
//! A small shell process reads our list of children from a pipe. When we end, however we end, the
//! pipe closes and it kills whatever is still on the list. This needs no cooperation from the
//! children, no `unsafe`, and works on every POSIX system.

use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result};

const SCRIPT: &str = r#"
pids=" "
while read -r op pid; do
  case $op in
    add) pids="$pids$pid " ;;
    del) pids="${pids%% $pid *} ${pids#* $pid }" ;;
  esac
done
for pid in $pids; do kill -9 "$pid" 2>/dev/null; done
"#;

static PIPE: Mutex<Option<ChildStdin>> = Mutex::new(None);

/// Has `pid` killed when this process ends.
pub(crate) fn watch(pid: u32) -> Result<()> {
    let mut pipe = PIPE.lock().unwrap_or_else(PoisonError::into_inner);
    if pipe.is_none() {
        *pipe = Some(start()?);
    }
    let stdin = pipe.as_mut().context("the reaper has no pipe")?;
    writeln!(stdin, "add {pid}").context("telling the reaper about a child")
}

/// Takes `pid` off the list: it has ended, and its number may soon be another's.
pub(crate) fn forget(pid: u32) {
    let mut pipe = PIPE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(stdin) = pipe.as_mut() {
        // A reaper that is gone cannot kill the wrong process: nothing to report.
        let _ = writeln!(stdin, "del {pid}");
    }
}

fn start() -> Result<ChildStdin> {
    let mut child = Command::new("/bin/sh")
        .args(["-c", SCRIPT])
        // Its own group: an interrupt from the terminal must not end it before us.
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .context("starting the shell that reaps children")?;
    child.stdin.take().context("the reaper has no pipe")
}
