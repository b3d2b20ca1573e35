//! The files of requests.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};
use http_body_util::BodyExt as _;
use kube::Client;
use kube::client::Body;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::answer::{Answer, difference};
use crate::deep;
use crate::hooks::{Authority, Hooks};

/// One request.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// What is asked, in a few words; unique in its file.
    pub name: String,
    /// The method and the path. `$NS` is the file's namespace, `$x` what an earlier step has saved as `x`.
    /// A text `$#x` becomes
    /// a number. `$HOOKS` is where webhooks of the file's own are (`127.0.0.1:4711`), and `$CA` who has signed for them. One more, which allows everything, is at
    /// `$SELFPORT` with the certificate `$SELFCA`, which has signed itself. `ANSWER` sets
    /// their answer on a path, and `SEEN` returns the reviews since, sorted if it is so configured.
    pub request: String,
    /// The type of the body; JSON if absent.
    #[serde(default, rename = "type")]
    pub content_type: Option<String>,
    /// What is accepted; JSON if absent.
    #[serde(default)]
    pub accept: Option<String>,
    /// In whose name.
    #[serde(default)]
    pub user: Option<String>,
    /// The body: an object, or a text that is sent as it is. `$DEEP(200)` in it becomes 200 objects inside each other.
    #[serde(default)]
    pub body: Option<Value>,
    /// What later steps refer to: a name and a pointer into the answer.
    #[serde(default)]
    pub save: BTreeMap<String, String>,
    /// Asked again until the answer has this code, at most for some seconds: what controllers do takes time.
    #[serde(default)]
    pub until: Option<u16>,
    /// Asked again until the answer has this, at most for some seconds: a pointer.
    #[serde(default)]
    pub has: Option<String>,
    /// Only these parts of the answer are compared: pointers.
    #[serde(default)]
    pub only: Vec<String>,
    /// Why the embedded server answers otherwise, if it does: an entry of the table in the docs.
    #[serde(default)]
    pub differs: Option<String>,
}

impl Step {
    /// The first word of the request, and the rest.
    fn method_and_path(&self) -> (&str, &str) {
        self.request.split_once(' ').unwrap_or((&self.request, ""))
    }
}

/// A file of requests.
#[derive(Clone, Debug)]
pub struct Script {
    /// The file's name without its ending.
    pub name: String,
    /// The requests, in order.
    pub steps: Vec<Step>,
}

/// All files of a folder of this crate, by name.
pub fn scripts(folder: &str) -> Result<Vec<Script>> {
    let files = files(folder)?.into_iter();
    Ok(files.map(|(name, steps)| Script { name, steps }).collect())
}

impl Script {
    /// Plays it to both servers, one after the other. Answers in what they differ, by step.
    pub async fn differences(
        &self,
        embedded: &Client,
        real: &Client,
        signer: &Authority,
    ) -> Result<Vec<String>> {
        let answers = run(embedded, signer, self).await.context("embedded")?;
        let expected = run(real, signer, self).await.context("real")?;
        let mut wrong = Vec::new();
        for ((step, answer), expected) in self.steps.iter().zip(&answers).zip(&expected) {
            match (difference(answer, expected, &step.only), &step.differs) {
                (Some(difference), None) => wrong.push(format!("== {}\n{difference}", step.name)),
                (None, Some(_)) => wrong.push(format!(
                    "== {}\nno longer differs: take the note away",
                    step.name
                )),
                _ => {}
            }
        }
        Ok(wrong)
    }
}

/// What is in the files of a folder of this crate, by their names without their endings, in that order.
pub(crate) fn files<T: DeserializeOwned>(folder: &str) -> Result<Vec<(String, T)>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut paths: Vec<PathBuf> = std::fs::read_dir(&folder)
        .with_context(|| format!("reading {}", folder.display()))?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<std::io::Result<_>>()?;
    paths.sort();
    paths.iter().map(|path| read(path)).collect()
}

fn read<T: DeserializeOwned>(path: &Path) -> Result<(String, T)> {
    let reading = || format!("reading {}", path.display());
    let text = std::fs::read_to_string(path).with_context(reading)?;
    let content = serde_saphyr::from_str(&text).with_context(reading)?;
    let name = path.file_stem().and_then(|stem| stem.to_str());
    Ok((name.unwrap_or_default().to_owned(), content))
}

