//! The arguments by which commands get policies, and what they hold.

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use reeve_fleet::Unbound;
use reeve_manifests::{Found, Input, Object};
use reeve_report::Skip;
use reeve_runtime::CancellationToken;
use reeve_runtime::decode::STACK_BYTES;

/// The policies of a command.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct InputArgs {
    /// A file, a folder (read recursively), or - for standard input: objects for the hub. May be given several times.
    /// Objects without a namespace go to `policies`, where placements may choose among all clusters.
    #[arg(
        short = 'f',
        long = "policies",
        alias = "filename",
        value_name = "PATH"
    )]
    pub(crate) policies: Vec<PathBuf>,
    /// A kustomization, rendered by the installed kustomize or kubectl. May be given several times.
    #[arg(short = 'k', long = "kustomize", value_name = "DIR")]
    pub(crate) kustomize: Vec<PathBuf>,
    /// A file or folder with CRDs, for the hub and all clusters. May be given several times.
    #[arg(long, value_name = "PATH")]
    pub(crate) crds: Vec<PathBuf>,
    /// Bind policies that nothing binds to all clusters, and say so. --bind-unbound=false: leave them unplaced.
    #[arg(long, num_args = 0..=1, require_equals = true, default_value_t = true, default_missing_value = "true", value_name = "BOOL")]
    #[arg(action = clap::ArgAction::Set)]
    pub(crate) bind_unbound: bool,
}

/// What the arguments hold.
#[derive(Debug, Default)]
pub(crate) struct Objects {
    pub(crate) hub: Vec<Object>,
    pub(crate) crds: Vec<Object>,
    pub(crate) skipped: Vec<Skip>,
    /// What could not be read.
    pub(crate) errors: Vec<String>,
}

impl InputArgs {
    /// What becomes of policies that no binding names.
    pub(crate) fn unbound(&self) -> Unbound {
        Unbound::from_flag(self.bind_unbound)
    }

    /// Reads everything.
    pub(crate) fn read(&self) -> Objects {
        let paths = self.policies.iter().cloned().map(Input::Path);
        let rendered = self.kustomize.iter().cloned().map(Input::Kustomization);
        let inputs: Vec<Input> = paths.chain(rendered).collect();
        let mut objects = Objects::default();
        objects.hub = objects.add(reeve_suites::read_policies(&inputs));
        objects.crds = objects.add(read_paths(&self.crds));
        objects
    }
}

/// Reads on a thread of its own, because standard input may not come for a long time, and Ctrl-C ends that, too.
pub(crate) async fn interruptible<T: Send + 'static>(
    stop: &CancellationToken,
    read: impl FnOnce() -> T + Send + 'static,
) -> Result<T> {
    let (send, receive) = tokio::sync::oneshot::channel();
    // Deep objects are walked recursively.
    let thread = std::thread::Builder::new().stack_size(STACK_BYTES);
    let thread = thread.spawn(move || {
        // Nobody waits any more after Ctrl-C.
        let _ = send.send(read());
    });
    thread.context("starting a thread")?;
    tokio::select! {
        () = stop.cancelled() => anyhow::bail!("interrupted while reading the input"),
        read = receive => read.context("reading the input has failed"),
    }
}

/// Reads files and folders.
pub(crate) fn read_paths(paths: &[PathBuf]) -> Found {
    let inputs: Vec<Input> = paths.iter().cloned().map(Input::Path).collect();
    reeve_manifests::read(&inputs)
}

impl Objects {
    /// Keeps what was skipped and what is wrong, and returns the objects.
    pub(crate) fn add(&mut self, found: Found) -> Vec<Object> {
        self.skipped.extend(found.skipped.iter().map(|one| Skip {
            path: one.path.display().to_string(),
            reason: one.reason.clone(),
        }));
        self.errors
            .extend(found.errors.iter().map(ToString::to_string));
        found.objects
    }
}

/// Fails with all errors, a line each.
pub(crate) fn fail(errors: &[String]) -> Result<()> {
    if errors.is_empty() {
        return Ok(());
    }
    anyhow::bail!("{}", errors.join("\nerror: "))
}
