//! The files of kubectl's commands, and the differences of its output between two servers.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::LazyLock;

use anyhow::{Context as _, Result};
use reeve_apiserver::{
    Authority as ServerAuthority, KubeconfigContext, Listener, Options, Server, kubeconfig,
};
use regex::Regex;
use serde::Deserialize;
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

/// One call of kubectl.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Call {
    /// Its arguments, as in a shell that knows single quotes only.
    pub run: String,
    /// What it reads.
    #[serde(default)]
    pub stdin: String,
    /// Whether its lines come in any order.
    #[serde(default)]
    pub unordered: bool,
    /// Why its output differs on the embedded server, if it does.
    #[serde(default)]
    pub differs: Option<String>,
}

/// A file of calls.
#[derive(Clone, Debug)]
pub struct Calls {
    /// The file's name without its ending: the calls are for the namespace `k-<name>`, which is there.
    pub name: String,
    /// The calls, in order.
    pub calls: Vec<Call>,
}

/// All files of a folder of this crate, by name.
pub fn calls(folder: &str) -> Result<Vec<Calls>> {
    crate::script::files(folder)?
        .into_iter()
        .map(|(name, calls)| Ok(Calls { name, calls }))
        .collect()
}

impl Calls {
    /// Makes every call of both servers at once, and the next one when both are done. Answers in what they differ.
    pub async fn differences(&self, embedded: &Kubectl, real: &Kubectl) -> Result<Vec<String>> {
        let namespace = format!("k-{}", self.name);
        let first = Call {
            run: "create namespace $NS".to_owned(),
            stdin: String::new(),
            unordered: false,
            differs: None,
        };
        let mut wrong = Vec::new();
        for call in std::iter::once(&first).chain(&self.calls) {
            let (embedded, real) =
                tokio::try_join!(embedded.run(&namespace, call), real.run(&namespace, call))?;
            match (embedded.difference(&real), &call.differs) {
                (Some(difference), None) => wrong.push(format!("== {}\n{difference}", call.run)),
                (None, Some(_)) => wrong.push(format!(
                    "== {}\nno longer differs: take the note away",
                    call.run
                )),
                _ => {}
            }
            if std::env::var_os("REEVE_SHOW").is_some() {
                eprintln!(
                    "$ kubectl {}\n{}{}[{:?}]",
                    call.run, real.stdout, real.stderr, real.code
                );
            }
        }
        Ok(wrong)
    }
}

/// Lets an embedded server listen for its administrator, whose kubeconfig is written into a folder.
pub async fn listen(folder: &Path) -> Result<Listener> {
    let authority = ServerAuthority::new()?;
    let server = Server::start(Options {
        rbac: true,
        authority: authority.pem(),
        ..Options::default()
    })?;
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let listener = server.listen(&authority, address).await?;
    let access = KubeconfigContext::admin("embedded", &authority, &listener)?;
    std::fs::write(folder.join("kubeconfig"), kubeconfig(&[access]))
        .context("writing the kubeconfig")?;
    Ok(listener)
}

/// A kubectl that talks to one server.
#[derive(Clone, Debug)]
pub struct Kubectl {
    /// The program, and what its arguments begin with.
    pub program: (PathBuf, Option<&'static str>),
    /// How the server is reached.
    pub kubeconfig: PathBuf,
    /// Where it may keep what it has learned of that server.
    pub home: PathBuf,
}

/// Its exit code and output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandOutput {
    /// Its exit code.
    pub code: Option<i32>,
    /// What it has printed, with words in the places of what differs from server to server.
    pub stdout: String,
    /// Its errors, likewise.
    pub stderr: String,
}

impl Kubectl {
    /// Of a server by its kubeconfig, with a home in a folder.
    pub fn new(folder: &Path, name: &str, kubeconfig: &Path) -> Result<Self> {
        let home = folder.join(name);
        std::fs::create_dir(&home).context("creating a home")?;
        Ok(Self {
            program: reeve_testkit::kubectl()?,
            kubeconfig: kubeconfig.to_owned(),
            home,
        })
    }

