//! What users write for `reeve test` and `reeve up`: suites, fleet files and policies.

use std::fs;
use std::path::Path;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result};
use reeve_manifests::STDIN;
use reeve_suites::{Clusters, Evaluation, clusters, evaluate, fleet_of_text, suites_of_text};
use tokio::runtime::{Builder, Runtime};

/// One input of so many is evaluated on a fleet: that takes a thousand times as long as reading it.
const EVALUATED: usize = 64;
/// How long the controllers may be busy with one.
const BUSY: Duration = Duration::from_secs(5);
/// The stack of a thread that holds what was written: deep objects are walked recursively.
const STACK: usize = 256 * 1024 * 1024;

/// What damage puts in.
pub(crate) const PIECES: &[&[u8]] = &[
    b": ",
    b"- ",
    b"[",
    b"]",
    b"{",
    b"}",
    b"&a ",
    b"*a",
    b"<<: *a\n",
    b"---\n",
    b"...\n",
    b"%YAML 1.1\n",
    b"!!binary ",
    b"!!null ",
    b"|\n",
    b">-\n",
    b"\t",
    b"\n  ",
    b"#",
    b"''",
    b"\"\\u0000\"",
    b"\xef\xbb\xbf",
    b"\xff",
    b"~",
    b"null",
    b"yes",
    b"-1",
    b"0",
    b"99999999999999999999",
    b"1e400",
    b".nan",
    b"clusters: ",
    b"steps:\n- name: a\n",
    b"expect: ",
    b"compliance: ",
    b"matches: '('",
    b"wait: 1h1ns",
    b"objects: ",
    b"labels: ",
    b"taints: ",
    b"apiVersion: reeve/v1alpha1\n",
    b"kind: Suite\n",
    b"kind: Fleet\n",
    b"kind: List\nitems:\n",
    b"metadata: ",
    b"policy-templates:\n",
    b"object-templates-raw: |\n",
    b"namespaceSelector: ",
    b"remediationAction: enforce\n",
    b"dependencies: ",
    b"{{hub",
    b"hub}}",
    b"{{ lookup \"v1\" \"Pod\" \"\" \"\" }}",
    b"{{ range until 100000 }}x{{ end }}",
];

const FLEETS: [&str; 3] = [
    "apiVersion: reeve/v1alpha1\nkind: Fleet\nclusters: 3\n",
    "apiVersion: reeve/v1alpha1\nkind: Fleet\nclusters:\n- name: a\n  labels: {env: dev}\n  claims: {region: eu}\n  \
     taints: [{key: k, value: v, effect: NoSelect}]\n  files: [objects]\n  \
     objects: [{apiVersion: v1, kind: Namespace, metadata: {name: n}}]\n- {name: b}\n",
    "{\"apiVersion\": \"reeve/v1alpha1\", \"kind\": \"Fleet\", \"clusters\": [{\"name\": \"a\"}]}",
];

/// Suites, fleet files and policies.
#[derive(Debug, Default)]
pub(crate) struct Authored {
    pub(crate) suites: Vec<Vec<u8>>,
    pub(crate) fleets: Vec<Vec<u8>>,
    pub(crate) policies: Vec<Vec<u8>>,
}

impl Authored {
    /// Reads the ready-made policies and their suites.
    pub(crate) fn load() -> Result<Self> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../policies");
        Ok(Self {
            suites: files(&folder.join("tests"))?,
            fleets: FLEETS.map(|text| text.as_bytes().to_vec()).into(),
            policies: files(&folder)?,
        })
    }
}

fn files(folder: &Path) -> Result<Vec<Vec<u8>>> {
    let what = || format!("cannot read {}", folder.display());
    let mut paths: Vec<_> = fs::read_dir(folder)
        .with_context(what)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<std::io::Result<_>>()?;
    paths.retain(|path| path.extension().is_some_and(|end| end == "yaml"));
    paths.sort();
    let texts = paths.iter().map(fs::read);
    texts.collect::<std::io::Result<_>>().with_context(what)
}

fn text(input: &[u8]) -> String {
    String::from_utf8_lossy(input).into_owned()
}

pub(crate) fn suite(input: &[u8]) {
    let found = suites_of_text(Path::new("suite.yaml"), &text(input));
    for error in found.errors {
        let _ = error.to_string();
    }
}

pub(crate) fn fleet(input: &[u8]) {
    match fleet_of_text(Path::new("fleet.yaml"), &text(input)) {
        Ok(file) => drop(clusters(&file.clusters)),
        Err(error) => drop(error.to_string()),
    }
}

static RUNTIME: LazyLock<Option<Runtime>> = LazyLock::new(|| {
    let mut builder = Builder::new_multi_thread();
    let builder = builder.worker_threads(1).thread_stack_size(STACK);
    builder.enable_all().build().ok()
});

static READ: AtomicUsize = AtomicUsize::new(0);

/// Reads policies, and evaluates some of them.
pub(crate) fn policies(input: &[u8]) {
    let text = text(input);
    let mut found = reeve_manifests::read_text(Path::new(STDIN), &text);
    // The paths of a damaged suite or generator may lead anywhere on this machine.
    if !text.contains("Suite") && !text.contains("Generator") {
        found = reeve_suites::for_hub(found);
    }
    for error in &found.errors {
        let _ = error.to_string();
    }
    let is_turn = READ
        .fetch_add(1, Ordering::Relaxed)
        .is_multiple_of(EVALUATED);
    if !is_turn || found.objects.is_empty() {
        return;
    }
    let evaluation = Evaluation {
        clusters: clusters(&Clusters::Count(1)).unwrap_or_default(),
        policies: found.objects,
        ..Evaluation::default()
    };
    if let Some(runtime) = &*RUNTIME {
        let evaluated =
            runtime.spawn(async move { Box::pin(evaluate(evaluation, BUSY)).await.is_ok() });
        if let Err(error) = runtime.block_on(evaluated)
            && let Ok(panic) = error.try_into_panic()
        {
            std::panic::resume_unwind(panic);
        }
    }
}
