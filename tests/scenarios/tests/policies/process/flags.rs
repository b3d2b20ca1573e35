//! What the command line and the environment must not say.

use std::sync::Arc;

use anyhow::{Result, ensure};
use reeve_testkit::{Component, SOON};

use crate::process::{NAME, Planes};

/// Arguments, variables, and what the program reports to them.
type Case = (
    &'static [&'static str],
    &'static [(&'static str, &'static str)],
    &'static str,
);

const WATCHED: [(&str, &str); 1] = [("WATCH_NAMESPACE", "")];

/// Runs the program, which must fail, and reports what it wrote.
async fn failure(planes: &Planes, args: &[&str], env: &[(&str, &str)]) -> Result<String> {
    let env = [&[planes.hosting.kubeconfig_env()], env].concat();
    let mut program = Component::spawn(NAME, args, &env)?;
    let status = program.wait(SOON).await?;
    let log = program.log();
    ensure!(status.code() == Some(1), "{status}: {log}");
    Ok(log)
}

pub(crate) async fn wrong(planes: Arc<Planes>) -> Result<()> {
    let cases: [Case; 10] = [
        (
            &[],
            &[],
            "expected 'controller' or 'trigger-uninstall' subcommands",
        ),
        (
            &["serve"],
            &[],
            "expected 'controller' or 'trigger-uninstall' subcommands",
        ),
        (
            &["controller", "--evaluation-concurrency=0"],
            &WATCHED,
            "The --evaluation-concurrency option cannot be less than 1",
        ),
        (
            &[
                "controller",
                "--default-terminating-namespace-inclusion=Never",
            ],
            &WATCHED,
            "unknown option for default terminating namespace inclusion: \"Never\"",
        ),
        (&["controller"], &[], "WATCH_NAMESPACE must be set"),
        (
            &["controller"],
            &[("WATCH_NAMESPACE", "a,b")],
            "multiple watched namespaces are not allowed for this controller",
        ),
        (
            &["controller", "--tls-min-version=VersionTLS9"],
            &WATCHED,
            "invalid --tls-min-version: ",
        ),
        (
            &["controller", "--tls-cipher-suites=TLS_NONE"],
            &WATCHED,
            "unsupported cipher suites: [TLS_NONE]",
        ),
        (
            &["trigger-uninstall", "--deployment-name="],
            &[],
            "--deployment-name, --deployment-namespace, --policy-namespace must all have values",
        ),
        (
            &[
                "trigger-uninstall",
                "--policy-namespace=p",
                "--timeout-seconds=29",
            ],
            &[],
            "--timeout-seconds must be set to at least 30 seconds",
        ),
    ];
    for (args, env, want) in cases {
        let log = failure(&planes, args, env).await?;
        ensure!(log.contains(want), "{args:?}: {log}");
    }
    let missing = "--target-kubeconfig-path=/nonexistent/kubeconfig";
    let log = failure(&planes, &["controller", missing], &WATCHED).await?;
    ensure!(
        log.contains("cannot use the kubeconfig /nonexistent/kubeconfig"),
        "{log}"
    );
    Ok(())
}