    /// Runs it.
    pub async fn run(&self, namespace: &str, call: &Call) -> Result<CommandOutput> {
        let (program, role) = &self.program;
        let mut child = Command::new(program)
            .args(role)
            .args(arguments(&call.run, namespace)?)
            .args(["--namespace", namespace])
            .env("KUBECONFIG", &self.kubeconfig)
            .env("HOME", &self.home)
            .current_dir(&self.home)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("starting {}", program.display()))?;
        let mut stdin = child.stdin.take().context("kubectl reads nothing")?;
        let text = call.stdin.replace("$NS", namespace);
        // One that has no use for it may be gone already.
        let _ = stdin.write_all(text.as_bytes()).await;
        drop(stdin);
        let output = child.wait_with_output().await.context("waiting")?;
        let text =
            |bytes: &[u8]| normalized(&String::from_utf8_lossy(bytes), &self.home, call.unordered);
        Ok(CommandOutput {
            code: output.status.code(),
            stdout: text(&output.stdout),
            stderr: text(&output.stderr),
        })
    }
}

impl CommandOutput {
    /// The differences between this output, of the embedded server, and that of a real one; `None` if there are none.
    pub fn difference(&self, real: &Self) -> Option<String> {
        if self == real {
            return None;
        }
        let mut differences = Vec::new();
        if self.code != real.code {
            differences.push(format!(
                "exit code: {:?} instead of {:?}",
                self.code, real.code
            ));
        }
        for (of, left, right) in [
            ("stdout", &self.stdout, &real.stdout),
            ("stderr", &self.stderr, &real.stderr),
        ] {
            let (left, right): (Vec<_>, Vec<_>) = (left.lines().collect(), right.lines().collect());
            let more = |mark: &str, these: &[&str], those: &[&str]| {
                let only = these.iter().filter(|line| !those.contains(line));
                only.map(|line| format!("{of}: {mark} {line}"))
                    .collect::<Vec<_>>()
            };
            let before = differences.len();
            differences.extend(more("+", &left, &right));
            differences.extend(more("-", &right, &left));
            if before == differences.len() && left != right {
                differences.push(format!("{of}: the same lines in another order"));
            }
        }
        Some(differences.join("\n"))
    }
}

fn arguments(line: &str, namespace: &str) -> Result<Vec<String>> {
    let word = Regex::new(r"(?:'[^']*'|[^\s'])+")?;
    let bare = |found: regex::Match<'_>| found.as_str().replace('\'', "").replace("$NS", namespace);
    Ok(word.find_iter(line).map(bare).collect())
}

static NORMALIZATIONS: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    [
        (
            "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
            "<uid>",
        ),
        (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "<time>"),
        (r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+ \+0000", "<time>"),
        (r"Resource Version: +\d+", "Resource Version: <version>"),
        (r"\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d \+0000", "<time>"),
        (r"(?m)(\s)(?:\d+m)?\d+s$", "${1}<age>"),
        (r"(?m)(\s)(?:\d+m)?\d+s(\s)", "${1}<age>${2}"),
        (r#"("?resourceVersion"?: ")\d+""#, "${1}<version>\""),
        (r"127\.0\.0\.1:\d+", "<server>"),
        (r"(?:LIVE|MERGED)-\d+", "<folder>"),
        ("kube-api-access-[a-z0-9]{5}", "kube-api-access-<suffix>"),
        // What is in a column sets how wide it is.
        (r"(\S)  +", "${1}  "),
        (r"(?m) +$", ""),
    ]
    .into_iter()
    .filter_map(|(pattern, word)| Some((Regex::new(pattern).ok()?, word)))
    .collect()
});

fn normalized(text: &str, home: &Path, unordered: bool) -> String {
    let text = text.replace(&*home.to_string_lossy(), "<home>");
    let text = NORMALIZATIONS.iter().fold(text, |text, (pattern, word)| {
        pattern.replace_all(&text, *word).into_owned()
    });
    if !unordered {
        return text;
    }
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines.join("\n")
}