/// Plays a file to a server, in a namespace of its own. Answers what was answered, by step.
pub async fn run(client: &Client, authority: &Authority, script: &Script) -> Result<Vec<Answer>> {
    let namespace = format!("c-{}", script.name);
    let hooks = Hooks::start(authority).context("starting webhooks")?;
    let (self_signed, own) = Hooks::start_self_signed().context("starting a webhook")?;
    let mut saved = BTreeMap::from([
        ("NS".to_owned(), namespace.clone()),
        ("HOOKS".to_owned(), hooks.address.clone()),
        ("PORT".to_owned(), hooks.port().to_owned()),
        ("CA".to_owned(), authority.bundle()),
        ("SELFPORT".to_owned(), self_signed.port().to_owned()),
        ("SELFCA".to_owned(), own),
    ]);
    let made = Step {
        body: Some(serde_json::json!({ "metadata": { "name": namespace } })),
        request: "POST /api/v1/namespaces".to_owned(),
        ..Step::default()
    };
    send(client, &made, &saved).await?;
    let mut methods = script.steps.iter().map(|step| step.method_and_path().0);
    let counts_reviews = methods.any(|method| method == "SEEN");
    let mut answers = Vec::new();
    for step in &script.steps {
        let answer = match of_hooks(&hooks, step)? {
            Some(answer) => answer,
            None => send_until(client, step, &saved)
                .await
                .with_context(|| format!("{}: {}", script.name, step.name))?,
        };
        if counts_reviews && let Some(cached) = cached(step, &answer) {
            let what = format!("{}: {}", script.name, cached.name);
            let answer = send_until(client, &cached, &saved)
                .await
                .context(what.clone())?;
            ensure!(answer.code == 200, "{what}: {}", answer.body);
        }
        for (name, pointer) in &step.save {
            let found = answer.body.pointer(pointer).and_then(Value::as_str);
            saved.insert(name.clone(), found.unwrap_or_default().to_owned());
        }
        answers.push(answer);
    }
    Ok(answers)
}

/// The request that waits until the watch cache has what a step has written.
///
/// A kube-apiserver begins an update with the object of its watch cache, and asks the webhooks a second time when that
/// was too old.
fn cached(step: &Step, answer: &Answer) -> Option<Step> {
    let (method, path) = step.method_and_path();
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let is_write = matches!(method, "POST" | "PUT" | "PATCH") && answer.code < 300;
    if !is_write || query.contains("dryRun") {
        return None;
    }
    let metadata = &answer.body["metadata"];
    let version = metadata["resourceVersion"].as_str()?;
    let object = match method {
        "POST" => format!("{path}/{}", metadata["name"].as_str()?),
        _ => path.to_owned(),
    };
    Some(Step {
        name: format!("{} in the cache", step.name),
        request: format!("GET {object}?resourceVersion={version}"),
        until: Some(200),
        ..Step::default()
    })
}

/// What webhooks answer to what is for them.
fn of_hooks(hooks: &Hooks, step: &Step) -> Result<Option<Answer>> {
    match step.method_and_path() {
        ("ANSWER", path) => {
            hooks.set(path, step.body.clone().unwrap_or_default());
            Ok(Some(Answer::of_value(Value::Null)))
        }
        ("SEEN", order @ ("" | "sorted")) => {
            let mut seen = hooks.seen();
            if order == "sorted" {
                seen.sort_by_key(|one| one["path"].to_string());
            }
            Ok(Some(Answer::of_value(seen.into())))
        }
        ("SEEN", order) => bail!("{order:?} is no order of what was seen"),
        _ => Ok(None),
    }
}

async fn send_until(
    client: &Client,
    step: &Step,
    saved: &BTreeMap<String, String>,
) -> Result<Answer> {
    let mut answer = send(client, step, saved).await?;
    for _ in 0..100 {
        let as_wanted = step.until.is_none_or(|code| answer.code == code);
        let pointer = step.has.as_deref();
        if as_wanted && pointer.is_none_or(|pointer| answer.body.pointer(pointer).is_some()) {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        answer = send(client, step, saved).await?;
    }
    Ok(answer)
}

async fn send(client: &Client, step: &Step, saved: &BTreeMap<String, String>) -> Result<Answer> {
    let filled = |text: &str| {
        // Longer names first: one may begin with another.
        let mut names: Vec<_> = saved.iter().collect();
        names.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
        let fill = |text: String, (name, value): (&String, &String)| {
            text.replace(&format!("\"$#{name}\""), value)
                .replace(&format!("${name}"), value)
        };
        names.into_iter().fold(text.to_owned(), fill)
    };
    let Some((method, path)) = step.request.split_once(' ') else {
        bail!("{:?} is no method and path", step.request);
    };
    let body = match &step.body {
        None => String::new(),
        Some(Value::String(text)) => filled(text),
        Some(value) => filled(&value.to_string()),
    };
    let body = deep::written(&body)?.into_bytes();
    let mut request = http::Request::builder()
        .method(method)
        .uri(filled(path))
        .header("user-agent", "conformance/1.0")
        .header(
            "accept",
            step.accept.as_deref().unwrap_or("application/json"),
        );
    if !body.is_empty() {
        let content_type = step.content_type.as_deref().unwrap_or("application/json");
        request = request.header("content-type", content_type);
    }
    if let Some(user) = &step.user {
        request = request.header("impersonate-user", filled(user));
    }
    let response = client.send(request.body(Body::from(body))?).await?;
    let (parts, body) = response.into_parts();
    let bytes = body.collect().await?.to_bytes();
    Ok(Answer::of(&parts, &bytes))
}
