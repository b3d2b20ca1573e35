//! Outputs that other programs read, as those would read them.

use anyhow::{Context as _, Result, ensure};
use kube::Client;
use reeve_apiserver::{Identity, Options, Server};
use reeve_report::{Entry, Output, Reason, Report, Rule, State, Style, print};
use serde_json::Value;

const CRD: &str = include_str!("../../../report/tests/schemas/openreports.io_reports.yaml");
const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// A report with many results and every state.
fn report() -> Report {
    let entry = |number: usize| Entry {
        subject: "policies/pods".to_owned(),
        place: format!("cluster{number}"),
        state: State::ALL[number % State::ALL.len()],
        rules: vec![Rule {
            name: "pod".to_owned(),
            state: State::ALL[number % State::ALL.len()],
            message: "NonCompliant; violation - pods [web] not found".to_owned(),
            reasons: vec![Reason::text("Pod web: not found")],
            severity: Some("High".to_owned()),
            source: None,
        }],
        annotations: [(
            "categories".to_owned(),
            "CM Configuration Management".to_owned(),
        )]
        .into(),
        ..Entry::default()
    };
    Report {
        entries: (0..2500).map(entry).collect(),
        ..Report::default()
    }
}

async fn create(client: &Client, path: &str, object: &Value) -> Result<Value> {
    let path = format!("{path}?fieldValidation=Strict");
    let request = http::Request::post(path)
        .header(http::header::CONTENT_TYPE, "application/json")
        .body(object.to_string().into_bytes())?;
    Ok(client.request(request).await?)
}

#[tokio::test(flavor = "multi_thread")]
async fn open_reports_are_accepted_by_their_definition_and_nothing_is_lost() -> Result<()> {
    let server = Server::start(Options::default())?;
    let client = Client::new(server.service(Identity::admin()), "default");
    let definition: Value = reeve_manifests::from_yaml(&reeve_manifests::documents(CRD)[0])?;
    create(&client, DEFINITIONS, &definition).await?;
    let namespace = serde_json::json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "policies" } });
    create(&client, "/api/v1/namespaces", &namespace).await?;
    let text = print(&report(), Output::Openreports, Style::default());
    let path = "/apis/openreports.io/v1alpha1/namespaces/policies/reports";
    let mut results = 0;
    for document in reeve_manifests::documents(&text) {
        let object: Value = reeve_manifests::from_yaml(&document)?;
        let created = create(&client, path, &object).await?;
        for field in ["results", "summary", "source"] {
            ensure!(created[field] == object[field], "{field} of {created}");
        }
        results += created["results"].as_array().context("no results")?.len();
        // The definition refuses what is wrong.
        let mut wrong = object.clone();
        wrong["results"][0]["result"] = "maybe".into();
        wrong["metadata"]["name"] = "wrong".into();
        ensure!(create(&client, path, &wrong).await.is_err());
    }
    ensure!(results == 2500, "{results} results");
    Ok(())
}

/// What a command prints to a device without space, and its exit code.
#[cfg(target_os = "linux")]
fn on_full_device(arguments: &[&str], folder: &std::path::Path) -> Result<(Option<i32>, String)> {
    let device = std::fs::OpenOptions::new().write(true).open("/dev/full")?;
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_reeve"))
        .args(arguments)
        .current_dir(folder)
        .stdout(device)
        .output()?;
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    Ok((output.status.code(), errors))
}

#[test]
#[cfg(target_os = "linux")]
fn output_that_cannot_be_written_is_an_error() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: team}\n";
    let policy = "apiVersion: policy.open-cluster-management.io/v1\nkind: ConfigurationPolicy\nmetadata: {name: p}\nspec:\n  remediationAction: inform\n  object-templates:\n  - complianceType: musthave\n    objectDefinition: {apiVersion: v1, kind: Namespace, metadata: {name: team}}\n";
    std::fs::write(folder.path().join("ns.yaml"), namespace)?;
    std::fs::write(folder.path().join("policy.yaml"), policy)?;
    for arguments in [
        &["lint", "ns.yaml"][..],
        &["resolve", "--offline", "policy.yaml"],
        &["dryrun", "-p", "policy.yaml", "ns.yaml"],
        &["test", "-f", "policy.yaml"],
        &["version"],
    ] {
        let (code, errors) = on_full_device(arguments, folder.path())?;
        ensure!(
            code == Some(1) && errors.contains("error: cannot write the output: "),
            "{arguments:?}: {code:?} {errors}"
        );
    }
    Ok(())
}
